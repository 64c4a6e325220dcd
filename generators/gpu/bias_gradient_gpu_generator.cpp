#include "algorithm/storage.h"
#include "refuse_illegal_parameters.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// The gradient of a bias from the gradient of all scores, both [key, row, head, batch] of any strides, on the device. A
// thread owns an element of the bias. It sums in double over what the bias broadcasts: batch entries outermost, then
// heads, then rows.
class BiasGradientGpuGenerator : public Generator<BiasGradientGpuGenerator> {
 public:
    // The type of the bias: float32 or float16. Buffers of float16 hold its bits as integers.
    GeneratorParam<Type> dtype{"dtype", Float(32)};
    Input<Buffer<float, 4>> scores{"scores"};
    Input<int> rows{"rows"}, heads{"heads"},
        batches{"batches"};  // that share an element of the bias; 1: each has its own
    Output<Buffer<void, 4>> bias{"bias"};

    void configure() {
        refuse_illegal_dtype("bias_gradient_gpu", dtype);
        bias.set_type(buffer_type(dtype));
    }

    void generate() {
        RDom all(0, rows, 0, heads, 0, batches, "all");
        sum(key, row, head, batch) += cast<double>(scores(key, row + all.x, head + all.y, batch + all.z));
        bias(key, row, head, batch) = to_storage(sum(key, row, head, batch), {dtype, Float(64), get_target()});
    }

    void schedule() {
        for (int n = 0; n < 4; n++) {
            scores.dim(n).set_min(0);
            bias.dim(n).set_min(0);
        }
        scores.dim(0).set_stride(Expr());
        bias.dim(0).set_stride(Expr());
        // A warp follows the keys, which are next to each other in the scores.
        Var key_tile("key_tile"), key_in("key_in"), row_tile("row_tile"), row_in("row_in"), tile("tile");
        Func(bias)
            .split(key, key_tile, key_in, kKeys, TailStrategy::GuardWithIf)
            .split(row, row_tile, row_in, kRows, TailStrategy::GuardWithIf)
            .reorder(key_in, row_in, key_tile, row_tile, head, batch)
            .fuse(key_tile, row_tile, tile)
            .gpu_blocks(tile, head, batch)
            .gpu_threads(key_in, row_in)
            .never_partition_all();
        sum.compute_at(bias, key_in).store_in(MemoryType::Register).never_partition_all();
        sum.update().never_partition_all();
    }

 private:
    static constexpr int kKeys = 32, kRows = 8;  // threads of a block
    Var key{"key"}, row{"row"}, head{"head"}, batch{"batch"};
    Func sum{"sum"};
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::BiasGradientGpuGenerator, bias_gradient_gpu)

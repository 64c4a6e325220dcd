#include "kernels/gpu_tiles.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// Copies a tensor into another, both [channel, row, head, batch] of any strides, and fills what the first does not have
// with zeros. The kernels read dense tensors that are padded to whole tiles; those of a caller may be neither.
class CopyGpuGenerator : public Generator<CopyGpuGenerator> {
 public:
    // `from` is a result of forward whose rows were shared by threads. Otherwise channels are in place, and no division
    // is needed to find them.
    GeneratorParam<bool> shared_rows{"shared_rows", false};
    Input<Buffer<void, 4>> from{"from"};
    Input<Buffer<int32_t, 1>> rows{"rows"};  // that exist, of each batch entry; the others become zeros
    // ResultLayout, with shared_rows.
    Input<int> threads_per_row{"threads_per_row"}, turn{"turn"}, columns_per_thread{"columns_per_thread"};
    Output<Buffer<void, 4>> to{"to"};

    void generate() {
        const Expr last_channel = from.dim(0).extent() - 1, last_row = from.dim(1).extent() - 1;
        const Expr exists = channel <= last_channel && row <= last_row && row < rows(batch);
        const ResultLayout<Expr> result{threads_per_row, turn, columns_per_thread};
        const Expr column = shared_rows ? result.column_of(channel) : Expr(channel);
        to(channel, row, head, batch) = select(
            exists, from(clamp(column, 0, last_channel), clamp(row, 0, last_row), head, batch), cast(from.type(), 0));
    }

    void schedule() {
        for (int n = 0; n < 4; n++) {
            from.dim(n).set_min(0);
            to.dim(n).set_min(0);
        }
        from.dim(0).set_stride(Expr());
        to.dim(0).set_stride(Expr());
        rows.dim(0).set_min(0);
        // A warp follows the channels, which are next to each other in most tensors.
        Var channel_tile("channel_tile"), channel_in("channel_in"), row_tile("row_tile"), row_in("row_in");
        Func(to)
            .split(channel, channel_tile, channel_in, kChannels, TailStrategy::GuardWithIf)
            .split(row, row_tile, row_in, kRows, TailStrategy::GuardWithIf)
            .reorder(channel_tile, channel_in, row_in, row_tile, head, batch)
            .gpu_blocks(row_tile, head, batch)
            .gpu_threads(channel_in, row_in)
            .never_partition_all();
    }

 private:
    static constexpr int kChannels = 32, kRows = 8;  // threads of a block
    Var channel{"channel"}, row{"row"}, head{"head"}, batch{"batch"};
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::CopyGpuGenerator, copy_gpu)

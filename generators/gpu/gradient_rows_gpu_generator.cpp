#include "algorithm/storage.h"
#include "refuse_illegal_parameters.h"

#include <Halide.h>

#include <limits>

namespace flashwright {

using namespace Halide;

namespace {

// A thread owns a row and writes all its elements along `element`.
void schedule_rows(Func f, const Var &row, const Var &element, const Var &head, const Var &batch, const Var &thread) {
    constexpr int kThreads = 64;
    const Var tile("tile");
    f.split(row, tile, thread, kThreads, TailStrategy::GuardWithIf)
        .reorder(element, thread, tile, head, batch)
        .unroll(element)
        .gpu_blocks(tile, head, batch)
        .gpu_threads(thread)
        .never_partition_all();
}

}  // namespace

// The columns that follow the operands in a row or a key of backward_gpu, on the device.
class GradientRowsGpuGenerator : public Generator<GradientRowsGpuGenerator> {
 public:
    GeneratorParam<Type> dtype{"dtype",
                               Float(32)};  // of out and dout: float32, or float16, whose buffers hold its bits
    GeneratorParam<bool> of_keys{"of_keys", false};  // keys have the first two columns only
    // For each batch entry: row i attends to rows i + lo_offset to i + hi_offset of the other side.
    Input<Buffer<int32_t, 1>> lo_offset{"lo_offset"}, hi_offset{"hi_offset"};
    Input<Buffer<int32_t, 1>> count{"count"},
        other_count{"other_count"};  // existing rows of this side and of the other
    // [channel, row, head, batch], lse with one channel; any strides.
    Input<Buffer<float, 4>> lse{"lse"};
    Input<Buffer<void, 4>> out{"out"}, dout{"dout"};
    Output<Buffer<float, 4>> columns{"columns"};  // [column, row, head, batch]; any strides but the first

    void configure() {
        refuse_illegal_dtype("gradient_rows_gpu", dtype);
        for (auto *buffer : {&out, &dout}) {
            buffer->set_type(buffer_type(dtype));
        }
    }

    void generate() {
        const Expr exists = row < count(batch);
        const Expr first = select(exists, max(row + lo_offset(batch), 0), 0);
        const Expr last = select(exists, min(row + hi_offset(batch), other_count(batch) - 1), -1);
        const Expr bounds[] = {reinterpret<float>(first), reinterpret<float>(last)};
        if (of_keys) {
            columns(column, row, head, batch) = select(column == 0, bounds[0], column == 1, bounds[1], 0.0f);
            return;
        }
        const Expr own = clamp(row, 0, lse.dim(1).extent() - 1), logarithm = lse(0, own, head, batch);
        // Infinity is tested by its bits, since fast math assumes that there is none. A row that attends to nothing
        // adds nothing, whatever it holds.
        const Expr infinity_bits = 0x7f800000, minus = std::numeric_limits<int32_t>::min();
        const Expr attends = exists && reinterpret<int32_t>(logarithm) != (infinity_bits | minus);
        RDom c(0, out.dim(0).extent(), "c");
        const auto loaded = [&](const Input<Buffer<void, 4>> &from) {
            return from_storage(from(c, own, head, batch), {dtype, Float(32), get_target()});
        };
        delta(row, head, batch) += select(attends, loaded(out) * loaded(dout), 0.0f);
        columns(column, row, head, batch) =
            mux(column, {bounds[0], bounds[1], select(attends, logarithm, reinterpret<float>(infinity_bits)),
                         delta(row, head, batch)});
    }

    void schedule() {
        for (auto *buffer : {&lo_offset, &hi_offset, &count, &other_count}) {
            buffer->dim(0).set_min(0);
        }
        set_any_strides(lse);
        set_any_strides(out);
        set_any_strides(dout);
        for (int n = 1; n < 4; n++) {
            columns.dim(n).set_min(0);
        }
        columns.dim(0).set_bounds(0, 4);
        const Var thread("thread");
        schedule_rows(columns, row, column, head, batch, thread);
        if (!of_keys) {
            delta.compute_at(columns, thread).store_in(MemoryType::Register);
        }
    }

 private:
    template <typename Buffer>
    static void set_any_strides(Buffer &buffer) {
        buffer.dim(0).set_stride(Expr());
        for (int n = 0; n < 4; n++) {
            buffer.dim(n).set_min(0);
        }
    }

    Var column{"column"}, row{"row"}, head{"head"}, batch{"batch"};
    Func delta{"delta"};
};

// What the score terms of backward_gpu need of each query row, on the device.
class GradientTermsGpuGenerator : public Generator<GradientTermsGpuGenerator> {
 public:
    Input<Buffer<float, 1>> alibi_slopes{"alibi_slopes"};  // of each head
    Input<Buffer<int32_t, 1>> diagonal{"diagonal"};  // of each batch entry: row i is aligned with key i + diagonal
    Input<Buffer<int32_t, 1>> count{"count"};        // of rows that exist
    Input<int> keys{"keys"}, heads_kv{"heads_kv"};   // of each head, padded; of each batch entry
    // Strides of bias and mask by row, head and batch entry.
    Input<int> bias_row{"bias_row"}, bias_head{"bias_head"}, bias_batch{"bias_batch"};
    Input<int> mask_row{"mask_row"}, mask_head{"mask_head"}, mask_batch{"mask_batch"};
    // [row, head, batch, quantity]: the bits of the slope, the key on the diagonal, the offsets of bias and mask. Keys
    // are counted over all heads.
    Output<Buffer<int32_t, 4>> quantities{"quantities"};

    void generate() {
        const Expr group = quantities.dim(1).extent() / heads_kv, first_key = (batch * heads_kv + head / group) * keys;
        const Expr own = select(row < count(batch), row, 0);
        const auto offset = [&](const Expr &row_stride, const Expr &head_stride, const Expr &batch_stride) {
            return batch * batch_stride + head * head_stride + own * row_stride - first_key;
        };
        quantities(row, head, batch, quantity) =
            mux(quantity, {reinterpret<int32_t>(alibi_slopes(head)), first_key + row + diagonal(batch),
                           offset(bias_row, bias_head, bias_batch), offset(mask_row, mask_head, mask_batch)});
    }

    void schedule() {
        for (auto *buffer : {&diagonal, &count}) {
            buffer->dim(0).set_min(0);
        }
        alibi_slopes.dim(0).set_min(0);
        for (int n = 0; n < 4; n++) {
            quantities.dim(n).set_min(0);
        }
        quantities.dim(3).set_bounds(0, 4);
        schedule_rows(quantities, row, quantity, head, batch, Var("thread"));
    }

 private:
    Var row{"row"}, head{"head"}, batch{"batch"}, quantity{"quantity"};
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::GradientRowsGpuGenerator, gradient_rows_gpu)
HALIDE_REGISTER_GENERATOR(flashwright::GradientTermsGpuGenerator, gradient_terms_gpu)

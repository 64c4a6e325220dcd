#include "algorithm/online_softmax.h"
#include "algorithm/scalar_math.h"
#include "refuse_illegal_tiles.h"
#include "riscv_vectors.h"
#include "schedules/cpu_rows.h"
#include "scratch_memory.h"
#include "type_parameters.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// Joins two attention results over disjoint keys: the first is the state, the second one block whose maximum is its lse
// and whose sum is 1. A side with lse = -infinity is ignored.
class MergeGenerator : public Generator<MergeGenerator> {
 public:
    TypeParameters types;
    GeneratorParam<std::string> schedule_name{"schedule", "rows"};
    GeneratorParam<int> block_q{"block_q", 16};

    Input<Buffer<void, 2>> out_a{"out_a"};
    Input<Buffer<void, 1>> lse_a{"lse_a"};
    Input<Buffer<void, 2>> out_b{"out_b"};
    Input<Buffer<void, 1>> lse_b{"lse_b"};
    Output<Buffer<void, 2>> out{"out"};
    Output<Buffer<void, 1>> lse{"lse"};

    void configure() {
        for (auto *buffer : {&out_a, &out_b}) {
            buffer->set_type(buffer_type(number_types().storage));
        }
        for (auto *buffer : {&lse_a, &lse_b}) {
            buffer->set_type(number_types().accumulation);
        }
        out.set_type(buffer_type(number_types().storage));
        lse.set_type(number_types().accumulation);
    }

    void generate() {
        const int lanes = natural_vector_size(number_types().accumulation);
        const CpuTiles tiles{block_q, 0, 1, 1, 1, 1};
        refuse_illegal_tiles(Op::merge, schedule_name, tiles, lanes);
        Var row("row"), channel("channel");
        Expr head_dim_v = out_a.dim(0).extent(), at = min(row, lse_a.dim(0).extent() - 1);
        OnlineSoftmax state(row, head_dim_v,
                            side(lse_a(at), [&](Expr c) { return from_storage(out_a(c, at), number_types()); }));
        state.add_blocks("other", 1, [&](const Expr &) {
            return side(lse_b(at), [&](Expr c) { return from_storage(out_b(c, at), number_types()); });
        });
        state.finish();
        out(channel, row) = to_storage(state.normalised(row, channel), number_types());
        lse(row) = state.lse(row);

        for (OutputImageParam p : std::vector<OutputImageParam>{out_a, out_b, out}) {
            p.dim(0).set_min(0).set_stride(Expr());
            p.dim(1).set_min(0);
        }
        for (OutputImageParam p : std::vector<OutputImageParam>{lse_a, lse_b, lse}) {
            p.dim(0).set_min(0).set_stride(Expr());
        }
        schedule_state_cpu(state, tiles, lanes);
        schedule_output_cpu(out, lanes);
        schedule_output_cpu(lse, lanes);
    }

    void schedule() {
        allocate_from_scratch(get_pipeline());
        suit_riscv_vectors(get_pipeline(), get_target());
    }

 private:
    NumberTypes number_types() const { return types.chosen(get_target()); }

    OnlineSoftmax::Partial side(const Expr &max, const std::function<Expr(Expr)> &values) const {
        Expr ignored = is_negative_infinity(max), zero = Internal::make_const(max.type(), 0);
        // The maximum may swallow a NaN, the sum does not.
        Expr one = select(is_nan(max), max, Internal::make_const(max.type(), 1));
        return {max, select(ignored, zero, one),
                [=](const Expr &channel) { return select(ignored, zero, values(channel)); }};
    }
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::MergeGenerator, merge)

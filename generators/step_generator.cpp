#include "algorithm/forward_attention.h"
#include "algorithm/scalar_math.h"
#include "refuse_illegal_tiles.h"
#include "riscv_vectors.h"
#include "schedules/cpu_rows.h"
#include "scratch_memory.h"
#include "type_parameters.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// Updates a softmax state (m, l, unnormalised accumulator) with given scores and their values. A score of -infinity
// masks its key.
class StepGenerator : public Generator<StepGenerator> {
 public:
    TypeParameters types;
    GeneratorParam<std::string> schedule_name{"schedule", "rows"};
    // Keys that are taken in at once: they bound the temporary memory.
    GeneratorParam<int> block_q{"block_q", 16}, tile_k{"tile_k", 64};

    Input<Buffer<void, 1>> m{"m"}, l{"l"};
    Input<Buffer<void, 2>> acc{"acc"}, scores{"scores"}, v{"v"};
    Output<Buffer<void, 1>> m_out{"m_out"}, l_out{"l_out"};
    Output<Buffer<void, 2>> acc_out{"acc_out"};

    void configure() {
        v.set_type(buffer_type(number_types().storage));
        for (auto *buffer : {&m, &l}) {
            buffer->set_type(number_types().accumulation);
        }
        for (auto *buffer : {&acc, &scores}) {
            buffer->set_type(number_types().accumulation);
        }
        m_out.set_type(number_types().accumulation);
        l_out.set_type(number_types().accumulation);
        acc_out.set_type(number_types().accumulation);
    }

    void generate() {
        const int keys_per_block = tile_k;
        BlockSoftmax::Vars vars;
        const Var row = vars.row, j = vars.j, block = vars.block, channel = vars.channel;
        Expr head_dim_v = v.dim(0).extent(), keys = v.dim(1).extent(), at = min(row, m.dim(0).extent() - 1);
        const Expr whole = keys / keys_per_block, rest = keys % keys_per_block;
        const std::vector<KeyBlocks> runs{{0, keys_per_block, whole},
                                          {whole * keys_per_block, max(rest, 1), select(rest > 0, 1, 0)}};

        OnlineSoftmax state(row, head_dim_v, {m(at), l(at), [&](Expr c) { return acc(c, at); }});
        std::vector<BlockSoftmax> softmaxes;
        for (const KeyBlocks &blocks : runs) {
            Func given("given"), unmasked("unmasked");
            given(row, j, block) = scores(blocks.begin(block) + j, at);
            unmasked(row, j, block) = !is_negative_infinity(given(row, j, block));
            const std::string name = softmaxes.empty() ? "whole" : "rest";
            softmaxes.emplace_back(name, vars, blocks, given, unmasked,
                                   [&](Expr key, Expr c) { return from_storage(v(c, key), number_types()); });
            const BlockSoftmax &softmax = softmaxes.back();
            state.add_blocks("step_" + name, blocks.count, [&](const Expr &b) { return softmax.partial(b); });
        }

        m_out(row) = state.max(row);
        l_out(row) = state.sum(row);
        acc_out(channel, row) = state.accumulator(row, channel);

        for (OutputImageParam p : std::vector<OutputImageParam>{acc, scores, v, acc_out}) {
            p.dim(0).set_min(0).set_stride(Expr());
            p.dim(1).set_min(0);
        }
        for (OutputImageParam p : std::vector<OutputImageParam>{m, l, m_out, l_out}) {
            p.dim(0).set_min(0).set_stride(Expr());
        }
        const int lanes = natural_vector_size(number_types().accumulation);
        refuse_illegal_tiles(Op::step, schedule_name, {block_q, 0, 1, 1, tile_k, 1}, lanes);
        const CpuTiles tiles{block_q, keys_per_block, 1, 1, 1, 1};
        for (int n = 0; n < (int)softmaxes.size(); n++) {
            schedule_given_scores_cpu(softmaxes[n], state, n, tiles, lanes);
            schedule_block_softmax_cpu(softmaxes[n], state, n, tiles, lanes);
        }
        schedule_state_cpu(state, tiles, lanes);
        for (Func output : {Func(m_out), Func(l_out), Func(acc_out)}) {
            schedule_output_cpu(output, lanes);
        }
    }

    void schedule() {
        allocate_from_scratch(get_pipeline());
        suit_riscv_vectors(get_pipeline(), get_target());
    }

 private:
    NumberTypes number_types() const { return types.chosen(get_target()); }
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::StepGenerator, step)

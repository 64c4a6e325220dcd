#include "../schedules/cpu_simd.h"
#include "forward_attention.h"
#include "scratch_memory.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// Attention forward for one tile of query rows of one head. Buffers are [channel, row | key], bias and mask [key, row].
class ForwardGenerator : public Generator<ForwardGenerator> {
public:
    GeneratorParam<Type> dtype{"dtype", Float(32)};
    // Score terms besides scale and position: any of softcap, alibi, bias, mask, joined by '+'.
    GeneratorParam<std::string> terms{"terms", ""};
    // Any channel strides.
    GeneratorParam<bool> portable{"portable", false};
    GeneratorParam<int> block_q{"block_q", 32}, row_vectors{"row_vectors", 1}, tile_k{"tile_k", 16}, tile_v{"tile_v", 16};

    Input<Buffer<void, 2>> q{"q"}, k{"k"}, v{"v"}, bias{"bias"};
    Input<Buffer<uint8_t, 2>> mask{"mask"};
    Input<double> softmax_scale{"softmax_scale"}, softcap{"softcap"}, alibi_slope{"alibi_slope"};
    Input<int> diagonal_offset{"diagonal_offset"}, lo_offset{"lo_offset"}, hi_offset{"hi_offset"}, key_count{"key_count"};
    Input<int> interior_begin{"interior_begin"}, interior_end{"interior_end"};
    Input<int> left_begin{"left_begin"}, left_end{"left_end"}, right_begin{"right_begin"}, right_end{"right_end"};
    Input<int> block_k{"block_k"};
    Output<Buffer<void, 2>> out{"out"};
    Output<Buffer<void, 1>> lse{"lse"};

    void configure() {
        for (auto *buffer : {&q, &k, &v, &bias}) {
            buffer->set_type(dtype);
        }
        out.set_type(dtype);
        lse.set_type(dtype);
    }

    void generate() {
        const Type type = dtype;
        Expr head_dim = q.dim(0).extent(), head_dim_v = v.dim(0).extent(), last_row = q.dim(1).extent() - 1;
        Expr scale = cast(type, softmax_scale);
        ForwardAttention attention([&](Expr row, Expr d) { return q(d, min(row, last_row)) * scale; },
                                   [&](Expr key, Expr d) { return k(d, key); }, [&](Expr key, Expr d) { return v(d, key); },
                                   type, head_dim, head_dim_v);
        const ScoreTerms interior = chosen_terms(last_row);
        if (!any_seen_from_memory(interior)) {
            attention.add_blocks("interior", blocks_of_segment(interior_begin, interior_end, block_k, tile_k), interior);
        }
        ScoreTerms masked = interior;
        masked.push_back(position_term(lo_offset, hi_offset, key_count));
        attention.add_blocks("masked",
                             blocks_of_two_segments(left_begin, left_end, right_begin, right_end, block_k, tile_k), masked);
        attention.state.finish();
        const Var row = attention.vars.row, channel = attention.vars.channel;
        out(channel, row) = attention.state.normalised(row, channel);
        lse(row) = attention.state.lse(row);

        constrain_buffers();
        const int lanes = natural_vector_size(type);
        schedule_forward_cpu(attention, {block_q, 0, row_vectors, tile_k, tile_v}, lanes);
        schedule_state_outputs_cpu(attention.state, out, {lse}, block_q, lanes);
    }

    void schedule() {
        allocate_from_scratch(get_pipeline());
    }

private:
    bool has_term(const std::string &name) const {
        return ("+" + terms.value() + "+").find("+" + name + "+") != std::string::npos;
    }

    ScoreTerms chosen_terms(const Expr &last_row) {
        const Type type = dtype;
        ScoreTerms list;
        if (has_term("softcap")) {
            list.push_back(softcap_term(cast(type, softcap)));
        }
        if (has_term("alibi")) {
            list.push_back(alibi_term(cast(type, alibi_slope), diagonal_offset));
        }
        if (has_term("bias")) {
            list.push_back(bias_term([=](const ScoreIndex &at) { return bias(at.key, min(at.row, last_row)); }));
        }
        if (has_term("mask")) {
            list.push_back(mask_term([=](const ScoreIndex &at) { return mask(at.key, min(at.row, last_row)); }));
        }
        return list;
    }

    // The runtime hands over cropped views that start at 0.
    void constrain_buffers() {
        for (auto *buffer : {&q, &k, &v, &bias}) {
            for (int n : {0, 1}) {
                buffer->dim(n).set_min(0);
            }
        }
        for (int n : {0, 1}) {
            mask.dim(n).set_min(0);
            out.dim(n).set_min(0);
        }
        lse.dim(0).set_min(0);
        q.dim(0).set_stride(Expr());
        bias.dim(0).set_stride(Expr());
        mask.dim(0).set_stride(Expr());
        if (portable) {
            k.dim(0).set_stride(Expr());
            v.dim(0).set_stride(Expr());
            out.dim(0).set_stride(Expr());
        }
    }
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::ForwardGenerator, forward)

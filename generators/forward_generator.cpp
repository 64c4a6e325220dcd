#include "algorithm/forward_attention.h"
#include "algorithm/transpose.h"
#include "refuse_illegal_tiles.h"
#include "riscv_vectors.h"
#include "schedules/cpu_decode.h"
#include "schedules/cpu_rows.h"
#include "scratch_memory.h"
#include "term_inputs.h"
#include "type_parameters.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// Attention forward for one tile of query rows of one head. Buffers are [channel, row | key], bias and mask [key, row].
class ForwardGenerator : public Generator<ForwardGenerator> {
 public:
    TypeParameters types;
    // Score terms besides scale and position: any of softcap, alibi, bias, mask, joined by '+'.
    GeneratorParam<std::string> terms{"terms", ""};
    // rows, decode, or generic: any channel strides.
    GeneratorParam<std::string> schedule_name{"schedule", "rows"};
    GeneratorParam<int> block_q{"block_q", 32}, row_vectors{"row_vectors", 1}, tile_d{"tile_d", 16},
        tile_k{"tile_k", 16}, tile_v{"tile_v", 16};

    Input<Buffer<void, 2>> q{"q"}, k{"k"}, v{"v"};
    TermMatrices term_matrices;
    Input<double> softmax_scale{"softmax_scale"};
    TermNumbers term_numbers;
    Input<int> diagonal_offset{"diagonal_offset"}, lo_offset{"lo_offset"}, hi_offset{"hi_offset"},
        key_count{"key_count"};
    // 0: all of V is finite. 1: V of keys that bias or mask exclude may be NaN or infinity.
    Input<int> nansafe{"nansafe"};
    // Three runs of keys, each `count` blocks of `block` keys. In full blocks every row of the tile attends to every
    // key, except for what bias and mask exclude. In the masked blocks left and right of them row i attends to key j
    // only if i + lo_offset <= j <= i + hi_offset and j < key_count.
    Input<int> full_begin{"full_begin"}, full_block{"full_block"}, full_count{"full_count"};
    Input<int> left_begin{"left_begin"}, left_block{"left_block"}, left_count{"left_count"};
    Input<int> right_begin{"right_begin"}, right_block{"right_block"}, right_count{"right_count"};
    Output<Buffer<void, 2>> out{"out"};
    Output<Buffer<void, 1>> lse{"lse"};

    void configure() {
        set_types(term_matrices, number_types());
        for (auto *buffer : {&q, &k, &v}) {
            buffer->set_type(buffer_type(number_types().storage));
        }
        out.set_type(buffer_type(number_types().storage));
        lse.set_type(number_types().accumulation);
    }

    void generate() {
        const Type type = number_types().accumulation;
        const int lanes = natural_vector_size(type);
        // block_k is not compiled in; the largest is legal with every tile_k.
        const CpuTiles tiles{block_q, kLargestTile, row_vectors, tile_d, tile_k, tile_v};
        refuse_illegal_tiles(Op::forward, schedule_name, tiles, lanes);
        const bool is_decode = is_schedule("decode");
        Expr head_dim = q.dim(0).extent(), head_dim_v = v.dim(0).extent(), last_row = q.dim(1).extent() - 1;
        const bool transpose_in_blocks = tile_d > 1 && !is_decode;
        if (is_decode) head_dim = head_dim / tile_d * tile_d;  // as it is: the runtime sees to it

        auto scaled_q = [&](const Expr &i, const Expr &d) {
            return loaded(q, d, min(i, last_row)) * cast(type, softmax_scale);
        };
        Func queries("queries");
        if (transpose_in_blocks) {
            schedule_rows_to_lanes_cpu(TransposedCopy::rows_to_lanes(queries, scaled_q, head_dim, tile_d), tiles);
        } else {
            queries(row, channel) = scaled_q(row, channel);
        }
        ForwardAttention attention(
            queries, [&](Expr key, Expr d) { return loaded(k, d, key); },
            [&](Expr key, Expr d) { return loaded(v, d, key); }, head_dim, head_dim_v);
        if (is_decode) attention.partial_reductions = lanes;
        const ScoreTerms full = chosen_terms("full", last_row);
        if (any_masks_by_memory(full)) {
            attention.add_blocks("full", {full_begin, full_block, select(nansafe == 0, full_count, 0)}, full, true);
            attention.add_blocks("nansafe", {full_begin, full_block, select(nansafe == 0, 0, full_count)},
                                 chosen_terms("nansafe", last_row));
        } else {
            attention.add_blocks("full", {full_begin, full_block, full_count}, full);
        }
        auto masked_terms = [&](const std::string &name) {
            ScoreTerms masked = chosen_terms(name, last_row);
            masked.push_back(position_term(lo_offset, hi_offset, key_count));
            return masked;
        };
        attention.add_blocks("left", {left_begin, left_block, left_count}, masked_terms("left"));
        attention.add_blocks("right", {right_begin, right_block, right_count}, masked_terms("right"));
        attention.state.finish();
        auto normalised = [&](const Expr &i, const Expr &d) {
            return to_storage(attention.state.normalised(i, d), number_types());
        };
        if (transpose_in_blocks) {
            schedule_lanes_to_rows_cpu(TransposedCopy::lanes_to_rows(out, normalised, head_dim_v, tile_d));
        } else {
            out(channel, row) = normalised(row, channel);
            schedule_output_cpu(out, lanes);
        }
        lse(row) = attention.state.lse(row);
        schedule_output_cpu(lse, lanes);

        constrain_buffers();
        if (is_decode) {
            schedule_decode_cpu(attention, tiles, lanes);
        } else {
            schedule_forward_cpu(attention, tiles, lanes);
            schedule_state_cpu(attention.state, tiles, lanes);
            if (!transpose_in_blocks) schedule_rows_cpu(queries, row, tiles, lanes);
        }
    }

    void schedule() {
        allocate_from_scratch(get_pipeline());
        suit_riscv_vectors(get_pipeline(), get_target());
    }

 private:
    Var row{"row"}, channel{"channel"};

    bool is_schedule(const char *name) const { return std::string(schedule_name) == name; }

    NumberTypes number_types() const { return types.chosen(get_target()); }

    Expr loaded(const Input<Buffer<void, 2>> &buffer, const Expr &x, const Expr &y) const {
        return from_storage(buffer(x, y), number_types());
    }

    // The terms of one code path.
    ScoreTerms chosen_terms(const std::string &code_path, const Expr &last_row) {
        const auto row_of = [=](const Expr &i) { return min(i, last_row); };
        return named_terms(
            terms, term_arguments(term_numbers, term_matrices, number_types(), diagonal_offset, code_path, row_of));
    }

    // The runtime hands over cropped views that start at 0.
    void constrain_buffers() {
        for (auto *buffer : {&q, &k, &v}) {
            for (int n : {0, 1}) {
                buffer->dim(n).set_min(0);
            }
        }
        for (int n : {0, 1}) {
            out.dim(n).set_min(0);
        }
        lse.dim(0).set_min(0);
        for (auto &matrix : term_matrices.inputs) {
            matrix.dim(0).set_min(0).set_stride(Expr());
            matrix.dim(1).set_min(0);
        }
        if (is_schedule("generic")) {
            q.dim(0).set_stride(Expr());
            k.dim(0).set_stride(Expr());
            v.dim(0).set_stride(Expr());
            out.dim(0).set_stride(Expr());
        }
    }
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::ForwardGenerator, forward)

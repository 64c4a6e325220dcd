#include "algorithm/attention_gradient.h"
#include "output_loads.h"
#include "refuse_illegal_tiles.h"
#include "riscv_vectors.h"
#include "schedules/cpu_backward.h"
#include "scratch_memory.h"
#include "term_inputs.h"
#include "type_parameters.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// The gradient of attention for one tile of queries and keys of one head, added to dq, dk and dv, of which dk is still
// without the softmax scale. Matrices are [channel, row | key], those named *t, bias, mask and dbias are [key, channel
// | row]; all have stride 1 on their first axis and are padded to whole register tiles.
class BackwardGenerator : public Generator<BackwardGenerator> {
 public:
    TypeParameters types;
    // Score terms besides scale and position: any of softcap, alibi, bias, mask, joined by '+'.
    GeneratorParam<std::string> terms{"terms", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "blocks"};
    GeneratorParam<int> width{"width", 32}, tile_q{"tile_q", 8}, tile_k{"tile_k", 8};

    Input<Buffer<void, 2>> q{"q"}, dout{"dout"}, k{"k"}, kt{"kt"}, vt{"vt"};
    Input<Buffer<void, 1>> lse{"lse"}, delta{"delta"};
    TermMatrices term_matrices;
    Input<double> softmax_scale{"softmax_scale"};
    TermNumbers term_numbers;
    // Row i meets key i + diagonal_offset. Where pairs are tested, it attends to key j iff i + lo_offset <= j <= i +
    // hi_offset, for i < row_count and j < key_count: what is there without padding.
    Input<int> diagonal_offset{"diagonal_offset"}, lo_offset{"lo_offset"}, hi_offset{"hi_offset"};
    Input<int> row_count{"row_count"}, key_count{"key_count"};
    // Register tiles of each axis.
    Input<int> row_tiles{"row_tiles"}, key_tiles{"key_tiles"}, head_dim_tiles{"head_dim_tiles"},
        head_dim_v_tiles{"head_dim_v_tiles"};
    // The three code paths, of which one is 1 and runs: no pair is masked; pairs may be masked; pairs may be masked and
    // their operands may be NaN or infinity.
    Input<int> unmasked{"unmasked"}, masked{"masked"}, nansafe{"nansafe"};
    Output<Buffer<void, 2>> dq{"dq"}, dk{"dk"}, dv{"dv"};
    // The gradient of a bias for every pair; with extents of 0 it is not wanted.
    Output<Buffer<void, 2>> dbias{"dbias"};

    void configure() {
        set_types(term_matrices, number_types());
        for (auto *buffer : {&q, &dout, &k, &kt, &vt}) {
            buffer->set_type(buffer_type(number_types().storage));
        }
        for (auto *buffer : {&lse, &delta}) {
            buffer->set_type(number_types().accumulation);
        }
        // The calls of many tiles add to these; rounding each time would lose precision.
        for (auto *buffer : {&dq, &dk, &dv, &dbias}) {
            buffer->set_type(number_types().accumulation);
        }
    }

    void generate() {
        const Type type = number_types().accumulation;
        const int lanes = natural_vector_size(type);
        CpuTiles tiles{};
        tiles.block_q = tiles.block_k = 1;  // not compiled in
        tiles.width = width;
        tiles.tile_q = tile_q;
        tiles.tile_k = tile_k;
        refuse_illegal_tiles(Op::backward, schedule_name, tiles, lanes);
        GradientInputs in;
        in.q = [&](const Expr &d, const Expr &i) { return loaded(q, d, i); };
        in.dout = [&](const Expr &c, const Expr &i) { return loaded(dout, c, i); };
        in.k = [&](const Expr &d, const Expr &j) { return loaded(k, d, j); };
        in.kt = [&](const Expr &j, const Expr &d) { return loaded(kt, j, d); };
        in.vt = [&](const Expr &j, const Expr &c) { return loaded(vt, j, c); };
        in.lse = [&](const Expr &i) { return lse(i); };
        in.delta = [&](const Expr &i) { return delta(i); };
        in.scale = cast(type, softmax_scale);
        in.rows = row_tiles * int(tile_q);
        in.keys = key_tiles * int(width);
        in.head_dim = head_dim_tiles * int(width);
        in.head_dim_v = head_dim_v_tiles * int(width);

        const ScoreTerms without_position = chosen_terms();
        ScoreTerms with_position = without_position;
        with_position.push_back(position_term(lo_offset, hi_offset, select(row < row_count, key_count, 0)));
        // Halide computes Funcs in the order of their names, so these names decide the order of the code paths.
        std::vector<GradientTile> code_paths;
        if (!any_masks_by_memory(without_position)) {
            code_paths.emplace_back("none_masked", type, in, without_position, true, unmasked);
        }
        code_paths.emplace_back("some_masked", type, in, with_position, true, masked);
        code_paths.emplace_back("nansafe", type, in, with_position, false, nansafe);

        dq(channel, row) = undef(type);
        dk(channel, key) = undef(type);
        dv(channel, key) = undef(type);
        for (GradientTile &code_path : code_paths) {
            dq(channel, row) += in.scale * code_path.dq(channel, row, code_path.instances.x);
            dk(channel, key) += code_path.dk(channel, key, code_path.instances.x);
            dv(channel, key) += code_path.dv(channel, key, code_path.instances.x);
        }
        dbias(key, row) = Internal::make_const(type, 0);
        if (names_term(terms, "bias")) {
            for (GradientTile &code_path : code_paths) {
                const FuncRef scores = code_path.dscores(key, row, code_path.instances.x);
                // A term with a derivative makes two values, of which the last is the gradient of the final score.
                dbias(key, row) = code_path.dscores.outputs() == 1 ? Expr(scores) : Expr(scores[1]);
            }
        }
        constrain_buffers();
        bound_outputs(in);
        BackwardOutputs outputs{dq, dk, dv};
        for (int n = 0; n < (int)code_paths.size(); n++) {
            schedule_backward_cpu(code_paths[n], outputs, n, tiles, lanes);
        }
    }

    void schedule() {
        load_outputs_unaligned(get_pipeline());
        allocate_from_scratch(get_pipeline());
        suit_riscv_vectors(get_pipeline(), get_target());
    }

 private:
    Var channel{"channel"}, row{"row"}, key{"key"};

    NumberTypes number_types() const { return types.chosen(get_target()); }

    Expr loaded(const Input<Buffer<void, 2>> &buffer, const Expr &x, const Expr &y) const {
        return from_storage(buffer(x, y), number_types());
    }

    ScoreTerms chosen_terms() {
        const auto row_of = [](const Expr &i) { return i; };
        return named_terms(
            terms, term_arguments(term_numbers, term_matrices, number_types(), diagonal_offset, "by_row", row_of));
    }

    // The runtime hands over views that start at 0.
    void constrain_buffers() {
        for (OutputImageParam p : std::vector<OutputImageParam>{q, dout, k, kt, vt, dq, dk, dv, dbias}) {
            p.dim(0).set_min(0);
            p.dim(1).set_min(0);
        }
        for (auto &matrix : term_matrices.inputs) {
            matrix.dim(0).set_min(0);
            matrix.dim(1).set_min(0);
        }
        for (OutputImageParam p : std::vector<OutputImageParam>{lse, delta}) {
            p.dim(0).set_min(0);
        }
    }

    void bound_outputs(const GradientInputs &in) {
        Func(dq).bound(channel, 0, in.head_dim).bound(row, 0, in.rows);
        Func(dk).bound(channel, 0, in.head_dim).bound(key, 0, in.keys);
        Func(dv).bound(channel, 0, in.head_dim_v).bound(key, 0, in.keys);
    }
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::BackwardGenerator, backward)

#include "algorithm/attention_gradient.h"
#include "output_loads.h"
#include "refuse_illegal_tiles.h"
#include "riscv_vectors.h"
#include "schedules/cpu_backward.h"
#include "scratch_memory.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// The gradient of attention for one tile of queries and keys of one head, added to dq, dk and dv, of which dk is still
// without the softmax scale. Matrices are [channel, row | key], those named *t, bias, mask and dbias are [key, channel
// | row]; all have stride 1 on their first axis and are padded to whole register tiles.
class BackwardGenerator : public Generator<BackwardGenerator> {
 public:
    GeneratorParam<Type> dtype{"dtype", Float(32)};
    // Score terms besides scale and position: any of softcap, alibi, bias, mask, joined by '+'.
    GeneratorParam<std::string> terms{"terms", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "blocks"};
    GeneratorParam<int> width{"width", 32}, tile_q{"tile_q", 8}, tile_k{"tile_k", 8};

    Input<Buffer<void, 2>> q{"q"}, dout{"dout"}, k{"k"}, kt{"kt"}, vt{"vt"};
    Input<Buffer<void, 1>> lse{"lse"}, delta{"delta"};
    Input<Buffer<void, 2>> bias{"bias"};
    Input<Buffer<uint8_t, 2>> mask{"mask"};
    Input<double> softmax_scale{"softmax_scale"}, softcap{"softcap"}, alibi_slope{"alibi_slope"};
    // Row i meets key i + diagonal_offset. Where pairs are tested, it sees key j iff i + lo_offset <= j <= i +
    // hi_offset, for i < row_count and j < key_count: what is there without padding.
    Input<int> diagonal_offset{"diagonal_offset"}, lo_offset{"lo_offset"}, hi_offset{"hi_offset"};
    Input<int> row_count{"row_count"}, key_count{"key_count"};
    // Register tiles of each axis.
    Input<int> row_tiles{"row_tiles"}, key_tiles{"key_tiles"}, head_dim_tiles{"head_dim_tiles"},
        head_dim_v_tiles{"head_dim_v_tiles"};
    // One of them is 1: every pair is seen; pairs are tested; pairs are tested and operands of hidden ones may be NaN.
    Input<int> interior{"interior"}, masked{"masked"}, careful{"careful"};
    Output<Buffer<void, 2>> dq{"dq"}, dk{"dk"}, dv{"dv"};
    // The gradient of a bias for every pair; with extents of 0 it is not wanted.
    Output<Buffer<void, 2>> dbias{"dbias"};

    void configure() {
        for (auto *buffer : {&q, &dout, &k, &kt, &vt, &bias}) {
            buffer->set_type(dtype);
        }
        for (auto *buffer : {&lse, &delta}) {
            buffer->set_type(dtype);
        }
        for (auto *buffer : {&dq, &dk, &dv, &dbias}) {
            buffer->set_type(dtype);
        }
    }

    void generate() {
        const Type type = dtype;
        const int lanes = natural_vector_size(type);
        CpuTiles tiles{};
        tiles.block_q = tiles.block_k = 1;  // not compiled in
        tiles.width = width;
        tiles.tile_q = tile_q;
        tiles.tile_k = tile_k;
        refuse_illegal_tiles(Op::backward, schedule_name, tiles, lanes);
        GradientInputs in;
        in.q = [&](const Expr &d, const Expr &i) { return q(d, i); };
        in.dout = [&](const Expr &c, const Expr &i) { return dout(c, i); };
        in.k = [&](const Expr &d, const Expr &j) { return k(d, j); };
        in.kt = [&](const Expr &j, const Expr &d) { return kt(j, d); };
        in.vt = [&](const Expr &j, const Expr &c) { return vt(j, c); };
        in.lse = [&](const Expr &i) { return lse(i); };
        in.delta = [&](const Expr &i) { return delta(i); };
        in.scale = cast(type, softmax_scale);
        in.rows = row_tiles * int(tile_q);
        in.keys = key_tiles * int(width);
        in.head_dim = head_dim_tiles * int(width);
        in.head_dim_v = head_dim_v_tiles * int(width);

        const ScoreTerms all_seen = chosen_terms();
        ScoreTerms tested = all_seen;
        tested.push_back(position_term(lo_offset, hi_offset, select(row < row_count, key_count, 0)));
        std::vector<GradientTile> ways;
        if (!any_seen_from_memory(all_seen)) {
            ways.emplace_back("interior", type, in, all_seen, false, interior);
        }
        ways.emplace_back("masked", type, in, tested, false, masked);
        ways.emplace_back("careful", type, in, tested, true, careful);

        dq(channel, row) = undef(type);
        dk(channel, key) = undef(type);
        dv(channel, key) = undef(type);
        for (GradientTile &way : ways) {
            dq(channel, row) += in.scale * way.dq(channel, row, way.sections.x);
            dk(channel, key) += way.dk(channel, key, way.sections.x);
            dv(channel, key) += way.dv(channel, key, way.sections.x);
        }
        dbias(key, row) = Internal::make_const(type, 0);
        if (names_term(terms, "bias")) {
            for (GradientTile &way : ways) {
                dbias(key, row) = way.dscores(key, row, way.sections.x)[way.dscores.outputs() - 1];
            }
        }
        constrain_buffers();
        bound_outputs(in);
        GradientOutputs outputs{dq, dk, dv};
        for (int n = 0; n < (int)ways.size(); n++) {
            schedule_gradient_cpu(ways[n], outputs, n, tiles, lanes);
        }
    }

    void schedule() {
        load_outputs_unaligned(get_pipeline());
        allocate_from_scratch(get_pipeline());
        suit_riscv_vectors(get_pipeline(), get_target());
    }

 private:
    Var channel{"channel"}, row{"row"}, key{"key"};

    ScoreTerms chosen_terms() {
        const Type type = dtype;
        return named_terms(terms, "by_row",
                           {cast(type, softcap),
                            cast(type, alibi_slope),
                            diagonal_offset,
                            {[=](const Expr &row, const Expr &key) { return bias(key, row); }, bias.dim(1).stride()},
                            {[=](const Expr &row, const Expr &key) { return mask(key, row); }, mask.dim(1).stride()}});
    }

    // The runtime hands over views that start at 0.
    void constrain_buffers() {
        for (OutputImageParam p : std::vector<OutputImageParam>{q, dout, k, kt, vt, bias, mask, dq, dk, dv, dbias}) {
            p.dim(0).set_min(0);
            p.dim(1).set_min(0);
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

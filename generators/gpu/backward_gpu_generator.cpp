#include "algorithm/attention_gradient.h"
#include "float_workarounds.h"
#include "half_storage.h"
#include "refuse_illegal_parameters.h"
#include "schedules/gpu_backward.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

namespace {

// The values of a Func at one place.
std::vector<Expr> values_at(const Func &f, const std::vector<Expr> &place) {
    if (f.outputs() == 1) {
        return {f(place)};
    }
    std::vector<Expr> values;
    for (int n = 0; n < f.outputs(); n++) {
        values.push_back(f(place)[n]);
    }
    return values;
}

}  // namespace

// One pass of attention backward over all heads. A thread owns query rows and sums their dQ, or it owns keys and sums
// their dK, dV or both. It goes over the blocks of the other side that its thread block meets.
//
// The query rows of all heads are one sequence, and so are the keys. Both are dense and padded: channels to head_dim,
// each head to whole tiles and blocks. Padding adds nothing to any sum: it is 0, and +infinity in lse. A row that
// attends to no key has +infinity in lse, too. Quantities that depend on head and batch are given for each row.
//
// The pass of dbias sums nothing. It writes dS for every pair, 0 where the pair is masked. All arithmetic is in f32.
class BackwardGpuGenerator : public Generator<BackwardGpuGenerator> {
 public:
    // The type of Q, K, V, dO, bias and the gradients that a pass sums: float32 or float16. Buffers of float16 hold its
    // bits as integers.
    GeneratorParam<Type> dtype{"dtype", Float(32)};
    // Score terms besides scale and position: any of softcap, alibi, bias, mask, joined by '+'.
    GeneratorParam<std::string> terms{"terms", ""};
    // dq, dk, dv, dk+dv or dbias.
    GeneratorParam<std::string> sums{"sums", "dq"};
    // Q, K, V and dO hold finite numbers only. Otherwise masked ones are kept out one by one.
    GeneratorParam<bool> assume_finite{"assume_finite", false};
    // The members of GpuTiles. A block has `block_k` rows of the other side.
    GeneratorParam<int> head_dim{"head_dim", 64}, threads{"threads", 64}, rows{"rows", 1}, block_k{"block_k", 16},
        tile_d{"tile_d", 4}, tile_v{"tile_v", 16};

    // A query row holds Q and dO, a key K and V. Four columns of f32 follow; with f16, the bits of each are two
    // elements. So one address serves all that a row has.
    Input<Buffer<void, 2>> queries{"queries"}, keys{"keys"};  // [2 head_dim + the columns, row or key]
    // For each query row. ALiBi measures from diagonal_key, an index among all keys.
    Input<Buffer<float, 1>> alibi_slope{"alibi_slope"};
    Input<Buffer<int32_t, 1>> diagonal_key{"diagonal_key"};
    // The element of a row and of key j, an index among all keys, is at the row's offset + j.
    Input<Buffer<void, 1>> bias{"bias"};
    Input<Buffer<uint8_t, 1>> mask{"mask"};
    Input<Buffer<int32_t, 1>> bias_offset{"bias_offset"}, mask_offset{"mask_offset"};
    // [2, thread block, group]: the first block of one head that its rows meet, and the end of those blocks.
    Input<Buffer<int32_t, 3>> plan{"plan"};
    // A group is a key head and its query heads. `heads` is how many heads of the other side it has, `head_rows` how
    // many rows each of these has.
    Input<int> heads{"heads"}, head_rows{"head_rows"};
    Input<float> softmax_scale{"softmax_scale"}, softcap{"softcap"};
    // [channel, gradient, row or key of the group, group]. For dbias [key of the head, 1, row of the group, group] in
    // f32, since the sum over what the bias broadcasts follows.
    Output<Buffer<void, 4>> result{"result"};

    void configure() {
        refuse_illegal_dtype("backward_gpu", dtype);
        for (auto *buffer : {&queries, &keys}) {
            buffer->set_type(stored());
        }
        bias.set_type(stored());
        result.set_type(sums.value() == "dbias" ? Float(32) : stored());
    }

    void generate() {
        tiles = GpuTiles{head_dim, threads, rows, block_k, tile_d, tile_v};
        refuse_illegal_tiles("backward_gpu", tiles, pass_of("backward_gpu", sums), stored(), get_target());
        query_row(channel, row) = from_storage(queries(channel, row), number_types());
        key_row(channel, row) = from_storage(keys(channel, row), number_types());
        // Every pair is tested. Beside four or five products that costs little, and a second code path for full blocks
        // would take registers.
        const Func first = own_bound("first", kFirst), last = own_bound("last", kLast);
        ScoreTerms tested = chosen_terms();
        tested.push_back(position(first, last));
        const GradientTile block("block", halide_type_of<float>(), inputs(), tested, assume_finite, 1);
        BackwardPass pass{owns_keys(), query_row, key_row, stored(), block, {first, last}, planned_blocks()};
        if (sums.value() == "dbias") {
            give_scores(pass);
            return;
        }
        sum_blocks(pass);
        std::vector<Expr> scaled = values_at(pass.sums, {channel, own, thread_tile, group});
        if (wanted().front() != "dv") {
            scaled.front() *= softmax_scale;
        }
        pass.gradients(channel, own, thread_tile, group) = Tuple(scaled);
        const std::vector<Expr> gradients =
            values_at(pass.gradients, {channel, row % tiles.rows, row / tiles.rows, group});
        result(channel, gradient, row, group) = to_storage(mux(gradient, gradients), number_types());
        constrain_buffers();
        schedule_backward_gpu(pass, result, tiles);
    }

    void schedule() {
        load_halves_by_words(get_pipeline(), get_target());
        apply_float_workarounds(get_pipeline(), get_target());
    }

 private:
    Var channel{"channel"}, gradient{"gradient"}, row{"row"}, own{"own"}, thread_tile{"thread_tile"}, group{"group"};
    Var instance{"instance"};  // of a GradientTile: where the block of the other side begins among all its rows
    Func query_row{"query_row"}, key_row{"key_row"};  // (channel, row)
    GpuTiles tiles;

    NumberTypes number_types() const { return {dtype, Float(32), get_target()}; }
    Type stored() const { return buffer_type(dtype); }
    bool owns_keys() const { return sums.value() != "dq" && sums.value() != "dbias"; }
    std::vector<std::string> wanted() const {
        return sums.value() == "dk+dv" ? std::vector<std::string>{"dk", "dv"} : std::vector<std::string>{sums.value()};
    }

    // A GradientTile counts the rows of the other side within their block. These are the indices among all.
    Expr row_of(const Expr &i) const { return owns_keys() ? instance + i : i; }
    Expr key_of(const Expr &j) const { return owns_keys() ? j : instance + j; }

    // The columns after Q and dO in a query row, and after K and V in a key. First come the first and the last of the
    // other side that are unmasked, indices in their head, as the bits of integers. A query row then has lse and delta.
    enum Column { kFirst, kLast, kLse, kDelta, kColumns };

    int row_elements() const { return 2 * tiles.head_dim + kColumns * elements_of_a_float(stored()); }

    Expr column_of(const Input<Buffer<void, 2>> &side, Column column, const Expr &i) const {
        const int first = 2 * tiles.head_dim + column * elements_of_a_float(stored());
        return float_of_elements([&](int n) { return Expr(side(first + n, i)); }, stored());
    }

    GradientInputs inputs() {
        GradientInputs in;
        const int second = tiles.head_dim;
        in.q = [=](const Expr &d, const Expr &i) { return query_row(d, row_of(i)); };
        in.dout = [=](const Expr &c, const Expr &i) { return query_row(second + c, row_of(i)); };
        in.k = [=](const Expr &d, const Expr &j) { return key_row(d, key_of(j)); };
        in.kt = [=](const Expr &j, const Expr &d) { return key_row(d, key_of(j)); };
        in.vt = [=](const Expr &j, const Expr &c) { return key_row(second + c, key_of(j)); };
        in.lse = [=](const Expr &i) { return column_of(queries, kLse, row_of(i)); };
        in.delta = [=](const Expr &i) { return column_of(queries, kDelta, row_of(i)); };
        in.scale = softmax_scale;
        in.rows = in.keys = tiles.block_k;
        in.head_dim = in.head_dim_v = tiles.head_dim;
        return in;
    }

    // The blocks of the thread block's plan, of each head.
    RDom planned_blocks() {
        RDom r(0, head_rows / tiles.block_k, 0, heads, "blocks");
        const Expr tile = thread_tile / tiles.threads;
        r.where(r.x >= plan(0, tile, group) && r.x < plan(1, tile, group));
        return r;
    }

    // The bias is added to the score, so their gradients are the same.
    void give_scores(BackwardPass &pass) {
        const Expr own_row = group * result.dim(2).extent() + row, begin = channel / tiles.block_k * tiles.block_k;
        const std::vector<Expr> pair{channel % tiles.block_k, own_row, group * head_rows + begin};
        result(channel, gradient, row, group) = values_at(pass.tile.dscores, pair).back();
        constrain_buffers();
        schedule_dbias_gpu(pass, result, tiles);
    }

    void sum_blocks(BackwardPass &pass) {
        const std::vector<Expr> place{channel, own, thread_tile, group};
        pass.sums(place) = Tuple(std::vector<Expr>(wanted().size(), 0.0f));
        const Expr own_row = group * result.dim(2).extent() + thread_tile * tiles.rows + own;
        const Expr begin = (group * heads + pass.blocks.y) * head_rows + pass.blocks.x * tiles.block_k;
        const std::vector<std::string> names = wanted();
        std::vector<Expr> sum = values_at(pass.sums, place);
        for (size_t n = 0; n < sum.size(); n++) {
            const std::string &name = names[n];
            const Func product = name == "dq" ? pass.tile.dq : name == "dk" ? pass.tile.dk : pass.tile.dv;
            sum[n] += product(channel, own_row, begin);
        }
        pass.sums(place) = Tuple(sum);
    }

    // The first or last unmasked index of an own row, relative to the block of the other side.
    Func own_bound(const std::string &name, Column column) {
        Func f(name);
        const Expr place = reinterpret<int32_t>(column_of(owns_keys() ? keys : queries, column, row));
        f(row, instance) = place - instance % head_rows;
        return f;
    }

    // Causal mask, window and key length in one term. The place in a block is a constant, and is compared with bounds
    // that are computed once per block. Comparing whole indices would take a register for each pair.
    ScoreTerm position(const Func &first, const Func &last) {
        ScoreTerm term;
        term.unmasked = [=](const ScoreIndex &at) {
            const Expr mine = owns_keys() ? at.key : at.row, other = owns_keys() ? at.row : at.key;
            return other >= first(mine, instance) && other <= last(mine, instance);
        };
        return term;
    }

    // The terms by indices among all rows and keys.
    ScoreTerms chosen_terms() {
        const Var i("row");
        TermArguments arguments;
        arguments.code_path = "block";
        arguments.numbers = {{"softcap", softcap}, {"alibi_slopes", alibi_slope(row_of(i))}};
        arguments.diagonal_offset = diagonal_key(row_of(i)) - row_of(i);
        TermArguments::Matrix &bias_matrix = arguments.matrices["bias"], &mask_matrix = arguments.matrices["mask"];
        bias_matrix.element = [this](const Expr &query, const Expr &key) {
            const Expr place = unsafe_promise_clamped(bias_offset(query) + key, 0, bias.dim(0).extent() - 1);
            return from_storage(bias(place), number_types());
        };
        mask_matrix.element = [this](const Expr &query, const Expr &key) {
            return mask(unsafe_promise_clamped(mask_offset(query) + key, 0, mask.dim(0).extent() - 1));
        };
        bias_matrix.row_stride = mask_matrix.row_stride = 1;  // read where it is used, whatever it is
        ScoreTerms chosen = named_terms(terms, arguments);
        for (ScoreTerm &term : chosen) {
            const auto among_all = [this](const ScoreIndex &at) { return ScoreIndex{row_of(at.row), key_of(at.key)}; };
            if (term.value) {
                term.value = [=, f = term.value](const Expr &score, const ScoreIndex &at) {
                    return f(score, among_all(at));
                };
            }
            if (term.derivative) {
                term.derivative = [=, f = term.derivative](const Expr &score, const ScoreIndex &at) {
                    return f(score, among_all(at));
                };
            }
            if (term.unmasked) {
                term.unmasked = [=, f = term.unmasked](const ScoreIndex &at) { return f(among_all(at)); };
            }
        }
        return chosen;
    }

    void constrain_buffers() {
        set_dense(queries, row_elements());
        set_dense(keys, row_elements());
        alibi_slope.dim(0).set_min(0);
        bias.dim(0).set_min(0);
        for (auto *buffer : {&diagonal_key, &bias_offset, &mask_offset}) {
            buffer->dim(0).set_min(0);
        }
        mask.dim(0).set_min(0);
        for (int n = 0; n < 3; n++) {
            plan.dim(n).set_min(0);
        }
        const int gradients = (int)wanted().size();
        const Expr channels = sums.value() == "dbias" ? head_rows / tiles.block_k * tiles.block_k : tiles.head_dim;
        result.set_host_alignment(16);
        result.dim(0).set_bounds(0, channels).set_stride(1);
        result.dim(1).set_bounds(0, gradients).set_stride(channels);
        result.dim(2).set_min(0).set_stride(channels * gradients);
        result.dim(3).set_min(0).set_stride(channels * gradients * result.dim(2).extent());
    }

    void set_dense(Input<Buffer<void, 2>> &buffer, int channels) {
        buffer.set_host_alignment(16);
        buffer.dim(0).set_bounds(0, channels).set_stride(1);
        buffer.dim(1).set_min(0).set_stride(channels);
    }
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::BackwardGpuGenerator, backward_gpu)

#include "algorithm/forward_attention.h"
#include "float_workarounds.h"
#include "half_storage.h"
#include "hardware_exponential.h"
#include "refuse_illegal_parameters.h"
#include "schedules/gpu_forward.h"

#include <Halide.h>

namespace flashwright {

using namespace Halide;

// Attention forward of all heads in one kernel. Buffers are [channel, row | key, head, batch], dense and padded:
// channels to head_dim, rows to whole tiles, keys to whole blocks. All arithmetic is in f32.
class ForwardGpuGenerator : public Generator<ForwardGpuGenerator> {
 public:
    // The type of q, k, v, bias and the output: float32 or float16. Buffers of float16 hold its bits as integers.
    GeneratorParam<Type> dtype{"dtype", Float(32)};
    // Score terms besides scale and position: any of softcap, alibi, bias, mask, joined by '+'.
    GeneratorParam<std::string> terms{"terms", ""};
    // V holds finite numbers only. Otherwise masked values are kept out one by one, which costs as much as the
    // products.
    GeneratorParam<bool> assume_finite{"assume_finite", false};
    GeneratorParam<int> head_dim{"head_dim", 64}, threads{"threads", 64}, rows{"rows", 1}, block_k{"block_k", 16},
        tile_d{"tile_d", 4}, tile_v{"tile_v", 16}, threads_per_row{"threads_per_row", 1};

    Input<Buffer<void, 4>> q{"q"}, k{"k"}, v{"v"};
    // [key, row, head, batch]; strides of 0 broadcast.
    Input<Buffer<void, 4>> bias{"bias"};
    Input<Buffer<uint8_t, 4>> mask{"mask"};
    Input<Buffer<float, 1>> alibi_slopes{"alibi_slopes"};
    // For each batch entry: row i attends to key j if and only if i + lo_offset <= j <= i + hi_offset and
    // j < key_count. ALiBi measures from key i + diagonal_offset.
    Input<Buffer<int32_t, 1>> lo_offset{"lo_offset"}, hi_offset{"hi_offset"}, diagonal_offset{"diagonal_offset"},
        key_count{"key_count"};
    // [4, tile, batch]: four boundaries among the blocks of keys, for each thread block. Its rows meet the blocks from
    // the first boundary to the fourth. Those from the second to the third are full blocks: no row has a key masked
    // there by its position. Without assume_finite there are no full blocks, and the second and third boundary equal
    // the first.
    Input<Buffer<int32_t, 3>> plan{"plan"};
    Input<float> softmax_scale{"softmax_scale"}, softcap{"softcap"};
    // [column, row, head, batch], with the columns of GpuTiles::result_layout.
    Output<Buffer<void, 4>> result{"result"};

    void configure() {
        refuse_illegal_dtype("forward_gpu", dtype);
        for (auto *buffer : {&q, &k, &v, &bias}) {
            buffer->set_type(stored());
        }
        result.set_type(stored());
    }

    void generate() {
        const GpuTiles tiles{head_dim, threads, rows, block_k, tile_d, tile_v, threads_per_row};
        refuse_illegal_tiles("forward_gpu", tiles, GpuPass::forward, stored(), get_target());
        const int channels = tiles.channels_per_thread();
        first_row = thread_tile * tiles.rows;
        const Expr kv_head = head / (q.dim(2).extent() / k.dim(2).extent());
        Func queries("queries");
        queries(with_outer({row, channel}, outer)) =
            loaded(q, {tiles.channel<Expr>(lane, channel), first_row + row, head, batch}) * softmax_scale;
        const auto element = [&](const Input<Buffer<void, 4>> &of_keys) {
            return [this, &of_keys, tiles, kv_head](const Expr &key, const Expr &d) {
                return loaded(of_keys, {tiles.channel<Expr>(lane, d), key, kv_head, batch});
            };
        };
        ForwardAttention attention(queries, element(k), element(v), channels, channels, outer, tiles.tile_v);
        add_blocks(attention, tiles);
        attention.state.finish();
        if (get_target().has_feature(Target::CUDA)) {
            use_hardware_exponentials(attention);
        }

        define_result(attention.state, tiles);
        constrain_buffers(tiles);
        schedule_forward_gpu(attention, result, k, tiles);
    }

    void schedule() {
        load_halves_by_words(get_pipeline(), get_target());
        apply_float_workarounds(get_pipeline(), get_target());
    }

 private:
    Var channel{"channel"}, row{"row"}, lane{"lane"}, thread_tile{"thread_tile"}, head{"head"}, batch{"batch"};
    const OuterVars outer{lane, thread_tile, head, batch};
    Expr first_row;  // of the thread tile: the rows that one thread, or the threads that share them, own

    void define_result(const OnlineSoftmax &state, const GpuTiles &tiles) {
        const int channels = tiles.channels_per_thread();
        const Expr columns = tiles.result_layout(stored().bytes()).columns_per_thread, column = channel % columns;
        const std::vector<Expr> thread_of_element{channel / columns, row / tiles.rows, head, batch};
        const auto at_row = [&](const Func &f, std::vector<Expr> place) {
            place.insert(place.end(), thread_of_element.begin(), thread_of_element.end());
            return f(place);
        };
        const Expr row_in = row % tiles.rows;
        const Expr out = at_row(state.normalised, {row_in, min(column, channels - 1)});
        const Expr lse = at_row(state.lse, {row_in});
        result(channel, row, head, batch) =
            select(column < channels, to_storage(out, number_types()), bits_as_storage(lse, column, stored()));
    }

    // The tile's blocks of keys from one boundary of its plan to the next. The clamp lets Halide prove the loop bounds,
    // so that it does not test them again inside the loop.
    KeyBlocks planned_blocks(int boundary, const GpuTiles &tiles) {
        const Expr blocks = k.dim(1).extent() / tiles.block_k,
                   tile = thread_tile / (tiles.threads / tiles.threads_per_row);
        const Expr from = clamp(plan(boundary, tile, batch), 0, blocks);
        const Expr to = clamp(plan(boundary + 1, tile, batch), 0, blocks);
        return {0, tiles.block_k, blocks, [=](const Expr &block) { return block >= from && block < to; }};
    }

    // Three code paths: masked blocks to the left, full blocks, masked blocks to the right. In full blocks no key's
    // position is tested. A kernel without assume_finite selects values one by one, so a code path for full blocks
    // would save little, and one code path tests all blocks.
    void add_blocks(ForwardAttention &attention, const GpuTiles &tiles) {
        const char *const names[] = {"masked_left", "full", "masked_right"};
        for (int n = assume_finite ? 0 : 2; n < 3; n++) {
            ScoreTerms chosen = chosen_terms(names[n]);
            if (tiles.threads_per_row > 1) {
                chosen.insert(chosen.begin(), sum_over_threads(tiles.threads_per_row));
            }
            if (n != 1) {
                chosen.push_back(position_in_block(names[n], tiles.block_k));
            }
            attention.add_blocks(names[n], planned_blocks(n, tiles), chosen, assume_finite);
        }
    }

    // The dot product over all channels from those over each thread's own. Threads of a warp exchange partial sums, and
    // every thread of the row gets the same total. PTX ISA: shfl.sync.bfly exchanges with the lane whose number differs
    // in one bit; all threads of the warp take part.
    static ScoreTerm sum_over_threads(int threads_per_row) {
        ScoreTerm term;
        term.value = [=](const Expr &score, const ScoreIndex &) {
            Expr sum = score;
            for (int lane = 1; lane < threads_per_row; lane *= 2) {
                sum += Internal::Call::make(Float(32), "llvm.nvvm.shfl.sync.bfly.f32", {-1, sum, lane, 31},
                                            Internal::Call::PureExtern);
            }
            return sum;
        };
        return term;
    }

    // Causal mask, window and key length in one term, as position_term. A key's place in its block is a constant, and
    // is compared with bounds of the row that are computed once per block. Comparing whole indices would take a
    // register for each key.
    ScoreTerm position_in_block(const std::string &code_path, int keys_per_block) {
        const Var block("block");
        Func first("first_" + code_path), last("last_" + code_path);
        const Expr row_in_head = first_row + row, begin = block * keys_per_block;
        first(with_outer({row, block}, outer)) = row_in_head + lo_offset(batch) - begin;
        last(with_outer({row, block}, outer)) = min(row_in_head + hi_offset(batch), key_count(batch) - 1) - begin;
        ScoreTerm term;
        term.unmasked = [=](const ScoreIndex &at) {
            const std::vector<Expr> place = with_outer({at.row, at.key / keys_per_block}, at.outer);
            return at.key % keys_per_block >= first(place) && at.key % keys_per_block <= last(place);
        };
        term.reads = {{first, false}, {last, false}};
        return term;
    }

    NumberTypes number_types() const { return {dtype, Float(32), get_target()}; }
    Type stored() const { return buffer_type(dtype); }

    Expr loaded(const Input<Buffer<void, 4>> &buffer, const std::vector<Expr> &place) {
        return from_storage(buffer(place), number_types());
    }

    static void use_hardware_exponentials(ForwardAttention &attention) {
        use_hardware_exponential(attention.state.state);
        for (const ScoredBlocks &code_path : attention.code_paths) {
            use_hardware_exponential(code_path.softmax.weights);
        }
    }

    ScoreTerms chosen_terms(const std::string &code_path) {
        const auto bias_at = [this](const Expr &i, const Expr &j) {
            return loaded(bias, {j, first_row + i, head, batch});
        };
        const auto mask_at = [this](const Expr &i, const Expr &j) { return mask(j, first_row + i, head, batch); };
        return named_terms(terms,
                           {{{"softcap", softcap}, {"alibi_slopes", alibi_slopes(head)}},
                            {{"bias", {bias_at, bias.dim(1).stride()}}, {"mask", {mask_at, mask.dim(1).stride()}}},
                            first_row + diagonal_offset(batch),
                            outer,
                            code_path});
    }

    void constrain_buffers(const GpuTiles &tiles) {
        for (auto *buffer : {&q, &k, &v}) {
            set_dense(*buffer, tiles.head_dim);
        }
        set_dense(result, tiles.result_columns(stored().bytes()));
        for (int n = 0; n < 4; n++) {
            bias.dim(n).set_min(0);
            mask.dim(n).set_min(0);
        }
        for (int n = 0; n < 3; n++) {
            plan.dim(n).set_min(0);
        }
        for (auto *buffer : {&lo_offset, &hi_offset, &diagonal_offset, &key_count}) {
            buffer->dim(0).set_min(0);
        }
        alibi_slopes.dim(0).set_min(0);
    }

    template <typename Parameter>
    void set_dense(Parameter &buffer, int channels) {
        buffer.set_host_alignment(16);
        buffer.dim(0).set_bounds(0, channels).set_stride(1);
        buffer.dim(1).set_min(0).set_stride(channels);
        buffer.dim(2).set_min(0).set_stride(buffer.dim(1).extent() * channels);
        buffer.dim(3).set_min(0).set_stride(buffer.dim(1).extent() * buffer.dim(2).extent() * channels);
    }
};

}  // namespace flashwright

HALIDE_REGISTER_GENERATOR(flashwright::ForwardGpuGenerator, forward_gpu)

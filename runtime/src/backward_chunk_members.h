// The members of BackwardChunk, for the file that compiles it for a type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backward_chunk.h"

namespace flashwright {

template <typename T>
BackwardChunk<T>::BackwardChunk(const BackwardProblem &problem, const Kernel &kernel, const BackwardSizes &sizes,
                                const BackwardState &state, std::int64_t chain, std::int64_t chunk, Scratch &scratch)
    : problem_(problem),
      forward_(problem.forward),
      kernel_(kernel),
      sizes_(sizes),
      state_(state),
      chain_(chain),
      chunk_(chunk),
      key_begin_(chunk * sizes.block_k),
      key_capacity_end_(std::min(forward_.seqlen_k, key_begin_ + sizes.block_k)),
      scratch_(scratch) {
    scratch_.reset();
    const auto take = [&](auto *&memory, std::int64_t rows, std::int64_t columns) {
        using Element = std::remove_reference_t<decltype(*memory)>;
        memory =
            static_cast<Element *>(scratch_.allocate(static_cast<std::uint64_t>(rows * columns) * sizeof(Element)));
    };
    take(k_, sizes.block_k, sizes.head_dim);
    take(kt_, sizes.block_k, sizes.head_dim);
    take(dk_, sizes.block_k, sizes.head_dim);
    take(vt_, sizes.block_k, sizes.head_dim_v);
    take(dv_, sizes.block_k, sizes.head_dim_v);
    take(q_, sizes.block_q, sizes.head_dim);
    take(dq_, sizes.block_q, sizes.head_dim);
    take(dout_, sizes.block_q, sizes.head_dim_v);
    take(dbias_, sizes.block_q, sizes.block_k);
    for (std::size_t n = 0; n < term_matrices_.size(); ++n) {
        const bool bytes = kTermMatrices[n].input.kind == InputKind::byte_matrix;
        take(term_matrices_[n], sizes.block_q, sizes.block_k * static_cast<std::int64_t>(bytes ? 1 : sizeof(T)));
    }
}

template <typename T>
void BackwardChunk<T>::run() {
    if (problem_.dbias.given) zero_dbias();
    const std::int64_t group = forward_.heads / forward_.heads_kv;
    for (std::int64_t n = 0; n < sizes_.chain_heads; ++n) {
        const std::int64_t index = chain_ * sizes_.chain_heads + n;
        KeyHead head{};
        head.batch = index / forward_.heads_kv;
        head.head = index % forward_.heads_kv;
        head.keys.diagonal = forward_.diagonal_of(head.batch);
        head.keys.window_left = forward_.window_left;
        head.keys.window_right = forward_.window_right;
        head.keys.key_count = forward_.key_count(head.batch);
        head.keys.everything_masked = (kernel_.terms & kTestEveryKey) != 0;
        head.key_end = std::min(head.keys.key_count, key_capacity_end_);
        run_head(head, n * group * sizes_.blocks);
    }
    if (problem_.dbias.given && sizes_.sums_apart) store_dbias();
}

template <typename T>
void BackwardChunk<T>::run_head(KeyHead &head, std::int64_t first_position) {
    const std::int64_t group = forward_.heads / forward_.heads_kv;
    std::int64_t position = first_position;
    for (std::int64_t g = 0; g < group; ++g) {
        for (std::int64_t block = 0; block < sizes_.blocks; ++block, ++position) {
            const std::int64_t query_head = head.head * group + g;
            state_.wait_for_turn(chain_, chunk_, position);
            if (chunk_ == 0) prepare_block(head.batch, query_head, block);
            run_block(head, query_head, block);
            if (sizes_.sums_apart && chunk_ + 1 == sizes_.chunks) store_queries(head.batch, query_head, block);
            state_.passed(chain_, chunk_, position);
        }
    }
    store_keys(head);
}

template <typename T>
void BackwardChunk<T>::run_block(KeyHead &head, std::int64_t query_head, std::int64_t block) {
    const std::int64_t row = block * sizes_.block_q, row_end = std::min(row + sizes_.block_q, forward_.seqlen_q);
    const auto tile_of = [&](std::int64_t begin, std::int64_t end) {
        return plan_backward_tile(head.keys, begin, end, sizes_.tile_q, key_begin_, head.key_end, sizes_.width);
    };
    const BackwardTile whole = tile_of(row, row_end);
    if (whole.empty()) return;
    if (!head.packed) pack(head);
    if (!whole.cut) {
        run_tile(head, query_head, whole);
        return;
    }
    // The tile is partly masked by position: with fewer rows at once, fewer masked pairs are computed.
    for (std::int64_t begin = whole.row_begin; begin < whole.row_end; begin += sizes_.edge_rows) {
        const BackwardTile part = tile_of(begin, std::min(begin + sizes_.edge_rows, whole.row_end));
        if (!part.empty()) run_tile(head, query_head, part);
    }
}

// Sets what every chunk needs of the rows: lse, delta, and a dQ of 0 to add to.
template <typename T>
void BackwardChunk<T>::prepare_block(std::int64_t batch, std::int64_t head, std::int64_t block) {
    const HeadMatrix<T> q(forward_.q, batch, head), out(forward_.out, batch, head), dout(problem_.dout, batch, head);
    const std::int64_t begin = block * sizes_.block_q, end = std::min(begin + sizes_.block_q, forward_.seqlen_q);
    constexpr Sum kInfinity = std::numeric_limits<Sum>::infinity();
    Sum *lse = state_.lse<Sum>(batch, head), *delta = state_.delta<Sum>(batch, head);
    for (std::int64_t row = begin; row < end; ++row) {
        const Sum given = *reinterpret_cast<const Sum *>(forward_.lse.at(batch, head, row));
        const bool nothing = given == -kInfinity;
        lse[row] = nothing ? kInfinity : given;
        delta[row] = nothing ? Sum{0} : static_cast<Sum>(dot_row(dout, out, row));
    }
    if (end == forward_.seqlen_q) {
        std::fill(lse + end, lse + sizes_.rows, kInfinity);
        std::fill(delta + end, delta + sizes_.rows, Sum{0});
    }
    fill_zero(HeadMatrix<Sum>(state_.dq(), batch, head), begin, end - begin);
    state_.finite(batch, head, block) = all_finite(q, begin, end - begin) && all_finite(dout, begin, end - begin);
}

template <typename T>
void BackwardChunk<T>::pack(KeyHead &head) {
    const HeadMatrix<T> k(forward_.k, head.batch, head.head), v(forward_.v, head.batch, head.head);
    const std::int64_t keys = head.key_end - key_begin_;
    copy_padded(k, key_begin_, keys, sizes_.block_k, sizes_.head_dim, k_);
    copy_transposed(k, key_begin_, keys, sizes_.block_k, sizes_.head_dim, kt_);
    copy_transposed(v, key_begin_, keys, sizes_.block_k, sizes_.head_dim_v, vt_);
    std::fill(dk_, dk_ + sizes_.block_k * sizes_.head_dim, Sum{0});
    std::fill(dv_, dv_ + sizes_.block_k * sizes_.head_dim_v, Sum{0});
    head.finite = all_finite(k, key_begin_, keys) && all_finite(v, key_begin_, keys);
    head.packed = true;
}

template <typename T>
void BackwardChunk<T>::store_keys(const KeyHead &head) {
    const HeadMatrix<T> dk(problem_.dk, head.batch, head.head), dv(problem_.dv, head.batch, head.head);
    const std::int64_t end = head.packed ? head.key_end : key_begin_;
    store(dk_, sizes_.head_dim, static_cast<Sum>(forward_.softmax_scale), end - key_begin_, dk, key_begin_);
    store(dv_, sizes_.head_dim_v, Sum{1}, end - key_begin_, dv, key_begin_);
    fill_zero(dk, end, key_capacity_end_ - end);
    fill_zero(dv, end, key_capacity_end_ - end);
}

template <typename T>
void BackwardChunk<T>::store_queries(std::int64_t batch, std::int64_t head, std::int64_t block) {
    const HeadMatrix<Sum> sums(state_.dq(), batch, head);
    const std::int64_t begin = block * sizes_.block_q, rows = std::min(sizes_.block_q, forward_.seqlen_q - begin);
    store(sums.row(begin), sums.channels, Sum{1}, rows, HeadMatrix<T>(problem_.dq, batch, head), begin);
}

template <typename T>
void BackwardChunk<T>::run_tile(KeyHead &head, std::int64_t query_head, const BackwardTile &tile) {
    const std::int64_t row_tiles = (tile.row_end - tile.row_begin + sizes_.tile_q - 1) / sizes_.tile_q;
    const std::int64_t key_tiles = (tile.key_end - tile.key_begin + sizes_.width - 1) / sizes_.width;
    const std::int64_t rows = row_tiles * sizes_.tile_q, keys = key_tiles * sizes_.width;
    const std::int64_t first_key = tile.key_begin - key_begin_;
    const flashwright_dtype dtype = forward_.dtype, sum_dtype = accumulation_dtype(dtype);

    TileBuffer q, dout, k, kt, vt, lse, delta, dq, dk, dv, dbias;
    TermMatrixBuffers term_matrices;
    set_queries(&q, forward_.q, head.batch, query_head, tile, sizes_.head_dim, q_);
    set_queries(&dout, problem_.dout, head.batch, query_head, tile, sizes_.head_dim_v, dout_);
    k.set_memory(k_ + first_key * sizes_.head_dim, dtype, sizes_.head_dim, keys, sizes_.head_dim);
    kt.set_memory(kt_ + first_key, dtype, keys, sizes_.head_dim, sizes_.block_k);
    vt.set_memory(vt_ + first_key, dtype, keys, sizes_.head_dim_v, sizes_.block_k);
    lse.set_vector(state_.lse<Sum>(head.batch, query_head) + tile.row_begin, sum_dtype, rows);
    delta.set_vector(state_.delta<Sum>(head.batch, query_head) + tile.row_begin, sum_dtype, rows);
    for (std::size_t n = 0; n < term_matrices.size(); ++n) {
        set_term_matrix(&term_matrices[n], n, head.batch, query_head, tile);
    }
    dk.set_memory(dk_ + first_key * sizes_.head_dim, sum_dtype, sizes_.head_dim, keys, sizes_.head_dim);
    dv.set_memory(dv_ + first_key * sizes_.head_dim_v, sum_dtype, sizes_.head_dim_v, keys, sizes_.head_dim_v);
    const bool with_dbias = problem_.dbias.given;
    dbias.set_memory(dbias_, sum_dtype, with_dbias ? keys : 0, with_dbias ? rows : 0, sizes_.block_k);
    const bool dq_in_place = usable_in_place(state_.dq(), sizes_.head_dim, tile);
    if (dq_in_place) {
        dq.set_matrix(state_.dq(), head.batch, query_head);
        dq.move_to(tile.row_begin, rows);
    } else {
        std::fill(dq_, dq_ + rows * sizes_.head_dim, Sum{0});
        dq.set_memory(dq_, sum_dtype, sizes_.head_dim, rows, sizes_.head_dim);
    }
    const std::int64_t row_count = tile.row_end - tile.row_begin, key_count = tile.key_end - tile.key_begin;
    const bool finite = head.finite && state_.finite(head.batch, query_head, tile.row_begin / sizes_.block_q);
    const bool unmasked = !tile.masked && (finite || (row_count == rows && key_count == keys));
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    // Kernels have no assertions and their memory is reserved, so they cannot fail.
    call_with_terms(
        [&](auto... terms) {
            kernel_.backward(&scratch_, q.get(), dout.get(), k.get(), kt.get(), vt.get(), lse.get(), delta.get(),
                             terms..., tile.diagonal_offset, tile.lo_offset, tile.hi_offset, narrow(row_count),
                             narrow(key_count), narrow(row_tiles), narrow(key_tiles),
                             narrow(sizes_.head_dim / sizes_.width), narrow(sizes_.head_dim_v / sizes_.width),
                             unmasked ? 1 : 0, !unmasked && finite ? 1 : 0, !unmasked && !finite ? 1 : 0, dq.get(),
                             dk.get(), dv.get(), dbias.get());
        },
        term_matrices, forward_.softmax_scale, forward_.terms.numbers_of(query_head));
    if (!dq_in_place) {
        add(dq_, sizes_.head_dim, row_count, HeadMatrix<Sum>(state_.dq(), head.batch, query_head), tile.row_begin);
    }
    if (with_dbias) add_dbias(head.batch, query_head, tile);
}

template <typename T>
bool BackwardChunk<T>::usable_in_place(const StridedTensor &view, std::int64_t padded_channels,
                                       const BackwardTile &tile) const {
    return view.strides[kChannel] == 1 && view.shape[kChannel] == padded_channels &&
           (tile.row_end - tile.row_begin) % sizes_.tile_q == 0;
}

template <typename T>
void BackwardChunk<T>::set_queries(TileBuffer *buffer, const StridedTensor &view, std::int64_t batch, std::int64_t head,
                                   const BackwardTile &tile, std::int64_t padded_channels, T *copy) const {
    const std::int64_t rows = tile.row_end - tile.row_begin;
    if (usable_in_place(view, padded_channels, tile)) {
        buffer->set_matrix(view, batch, head);
        buffer->move_to(tile.row_begin, rows);
        return;
    }
    const std::int64_t padded_rows = (rows + sizes_.tile_q - 1) / sizes_.tile_q * sizes_.tile_q;
    copy_padded(HeadMatrix<T>(view, batch, head), tile.row_begin, rows, padded_rows, padded_channels, copy);
    buffer->set_memory(copy, view.dtype, padded_channels, padded_rows, padded_channels);
}

// The nth matrix of score terms, for a tile.
template <typename T>
void BackwardChunk<T>::set_term_matrix(TileBuffer *buffer, std::size_t n, std::int64_t batch, std::int64_t head,
                                       const BackwardTile &tile) const {
    const StridedTensor &matrix = forward_.terms.matrices[n];
    if (kTermMatrices[n].input.kind == InputKind::byte_matrix) {
        set_pairs(buffer, matrix, batch, head, tile, std::uint8_t{1},
                  reinterpret_cast<std::uint8_t *>(term_matrices_[n]));
    } else {
        set_pairs(buffer, matrix, batch, head, tile, T{0}, reinterpret_cast<T *>(term_matrices_[n]));
    }
}

// A matrix of a tile; `neutral` if the call has none.
template <typename T>
template <typename E>
void BackwardChunk<T>::set_pairs(TileBuffer *buffer, const StridedTensor &view, std::int64_t batch, std::int64_t head,
                                 const BackwardTile &tile, E neutral, E *copy) const {
    const flashwright_dtype dtype = sizeof(E) == 1 ? FLASHWRIGHT_BOOL : forward_.dtype;
    const auto round_up = [](std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; };
    const std::int64_t rows = tile.row_end - tile.row_begin, padded_rows = round_up(rows, sizes_.tile_q);
    const std::int64_t keys = tile.key_end - tile.key_begin, padded_keys = round_up(keys, sizes_.width);
    if (!view.given) {
        std::fill(copy, copy + padded_keys, neutral);
        buffer->set_memory(copy, dtype, padded_keys, padded_rows, 0);
        return;
    }
    const auto broadcast = [&](Axis axis, std::int64_t index) { return view.shape[axis] == 1 ? 0 : index; };
    const std::int64_t row_stride = view.shape[kRow] == 1 ? 0 : view.strides[kRow], key_stride = view.strides[kChannel];
    E *first = reinterpret_cast<E *>(
                   view.at(broadcast(kBatch, batch), broadcast(kHead, head), broadcast(kRow, tile.row_begin))) +
               tile.key_begin * key_stride;
    if (key_stride == 1 && rows == padded_rows && keys == padded_keys) {
        buffer->set_memory(first, dtype, keys, rows, row_stride);
        return;
    }
    std::fill(copy, copy + padded_rows * padded_keys, neutral);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < keys; ++j) copy[i * padded_keys + j] = first[i * row_stride + j * key_stride];
    }
    buffer->set_memory(copy, dtype, padded_keys, padded_rows, padded_keys);
}

template <typename T>
template <typename Visit>
void BackwardChunk<T>::visit_dbias_rows(Visit visit) const {
    const StridedTensor &dbias = problem_.dbias;
    // With several chains, dbias has a head for every query head.
    const std::int64_t group = forward_.heads / forward_.heads_kv;
    for (std::int64_t b = 0; b < dbias.shape[kBatch]; ++b) {
        for (std::int64_t h = 0; h < dbias.shape[kHead]; ++h) {
            if (sizes_.chains > 1 && b * forward_.heads_kv + h / group != chain_) continue;
            for (std::int64_t i = 0; i < dbias.shape[kRow]; ++i) visit(b, h, i);
        }
    }
}

template <typename T>
void BackwardChunk<T>::zero_dbias() {
    const StridedTensor &dbias = state_.dbias();
    visit_dbias_rows([&](std::int64_t b, std::int64_t h, std::int64_t i) {
        Sum *row = reinterpret_cast<Sum *>(dbias.at(b, h, i));
        for (std::int64_t j = key_begin_; j < key_capacity_end_; ++j) row[j * dbias.strides[kChannel]] = Sum{0};
    });
}

template <typename T>
void BackwardChunk<T>::add_dbias(std::int64_t batch, std::int64_t head, const BackwardTile &tile) {
    const StridedTensor &dbias = state_.dbias();
    const bool every_row = dbias.shape[kRow] != 1;
    const std::int64_t b = dbias.shape[kBatch] == 1 ? 0 : batch, h = dbias.shape[kHead] == 1 ? 0 : head;
    const std::int64_t stride = dbias.strides[kChannel], rows = tile.row_end - tile.row_begin;
    const std::int64_t keys = tile.key_end - tile.key_begin;
    if (!every_row) {
        // Adding the rows of the tile to each other first is more accurate than adding each to dbias.
        for (std::int64_t i = 1; i < rows; ++i) {
            for (std::int64_t j = 0; j < keys; ++j) dbias_[j] += dbias_[i * sizes_.block_k + j];
        }
    }
    for (std::int64_t i = 0; i < (every_row ? rows : 1); ++i) {
        Sum *row =
            reinterpret_cast<Sum *>(dbias.at(b, h, every_row ? tile.row_begin + i : 0)) + tile.key_begin * stride;
        for (std::int64_t j = 0; j < keys; ++j) row[j * stride] += dbias_[i * sizes_.block_k + j];
    }
}

template <typename T>
void BackwardChunk<T>::store_dbias() {
    const StridedTensor &dbias = problem_.dbias;
    visit_dbias_rows([&](std::int64_t b, std::int64_t h, std::int64_t i) {
        const Sum *from = reinterpret_cast<const Sum *>(state_.dbias().at(b, h, i));
        T *to = reinterpret_cast<T *>(dbias.at(b, h, i));
        for (std::int64_t j = key_begin_; j < key_capacity_end_; ++j)
            to[j * dbias.strides[kChannel]] = static_cast<T>(from[j]);
    });
}

}  // namespace flashwright

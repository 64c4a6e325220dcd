// A caller's tensor in normalised form: four axes, with leading axes of extent 1 added.
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>

namespace flashwright {

// The axes of every normalised tensor.
enum Axis { kBatch = 0, kHead = 1, kRow = 2, kChannel = 3 };

// Strides count elements. An axis of extent 1 has stride 1 if it is the channel axis, otherwise 0. The same holds for
// every axis of a tensor without elements, so that address arithmetic on its pointer is harmless.
struct StridedTensor {
    const char *name = "";
    char *data = nullptr;
    bool given = false;
    flashwright_dtype dtype = FLASHWRIGHT_F32;
    std::int64_t element_size = 0;
    std::int64_t shape[4] = {1, 1, 1, 1};
    std::int64_t strides[4] = {0, 0, 0, 1};

    bool empty() const { return shape[0] == 0 || shape[1] == 0 || shape[2] == 0 || shape[3] == 0; }

    // Address of element [batch, head, row, 0].
    char *at(std::int64_t batch, std::int64_t head, std::int64_t row) const {
        return data + (batch * strides[kBatch] + head * strides[kHead] + row * strides[kRow]) * element_size;
    }
    std::int64_t row_bytes() const { return strides[kRow] * element_size; }

    // Elements between the first and the last of `rows` rows of one head, for strides of either sign.
    std::int64_t span(std::int64_t rows) const;
};

// The axes of a tensor argument, and its minimum rank.
struct TensorForm {
    Axis first, last;
    std::int32_t min_rank;
};
inline constexpr TensorForm kMatrixForm{kBatch, kChannel, 2};     // q, k, v, out, …
inline constexpr TensorForm kRowForm{kBatch, kRow, 1};            // one value per query row
inline constexpr TensorForm kBroadcastForm{kBatch, kChannel, 1};  // bias, mask
inline constexpr TensorForm kPerBatchForm{kBatch, kBatch, 1};
inline constexpr TensorForm kPerHeadForm{kHead, kHead, 1};

// Checks rank, dtype, extents, pointer, and that the view fits an address space. Fills in `view` on success. Without
// `check_memory` the pointer is not checked.
flashwright_status normalise(const flashwright_tensor &tensor, const char *name, TensorForm form,
                             flashwright_dtype dtype, bool check_memory, StridedTensor *view);

std::int64_t element_bytes(flashwright_dtype dtype);

// The name in the table of dtypes, bool or i32; or "an unknown dtype".
const char *dtype_name(int dtype);

// The same for messages: an unknown dtype with its number.
class DtypeText {
 public:
    explicit DtypeText(int dtype);
    const char *text() const { return text_; }

 private:
    char text_[40];
};

// The integer that the caller stored in an enum of the C interface; it may be out of range.
template <typename Enum>
int raw_value(const Enum &value) {
    static_assert(sizeof(Enum) == sizeof(int), "the C interface stores enums as int");
    int raw;
    __builtin_memcpy(&raw, &value, sizeof raw);
    return raw;
}

}  // namespace flashwright

#include "guarded_tensors.h"

#include "kernels/dtype_dispatch.h"
#include "reference/contiguous_tensor.h"

#include <algorithm>
#include <type_traits>

namespace flashwright {
namespace {

constexpr std::byte kPoison{0xff};  // a NaN in every dtype
constexpr std::size_t kCanaryBytes = 4096;

std::size_t bytes_of(const flashwright_tensor &tensor) {
    const Dtype *dtype = find_dtype(tensor.dtype);
    // BOOL has no row in the table.
    const std::size_t element_size = dtype != nullptr ? static_cast<std::size_t>(dtype->bytes) : sizeof(std::uint8_t);
    return element_count(tensor) * element_size;
}

bool all_poison(const std::byte *begin, const std::byte *end) {
    return std::all_of(begin, end, [](std::byte b) { return b == kPoison; });
}

// f(pointer to the elements)
template <typename F>
void with_elements(const flashwright_tensor &tensor, F f) {
    dispatch_cpu_dtype(tensor.dtype, [&](auto element) { f(static_cast<decltype(element) *>(tensor.data)); });
}

}  // namespace

GuardedTensors::GuardedTensors(const std::vector<flashwright_tensor *> &tensors)
    : tensors_(tensors.begin(), tensors.end()) {
    std::size_t bytes = kCanaryBytes;
    for (const flashwright_tensor *tensor : tensors) bytes += bytes_of(*tensor) + kCanaryBytes;
    memory_.assign(bytes, kPoison);
    std::byte *place = memory_.data() + kCanaryBytes;
    for (flashwright_tensor *tensor : tensors) {
        tensor->data = place;
        place += bytes_of(*tensor) + kCanaryBytes;
    }
}

void GuardedTensors::poison() { std::fill(memory_.begin(), memory_.end(), kPoison); }

bool GuardedTensors::canaries_whole() const {
    const std::byte *next = memory_.data();
    for (const flashwright_tensor *tensor : tensors_) {
        const auto *begin = static_cast<const std::byte *>(tensor->data);
        if (!all_poison(next, begin)) return false;
        next = begin + bytes_of(*tensor);
    }
    return all_poison(next, memory_.data() + memory_.size());
}

void fill_normal(const flashwright_tensor &tensor, std::mt19937 &random) {
    std::normal_distribution<double> normal;
    with_elements(tensor, [&](auto *values) {
        using T = std::remove_pointer_t<decltype(values)>;
        std::generate_n(values, element_count(tensor), [&] { return static_cast<T>(normal(random)); });
    });
}

void fill_with(const flashwright_tensor &tensor, const std::vector<double> &given) {
    with_elements(tensor, [&](auto *values) {
        using T = std::remove_pointer_t<decltype(values)>;
        std::transform(given.begin(), given.end(), values, [](double value) { return static_cast<T>(value); });
    });
}

void fill_rows(const flashwright_tensor &tensor, std::int64_t begin, double value) {
    const std::int64_t head = tensor.strides[1], row = tensor.strides[2];
    with_elements(tensor, [&](auto *values) {
        using T = std::remove_pointer_t<decltype(values)>;
        for (std::int64_t h = 0; h < tensor.shape[0] * tensor.shape[1]; ++h)
            std::fill(values + h * head + begin * row, values + (h + 1) * head, static_cast<T>(value));
    });
}

}  // namespace flashwright

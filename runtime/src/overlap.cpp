#include "overlap.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

namespace flashwright {
namespace {

// Decides whether step_0 z_0 + step_1 z_1 + … = target has a solution with 0 <= z_i <= count_i. Large steps are tried
// first. The sum that the smaller steps can still add bounds each z_i, so that nested strides leave one or two choices.
class BoundedSum {
 public:
    void add(std::int64_t step, std::int64_t count) {
        if (step == 0 || count == 0) return;
        for (int i = 0; i < size_; ++i) {
            if (terms_[i].step == step) {
                terms_[i].count += count;
                return;
            }
        }
        terms_[size_++] = {step, count};
    }

    // Also true if the search was given up.
    bool may_reach(std::int64_t target) {
        std::sort(terms_, terms_ + size_, [](const Term &a, const Term &b) { return a.step > b.step; });
        rest_[size_] = 0;
        divisor_[size_] = 0;
        for (int i = size_ - 1; i >= 0; --i) {
            rest_[i] = rest_[i + 1] + terms_[i].step * terms_[i].count;
            divisor_[i] = std::gcd(divisor_[i + 1], terms_[i].step);
        }
        budget_ = kBudget;
        return search(0, target);
    }

 private:
    struct Term {
        std::int64_t step, count;
    };
    static constexpr int kMaxTerms = 10;  // four axes and the bytes of an element, of two views
    static constexpr int kBudget = 4000;  // some 20 microseconds

    bool search(int i, std::int64_t target) {
        if (--budget_ < 0) return true;
        if (target < 0 || target > rest_[i]) return false;
        if (i == size_) return true;
        if (target % divisor_[i] != 0) return false;
        const auto [step, count] = terms_[i];
        const std::int64_t missing = target - rest_[i + 1];
        const std::int64_t first = missing > 0 ? (missing + step - 1) / step : 0;
        for (std::int64_t z = std::min(count, target / step); z >= first; --z) {
            if (search(i + 1, target - z * step)) return true;
        }
        return false;
    }

    Term terms_[kMaxTerms];
    int size_ = 0;
    std::int64_t rest_[kMaxTerms + 1], divisor_[kMaxTerms + 1];
    int budget_ = 0;
};

std::int64_t magnitude(std::int64_t value) { return value < 0 ? -value : value; }

// Addresses of the lowest element's first byte and of the highest element's.
struct Span {
    std::int64_t low, high;
};

Span span_of(const StridedTensor &view) {
    const auto data = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.data));
    Span span{data, data};
    for (int axis = 0; axis < 4; ++axis) {
        const std::int64_t bytes = (view.shape[axis] - 1) * view.strides[axis] * view.element_size;
        (bytes < 0 ? span.low : span.high) += bytes;
    }
    return span;
}

}  // namespace

bool distinct_elements(const StridedTensor &view) {
    if (view.empty()) return true;
    // Assume two indices with the same address. They differ first on axis `first`; later axes may differ freely.
    for (int first = 0; first < 4; ++first) {
        const std::int64_t extent = view.shape[first], step = magnitude(view.strides[first]);
        if (extent == 1) continue;
        if (step == 0) return false;
        BoundedSum sum;
        std::int64_t target = -step;
        sum.add(step, extent - 2);
        for (int axis = first + 1; axis < 4; ++axis) {
            const std::int64_t last = view.shape[axis] - 1, inner = magnitude(view.strides[axis]);
            sum.add(inner, 2 * last);
            target += inner * last;
        }
        if (sum.may_reach(target)) return false;
    }
    return true;
}

bool disjoint(const StridedTensor &a, const StridedTensor &b) {
    if (a.empty() || b.empty()) return true;
    const Span span_a = span_of(a), span_b = span_of(b);
    if (span_a.high + a.element_size <= span_b.low || span_b.high + b.element_size <= span_a.low) return true;
    // They overlap if low_a + (offset in a) + byte = low_b + (offset in b) + byte has a solution. Offsets in b are
    // counted from its high end, so that every term is positive.
    BoundedSum sum;
    for (int axis = 0; axis < 4; ++axis) {
        sum.add(magnitude(a.strides[axis]) * a.element_size, a.shape[axis] - 1);
        sum.add(magnitude(b.strides[axis]) * b.element_size, b.shape[axis] - 1);
    }
    sum.add(1, a.element_size - 1 + b.element_size - 1);
    return !sum.may_reach(span_b.high + b.element_size - 1 - span_a.low);
}

bool identical(const StridedTensor &a, const StridedTensor &b) {
    return a.data == b.data && a.dtype == b.dtype && std::equal(a.shape, a.shape + 4, b.shape) &&
           std::equal(a.strides, a.strides + 4, b.strides);
}

}  // namespace flashwright

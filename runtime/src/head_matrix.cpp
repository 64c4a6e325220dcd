#include "head_matrix.h"

namespace flashwright {

template <typename T>
bool all_finite(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows) {
    bool finite = true;
    with_stride(from.channel_stride, [&](auto stride) {
        for (std::int64_t r = 0; r < rows; ++r) {
            const T *row = from.row(begin + r);
            // Infinity times 0 is NaN, and NaN stays.
            T zero[kPartials] = {};
            std::int64_t c = 0;
            for (; c + kPartials <= from.channels; c += kPartials) {
                for (std::int64_t n = 0; n < kPartials; ++n) zero[n] += row[(c + n) * stride] * T{0};
            }
            for (; c < from.channels; ++c) zero[0] += row[c * stride] * T{0};
            for (const T value : zero) finite = finite && value == T{0};
        }
    });
    return finite;
}

template bool all_finite(const HeadMatrix<float> &, std::int64_t, std::int64_t);
template bool all_finite(const HeadMatrix<double> &, std::int64_t, std::int64_t);

}  // namespace flashwright

#include "term_operands.h"

#include <cstring>

#include "kernels/dtype_dispatch.h"

namespace flashwright {

unsigned TermOperands::terms() const {
    unsigned terms = 0;
    for (std::size_t n = 0; n < numbers.size(); ++n) {
        if (numbers[n].scalar != 0.0 || numbers[n].per_head.given) terms |= kTermNumbers[n].term->bit;
    }
    for (std::size_t n = 0; n < matrices.size(); ++n) {
        if (matrices[n].given) terms |= kTermMatrices[n].term->bit;
    }
    return terms;
}

bool TermOperands::any_per_head() const {
    for (const Number &number : numbers)
        if (number.per_head.given) return true;
    return false;
}

std::array<double, kTermNumbers.size()> TermOperands::numbers_of(std::int64_t head) const {
    std::array<double, kTermNumbers.size()> values;
    for (std::size_t n = 0; n < values.size(); ++n) {
        const StridedTensor &per_head = numbers[n].per_head;
        values[n] = !per_head.given ? numbers[n].scalar : dispatch_cpu_dtype(per_head.dtype, [&](auto value) {
            std::memcpy(&value, per_head.at(0, head, 0), sizeof value);
            return static_cast<double>(value);
        });
    }
    return values;
}

}  // namespace flashwright

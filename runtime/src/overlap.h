// Whether the elements of strided views share memory.
#pragma once

#include "tensor_view.h"

namespace flashwright {

// True only if it is proven. A search that takes too long is given up, and the answer is then false.
bool distinct_elements(const StridedTensor &view);
bool disjoint(const StridedTensor &a, const StridedTensor &b);

// Whether both views have the same elements at the same indices.
bool identical(const StridedTensor &a, const StridedTensor &b);

}  // namespace flashwright

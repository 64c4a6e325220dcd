// Whether the elements of strided views share memory.
#pragma once

#include "tensor_view.h"

namespace flashwright {

// Each answers true only when it is proven; a search that grows too long counts as not proven.
bool distinct_elements(const StridedTensor &view);
bool disjoint(const StridedTensor &a, const StridedTensor &b);

// The same elements at the same indices.
bool identical(const StridedTensor &a, const StridedTensor &b);

}  // namespace flashwright

// Element types of the C interface: the row of the table, and code for each type.
#pragma once

#include "dtype.h"
#include "flashwright/flashwright.h"

#include <string_view>

namespace flashwright {

// In the order of kDtypes.
constexpr flashwright_dtype kDtypeIds[] = {FLASHWRIGHT_F32, FLASHWRIGHT_F64, FLASHWRIGHT_F16};
static_assert(sizeof(kDtypeIds) / sizeof(*kDtypeIds) == sizeof(kDtypes) / sizeof(*kDtypes));

// Null for BOOL, I32 and numbers that are no dtype.
constexpr const Dtype *find_dtype(int id) {
    for (unsigned i = 0; i < sizeof(kDtypeIds) / sizeof(*kDtypeIds); ++i)
        if (kDtypeIds[i] == id) return &kDtypes[i];
    return nullptr;
}

// `name` is in kDtypes.
constexpr flashwright_dtype dtype_id(std::string_view name) {
    for (unsigned i = 0; i < sizeof(kDtypeIds) / sizeof(*kDtypeIds); ++i)
        if (name == kDtypes[i].name) return kDtypeIds[i];
    return FLASHWRIGHT_F32;
}

// The type that scores, sums and softmax_lse have in a call on tensors of type `id`.
constexpr flashwright_dtype accumulation_dtype(flashwright_dtype id) {
    const Dtype *dtype = find_dtype(id);
    return dtype != nullptr ? dtype_id(dtype->accumulation) : id;
}

// The same in C++, of the elements of a dtype that has CPU kernels.
template <typename Storage>
struct AccumulationOf {
    using type = Storage;
};

// Whether sums are wider than the elements, so that results are rounded.
constexpr bool rounds(flashwright_dtype id) { return accumulation_dtype(id) != id; }

// Of a dtype in kDtypes.
constexpr double forward_tolerance(flashwright_dtype id) { return find_dtype(id)->forward_tolerance; }
constexpr double gradient_tolerance(flashwright_dtype id) { return find_dtype(id)->gradient_tolerance; }

// Any type of a tensor: those in kDtypes, BOOL of masks, I32 of lengths.
struct ElementType {
    const char *name, *npy;
    int bytes;
};

constexpr flashwright_dtype kTensorDtypes[] = {FLASHWRIGHT_F32, FLASHWRIGHT_F64, FLASHWRIGHT_F16, FLASHWRIGHT_BOOL,
                                               FLASHWRIGHT_I32};

constexpr ElementType element_type(flashwright_dtype id) {
    if (const Dtype *dtype = find_dtype(id)) return {dtype->name, dtype->npy, dtype->bytes};
    return id == FLASHWRIGHT_BOOL ? ElementType{"bool", "|b1", 1} : ElementType{"i32", "<i4", 4};
}

// f(T{}) with the C++ type of the elements of a dtype that has CPU kernels. T converts to its sums' type by itself, and
// from it by static_cast. A dtype without a case does not compile under -Wswitch.
template <typename F>
auto dispatch_cpu_dtype(flashwright_dtype dtype, F &&f) {
    switch (dtype) {
        case FLASHWRIGHT_F64:
            return f(double{});
        case FLASHWRIGHT_F32:
        case FLASHWRIGHT_F16:
        case FLASHWRIGHT_BOOL:
        case FLASHWRIGHT_I32:
            break;
    }
    return f(float{});
}

}  // namespace flashwright

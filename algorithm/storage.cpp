#include "storage.h"

#include <cmath>

namespace flashwright {

using namespace Halide;

namespace {

constexpr int kInfinity = 0x7c00, kNaN = 0x7e00, kLeastNormal = 0x400;  // in f16

// f16 to f32 by arithmetic on integers.
Expr widened(const Expr &half) {
    constexpr int kRebias = (127 - 15) << 23;  // once for a number, twice for infinity and NaN
    const Expr magnitude = cast<int>(half & cast<uint16_t>(0x7fff));
    const Expr subnormal = cast<float>(magnitude) * std::ldexp(1.0f, -24);
    const Expr other = reinterpret<float>((magnitude << 13) + select(magnitude >= kInfinity, 2 * kRebias, kRebias));
    const Expr sign = cast<uint32_t>(half & cast<uint16_t>(0x8000)) << 16;
    return reinterpret<float>(reinterpret<uint32_t>(select(magnitude < kLeastNormal, subnormal, other)) | sign);
}

Expr from_half(const Expr &bits, const Target &target) {
    return target.has_feature(Target::CUDA) ? cast<float>(reinterpret(Float(16), bits)) : widened(bits);
}

Expr to_half(const Expr &number, const Target &target) {
    // From f64 directly: by way of f32 it would be rounded twice.
    const bool directly = target.has_feature(Target::CUDA) || number.type() == Float(64);
    if (directly) return reinterpret(UInt(16), cast(Float(16), number));
    // Halide's own conversion turns NaN into infinity.
    const Expr magnitude = reinterpret<uint32_t>(number) & cast<uint32_t>(0x7fffffff);
    return select(magnitude > cast<uint32_t>(0x7f800000), cast(UInt(16), kNaN),
                  reinterpret(UInt(16), Internal::float32_to_float16(number)));
}

}  // namespace

Type buffer_type(const Type &storage) { return storage == Float(16) ? UInt(16) : storage; }

Expr from_storage(const Expr &element, const NumberTypes &types) {
    if (types.storage == types.accumulation) return element;
    if (types.storage == Float(16)) return cast(types.accumulation, from_half(element, types.target));
    return cast(types.accumulation, element);
}

Expr to_storage(const Expr &number, const NumberTypes &types) {
    if (types.storage == types.accumulation) return number;
    if (types.storage == Float(16)) return to_half(number, types.target);
    return cast(types.storage, number);
}

}  // namespace flashwright

#include "half_storage.h"

#include <cmath>

namespace flashwright {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kInfinity = 0x7c00, kNaN = 0x7e00, kLeastNormal = 0x400;  // in f16

// By arithmetic on integers.
Expr widened(const Expr &half) {
    constexpr int kRebias = (127 - 15) << 23;  // once for a number, twice for infinity and NaN
    const Expr magnitude = cast<int>(half & cast<uint16_t>(0x7fff));
    const Expr subnormal = cast<float>(magnitude) * std::ldexp(1.0f, -24);
    const Expr other = reinterpret<float>((magnitude << 13) + select(magnitude >= kInfinity, 2 * kRebias, kRebias));
    const Expr sign = cast<uint32_t>(half & cast<uint16_t>(0x8000)) << 16;
    return reinterpret<float>(reinterpret<uint32_t>(select(magnitude < kLeastNormal, subnormal, other)) | sign);
}

class LoadByWords : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        const Ramp *ramp = op->index.as<Ramp>();
        const bool whole = op->alignment.modulus % 8 == 0 && op->alignment.remainder % 8 == 0;
        if (op->type != UInt(16, 8) || ramp == nullptr || !is_const_one(ramp->stride) || !whole ||
            !is_const_one(op->predicate) || !op->param.defined()) {
            return IRMutator::visit(op);
        }
        const Expr index = Ramp::make(simplify(mutate(ramp->base) / 2), 1, 4);
        return reinterpret(
            op->type, Load::make(UInt(32, 4), op->name, index, op->image, op->param, const_true(4), op->alignment / 2));
    }
};

}  // namespace

Type storage_type(const Type &type) { return type == Float(16) ? UInt(16) : type; }

Expr from_storage(const Expr &stored, const Target &target) {
    if (stored.type() != UInt(16)) return stored;
    return target.has_feature(Target::CUDA) ? cast<float>(reinterpret(Float(16), stored)) : widened(stored);
}

Expr to_storage(const Expr &number, const Type &stored, const Target &target) {
    if (stored != UInt(16)) return number;
    if (target.has_feature(Target::CUDA)) return reinterpret(stored, cast(Float(16), number));
    // Halide's own makes infinity of NaN.
    const Expr magnitude = reinterpret<uint32_t>(number) & cast<uint32_t>(0x7fffffff);
    return select(magnitude > cast<uint32_t>(0x7f800000), cast(stored, kNaN),
                  reinterpret(stored, float32_to_float16(number)));
}

Expr bits_as_storage(const Expr &number, const Expr &n, const Type &stored) {
    if (stored != UInt(16)) return number;
    return cast(stored, reinterpret(UInt(32), number) >> cast<uint32_t>(16 * (n % 2)));
}

int elements_of_a_float(const Type &stored) { return Float(32).bytes() / stored.bytes(); }

Expr float_of_elements(const std::function<Expr(int)> &element, const Type &stored) {
    if (stored != UInt(16)) return element(0);
    return reinterpret<float>(cast<uint32_t>(element(0)) | cast<uint32_t>(element(1)) << 16);
}

void load_halves_by_words(Pipeline pipeline, const Target &target) {
    if (target.has_feature(Target::CUDA)) pipeline.add_custom_lowering_pass(new LoadByWords, [] {});
}

}  // namespace flashwright

#include "float_workarounds.h"

#include <cmath>
#include <cstring>

namespace flashwright {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr double kStepOfOne = 1 << 23;  // f32 numbers from here to twice as much are integers

class RoundExplicitly : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Call *op) override {
        const Expr constant = op->is_intrinsic(Call::strict_add) ? op->args[1] : Expr();
        const Broadcast *broadcast = constant.as<Broadcast>();
        const FloatImm *shift = (broadcast != nullptr ? broadcast->value : constant).as<FloatImm>();
        if (shift == nullptr || op->type.bits() != 32 || shift->value < kStepOfOne || shift->value >= 2 * kStepOfOne) {
            return IRMutator::visit(op);
        }
        const auto exact = static_cast<float>(shift->value);
        int32_t bits;
        std::memcpy(&bits, &exact, sizeof bits);
        const Type integer = Int(32, op->type.lanes());
        return reinterpret(op->type, cast(integer, round(mutate(op->args[0]))) + make_const(integer, bits));
    }
};

class InfinityByBits : public IRMutator {
    using IRMutator::visit;

    Expr visit(const FloatImm *op) override {
        if (op->type != Float(32) || !std::isinf(op->value)) return op;
        const auto exact = static_cast<float>(op->value);
        uint32_t bits;
        std::memcpy(&bits, &exact, sizeof bits);
        return Reinterpret::make(op->type, make_const(UInt(32), bits));
    }
};

}  // namespace

void apply_float_workarounds(Pipeline pipeline, const Target &target) {
    if (target.has_feature(Target::Vulkan) || target.has_feature(Target::Metal) || target.has_feature(Target::WebGPU)) {
        pipeline.add_custom_lowering_pass(new RoundExplicitly, [] {});
    }
    if (target.has_feature(Target::WebGPU)) pipeline.add_custom_lowering_pass(new InfinityByBits, [] {});
}

}  // namespace flashwright

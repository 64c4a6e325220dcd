#include "half_storage.h"

namespace flashwright {

using namespace Halide;
using namespace Halide::Internal;

namespace {

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

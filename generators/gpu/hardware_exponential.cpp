#include "hardware_exponential.h"

#include "algorithm/scalar_math.h"

#include <map>
#include <string>

namespace flashwright {

using namespace Halide;

namespace {

Expr hardware_exponential(const Expr &x) {
    const Expr exponent = x * 1.442695041f;  // log2(e)
    return Internal::Call::make(Float(32), "llvm.nvvm.ex2.approx.ftz.f", {exponent}, Internal::Call::PureExtern);
}

class ReplaceExponentials : public Internal::IRGraphMutator {
    using Internal::IRGraphMutator::visit;

    // A definition names subexpressions that it uses twice.
    Expr visit(const Internal::Let *op) override { return mutate(Internal::substitute_in_all_lets(op)); }

    Expr visit(const Internal::Select *op) override {
        std::map<std::string, Expr> found;
        return expr_match(polynomial, op, found) ? hardware_exponential(mutate(found.at("x")))
                                                 : Internal::IRGraphMutator::visit(op);
    }

    const Expr polynomial = exp_nonpositive(Internal::Variable::make(Float(32), "x"));
};

}  // namespace

void use_hardware_exponential(Func f) {
    ReplaceExponentials replace;
    f.function().mutate(&replace);
}

}  // namespace flashwright

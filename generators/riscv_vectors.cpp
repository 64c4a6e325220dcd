#include "riscv_vectors.h"

namespace flashwright {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class SuitRiscvVectors : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Select *op) override {
        Expr mutated = IRMutator::visit(op);
        const auto *select = mutated.as<Select>();
        if (select == nullptr || !select->type.is_vector()) return mutated;
        Expr truth = select->condition;
        if (const auto *broadcast = truth.as<Broadcast>()) truth = broadcast->value;
        if (truth.type().is_vector()) return mutated;
        const int lanes = select->type.lanes();
        Expr number = Select::make(truth, make_one(Int(32)), make_zero(Int(32)));
        Expr condition = NE::make(Broadcast::make(number, lanes), make_zero(Int(32, lanes)));
        return Select::make(condition, select->true_value, select->false_value);
    }

    Expr visit(const Not *op) override {
        Expr truths = mutate(op->a);
        if (truths.type().is_scalar()) return Not::make(truths);
        return EQ::make(truths, make_zero(truths.type()));
    }

    Expr visit(const Load *op) override {
        Expr mutated = IRMutator::visit(op);
        const auto *load = mutated.as<Load>();
        return Load::make(load->type, load->name, without_stride(load->index), load->image, load->param,
                          load->predicate, load->alignment);
    }

    Stmt visit(const Store *op) override {
        Stmt mutated = IRMutator::visit(op);
        const auto *store = mutated.as<Store>();
        Expr index = without_stride(store->index), predicate = store->predicate;
        // A predicated scatter is taken apart into stores of one element, which are right.
        if (index.type().is_vector() && index.as<Ramp>() == nullptr && is_const_one(predicate)) {
            predicate = EQ::make(index, index);
        }
        return Store::make(store->name, store->value, index, store->param, predicate, store->alignment);
    }

    // The same index for each lane, but no Ramp, which is what the strided instructions are chosen by.
    static Expr without_stride(const Expr &index) {
        const auto *ramp = index.as<Ramp>();
        if (ramp == nullptr || is_const_one(ramp->stride)) return index;
        Expr lane = Ramp::make(make_zero(ramp->base.type()), make_one(ramp->base.type()), ramp->lanes);
        return Add::make(Broadcast::make(ramp->base, ramp->lanes),
                         Mul::make(lane, Broadcast::make(ramp->stride, ramp->lanes)));
    }
};

}  // namespace

void suit_riscv_vectors(Pipeline pipeline, const Target &target) {
    if (target.has_feature(Target::RVV)) pipeline.add_custom_lowering_pass(new SuitRiscvVectors, [] {});
}

}  // namespace flashwright

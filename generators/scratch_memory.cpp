#include "scratch_memory.h"

namespace flashwright {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class AllocateFromScratch : public IRMutator {
    using IRMutator::visit;

    // What CodeGen puts on the stack anyway.
    static constexpr int64_t kLargestOnStack = int64_t{16} * 1024;
    // Vector loads may reach past the end of a buffer.
    static constexpr int kSlack = 128;

    Stmt visit(const Allocate *op) override {
        Stmt body = mutate(op->body);
        const bool on_stack = op->memory_type == MemoryType::Stack || op->memory_type == MemoryType::Register ||
                              (op->constant_allocation_size() > 0 &&
                               int64_t{op->constant_allocation_size()} * op->type.bytes() <= kLargestOnStack);
        if (on_stack) {
            return Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition, body, op->new_expr,
                                  op->free_function, op->padding);
        }
        Expr elements = make_const(UInt(64), 1);
        for (const Expr &extent : op->extents) {
            elements = elements * cast<uint64_t>(max(extent, 0));
        }
        Expr bytes = (elements + make_const(UInt(64), op->padding)) * make_const(UInt(64), op->type.bytes());
        Expr context = Variable::make(type_of<void *>(), "__user_context");
        Expr memory = Call::make(type_of<void *>(), "flashwright_scratch_allocate",
                                 {context, bytes + make_const(UInt(64), kSlack)}, Call::Extern);
        Expr release = Call::make(Int(32), "flashwright_scratch_free",
                                  {context, Variable::make(type_of<void *>(), op->name)}, Call::Extern);
        return LetStmt::make(op->name, memory, Block::make(body, Evaluate::make(release)));
    }

    Stmt visit(const Free *) override { return Evaluate::make(0); }
};

}  // namespace

void allocate_from_scratch(Pipeline pipeline) {
    pipeline.add_custom_lowering_pass(new AllocateFromScratch, [] {});
}

}  // namespace flashwright

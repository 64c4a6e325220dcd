#include "output_loads.h"

#include <map>
#include <string>

namespace flashwright {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class LoadFromOutputs : public IRMutator {
 public:
    explicit LoadFromOutputs(const Pipeline &pipeline) {
        for (const Func &output : pipeline.outputs()) buffers_[output.name()] = output.function().output_buffers()[0];
    }

 private:
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        const auto buffer = buffers_.find(op->name);
        if (buffer == buffers_.end()) return IRMutator::visit(op);
        return Load::make(op->type, op->name, mutate(op->index), op->image, buffer->second, mutate(op->predicate),
                          op->alignment);
    }

    std::map<std::string, Parameter> buffers_;
};

}  // namespace

void load_outputs_unaligned(Pipeline pipeline) {
    pipeline.add_custom_lowering_pass(new LoadFromOutputs(pipeline), [] {});
}

}  // namespace flashwright

#include "cpu_candidate.h"

#include "candidate.h"
#include "measure/check_status.h"
#include "runtime/src/call_by_kernel.h"
#include "runtime/src/scratch.h"

// The linker renames the candidates' calls for scratch memory to these, as the runtime's own names are hidden in this
// program.
extern "C" {
__attribute__((visibility("default"))) void *candidate_scratch_allocate(void *context, std::uint64_t bytes) __asm__(
    "__wrap_flashwright_scratch_allocate");
__attribute__((visibility("default"))) int candidate_scratch_free(void *context, void *block) __asm__(
    "__wrap_flashwright_scratch_free");

void *candidate_scratch_allocate(void *context, std::uint64_t bytes) {
    return flashwright_scratch_allocate(context, bytes);
}
int candidate_scratch_free(void *context, void *block) { return flashwright_scratch_free(context, block); }
}

namespace flashwright {
CpuCandidate::CpuCandidate(const std::string &shared_object, const CpuTiles &tiles, const KernelFamily &family)
    : isa_(family.isa), kernel_{} {
    void *symbol = load_candidate(shared_object);
    kernel_.name = kCandidateSymbol;
    kernel_.dtype = family.element_type();
    kernel_.isa = isa_.c_str();
    kernel_.variant = "candidate";
    kernel_.tiles = tiles;
    kernel_.terms_text = "";
    kernel_.tiles_json = "";
    if (family.op == "backward") {
        kernel_.op = Op::backward;
        kernel_.backward = reinterpret_cast<BackwardKernel>(symbol);
    } else {
        kernel_.op = Op::forward;
        kernel_.forward = reinterpret_cast<ForwardKernel>(symbol);
    }
}

void CpuCandidate::forward(const flashwright_forward_args &args, bool as_shipped) const {
    flashwright_execution execution = {};
    execution.threads = 1;
    check(forward_by_kernel(args, execution, kernel_, as_shipped));
}

void CpuCandidate::backward(const flashwright_backward_args &args) const {
    flashwright_execution execution = {};
    execution.threads = 1;
    check(backward_by_kernel(args, execution, kernel_));
}

}  // namespace flashwright

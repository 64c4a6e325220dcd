#include "candidate.h"

#include "../../runtime/src/call_by_kernel.h"
#include "../../runtime/src/scratch.h"
#include "check_status.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

// What the candidates' calls for scratch memory are renamed to: the runtime's own names are hidden in this program.
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
namespace {

std::runtime_error cannot_be_loaded(const std::string &why) {
    return std::runtime_error(fmt::format("cannot be loaded: {}", why));
}

// A copy in memory of its own, which only this process knows.
std::string private_copy(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!(text << file.rdbuf())) throw cannot_be_loaded(path + " cannot be read");
    const std::string content = text.str();
    const int copy = memfd_create("candidate", 0);
    if (copy < 0) throw cannot_be_loaded(std::strerror(errno));
    if (write(copy, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
        throw cannot_be_loaded("no memory for a copy");
    return fmt::format("/proc/self/fd/{}", copy);  // open as long as the process lives: names must differ
}

}  // namespace

Candidate::Candidate(const std::string &shared_object, const CpuSimdTiles &tiles, const KernelFamily &family)
    : isa_(family.isa), kernel_{} {
    // Never unloaded: the process ends first.
    void *library = dlopen(private_copy(shared_object).c_str(), RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != nullptr ? dlsym(library, kCandidateSymbol) : nullptr;
    if (symbol == nullptr) throw cannot_be_loaded(dlerror());
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

void Candidate::forward(const flashwright_forward_args &args, bool as_shipped) const {
    flashwright_execution execution = {};
    execution.threads = 1;
    check(forward_by_kernel(args, execution, kernel_, as_shipped));
}

void Candidate::backward(const flashwright_backward_args &args) const {
    flashwright_execution execution = {};
    execution.threads = 1;
    check(backward_by_kernel(args, execution, kernel_));
}

}  // namespace flashwright

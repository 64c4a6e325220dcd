// Backward kernels that must never win.
#include "candidate_symbol.h"
#include "fault.h"
#include "runtime/src/kernel_abi.h"

#include <HalideRuntime.h>

namespace {

// Of wrong scale: it adds nothing.
struct FaultyBackward {
    template <typename Arguments>
    static void run(const Arguments &all) {
        fail();
        halide_buffer_t *dq = std::get<std::tuple_size_v<Arguments> - 4>(all);
        if (FAULT == kNaN) std::memset(dq->host, 0xff, static_cast<std::size_t>(dq->dim[0].extent) * sizeof(float));
    }
};

}  // namespace

extern "C" std::remove_pointer_t<flashwright::BackwardKernel> flashwright_candidate;
template struct CandidateSymbol<flashwright::BackwardKernel, FaultyBackward>;
flashwright::BackwardKernel use_of_candidate = flashwright_candidate;  // compiles it

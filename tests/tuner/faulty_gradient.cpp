// Backward kernels that must never win.
#include "fault.h"
#include "runtime/src/kernel_abi.h"

#include <HalideRuntime.h>

#include <tuple>
#include <type_traits>

// Its arguments depend on the list of score terms. The function is a friend, since only a template can name them.
extern "C" std::remove_pointer_t<flashwright::BackwardKernel> flashwright_candidate;

template <typename Kernel>
struct FaultyBackward;

// Of wrong scale: it adds nothing.
template <typename... Arguments>
struct FaultyBackward<int (*)(Arguments...)> {
    friend int flashwright_candidate(Arguments... arguments) {
        fail();
        halide_buffer_t *dq = std::get<sizeof...(arguments) - 4>(std::tuple<Arguments...>(arguments...));
        if (FAULT == kNaN) std::memset(dq->host, 0xff, static_cast<std::size_t>(dq->dim[0].extent) * sizeof(float));
        return 0;
    }
};

template struct FaultyBackward<flashwright::BackwardKernel>;
flashwright::BackwardKernel use_of_candidate = flashwright_candidate;  // compiles it

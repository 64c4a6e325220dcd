// What holds for calls of both operations on streams.
#pragma once

#include "stream_test.h"

#include <functional>

namespace flashwright::test {

// The calls of the driver since the last reset: in the context, those that have a stream on kStream; so many kernels
// loaded and launched, one allocation, freed as the last thing, one copy, from the host, and no wait.
void expect_enqueued_alone(const Context &context, int modules, int launches);

// A call on tensors in device memory, and its outputs there.
struct StreamCall {
    std::function<flashwright_status()> run;
    std::vector<const void *> outputs;
};

// Whatever call of the driver fails, the call on a stream ends with its words, nothing stays behind, and no launch had
// an output before all others were enqueued. Halide looks at no error of letting kernels go, and nobody at one of
// freeing memory: all `launches` are enqueued then. `prepare` moves tensors to device memory and gives the call on
// them.
void expect_every_failure_is_a_status(
    int launches, const std::function<StreamCall(const flashwright_gpu_stream &stream, DeviceMemory &memory)> &prepare);

}  // namespace flashwright::test

#include "backward_chunk_members.h"

namespace flashwright {

void run_backward_chunk(const BackwardProblem &problem, const Kernel &kernel, const BackwardSizes &sizes,
                        const BackwardState &state, std::int64_t chain, std::int64_t chunk, Scratch &scratch) {
    dispatch_cpu_dtype(problem.forward.dtype, [&](auto element) {
        BackwardChunk<decltype(element)>(problem, kernel, sizes, state, chain, chunk, scratch).run();
    });
}

}  // namespace flashwright

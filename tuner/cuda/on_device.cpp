#include "on_device.h"

namespace flashwright {
namespace {

constexpr std::size_t kStep = 512, kSteps = 256;  // of what tensors are shifted by

void move(flashwright_tensor *tensor, GuardedTensors &from, std::uint64_t begin) {
    const auto offset = static_cast<std::byte *>(tensor->data) - from.memory().data();
    tensor->data = reinterpret_cast<void *>(begin + static_cast<std::uint64_t>(offset));
}

}  // namespace

OnDevice::OnDevice(const CudaSession &session, GpuProblem &problem, std::mt19937 *placements)
    : session_(session), problem_(problem), args_(problem.args()) {
    const std::uint64_t inputs = place(problem.inputs(), placements);
    outputs_ = place(problem.outputs(), placements);
    for (flashwright_tensor *tensor : {&args_.q, &args_.k, &args_.v}) move(tensor, problem.inputs(), inputs);
    for (flashwright_tensor *tensor : {&args_.out, &args_.softmax_lse}) move(tensor, problem.outputs(), outputs_);
    if (args_.score.bias != nullptr) args_.score.bias = moved(*args_.score.bias, &bias_, inputs);
    if (args_.score.mask != nullptr) args_.score.mask = moved(*args_.score.mask, &mask_, inputs);
}

void OnDevice::fetch_outputs() const {
    auto &memory = problem_.outputs().memory();
    session_.fetch(memory.data(), outputs_, memory.size());
}

std::uint64_t OnDevice::place(GuardedTensors &tensors, std::mt19937 *placements) const {
    const std::size_t shift = placements != nullptr ? (*placements)() % kSteps * kStep : 0;
    const std::uint64_t begin = session_.allocate(shift + tensors.memory().size()) + shift;
    session_.send(begin, tensors.memory().data(), tensors.memory().size());
    return begin;
}

const flashwright_tensor *OnDevice::moved(const flashwright_tensor &tensor, flashwright_tensor *to,
                                          std::uint64_t inputs) const {
    *to = tensor;
    move(to, problem_.inputs(), inputs);
    return to;
}

}  // namespace flashwright

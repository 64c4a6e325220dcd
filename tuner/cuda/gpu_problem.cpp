#include "gpu_problem.h"

#include "kernels/score_term.h"
#include "reference/contiguous_tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {
namespace {

constexpr double kSoftcapValue = 2;
constexpr std::size_t kMaskedOneIn = 5;  // pairs

constexpr std::size_t kStep = 512, kSteps = 256;  // offsets of tensors, in bytes

void move(flashwright_tensor *tensor, GuardedTensors &from, std::uint64_t begin) {
    const auto offset = static_cast<std::byte *>(tensor->data) - from.memory().data();
    tensor->data = reinterpret_cast<void *>(begin + static_cast<std::uint64_t>(offset));
}

}  // namespace

GpuProblem::GpuProblem(const ConfiguredKernel &kernel, const ShapeSpec &shape, const GpuProblemOptions &options)
    : shape_(shape), length_values_(options.key_lengths) {
    describe(options);
    add_terms(kernel);
    std::vector<flashwright_tensor *> inputs = {&args_.q, &args_.k, &args_.v};
    if (args_.score.bias != nullptr) inputs.push_back(&bias_);
    if (args_.score.mask != nullptr) inputs.push_back(&mask_);
    inputs_ = std::make_unique<GuardedTensors>(inputs);
    outputs_.reset(new GuardedTensors{&args_.out, &args_.softmax_lse});
    fill(options);
}

void GpuProblem::describe(const GpuProblemOptions &options) {
    const ShapeSpec &s = shape_;
    flashwright_forward_args_init(&args_);
    args_.q = contiguous_tensor(FLASHWRIGHT_F32, {s.batch, s.num_heads, s.seqlen_q, s.head_dim});
    args_.k = contiguous_tensor(FLASHWRIGHT_F32, {s.batch, s.num_heads_kv, s.seqlen_k, s.head_dim});
    args_.v = contiguous_tensor(FLASHWRIGHT_F32, {s.batch, s.num_heads_kv, s.seqlen_k, s.head_dim_v});
    args_.out = contiguous_tensor(FLASHWRIGHT_F32, {s.batch, s.num_heads, s.seqlen_q, s.head_dim_v});
    args_.softmax_lse = contiguous_tensor(FLASHWRIGHT_F32, {s.batch, s.num_heads, s.seqlen_q});
    bias_ = contiguous_tensor(FLASHWRIGHT_F32, {1, 1, s.seqlen_q, s.seqlen_k});
    mask_ = contiguous_tensor(FLASHWRIGHT_BOOL, {1, 1, s.seqlen_q, s.seqlen_k});
    args_.score.causal = s.causal ? 1 : 0;
    args_.score.window_left = options.window_left;
    args_.score.window_right = options.window_right;
    if (options.bottom_right) args_.score.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    if (length_values_.empty()) return;
    lengths_ = contiguous_tensor(FLASHWRIGHT_I32, {s.batch});
    lengths_.data = length_values_.data();
    args_.score.key_lengths = &lengths_;
}

void GpuProblem::add_terms(const ConfiguredKernel &kernel) {
    if ((kernel.terms & kSoftcap) != 0) args_.score.softcap = kSoftcapValue;
    if ((kernel.terms & kBias) != 0) args_.score.bias = &bias_;
    if ((kernel.terms & kMask) != 0) args_.score.mask = &mask_;
    if ((kernel.terms & kAlibi) == 0) return;
    for (std::int64_t head = 0; head < shape_.num_heads; ++head)
        slope_values_.push_back(static_cast<float>(std::exp2(-1 - head % 8)));
    slopes_ = contiguous_tensor(FLASHWRIGHT_F32, {shape_.num_heads});
    slopes_.data = slope_values_.data();
    args_.score.alibi_slopes = &slopes_;
}

void GpuProblem::fill(const GpuProblemOptions &options) {
    int seed = 1;
    for (const flashwright_tensor *tensor : {&args_.q, &args_.k, &args_.v}) fill_with_g(*tensor, seed++);
    if (args_.score.bias != nullptr) fill_with_g(bias_, seed);
    if (args_.score.mask != nullptr) {
        auto *unmasked = static_cast<std::uint8_t *>(mask_.data);
        for (std::size_t n = 0; n < element_count(mask_); ++n) unmasked[n] = n * 7 % 31 % kMaskedOneIn != 0 ? 1 : 0;
    }
    for (const flashwright_tensor *tensor : {&args_.k, &args_.v}) {
        if (options.masked_keys > 0)
            fill_rows(*tensor, shape_.seqlen_k - options.masked_keys, std::numeric_limits<double>::infinity());
    }
}

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

#include "gpu_target.h"

#include "cuda_session.h"
#include "gpu_candidate.h"
#include "gpu_problem.h"
#include "kernels/dtype_dispatch.h"
#include "on_device.h"
#include "reference/attention_error.h"

#include <algorithm>
#include <limits>
#include <random>

namespace flashwright {
namespace {

// The driver compiles a kernel's PTX when it is first called, which takes it seconds.
constexpr double kAnchorSilence = 180, kLeastSilence = 60;
constexpr std::int64_t kLongest = 1024;  // rows of a given shape whose results are looked at

// To be solved, with the reference.
struct GpuCheck {
    GpuCheck(const ConfiguredKernel &kernel, const ShapeSpec &shape, const GpuProblemOptions &options)
        : problem(kernel, shape, options), reference(reference_attention(problem.args())) {}

    GpuProblem problem;
    ReferenceAttention reference;
};

// Rows, keys and channels that fill no tile; one row; more keys than rows, and the reverse; a window, lengths and
// values that nobody sees.
std::vector<std::unique_ptr<GpuCheck>> awkward_checks(const ConfiguredKernel &kernel) {
    const std::int64_t d = kernel.tiles.head_dim;
    std::vector<std::pair<ShapeSpec, GpuProblemOptions>> problems = {
        {{1, 2, 1, 67, 61, d - 3, d - 5, false}, {}},
        {{1, 1, 1, 70, 45, d, d, true}, {}},
        {{1, 1, 1, 1, 130, d, d, false}, {}},
        {{2, 1, 1, 33, 90, d - 7, d - 1, true}, {-1, -1, true, {90, 11}, 0}},
        {{1, 1, 1, 40, 100, d, d, false}, {37, 11, false, {}, 0}},
    };
    if (!kernel.assume_finite) problems.push_back({{1, 1, 1, 35, 70, d, d, true}, {-1, -1, false, {}, 35}});
    std::vector<std::unique_ptr<GpuCheck>> checks;
    for (const auto &[shape, options] : problems) checks.push_back(std::make_unique<GpuCheck>(kernel, shape, options));
    return checks;
}

class GpuSubject : public TrialSubject {
 public:
    GpuSubject(const ConfiguredKernel &kernel, const std::vector<ShapeSpec> &shapes)
        : kernel_(kernel), shapes_(shapes), checks_(awkward_checks(kernel)) {
        for (ShapeSpec shape : shapes) {
            shape.batch = shape.num_heads = shape.num_heads_kv = 1;
            shape.seqlen_q = std::min(shape.seqlen_q, kLongest);
            shape.seqlen_k = std::min(shape.seqlen_k, kLongest);
            checks_.push_back(std::make_unique<GpuCheck>(kernel, shape, GpuProblemOptions{}));
        }
    }

    std::vector<std::string> problems() const override {
        std::vector<std::string> names;
        for (const auto &check : checks_) names.push_back(to_string(check->problem.shape()));
        return names;
    }

    std::vector<std::string> shapes() const override {
        std::vector<std::string> names;
        for (const ShapeSpec &shape : shapes_) names.push_back(to_string(shape));
        return names;
    }

    double anchor_silence() const override { return kAnchorSilence; }
    double least_silence() const override { return kLeastSilence; }
    // The driver takes more address space than any machine has memory.
    std::uint64_t memory_bytes() const override { return 0; }
    std::unique_ptr<TrialStage> make_stage(std::uint32_t placement) const override;

 private:
    friend class GpuStage;
    ConfiguredKernel kernel_;
    std::vector<ShapeSpec> shapes_;
    std::vector<std::unique_ptr<GpuCheck>> checks_;
};

class GpuStage : public TrialStage {
 public:
    GpuStage(const GpuSubject &subject, std::uint32_t placement)
        : subject_(subject), placements_(placement), timed_(subject.shapes_.size()) {}

    std::size_t load(const Contestant &contestant) override {
        candidates_.push_back(std::make_unique<GpuCandidate>(contestant.shared_object, subject_.kernel_,
                                                             std::get<GpuTiles>(contestant.tiles)));
        return candidates_.size() - 1;
    }

    double error_of(std::size_t candidate, std::size_t problem) override {
        GpuCheck &check = *subject_.checks_[problem];
        check.problem.outputs().poison();
        const OnDevice device(session_, check.problem, nullptr);
        candidates_[candidate]->forward(device.args(), session_);
        device.fetch_outputs();
        if (!check.problem.outputs().canaries_whole()) return std::numeric_limits<double>::infinity();
        const flashwright_forward_args &args = check.problem.args();
        const AttentionError error = attention_error(check.reference, args.out, args.softmax_lse);
        return std::max(error.out, error.softmax_lse) / forward_tolerance(args.out.dtype);
    }

    // After one call more, which keeps the device busy while the host enqueues the others.
    double seconds_of(std::size_t candidate, std::size_t shape, int calls) override {
        if (!timed_[shape]) timed_[shape] = std::make_unique<Timed>(*this, shape);
        const flashwright_forward_args &args = timed_[shape]->on_device.args();
        candidates_[candidate]->forward(args, session_);
        const double seconds = session_.time_of([&] {
            for (int i = 0; i < calls; ++i) candidates_[candidate]->forward(args, session_);
        });
        return seconds / calls;
    }

 private:
    struct Timed {
        Timed(GpuStage &stage, std::size_t shape)
            : problem(stage.subject_.kernel_, stage.subject_.shapes_[shape]),
              on_device(stage.session_, problem, &stage.placements_) {}
        GpuProblem problem;
        OnDevice on_device;
    };

    const GpuSubject &subject_;
    CudaSession session_;
    std::mt19937 placements_;
    std::vector<std::unique_ptr<GpuCandidate>> candidates_;
    std::vector<std::unique_ptr<Timed>> timed_;
};

std::unique_ptr<TrialStage> GpuSubject::make_stage(std::uint32_t placement) const {
    return std::make_unique<GpuStage>(*this, placement);
}

}  // namespace

std::unique_ptr<TrialSubject> make_gpu_subject(const ConfiguredKernel &kernel, const std::vector<ShapeSpec> &shapes) {
    return std::make_unique<GpuSubject>(kernel, shapes);
}

}  // namespace flashwright

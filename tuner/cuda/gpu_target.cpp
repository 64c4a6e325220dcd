#include "gpu_target.h"

#include "cuda_session.h"
#include "gpu_candidate.h"
#include "gpu_problem.h"
#include "kernels/dtype_dispatch.h"
#include "reference/attention_error.h"

#include <algorithm>
#include <limits>
#include <random>

namespace flashwright {
namespace {

// Seconds. The driver compiles a kernel's PTX at its first call.
constexpr double kBaselineSilence = 180, kMinSilence = 60;
constexpr std::int64_t kLongest = 1024;  // rows and keys of a given shape, when results are checked

// A problem and its reference result.
struct GpuCheck {
    GpuCheck(const ConfiguredKernel &kernel, const ShapeSpec &shape, const GpuProblemOptions &options)
        : problem(kernel, shape, options), reference(reference_attention(problem.args())) {}

    GpuProblem problem;
    ReferenceAttention reference;
};

// Rows, keys and channels that fill no tile; one row; more keys than rows, and the reverse; a window, key lengths, and
// infinities in masked keys.
std::vector<std::unique_ptr<GpuCheck>> edge_case_checks(const ConfiguredKernel &kernel) {
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

class GpuTarget : public MeasurementTarget {
 public:
    GpuTarget(const ConfiguredKernel &kernel, const std::vector<ShapeSpec> &shapes)
        : kernel_(kernel), shapes_(shapes), checks_(edge_case_checks(kernel)) {
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

    double baseline_silence() const override { return kBaselineSilence; }
    double min_silence() const override { return kMinSilence; }
    // No limit: the driver reserves more address space than a machine has memory.
    std::uint64_t memory_bytes() const override { return 0; }
    std::unique_ptr<MeasurementWorker> make_worker(std::uint32_t placement) const override;

 private:
    friend class GpuWorker;
    ConfiguredKernel kernel_;
    std::vector<ShapeSpec> shapes_;
    std::vector<std::unique_ptr<GpuCheck>> checks_;
};

class GpuWorker : public MeasurementWorker {
 public:
    GpuWorker(const GpuTarget &target, std::uint32_t placement)
        : target_(target), placements_(placement), timed_(target.shapes_.size()) {}

    std::size_t load(const Candidate &candidate) override {
        candidates_.push_back(std::make_unique<GpuCandidate>(candidate.shared_object, target_.kernel_,
                                                             std::get<GpuTiles>(candidate.tiles)));
        return candidates_.size() - 1;
    }

    double error_of(std::size_t candidate, std::size_t problem) override {
        GpuCheck &check = *target_.checks_[problem];
        check.problem.outputs().poison();
        const OnDevice device(session_, check.problem, nullptr);
        candidates_[candidate]->forward(device.args(), session_);
        device.fetch_outputs();
        if (!check.problem.outputs().canaries_whole()) return std::numeric_limits<double>::infinity();
        const flashwright_forward_args &args = check.problem.args();
        const AttentionError error = attention_error(check.reference, args.out, args.softmax_lse);
        return std::max(error.out, error.softmax_lse) / forward_tolerance(args.out.dtype);
    }

    // One more call goes first, which keeps the device busy while the host enqueues the others.
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
        Timed(GpuWorker &worker, std::size_t shape)
            : problem(worker.target_.kernel_, worker.target_.shapes_[shape]),
              on_device(worker.session_, problem, &worker.placements_) {}
        GpuProblem problem;
        OnDevice on_device;
    };

    const GpuTarget &target_;
    CudaSession session_;
    std::mt19937 placements_;
    std::vector<std::unique_ptr<GpuCandidate>> candidates_;
    std::vector<std::unique_ptr<Timed>> timed_;
};

std::unique_ptr<MeasurementWorker> GpuTarget::make_worker(std::uint32_t placement) const {
    return std::make_unique<GpuWorker>(*this, placement);
}

}  // namespace

std::unique_ptr<MeasurementTarget> make_gpu_target(const ConfiguredKernel &kernel,
                                                   const std::vector<ShapeSpec> &shapes) {
    return std::make_unique<GpuTarget>(kernel, shapes);
}

}  // namespace flashwright

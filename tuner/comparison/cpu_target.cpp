#include "cpu_target.h"

#include "support/clocks.h"
#include "tuner/candidates/cpu_candidate.h"
#include "tuner/candidates/cpu_problem.h"

#include <algorithm>

namespace flashwright {
namespace {

// Seconds. Large shapes get more than 20 s: the time at a hundredth of the slowest kernel's speed.
constexpr double kBaselineSilence = 20, kSilencePerOperation = 100e-9;
constexpr double kMinSilence = 2;
constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;

class CpuTarget : public MeasurementTarget {
 public:
    CpuTarget(const KernelFamily &family, const std::vector<ShapeSpec> &shapes)
        : family_(family), problems_(check_problems(family, shapes)) {
        for (const ShapeSpec &shape : shapes) timed_shapes_.push_back(timed_shape(family, shape));
    }

    std::vector<std::string> problems() const override {
        std::vector<std::string> names;
        for (const auto &problem : problems_) names.push_back(problem->name());
        return names;
    }

    std::vector<std::string> shapes() const override {
        std::vector<std::string> names;
        for (const ShapeSpec &shape : timed_shapes_) names.push_back(to_string(shape));
        return names;
    }

    double baseline_silence() const override {
        double silence = kBaselineSilence;
        for (const ShapeSpec &shape : timed_shapes_)
            silence = std::max(silence, kSilencePerOperation * operations_of(family_, shape));
        return silence;
    }

    double min_silence() const override { return kMinSilence; }

    std::uint64_t memory_bytes() const override {
        std::uint64_t bytes = kMemory;
        for (const ShapeSpec &shape : timed_shapes_) bytes += tensor_bytes(shape);
        return bytes;
    }

    std::unique_ptr<MeasurementWorker> make_worker(std::uint32_t placement) const override;

 private:
    friend class CpuWorker;
    KernelFamily family_;
    std::vector<ShapeSpec> timed_shapes_;
    std::vector<std::unique_ptr<CheckProblem>> problems_;
};

// Timed problems are filled at their first use.
class CpuWorker : public MeasurementWorker {
 public:
    CpuWorker(const CpuTarget &target, std::uint32_t placement)
        : target_(target), placement_(placement), timed_(target.timed_shapes_.size()) {}

    std::size_t load(const Candidate &candidate) override {
        candidates_.push_back(std::make_unique<CpuCandidate>(candidate.shared_object,
                                                             std::get<CpuTiles>(candidate.tiles), target_.family_));
        return candidates_.size() - 1;
    }

    double error_of(std::size_t candidate, std::size_t problem) override {
        return target_.problems_[problem]->error_of(*candidates_[candidate]);
    }

    // Thread-CPU seconds.
    double seconds_of(std::size_t candidate, std::size_t shape, int calls) override {
        if (!timed_[shape])
            timed_[shape] = make_timed_problem(target_.family_, target_.timed_shapes_[shape], placement_);
        const double seconds = time_of(1, [&] {
            for (int i = 0; i < calls; ++i) timed_[shape]->run(*candidates_[candidate]);
        });
        return seconds / calls;
    }

 private:
    const CpuTarget &target_;
    std::uint32_t placement_;
    std::vector<std::unique_ptr<CpuCandidate>> candidates_;
    std::vector<std::unique_ptr<TimedProblem>> timed_;
};

std::unique_ptr<MeasurementWorker> CpuTarget::make_worker(std::uint32_t placement) const {
    return std::make_unique<CpuWorker>(*this, placement);
}

}  // namespace

std::unique_ptr<MeasurementTarget> make_cpu_target(const KernelFamily &family, const std::vector<ShapeSpec> &shapes) {
    return std::make_unique<CpuTarget>(family, shapes);
}

}  // namespace flashwright

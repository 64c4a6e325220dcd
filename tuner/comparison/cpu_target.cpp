#include "cpu_target.h"

#include "support/clocks.h"
#include "tuner/candidates/candidate.h"
#include "tuner/candidates/check_problem.h"
#include "tuner/candidates/timed_problem.h"

#include <algorithm>

namespace flashwright {
namespace {

// Of the anchor: 20 s, and more for large shapes, as if it had a hundredth of the slowest kernel's speed.
constexpr double kAnchorSilence = 20, kSilencePerOperation = 100e-9;
constexpr double kLeastSilence = 2;
constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;

class CpuSubject : public TrialSubject {
 public:
    CpuSubject(const KernelFamily &family, const std::vector<ShapeSpec> &shapes)
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

    double anchor_silence() const override {
        double silence = kAnchorSilence;
        for (const ShapeSpec &shape : timed_shapes_)
            silence = std::max(silence, kSilencePerOperation * operations_of(family_, shape));
        return silence;
    }

    double least_silence() const override { return kLeastSilence; }

    std::uint64_t memory_bytes() const override {
        std::uint64_t bytes = kMemory;
        for (const ShapeSpec &shape : timed_shapes_) bytes += tensor_bytes(shape);
        return bytes;
    }

    std::unique_ptr<TrialStage> make_stage(std::uint32_t placement) const override;

 private:
    friend class CpuStage;
    KernelFamily family_;
    std::vector<ShapeSpec> timed_shapes_;
    std::vector<std::unique_ptr<CheckProblem>> problems_;
};

// What is timed is filled on first use.
class CpuStage : public TrialStage {
 public:
    CpuStage(const CpuSubject &subject, std::uint32_t placement)
        : subject_(subject), placement_(placement), timed_(subject.timed_shapes_.size()) {}

    std::size_t load(const Contestant &contestant) override {
        candidates_.push_back(std::make_unique<Candidate>(contestant.shared_object,
                                                          std::get<CpuSimdTiles>(contestant.tiles), subject_.family_));
        return candidates_.size() - 1;
    }

    double error_of(std::size_t candidate, std::size_t problem) override {
        return subject_.problems_[problem]->error_of(*candidates_[candidate]);
    }

    // Thread-CPU seconds.
    double seconds_of(std::size_t candidate, std::size_t shape, int calls) override {
        if (!timed_[shape])
            timed_[shape] = make_timed_problem(subject_.family_, subject_.timed_shapes_[shape], placement_);
        const double seconds = time_of(1, [&] {
            for (int i = 0; i < calls; ++i) timed_[shape]->run(*candidates_[candidate]);
        });
        return seconds / calls;
    }

 private:
    const CpuSubject &subject_;
    std::uint32_t placement_;
    std::vector<std::unique_ptr<Candidate>> candidates_;
    std::vector<std::unique_ptr<TimedProblem>> timed_;
};

std::unique_ptr<TrialStage> CpuSubject::make_stage(std::uint32_t placement) const {
    return std::make_unique<CpuStage>(*this, placement);
}

}  // namespace

std::unique_ptr<TrialSubject> make_cpu_subject(const KernelFamily &family, const std::vector<ShapeSpec> &shapes) {
    return std::make_unique<CpuSubject>(family, shapes);
}

}  // namespace flashwright

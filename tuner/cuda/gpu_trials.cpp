#include "gpu_trials.h"

#include "kernels/gpu_tile_spaces.h"
#include "sass_listing.h"
#include "support/file.h"
#include "support/scratch_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr int kPollMicroseconds = 5000;

}  // namespace

// One candidate: the generator, then for each architecture ptxas and nvdisasm.
class GpuTrials::Job {
 public:
    Job(const GpuTrials &trials, const ConfiguredKernel &kernel, const GpuTiles &tiles, bool whole)
        : trials_(trials), kernel_(kernel), tiles_(tiles), whole_(whole) {}

    bool ended() {
        if (!program_) {
            scratch_.emplace();
            std::vector<std::string> command = {trials_.generator_.path, "-o", scratch_->path()};
            const auto arguments = gpu_generator_arguments(trials_.generator_.target, kernel_, tiles_, "device_code");
            command.insert(command.end(), arguments.begin(), arguments.end());
            start("the generator", command);
            return false;
        }
        if (!program_->ended()) return false;
        trial_.seconds += program_->outcome().seconds;
        if (program_->outcome().end != ChildEnd::finished) {
            fail(program_->outcome());
            return end();
        }
        try {
            if (step_ == Step::assemble) take_report();
            if (step_ == Step::disassemble) take_listing();
        } catch (const std::exception &error) {  // what they print is none of ours
            fail({ChildEnd::failed, error.what(), 0});
            return end();
        }
        return next() ? false : end();
    }

    void interrupt() {
        program_.reset();
        trial_.verdict = Verdict::interrupted;
        end();
    }

    const GpuTrial &trial() const { return trial_; }

 private:
    enum class Step { generate, assemble, disassemble };

    const GpuArchitecture &architecture() const { return trials_.tools_.architectures[at_]; }

    void start(const std::string &what, const std::vector<std::string> &command) {
        what_ = what;
        program_.emplace(command, trials_.limits_, scratch_->path("log"));
    }

    // Starts what comes after the step that is done; false: nothing does.
    bool next() {
        if (trial_.spills && !whole_) return false;
        if (step_ == Step::assemble) {
            step_ = Step::disassemble;
            start(fmt::format("nvdisasm for {}", architecture().name),
                  {trials_.tools_.nvdisasm, "-c", scratch_->path("cubin")});
            return true;
        }
        if (step_ == Step::disassemble) ++at_;
        if (at_ == trials_.tools_.architectures.size()) return false;
        step_ = Step::assemble;
        start(fmt::format("ptxas for {}", architecture().name),
              {trials_.tools_.ptxas, "-v", fmt::format("-arch={}", architecture().name),
               scratch_->path("candidate.device_code"), "-o", scratch_->path("cubin")});
        return true;
    }

    void take_report() {
        GpuPrediction prediction;
        prediction.architecture = architecture().name;
        prediction.report = parse_ptxas_report(text_of(scratch_->path("log")));
        prediction.shared_bytes = gpu_shared_bytes(tiles_, GpuPass::forward) + prediction.report.shared_bytes;
        if (prediction.report.spilled > 0 && !trial_.spills) {
            trial_.spills = true;
            trial_.detail = fmt::format("{}: {} bytes spilled", what_, prediction.report.spilled);
        }
        trial_.predictions.push_back(prediction);
    }

    void take_listing() {
        GpuPrediction &prediction = trial_.predictions.back();
        const LoopCost loop = hot_loop(parse_sass(text_of(scratch_->path("log"))), tiles_);
        const GpuResources resources = {tiles_.threads, prediction.report.registers, prediction.shared_bytes};
        prediction.share = loop.share();
        prediction.occupancy = occupancy(architecture(), resources);
        prediction.cycles = cycles_per_multiply_add(architecture(), resources, loop);
    }

    void fail(const ChildOutcome &outcome) {
        const bool refused = outcome.end == ChildEnd::failed || outcome.end == ChildEnd::crashed;
        trial_.verdict = refused ? Verdict::compile : verdict_of(outcome.end);
        trial_.detail = fmt::format("{}: {}", what_, outcome.detail);
        if (step_ != Step::generate) trial_.failed_on = architecture().name;
    }

    bool end() {
        scratch_.reset();
        return true;
    }

    const GpuTrials &trials_;
    const ConfiguredKernel &kernel_;
    GpuTiles tiles_;
    bool whole_;
    std::optional<ScratchFolder> scratch_;
    std::optional<ChildProgram> program_;
    std::string what_;
    Step step_ = Step::generate;
    std::size_t at_ = 0;
    GpuTrial trial_;
};

GpuTrials::GpuTrials(GpuGenerator generator, CudaTools tools, int jobs, ChildLimits limits)
    : generator_(std::move(generator)),
      tools_(std::move(tools)),
      jobs_(static_cast<std::size_t>(std::max(jobs, 1))),
      limits_(limits) {}

std::vector<GpuTrial> GpuTrials::run(const ConfiguredKernel &kernel, const std::vector<GpuTiles> &tiles, bool whole,
                                     const StopRequested &stop_requested, const std::function<void()> &done) const {
    std::vector<std::unique_ptr<Job>> jobs;
    for (const GpuTiles &choice : tiles) jobs.push_back(std::make_unique<Job>(*this, kernel, choice, whole));
    std::vector<Job *> running;
    for (std::size_t next = 0; next < jobs.size() || !running.empty();) {
        if (stop_requested()) {
            for (Job *job : running) job->interrupt();
            for (; next < jobs.size(); ++next) jobs[next]->interrupt();
            break;
        }
        while (next < jobs.size() && running.size() < jobs_) running.push_back(jobs[next++].get());
        const auto ended = std::remove_if(running.begin(), running.end(), [&](Job *job) {
            if (!job->ended()) return false;
            done();
            return true;
        });
        running.erase(ended, running.end());
        if (!running.empty()) usleep(kPollMicroseconds);
    }
    std::vector<GpuTrial> trials;
    for (const auto &job : jobs) trials.push_back(job->trial());
    return trials;
}

}  // namespace flashwright

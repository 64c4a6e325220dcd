#include "gpu_analysis.h"

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

// One candidate: runs the generator, then ptxas and nvdisasm for each architecture.
class GpuAnalyzer::Job {
 public:
    Job(const GpuAnalyzer &analyzer, const ConfiguredKernel &kernel, const GpuTiles &tiles, bool whole)
        : analyzer_(analyzer), kernel_(kernel), tiles_(tiles), whole_(whole) {}

    bool ended() {
        if (!program_) {
            scratch_.emplace();
            std::vector<std::string> command = {analyzer_.generator_.path, "-o", scratch_->path()};
            const auto arguments = gpu_generator_arguments(analyzer_.generator_.target, kernel_, tiles_, "device_code");
            command.insert(command.end(), arguments.begin(), arguments.end());
            start("the generator", command);
            return false;
        }
        if (!program_->ended()) return false;
        analysis_.seconds += program_->outcome().seconds;
        if (program_->outcome().end != ChildEnd::finished) {
            fail(program_->outcome());
            return end();
        }
        try {
            if (step_ == Step::assemble) take_report();
            if (step_ == Step::disassemble) take_listing();
        } catch (const std::exception &error) {  // their output may be anything
            fail({ChildEnd::failed, error.what(), 0});
            return end();
        }
        return next() ? false : end();
    }

    void interrupt() {
        program_.reset();
        analysis_.verdict = Verdict::interrupted;
        end();
    }

    const GpuAnalysis &analysis() const { return analysis_; }

 private:
    enum class Step { generate, assemble, disassemble };

    const GpuArchitecture &architecture() const { return analyzer_.tools_.architectures[at_]; }

    void start(const std::string &what, const std::vector<std::string> &command) {
        what_ = what;
        program_.emplace(command, analyzer_.limits_, scratch_->path("log"));
    }

    // Starts the program after the finished one. False if that was the last.
    bool next() {
        if (analysis_.spills && !whole_) return false;
        if (step_ == Step::assemble) {
            step_ = Step::disassemble;
            start(fmt::format("nvdisasm for {}", architecture().name),
                  {analyzer_.tools_.nvdisasm, "-c", scratch_->path("cubin")});
            return true;
        }
        if (step_ == Step::disassemble) ++at_;
        if (at_ == analyzer_.tools_.architectures.size()) return false;
        step_ = Step::assemble;
        start(fmt::format("ptxas for {}", architecture().name),
              {analyzer_.tools_.ptxas, "-v", fmt::format("-arch={}", architecture().name),
               scratch_->path("candidate.device_code"), "-o", scratch_->path("cubin")});
        return true;
    }

    void take_report() {
        GpuPrediction prediction;
        prediction.architecture = architecture().name;
        prediction.report = parse_ptxas_report(text_of(scratch_->path("log")));
        prediction.shared_bytes = gpu_shared_bytes(tiles_, GpuPass::forward) + prediction.report.shared_bytes;
        if (prediction.report.spilled > 0 && !analysis_.spills) {
            analysis_.spills = true;
            analysis_.detail = fmt::format("{}: {} bytes spilled", what_, prediction.report.spilled);
        }
        analysis_.predictions.push_back(prediction);
    }

    void take_listing() {
        GpuPrediction &prediction = analysis_.predictions.back();
        const LoopCost loop = hot_loop(parse_sass(text_of(scratch_->path("log"))), tiles_);
        const GpuResources resources = {tiles_.threads, prediction.report.registers, prediction.shared_bytes};
        prediction.share = loop.share();
        prediction.occupancy = occupancy(architecture(), resources);
        prediction.cycles = cycles_per_multiply_add(architecture(), resources, loop);
    }

    void fail(const ChildOutcome &outcome) {
        const bool refused = outcome.end == ChildEnd::failed || outcome.end == ChildEnd::crashed;
        analysis_.verdict = refused ? Verdict::compile : verdict_of(outcome.end);
        analysis_.detail = fmt::format("{}: {}", what_, outcome.detail);
        if (step_ != Step::generate) analysis_.failed_on = architecture().name;
    }

    bool end() {
        scratch_.reset();
        return true;
    }

    const GpuAnalyzer &analyzer_;
    const ConfiguredKernel &kernel_;
    GpuTiles tiles_;
    bool whole_;
    std::optional<ScratchFolder> scratch_;
    std::optional<ChildProgram> program_;
    std::string what_;
    Step step_ = Step::generate;
    std::size_t at_ = 0;
    GpuAnalysis analysis_;
};

GpuAnalyzer::GpuAnalyzer(GpuGenerator generator, CudaTools tools, int jobs, ChildLimits limits)
    : generator_(std::move(generator)),
      tools_(std::move(tools)),
      jobs_(static_cast<std::size_t>(std::max(jobs, 1))),
      limits_(limits) {}

std::vector<GpuAnalysis> GpuAnalyzer::run(const ConfiguredKernel &kernel, const std::vector<GpuTiles> &tiles,
                                          bool whole, const StopRequested &stop_requested,
                                          const std::function<void()> &done) const {
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
    std::vector<GpuAnalysis> analyses;
    for (const auto &job : jobs) analyses.push_back(job->analysis());
    return analyses;
}

}  // namespace flashwright

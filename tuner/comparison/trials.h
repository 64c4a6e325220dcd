// Runs candidates in child processes, so that a crash or hang does not reach the tuner: first checks, then times.
#pragma once

#include "measurement_target.h"
#include "support/child_process.h"
#include "verdict.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace flashwright {

struct CheckResult {
    Verdict verdict = Verdict::ok;
    std::string detail;
    double error = 0;    // the largest, in units of the tolerance
    double seconds = 0;  // wall time
    int shape = -1;      // that it failed on; -1: before any was timed
};

// Times of samples, by round. A missing round is missing for all candidates.
struct RoundTimes {
    std::vector<std::vector<std::vector<double>>> seconds;  // [candidate][shape][round], of one call
    std::vector<CheckResult> faults;                        // [candidate]; verdict ok for none
    bool interrupted = false;
};

struct PairTimes {
    // [candidate][placement]: the median over the placement's pairs, of the candidate's time over the baseline's.
    std::vector<std::vector<double>> log_ratios;
    CheckResult fault;       // verdict ok for none
    std::size_t failed = 0;  // the candidate that ran then; for the baseline the number of candidates
};

class Trials {
 public:
    // `silent_seconds`: silence timeout of candidates; 0: derived from the baseline's own silence. `seed`: of the
    // addresses of code and tensors in paired comparisons.
    Trials(std::unique_ptr<MeasurementTarget> target, double silent_seconds, std::uint32_t seed,
           StopRequested stop_requested);

    // Compares with reference results, then times one call on each shape. More than four times `best_seconds` (by
    // shape; 0: unknown) is `slow`.
    CheckResult check(const Candidate &candidate, const std::vector<double> &best_seconds);

    // Sets the number of calls in a sample and the silence timeout, from the baseline's times.
    CheckResult calibrate(const Candidate &baseline);

    // In each round one sample of each candidate on each shape (`shapes`: indices), in random order. A candidate that
    // fails is dropped; the others continue.
    RoundTimes rounds(const std::vector<Candidate> &candidates, const std::vector<int> &shapes, int rounds,
                      std::uint32_t seed);

    // Pairs A B B A of the baseline (A) with each candidate (B): kPairs in each of `placements` processes. The effect
    // of addresses in memory differs between processes, hardly within one.
    PairTimes pairs(const Candidate &baseline, const std::vector<Candidate> &candidates, int shape, int placements);

 private:
    std::unique_ptr<MeasurementTarget> target_;
    std::vector<std::string> problems_, shapes_;
    std::vector<int> calls_;  // in a sample, by shape
    StopRequested stop_requested_;
    bool silence_given_;
    ChildLimits limits_;
    double longest_silence_ = 0;  // so far
    std::mt19937 placements_;

    int shape_of_problem(std::size_t problem) const;  // -1 for an edge case
    ChildOutcome run(const std::function<void(const RecordSender &)> &body,
                     const std::function<void(const Record &)> &on_record);
    double sample(MeasurementWorker &worker, std::size_t candidate, int shape) const;
    void check_and_time(const Candidate &candidate, const std::vector<double> &best_seconds,
                        const RecordSender &parent) const;
    void run_rounds(const std::vector<Candidate> &candidates, const std::vector<std::size_t> &alive,
                    const std::vector<int> &shapes, int rounds, std::uint32_t seed, const RecordSender &parent) const;
    void run_pairs(const Candidate &baseline, const std::vector<Candidate> &candidates, int shape,
                   std::uint32_t placement, const RecordSender &parent) const;
    bool add_placement(const Candidate &baseline, const std::vector<Candidate> &candidates, int shape,
                       PairTimes &times);
};

}  // namespace flashwright

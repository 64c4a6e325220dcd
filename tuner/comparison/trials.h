// Runs candidates in child processes: correctness first, then times. Nothing that a candidate does reaches the tuner.
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
    double error = 0;    // the largest, in units of what is tolerated
    double seconds = 0;  // wall time
    int shape = -1;      // the one it failed on; -1: it is wrong or dies whatever is timed
};

// Times of one candidate's samples on one shape, by round; a round that did not happen is missing for all.
struct RoundTimes {
    std::vector<std::vector<std::vector<double>>> seconds;  // [candidate][shape][round], of one call
    std::vector<CheckResult> faults;                        // [candidate]; verdict ok where there was none
    bool interrupted = false;
};

struct PairTimes {
    // [candidate][placement], of the candidate's time over the anchor's, the median of the placement's pairs.
    std::vector<std::vector<double>> log_ratios;
    CheckResult fault;       // verdict ok where there was none
    std::size_t failed = 0;  // the candidate that ran then; their number: the anchor
};

class Trials {
 public:
    // `silent_seconds`: how long a candidate may say nothing; 0: what follows from the anchor's own silence.
    // `seed`: of where code and tensors lie in memory when pairs are timed.
    Trials(std::unique_ptr<TrialSubject> subject, double silent_seconds, std::uint32_t seed,
           StopRequested stop_requested);

    // Compares with exact results, then warms up and times one call of each shape; `best_seconds` by shape, 0 for
    // unknown: more than four times that is `slow`.
    CheckResult check(const Contestant &contestant, const std::vector<double> &best_seconds);

    // Sets how many calls make a sample, and how long a candidate may be silent, from the anchor's times.
    CheckResult calibrate(const Contestant &anchor);

    // Rounds of one sample of each candidate on each shape, in shuffled order. `shapes` by index. A candidate that
    // fails is left out of the rest, which goes on.
    RoundTimes rounds(const std::vector<Contestant> &contestants, const std::vector<int> &shapes, int rounds,
                      std::uint32_t seed);

    // kPairs pairs A B B A of the anchor (A) with each of the candidates, in turns, in each of `placements` processes:
    // what code and tensors gain or lose by where they lie in memory differs from process to process, and hardly
    // within.
    PairTimes pairs(const Contestant &anchor, const std::vector<Contestant> &contestants, int shape, int placements);

 private:
    std::unique_ptr<TrialSubject> subject_;
    std::vector<std::string> problems_, shapes_;
    std::vector<int> calls_;  // in a sample, by shape
    StopRequested stop_requested_;
    bool silence_given_;
    ChildLimits limits_;
    double longest_silence_ = 0;  // so far
    std::mt19937 placements_;

    int shape_of_problem(std::size_t problem) const;  // -1 for an awkward one
    ChildOutcome run(const std::function<void(const RecordSender &)> &body,
                     const std::function<void(const Record &)> &on_record);
    double sample(TrialStage &stage, std::size_t candidate, int shape) const;
    void check_and_time(const Contestant &contestant, const std::vector<double> &best_seconds,
                        const RecordSender &parent) const;
    void run_rounds(const std::vector<Contestant> &contestants, const std::vector<std::size_t> &alive,
                    const std::vector<int> &shapes, int rounds, std::uint32_t seed, const RecordSender &parent) const;
    void run_pairs(const Contestant &anchor, const std::vector<Contestant> &contestants, int shape,
                   std::uint32_t placement, const RecordSender &parent) const;
    bool add_placement(const Contestant &anchor, const std::vector<Contestant> &contestants, int shape,
                       PairTimes &times);
};

}  // namespace flashwright

#include "trials.h"

#include "measure/statistics.h"
#include "protocol.h"
#include "support/clocks.h"
#include "support/text.h"
#include "tuner/candidates/timed_problem.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <random>

namespace flashwright {
namespace {

constexpr double kSampleSeconds = 3e-3;  // at least, so that the clock and a cold start do not count
constexpr double kSlowFactor = 4;
constexpr double kSilenceFactor = 20;  // of candidates: so many times the longest that the anchor was silent

enum RecordKind { kBegins, kSample, kChecked, kWrong, kSlow, kGivesUp };

Record record(RecordKind kind, std::size_t candidate, int shape = -1, double value = 0, const std::string &text = "") {
    Record result;
    result.kind = kind;
    result.candidate = static_cast<std::int32_t>(candidate);
    result.shape = shape;
    result.value = value;
    cut_text(text, sizeof result.text - 1).copy(result.text, sizeof result.text - 1);
    return result;
}

// What is mapped next lies elsewhere than it would.
void shift_address_space(std::mt19937 &random) {
    mmap(nullptr, (1 + random() % 256) * static_cast<std::size_t>(getpagesize()), PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

}  // namespace

Trials::Trials(std::unique_ptr<TrialSubject> subject, double silent_seconds, std::uint32_t seed,
               StopRequested stop_requested)
    : subject_(std::move(subject)),
      problems_(subject_->problems()),
      shapes_(subject_->shapes()),
      calls_(shapes_.size(), 1),
      stop_requested_(std::move(stop_requested)),
      silence_given_(silent_seconds > 0),
      limits_{silence_given_ ? silent_seconds : subject_->anchor_silence(), subject_->memory_bytes()},
      placements_(seed) {}

int Trials::shape_of_problem(std::size_t problem) const {
    const std::size_t awkward = problems_.size() - shapes_.size();
    return problem < awkward ? -1 : static_cast<int>(problem - awkward);
}

double Trials::sample(TrialStage &stage, std::size_t candidate, int shape) const {
    const auto s = static_cast<std::size_t>(shape);
    return stage.seconds_of(candidate, s, calls_[s]);
}

ChildOutcome Trials::run(const std::function<void(const RecordSender &)> &body,
                         const std::function<void(const Record &)> &on_record) {
    double heard = wall_seconds();
    std::string why;
    ChildOutcome outcome = run_in_child(
        limits_,
        [&](const RecordSender &parent) {
            try {
                body(parent);
            } catch (const std::exception &error) {
                parent.send(record(kGivesUp, 0, -1, 0, error.what()));
                throw;
            }
        },
        [&](const Record &heard_record) {
            longest_silence_ = std::max(longest_silence_, wall_seconds() - heard);
            heard = wall_seconds();
            if (heard_record.kind == kGivesUp) {
                why = heard_record.text;
            } else {
                on_record(heard_record);
            }
        },
        stop_requested_);
    if (!why.empty()) outcome.detail = why;
    return outcome;
}

void Trials::check_and_time(const Contestant &contestant, const std::vector<double> &best_seconds,
                            const RecordSender &parent) const {
    const auto stage = subject_->make_stage(0);
    const std::size_t candidate = stage->load(contestant);
    for (std::size_t i = 0; i < problems_.size(); ++i) {
        parent.send(record(kBegins, 0, shape_of_problem(i), 0, problems_[i]));
        const double error = stage->error_of(candidate, i);
        // Written so that NaN is wrong.
        parent.send(record(error <= 1 ? kChecked : kWrong, 0, shape_of_problem(i), error, problems_[i]));
        if (!(error <= 1)) return;
    }
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
        const int number = static_cast<int>(shape);
        parent.send(record(kBegins, 0, number, 0, shapes_[shape]));
        double seconds = stage->seconds_of(candidate, shape, 1);
        const double limit = kSlowFactor * best_seconds[shape];
        // The first call is also the warm-up; only a second that is slow too counts.
        if (limit > 0 && seconds > limit) seconds = stage->seconds_of(candidate, shape, 1);
        if (limit > 0 && seconds > limit) {
            parent.send(record(kSlow, 0, number, seconds / best_seconds[shape], shapes_[shape]));
            return;
        }
    }
}

CheckResult Trials::check(const Contestant &contestant, const std::vector<double> &best_seconds) {
    CheckResult result;
    std::string doing = "loading";
    const ChildOutcome outcome =
        run([&](const RecordSender &parent) { check_and_time(contestant, best_seconds, parent); },
            [&](const Record &heard) {
                doing = heard.text;
                result.shape = heard.shape;
                if (heard.kind == kChecked || heard.kind == kWrong) result.error = std::max(result.error, heard.value);
                if (heard.kind == kWrong) {
                    result.verdict = Verdict::wrong;
                    result.error = heard.value;
                    result.detail = fmt::format("{}: {:.3g} times the error allowed", heard.text, heard.value);
                }
                if (heard.kind == kSlow) {
                    result.verdict = Verdict::slow;
                    result.detail = fmt::format("{}: {:.1f} times the best", heard.text, heard.value);
                }
            });
    result.seconds = outcome.seconds;
    if (outcome.end != ChildEnd::finished) {
        result.verdict = verdict_of(outcome.end);
        result.detail = fmt::format("{}: {}", doing, outcome.detail);
    }
    return result;
}

CheckResult Trials::calibrate(const Contestant &anchor) {
    std::fill(calls_.begin(), calls_.end(), 1);
    std::vector<int> all(shapes_.size());
    std::iota(all.begin(), all.end(), 0);
    constexpr int kRounds = 5;
    const RoundTimes times = rounds({anchor}, all, kRounds, 0);
    if (times.interrupted || times.faults[0].verdict != Verdict::ok) return times.faults[0];
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
        const auto &samples = times.seconds[0][shape];
        const double seconds = *std::min_element(samples.begin(), samples.end());
        calls_[shape] = static_cast<int>(std::clamp(std::ceil(kSampleSeconds / std::max(seconds, 1e-9)), 1.0, 1e5));
    }
    if (!silence_given_)
        limits_.silent_seconds = std::max(subject_->least_silence(), kSilenceFactor * longest_silence_);
    return {};
}

void Trials::run_rounds(const std::vector<Contestant> &contestants, const std::vector<std::size_t> &alive,
                        const std::vector<int> &shapes, int rounds, std::uint32_t seed,
                        const RecordSender &parent) const {
    const auto stage = subject_->make_stage(seed);
    std::vector<std::size_t> loaded(contestants.size());
    for (const std::size_t i : alive) {
        parent.send(record(kBegins, i));
        loaded[i] = stage->load(contestants[i]);
    }
    std::mt19937 random(seed);
    std::vector<std::size_t> order = alive;
    for (const int shape : shapes) {
        for (int round = -1; round < rounds; ++round) {  // the first warms up
            std::shuffle(order.begin(), order.end(), random);
            for (const std::size_t i : order) {
                parent.send(record(kBegins, i, shape));
                const double seconds = sample(*stage, loaded[i], shape);
                if (round >= 0) parent.send(record(kSample, i, shape, seconds));
            }
        }
    }
}

RoundTimes Trials::rounds(const std::vector<Contestant> &contestants, const std::vector<int> &shapes, int rounds,
                          std::uint32_t seed) {
    RoundTimes result;
    result.faults.resize(contestants.size());
    std::vector<std::size_t> alive(contestants.size());
    std::iota(alive.begin(), alive.end(), std::size_t{0});
    // Once for each candidate that fails, at most.
    while (!alive.empty()) {
        result.seconds.assign(contestants.size(), std::vector<std::vector<double>>(shapes_.size()));
        std::size_t at = alive.front();
        int shape = -1;
        const ChildOutcome outcome =
            run([&](const RecordSender &parent) { run_rounds(contestants, alive, shapes, rounds, seed, parent); },
                [&](const Record &heard) {
                    at = static_cast<std::size_t>(heard.candidate);
                    shape = heard.shape;
                    if (heard.kind == kSample)
                        result.seconds[at][static_cast<std::size_t>(heard.shape)].push_back(heard.value);
                });
        if (outcome.end == ChildEnd::finished) return result;
        if (outcome.end == ChildEnd::interrupted) {
            result.interrupted = true;
            return result;
        }
        result.faults[at].verdict = verdict_of(outcome.end);
        result.faults[at].detail = "while it was timed: " + outcome.detail;
        result.faults[at].shape = shape;
        alive.erase(std::find(alive.begin(), alive.end(), at));
    }
    return result;
}

void Trials::run_pairs(const Contestant &anchor, const std::vector<Contestant> &contestants, int shape,
                       std::uint32_t placement, const RecordSender &parent) const {
    const std::size_t a = contestants.size();
    std::mt19937 random(placement);
    std::vector<std::size_t> order(a + 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const auto stage = subject_->make_stage(placement);
    std::vector<std::size_t> loaded(a + 1);
    for (const std::size_t i : order) {
        parent.send(record(kBegins, i, shape));
        shift_address_space(random);
        loaded[i] = stage->load(i < a ? contestants[i] : anchor);
    }
    const auto log_time = [&](std::size_t i) {
        parent.send(record(kBegins, i, shape));
        return std::log(sample(*stage, loaded[i], shape));
    };
    for (int pair = -1; pair < kPairs; ++pair) {  // the first warms up
        for (std::size_t b = 0; b < a; ++b) {
            const double a1 = log_time(a), b1 = log_time(b), b2 = log_time(b), a2 = log_time(a);
            if (pair >= 0) parent.send(record(kSample, b, shape, (b1 + b2 - a1 - a2) / 2));
        }
    }
}

// False if something failed.
bool Trials::add_placement(const Contestant &anchor, const std::vector<Contestant> &contestants, int shape,
                           PairTimes &times) {
    const auto placement = static_cast<std::uint32_t>(placements_());
    times.failed = contestants.size();
    std::vector<std::vector<double>> heard_ratios(contestants.size());
    const ChildOutcome outcome =
        run([&](const RecordSender &parent) { run_pairs(anchor, contestants, shape, placement, parent); },
            [&](const Record &heard) {
                times.failed = static_cast<std::size_t>(heard.candidate);
                if (heard.kind == kSample) heard_ratios[times.failed].push_back(heard.value);
            });
    times.fault.verdict = verdict_of(outcome.end);
    times.fault.detail = "while it was compared: " + outcome.detail;
    times.fault.shape = shape;
    for (std::size_t i = 0; i < contestants.size() && times.fault.verdict == Verdict::ok; ++i) {
        if (heard_ratios[i].size() == static_cast<std::size_t>(kPairs)) {
            times.log_ratios[i].push_back(median(heard_ratios[i]));
        } else {
            times.fault.verdict = Verdict::crash;  // its process ended of its own accord
            times.failed = i;
        }
    }
    return times.fault.verdict == Verdict::ok;
}

PairTimes Trials::pairs(const Contestant &anchor, const std::vector<Contestant> &contestants, int shape,
                        int placements) {
    PairTimes result;
    result.log_ratios.resize(contestants.size());
    for (int placement = 0; placement < placements; ++placement) {
        if (!add_placement(anchor, contestants, shape, result)) break;
    }
    return result;
}

}  // namespace flashwright

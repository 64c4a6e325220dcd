#include "trials.h"

#include "candidate.h"
#include "clocks.h"
#include "protocol.h"
#include "statistics.h"
#include "text.h"
#include "timed_problem.h"

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
// Of the anchor, whose speed is not known yet: 20 s, and more for large shapes, as if it had a hundredth of the slowest
// kernel's speed. Of candidates: so many times the longest that the anchor was silent.
constexpr double kAnchorSilence = 20, kSilencePerOperation = 100e-9;
constexpr double kSilenceFactor = 20, kLeastSilence = 2;
constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;

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

// The problems of the shapes, in the child, filled on first use.
class Trials::Stage {
 public:
    Stage(const Trials &trials, std::vector<int> calls, std::uint32_t placement)
        : trials_(trials), calls_(std::move(calls)), placement_(placement), problems_(trials.timed_shapes_.size()) {}

    // Thread-CPU seconds of one call.
    double sample(const Candidate &candidate, std::size_t shape) {
        if (!problems_[shape])
            problems_[shape] = make_timed_problem(trials_.family_, trials_.timed_shapes_[shape], placement_);
        const TimedProblem &problem = *problems_[shape];
        const int calls = calls_[shape];
        const double seconds = time_of(1, [&] {
            for (int i = 0; i < calls; ++i) problem.run(candidate);
        });
        return seconds / calls;
    }

 private:
    const Trials &trials_;
    std::vector<int> calls_;
    std::uint32_t placement_;
    std::vector<std::unique_ptr<TimedProblem>> problems_;
};

Trials::Trials(const KernelFamily &family, const std::vector<ShapeSpec> &shapes, double silent_seconds,
               std::uint32_t seed, StopRequested stop_requested)
    : family_(family),
      calls_(shapes.size(), 1),
      problems_(check_problems(family, shapes)),
      stop_requested_(std::move(stop_requested)),
      silence_given_(silent_seconds > 0),
      limits_{silence_given_ ? silent_seconds : kAnchorSilence, kMemory},
      placements_(seed) {
    for (const ShapeSpec &shape : shapes) timed_shapes_.push_back(timed_shape(family, shape));
    for (const ShapeSpec &shape : timed_shapes_) {
        if (!silence_given_)
            limits_.silent_seconds =
                std::max(limits_.silent_seconds, kSilencePerOperation * operations_of(family, shape));
        limits_.memory_bytes += tensor_bytes(shape);
    }
}

std::unique_ptr<Candidate> Trials::load(const Contestant &contestant) const {
    return std::make_unique<Candidate>(contestant.shared_object, contestant.tiles, family_);
}

int Trials::shape_of_problem(std::size_t problem) const {
    const std::size_t awkward = problems_.size() - timed_shapes_.size();
    return problem < awkward ? -1 : static_cast<int>(problem - awkward);
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

void Trials::check_and_time(const Candidate &candidate, const std::vector<double> &best_seconds,
                            const RecordSender &parent) const {
    for (std::size_t i = 0; i < problems_.size(); ++i) {
        const std::string &name = problems_[i]->name();
        parent.send(record(kBegins, 0, shape_of_problem(i), 0, name));
        const double error = problems_[i]->error_of(candidate);
        // Written so that NaN is wrong.
        parent.send(record(error <= 1 ? kChecked : kWrong, 0, shape_of_problem(i), error, name));
        if (!(error <= 1)) return;
    }
    Stage stage(*this, std::vector<int>(timed_shapes_.size(), 1), 0);
    for (std::size_t shape = 0; shape < timed_shapes_.size(); ++shape) {
        const std::string name = to_string(timed_shapes_[shape]);
        const int number = static_cast<int>(shape);
        parent.send(record(kBegins, 0, number, 0, name));
        double seconds = stage.sample(candidate, shape);
        const double limit = kSlowFactor * best_seconds[shape];
        // The first call is also the warm-up; only a second that is slow too counts.
        if (limit > 0 && seconds > limit) seconds = stage.sample(candidate, shape);
        if (limit > 0 && seconds > limit) {
            parent.send(record(kSlow, 0, number, seconds / best_seconds[shape], name));
            return;
        }
    }
}

CheckResult Trials::check(const Contestant &contestant, const std::vector<double> &best_seconds) {
    CheckResult result;
    std::string doing = "loading";
    const ChildOutcome outcome =
        run([&](const RecordSender &parent) { check_and_time(*load(contestant), best_seconds, parent); },
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
    std::vector<int> all(timed_shapes_.size());
    std::iota(all.begin(), all.end(), 0);
    constexpr int kRounds = 5;
    const RoundTimes times = rounds({anchor}, all, kRounds, 0);
    if (times.interrupted || times.faults[0].verdict != Verdict::ok) return times.faults[0];
    for (std::size_t shape = 0; shape < timed_shapes_.size(); ++shape) {
        const auto &samples = times.seconds[0][shape];
        const double seconds = *std::min_element(samples.begin(), samples.end());
        calls_[shape] = static_cast<int>(std::clamp(std::ceil(kSampleSeconds / std::max(seconds, 1e-9)), 1.0, 1e5));
    }
    if (!silence_given_) limits_.silent_seconds = std::max(kLeastSilence, kSilenceFactor * longest_silence_);
    return {};
}

void Trials::run_rounds(const std::vector<Contestant> &contestants, const std::vector<std::size_t> &alive,
                        const std::vector<int> &shapes, int rounds, std::uint32_t seed,
                        const RecordSender &parent) const {
    std::vector<std::unique_ptr<Candidate>> loaded(contestants.size());
    for (const std::size_t i : alive) {
        parent.send(record(kBegins, i));
        loaded[i] = load(contestants[i]);
    }
    Stage stage(*this, calls_, seed);
    std::mt19937 random(seed);
    std::vector<std::size_t> order = alive;
    for (const int shape : shapes) {
        const auto s = static_cast<std::size_t>(shape);
        for (int round = -1; round < rounds; ++round) {  // the first warms up
            std::shuffle(order.begin(), order.end(), random);
            for (const std::size_t i : order) {
                parent.send(record(kBegins, i, shape));
                const double seconds = stage.sample(*loaded[i], s);
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
        result.seconds.assign(contestants.size(), std::vector<std::vector<double>>(timed_shapes_.size()));
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
    std::vector<std::unique_ptr<Candidate>> loaded(a + 1);
    for (const std::size_t i : order) {
        parent.send(record(kBegins, i, shape));
        shift_address_space(random);
        loaded[i] = load(i < a ? contestants[i] : anchor);
    }
    Stage stage(*this, calls_, placement);
    const auto log_time = [&](std::size_t i) {
        parent.send(record(kBegins, i, shape));
        return std::log(stage.sample(*loaded[i], static_cast<std::size_t>(shape)));
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

#include "trials.h"

#include "measure/statistics.h"
#include "protocol.h"
#include "support/clocks.h"
#include "support/text.h"

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

constexpr double kSampleSeconds = 3e-3;  // minimum, so that the clock and a cold start do not matter
constexpr double kSlowFactor = 4;
constexpr double kSilenceFactor = 20;  // silence timeout of candidates, over the longest silence of the baseline

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

// Moves what is mapped next to another address.
void shift_address_space(std::mt19937 &random) {
    static_cast<void>(mmap(nullptr, (1 + random() % 256) * static_cast<std::size_t>(getpagesize()), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

}  // namespace

Trials::Trials(std::unique_ptr<MeasurementTarget> target, double silent_seconds, std::uint32_t seed,
               StopRequested stop_requested)
    : target_(std::move(target)),
      problems_(target_->problems()),
      shapes_(target_->shapes()),
      calls_(shapes_.size(), 1),
      stop_requested_(std::move(stop_requested)),
      silence_given_(silent_seconds > 0),
      limits_{silence_given_ ? silent_seconds : target_->baseline_silence(), target_->memory_bytes()},
      placements_(seed) {}

int Trials::shape_of_problem(std::size_t problem) const {
    const std::size_t edge_cases = problems_.size() - shapes_.size();
    return problem < edge_cases ? -1 : static_cast<int>(problem - edge_cases);
}

double Trials::sample(MeasurementWorker &worker, std::size_t candidate, int shape) const {
    const auto s = static_cast<std::size_t>(shape);
    return worker.seconds_of(candidate, s, calls_[s]);
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
    const auto worker = target_->make_worker(0);
    const std::size_t loaded = worker->load(candidate);
    for (std::size_t i = 0; i < problems_.size(); ++i) {
        parent.send(record(kBegins, 0, shape_of_problem(i), 0, problems_[i]));
        const double error = worker->error_of(loaded, i);
        // NaN compares as wrong.
        parent.send(record(error <= 1 ? kChecked : kWrong, 0, shape_of_problem(i), error, problems_[i]));
        if (!(error <= 1)) return;
    }
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
        const int number = static_cast<int>(shape);
        parent.send(record(kBegins, 0, number, 0, shapes_[shape]));
        double seconds = worker->seconds_of(loaded, shape, 1);
        const double limit = kSlowFactor * best_seconds[shape];
        // The first call is also the warm-up, so a slow one is repeated.
        if (limit > 0 && seconds > limit) seconds = worker->seconds_of(loaded, shape, 1);
        if (limit > 0 && seconds > limit) {
            parent.send(record(kSlow, 0, number, seconds / best_seconds[shape], shapes_[shape]));
            return;
        }
    }
}

CheckResult Trials::check(const Candidate &candidate, const std::vector<double> &best_seconds) {
    CheckResult result;
    std::string doing = "loading";
    const ChildOutcome outcome =
        run([&](const RecordSender &parent) { check_and_time(candidate, best_seconds, parent); },
            [&](const Record &heard) {
                doing = heard.text;
                result.shape = heard.shape;
                if (heard.kind == kChecked || heard.kind == kWrong) result.error = std::max(result.error, heard.value);
                if (heard.kind == kWrong) {
                    result.verdict = Verdict::wrong;
                    result.error = heard.value;
                    result.detail = fmt::format("{}: {:.3g} times the tolerance", heard.text, heard.value);
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

CheckResult Trials::calibrate(const Candidate &baseline) {
    std::fill(calls_.begin(), calls_.end(), 1);
    std::vector<int> all(shapes_.size());
    std::iota(all.begin(), all.end(), 0);
    constexpr int kRounds = 5;
    const RoundTimes times = rounds({baseline}, all, kRounds, 0);
    if (times.interrupted || times.faults[0].verdict != Verdict::ok) return times.faults[0];
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
        const auto &samples = times.seconds[0][shape];
        const double seconds = *std::min_element(samples.begin(), samples.end());
        calls_[shape] = static_cast<int>(std::clamp(std::ceil(kSampleSeconds / std::max(seconds, 1e-9)), 1.0, 1e5));
    }
    if (!silence_given_) limits_.silent_seconds = std::max(target_->min_silence(), kSilenceFactor * longest_silence_);
    return {};
}

void Trials::run_rounds(const std::vector<Candidate> &candidates, const std::vector<std::size_t> &alive,
                        const std::vector<int> &shapes, int rounds, std::uint32_t seed,
                        const RecordSender &parent) const {
    const auto worker = target_->make_worker(seed);
    std::vector<std::size_t> loaded(candidates.size());
    for (const std::size_t i : alive) {
        parent.send(record(kBegins, i));
        loaded[i] = worker->load(candidates[i]);
    }
    std::mt19937 random(seed);
    std::vector<std::size_t> order = alive;
    for (const int shape : shapes) {
        for (int round = -1; round < rounds; ++round) {  // the first warms up
            std::shuffle(order.begin(), order.end(), random);
            for (const std::size_t i : order) {
                parent.send(record(kBegins, i, shape));
                const double seconds = sample(*worker, loaded[i], shape);
                if (round >= 0) parent.send(record(kSample, i, shape, seconds));
            }
        }
    }
}

RoundTimes Trials::rounds(const std::vector<Candidate> &candidates, const std::vector<int> &shapes, int rounds,
                          std::uint32_t seed) {
    RoundTimes result;
    result.faults.resize(candidates.size());
    std::vector<std::size_t> alive(candidates.size());
    std::iota(alive.begin(), alive.end(), std::size_t{0});
    // Repeated after each failure, without the candidate that failed.
    while (!alive.empty()) {
        result.seconds.assign(candidates.size(), std::vector<std::vector<double>>(shapes_.size()));
        std::size_t at = alive.front();
        int shape = -1;
        const ChildOutcome outcome =
            run([&](const RecordSender &parent) { run_rounds(candidates, alive, shapes, rounds, seed, parent); },
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

void Trials::run_pairs(const Candidate &baseline, const std::vector<Candidate> &candidates, int shape,
                       std::uint32_t placement, const RecordSender &parent) const {
    const std::size_t a = candidates.size();
    std::mt19937 random(placement);
    std::vector<std::size_t> order(a + 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const auto worker = target_->make_worker(placement);
    std::vector<std::size_t> loaded(a + 1);
    for (const std::size_t i : order) {
        parent.send(record(kBegins, i, shape));
        shift_address_space(random);
        loaded[i] = worker->load(i < a ? candidates[i] : baseline);
    }
    const auto log_time = [&](std::size_t i) {
        parent.send(record(kBegins, i, shape));
        return std::log(sample(*worker, loaded[i], shape));
    };
    for (int pair = -1; pair < kPairs; ++pair) {  // the first warms up
        for (std::size_t b = 0; b < a; ++b) {
            const double a1 = log_time(a), b1 = log_time(b), b2 = log_time(b), a2 = log_time(a);
            if (pair >= 0) parent.send(record(kSample, b, shape, (b1 + b2 - a1 - a2) / 2));
        }
    }
}

// False if something failed.
bool Trials::add_placement(const Candidate &baseline, const std::vector<Candidate> &candidates, int shape,
                           PairTimes &times) {
    const auto placement = static_cast<std::uint32_t>(placements_());
    times.failed = candidates.size();
    std::vector<std::vector<double>> heard_ratios(candidates.size());
    const ChildOutcome outcome =
        run([&](const RecordSender &parent) { run_pairs(baseline, candidates, shape, placement, parent); },
            [&](const Record &heard) {
                times.failed = static_cast<std::size_t>(heard.candidate);
                if (heard.kind == kSample) heard_ratios[times.failed].push_back(heard.value);
            });
    times.fault.verdict = verdict_of(outcome.end);
    times.fault.detail = "while it was compared: " + outcome.detail;
    times.fault.shape = shape;
    for (std::size_t i = 0; i < candidates.size() && times.fault.verdict == Verdict::ok; ++i) {
        if (heard_ratios[i].size() == static_cast<std::size_t>(kPairs)) {
            times.log_ratios[i].push_back(median(heard_ratios[i]));
        } else {
            times.fault.verdict = Verdict::crash;  // its process ended without a word
            times.failed = i;
        }
    }
    return times.fault.verdict == Verdict::ok;
}

PairTimes Trials::pairs(const Candidate &baseline, const std::vector<Candidate> &candidates, int shape,
                        int placements) {
    PairTimes result;
    result.log_ratios.resize(candidates.size());
    for (int placement = 0; placement < placements; ++placement) {
        if (!add_placement(baseline, candidates, shape, result)) break;
    }
    return result;
}

}  // namespace flashwright

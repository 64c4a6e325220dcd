#include "kernel_tuning.h"

#include "clocks.h"
#include "hardware.h"
#include "statistics.h"
#include "variant_cover.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr std::size_t kBatch = 8;
constexpr int kBatchRounds = 7;
constexpr int kPreflightPairs = 30, kDuelPairs = 40;
constexpr std::size_t kFinalists = 24, kDuellists = 3;
constexpr int kHalvingRounds = 5;  // doubled each time that the field is halved
constexpr int kPoolRounds = 15;
constexpr double kCoverSlack = 1.05;
constexpr double kLeastGain = 0.005;
constexpr double kSignificance = 0.05;
constexpr double kBetter = 0.995;  // what counts as progress for patience

flashwright_dtype dtype_named(const std::string &name) { return name == "f64" ? FLASHWRIGHT_F64 : FLASHWRIGHT_F32; }

int element_size(const std::string &dtype) { return dtype == "f64" ? 8 : 4; }

CpuSimdMachine machine_of(const KernelFamily &family) {
    return cpu_simd_machine(family.isa, element_size(family.dtype), hardware().l1, hardware().l2);
}

SmallestShape smallest_of(const std::vector<ShapeSpec> &shapes) {
    SmallestShape smallest = {shapes[0].seqlen_k, shapes[0].head_dim, shapes[0].head_dim_v};
    for (const ShapeSpec &shape : shapes) {
        smallest.seqlen_k = std::min(smallest.seqlen_k, shape.seqlen_k);
        smallest.head_dim = std::min(smallest.head_dim, shape.head_dim);
        smallest.head_dim_v = std::min(smallest.head_dim_v, shape.head_dim_v);
    }
    // The awkward problems are at least so large.
    return {std::min<std::int64_t>(smallest.seqlen_k, 65), std::min<std::int64_t>(smallest.head_dim, 33),
            std::min<std::int64_t>(smallest.head_dim_v, 40)};
}

// The 25th percentile of the times over the anchor's in the same round.
double score(const std::vector<double> &seconds, const std::vector<double> &anchor) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < std::min(seconds.size(), anchor.size()); ++round)
        ratios.push_back(seconds[round] / anchor[round]);
    return ratios.empty() ? std::numeric_limits<double>::infinity() : quarter(ratios);
}

}  // namespace

std::vector<KernelFamily> kernel_families(const std::vector<std::string> &dtypes,
                                          const std::vector<std::string> &isas) {
    const auto asked = [](const std::vector<std::string> &list, const std::string &name) {
        return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
    };
    std::string best_isa;
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) {
        const flashwright_isa_info isa = flashwright_isa(i);
        if (isa.chosen != 0) best_isa = isa.name;
        if (!isas.empty() && asked(isas, isa.name) && isa.usable == 0)
            throw std::invalid_argument(fmt::format("isa: this CPU cannot run {}", isa.name));
    }
    std::vector<KernelFamily> families;
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) {
        const flashwright_kernel_info kernel = flashwright_kernel(i);
        const std::string dtype = kernel.dtype == FLASHWRIGHT_F64 ? "f64" : "f32", isa = kernel.isa;
        if (std::string(kernel.op) != "forward" || kernel.portable != 0 || *kernel.terms != '\0') continue;
        if (!asked(dtypes, dtype) || !(isas.empty() ? isa == best_isa : asked(isas, isa))) continue;
        // The default is the first of its family.
        if (std::any_of(families.begin(), families.end(),
                        [&](const KernelFamily &f) { return f.dtype == dtype && f.isa == isa; }))
            continue;
        KernelFamily family = {"forward", dtype, isa, "", {}};
        const std::string prefix = fmt::format("forward_{}_{}_", dtype, isa);
        family.default_id = std::string(kernel.name).substr(prefix.size());
        const auto tiles = nlohmann::json::parse(kernel.tiles);
        for (const TileParameter &parameter : forward_parameters())
            family.default_tiles.*parameter.member = tiles.at(parameter.name);
        families.push_back(family);
    }
    for (const std::string &isa : isas) {
        if (std::none_of(families.begin(), families.end(), [&](const KernelFamily &f) { return f.isa == isa; }))
            throw std::invalid_argument(fmt::format("isa: this build has no forward kernel of {}", isa));
    }
    return families;
}

KernelTuning::KernelTuning(const TuneOptions &options, const KernelFamily &family, CandidateBuilder &builder,
                           Journal &journal, TuneListener listener, StopRequested stop_requested,
                           std::vector<CpuSimdTiles> warm_starts)
    : options_(options),
      family_(family),
      builder_(builder),
      journal_(journal),
      listener_(std::move(listener)),
      stop_requested_(std::move(stop_requested)),
      warm_starts_(std::move(warm_starts)),
      space_(forward_search_space(machine_of(family), smallest_of(options.shapes), family.default_tiles, options.only)),
      default_point_(space_.find(point_of(family.default_tiles))),
      trials_(dtype_named(family.dtype), family.isa, options.shapes, options.run_seconds, stop_requested_),
      history_(space_.size(), options.shapes.size()),
      default_seconds_(options.shapes.size()),
      best_seconds_(options.shapes.size()),
      noise_floor_(options.shapes.size()) {}

BuildRequest KernelTuning::build_request(std::size_t point) const {
    BuildRequest request = {family_.op, family_.dtype, family_.isa, {}};
    for (std::size_t p = 0; p < space_.names().size(); ++p) {
        if (!space_.run_time()[p])
            request.tiles.push_back(fmt::format("{}={}", space_.names()[p], space_.point(point)[p]));
    }
    return request;
}

nlohmann::json KernelTuning::configuration(std::size_t point) const {
    nlohmann::json configuration;
    for (std::size_t p = 0; p < space_.names().size(); ++p) configuration[space_.names()[p]] = space_.point(point)[p];
    return configuration;
}

nlohmann::json KernelTuning::entry_of(std::size_t point) const {
    return {{"trial", configuration(point)}, {"op", family_.op}, {"dtype", family_.dtype}, {"isa", family_.isa}};
}

std::vector<int> KernelTuning::all_shapes() const {
    std::vector<int> shapes(options_.shapes.size());
    std::iota(shapes.begin(), shapes.end(), 0);
    return shapes;
}

std::vector<std::size_t> KernelTuning::starts() const {
    std::vector<std::size_t> starts = {default_point_};
    std::vector<CpuSimdTiles> all = warm_starts_;
    const std::vector<CpuSimdTiles> by_model = forward_starts(machine_of(family_));
    all.insert(all.end(), by_model.begin(), by_model.end());
    for (const CpuSimdTiles &tiles : all) {
        const std::size_t point = space_.find(point_of(tiles));
        if (point < space_.size()) starts.push_back(point);
    }
    return starts;
}

// Seconds of wall time that one sample takes, on the average of the shapes.
double KernelTuning::sample_seconds() const {
    double sum = 0;
    for (const double seconds : default_seconds_) sum += std::max(seconds, 4e-3);
    return busy_ * sum / static_cast<double>(default_seconds_.size());
}

double KernelTuning::finals_seconds() const {
    const double halving = 4.0 * kFinalists * kHalvingRounds, pool = kDuellists * kPoolRounds * 2.0;
    const double duel = 4.0 * kDuelPairs * kDuellists;
    return (halving + pool + duel) * static_cast<double>(options_.shapes.size()) * sample_seconds();
}

void KernelTuning::prepare_default() {
    listener_.step(fmt::format("{} {} {}: building and checking the default", family_.op, family_.dtype, family_.isa));
    const Build build = builder_.build({build_request(default_point_)}, stop_requested_)[0];
    if (build.outcome.end == ChildEnd::interrupted) return;
    if (build.outcome.end != ChildEnd::finished)
        throw std::runtime_error(fmt::format("the default of {} {} {} could not be built: {}", family_.op,
                                             family_.dtype, family_.isa, build.outcome.detail));
    const Contestant contestant = {build.shared_object, family_.default_tiles};
    const double wall = wall_seconds();
    const CheckResult check = trials_.check(contestant, best_seconds_);
    if (check.verdict == Verdict::interrupted) return;
    if (check.verdict != Verdict::ok)
        throw std::runtime_error(fmt::format("the default of {} {} {} failed: {}: {}", family_.op, family_.dtype,
                                             family_.isa, verdict_name(check.verdict), check.detail));
    contestants_[default_point_] = contestant;
    point_of_object_[fmt::format("{} {}", build.object_hash, family_.default_tiles.block_k)] = default_point_;
    default_seconds_ = best_seconds_ = trials_.calibrate(contestant);
    history_.add(default_point_, std::vector<double>(options_.shapes.size(), 1.0));
    auto entry = entry_of(default_point_);
    entry["verdict"] = "ok";
    entry["error"] = check.error;
    entry["compile_seconds"] = build.seconds;
    entry["check_seconds"] = wall_seconds() - wall;
    entry["default"] = true;
    for (std::size_t s = 0; s < options_.shapes.size(); ++s)
        entry["shapes"][to_string(options_.shapes[s])] = {{"ratio", 1.0}, {"seconds", {default_seconds_[s]}}};
    journal_.append(entry);
}

// The default against a copy of itself, which is another file and so lies elsewhere in memory.
void KernelTuning::measure_noise() {
    const Contestant &anchor = contestants_.at(default_point_);
    Contestant twin = anchor;
    twin.shared_object += fmt::format(".twin{}", getpid());
    std::filesystem::copy_file(anchor.shared_object, twin.shared_object,
                               std::filesystem::copy_options::overwrite_existing);
    nlohmann::json floors;
    for (std::size_t s = 0; s < options_.shapes.size() && !stopped(); ++s) {
        listener_.step(fmt::format("{} {} {}: noise floor of {}", family_.op, family_.dtype, family_.isa,
                                   to_string(options_.shapes[s])));
        const double wall = wall_seconds(),
                     expected = 4.0 * (kPreflightPairs + 1) * std::max(default_seconds_[s], 3e-3);
        const PairTimes times = trials_.pairs(anchor, {twin}, static_cast<int>(s), kPreflightPairs);
        if (times.verdict != Verdict::ok) continue;
        busy_ = std::clamp((wall_seconds() - wall) / expected, busy_, 10.0);
        const Interval interval = median_interval(times.log_ratios[0]);
        noise_floor_[s] = (interval.high - interval.low) / 2;
        floors[to_string(options_.shapes[s])] = noise_floor_[s];
    }
    std::filesystem::remove(twin.shared_object);
    journal_.append({{"noise_floor", floors}, {"op", family_.op}, {"dtype", family_.dtype}, {"isa", family_.isa}});
}

// What an earlier run found out; returns how many points.
std::size_t KernelTuning::replay_journal() {
    std::size_t known = 0;
    for (const nlohmann::json &entry : journal_.entries()) {
        if (!entry.contains("trial") || entry.value("op", "") != family_.op ||
            entry.value("dtype", "") != family_.dtype || entry.value("isa", "") != family_.isa)
            continue;
        std::vector<int> values;
        for (const std::string &name : space_.names()) values.push_back(entry["trial"].value(name, 0));
        const std::size_t point = space_.find(values);
        if (point == space_.size() || history_.tried(point)) continue;
        const Verdict verdict = verdict_named(entry.value("verdict", ""));
        std::vector<double> ratios;
        for (const ShapeSpec &shape : options_.shapes) {
            const std::string name = to_string(shape);
            if (entry.contains("shapes") && entry["shapes"].contains(name))
                ratios.push_back(entry["shapes"][name].value("ratio", 1.0));
        }
        if (verdict == Verdict::ok && ratios.size() != options_.shapes.size()) continue;  // timed on other shapes
        if (verdict == Verdict::ok) {
            Contestant contestant = {entry.value("shared_object", ""), tiles_of(space_.point(point))};
            if (!std::filesystem::exists(contestant.shared_object)) continue;
            contestants_[point] = contestant;
            history_.add(point, ratios);
        } else {
            ++failures_[verdict_name(verdict)];
            history_.add(point, {});
        }
        ++known;
    }
    return known;
}

std::string KernelTuning::progress_text(std::size_t planned) const {
    std::string text = fmt::format("{} {} {}: {} of {} candidates", family_.op, family_.dtype, family_.isa,
                                   history_.order().size(), planned);
    double best = 1;
    std::size_t at = 0;
    for (std::size_t s = 0; s < options_.shapes.size(); ++s) {
        if (history_.best(s) < best) best = history_.best(s), at = s;
    }
    text += fmt::format(", best {:.1f} ± {:.1f} % of the default's time", 100 * best, 100 * noise_floor_[at]);
    for (const auto &[verdict, count] : failures_) text += fmt::format(", {} {}", count, verdict);
    const double left = std::max(0.0, deadline_ - wall_seconds());
    return text + fmt::format(", at most {}:{:02} left", static_cast<int>(left) / 60, static_cast<int>(left) % 60);
}

void KernelTuning::search() {
    const auto strategy = make_strategy(options_.strategy, space_, starts(), options_.seed);
    const std::size_t planned = options_.candidates > 0 ? std::min(options_.candidates, space_.size()) : space_.size();
    std::vector<double> best(options_.shapes.size(), 1);
    std::size_t last_gain = history_.order().size();
    double batch_seconds = 0;  // of the last one
    while (!stopped() && history_.order().size() < planned) {
        if (wall_seconds() + batch_seconds + finals_seconds() > deadline_) break;
        for (std::size_t s = 0; s < best.size(); ++s) {
            if (history_.best(s) < kBetter * best[s]) {
                best[s] = history_.best(s);
                last_gain = history_.order().size();
            }
        }
        if (history_.order().size() - last_gain > options_.patience) break;
        const std::vector<std::size_t> batch =
            strategy->propose(history_, std::min(kBatch, planned - history_.order().size()));
        if (batch.empty()) break;
        const double wall = wall_seconds();
        try_batch(batch);
        batch_seconds = wall_seconds() - wall;
        listener_.step(progress_text(planned));
    }
}

void KernelTuning::try_batch(const std::vector<std::size_t> &points) {
    std::vector<BuildRequest> requests;
    for (const std::size_t point : points) requests.push_back(build_request(point));
    const std::vector<Build> builds = builder_.build(requests, stop_requested_);
    std::vector<std::size_t> right;
    std::map<std::size_t, nlohmann::json> entries;
    for (std::size_t i = 0; i < points.size() && !stopped(); ++i) {
        const std::size_t point = points[i];
        const Build &build = builds[i];
        if (build.outcome.end == ChildEnd::interrupted) return;
        auto entry = entry_of(point);
        entry["compile_seconds"] = build.seconds;
        const auto fail = [&](Verdict verdict, const std::string &detail) {
            entry["verdict"] = verdict_name(verdict);
            entry["detail"] = detail;
            ++failures_[verdict_name(verdict)];
            history_.add(point, {});
            journal_.append(entry);
        };
        if (build.outcome.end != ChildEnd::finished) {
            entry["compiling"] = true;
            const bool crash = build.outcome.end == ChildEnd::failed || build.outcome.end == ChildEnd::crashed;
            fail(crash ? Verdict::compile : verdict_of(build.outcome.end), build.outcome.detail);
            continue;
        }
        const CpuSimdTiles tiles = tiles_of(space_.point(point));
        const std::string identity = fmt::format("{} {}", build.object_hash, tiles.block_k);
        const auto same = point_of_object_.find(identity);
        if (same != point_of_object_.end() && !options_.keep_duplicates) {
            entry["verdict"] = "ok";
            entry["duplicate_of"] = configuration(same->second);
            for (std::size_t s = 0; s < history_.ratios(same->second).size(); ++s)
                entry["shapes"][to_string(options_.shapes[s])] = {{"ratio", history_.ratios(same->second)[s]}};
            history_.add(point, history_.ratios(same->second));
            if (contestants_.count(same->second) > 0) contestants_[point] = contestants_.at(same->second);
            journal_.append(entry);
            continue;
        }
        listener_.detail(fmt::format("checking {}", space_.text(point)));
        const Contestant contestant = {build.shared_object, tiles};
        const CheckResult check = trials_.check(contestant, best_seconds_);
        if (check.verdict == Verdict::interrupted) return;
        entry["error"] = std::isfinite(check.error) ? nlohmann::json(check.error) : nlohmann::json("infinite");
        entry["check_seconds"] = check.seconds;
        entry["shared_object"] = build.shared_object;
        if (check.verdict != Verdict::ok) {
            fail(check.verdict, check.detail);
            continue;
        }
        point_of_object_.emplace(identity, point);
        contestants_[point] = contestant;
        right.push_back(point);
        entries[point] = entry;
    }
    if (!right.empty() && !stopped()) time_batch(right, entries);
}

void KernelTuning::time_batch(const std::vector<std::size_t> &points,
                              const std::map<std::size_t, nlohmann::json> &entries) {
    listener_.detail("timing");
    std::vector<std::size_t> field = {default_point_};
    const std::vector<std::size_t> ranking = history_.ranking();
    if (ranking.front() != default_point_ && contestants_.count(ranking.front()) > 0) field.push_back(ranking.front());
    field.insert(field.end(), points.begin(), points.end());
    std::vector<Contestant> contestants;
    for (const std::size_t point : field) contestants.push_back(contestants_.at(point));
    const RoundTimes times = trials_.rounds(contestants, all_shapes(), kBatchRounds,
                                            options_.seed + static_cast<std::uint32_t>(history_.order().size()));
    if (times.interrupted) return;
    if (times.faults[0].verdict != Verdict::ok && points.size() > 1) {
        // One of them took the default down with it: each alone tells which.
        for (const std::size_t point : points) time_batch({point}, entries);
        return;
    }
    for (std::size_t i = field.size() - points.size(); i < field.size(); ++i) {
        const std::size_t point = field[i];
        nlohmann::json entry = entries.at(point);
        const CheckResult &fault = times.faults[0].verdict != Verdict::ok ? times.faults[0] : times.faults[i];
        entry["verdict"] = verdict_name(fault.verdict);
        if (fault.verdict != Verdict::ok) {
            entry["detail"] = fault.detail;
            ++failures_[verdict_name(fault.verdict)];
            contestants_.erase(point);
            history_.add(point, {});
        } else {
            std::vector<double> ratios;
            for (std::size_t s = 0; s < options_.shapes.size(); ++s) {
                ratios.push_back(score(times.seconds[i][s], times.seconds[0][s]));
                if (!times.seconds[i][s].empty())
                    best_seconds_[s] = std::min(best_seconds_[s], quarter(times.seconds[i][s]));
                entry["shapes"][to_string(options_.shapes[s])] = {{"ratio", ratios.back()},
                                                                  {"seconds", times.seconds[i][s]}};
            }
            history_.add(point, ratios);
        }
        journal_.append(entry);
    }
}

std::vector<KernelTuning::Finalist> KernelTuning::halve(std::size_t shape, std::vector<std::size_t> points) {
    std::vector<Finalist> ranked;
    for (int rounds = kHalvingRounds; !points.empty() && !stopped(); rounds *= 2) {
        std::vector<Contestant> contestants = {contestants_.at(default_point_)};
        for (const std::size_t point : points) contestants.push_back(contestants_.at(point));
        const RoundTimes times = trials_.rounds(contestants, {static_cast<int>(shape)}, rounds,
                                                options_.seed + static_cast<std::uint32_t>(rounds));
        if (times.interrupted || times.faults[0].verdict != Verdict::ok) break;
        ranked.clear();
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (times.faults[i + 1].verdict == Verdict::ok)
                ranked.push_back({points[i], score(times.seconds[i + 1][shape], times.seconds[0][shape])});
        }
        std::sort(ranked.begin(), ranked.end(), [](const Finalist &a, const Finalist &b) { return a.ratio < b.ratio; });
        if (ranked.size() <= kDuellists) break;
        ranked.resize(std::max(kDuellists, (ranked.size() + 1) / 2));
        points.clear();
        for (const Finalist &finalist : ranked) points.push_back(finalist.point);
        if (points.size() == kDuellists) break;
    }
    return ranked;
}

std::vector<TunedRow> KernelTuning::finals() {
    std::vector<std::size_t> pool;
    for (std::size_t s = 0; s < options_.shapes.size() && !stopped(); ++s) {
        listener_.step(fmt::format("{} {} {}: finals of {}", family_.op, family_.dtype, family_.isa,
                                   to_string(options_.shapes[s])));
        std::vector<std::size_t> points;
        for (const std::size_t point : history_.ranking(s)) {
            if (point != default_point_ && contestants_.count(point) > 0 && points.size() < kFinalists)
                points.push_back(point);
        }
        for (const Finalist &finalist : halve(s, points)) {
            if (std::find(pool.begin(), pool.end(), finalist.point) == pool.end()) pool.push_back(finalist.point);
        }
    }
    std::vector<TunedRow> rows;
    if (stopped()) return rows;

    // Every finalist on every shape, and which of them are worth having.
    std::vector<std::vector<double>> ratios;
    if (!pool.empty()) {
        listener_.step(
            fmt::format("{} {} {}: {} finalists on all shapes", family_.op, family_.dtype, family_.isa, pool.size()));
        std::vector<Contestant> contestants = {contestants_.at(default_point_)};
        for (const std::size_t point : pool) contestants.push_back(contestants_.at(point));
        const RoundTimes times = trials_.rounds(contestants, all_shapes(), kPoolRounds, options_.seed);
        if (times.interrupted || times.faults[0].verdict != Verdict::ok) return rows;
        std::vector<std::size_t> alive;
        for (std::size_t i = 0; i < pool.size(); ++i) {
            if (times.faults[i + 1].verdict != Verdict::ok) continue;
            alive.push_back(pool[i]);
            ratios.emplace_back();
            for (std::size_t s = 0; s < options_.shapes.size(); ++s)
                ratios.back().push_back(score(times.seconds[i + 1][s], times.seconds[0][s]));
        }
        pool.swap(alive);
    }
    std::vector<std::size_t> allowed(pool.size());
    std::iota(allowed.begin(), allowed.end(), std::size_t{0});
    if (options_.shapes.size() > 1) allowed = cover(ratios, kCoverSlack, options_.max_variants);
    std::vector<std::size_t> shipped;
    for (std::size_t s = 0; s < options_.shapes.size() && !stopped(); ++s) {
        std::vector<std::size_t> order = allowed;
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return ratios[a][s] < ratios[b][s]; });
        std::vector<std::size_t> points;
        for (const std::size_t i : order) {
            if (points.size() < kDuellists) points.push_back(pool[i]);
        }
        rows.push_back(duel(s, points, shipped));
    }
    return rows;
}

TunedRow KernelTuning::duel(std::size_t shape, const std::vector<std::size_t> &points,
                            std::vector<std::size_t> &shipped) {
    listener_.step(
        fmt::format("{} {} {}: duel on {}", family_.op, family_.dtype, family_.isa, to_string(options_.shapes[shape])));
    TunedRow row;
    row.shape = options_.shapes[shape];
    row.point = default_point_;
    row.noise_floor = noise_floor_[shape];
    std::vector<Contestant> contestants;
    for (const std::size_t point : points) contestants.push_back(contestants_.at(point));
    if (contestants.empty()) return row;
    const PairTimes times =
        trials_.pairs(contestants_.at(default_point_), contestants, static_cast<int>(shape), kDuelPairs);
    if (times.verdict != Verdict::ok) return row;

    std::vector<double> p_values;
    for (const auto &ratios : times.log_ratios) p_values.push_back(wilcoxon_p(ratios));
    p_values = holm(p_values);
    const double bound = 1 - std::max(kLeastGain, noise_floor_[shape]);
    std::vector<TunedRow> winners;
    row.ratio = std::numeric_limits<double>::infinity();
    nlohmann::json entries = nlohmann::json::array();
    for (std::size_t i = 0; i < points.size(); ++i) {
        TunedRow contestant = row;
        const Interval logs = hodges_lehmann_interval(times.log_ratios[i]);
        contestant.point = points[i];
        contestant.ratio = std::exp(hodges_lehmann(times.log_ratios[i]));
        contestant.interval = {std::exp(logs.low), std::exp(logs.high)};
        contestant.p = p_values[i];
        contestant.pairs = static_cast<int>(times.log_ratios[i].size());
        contestant.win = contestant.p < kSignificance && contestant.interval.high < bound;
        if (contestant.win) winners.push_back(contestant);
        if (contestant.ratio < row.ratio) {
            row = contestant;
            row.win = false;
            row.point = default_point_;
        }
        entries.push_back({{"configuration", configuration(points[i])},
                           {"ratio", contestant.ratio},
                           {"interval", {contestant.interval.low, contestant.interval.high}},
                           {"p", contestant.p},
                           {"win", contestant.win}});
    }
    if (!winners.empty()) {
        // Of those that cannot be told apart: one that ships anyway, then the smaller tile, then the order of the
        // space.
        const double best = std::min_element(winners.begin(), winners.end(), [](const TunedRow &a, const TunedRow &b) {
                                return a.ratio < b.ratio;
                            })->ratio;
        const auto rank = [&](const TunedRow &w) {
            const bool apart = w.ratio > best * (1 + std::max(kLeastGain, noise_floor_[shape]));
            const bool additional = std::find(shipped.begin(), shipped.end(), w.point) == shipped.end();
            const CpuSimdTiles tiles = tiles_of(space_.point(w.point));
            return std::make_tuple(apart, additional, tiles.block_q * tiles.block_k, w.point);
        };
        row = *std::min_element(winners.begin(), winners.end(),
                                [&](const TunedRow &a, const TunedRow &b) { return rank(a) < rank(b); });
        if (std::find(shipped.begin(), shipped.end(), row.point) == shipped.end()) shipped.push_back(row.point);
    }
    journal_.append({{"duel", to_string(row.shape)},
                     {"op", family_.op},
                     {"dtype", family_.dtype},
                     {"isa", family_.isa},
                     {"noise_floor", row.noise_floor},
                     {"pairs", row.pairs},
                     {"contestants", entries},
                     {"verdict", row.win ? "win" : "tie"},
                     {"winner", configuration(row.point)}});
    return row;
}

TunedKernel KernelTuning::run(double seconds) {
    start_ = wall_seconds();
    deadline_ = start_ + seconds;
    TunedKernel result;
    result.family = family_;
    result.parameters = space_.names();
    result.space_size = space_.size();
    prepare_default();
    if (!stopped()) measure_noise();
    if (!stopped()) {
        const std::size_t known = replay_journal();
        if (known > 0) listener_.step(fmt::format("{} candidates are known from the journal", known));
        search();
    }
    if (!stopped()) result.rows = finals();
    for (const TunedRow &row : result.rows) result.points.push_back(space_.point(row.point));
    result.interrupted = stopped();
    result.tried = history_.order().size();
    result.failures = failures_;
    result.all_failed = result.tried > 1 && contestants_.size() <= 1;
    return result;
}

}  // namespace flashwright

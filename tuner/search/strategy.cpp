#include "strategy.h"

#include "tree_ensemble.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr std::size_t kSmallSpace = 250;   // try all
constexpr std::size_t kStartPoints = 28;   // before the classifier is used
constexpr std::size_t kSpreadPoints = 16;  // of these; the rest are other points of the best objects
constexpr std::size_t kNearest = 3;        // such points per object
constexpr double kCheaper = 1.5;           // weight of a point that needs no compilation
constexpr double kGoodShare = 0.15;        // share of the measured points that is learnt as good
constexpr std::size_t kCentres = 6;        // best points whose neighbours are candidates
constexpr std::size_t kLastCentres = 2;    // whose untried neighbours fill a batch

// The space, the starts, and all points in random order.
class Base : public Strategy {
 public:
    Base(const SearchSpace &space, std::vector<std::size_t> starts, std::uint32_t seed)
        : space_(space), starts_(std::move(starts)), random_(seed), shuffled_(space.size()) {
        std::iota(shuffled_.begin(), shuffled_.end(), std::size_t{0});
        std::shuffle(shuffled_.begin(), shuffled_.end(), random_);
    }

 protected:
    const SearchSpace &space_;
    std::vector<std::size_t> starts_;
    std::mt19937 random_;
    std::vector<std::size_t> shuffled_;
};

// Collects up to `count` untried points, each once.
class Batch {
 public:
    Batch(const SearchHistory &history, std::size_t count) : history_(history), count_(count) {}
    bool full() const { return points_.size() >= count_; }
    bool add(std::size_t point) {
        if (full() || history_.tried(point) || !in_.insert(point).second) return false;
        points_.push_back(point);
        return true;
    }
    template <typename Points>
    void add_all(const Points &points) {
        for (const std::size_t point : points) add(point);
    }
    std::vector<std::size_t> points() const { return points_; }
    bool contains(std::size_t point) const { return in_.count(point) > 0; }

 private:
    const SearchHistory &history_;
    std::size_t count_;
    std::vector<std::size_t> points_;
    std::set<std::size_t> in_;
};

class Exhaustive : public Base {
 public:
    using Base::Base;
    std::vector<std::size_t> propose(const SearchHistory &history, std::size_t count) override {
        Batch batch(history, count);
        batch.add_all(starts_);
        for (std::size_t point = 0; point < space_.size(); ++point) batch.add(point);
        return batch.points();
    }
};

class Random : public Base {
 public:
    using Base::Base;
    std::vector<std::size_t> propose(const SearchHistory &history, std::size_t count) override {
        Batch batch(history, count);
        if (!starts_.empty()) batch.add(starts_.front());
        batch.add_all(shuffled_);
        return batch.points();
    }
};

// Tries the neighbours of the best point, then of the next best.
class Local : public Base {
 public:
    using Base::Base;
    std::vector<std::size_t> propose(const SearchHistory &history, std::size_t count) override {
        Batch batch(history, count);
        batch.add_all(starts_);
        for (const std::size_t centre : history.ranking()) {
            if (batch.full()) break;
            std::vector<std::size_t> neighbours = space_.neighbours(centre);
            std::shuffle(neighbours.begin(), neighbours.end(), random_);
            batch.add_all(neighbours);
        }
        batch.add_all(shuffled_);
        return batch.points();
    }
};

// First points spread over the space, then neighbours of the best, ranked by a classifier.
class Auto : public Base {
 public:
    using Base::Base;
    std::vector<std::size_t> propose(const SearchHistory &history, std::size_t count) override {
        Batch batch(history, count);
        if (space_.size() <= kSmallSpace) {
            batch.add_all(starts_);
            batch.add_all(shuffled_);
            return batch.points();
        }
        const std::size_t tried = history.order().size();
        if (tried >= kStartPoints) {
            add_ranked(history, count, batch);
        } else {
            if (tried >= kSpreadPoints) add_compiled(history, std::min(count, kStartPoints - tried), batch);
            if (batch.points().empty()) spread(history, std::min(count, kStartPoints - tried), batch);
        }
        return batch.points();
    }

 private:
    // The starts; then repeatedly, of some random points, the one farthest from all chosen ones.
    void spread(const SearchHistory &history, std::size_t count, Batch &batch) {
        constexpr std::size_t kDraws = 64;
        std::vector<std::size_t> chosen = history.order();
        const std::size_t most = chosen.size() + count;
        for (const std::size_t start : starts_) {
            if (chosen.size() < most && batch.add(start)) chosen.push_back(start);
        }
        std::uniform_int_distribution<std::size_t> any(0, space_.size() - 1);
        while (chosen.size() < most && !batch.full()) {
            std::size_t farthest = shuffled_[0];
            double best = -1;
            for (std::size_t draw = 0; draw < kDraws; ++draw) {
                const std::size_t point = any(random_);
                if (history.tried(point) || batch.contains(point)) continue;
                double nearest = 1e9;
                for (const std::size_t other : chosen) nearest = std::min(nearest, distance(point, other));
                if (nearest > best) best = nearest, farthest = point;
            }
            if (best < 0 || !batch.add(farthest)) return;
            chosen.push_back(farthest);
        }
    }

    double distance(std::size_t a, std::size_t b) const {
        double sum = 0;
        for (std::size_t p = 0; p < space_.names().size(); ++p) {
            const double difference = space_.features(a)[p] - space_.features(b)[p];
            sum += difference * difference;
        }
        return sum;
    }

    // The best points of each shape, in turns.
    std::vector<std::size_t> centres(const SearchHistory &history, std::size_t count) const {
        std::vector<std::vector<std::size_t>> rankings;
        for (std::size_t shape = 0; shape < history.shapes(); ++shape) rankings.push_back(history.ranking(shape));
        std::vector<std::size_t> centres;
        for (std::size_t place = 0; centres.size() < count && place < rankings[0].size(); ++place) {
            for (const auto &ranking : rankings) {
                if (std::find(centres.begin(), centres.end(), ranking[place]) == centres.end())
                    centres.push_back(ranking[place]);
            }
        }
        return centres;
    }

    TreeEnsemble learn(const SearchHistory &history) {
        std::vector<std::vector<double>> features;
        std::vector<bool> good;
        const std::vector<std::size_t> ranking = history.ranking();
        const auto count = static_cast<double>(history.order().size());
        const std::size_t best = std::max<std::size_t>(3, static_cast<std::size_t>(kGoodShare * count));
        const std::set<std::size_t> among_best(
            ranking.begin(), ranking.begin() + static_cast<std::ptrdiff_t>(std::min(best, ranking.size())));
        for (const std::size_t point : history.order()) {
            features.push_back(space_.features(point));
            good.push_back(among_best.count(point) > 0);
        }
        return TreeEnsemble(features, good, random_);
    }

    // For the best objects the nearest other points, which need no compilation.
    void add_compiled(const SearchHistory &history, std::size_t count, Batch &batch) const {
        for (const std::size_t best : history.ranking()) {
            std::vector<std::size_t> points = space_.points_of_object(space_.object_of(best));
            std::stable_sort(points.begin(), points.end(),
                             [&](std::size_t a, std::size_t b) { return distance(best, a) < distance(best, b); });
            for (std::size_t i = 0; i < std::min(points.size(), kNearest + 1) && batch.points().size() < count; ++i)
                batch.add(points[i]);
        }
    }

    // Untried points of objects that are compiled and did not fail.
    std::set<std::size_t> compiled(const SearchHistory &history) const {
        std::set<std::size_t> points;
        for (const std::size_t tried : history.ranking()) {
            for (const std::size_t point : space_.points_of_object(space_.object_of(tried))) {
                if (!history.tried(point)) points.insert(point);
            }
        }
        return points;
    }

    void add_ranked(const SearchHistory &history, std::size_t count, Batch &batch) {
        const std::set<std::size_t> cheap = compiled(history);
        std::set<std::size_t> near = cheap;
        for (const std::size_t centre : centres(history, kCentres * history.shapes())) {
            for (const std::size_t point : space_.neighbours(centre)) {
                if (!history.tried(point)) near.insert(point);
            }
        }
        // Some random points compete with the neighbours.
        for (std::size_t i = 0, added = 0; i < shuffled_.size() && added < near.size() / 2 + 16; ++i) {
            if (!history.tried(shuffled_[i]) && near.insert(shuffled_[i]).second) ++added;
        }
        const TreeEnsemble model = learn(history);
        std::vector<std::pair<double, std::size_t>> ranked;
        for (const std::size_t point : near) {
            const double favour = cheap.count(point) > 0 ? kCheaper : 1;
            ranked.emplace_back(-favour * model.probability(space_.features(point)), point);
        }
        std::shuffle(ranked.begin(), ranked.end(), random_);
        std::stable_sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
        const std::size_t by_model = count > 1 ? count - 1 : count;
        for (std::size_t i = 0; i < ranked.size() && batch.points().size() < by_model; ++i) batch.add(ranked[i].second);
        for (const std::size_t point : shuffled_) {
            if (batch.add(point)) break;
        }
        for (const std::size_t centre : centres(history, kLastCentres)) batch.add_all(space_.neighbours(centre));
    }
};

}  // namespace

const std::vector<std::string> &strategy_names() {
    static const std::vector<std::string> names = {"auto", "exhaustive", "random", "local"};
    return names;
}

std::unique_ptr<Strategy> make_strategy(const std::string &name, const SearchSpace &space,
                                        std::vector<std::size_t> starts, std::uint32_t seed) {
    if (name == "exhaustive") return std::make_unique<Exhaustive>(space, std::move(starts), seed);
    if (name == "random") return std::make_unique<Random>(space, std::move(starts), seed);
    if (name == "local") return std::make_unique<Local>(space, std::move(starts), seed);
    if (name == "auto") return std::make_unique<Auto>(space, std::move(starts), seed);
    throw std::invalid_argument("strategy: expected auto, exhaustive, random or local, got " + name);
}

}  // namespace flashwright

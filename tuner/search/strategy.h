// Search strategies: which points to try next.
#pragma once

#include "search_space.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashwright {

class Strategy {
 public:
    virtual ~Strategy() = default;
    // Up to `count` untried points; empty if nothing is left to try.
    virtual std::vector<std::size_t> propose(const SearchHistory &history, std::size_t count) = 0;
};

// exhaustive, random, local, auto.
const std::vector<std::string> &strategy_names();

// `starts`: points to try first, with the baseline. Throws std::invalid_argument on an unknown name. The space
// must outlive the strategy.
std::unique_ptr<Strategy> make_strategy(const std::string &name, const SearchSpace &space,
                                        std::vector<std::size_t> starts, std::uint32_t seed);

}  // namespace flashwright

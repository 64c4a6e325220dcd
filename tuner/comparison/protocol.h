// The constants of the measurement protocol. docs/tuning.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flashwright {

constexpr std::size_t kBatch = 8;  // candidates rated together
constexpr int kBatchRounds = 7;
constexpr int kPairs = 4;  // in one placement: their median is one observation
constexpr int kPlacements = 10;
constexpr std::size_t kFinalCandidates = 24;    // per shape, before sequential halving
constexpr std::size_t kComparedCandidates = 3;  // per shape, in the paired comparison
constexpr std::size_t kShortlist = 8;           // measured candidates of a GPU kernel
constexpr int kHalvingRounds = 5;               // doubled at each halving
constexpr int kPoolRounds = 15;
constexpr double kVariantSlack = 1.05;  // a variant serves a shape whose best is at most 5 % faster
constexpr double kLeastGain = 0.005;    // a smaller gain is a tie
constexpr double kSignificance = 0.05;
constexpr double kBetter = 0.995;  // a ratio to the best so far that resets the patience

constexpr std::uint64_t kBuildMemory = std::uint64_t{8} << 30;

}  // namespace flashwright

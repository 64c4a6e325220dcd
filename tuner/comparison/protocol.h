// The numbers of the measurement protocol.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flashwright {

constexpr std::size_t kBatch = 8;  // candidates tried at once
constexpr int kBatchRounds = 7;
constexpr int kPairs = 4;  // in a placement, whose median is one observation
constexpr int kPlacements = 10;
constexpr std::size_t kFinalists = 24, kDuellists = 3;
constexpr std::size_t kShortlist = 8;  // candidates of a GPU kernel that are measured
constexpr int kHalvingRounds = 5;      // doubled each time that the field is halved
constexpr int kPoolRounds = 15;
constexpr double kCoverSlack = 1.05;
constexpr double kLeastGain = 0.005;
constexpr double kSignificance = 0.05;
constexpr double kBetter = 0.995;  // what counts as progress for patience

constexpr std::uint64_t kBuildMemory = std::uint64_t{8} << 30;

}  // namespace flashwright

// CPU kernels in a search: candidates are built in parallel, checked one by one, and timed together.
#pragma once

#include "search_loop.h"
#include "tuner/records/journal_entry.h"
#include "tuner/tuning_session.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

class CpuSearch : public SearchedKernel {
 public:
    // `warm_starts`: tiles that won elsewhere, tried first. The session must outlive this.
    CpuSearch(TuningSession &session, const std::vector<CpuTiles> &warm_starts)
        : session_(session), warm_starts_(warm_starts) {}

    const SearchSpace &space() const override { return session_.space; }
    const SearchHistory &history() const override { return session_.history; }
    std::vector<std::size_t> starts() const override;
    void rate(const std::vector<std::size_t> &points) override;
    std::vector<double> best_ratios() const override;
    double reserved_seconds() const override;
    void report(const std::string &done, const std::string &left) const override;

 private:
    using Entries = std::map<std::size_t, CandidateEntry>;  // by point

    bool check(std::size_t point, const Build &build, Entries &entries);
    void time(const std::vector<std::size_t> &points, const Entries &entries);
    void record_duplicate(std::size_t point, CandidateEntry entry, std::size_t original);
    void record_times(std::size_t point, CandidateEntry entry, const std::vector<std::vector<double>> &seconds,
                      const std::vector<std::vector<double>> &baseline);

    TuningSession &session_;
    std::vector<CpuTiles> warm_starts_;
};

}  // namespace flashwright

// Few rows against many keys, as in decoding: the keys of a head are cut into parts that are tasks of their own, so
// that one head can keep several threads busy, and the states of the parts are merged ("Flash-Decoding for long-context
// inference", Dao, Haziza, Massa and Sizov 2023).
#pragma once

#include <atomic>
#include <cstdint>

#include "execution.h"
#include "scratch.h"
#include "validate.h"

namespace flashwright {

// How many parts the keys of a head make: by its own shape alone, as results depend neither on batch nor on threads.
std::int64_t count_key_parts(const ForwardProblem &problem);

// All tiles of rows of one head, with one part of its keys.
struct PartTask {
    RowTask rows;
    std::int64_t part;
};

class PartGrid {
 public:
    PartGrid(const ForwardProblem &problem, std::int64_t tiles, std::int64_t parts);
    std::int64_t count() const { return count_; }
    PartTask task(std::int64_t index) const;

 private:
    std::int64_t heads_, tiles_, parts_, count_;
};

// What each part finds for each row: its out and its lse.
class PartStates {
 public:
    PartStates(const ForwardProblem &problem, std::int64_t parts);
    flashwright_status reserve(const flashwright_execution &execution);

    // Attention over one part's keys. A row that sees none of them needs no out, but an lse of -infinity.
    ForwardProblem problem_of(std::int64_t part) const;
    // A part of a head is done. The call for the last one writes the head's output.
    void finish(std::int64_t batch, std::int64_t head) const;

 private:
    template <typename T>
    void merge(std::int64_t batch, std::int64_t head) const;
    std::int64_t first_key(std::int64_t part) const;
    // The state's tensor of a part, whose rows have `channels` elements.
    StridedTensor part_of(char *memory, const char *name, std::int64_t part, std::int64_t channels) const;

    const ForwardProblem &problem_;
    std::int64_t parts_, element_;
    ScratchReservation memory_;
    std::atomic<std::int64_t> *done_ = nullptr;  // parts, by batch entry and head
    char *lse_ = nullptr, *out_ = nullptr;       // by part, then as the call's own, without gaps
};

}  // namespace flashwright

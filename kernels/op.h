// The operations, and the schedules that their CPU kernels can have. kernels/cpu_schedules.h has the tile parameters of
// each.
#pragma once

#include <string_view>

namespace flashwright {

enum class Op { forward, backward, merge, step };

struct OpRow {
    Op op;
    const char *name;
    bool has_terms;  // kernels are compiled for a set of score terms
};

inline constexpr OpRow kOps[] = {{Op::forward, "forward", true},
                                 {Op::backward, "backward", true},
                                 {Op::merge, "merge", false},
                                 {Op::step, "step", false}};

// Null for a name that is no operation's.
constexpr const OpRow *find_op(std::string_view name) {
    for (const OpRow &row : kOps)
        if (name == row.name) return &row;
    return nullptr;
}

constexpr const char *op_name(Op op) {
    for (const OpRow &row : kOps)
        if (op == row.op) return row.name;
    return "";
}

enum class Schedule {
    rows,     // query rows lie across the lanes of a vector
    decode,   // fewer query rows than lanes: keys, and channels, lie across the lanes
    generic,  // as rows, for any number of keys and channels, any channel stride, any key block
    blocks,   // one block of queries and one of keys; keys, or channels, lie across the lanes
};

struct ScheduleName {
    Schedule schedule;
    const char *name;
};

inline constexpr ScheduleName kScheduleNames[] = {{Schedule::rows, "rows"},
                                                  {Schedule::decode, "decode"},
                                                  {Schedule::generic, "generic"},
                                                  {Schedule::blocks, "blocks"}};

constexpr const char *schedule_name(Schedule schedule) {
    for (const ScheduleName &row : kScheduleNames)
        if (schedule == row.schedule) return row.name;
    return "";
}

}  // namespace flashwright

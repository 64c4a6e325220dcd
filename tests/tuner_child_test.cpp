// What a child process may use.
#include "support/child_process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace flashwright::test {
namespace {

rlim_t address_space() {
    rlimit limits;
    getrlimit(RLIMIT_AS, &limits);
    return limits.rlim_cur;
}

// A driver of a GPU takes more address space than there is memory.
TEST(TunerChild, HasTheLimitOfItsParentWhereNoneIsGiven) {
    bool same = false;
    const rlim_t own = address_space();
    const ChildOutcome outcome = run_in_child(
        {10, 0},
        [own](const RecordSender &parent) {
            Record record;
            record.kind = address_space() == own ? 1 : 0;
            parent.send(record);
        },
        [&](const Record &heard) { same = heard.kind == 1; }, [] { return false; });
    EXPECT_EQ(outcome.end, ChildEnd::finished) << outcome.detail;
    EXPECT_TRUE(same);
}

}  // namespace
}  // namespace flashwright::test

// The kernels of the build as parameters of tests: every one whose ISA can run here, by name.
#pragma once

#include "check.h"

#include <flashwright/flashwright.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace flashwright::test {

struct KernelCase {
    std::string name, op, isa;
    flashwright_dtype dtype = FLASHWRIGHT_F32;
    std::set<std::string> terms;
    bool generic = false;
    std::int64_t block_q = 1, block_k = 1, row_vectors = 1, width = 1, tile_d = 1, tile_q = 1, tile_k = 1, tile_v = 1;

    // Keys and channels across the lanes, of which there are tile_d.
    bool is_decode() const { return block_q < tile_d; }
    flashwright_execution execution() const { return with_kernel(name.c_str()); }
};

void PrintTo(const KernelCase &kernel, std::ostream *out);
std::string kernel_test_name(const ::testing::TestParamInfo<KernelCase> &info);

// The name of a kernel that any CPU of this architecture runs: with all terms or none.
const char *plainest_kernel(const std::string &op, flashwright_dtype dtype = FLASHWRIGHT_F32, bool all_terms = false);

bool isa_usable(const std::string &isa);
std::vector<KernelCase> all_kernels();
std::vector<KernelCase> runnable_kernels(const std::string &op);

// Why the kernel cannot take the problem; empty when it can.
std::string refusal(const KernelCase &kernel, const Problem &problem);

// A test over one forward kernel. Prints the ISA.
class KernelTest : public ::testing::TestWithParam<KernelCase> {
 protected:
    void SetUp() override;

    // Runs the problem with this kernel, checks that it is really the one chosen, and compares with the reference. A
    // kernel that cannot take the problem must say so and write nothing; then its ISA's own choice runs.
    void check(Problem &problem, int threads = 1) const;
    // How to run the problem: by this kernel if it can take it, else by its ISA's choice.
    flashwright_execution execution_for(const Problem &problem) const;
    // Wide and long enough for any kernel: head dims and seqlen_k at least the kernel's tiles.
    Shape fitting(Shape shape) const;
};

}  // namespace flashwright::test

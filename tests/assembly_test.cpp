// Reads the generated assembly of the forward and backward kernels: the loops of their matrix products must consist of
// multiply-adds on whole registers, and keep what they work on in registers.
#include "kernels/isa.h"
#include "tests/support/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

namespace flashwright::test {

namespace {

using Lines = std::vector<std::string>;

bool starts_with(const std::string &text, const std::string &start) {
    return text.compare(0, start.size(), start) == 0;
}

bool is_fma(const std::string &line) { return starts_with(line, "vfmadd") || starts_with(line, "vfnmadd"); }

// An instruction that computes on vectors and is not a multiply-add. Loads, stores, moves and broadcasts do not count.
bool is_other_arithmetic(const std::string &line) {
    static const char *const kinds[] = {"vadd",  "vsub", "vmul",    "vdiv",     "vmax",   "vmin",  "vcmp",
                                        "vsqrt", "vand", "vor",     "vxor",     "vblend", "vperm", "vshuf",
                                        "vrnd",  "vcvt", "vinsert", "vextract", "vp",     "vunpck"};
    return std::any_of(std::begin(kinds), std::end(kinds), [&](const char *kind) { return starts_with(line, kind); });
}

// The label that a jump names; empty for other instructions.
std::string jump_target(const std::string &line) {
    return line[0] == 'j' ? line.substr(line.find_last_of(" \t") + 1) : "";
}

struct Listing {
    Lines instructions;
    std::map<std::string, std::size_t> labels;  // instruction that follows
    bool frame_pointer = false;                 // %rbp points to the stack
};

Listing read_listing(const std::string &path) {
    std::ifstream file(path);
    Listing listing;
    for (std::string line; std::getline(file, line);) {
        line.erase(std::min(line.find('#'), line.size()));
        line.erase(line.find_last_not_of(" \t") + 1);
        if (line.empty()) continue;
        if (line[0] != '\t') {
            listing.labels[line.substr(0, line.find(':'))] = listing.instructions.size();
        } else if (line[1] != '.') {
            listing.instructions.push_back(line.substr(1));
            if (line == "\tmovq\t%rsp, %rbp") listing.frame_pointer = true;
        }
    }
    return listing;
}

// The innermost loops: from the target of a backward jump to the jump, with no other such loop inside.
std::vector<Lines> innermost_loops(const Listing &listing) {
    std::vector<std::pair<std::size_t, std::size_t>> loops;
    for (std::size_t i = 0; i < listing.instructions.size(); i++) {
        const auto target = listing.labels.find(jump_target(listing.instructions[i]));
        if (target != listing.labels.end() && target->second <= i) loops.emplace_back(target->second, i);
    }
    std::vector<Lines> innermost;
    for (const auto &loop : loops) {
        bool holds_another = false;
        for (const auto &other : loops)
            holds_another =
                holds_another || (other != loop && loop.first <= other.first && other.second <= loop.second);
        if (!holds_another)
            innermost.emplace_back(listing.instructions.begin() + static_cast<std::ptrdiff_t>(loop.first),
                                   listing.instructions.begin() + static_cast<std::ptrdiff_t>(loop.second) + 1);
    }
    return innermost;
}

// A product whose operands are masked where inputs may not be finite.
bool selects(const std::string &line) { return line.find("{%k") != std::string::npos; }

// It has an exit in the middle: for the last key of a block with an odd number of keys.
bool ends_early(const Lines &loop) {
    return std::count_if(loop.begin(), loop.end(), [](const std::string &line) { return !jump_target(line).empty(); }) >
           1;
}

bool touches_stack_with_vectors(const Listing &listing, const std::string &line) {
    return line.find("mm") != std::string::npos && (line.find("(%rsp") != std::string::npos ||
                                                    (listing.frame_pointer && line.find("(%rbp") != std::string::npos));
}

std::string text(const Lines &lines) {
    std::string text;
    for (const std::string &line : lines) text += line + "\n";
    return text;
}

// Loops of at least `multiply_adds` multiply-adds and no other arithmetic: the matrix products. (The exponential's
// polynomial holds multiply-adds too, among other things.)
std::vector<Lines> matrix_loops(const Listing &listing, std::int64_t multiply_adds) {
    std::vector<Lines> found;
    for (const Lines &loop : innermost_loops(listing)) {
        if (std::count_if(loop.begin(), loop.end(), is_fma) >= multiply_adds &&
            std::none_of(loop.begin(), loop.end(), is_other_arithmetic) &&
            std::none_of(loop.begin(), loop.end(), selects) && !ends_early(loop))
            found.push_back(loop);
    }
    return found;
}

std::vector<KernelCase> main_kernels() {
    std::vector<KernelCase> kernels;
    for (const KernelCase &kernel : all_kernels())
        if ((kernel.op == "forward" || kernel.op == "backward") && !kernel.generic && starts_with(kernel.isa, "avx"))
            kernels.push_back(kernel);
    return kernels;
}

}  // namespace

class Assembly : public ::testing::TestWithParam<KernelCase> {};

TEST_P(Assembly, MatrixLoopsAreMultiplyAddsInRegisters) {
    const KernelCase &kernel = GetParam();
    const std::string path = std::string(FLASHWRIGHT_KERNEL_DIR) + "/" + kernel.name + ".s";
    const Listing listing = read_listing(path);
    ASSERT_FALSE(listing.instructions.empty()) << path;

    // Every product is there for masked blocks; a kernel without terms has each for full blocks too.
    const bool gradient = kernel.op == "backward";
    const Isa &isa = *find_isa(kernel.isa);
    const std::int64_t lanes = lanes_of(isa, accumulation_bytes(*find_dtype(kernel.dtype)));
    const std::int64_t tile = gradient             ? kernel.width / lanes * std::min(kernel.tile_q, kernel.tile_k)
                              : kernel.is_decode() ? kernel.block_q * kernel.tile_v / lanes
                                                   : kernel.row_vectors * std::min(kernel.tile_k, kernel.tile_v);
    const std::size_t products = gradient ? 5 : 2;
    const std::vector<Lines> loops = matrix_loops(listing, tile);
    EXPECT_GE(loops.size(), kernel.terms.empty() ? 2 * products : products)
        << "matrix loops of " << tile << " multiply-adds or more in " << path;

    const std::string whole = isa.vector_bits == 512 ? "%zmm" : "%ymm";
    for (const Lines &loop : loops) {
        const auto multiply_adds = static_cast<std::size_t>(std::count_if(loop.begin(), loop.end(), is_fma));
        EXPECT_LE(loop.size(), 2 * multiply_adds + 8) << "more than an instruction beside each multiply-add\n"
                                                      << text(loop);
        for (const std::string &line : loop) {
            EXPECT_FALSE(touches_stack_with_vectors(listing, line)) << line << "\nin\n" << text(loop);
            if (!is_fma(line)) continue;
            EXPECT_NE(line.find("p", 6), std::string::npos) << "packed, not scalar: " << line;
            for (std::size_t at = line.find("mm"); at != std::string::npos; at = line.find("mm", at + 1))
                EXPECT_EQ(line.substr(at - 2, 4), whole) << line;
        }
    }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Assembly);  // it reads x86-64 only
INSTANTIATE_TEST_SUITE_P(Kernels, Assembly, ::testing::ValuesIn(main_kernels()), kernel_test_name);

}  // namespace flashwright::test

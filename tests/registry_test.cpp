// Which kernels the build has, which can run here, and which are chosen.
#include "kernels/isa.h"
#include "runtime/src/kernel_abi.h"
#include "tests/support/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

namespace flashwright::test {

namespace {

const char *const kOps[] = {"forward", "backward", "merge", "step"};
// The rows of kernels/isa.h for this processor.
std::vector<std::string> isa_names() {
#if defined(__x86_64__)
    const std::string processor = "x86_64";
#elif defined(__aarch64__)
    const std::string processor = "aarch64";
#elif defined(__riscv)
    const std::string processor = "riscv64";
#else
    const std::string processor;
#endif
    std::vector<std::string> names;
    for (const Isa &isa : kIsas)
        if (processor == isa.processor) names.emplace_back(isa.name);
    return names;
}

// ISAs of this architecture, and whether the compiler's own CPU check finds them on this processor.
std::map<std::string, bool> checked_isas() {
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    return {{"baseline", true}, {"sse41", __builtin_cpu_supports("sse4.1") != 0}, {"avx2", avx2}, {"avx512", avx512}};
#elif defined(__aarch64__)
    return {{"neon", true}};
#elif defined(__riscv)
    return {{"rvv", true}};  // tests run only on processors with vectors
#else
    return {};
#endif
}

}  // namespace

TEST(Registry, ListsTheIsasBestLast) {
    const std::vector<std::string> names = isa_names();
    std::map<std::string, bool> checked = checked_isas();
    const int count = static_cast<int>(names.size());
    ASSERT_EQ(flashwright_isa_count(), count);
    for (int i = 0; i < count; i++) {
        const flashwright_isa_info info = flashwright_isa(i);
        EXPECT_EQ(info.name, names[static_cast<std::size_t>(i)]);
        EXPECT_NE(std::string(info.description), "");
        const bool of_every_processor = i == 0 && std::string(info.name) != "rvv";
        EXPECT_EQ(std::string(info.features).empty(), of_every_processor) << info.features;
        if (const auto found = checked.find(info.name); found != checked.end()) {
            EXPECT_EQ(info.usable != 0, found->second) << info.name;
            checked.erase(found);
        }
    }
    EXPECT_TRUE(checked.empty()) << checked.begin()->first << " is not listed";
    for (int index : {-1, count, 1000}) EXPECT_EQ(flashwright_isa(index).name, nullptr);
}

// FLASHWRIGHT_EXPECT_ISA is the ISA that must be chosen, where the caller knows the processor.
TEST(Registry, ChoosesTheBestUsableIsa) {
    std::string chosen, best;
    int choices = 0;
    for (int i = 0; i < flashwright_isa_count(); i++) {
        const flashwright_isa_info info = flashwright_isa(i);
        if (info.usable) best = info.name;
        if (info.chosen) chosen = info.name, choices++;
    }
    EXPECT_EQ(choices, 1);
    if (std::getenv("FLASHWRIGHT_ISA") == nullptr) {
        EXPECT_EQ(chosen, best);
    }
    if (const char *expected = std::getenv("FLASHWRIGHT_EXPECT_ISA")) {
        EXPECT_EQ(chosen, expected);
    }
    std::cout << "[ ISA      ] chosen: " << chosen << std::endl;
}

TEST(Registry, NamesSayWhatTheKernelsAre) {
    std::set<std::string> names;
    for (const KernelCase &kernel : all_kernels()) {
        EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name << " is there twice";
        std::string prefix = kernel.op;
        for (const ScoreTermRow &term : kScoreTerms)
            if (kernel.terms.count(term.name)) prefix += std::string("_") + term.name;
        prefix += std::string("_") + name_of(kernel.dtype) + "_" + kernel.isa + "_";
        EXPECT_EQ(kernel.name.rfind(prefix, 0), 0u) << kernel.name << " does not begin with " << prefix;
    }
    EXPECT_EQ(flashwright_kernel(-1).name, nullptr);
    EXPECT_EQ(flashwright_kernel(flashwright_kernel_count()).name, nullptr);
}

TEST(Registry, EveryOpHasKernelsForEveryIsaAndDtype) {
    for (const char *op : kOps) {
        for (const std::string &isa : isa_names()) {
            for (flashwright_dtype dtype : cpu_dtypes()) {
                int plain = 0, general = 0, generic = 0;
                for (const KernelCase &kernel : all_kernels()) {
                    if (kernel.op != op || kernel.isa != isa || kernel.dtype != dtype) continue;
                    (kernel.generic ? generic : kernel.terms.empty() ? plain : general)++;
                }
                SCOPED_TRACE(std::string(op) + " " + isa + " " + name_of(dtype));
                EXPECT_GE(plain, 1);
                if (std::string(op) == "forward" || std::string(op) == "backward") {
                    EXPECT_GE(general, 1);
                }
                if (std::string(op) != "forward") continue;
                EXPECT_EQ(generic, 1);
            }
        }
    }
}

TEST(Registry, KernelsThatCannotRunHereAreListed) {
    std::string skipped;
    int runnable = 0;
    for (const KernelCase &kernel : all_kernels()) {
        if (isa_usable(kernel.isa))
            runnable++;
        else
            skipped += " " + kernel.name;
    }
    std::cout << "[ KERNELS  ] " << runnable
              << " run here; skipped for want of their instruction set:" << (skipped.empty() ? " none" : skipped)
              << std::endl;
    EXPECT_GT(runnable, 0);
}

// Asking for a kernel or an ISA that the processor lacks gives an error message, not a signal.
TEST(Registry, WhatCannotRunHereIsAnError) {
    for (const KernelCase &kernel : all_kernels()) {
        if (isa_usable(kernel.isa) || kernel.op != "forward") continue;
        Problem problem(kernel.dtype, {1, 1, 1, 3, 70, 8, 64});
        for (const auto &execution : {with_kernel(kernel.name.c_str()), with_isa(kernel.isa.c_str())}) {
            const flashwright_status status = run(problem, execution);
            EXPECT_EQ(status.code, FLASHWRIGHT_UNSUPPORTED) << kernel.name;
            EXPECT_NE(std::string(status.message).find(kernel.isa), std::string::npos) << status.message;
            EXPECT_TRUE(problem.outputs_untouched());
        }
    }
}

TEST(Registry, VersionAndConfiguration) {
    EXPECT_NE(std::string(flashwright_version()), "");
    const auto config = nlohmann::json::parse(flashwright_config_json());
    EXPECT_TRUE(config.is_object());
}

TEST(Registry, ChoiceDependsOnTheShapeOfOneHeadAlone) {
    for (flashwright_dtype dtype : cpu_dtypes()) {
        std::int32_t kernels[3] = {-1, -1, -1};
        const Shape shapes[] = {{1, 1, 1, 70, 130, 32, 32}, {3, 1, 1, 70, 130, 32, 32}, {1, 6, 2, 70, 130, 32, 32}};
        for (int n = 0; n < 3; n++) {
            Problem problem(dtype, shapes[n]);
            const flashwright_forward_args args = problem.args();
            const flashwright_execution execution = with_threads(n + 1);
            char reason[200] = "";
            ASSERT_TRUE(is_ok(flashwright_forward_choice(&args, &execution, &kernels[n], reason, sizeof reason)));
            EXPECT_NE(std::string(reason), "");
            EXPECT_TRUE(problem.outputs_untouched());
        }
        EXPECT_EQ(kernels[0], kernels[1]);
        EXPECT_EQ(kernels[0], kernels[2]);
    }
}

TEST(Registry, ChoiceCutsItsReasonToTheSpaceGiven) {
    Problem problem(FLASHWRIGHT_F32, {1, 1, 1, 5, 40, 8, 32});
    const flashwright_forward_args args = problem.args();
    char reason[8] = {'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x'};
    std::int32_t kernel = -1;
    EXPECT_TRUE(is_ok(flashwright_forward_choice(&args, nullptr, &kernel, reason, 4)));
    EXPECT_EQ(reason[3], '\0');
    EXPECT_EQ(reason[4], 'x');
    EXPECT_TRUE(is_ok(flashwright_forward_choice(&args, nullptr, &kernel, nullptr, 0)));
}

TEST(Registry, PlainCallsTakeKernelsWithoutTerms) {
    Problem plain(FLASHWRIGHT_F32, {1, 1, 1, 64, 256, 64, 64});
    Options options;
    options.alibi = true;
    Problem general(FLASHWRIGHT_F32, plain.shape, options);
    for (const Problem *problem : {&plain, &general}) {
        const flashwright_forward_args args = problem->args();
        std::int32_t kernel = -1;
        ASSERT_TRUE(is_ok(flashwright_forward_choice(&args, nullptr, &kernel, nullptr, 0)));
        ASSERT_GE(kernel, 0);
        EXPECT_EQ(std::string(flashwright_kernel(kernel).terms).empty(), problem == &plain);
        EXPECT_FALSE(flashwright_kernel(kernel).generic);
    }
}

// The kernel that is chosen for one head of keys and these numbers of query heads and rows.
KernelCase chosen_kernel(const KernelCase &like, std::int64_t heads, std::int64_t rows, const Options &options = {}) {
    const flashwright_execution execution = with_isa(like.isa.c_str());
    Problem problem(like.dtype, {1, heads, 1, rows, 100, 64, 64}, options);
    const flashwright_forward_args args = problem.args();
    std::int32_t chosen = -1;
    EXPECT_TRUE(is_ok(flashwright_forward_choice(&args, &execution, &chosen, nullptr, 0)));
    return all_kernels().at(static_cast<std::size_t>(chosen));
}

// Single rows use a kernel for single rows if the instruction set has one, even with terms that the call does not need.
// Some sets have kernels for a few rows, of one head or of heads that share keys.
TEST(Registry, DecodingTakesKernelsForSingleRowsOrForGroups) {
    const std::vector<KernelCase> kernels = runnable_kernels("forward");
    for (const KernelCase &kernel : kernels) {
        if (kernel.block_q != 1 || !kernel.terms.empty()) continue;
        SCOPED_TRACE(kernel.name);
        EXPECT_EQ(chosen_kernel(kernel, 1, 1).name, kernel.name);
        Options alibi;
        alibi.alibi = true;
        EXPECT_EQ(chosen_kernel(kernel, 1, 1, alibi).block_q, 1);
        EXPECT_FALSE(chosen_kernel(kernel, 32, 1).is_decode());
        EXPECT_FALSE(chosen_kernel(kernel, 1, 32).is_decode());
        const bool of_few = std::any_of(kernels.begin(), kernels.end(), [&](const KernelCase &other) {
            return other.isa == kernel.isa && other.dtype == kernel.dtype && other.is_decode() && other.block_q > 1;
        });
        for (const std::int64_t several : {2, 4}) {
            for (const KernelCase &chosen : {chosen_kernel(kernel, several, 1), chosen_kernel(kernel, 1, several)}) {
                EXPECT_GT(chosen.block_q, 1);
                EXPECT_EQ(chosen.is_decode(), of_few) << several << " " << chosen.name;
            }
        }
    }
}

// Otherwise the linked kernel could be slower than the candidate that the tuner measured.
TEST(Registry, KernelsStartAtACacheLine) {
    for (int i = 0; i < kKernelCount; i++)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kKernels[i].forward) % 64, 0U) << kKernels[i].name;
}

}  // namespace flashwright::test

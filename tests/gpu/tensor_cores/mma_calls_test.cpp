// Calls in PTX that become instructions, and those that may not.
#include "mma_calls.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace flashwright::test {
namespace {

std::string call(int element, const std::string &before, const std::string &result) {
    std::string text = "\t{ // callseq 7, 0\n";
    const std::string arguments[] = {before, std::to_string(element), "%r1", "%r2", "%r3", "%r4", "%r5", "%r6"};
    for (int n = 0; n < kMmaArguments; ++n) {
        const std::string name = "param" + std::to_string(n);
        text += "\t.param .b32 \t" + name + ";\n\tst.param.b32 \t[" + name + "], " + arguments[n] + ";\n";
    }
    return text + "\tcall.uni (retval0), flashwright_mma, (param0);\n\tld.param.b32 \t" + result +
           ", [retval0];\n\t} // callseq 7\n";
}

const std::string kDeclaration = ".extern .func  (.param .b32 func_retval0) flashwright_mma\n(\n)\n;\n";

}  // namespace

TEST(MmaCalls, FourBecomeOneInstruction) {
    const std::string ptx = fuse_mma_calls(kDeclaration + call(0, "%r10", "%r20") + call(1, "0f00000000", "%r21") +
                                           "\tadd.s32 %r200, %r201, %r202;\n" + call(2, "%r12", "%r22") +
                                           call(3, "%r13", "%r23") + "\tst.global.b32 [%rd1], %r20;\n");
    EXPECT_EQ(ptx.find("call"), std::string::npos) << ptx;
    EXPECT_EQ(ptx.find("flashwright_mma"), std::string::npos) << ptx;
    const std::size_t instruction = ptx.find(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, {%r1, %r2, %r3, %r4}, "
        "{%r5, %r6}, {mma_c0, mma_c1, mma_c2, mma_c3};");
    ASSERT_NE(instruction, std::string::npos) << ptx;
    EXPECT_LT(ptx.find("mov.b32 mma_c1, 0f00000000;"), instruction);
    EXPECT_GT(ptx.find("st.global.b32 [%rd1], %r20;"), instruction);
}

TEST(MmaCalls, OthersAreLeftAlone) {
    const std::string ptx = "\t{ // callseq 1, 0\n\tcall.uni (retval0), other, (param0);\n\t} // callseq 1\n";
    EXPECT_EQ(fuse_mma_calls(ptx), ptx);
}

TEST(MmaCalls, WhatCannotBeOneInstructionIsRefused) {
    const std::string three = call(0, "%r10", "%r20") + call(1, "%r11", "%r21") + call(2, "%r12", "%r22");
    EXPECT_THROW(fuse_mma_calls(three), std::runtime_error);
    EXPECT_THROW(fuse_mma_calls(three + call(2, "%r13", "%r23")), std::runtime_error);
    EXPECT_THROW(fuse_mma_calls(three + "\tst.local.b32 [%rd1], %r21;\n" + call(3, "%r13", "%r23")),
                 std::runtime_error);
    EXPECT_THROW(fuse_mma_calls(three + "\tadd.f32 %r201, %r200, %r20;\n" + call(3, "%r13", "%r23")),
                 std::runtime_error);
    EXPECT_THROW(fuse_mma_calls("\t{ // callseq 1, 0\n"), std::runtime_error);
}

}  // namespace flashwright::test

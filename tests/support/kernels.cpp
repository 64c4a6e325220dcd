#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace flashwright::test {

void PrintTo(const KernelCase &kernel, std::ostream *out) { *out << kernel.name; }

std::string kernel_test_name(const ::testing::TestParamInfo<KernelCase> &info) { return info.param.name; }

const char *plainest_kernel(const std::string &op, flashwright_dtype dtype, bool all_terms) {
    for (int i = 0; i < flashwright_kernel_count(); i++) {
        const flashwright_kernel_info info = flashwright_kernel(i);
        if (op == info.op && dtype == info.dtype && all_terms == (info.terms[0] != '\0') &&
            info.isa == std::string(flashwright_isa(0).name))
            return info.name;
    }
    return nullptr;
}

std::vector<flashwright_dtype> cpu_dtypes() {
    std::vector<flashwright_dtype> dtypes;
    for (const Dtype &dtype : kDtypes)
        if (dtype.on_cpu) dtypes.push_back(dtype_id(dtype.name));
    return dtypes;
}

bool isa_usable(const std::string &isa) {
    for (int i = 0; i < flashwright_isa_count(); i++) {
        const flashwright_isa_info info = flashwright_isa(i);
        if (isa == info.name) return info.usable != 0;
    }
    return false;
}

std::vector<KernelCase> all_kernels() {
    std::vector<KernelCase> kernels;
    for (int i = 0; i < flashwright_kernel_count(); i++) {
        const flashwright_kernel_info info = flashwright_kernel(i);
        KernelCase kernel;
        kernel.name = info.name, kernel.op = info.op, kernel.isa = info.isa;
        kernel.dtype = info.dtype;
        kernel.generic = info.generic != 0;
        std::istringstream terms(info.terms);
        for (std::string term; std::getline(terms, term, ',');) kernel.terms.insert(term);
        const auto tiles = nlohmann::json::parse(info.tiles);
        kernel.block_q = tiles.value("block_q", 1), kernel.block_k = tiles.value("block_k", 1);
        kernel.row_vectors = tiles.value("row_vectors", 1), kernel.tile_d = tiles.value("tile_d", 1);
        kernel.width = tiles.value("width", 1), kernel.tile_q = tiles.value("tile_q", 1);
        kernel.tile_k = tiles.value("tile_k", 1), kernel.tile_v = tiles.value("tile_v", 1);
        kernels.push_back(kernel);
    }
    return kernels;
}

std::vector<KernelCase> runnable_kernels(const std::string &op) {
    std::vector<KernelCase> kernels;
    for (const KernelCase &kernel : all_kernels())
        if (kernel.op == op && isa_usable(kernel.isa)) kernels.push_back(kernel);
    return kernels;
}

std::string refusal(const KernelCase &kernel, const Problem &problem) {
    if (problem.dtype != kernel.dtype) return "dtype";
    const auto lacks = [&](bool needed, const char *term) { return needed && kernel.terms.count(term) == 0; };
    if (lacks(problem.options.softcap > 0, "softcap")) return "softcap";
    if (lacks(problem.alibi_slopes.given(), "alibi")) return "alibi";
    if (lacks(problem.bias.given(), "bias")) return "bias";
    if (lacks(problem.mask.given(), "mask")) return "mask";
    if (kernel.generic) return "";
    if (problem.shape.seqlen_k < kernel.tile_k) return "seqlen_k";
    if (problem.shape.head_dim < kernel.tile_d) return "head_dim";
    if (kernel.is_decode() && problem.shape.head_dim % kernel.tile_d != 0) return "head_dim";
    if (problem.shape.head_dim_v < std::max(kernel.tile_d, kernel.tile_v)) return "head_dim_v";
    for (const Tensor *tensor : {&problem.q, &problem.k, &problem.v, &problem.out})
        if (tensor->shape()[3] > 1 && tensor->strides()[3] != 1) return "stride";
    return "";
}

void KernelTest::SetUp() { std::cout << "[ ISA      ] " << GetParam().isa << std::endl; }

flashwright_execution KernelTest::execution_for(const Problem &problem) const {
    return refusal(GetParam(), problem).empty() ? with_kernel(GetParam().name.c_str())
                                                : with_isa(GetParam().isa.c_str());
}

void KernelTest::check(Problem &problem, int threads) const {
    const KernelCase &kernel = GetParam();
    SCOPED_TRACE(kernel.name + ": " + problem.describe());
    const std::string reason = refusal(kernel, problem);
    flashwright_execution execution = kernel.execution();
    if (!reason.empty()) {
        const flashwright_status status = run(problem, execution);
        EXPECT_EQ(status.code, FLASHWRIGHT_UNSUPPORTED) << status.message;
        EXPECT_NE(std::string(status.message).find(kernel.name), std::string::npos) << status.message;
        EXPECT_NE(std::string(status.message).find(reason), std::string::npos) << status.message;
        EXPECT_TRUE(problem.outputs_untouched());
        execution = with_isa(kernel.isa.c_str());
    }
    std::int32_t chosen = -1;
    char why[256] = "";
    const flashwright_forward_args args = problem.args();
    ASSERT_TRUE(is_ok(flashwright_forward_choice(&args, &execution, &chosen, why, sizeof why)));
    ASSERT_GE(chosen, 0);
    EXPECT_STREQ(flashwright_kernel(chosen).isa, kernel.isa.c_str()) << why;
    if (reason.empty()) {
        EXPECT_STREQ(flashwright_kernel(chosen).name, kernel.name.c_str()) << why;
    }
    execution.threads = threads;
    ASSERT_TRUE(is_ok(run(problem, execution)));
    EXPECT_TRUE(outputs_match(problem, reference_forward(problem))) << flashwright_kernel(chosen).name;
}

Shape KernelTest::fitting(Shape shape) const {
    shape.seqlen_k = std::max(shape.seqlen_k, GetParam().tile_k);
    shape.head_dim = std::max(shape.head_dim, GetParam().tile_d);
    if (GetParam().is_decode())
        shape.head_dim += (GetParam().tile_d - shape.head_dim % GetParam().tile_d) % GetParam().tile_d;
    shape.head_dim_v = std::max({shape.head_dim_v, GetParam().tile_d, GetParam().tile_v});
    return shape;
}

}  // namespace flashwright::test

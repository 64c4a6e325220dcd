#include "gpu_backend.h"

#include "measure/check_status.h"
#if FLASHWRIGHT_HAS_GPU
#include "flashwright/flashwright_gpu.h"
#endif

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace flashwright {

void check_gpu_options(const AttentionOptions &options) {
    const std::pair<const char *, bool> cpu_only[] = {{"isa", !options.isa.empty()},
                                                      {"kernel", !options.kernel.empty()},
                                                      {"key-block", options.key_block != 0},
                                                      {"threads", options.threads != 0}};
    for (const auto &[name, given] : cpu_only) {
        if (given) {
            throw std::runtime_error(
                fmt::format("{}: expected none with --backend {}, got one", name, options.backend));
        }
    }
}

#if FLASHWRIGHT_HAS_GPU
namespace {

constexpr const char *kNothingRan = "nothing to do";

}  // namespace

std::string forward_on_gpu(const flashwright_forward_args &args, const std::string &backend) {
    const char *kernel = kNothingRan;
    check(flashwright_gpu_forward(&args, backend.c_str(), &kernel));
    return kernel;
}

std::string backward_on_gpu(const flashwright_backward_args &args, const std::string &backend) {
    const char *kernel = kNothingRan;
    check(flashwright_gpu_backward(&args, backend.c_str(), &kernel));
    return kernel;
}
#else
namespace {

std::string refuse(const std::string &backend) {
    throw std::runtime_error(fmt::format("backend: expected cpu, the only one built, got {}", backend));
}

}  // namespace

std::string forward_on_gpu(const flashwright_forward_args &, const std::string &backend) { return refuse(backend); }

std::string backward_on_gpu(const flashwright_backward_args &, const std::string &backend) { return refuse(backend); }
#endif

}  // namespace flashwright

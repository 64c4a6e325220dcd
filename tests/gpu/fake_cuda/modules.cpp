// Modules of the fake driver, and launches of their kernels.
#include <cstring>
#include <regex>

#include "driver.h"

namespace fake_cuda {
namespace {

std::vector<std::size_t> argument_bytes(const std::string &ptx, const std::string &name) {
    const std::size_t begin = ptx.find(".entry " + name + "("), end = ptx.find(')', begin);
    std::vector<std::size_t> sizes;
    if (begin == std::string::npos) return sizes;
    const std::string text = ptx.substr(begin, end - begin);
    static const std::regex parameter("\\.param \\.[usbf](8|16|32|64) ");
    for (std::sregex_iterator at(text.begin(), text.end(), parameter), last; at != last; ++at) {
        sizes.push_back(std::stoul((*at)[1]) / 8);
    }
    return sizes;
}

}  // namespace

std::size_t living_modules() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().modules.size();
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

Result cuModuleLoadDataEx(Module **module, const void *image, unsigned, int *, void **) {
    const Result result = enter_context({"cuModuleLoadDataEx", nullptr});
    if (result != kSuccess) return result;
    *module = new Module{static_cast<const char *>(image)};
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().modules.insert(*module);
    return kSuccess;
}

Result cuModuleLoadData(Module **module, const void *image) {
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

Result cuModuleUnload(Module *module) {
    const Result result = enter("cuModuleUnload");
    if (result != kSuccess) return result;
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (state().modules.erase(module) == 0) return kInvalidHandle;
    delete module;
    return kSuccess;
}

Result cuModuleGetFunction(Function **function, Module *module, const char *name) {
    const Result result = enter_context({"cuModuleGetFunction", nullptr});
    if (result != kSuccess) return result;
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (state().modules.count(module) == 0) return kInvalidHandle;
    state().functions.push_back(std::make_unique<Function>(Function{module, name, argument_bytes(module->ptx, name)}));
    *function = state().functions.back().get();
    return kSuccess;
}

Result cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                      unsigned threads_z, unsigned, void *stream, void **parameters, void **) {
    Call call{"cuLaunchKernel", nullptr, stream, 0, function->name};
    for (std::size_t n = 0; n < function->argument_bytes.size(); ++n) {
        call.args.push_back(0);
        std::memcpy(&call.args.back(), parameters[n], function->argument_bytes[n]);
    }
    const std::vector<std::uint64_t> args = call.args;
    const Result result = enter_context(std::move(call));
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (result != kSuccess || s.interpreter == nullptr) return result;
    const Launch launch{
        function->module->ptx, {x, y, z}, {threads_x, threads_y, threads_z}, function->argument_bytes, args};
    return s.interpreter->run(launch, reinterpret_cast<std::uint64_t>(s.memory)) ? kSuccess : kInvalidValue;
}

}  // extern "C"

// plugins DEFAULT OWN: the program's flashwright is the shared library; each plug-in holds a static one, OWN with
// kernels of its own. All run, each with its kernels, though the plug-ins are loaded for all to see; and the program's
// still does when they are gone.
#include "small_attention.h"

#include <dlfcn.h>

#include <cstdio>

namespace {

std::int32_t attend() {
    SmallAttention attention;
    const flashwright::Status status =
        flashwright::forward(attention.query(), attention.key(), attention.value(), attention.output());
    return status.ok() && attention.largest_error() < 1e-5 ? flashwright_kernel_count() : 0;
}

}  // namespace

int main(int count, char **names) {
    if (count != 3) return 2;
    std::int32_t kernels[2] = {0, 0};
    const std::int32_t before = attend();
    void *plugins[2];
    for (int i = 0; i < 2; ++i) {
        plugins[i] = dlopen(names[1 + i], RTLD_NOW | RTLD_GLOBAL);
        if (plugins[i] == nullptr) {
            std::printf("%s\n", dlerror());
            return 1;
        }
        const auto run = reinterpret_cast<std::int32_t (*)(std::int32_t)>(dlsym(plugins[i], "plugin_attend"));
        if (run == nullptr) return 1;
        kernels[i] = run(1) == run(4) ? run(1) : 0;
    }
    const std::int32_t between = attend();
    for (void *plugin : plugins) dlclose(plugin);
    const std::int32_t after = attend();
    std::printf("kernels of the program %d, %d, %d; of the plug-ins %d and %d\n", before, between, after, kernels[0],
                kernels[1]);
    return before > 0 && between == before && after == before && kernels[0] == before && kernels[1] > 0 &&
                   kernels[1] < before
               ? 0
               : 1;
}

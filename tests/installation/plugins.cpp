// plugins DEFAULT OWN NEXT: the program's flashwright is the shared library; DEFAULT and OWN hold a static one each,
// OWN with kernels of its own, and NEXT links the shared library of the next version. All run, each with its kernels
// and of its version, though the plug-ins are loaded for all to see; and the program's still does when they are gone.
#include "small_attention.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace {

// What a library in this process says of itself: kernels is 0 if its attention fails.
struct Library {
    std::int32_t kernels = 0;
    std::string version;

    bool operator==(const Library &other) const { return kernels == other.kernels && version == other.version; }
};

Library of_program() {
    SmallAttention attention;
    const flashwright::Status status =
        flashwright::forward(attention.query(), attention.key(), attention.value(), attention.output());
    const bool right = status.ok() && attention.largest_error() < 1e-5;
    return {right ? flashwright_kernel_count() : 0, flashwright::version()};
}

Library of_plugin(void *plugin) {
    const auto attend = reinterpret_cast<std::int32_t (*)(std::int32_t)>(dlsym(plugin, "plugin_attend"));
    const auto version = reinterpret_cast<const char *(*)()>(dlsym(plugin, "plugin_version"));
    if (attend == nullptr || version == nullptr) return {};
    return {attend(1) == attend(4) ? attend(1) : 0, version()};
}

}  // namespace

int main(int count, char **names) {
    if (count != 4) return 2;
    const Library before = of_program();
    void *plugins[3];
    Library libraries[3];
    for (int i = 0; i < 3; ++i) {
        plugins[i] = dlopen(names[1 + i], RTLD_NOW | RTLD_GLOBAL);
        if (plugins[i] == nullptr) {
            std::printf("%s\n", dlerror());
            return 1;
        }
        libraries[i] = of_plugin(plugins[i]);
        std::printf("%s: version %s, %d kernels\n", names[1 + i], libraries[i].version.c_str(), libraries[i].kernels);
    }
    const Library between = of_program();
    for (void *plugin : plugins) dlclose(plugin);
    const Library after = of_program();
    std::printf("the program: version %s, %d kernels\n", before.version.c_str(), before.kernels);
    const auto &[by_default, own, next] = libraries;
    const bool program = before.kernels > 0 && between == before && after == before;
    const bool same_version = by_default == before && own.version == before.version;
    return program && same_version && own.kernels > 0 && own.kernels < before.kernels && next.kernels > 0 &&
                   next.version != before.version
               ? 0
               : 1;
}

#include "cpu_isa.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__riscv)
#include <sys/auxv.h>
#endif

#include "kernel_abi.h"
#include "kernels/isa.h"
#include "status.h"

namespace flashwright {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kProcessor = "x86_64";

// A bit of register ECX, for the two features that not every compiler's CPU model knows. Neither has registers of its
// own.
bool has_bit(unsigned leaf, unsigned bit) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(leaf, &eax, &ebx, &ecx, &edx) != 0 && ((ecx >> bit) & 1U) != 0;
}
#elif defined(__aarch64__)
constexpr std::string_view kProcessor = "aarch64";
#elif defined(__riscv)
constexpr std::string_view kProcessor = "riscv64";

// A build for processors with vectors needs no answer from the system, which older kernels do not give.
bool has_vectors() {
#if defined(__riscv_v)
    return true;
#else
    return (getauxval(AT_HWCAP) >> ('V' - 'A') & 1U) != 0;
#endif
}

// What the kernels are compiled for is the length itself, not a least one.
unsigned long vector_bits() {
    constexpr int kBytesOfARegister = 0xC22;  // vlenb, by number, for assemblers without the extension
    unsigned long bytes = 0;
    asm volatile("csrr %0, %1" : "=r"(bytes) : "i"(kBytesOfARegister));
    return bytes * 8;
}
#elif defined(__wasm__)
constexpr std::string_view kProcessor = "wasm32";
#else
#error "expected a processor that kernels/isa.h names"
#endif

// How each feature that kernels/isa.h names is detected. The compiler's CPU model answers for most of them; it asks
// XGETBV too whether the operating system saves the wide registers.
struct Feature {
    std::string_view name;
    bool (*present)();
};
constexpr Feature kFeatures[] = {
#if defined(__x86_64__)
#define FLASHWRIGHT_CPU_FEATURE(name)                          \
    {                                                          \
        name, [] { return __builtin_cpu_supports(name) != 0; } \
    }
    FLASHWRIGHT_CPU_FEATURE("ssse3"),
    FLASHWRIGHT_CPU_FEATURE("sse4.1"),
    FLASHWRIGHT_CPU_FEATURE("popcnt"),
    {"lzcnt", [] { return has_bit(0x80000001, 5); }},
    FLASHWRIGHT_CPU_FEATURE("bmi"),
    FLASHWRIGHT_CPU_FEATURE("bmi2"),
    FLASHWRIGHT_CPU_FEATURE("avx"),
    FLASHWRIGHT_CPU_FEATURE("avx2"),
    {"f16c", [] { return has_bit(1, 29); }},
    FLASHWRIGHT_CPU_FEATURE("fma"),
    FLASHWRIGHT_CPU_FEATURE("avx512f"),
    FLASHWRIGHT_CPU_FEATURE("avx512cd"),
    FLASHWRIGHT_CPU_FEATURE("avx512bw"),
    FLASHWRIGHT_CPU_FEATURE("avx512dq"),
    FLASHWRIGHT_CPU_FEATURE("avx512vl"),
#undef FLASHWRIGHT_CPU_FEATURE
#elif defined(__riscv)
    {"v", has_vectors},
    {"vlen=256", [] { return has_vectors() && vector_bits() == 256; }},
#endif
    {"", nullptr}};

// A feature without a row above is one that no CPU has.
bool has_feature(std::string_view name) {
    for (const Feature &feature : kFeatures)
        if (feature.name == name && feature.present != nullptr) return feature.present();
    return false;
}

struct IsaTable {
    static constexpr int kMaxIsas = sizeof(kIsas) / sizeof(*kIsas);
    int count = 0;
    DetectedIsa isas[kMaxIsas] = {};
    char names[64] = "";

    // The ISAs of one processor come in their order, so each one starts from what the one before it needs.
    void add(const Isa &isa) {
        DetectedIsa &detected = isas[count];
        if (count > 0) detected = isas[count - 1];
        detected.name = isa.name;
        detected.description = isa.description;
        for (std::string_view rest = isa.cpu_features; !rest.empty();) {
            const std::string_view feature = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(feature.size() + 1, rest.size()));
            add_name(detected.features, feature);
            if (!has_feature(feature)) add_name(detected.missing, feature);
        }
        detected.usable = detected.missing[0] == '\0';
        append(names, sizeof names, "%s%s", count == 0 ? "" : ", ", isa.name);
        ++count;
    }

 private:
    static void add_name(char (&list)[160], std::string_view name) {
        append(list, sizeof list, "%s%.*s", list[0] == '\0' ? "" : ",", static_cast<int>(name.size()), name.data());
    }
};

IsaTable detect() {
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    IsaTable table;
    for (const Isa &isa : kIsas)
        if (isa.processor == kProcessor) table.add(isa);
    return table;
}

const IsaTable &table() {
    static const IsaTable detected = detect();
    return detected;
}

bool has_kernels(int index) {
    for (int i = 0; i < kKernelCount; ++i) {
        if (std::strcmp(kKernels[i].isa, isa(index).name) == 0) return true;
    }
    return false;
}

IsaChoice choose_default() {
    IsaChoice choice;
    choice.status = ok_status();
    int cap = isa_count() - 1;
    const char *name = std::getenv("FLASHWRIGHT_ISA");
    if (name != nullptr && name[0] != '\0') {
        cap = find_isa_index(name);
        if (cap < 0) {
            choice.status =
                make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                            "environment variable FLASHWRIGHT_ISA: expected one of %s, got '%s'", isa_names(), name);
            return choice;
        }
    }
    for (int i = cap; i >= 0; --i) {
        if (isa(i).usable && has_kernels(i)) {
            choice.index = i;
            return choice;
        }
    }
    choice.status = make_status(FLASHWRIGHT_UNSUPPORTED,
                                "this build has no kernel of isa %s or below that this CPU can run", isa(cap).name);
    return choice;
}

}  // namespace

int isa_count() { return table().count; }
const DetectedIsa &isa(int index) { return table().isas[index]; }
const char *isa_names() { return table().names; }

int find_isa_index(const char *name) {
    for (int i = 0; i < isa_count(); ++i) {
        if (std::strcmp(isa(i).name, name) == 0) return i;
    }
    return -1;
}

const IsaChoice &default_isa() {
    static const IsaChoice choice = choose_default();
    return choice;
}

flashwright_status require_isa(const char *name, int *index) {
    const int found = find_isa_index(name);
    if (found < 0) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "isa: expected one of %s, got '%s'", isa_names(), name);
    }
    if (!isa(found).usable) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "isa: %s cannot run on this CPU, which lacks %s", name,
                           isa(found).missing);
    }
    *index = found;
    return ok_status();
}

}  // namespace flashwright

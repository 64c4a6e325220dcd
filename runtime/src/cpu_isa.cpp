#include "cpu_isa.h"

#include <cstdlib>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__riscv)
#include <sys/auxv.h>
#endif

#include "kernel_abi.h"
#include "status.h"

namespace flashwright {
namespace {

struct Feature {
    const char *name;
    int since;  // index of the first ISA that needs it
    bool present;
};

struct IsaTable {
    static constexpr int kMaxIsas = 8;
    int count = 0;
    Isa isas[kMaxIsas] = {};
    char names[64] = "";

    void add(const char *name, const char *description) {
        if (count == kMaxIsas) return;
        isas[count].name = name;
        isas[count].description = description;
        append(names, sizeof names, "%s%s", count == 0 ? "" : ", ", name);
        ++count;
    }

    template <size_t N>
    void require(const Feature (&features)[N]) {
        for (int i = 0; i < count; ++i) {
            for (const Feature &feature : features) {
                if (feature.since > i) continue;
                add_name(isas[i].features, feature.name);
                if (!feature.present) add_name(isas[i].missing, feature.name);
            }
            isas[i].usable = isas[i].missing[0] == '\0';
        }
    }

 private:
    static void add_name(char (&list)[160], const char *name) {
        append(list, sizeof list, "%s%s", list[0] == '\0' ? "" : ",", name);
    }
};

#if defined(__x86_64__)
// A bit of register ECX, for the two features that not every compiler's CPU model knows. Neither has registers of its
// own.
bool has_bit(unsigned leaf, unsigned bit) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(leaf, &eax, &ebx, &ecx, &edx) != 0 && ((ecx >> bit) & 1U) != 0;
}
#elif defined(__riscv)
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
#endif

IsaTable detect() {
    IsaTable table;
#if defined(__aarch64__)
    table.add("neon", "Advanced SIMD, 128-bit vectors; any CPU of this architecture");
#elif defined(__riscv)
    table.add("rvv", "the vector extension, 256-bit vectors");
#elif defined(__wasm__)
    table.add("simd128", "128-bit vectors; any engine that loads this module");
#else
    table.add("baseline", "any CPU of this architecture");
#endif
    table.isas[0].usable = true;
#if defined(__x86_64__)
    enum { kSse41 = 1, kAvx2, kAvx512 };
    table.add("sse41", "SSE4.1, 128-bit vectors");
    table.add("avx2", "AVX2 with FMA, 256-bit vectors");
    table.add("avx512", "AVX-512 F, CD, BW, DQ, VL, 512-bit vectors");
    // The compiler's CPU model answers; it asks XGETBV too whether the operating system saves the wide registers.
    // Listed is all that code generation may use for the target, not only the feature that names it.
    __builtin_cpu_init();
    const Feature features[] = {
        {"ssse3", kSse41, __builtin_cpu_supports("ssse3") != 0},
        {"sse4.1", kSse41, __builtin_cpu_supports("sse4.1") != 0},
        {"popcnt", kAvx2, __builtin_cpu_supports("popcnt") != 0},
        {"lzcnt", kAvx2, has_bit(0x80000001, 5)},
        {"bmi", kAvx2, __builtin_cpu_supports("bmi") != 0},
        {"bmi2", kAvx2, __builtin_cpu_supports("bmi2") != 0},
        {"avx", kAvx2, __builtin_cpu_supports("avx") != 0},
        {"avx2", kAvx2, __builtin_cpu_supports("avx2") != 0},
        {"f16c", kAvx2, has_bit(1, 29)},
        {"fma", kAvx2, __builtin_cpu_supports("fma") != 0},
        {"avx512f", kAvx512, __builtin_cpu_supports("avx512f") != 0},
        {"avx512cd", kAvx512, __builtin_cpu_supports("avx512cd") != 0},
        {"avx512bw", kAvx512, __builtin_cpu_supports("avx512bw") != 0},
        {"avx512dq", kAvx512, __builtin_cpu_supports("avx512dq") != 0},
        {"avx512vl", kAvx512, __builtin_cpu_supports("avx512vl") != 0},
    };
    table.require(features);
#elif defined(__riscv)
    const bool vectors = has_vectors();
    const Feature features[] = {{"v", 0, vectors}, {"vlen=256", 0, vectors && vector_bits() == 256}};
    table.require(features);
#endif
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
        cap = find_isa(name);
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
const Isa &isa(int index) { return table().isas[index]; }
const char *isa_names() { return table().names; }

int find_isa(const char *name) {
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
    const int found = find_isa(name);
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

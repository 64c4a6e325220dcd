#include "machine_info.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace flashwright {
namespace {

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("model name", 0) == 0) {
            const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
            return start == std::string::npos ? "unknown" : line.substr(start);
        }
    }
    return "unknown";
}

int usable_processors() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string first_word(const std::filesystem::path &path) {
    std::string word;
    std::ifstream(path) >> word;
    return word;
}

// "48K", "32768K" or "16M", as the kernel prints sizes.
std::int64_t parse_size(const std::string &text) {
    char *end = nullptr;
    const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
    return number * (*end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : 1);
}

std::vector<CacheInfo> caches() {
    std::vector<CacheInfo> result;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", error)) {
        const std::string type = first_word(entry.path() / "type");
        if (!type.empty()) {
            result.push_back({std::atoi(first_word(entry.path() / "level").c_str()), type,
                              parse_size(first_word(entry.path() / "size"))});
        }
    }
    std::sort(result.begin(), result.end(), [](const CacheInfo &a, const CacheInfo &b) {
        return a.level != b.level ? a.level < b.level : a.type < b.type;
    });
    return result;
}

}  // namespace

MachineInfo machine_info() { return {cpu_name(), usable_processors(), caches()}; }

std::int64_t last_cache_bytes() {
    std::int64_t largest = 0;
    for (const CacheInfo &cache : caches()) {
        largest = std::max(largest, cache.bytes);
    }
    return largest;
}

}  // namespace flashwright

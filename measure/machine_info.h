// This machine as the operating system describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

struct CacheInfo {
    int level;
    std::string type;    // Data, Instruction, Unified
    std::int64_t bytes;  // of one instance
};

struct MachineInfo {
    std::string cpu_name;
    int processors;  // that this process may use
    std::vector<CacheInfo> caches;
};

MachineInfo machine_info();
std::int64_t last_cache_bytes();  // 0 if it is not known

}  // namespace flashwright

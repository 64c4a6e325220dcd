#include "hardware.h"

#include "machine_info.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <cstring>
#include <memory>

namespace flashwright {
namespace {

// Every x86-64 processor of the last ten years has these caches. Used where a hypervisor does not show the real sizes.
constexpr std::int64_t kAssumedL1 = 32 << 10;
constexpr std::int64_t kAssumedL2 = 256 << 10;

std::int64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache != nullptr ? static_cast<std::int64_t>(cache->attr->cache.size) : 0;
}

std::string cpu_fact(hwloc_topology_t topology, const char *name) {
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *value = package != nullptr ? hwloc_obj_get_info_by_name(package, name) : nullptr;
    return value != nullptr ? value : "unknown";
}

Hardware find_hardware() {
    Hardware found;
    const MachineInfo machine = machine_info();
    found.cpu_name = machine.cpu_name;
    found.cores = machine.processors;
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) == 0) {
        hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
        if (hwloc_topology_load(topology) == 0) {
            found.l1 = cache_bytes(topology, HWLOC_OBJ_L1CACHE);
            found.l2 = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
            found.l3 = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
            found.family = fmt::format("{}-{}-{}", cpu_fact(topology, "CPUVendor"),
                                       cpu_fact(topology, "CPUFamilyNumber"), cpu_fact(topology, "CPUModelNumber"));
        }
        hwloc_topology_destroy(topology);
    }
    if (found.l1 == 0) found.l1 = kAssumedL1;
    if (found.l2 == 0) found.l2 = kAssumedL2;
    found.exact = fmt::format("{}; {}; L1 {} L2 {} L3 {} KiB", found.cpu_name, found.family, found.l1 >> 10,
                              found.l2 >> 10, found.l3 >> 10);
    return found;
}

}  // namespace

const Hardware &hardware() {
    static const Hardware found = find_hardware();
    return found;
}

}  // namespace flashwright

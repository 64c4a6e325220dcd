#include "kernel_family.h"

#include "kernels/tile_spaces.h"
#include "measure/hardware.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace flashwright {
namespace {

bool asked(const std::vector<std::string> &list, const std::string &name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

// The one that is chosen when nothing is said.
std::string chosen_isa() {
    std::string chosen;
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) {
        if (flashwright_isa(i).chosen != 0) chosen = flashwright_isa(i).name;
    }
    return chosen;
}

void check_usable(const std::vector<std::string> &isas) {
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) {
        const flashwright_isa_info isa = flashwright_isa(i);
        if (!isas.empty() && asked(isas, isa.name) && isa.usable == 0)
            throw std::invalid_argument(fmt::format("isa: this CPU cannot run {}", isa.name));
    }
}

KernelFamily family_of(const flashwright_kernel_info &kernel) {
    KernelFamily family = {kernel.op, find_dtype(kernel.dtype)->name, kernel.isa, "", {}};
    const std::string prefix = fmt::format("{}_{}_{}_", family.op, family.dtype, family.isa);
    family.baseline_id = std::string(kernel.name).substr(prefix.size());
    const auto tiles = nlohmann::json::parse(kernel.tiles);
    for (const TileParameter &parameter : family.space().parameters)
        family.baseline_tiles.*parameter.member = tiles.at(parameter.name);
    return family;
}

}  // namespace

const TileSpace &KernelFamily::space() const { return tile_space_of(op); }

CpuSearchContext KernelFamily::machine() const {
    return cpu_search_context(isa, find_dtype(dtype)->bytes, hardware().l1, hardware().l2);
}

std::vector<KernelFamily> kernel_families(const std::vector<std::string> &ops, const std::vector<std::string> &dtypes,
                                          const std::vector<std::string> &isas) {
    check_usable(isas);
    const std::vector<std::string> wanted_isas = isas.empty() ? std::vector<std::string>{chosen_isa()} : isas;
    std::vector<KernelFamily> families;
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) {
        const flashwright_kernel_info kernel = flashwright_kernel(i);
        if (find_tile_space(kernel.op) == nullptr || kernel.generic != 0 || *kernel.terms != '\0') continue;
        const KernelFamily family = family_of(kernel);
        // The baseline is the first of its family.
        const bool known = std::any_of(families.begin(), families.end(),
                                       [&](const KernelFamily &f) { return f.name() == family.name(); });
        if (!known && asked(ops, family.op) && asked(dtypes, family.dtype) && asked(wanted_isas, family.isa))
            families.push_back(family);
    }
    for (const std::string &isa : wanted_isas) {
        if (std::none_of(families.begin(), families.end(), [&](const KernelFamily &f) { return f.isa == isa; }))
            throw std::invalid_argument(fmt::format("isa: this build has no kernel of {} that can be tuned", isa));
    }
    return families;
}

}  // namespace flashwright

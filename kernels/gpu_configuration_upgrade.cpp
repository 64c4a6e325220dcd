// Version 1 of GPU files calls schema_version `version`. Some of these files call threads_per_row `parts`.
#include "configuration.h"

namespace flashwright {
namespace {

using nlohmann::ordered_json;

void rename(ordered_json &object, const char *from, const char *to) {
    if (!object.is_object() || !object.contains(from) || object.contains(to)) return;
    ordered_json renamed;
    for (const auto &[name, value] : object.items()) renamed[name == from ? to : name] = value;
    object = std::move(renamed);
}

}  // namespace

void upgrade_gpu_configuration(ordered_json &file) {
    rename(file, "version", "schema_version");
    file["schema_version"] = kConfigurationVersion;
    const auto kernels = file.find("kernels");
    if (kernels == file.end() || !kernels->is_array()) return;
    for (ordered_json &entry : *kernels)
        if (entry.is_object() && entry.contains("tiles")) rename(entry["tiles"], "parts", "threads_per_row");
}

}  // namespace flashwright

#include "validators.h"

#include "kernels/dtype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace flashwright {

CLI::Validator not_empty() {
    return CLI::Validator(
        [](const std::string &text) { return std::string(text.empty() ? "expected a value, got none" : ""); }, "");
}

CLI::Option *add_file_option(CLI::App &command, const std::string &name, std::string &path, const std::string &what) {
    return command.add_option(name, path, what)->check(not_empty())->type_name("F");
}

std::vector<std::string> cpu_dtype_names() {
    std::vector<std::string> names;
    for (const Dtype &dtype : kDtypes)
        if (dtype.on_cpu) names.emplace_back(dtype.name);
    return names;
}

void take_cpu_dtypes(CLI::Option *option) {
    const std::vector<std::string> names = cpu_dtype_names();
    option->check(CLI::IsMember(names).description(""))->type_name(fmt::format("{}", fmt::join(names, "|")));
}

CLI::Validator positive_and_finite() {
    return CLI::Validator(
        [](const std::string &text) {
            const double value = std::strtod(text.c_str(), nullptr);
            return value > 0 && std::isfinite(value) ? std::string()
                                                     : fmt::format("expected a positive number, got {}", text);
        },
        "");
}

CLI::Validator fits_int64() {
    return CLI::Validator(
        [](const std::string &text) {
            errno = 0;
            std::strtoll(text.c_str(), nullptr, 0);
            return errno == ERANGE ? fmt::format("expected an integer of 64 bits, got {}", text) : std::string();
        },
        "");
}

}  // namespace flashwright

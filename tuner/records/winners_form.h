// The form of a winners file: no more and no less than what the build takes.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace flashwright {

constexpr int kWinnersVersion = 1;  // of the schema

// Whether two rows are of one shape, and two entries of one kernel, however they are written.
bool same_shape(const nlohmann::ordered_json &a, const nlohmann::ordered_json &b);
bool same_kernel(const nlohmann::ordered_json &a, const nlohmann::ordered_json &b);

// The file without the entries, variants and rows that cannot be used, which are named in `problems`; every entry has
// a table. Throws what makes all of it useless.
nlohmann::ordered_json usable_part(const nlohmann::ordered_json &file, std::vector<std::string> *problems);

}  // namespace flashwright

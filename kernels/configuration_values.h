// What the readers of CPU and of GPU entries share.
#pragma once

#include "json_text.h"

#include <string>

namespace flashwright {

// The row of a table of the vocabulary that a node names; `find` looks for it.
template <typename Table, typename Find>
auto named_row(const JsonNode &node, const Table &table, const Find &find) {
    const auto *row = node.json().is_string() ? find(node.text()) : nullptr;
    if (row == nullptr) {
        std::string names;
        for (const auto &known : table) names += (names.empty() ? "one of " : ", ") + std::string(known.name);
        node.expect(names);
    }
    return row;
}

unsigned read_terms(const JsonNode &node);

// The root of a file, in the newest version, with the members that every file may have. `kernels` is left to the
// reader.
JsonNode read_header(JsonText &file);

// The text of a file. Throws ConfigurationError.
std::string configuration_text_of(const std::string &file);

}  // namespace flashwright

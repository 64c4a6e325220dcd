// What an entry of the journal looks like.
#pragma once

#include <nlohmann/json.hpp>

namespace flashwright {

// Whether every member that is read of an entry has the type that is expected of it.
bool is_journal_entry(const nlohmann::json &entry);

}  // namespace flashwright

// What became of a candidate, in the words of journal and report.
#pragma once

#include "support/child_process.h"

#include <string>

namespace flashwright {

enum class Verdict { ok, slow, compile, crash, timeout, wrong, out_of_memory, interrupted };

const char *verdict_name(Verdict verdict);
Verdict verdict_named(const std::string &name);  // throws std::invalid_argument for an unknown name
Verdict verdict_of(ChildEnd end);

}  // namespace flashwright

// How a candidate fared, in the words of journal and report.
#pragma once

#include "support/child_process.h"

#include <string>

namespace flashwright {

enum class Verdict { ok, slow, compile, crash, timeout, wrong, out_of_memory, interrupted };

const char *verdict_name(Verdict verdict);
Verdict verdict_named(const std::string &name);  // crash for a name that it does not know
Verdict verdict_of(ChildEnd end);

}  // namespace flashwright

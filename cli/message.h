// Text for people, on stderr.
#pragma once

#include <cstdio>
#include <string>

namespace flashwright {

// Unlike fmt::print it never throws: the work counts, also where nobody can read of it.
inline void print_message(const std::string &text) { std::fputs(text.c_str(), stderr); }

}  // namespace flashwright

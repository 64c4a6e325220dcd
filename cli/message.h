// Messages for the user, on stderr.
#pragma once

#include <cstdio>
#include <string>

namespace flashwright {

// Unlike fmt::print it never throws: a closed stderr must not stop the work.
inline void print_message(const std::string &text) { std::fputs(text.c_str(), stderr); }

}  // namespace flashwright

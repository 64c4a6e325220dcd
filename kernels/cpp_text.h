// Pieces of generated C++.
#pragma once

#include <string>

namespace flashwright {

std::string capitalised(std::string word);
std::string upper(std::string word);

// Score terms, as kBias | kMask; 0 for none.
std::string terms_expression(unsigned terms);

// The text as a C++ string literal, whatever is in it.
std::string string_literal(const std::string &text);

}  // namespace flashwright

#include "cpp_text.h"

#include "score_term.h"

#include <cctype>
#include <cstdio>

namespace flashwright {

std::string capitalised(std::string word) {
    word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
    return word;
}

std::string upper(std::string word) {
    for (char &c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return word;
}

std::string terms_expression(unsigned terms) {
    std::string text;
    for (const ScoreTermRow &term : kScoreTerms)
        if ((terms & term.bit) != 0) text += (text.empty() ? "k" : " | k") + capitalised(term.name);
    return text.empty() ? "0" : text;
}

std::string string_literal(const std::string &text) {
    constexpr std::size_t kLineLength = 110;
    std::string literal = "\"";
    std::size_t line_begin = 0;
    for (const unsigned char c : text) {
        if (literal.size() - line_begin > kLineLength) {
            literal += "\"\n    \"";
            line_begin = literal.size();
        }
        if (c == '"' || c == '\\') {
            literal += {'\\', static_cast<char>(c)};
        } else if (c < 0x20 || c >= 0x7f) {
            char octal[8];
            std::snprintf(octal, sizeof octal, "\\%03o", c);
            literal += octal;
        } else {
            literal += static_cast<char>(c);
        }
    }
    return literal + "\"";
}

}  // namespace flashwright

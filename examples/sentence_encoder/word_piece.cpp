#include "word_piece.h"

#include <utf8proc.h>

#include <fstream>
#include <stdexcept>

namespace {

using Word = std::vector<std::int32_t>;  // code points

constexpr std::size_t kLongestWord = 100;  // longer ones are unknown
constexpr std::int32_t kReplacement = 0xFFFD;

bool is_space(std::int32_t c) {
    const utf8proc_category_t category = utf8proc_category(c);
    return (c >= '\t' && c <= '\r') || c == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

// Controls, formats, and what has no meaning of its own.
bool is_dropped(std::int32_t c) {
    const utf8proc_category_t category = utf8proc_category(c);
    return c == 0 || c == kReplacement || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CO;
}

// Every ASCII character that is neither letter, digit nor space counts, `$` and `^` too.
bool is_punctuation(std::int32_t c) {
    if (c < 128) return c > ' ' && c < 127 && utf8proc_category(c) > UTF8PROC_CATEGORY_NO;
    const utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// Ideographs, each of which is a word.
bool is_ideograph(std::int32_t c) {
    constexpr std::int32_t kRanges[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                           {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                           {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    for (const auto &range : kRanges)
        if (c >= range[0] && c <= range[1]) return true;
    return false;
}

// The text's code points, letters and their accents apart.
Word decompose(std::string_view text) {
    constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    const auto *bytes = reinterpret_cast<const utf8proc_uint8_t *>(text.data());
    const auto size = static_cast<utf8proc_ssize_t>(text.size());
    Word points(text.size());
    utf8proc_ssize_t count =
        utf8proc_decompose(bytes, size, points.data(), static_cast<utf8proc_ssize_t>(points.size()), kOptions);
    if (count > static_cast<utf8proc_ssize_t>(points.size())) {
        points.resize(static_cast<std::size_t>(count));
        count = utf8proc_decompose(bytes, size, points.data(), count, kOptions);
    }
    if (count < 0) throw std::runtime_error(std::string("a sentence is not UTF-8: ") + utf8proc_errmsg(count));
    points.resize(static_cast<std::size_t>(count));
    return points;
}

std::vector<Word> words_of(std::string_view text) {
    std::vector<Word> words(1);
    for (const std::int32_t c : decompose(text)) {
        if (is_space(c)) {
            words.emplace_back();
        } else if (is_punctuation(c) || is_ideograph(c)) {
            words.push_back({c});
            words.emplace_back();
        } else if (!is_dropped(c) && utf8proc_category(c) != UTF8PROC_CATEGORY_MN) {
            words.back().push_back(utf8proc_tolower(c));
        }
    }
    return words;
}

std::string utf8(const Word &word, std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) {
        utf8proc_uint8_t bytes[4];
        const utf8proc_ssize_t count = utf8proc_encode_char(word[i], bytes);
        text.append(reinterpret_cast<const char *>(bytes), static_cast<std::size_t>(count));
    }
    return text;
}

}  // namespace

WordPiece::WordPiece(const std::string &vocabulary) {
    std::ifstream file(vocabulary);
    for (std::string piece; std::getline(file, piece);) ids_.emplace(piece, static_cast<std::int32_t>(ids_.size()));
    begin_ = id("[CLS]");
    end_ = id("[SEP]");
    unknown_ = id("[UNK]");
    if (begin_ < 0 || end_ < 0 || unknown_ < 0)
        throw std::runtime_error(vocabulary + ": expected a vocabulary with [CLS], [SEP] and [UNK]");
}

std::vector<std::int32_t> WordPiece::encode(std::string_view text, std::size_t longest) const {
    std::vector<std::int32_t> ids = {begin_};
    for (const Word &word : words_of(text)) append_pieces(word, ids);
    if (ids.size() > longest - 1) ids.resize(longest - 1);
    ids.push_back(end_);
    return ids;
}

void WordPiece::append_pieces(const Word &word, std::vector<std::int32_t> &ids) const {
    if (word.empty()) return;
    const std::size_t start = ids.size();
    std::size_t begin = 0;
    while (begin < word.size() && word.size() <= kLongestWord) {
        std::int32_t found = -1;
        std::size_t end = word.size() + 1;
        while (found < 0 && --end > begin) found = id((begin > 0 ? "##" : "") + utf8(word, begin, end));
        if (found < 0) break;
        ids.push_back(found);
        begin = end;
    }
    if (begin == word.size()) return;
    ids.resize(start);
    ids.push_back(unknown_);
}

std::int32_t WordPiece::id(const std::string &piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? -1 : found->second;
}

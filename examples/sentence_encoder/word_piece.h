// The tokeniser of uncased BERT models: words are lower-cased, lose their accents and are cut into the longest pieces
// that the vocabulary has (Devlin et al. 2019; Wu et al. 2016, section 4.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

class WordPiece {
 public:
    // A file with one piece a line; its number is its id. Throws std::runtime_error, as encode does.
    explicit WordPiece(const std::string &vocabulary);

    // [CLS], the pieces of the text (UTF-8), [SEP]; at most `longest` ids, the text's end is cut off.
    std::vector<std::int32_t> encode(std::string_view text, std::size_t longest) const;

    std::size_t size() const { return ids_.size(); }

 private:
    void append_pieces(const std::vector<std::int32_t> &word, std::vector<std::int32_t> &ids) const;
    std::int32_t id(const std::string &piece) const;

    std::unordered_map<std::string, std::int32_t> ids_;
    std::int32_t begin_, end_, unknown_;
};

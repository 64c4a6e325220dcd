#include "npy_header.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <stdexcept>

namespace flashwright {
namespace {

class HeaderParser {
 public:
    explicit HeaderParser(std::string_view text) : rest_(text) {}

    NpyHeader parse() {
        std::optional<std::string> descr;
        std::optional<bool> fortran_order;
        std::optional<std::vector<std::int64_t>> shape;
        expect('{');
        while (!accept('}')) {
            const std::string key = parse_string();
            expect(':');
            if (key == "descr" && !descr) {
                descr = parse_string();
            } else if (key == "fortran_order" && !fortran_order) {
                fortran_order = parse_bool();
            } else if (key == "shape" && !shape) {
                shape = parse_shape();
            } else {
                throw std::runtime_error(
                    fmt::format("expected the keys descr, fortran_order and shape, once each, got '{}'", key));
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (!rest_.empty()) {
            fail("nothing more");
        }
        if (!descr || !fortran_order || !shape) {
            throw std::runtime_error("expected the keys descr, fortran_order and shape, one is missing");
        }
        return {*descr, *fortran_order, *shape};
    }

 private:
    std::string_view rest_;

    [[noreturn]] void fail(std::string_view expected) const {
        constexpr std::size_t kShown = 24;
        throw std::runtime_error(
            fmt::format("expected {} in the header, got {}", expected,
                        rest_.empty() ? "its end" : fmt::format("\"{}\"", rest_.substr(0, kShown))));
    }

    void skip_space() {
        const std::size_t space = rest_.find_first_not_of(" \t\n");
        rest_.remove_prefix(space == std::string_view::npos ? rest_.size() : space);
    }

    bool accept(char c) {
        skip_space();
        if (rest_.empty() || rest_.front() != c) {
            return false;
        }
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char c) {
        if (!accept(c)) {
            fail(fmt::format("'{}'", c));
        }
    }

    bool accept_word(std::string_view word) {
        skip_space();
        if (rest_.substr(0, word.size()) != word) {
            return false;
        }
        rest_.remove_prefix(word.size());
        return true;
    }

    std::string parse_string() {
        skip_space();
        const std::size_t end =
            rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"') ? std::string_view::npos : rest_.find(rest_[0], 1);
        if (end == std::string_view::npos) {
            fail("a string");
        }
        std::string value(rest_.substr(1, end - 1));
        rest_.remove_prefix(end + 1);
        return value;
    }

    bool parse_bool() {
        if (accept_word("True")) {
            return true;
        }
        if (!accept_word("False")) {
            fail("True or False");
        }
        return false;
    }

    std::vector<std::int64_t> parse_shape() {
        std::vector<std::int64_t> shape;
        expect('(');
        while (!accept(')')) {
            shape.push_back(parse_extent());
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return shape;
    }

    std::int64_t parse_extent() {
        skip_space();
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc() || value < 0) {
            fail("an extent from 0 to 2^63 - 1");
        }
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text) {
    for (const char c : text) {
        if ((c < ' ' || c > '~') && c != '\n' && c != '\t') {
            throw std::runtime_error(fmt::format("expected printable ASCII in the header, got the byte {:02x}",
                                                 static_cast<unsigned char>(c)));
        }
    }
    return HeaderParser(text).parse();
}

std::string format_npy_header(const NpyHeader &header) {
    return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", header.descr,
                       header.fortran_order ? "True" : "False", fmt::join(header.shape, ", "),
                       header.shape.size() == 1 ? "," : "");
}

}  // namespace flashwright

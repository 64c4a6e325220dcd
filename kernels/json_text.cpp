#include "json_text.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace flashwright {

using nlohmann::ordered_json;

namespace {

// The part of a JSON pointer for a member of this name.
std::string escaped(std::string name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '~') name.replace(i, 1, "~0");
        if (name[i] == '/') name.replace(i, 1, "~1");
    }
    return name;
}

std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    return text;
}

std::string shortened(const ordered_json &value) {
    constexpr std::size_t kMost = 60;
    const std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::string joined(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

// Takes the events of the parser, which does not say where it is: how far the stream was read does. A value begins
// behind the event before it, its spaces, commas and colons.
class JsonBuilder : public nlohmann::json_sax<ordered_json> {
 public:
    JsonBuilder(JsonText &text, std::istringstream &stream) : text_(text), stream_(stream) {}

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(std::int64_t value) override { return add(value); }
    bool number_unsigned(std::uint64_t value) override { return add(value); }
    bool number_float(double value, const std::string &) override { return add(value); }
    bool string(std::string &value) override { return add(value); }
    bool binary(ordered_json::binary_t &) override { return false; }  // JSON has none
    bool start_object(std::size_t) override { return open(ordered_json::object()); }
    bool start_array(std::size_t) override { return open(ordered_json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(std::string &name) override {
        const std::size_t offset = next();
        Level &level = levels_.back();
        level.key = name;
        if (level.value->contains(name))
            throw ConfigurationError(text_.place_of(offset) + ": expected each member once, got \"" + one_line(name) +
                                     "\" again");
        return true;
    }

    bool parse_error(std::size_t position, const std::string &, const nlohmann::detail::exception &error) override {
        std::string message = error.what();
        for (const char *prefix : {"] ", "column ", ": "}) {
            const std::size_t at = message.find(prefix);
            if (at != std::string::npos) message.erase(0, at + std::string(prefix).size());
        }
        throw ConfigurationError(text_.place_of(position > 0 ? position - 1 : 0) + ": " + one_line(message));
    }

 private:
    struct Level {
        ordered_json *value;
        std::string pointer, key;
    };

    // Where the token of this event begins.
    std::size_t next() {
        std::size_t begin = read_;
        while (begin < text_.text_.size() && std::string(" \t\r\n,:").find(text_.text_[begin]) != std::string::npos)
            ++begin;
        read_ = static_cast<std::size_t>(stream_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
        return begin;
    }

    ordered_json *place(ordered_json value, std::string *pointer) {
        const std::size_t offset = next();
        ordered_json *placed = &text_.json_;
        if (levels_.empty()) {
            text_.json_ = std::move(value);
        } else {
            Level &level = levels_.back();
            if (level.value->is_array()) {
                *pointer = level.pointer + "/" + std::to_string(level.value->size());
                level.value->push_back(std::move(value));
                placed = &level.value->back();
            } else {
                *pointer = level.pointer + "/" + escaped(level.key);
                placed = &((*level.value)[level.key] = std::move(value));
            }
        }
        text_.offsets_[*pointer] = offset;
        return placed;
    }

    bool add(ordered_json value) {
        std::string pointer;
        place(std::move(value), &pointer);
        return true;
    }

    bool open(ordered_json value) {
        constexpr std::size_t kMostLevels = 100;
        std::string pointer;
        ordered_json *placed = place(std::move(value), &pointer);
        if (levels_.size() == kMostLevels)
            throw ConfigurationError(text_.place(pointer) + ": expected at most 100 levels of arrays and objects");
        levels_.push_back({placed, pointer, {}});
        return true;
    }

    bool close() {
        next();
        levels_.pop_back();
        return true;
    }

    JsonText &text_;
    std::istringstream &stream_;
    std::vector<Level> levels_;
    std::size_t read_ = 0;
};

JsonText::JsonText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
    // The parser would take it for the end of the text.
    const std::size_t nul = text_.find('\0');
    if (nul != std::string::npos) throw ConfigurationError(place_of(nul) + ": expected a text, got a byte of value 0");
    std::istringstream stream(text_);
    JsonBuilder builder(*this, stream);
    ordered_json::sax_parse(stream, &builder);
}

JsonNode JsonText::root() const { return {*this, json_, ""}; }

std::string JsonText::place(std::string pointer) const {
    while (offsets_.count(pointer) == 0 && !pointer.empty()) pointer.erase(pointer.rfind('/'));
    const auto found = offsets_.find(pointer);
    return place_of(found == offsets_.end() ? 0 : found->second);
}

std::string JsonText::place_of(std::size_t offset) const {
    const std::string before = text_.substr(0, offset);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t line_begin = before.rfind('\n');
    const std::size_t column = line_begin == std::string::npos ? before.size() + 1 : before.size() - line_begin;
    return name_ + ":" + std::to_string(line) + ":" + std::to_string(column);
}

void JsonNode::expect(const std::string &what) const {
    const std::string name = pointer_.substr(pointer_.rfind('/') + 1);
    const bool is_index = name.find_first_not_of("0123456789") == std::string::npos;  // or the whole text
    fail((is_index ? "" : name + ": ") + "expected " + what + ", got " + shortened(*json_));
}

void JsonNode::expect_members(const std::vector<std::string> &required,
                              const std::vector<std::string> &optional) const {
    std::vector<std::string> known = required;
    known.insert(known.end(), optional.begin(), optional.end());
    if (!json_->is_object()) expect("an object");
    for (const auto &[name, value] : json_->items()) {
        if (std::find(known.begin(), known.end(), name) == known.end())
            (*this)[name].fail("expected any of the members " + joined(known) + ", got \"" + one_line(name) + "\"");
    }
    for (const std::string &name : required)
        if (!has(name)) fail("expected a member \"" + name + "\", got none");
}

JsonNode JsonNode::operator[](const std::string &name) const {
    if (!json_->is_object()) expect("an object");
    if (!has(name)) fail("expected a member \"" + name + "\", got none");
    return {*text_, (*json_)[name], pointer_ + "/" + escaped(name)};
}

std::vector<JsonNode> JsonNode::elements() const {
    if (!json_->is_array()) expect("an array");
    std::vector<JsonNode> nodes;
    for (std::size_t i = 0; i < json_->size(); ++i)
        nodes.emplace_back(*text_, (*json_)[i], pointer_ + "/" + std::to_string(i));
    return nodes;
}

std::string JsonNode::text() const {
    if (!json_->is_string()) expect("a string");
    return json_->get<std::string>();
}

bool JsonNode::truth() const {
    if (!json_->is_boolean()) expect("true or false");
    return json_->get<bool>();
}

std::int64_t JsonNode::whole_number(std::int64_t least, std::int64_t most) const {
    const std::string what = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!json_->is_number_integer() || *json_ < least || *json_ > most) expect(what);
    return json_->get<std::int64_t>();
}

double JsonNode::positive_number() const {
    if (!json_->is_number() || !(json_->get<double>() > 0.0) || !std::isfinite(json_->get<double>()))
        expect("a positive number");
    return json_->get<double>();
}

}  // namespace flashwright

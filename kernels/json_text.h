// A JSON text, read strictly: comments, trailing commas, duplicate keys and text behind the value are errors. It knows
// where each value stands, so an error about a value's meaning names line and column too.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace flashwright {

// One line: file:line:column: what, expected, got.
struct ConfigurationError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class JsonNode;

class JsonText {
 public:
    // `name` stands for the text in errors. Throws ConfigurationError.
    JsonText(std::string name, std::string text);

    const std::string &name() const { return name_; }
    nlohmann::ordered_json &json() { return json_; }
    const nlohmann::ordered_json &json() const { return json_; }
    // For as long as this text lives.
    JsonNode root() const;
    // name:line:column of the value at a JSON pointer; of what holds it, if the text has no such value.
    std::string place(std::string pointer) const;

 private:
    friend class JsonBuilder;

    std::string place_of(std::size_t offset) const;

    std::string name_, text_;
    nlohmann::ordered_json json_;
    std::map<std::string, std::size_t> offsets_;  // by JSON pointer
};

// A value in a JSON text. What is asked of a value that it is not throws ConfigurationError.
class JsonNode {
 public:
    JsonNode(const JsonText &text, const nlohmann::ordered_json &json, std::string pointer)
        : text_(&text), json_(&json), pointer_(std::move(pointer)) {}

    const nlohmann::ordered_json &json() const { return *json_; }
    std::string place() const { return text_->place(pointer_); }
    [[noreturn]] void fail(const std::string &message) const { throw ConfigurationError(place() + ": " + message); }
    [[noreturn]] void expect(const std::string &what) const;  // fails: "expected `what`, got" this value

    // An object that has all of `required` and, besides these, only members of `optional`.
    void expect_members(const std::vector<std::string> &required, const std::vector<std::string> &optional = {}) const;
    bool has(const std::string &name) const { return json_->is_object() && json_->contains(name); }
    JsonNode operator[](const std::string &name) const;  // fails if there is none
    std::vector<JsonNode> elements() const;              // of an array

    std::string text() const;
    bool truth() const;
    std::int64_t whole_number(std::int64_t least, std::int64_t most) const;
    double positive_number() const;

 private:
    const JsonText *text_;
    const nlohmann::ordered_json *json_;
    std::string pointer_;
};

}  // namespace flashwright

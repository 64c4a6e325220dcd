#include "mma_calls.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace flashwright {
namespace {

// One `{ // callseq … } // callseq` block.
struct Call {
    std::array<std::string, kMmaArguments> arguments;
    std::string result;
    std::size_t first_line, last_line;

    int element() const { return std::stoi(arguments[1]); }
    std::vector<std::string> operands() const { return {arguments.begin() + 2, arguments.end()}; }
};

std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// The call that begins at a line, if one does and it is of kMmaFunction.
bool parse_call(const std::vector<std::string> &lines, std::size_t first, Call *call) {
    static const std::regex argument(R"(\s*st\.param\.[bf]32\s+\[param(\d)\], (\S+);)"),
        result(R"(\s*ld\.param\.[bf]32\s+(\S+), \[retval0\];)");
    if (lines[first].find("{ // callseq") == std::string::npos) return false;
    bool ours = false;
    std::smatch match;
    for (std::size_t n = first; n < lines.size(); ++n) {
        if (std::regex_match(lines[n], match, argument)) {
            call->arguments.at(std::stoul(match[1])) = match[2];
        } else if (std::regex_match(lines[n], match, result)) {
            call->result = match[1];
        } else if (lines[n].find(kMmaFunction) != std::string::npos) {
            ours = true;
        } else if (lines[n].find("} // callseq") != std::string::npos) {
            call->first_line = first, call->last_line = n;
            return ours;
        }
    }
    throw std::runtime_error("a call block without an end");
}

// Names a register, and not one that its name is the beginning of.
bool mentions(const std::string &line, const std::string &name) {
    for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if (end == line.size() || std::isdigit(static_cast<unsigned char>(line[end])) == 0) return true;
    }
    return false;
}

// The calls of one instruction, by element. Accumulators that are constants need a register.
std::string instruction(const std::map<int, Call> &calls) {
    std::string setup, results, before;
    for (const auto &[element, call] : calls) {
        const std::string separator = element == 0 ? "" : ", ", name = "mma_c" + std::to_string(element);
        setup += "\t.reg .b32 " + name + ";\n\tmov.b32 " + name + ", " + call.arguments[0] + ";\n";
        results += separator + call.result;
        before += separator + name;
    }
    const std::vector<std::string> x = calls.at(0).operands();
    return "\t{\n" + setup + "\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {" + results + "}, {" + x[0] + ", " +
           x[1] + ", " + x[2] + ", " + x[3] + "}, {" + x[4] + ", " + x[5] + "}, {" + before + "};\n\t}";
}

// The instruction stands where the last call stood: by then all operands are there, and no result may be used before.
void fuse(const std::map<int, Call> &calls, std::vector<std::string> &lines) {
    std::size_t first = lines.size(), last = 0;
    for (const auto &[element, call] : calls) {
        first = std::min(first, call.first_line), last = std::max(last, call.last_line);
        for (std::size_t n = call.first_line; n <= call.last_line; ++n) lines[n].clear();
    }
    for (std::size_t n = first; n <= last; ++n) {
        for (const auto &[element, call] : calls) {
            if (mentions(lines[n], call.result)) throw std::runtime_error(call.result + " is used before its fragment");
        }
    }
    lines[last] = instruction(calls);
}

// `.extern .func (…) flashwright_mma ( … ) ;`
void erase_declaration(std::vector<std::string> &lines) {
    bool inside = false;
    for (std::string &line : lines) {
        inside = inside || (line.find(".extern .func") != std::string::npos && mentions(line, kMmaFunction));
        if (!inside) continue;
        inside = line.find(';') == std::string::npos;
        line.clear();
    }
}

}  // namespace

std::string fuse_mma_calls(const std::string &ptx) {
    std::vector<std::string> lines = lines_of(ptx);
    erase_declaration(lines);
    std::map<std::vector<std::string>, std::map<int, Call>> open;
    for (std::size_t n = 0; n < lines.size(); ++n) {
        Call call;
        if (!parse_call(lines, n, &call)) continue;
        std::map<int, Call> &fragment = open[call.operands()];
        if (!fragment.emplace(call.element(), call).second) throw std::runtime_error("an element is there twice");
        n = call.last_line;
        if (fragment.size() == 4) {
            fuse(fragment, lines);
            open.erase(call.operands());
        }
    }
    if (!open.empty()) throw std::runtime_error("calls are left over that are not four of a fragment");
    std::string text;
    for (const std::string &line : lines) {
        if (!line.empty()) text += line + "\n";
    }
    return text;
}

}  // namespace flashwright

#include "sass_listing.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr const char *kMultiplyAdd = "FFMA";
// Cycles until a result may be read. Shared memory, L1 and L2 as measured on A100 and H100 by Luo et al., "Benchmarking
// and Dissecting the Nvidia Hopper GPU Architecture" (2024), rounded. Of the eight vectors in a line of keys or values
// one comes from L2, the others from L1.
constexpr double kArithmetic = 4, kShared = 30, kL1 = 40, kL2 = 260;
constexpr double kVectorsOfLine = 8;
constexpr double kGlobal = (kL2 + (kVectorsOfLine - 1) * kL1) / kVectorsOfLine;

bool starts_with(const std::string &text, const char *prefix) { return text.rfind(prefix, 0) == 0; }

// Registers R<n> that are named from `start` on.
std::vector<int> registers_in(const std::string &text, std::size_t start) {
    std::vector<int> found;
    for (std::size_t i = text.find('R', start); i != std::string::npos; i = text.find('R', i + 1)) {
        const bool word = i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0;
        if (word && i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0)
            found.push_back(std::stoi(text.substr(i + 1)));
    }
    return found;
}

int registers_written(const std::string &opcode) {
    if (opcode.find(".128") != std::string::npos) return 4;
    if (opcode.find(".64") != std::string::npos || opcode.find(".WIDE") != std::string::npos) return 2;
    return starts_with(opcode, "CS2R") ? 2 : 1;
}

SassInstruction instruction_of(const std::string &opcode, const std::string &operands) {
    SassInstruction instruction;
    instruction.opcode = opcode.substr(0, opcode.find('.'));
    const std::size_t first = operands.find_first_not_of(' ');
    std::size_t sources = 0;
    if (first != std::string::npos && operands[first] == 'R' && first + 1 < operands.size() &&
        std::isdigit(static_cast<unsigned char>(operands[first + 1])) != 0) {
        instruction.writes = std::stoi(operands.substr(first + 1));
        instruction.written = registers_written(opcode);
        sources = std::min(operands.find(',', first), operands.size());
    }
    instruction.reads = registers_in(operands, sources);
    return instruction;
}

// `(.L_x_2) → .L_x_2
std::string jump_target(const std::string &operands) {
    const std::size_t open = operands.find("`("), close = operands.find(')');
    return open != std::string::npos && close != std::string::npos ? operands.substr(open + 2, close - open - 2) : "";
}

// Splits /*0100*/ @!P0 BRA `(.L_x_1) ; into opcode and operands; false for other lines.
bool split_instruction(const std::string &line, std::string *opcode, std::string *operands) {
    const std::size_t comment = line.find_first_not_of(" \t"), end = line.find(';');
    if (comment == std::string::npos || line.compare(comment, 2, "/*") != 0 || end == std::string::npos) return false;
    const std::size_t close = line.find("*/", comment);
    if (close == std::string::npos || close > end) return false;
    std::istringstream words(line.substr(close + 2, end - close - 2));
    if (!(words >> *opcode)) return false;
    if ((*opcode)[0] == '@' && !(words >> *opcode)) return false;
    operands->clear();
    std::getline(words, *operands);
    return true;
}

double count(const std::vector<const SassInstruction *> &body) {
    return static_cast<double>(
        std::count_if(body.begin(), body.end(), [](const auto *i) { return i->opcode == kMultiplyAdd; }));
}

double count(const SassListing &listing, const SassLoop &loop) {
    const auto begin = listing.instructions.begin();
    return static_cast<double>(std::count_if(begin + static_cast<std::ptrdiff_t>(loop.first),
                                             begin + static_cast<std::ptrdiff_t>(loop.last) + 1,
                                             [](const auto &i) { return i.opcode == kMultiplyAdd; }));
}

bool within(const SassLoop &inner, const SassLoop &outer) {
    return outer.first <= inner.first && inner.last <= outer.last &&
           inner.last - inner.first < outer.last - outer.first;
}

// Instructions in the order of execution, each loop inside as often as it takes to make `products` multiply-adds.
std::vector<const SassInstruction *> executed(const SassListing &listing, const SassLoop &loop, double products) {
    std::vector<const SassInstruction *> body;
    for (std::size_t i = loop.first; i <= loop.last; ++i) {
        body.push_back(&listing.instructions[i]);
        for (const SassLoop &inner : listing.loops) {
            if (inner.last != i || !within(inner, loop)) continue;
            const double each = count(listing, inner);
            const double trips = each > 0 ? std::max(1.0, std::round(products / each)) : 1;
            for (int trip = 1; trip < static_cast<int>(trips); ++trip) {
                for (std::size_t j = inner.first; j <= inner.last; ++j) body.push_back(&listing.instructions[j]);
            }
        }
    }
    return body;
}

double latency(const SassInstruction &instruction) {
    if (instruction.opcode == "LDG" || instruction.opcode == "LD") return kGlobal;
    return instruction.opcode == "LDS" ? kShared : kArithmetic;
}

// One instruction a cycle, in order, each when what it reads is there.
double cycles_alone(const std::vector<const SassInstruction *> &body) {
    std::map<int, double> ready;
    double now = 0;
    for (const SassInstruction *instruction : body) {
        double issued = now + 1;
        for (const int reg : instruction->reads) {
            const auto at = ready.find(reg);
            if (at != ready.end()) issued = std::max(issued, at->second);
        }
        for (int n = 0; n < instruction->written; ++n) ready[instruction->writes + n] = issued + latency(*instruction);
        now = issued;
    }
    return now;
}

}  // namespace

SassListing parse_sass(const std::string &text) {
    SassListing listing;
    std::map<std::string, std::size_t> labels;
    std::istringstream lines(text);
    std::string opcode, operands;
    for (std::string line; std::getline(lines, line);) {
        if (starts_with(line, ".L_x_")) {
            labels[line.substr(0, line.find(':'))] = listing.instructions.size();
        } else if (split_instruction(line, &opcode, &operands)) {
            const auto target = labels.find(jump_target(operands));
            // Jumps back; the one to itself that pads the code is no loop.
            if (starts_with(opcode, "BRA") && target != labels.end() && target->second < listing.instructions.size())
                listing.loops.push_back({target->second, listing.instructions.size()});
            listing.instructions.push_back(instruction_of(opcode, operands));
        }
    }
    return listing;
}

LoopCost hot_loop(const SassListing &listing, const GpuTiles &tiles) {
    const double products = static_cast<double>(tiles.rows) * tiles.block_k * tiles.channels_per_thread();
    // The product of weights and values is unrolled; half of it leaves room for what a compiler may make of it.
    std::vector<SassLoop> over_blocks;
    for (const SassLoop &loop : listing.loops) {
        if (count(listing, loop) >= products / 2) over_blocks.push_back(loop);
    }
    LoopCost best;
    for (const SassLoop &loop : over_blocks) {
        if (std::any_of(over_blocks.begin(), over_blocks.end(), [&](const SassLoop &o) { return within(loop, o); }))
            continue;
        const std::vector<const SassInstruction *> body = executed(listing, loop, products);
        const LoopCost cost = {static_cast<double>(body.size()), count(body), cycles_alone(body)};
        if (best.instructions == 0 || cost.share() > best.share()) best = cost;
    }
    if (best.instructions == 0) throw std::runtime_error("no loop over blocks of keys is found in its code");
    return best;
}

}  // namespace flashwright

#include "cpu_schedules.h"

namespace flashwright {
namespace {

// More than any machine has use for, and more than a compiler unrolls in a reasonable time.
constexpr int kLargestBlockQ = 1024, kMostVectors = 64, kLargestTranspose = 64;

std::string number(int value) { return std::to_string(value); }

// A register tile of `vectors` vectors for each unit of the parameter.
std::string check_register_tile(const char *parameter, int value, int vectors, int lanes, const char *times) {
    if (static_cast<long long>(value) * vectors <= static_cast<long long>(kMostVectors) * lanes) return {};
    return broken_rule(parameter, "at most " + number(kMostVectors) + " vectors in " + times + " x " + parameter,
                       value);
}

std::string check_multiple(const char *parameter, int value, int factor, const std::string &what) {
    return value % factor == 0 ? std::string() : broken_rule(parameter, "a multiple of " + what, value);
}

std::string first_of(std::initializer_list<std::string> sentences) {
    for (const std::string &sentence : sentences)
        if (!sentence.empty()) return sentence;
    return {};
}

std::string check_block_k(const CpuTiles &t) {
    if (t.block_k >= t.tile_k) return {};
    return broken_rule("block_k", "at least tile_k (" + number(t.tile_k) + ")", t.block_k);
}

std::string check_transpose_blocks(const CpuTiles &t) {
    if (t.tile_d > kLargestTranspose) return broken_rule("tile_d", "at most " + number(kLargestTranspose), t.tile_d);
    if ((t.tile_d & (t.tile_d - 1)) == 0 && t.block_q % t.tile_d == 0) return {};
    return broken_rule("tile_d", "a power of two that divides block_q (" + number(t.block_q) + ")", t.tile_d);
}

std::string rows_rule(const CpuTiles &t, int lanes) {
    const int rows = lanes * t.row_vectors;
    return first_of({check_block_k(t),
                     check_multiple("block_q", t.block_q, rows, "row_vectors vectors (" + number(rows) + " rows)"),
                     check_transpose_blocks(t),
                     check_register_tile("tile_k", t.tile_k, t.row_vectors, 1, "row_vectors"),
                     check_register_tile("tile_v", t.tile_v, t.row_vectors, 1, "row_vectors")});
}

std::string generic_rule(const CpuTiles &t, int lanes) {
    if (t.tile_d != 1) return broken_rule("tile_d", "1 in a generic kernel", t.tile_d);
    if (t.tile_k != 1) return broken_rule("tile_k", "1 in a generic kernel", t.tile_k);
    if (t.tile_v != 1) return broken_rule("tile_v", "1 in a generic kernel", t.tile_v);
    return rows_rule(t, lanes);
}

std::string decode_rule(const CpuTiles &t, int lanes) {
    const std::string vector = "the " + number(lanes) + " lanes of a vector";
    if (t.block_q >= lanes) return broken_rule("block_q", "less than " + vector, t.block_q);
    if (t.tile_d != lanes) return broken_rule("tile_d", vector, t.tile_d);
    if (t.row_vectors != 1) return broken_rule("row_vectors", "1 in a decode kernel", t.row_vectors);
    return first_of({check_block_k(t), check_multiple("tile_k", t.tile_k, lanes, vector),
                     check_multiple("tile_v", t.tile_v, lanes, vector),
                     check_register_tile("tile_k", t.tile_k, t.block_q, lanes, "block_q"),
                     check_register_tile("tile_v", t.tile_v, t.block_q, lanes, "block_q")});
}

// Register tiles of whole vectors, which keys fill whichever way they lie.
std::string blocks_rule(const CpuTiles &t, int lanes) {
    if (t.width % t.tile_k != 0) return broken_rule("tile_k", "a divisor of width (" + number(t.width) + ")", t.tile_k);
    return first_of({check_multiple("width", t.width, lanes, "the " + number(lanes) + " lanes of a vector"),
                     check_register_tile("tile_q", t.tile_q, t.width, lanes, "width"),
                     check_register_tile("tile_k", t.tile_k, t.width, lanes, "width")});
}

std::string whole_vectors_rule(const CpuTiles &t, int lanes) {
    return check_multiple("block_q", t.block_q, lanes, "the " + number(lanes) + " lanes of a vector");
}

std::vector<CpuTileParameter> forward_parameters() {
    return {{"block_q", 'q', &CpuTiles::block_q, false, "query rows of one task"},
            {"block_k", 'b', &CpuTiles::block_k, true, "keys of one block"},
            {"row_vectors", 'r', &CpuTiles::row_vectors, false, "vectors of query rows in a register tile"},
            {"tile_d", 'd', &CpuTiles::tile_d, false, "side of the blocks that Q and the output are transposed in"},
            {"tile_k", 'k', &CpuTiles::tile_k, false, "keys in the register tile of the dot products"},
            {"tile_v", 'v', &CpuTiles::tile_v, false, "value channels in the register tile of the weighted sum"}};
}

std::vector<CpuTileParameter> backward_parameters() {
    return {{"block_q", 'q', &CpuTiles::block_q, true, "queries of one call"},
            {"block_k", 'b', &CpuTiles::block_k, true, "keys of one call"},
            {"tile_k", 'k', &CpuTiles::tile_k, false, "keys in the register tile of dK and dV"},
            {"width", 'w', &CpuTiles::width, false, "keys, or channels, across the lanes of a register tile"},
            {"tile_q", 't', &CpuTiles::tile_q, false, "query rows in the register tile of scores, dP and dQ"}};
}

const CpuTileParameter kBlockQ = {"block_q", 'q', &CpuTiles::block_q, false, "query rows of one task"};
const CpuTileParameter kStepKeys = {"tile_k", 'k', &CpuTiles::tile_k, false, "keys that are taken in at once"};

}  // namespace

std::string CpuSchedule::why_illegal(const CpuTiles &tiles, int lanes) const {
    for (const CpuTileParameter &parameter : parameters) {
        const int value = tiles.*parameter.member;
        const int largest = parameter.member == &CpuTiles::block_q ? kLargestBlockQ : kLargestTile;
        if (value < 1 || value > largest)
            return broken_rule(parameter.name, "a whole number from 1 to " + number(largest), value);
    }
    return rule(tiles, lanes);
}

const std::vector<CpuSchedule> &cpu_schedules() {
    static const std::vector<CpuSchedule> schedules = {
        {Op::forward, Schedule::rows, forward_parameters(), rows_rule},
        {Op::forward, Schedule::decode, forward_parameters(), decode_rule},
        {Op::forward, Schedule::generic, forward_parameters(), generic_rule},
        {Op::backward, Schedule::blocks, backward_parameters(), blocks_rule},
        {Op::merge, Schedule::rows, {kBlockQ}, whole_vectors_rule},
        {Op::step, Schedule::rows, {kBlockQ, kStepKeys}, whole_vectors_rule},
    };
    return schedules;
}

const CpuSchedule *find_cpu_schedule(Op op, std::string_view name) {
    for (const CpuSchedule &schedule : cpu_schedules())
        if (schedule.op == op && name == schedule.name()) return &schedule;
    return nullptr;
}

std::string cpu_schedule_names(Op op) {
    std::string names;
    for (const CpuSchedule &schedule : cpu_schedules())
        if (schedule.op == op) names += (names.empty() ? "" : ", ") + std::string(schedule.name());
    return names;
}

}  // namespace flashwright

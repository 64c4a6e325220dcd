#include "tile_spaces.h"

#include "cpu_backward_space.h"
#include "cpu_forward_space.h"

#include <stdexcept>

namespace flashwright {
namespace {

const std::vector<const TileSpace *> &spaces() {
    static const std::vector<const TileSpace *> all = {&forward_rows_space(), &backward_blocks_space()};
    return all;
}

}  // namespace

const std::vector<std::string> &tunable_ops() {
    static const std::vector<std::string> ops = [] {
        std::vector<std::string> names;
        for (const TileSpace *space : spaces()) names.emplace_back(op_name(space->schedule->op));
        return names;
    }();
    return ops;
}

const TileSpace *find_tile_space(const std::string &op, const std::string &schedule) {
    const TileSpace *space = find_tile_space(op);
    return space != nullptr && schedule == space->schedule->name() ? space : nullptr;
}

const TileSpace *find_tile_space(const std::string &op) {
    for (const TileSpace *space : spaces())
        if (op == op_name(space->schedule->op)) return space;
    return nullptr;
}

const TileSpace &tile_space_of(const std::string &op) {
    const TileSpace *space = find_tile_space(op);
    if (space == nullptr) throw std::invalid_argument("op: expected forward or backward, got " + op);
    return *space;
}

}  // namespace flashwright

#include "tile_spaces.h"

#include "cpu_backward_space.h"
#include "cpu_forward_space.h"

#include <stdexcept>

namespace flashwright {

const std::vector<std::string> &tunable_ops() {
    static const std::vector<std::string> ops = {"forward", "backward"};
    return ops;
}

const TileSpace *find_tile_space(const std::string &op) {
    if (op == "forward") return &forward_space();
    if (op == "backward") return &gradient_space();
    return nullptr;
}

const TileSpace &tile_space_of(const std::string &op) {
    const TileSpace *space = find_tile_space(op);
    if (space == nullptr) throw std::invalid_argument("op: expected forward or backward, got " + op);
    return *space;
}

}  // namespace flashwright

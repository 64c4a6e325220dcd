#include "tile_space.h"

#include "isa.h"

#include <algorithm>
#include <stdexcept>

namespace flashwright {

CpuSearchContext cpu_search_context(const std::string &isa, int element_size, std::int64_t l1, std::int64_t l2,
                                    const SmallestShape &shape) {
    const Isa *row = find_isa(isa);
    if (row == nullptr) throw std::invalid_argument("isa: expected the name of an instruction set, got " + isa);
    return {lanes_of(*row, element_size), row->registers, element_size, l1, l2, shape};
}

bool fits_registers(int vectors, int columns, const CpuSearchContext &context) {
    return vectors * (columns + 1) + (context.registers > 16 ? 0 : 1) <= context.registers;
}

bool hides_latency(int vectors, int columns) {
    constexpr int kLeastAccumulators = 6;
    return vectors * columns >= kLeastAccumulators;
}

TileSpace::TileSpace(const CpuSchedule &of, const std::vector<Values> &values, Rule legal_rule, Rule search_rule,
                     std::vector<CpuTiles> (*search_starts)(const CpuSearchContext &))
    : schedule(&of) {
    for (std::size_t p = 0; p < of.parameters.size(); ++p) {
        parameters.push_back({of.parameters[p], values[p]});
    }
    illegal = legal_rule;
    not_worth_trying = search_rule;
    starts = search_starts;
}

int largest_value(const TileParameter &parameter, const CpuSearchContext &context, std::int64_t most, int step) {
    const std::vector<int> values = parameter.values(context);
    const auto found =
        std::find_if(values.rbegin(), values.rend(), [&](int value) { return value <= most && value % step == 0; });
    return found == values.rend() ? values.front() : *found;
}

}  // namespace flashwright

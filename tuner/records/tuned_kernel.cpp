#include "tuned_kernel.h"

#include "winners.h"

namespace flashwright {

void to_json(nlohmann::ordered_json &json, const TunedKernel &kernel) {
    const KernelFamily &family = kernel.family;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < kernel.rows.size(); ++i) {
        const TunedRow &row = kernel.rows[i];
        rows.push_back({{"shape", to_string(row.shape)},
                        {"verdict", row.win ? "win" : "tie"},
                        {"variant", row.win ? variant_id(family.space(), kernel.tiles[i]) : family.baseline_id},
                        {"ratio", row.ratio},
                        {"interval", {row.interval.low, row.interval.high}},
                        {"pairs", row.pairs},
                        {"noise_floor", row.noise_floor}});
    }
    json = {{"op", family.op},
            {"dtype", family.dtype},
            {"isa", family.isa},
            {"candidates", kernel.tried},
            {"space", kernel.space_size},
            {"failures", kernel.failures},
            {"rows", rows}};
}

}  // namespace flashwright

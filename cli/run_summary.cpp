#include "run_summary.h"

#include "message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flashwright {

std::string axes_text(const NamedTensor &tensor) {
    const auto rank = static_cast<std::size_t>(tensor.tensor.rank);
    std::vector<std::string> extents;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::string_view name = tensor.axes.at(tensor.axes.size() - rank + axis);
        extents.push_back(fmt::format("{} {}", name, tensor.tensor.shape[axis]));
    }
    return fmt::format("{} [{}]", tensor.name, fmt::join(extents, ", "));
}

void print_run(const std::string &kernel, double seconds, const std::vector<NamedTensor> &tensors) {
    std::string text = fmt::format("{}: {:.3g} ms\n", kernel, 1e3 * seconds);
    for (const NamedTensor &tensor : tensors) {
        text += fmt::format("  {}\n", axes_text(tensor));
    }
    print_message(text);
}

std::vector<NamedTensor> attention_inputs(const flashwright_tensor &q, const flashwright_tensor &k,
                                          const flashwright_tensor &v) {
    return {{"q", q, {"batch", "heads", "seqlen_q", "head_dim"}},
            {"k", k, {"batch", "heads_kv", "seqlen_k", "head_dim"}},
            {"v", v, {"batch", "heads_kv", "seqlen_k", "head_dim_v"}}};
}

}  // namespace flashwright

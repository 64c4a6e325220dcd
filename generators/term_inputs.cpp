#include "term_inputs.h"

namespace flashwright {

using namespace Halide;

void set_types(TermMatrices &matrices, const NumberTypes &types) {
    for (std::size_t n = 0; n < matrices.inputs.size(); n++) {
        const bool bytes = kTermMatrices[n].input.kind == InputKind::byte_matrix;
        matrices.inputs[n].set_type(bytes ? UInt(8) : buffer_type(types.storage));
    }
}

TermArguments term_arguments(const TermNumbers &numbers, const TermMatrices &matrices, const NumberTypes &types,
                             const Expr &diagonal_offset, const std::string &code_path,
                             const std::function<Expr(const Expr &)> &row_of) {
    TermArguments arguments;
    arguments.diagonal_offset = diagonal_offset;
    arguments.code_path = code_path;
    for (std::size_t n = 0; n < numbers.inputs.size(); n++) {
        arguments.numbers[kTermNumbers[n].input.name] = cast(types.accumulation, numbers.inputs[n]);
    }
    for (std::size_t n = 0; n < matrices.inputs.size(); n++) {
        const auto *matrix = &matrices.inputs[n];
        const bool bytes = kTermMatrices[n].input.kind == InputKind::byte_matrix;
        const auto element = [=](const Expr &row, const Expr &key) {
            const Expr stored = (*matrix)(key, row_of(row));
            return bytes ? stored : from_storage(stored, types);
        };
        arguments.matrices[kTermMatrices[n].input.name] = {element, matrix->dim(1).stride()};
    }
    return arguments;
}

}  // namespace flashwright

#include "kernel_plan.h"

#include "cpp_text.h"

namespace flashwright {
namespace {

// The parameters with their values, as {prefix}name{between}value, joined by commas.
std::string tiles_text(const KernelVariant &variant, const std::string &prefix, const std::string &between) {
    std::string text;
    for (const CpuTileParameter &parameter : variant.schedule->parameters)
        text += (text.empty() ? "" : ", ") + prefix + parameter.name + between +
                std::to_string(variant.tiles.*parameter.member);
    return text;
}

std::string kernel_source(const KernelEntry &entry, const KernelVariant &variant) {
    const std::string name = kernel_name(entry, variant), op = op_name(entry.op);
    return "    {.name = \"" + name + "\",\n     .op = Op::" + op + ",\n     .dtype = FLASHWRIGHT_" +
           upper(entry.dtype->name) + ",\n     .isa = \"" + entry.isa->name + "\",\n     .variant = \"" + variant.id +
           "\",\n     .terms = " + terms_expression(entry.terms) +
           ",\n     .schedule = Schedule::" + variant.schedule->name() + ",\n     .tiles = {" +
           tiles_text(variant, ".", " = ") + "},\n     .terms_text = \"" + terms_text(entry.terms, ",") +
           "\",\n     .tiles_json = " + string_literal("{" + tiles_text(variant, "\"", "\": ") + "}") + ",\n     ." +
           op + " = flashwright_" + name + "},\n";
}

std::string row_source(const KernelEntry &entry, const TunedShape &row) {
    return std::string("    {Op::") + op_name(entry.op) + ", FLASHWRIGHT_" + upper(entry.dtype->name) + ", \"" +
           entry.isa->name + "\", " + std::to_string(row.seqlen_q) + ", " + std::to_string(row.seqlen_k) + ", " +
           std::to_string(row.head_dim) + ", " + (row.causal ? "true" : "false") + ", \"" + row.variant + "\", " +
           nlohmann::json(row.ratio).dump() + "},\n";
}

std::string configurations_json(const std::vector<NamedConfiguration> &configurations) {
    nlohmann::ordered_json json = {{"files", nlohmann::ordered_json::array()},
                                   {"configurations", nlohmann::ordered_json::array()}};
    for (const NamedConfiguration &named : configurations) {
        json["files"].push_back(named.shown);
        json["configurations"].push_back(named.configuration->json);
    }
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string kernel_name(const KernelEntry &entry, const KernelVariant &variant) {
    return entry.name() + "_" + variant.id;
}

std::vector<std::string> type_arguments(const Dtype &dtype) {
    const Dtype &accumulation = *find_dtype(dtype.accumulation);
    std::vector<std::string> arguments = {std::string("dtype=") + dtype.halide};
    if (&accumulation != &dtype) arguments.push_back(std::string("accumulation=") + accumulation.halide);
    return arguments;
}

std::string generator_arguments(const KernelEntry &entry, const KernelVariant &variant, const System &system) {
    const std::string op = op_name(entry.op), name = kernel_name(entry, variant);
    std::string arguments = "-g " + op + " -f flashwright_" + name + " -n " + name +
                            " -e object,stmt,assembly target=" + halide_target(*entry.isa, system);
    for (const std::string &argument : type_arguments(*entry.dtype)) arguments += " " + argument;
    if (entry.terms != 0) arguments += " terms=" + terms_text(entry.terms, "+");
    arguments += std::string(" schedule=") + variant.schedule->name();
    for (const CpuTileParameter &parameter : variant.schedule->parameters) {
        if (parameter.run_time) continue;
        arguments += std::string(" ") + parameter.name + "=" + std::to_string(variant.tiles.*parameter.member);
    }
    return arguments;
}

std::string registry_source(const KernelCatalogue &catalogue, const std::vector<NamedConfiguration> &configurations) {
    std::string declarations, kernels, rows;
    std::size_t row_count = 0;
    for (const KernelEntry &entry : catalogue.entries()) {
        for (const KernelVariant &variant : entry.variants) {
            declarations += "std::remove_pointer_t<" + capitalised(op_name(entry.op)) + "Kernel> flashwright_" +
                            kernel_name(entry, variant) + ";\n";
            kernels += kernel_source(entry, variant);
        }
        for (const TunedShape &row : entry.table) rows += row_source(entry, row);
        row_count += entry.table.size();
    }
    const std::string include = "#include \"runtime/src/kernel_abi.h\"\n";  // of the generated file, not of this one
    return "// Generated from the configuration by flashwright_plan. Of one op, dtype, ISA and set of terms, the "
           "baseline comes first.\n" +
           include + R"(
#include <type_traits>

namespace flashwright {

// Hidden: the shared library exports its API alone.
#pragma GCC visibility push(hidden)
extern "C" {
)" + declarations +
           R"(}
#pragma GCC visibility pop

const Kernel kKernels[] = {
)" + kernels +
           R"(};
const int kKernelCount = sizeof(kKernels) / sizeof(kKernels[0]);

const TableRow kTable[] = {
)" + rows + R"(    {}  // ends the table, and is not counted: an array may not be empty
};
const int kTableCount = )" +
           std::to_string(row_count) + ";\n\nconst char *const kConfigJson =\n    " +
           string_literal(configurations_json(configurations)) + ";\n\n}  // namespace flashwright\n";
}

}  // namespace flashwright

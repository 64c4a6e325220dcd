#include "commands.h"
#include "support/file.h"
#include "support/text.h"
#include "tuner/records/html_report.h"
#include "tuner/records/kernel_tuner_cache.h"
#include "tuner/search/recorded_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace flashwright {
namespace {

struct ReportOptions {
    std::string results, output, kernel_tuner;
};

// One for each kernel and shape: FOLDER/forward_f32_avx512_1-8-8-1024-1024-64.json
std::string cache_path(const std::string &folder, const RecordedSpace &space) {
    std::string shape = space.shape;
    std::replace(shape.begin(), shape.end(), ',', '-');
    return (std::filesystem::path(folder) / fmt::format("{}_{}_{}_{}.json", space.op, space.dtype, space.isa, shape))
        .string();
}

std::string page(const RecordedRun &run, const std::string &path) {
    try {
        return html_report(run);
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(fmt::format("{}: expected results of flashwright tune: {}", path, error.what()));
    }
}

void report(const ReportOptions &options) {
    const RecordedRun run = read_results(options.results);
    std::vector<FileContent> files;
    if (!options.output.empty()) files.push_back({options.output, page(run, options.results), {nullptr, 0}});
    if (!options.kernel_tuner.empty()) {
        std::filesystem::create_directories(options.kernel_tuner);
        for (const RecordedSpace &space : run.spaces)
            files.push_back({cache_path(options.kernel_tuner, space),
                             dumped(kernel_tuner_cache(space, run.metadata), 1) + "\n",
                             {nullptr, 0}});
    }
    write_files(files);
}

}  // namespace

void add_report(CLI::App &app) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App *command = app.add_subcommand("report", "Show the results of flashwright tune as a page");
    command->add_option("results", options->results, "Results of flashwright tune")->required()->type_name("F");
    auto *output = command->add_option_group("output");
    output->add_option("-o,--output", options->output, "The page, HTML without a server")->type_name("F");
    output
        ->add_option("--kernel-tuner", options->kernel_tuner,
                     "Folder for cache files of Kernel Tuner, one a kernel and shape")
        ->type_name("DIR");
    output->require_option(1, 2);
    command->footer("Example:\n  flashwright report winners.t4.json -o report.html");
    command->callback([options] { report(*options); });
}

}  // namespace flashwright

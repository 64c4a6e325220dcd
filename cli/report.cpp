#include "tuner/records/report.h"
#include "commands.h"
#include "support/file.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace flashwright {
namespace {

struct ReportOptions {
    std::string results, output, kernel_tuner;
};

// FOLDER/forward_f32_avx512_1-8-8-1024-1024-64.json
std::string cache_path(const std::string &folder, const RecordedSpace &space) {
    std::string shape = space.shape;
    std::replace(shape.begin(), shape.end(), ',', '-');
    return (std::filesystem::path(folder) /
            fmt::format("{}_{}_{}_{}.json", space.kernel.op, space.kernel.dtype, space.kernel.isa, shape))
        .string();
}

void report(const ReportOptions &options) {
    const RecordedRun run = read_recorded_run(options.results);
    std::vector<FileContent> files;
    if (!options.output.empty()) files.push_back({options.output, html_report(run), {nullptr, 0}});
    if (!options.kernel_tuner.empty()) {
        std::filesystem::create_directories(options.kernel_tuner);
        for (const RecordedSpace &space : run.spaces)
            files.push_back({cache_path(options.kernel_tuner, space),
                             dumped(kernel_tuner_cache(space, run.results), 1) + "\n",
                             {nullptr, 0}});
    }
    write_files(files);
}

}  // namespace

void add_report(CLI::App &app) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App *command = app.add_subcommand("report", "Turn the results of flashwright tune into a page");
    command->add_option("results", options->results, "Results file of flashwright tune")->required()->type_name("F");
    auto *output = command->add_option_group("output");
    output->add_option("-o,--output", options->output, "HTML page, self-contained")->type_name("F");
    output
        ->add_option("--kernel-tuner", options->kernel_tuner,
                     "Folder for Kernel Tuner cache files, one for each kernel and shape")
        ->type_name("DIR");
    output->require_option(1, 2);
    command->footer("Example:\n  flashwright report winners.t4.json -o report.html");
    command->callback([options] { report(*options); });
}

}  // namespace flashwright

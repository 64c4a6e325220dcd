#include "candidate_builder.h"

#include "candidate.h"
#include "generator_program.h"
#include "kernels/kernel_plan.h"
#include "support/file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>

namespace flashwright {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMicroseconds = 5000;

std::string hash_of(const std::string &content) {
    const XXH128_hash_t hash = XXH3_128bits(content.data(), content.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// What build.json says about an entry of the cache.
struct BuildFacts {
    double seconds = 0;
    std::string object_hash, shared_object_hash;
};

void to_json(nlohmann::json &json, const BuildFacts &facts) {
    json = {{"seconds", facts.seconds},
            {"object_hash", facts.object_hash},
            {"shared_object_hash", facts.shared_object_hash}};
}

void from_json(const nlohmann::json &json, BuildFacts &facts) {
    json.at("seconds").get_to(facts.seconds);
    json.at("object_hash").get_to(facts.object_hash);
    json.at("shared_object_hash").get_to(facts.shared_object_hash);
}

}  // namespace

BuildRequest build_request_of(const GeneratorProgram &generator, const KernelFamily &family, const CpuTiles &tiles) {
    const auto target = generator.targets.find(family.isa);
    if (target == generator.targets.end())
        throw std::runtime_error(fmt::format("{}: no Halide target for ISA {}", generator.path, family.isa));
    BuildRequest request = {"-g",        family.op, "-f",     kCandidateSymbol,          "-n",
                            "candidate", "-e",      "object", "target=" + target->second};
    for (const std::string &argument : type_arguments(*find_dtype(family.dtype))) request.push_back(argument);
    request.push_back(std::string("schedule=") + family.space().schedule->name());
    for (const TileParameter &parameter : family.space().parameters) {
        if (!parameter.run_time) request.push_back(fmt::format("{}={}", parameter.name, tiles.*parameter.member));
    }
    return request;
}

GeneratorProgram find_generator() {
    GeneratorProgram program;
    find_generator_program({"FLASHWRIGHT_GENERATOR", "flashwright_generate", "the generator program", "the build"},
                           [&](const std::string &path, const nlohmann::ordered_json &facts) {
                               program = {path, facts.at("generator_hash"), facts.at("halide"), facts.at("targets")};
                           });
    return program;
}

std::string default_build_cache() {
    if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
        return std::string(cache) + "/flashwright";
    const char *home = std::getenv("HOME");
    return home != nullptr ? std::string(home) + "/.cache/flashwright"
                           : fmt::format("{}/flashwright-{}", fs::temp_directory_path().string(), getuid());
}

// One entry of the cache. A new entry is generated and linked in a folder that is renamed when it is complete.
class CandidateBuilder::Job {
 public:
    Job(const CandidateBuilder &builder, const BuildRequest &request) : builder_(builder), arguments_(request) {
        std::string key = builder.generator_.hash;
        for (const std::string &argument : arguments_) key += "\n" + argument;
        entry_ = fs::path(builder.cache_) / hash_of(key);
    }

    const fs::path &entry() const { return entry_; }

    bool ended() {
        if (done_) return true;
        if (!program_) {
            if (kept()) return true;
            scratch_ = fmt::format("{}.{}", entry_.string(), getpid());
            fs::remove_all(scratch_);
            fs::create_directories(scratch_);
            std::vector<std::string> command = {builder_.generator_.path, "-o", scratch_.string()};
            command.insert(command.end(), arguments_.begin(), arguments_.end());
            program_.emplace(command, builder_.limits_, (scratch_ / "log").string());
        }
        if (!program_->ended()) return false;
        build_.outcome = program_->outcome();
        build_.seconds += build_.outcome.seconds;
        if (build_.outcome.end != ChildEnd::finished) return give_up();
        if (linking_) return keep();
        linking_ = true;
        std::vector<std::string> command = {"ld"};
        for (const char *option : kCandidateLinkerOptions) command.emplace_back(option);
        for (const std::string &argument :
             {std::string("-o"), (scratch_ / "candidate.so").string(), (scratch_ / "candidate.o").string()})
            command.push_back(argument);
        program_.emplace(command, builder_.limits_, (scratch_ / "log").string());
        return false;
    }

    void interrupt() {
        if (done_) return;
        program_.reset();
        build_.outcome.end = ChildEnd::interrupted;
        give_up();
    }

    const Build &build() const { return build_; }

 private:
    bool give_up() {
        if (!scratch_.empty()) fs::remove_all(scratch_);
        return done_ = true;
    }

    bool keep() {
        const nlohmann::json facts = BuildFacts{build_.seconds, hash_of(text_of(scratch_ / "candidate.o")),
                                                hash_of(text_of(scratch_ / "candidate.so"))};
        fs::remove(scratch_ / "candidate.o");
        fs::remove(scratch_ / "log");
        std::ofstream(scratch_ / "build.json") << facts << "\n";
        std::error_code taken;  // another tuner has made the same entry
        fs::rename(scratch_, entry_, taken);
        if (taken) fs::remove_all(scratch_);
        if (!kept()) build_.outcome = {ChildEnd::failed, "the entry of the build cache was removed", build_.seconds};
        return done_ = true;
    }

    // Takes an existing entry. Removes one that a full disk or a crash has damaged.
    bool kept() {
        const std::string text = text_of(entry_ / "build.json");
        if (text.empty() && !fs::exists(entry_ / "build.json")) return false;
        const fs::path shared_object = entry_ / "candidate.so";
        try {
            const auto facts = nlohmann::json::parse(text).get<BuildFacts>();
            if (facts.shared_object_hash != hash_of(text_of(shared_object))) throw std::runtime_error("damaged");
            build_.object_hash = facts.object_hash;
            build_.seconds = facts.seconds;
        } catch (const std::exception &) {
            const fs::path away = fmt::format("{}.{}.damaged", entry_.string(), getpid());
            std::error_code gone;
            fs::rename(entry_, away, gone);
            fs::remove_all(away, gone);
            return false;
        }
        build_.shared_object = shared_object.string();
        return done_ = true;
    }

    const CandidateBuilder &builder_;
    std::vector<std::string> arguments_;
    fs::path entry_, scratch_;
    std::optional<ChildProgram> program_;
    bool linking_ = false, done_ = false;
    Build build_;
};

CandidateBuilder::CandidateBuilder(GeneratorProgram generator, std::string cache, int jobs, ChildLimits limits)
    : generator_(std::move(generator)), cache_(std::move(cache)), jobs_(std::max(jobs, 1)), limits_(limits) {
    fs::create_directories(cache_);
}

std::vector<Build> CandidateBuilder::build(const std::vector<BuildRequest> &requests,
                                           const StopRequested &stop_requested) {
    std::vector<std::unique_ptr<Job>> jobs;
    std::vector<std::size_t> job_of_request;
    for (const BuildRequest &request : requests) {
        auto job = std::make_unique<Job>(*this, request);
        const auto same =
            std::find_if(jobs.begin(), jobs.end(), [&](const auto &j) { return j->entry() == job->entry(); });
        job_of_request.push_back(static_cast<std::size_t>(same - jobs.begin()));
        if (same == jobs.end()) jobs.push_back(std::move(job));
    }
    std::vector<Job *> running;
    for (std::size_t next = 0; next < jobs.size() || !running.empty();) {
        while (next < jobs.size() && static_cast<int>(running.size()) < jobs_) running.push_back(jobs[next++].get());
        running.erase(std::remove_if(running.begin(), running.end(), [](Job *job) { return job->ended(); }),
                      running.end());
        if (stop_requested()) {
            for (const auto &job : jobs) job->interrupt();
            break;
        }
        if (!running.empty()) usleep(kPollMicroseconds);
    }
    std::vector<Build> builds;
    for (const std::size_t job : job_of_request) builds.push_back(jobs[job]->build());
    return builds;
}

}  // namespace flashwright

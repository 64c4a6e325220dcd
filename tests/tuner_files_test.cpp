// Journal and winners: cut anywhere, of another machine, of two writers.
#include "kernels/json_text.h"
#include "measure/hardware.h"
#include "support/text.h"
#include "tuner/records/journal.h"
#include "tuner/records/results.h"
#include "tuner/records/winners.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <sstream>

namespace flashwright::test {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class TunerFiles : public ::testing::Test {
 protected:
    void SetUp() override {
        folder = std::filesystem::temp_directory_path() / ("flashwright-test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string path(const std::string &name) const { return (folder / name).string(); }
    static std::string read(const std::string &path) {
        std::ostringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        return text.str();
    }
    static void write(const std::string &path, const std::string &text) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    }

    std::filesystem::path folder;
    const GeneratorProgram generator = {"generate", "hash", "21.0.0", {}};
};

TunedKernel tuned(std::int64_t length, bool win, int block_q = 64) {
    TunedKernel kernel;
    kernel.family = {"forward", "f32", "avx2", "v0", {24, 256, 3, 8, 4, 4}};
    TunedRow row;
    row.shape = {1, 8, 8, length, length, 64, 64, false};
    row.win = win;
    row.ratio = 0.9;
    row.interval = {0.89, 0.91};
    row.pairs = 40;
    kernel.rows = {row};
    kernel.tiles = {win ? CpuTiles{block_q, 128, 1, 8, 8, 8} : kernel.family.baseline_tiles};
    return kernel;
}

ordered_json winners(std::int64_t length, bool win, const GeneratorProgram &generator) {
    return winners_json({tuned(length, win)}, generator, "r.t4.json");
}

CandidateEntry candidate(int block_q) {
    CandidateEntry entry;
    entry.kernel = {"forward", "f32", "avx2"};
    entry.configuration = {{"block_q", block_q}};
    return entry;
}

TEST_F(TunerFiles, JournalSurvivesACutAtEveryByte) {
    const json identity = {{"machine", "m"}};
    {
        Journal journal(path("j"), identity, false);
        for (int i = 0; i < 3; ++i) journal.append(candidate(i));
    }
    const std::string whole = read(path("j"));
    std::size_t most = 0;
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
        write(path("cut"), whole.substr(0, bytes));
        {
            Journal journal(path("cut"), identity, true);
            EXPECT_GE(journal.entries().size(), most);
            most = journal.entries().size();
            journal.append(candidate(99));
        }
        Journal again(path("cut"), identity, true);
        ASSERT_EQ(again.entries().size(), most + 1) << "after a cut at " << bytes;
        EXPECT_EQ(json(again.entries().back()), json(candidate(99)));
    }
    EXPECT_EQ(most, 3U);
}

TEST_F(TunerFiles, JournalOfAnotherMachineIsLeftOut) {
    { Journal(path("j"), {{"machine", "a"}}, false).append(candidate(1)); }
    { Journal(path("j"), {{"machine", "b"}}, true).append(candidate(2)); }
    const Journal journal(path("j"), {{"machine", "a"}}, true);
    ASSERT_EQ(journal.entries().size(), 1U);
    EXPECT_EQ(journal.foreign(), 1U);
}

TEST_F(TunerFiles, StrangeJournalEntriesAreLeftOut) {
    const json identity = {{"machine", "m"}};
    const std::function<void(json &)> spoils[] = {
        [](json &e) { e.erase("entry"); },
        [](json &e) { e["entry"] = "remark"; },
        [](json &e) { e.erase("op"); },
        [](json &e) { e["isa"] = 5; },
        [](json &e) { e["configuration"] = 5; },
        [](json &e) { e["configuration"]["block_q"] = "many"; },
        [](json &e) { e.erase("verdict"); },
        [](json &e) { e["verdict"] = "fine"; },
        [](json &e) {
            e["shapes"] = {{"1,1,1,1,1,1", {{"ratio", nullptr}}}};
        },
        [](json &e) { e["compile_seconds"] = "long"; },
        [](json &e) { e["entry"] = "noise floor", e["noise_floor"] = 1; },
        [](json &e) {
            e["entry"] = "comparison", e["shape"] = "s", e["noise_floor"] = 0, e["pairs"] = 0, e["verdict"] = "tie",
            e["winner"] = json::object(), e["candidates"] = {5};
        },
    };
    {
        Journal journal(path("j"), identity, false);
        journal.append(candidate(1));
        CandidateEntry entry = candidate(3);
        entry.detail = "no UTF-8: \xff";
        journal.append(entry);
    }
    std::ofstream file(path("j"), std::ios::binary | std::ios::app);
    for (const auto &spoil : spoils) {
        json entry = candidate(2);
        spoil(entry);
        file << entry.dump() << "\n";
    }
    file.close();
    const Journal journal(path("j"), identity, true);
    EXPECT_EQ(journal.entries().size(), 2U);
    EXPECT_EQ(journal.foreign(), std::size(spoils));
}

TEST_F(TunerFiles, AJournalOfAnOlderVersionIsRefused) {
    write(path("j"), "{\"identity\": {\"machine\": \"m\"}}\n{\"trial\": {}}\n");
    try {
        Journal(path("j"), {{"machine", "m"}}, true);
        FAIL() << "an older journal was read";
    } catch (const std::runtime_error &error) {
        EXPECT_NE(std::string(error.what()).find("version 2"), std::string::npos) << error.what();
    }
}

// What is read equals what was written.
TEST_F(TunerFiles, EveryRecordSurvivesItsFile) {
    CandidateEntry right = candidate(1), wrong = candidate(2);
    right.baseline = true;
    right.error = 0.5;
    right.compile_seconds = 1;
    right.shapes = {{"1,1,1,1,1,1", {0.9, {1, 2}}}};
    right.duplicate_of = Configuration{{"block_q", 3}};
    wrong.verdict = Verdict::wrong;
    wrong.error = std::numeric_limits<double>::infinity();
    wrong.detail = "inf";
    wrong.failed_on = "1,1,1,1,1,1";
    ComparisonEntry comparison = {right.kernel, "", "1,1,1,1,1,1", 0.01, 40, true, {{"block_q", 1}}, {}};
    comparison.candidates = {{{{"block_q", 1}}, {true, 0.9, {0.8, 0.95}, 0.01, 40}}};
    const std::vector<JournalEntry> entries = {right, wrong, NoiseEntry{right.kernel, {{"1,1,1,1,1,1", 0.01}}},
                                               comparison};
    for (const JournalEntry &entry : entries) EXPECT_EQ(json(json(entry).get<JournalEntry>()), json(entry));
    const ordered_json results = results_of(entries, generator);
    EXPECT_EQ(results["results"].size(), 2U);
    EXPECT_EQ(ordered_json(results.get<TuningResults>()), results);
    ordered_json old = results;
    old["metadata"].erase("x_version");
    EXPECT_THROW(old.get<TuningResults>(), std::runtime_error);
}

TEST_F(TunerFiles, AJournalHasOneWriter) {
    const json identity = {{"machine", "m"}};
    Journal first(path("j"), identity, false);
    first.append(candidate(1));
    EXPECT_THROW(Journal(path("j"), identity, false), std::runtime_error);
    EXPECT_NE(read(path("j")).find("candidate"), std::string::npos);
}

TEST(TunerText, IsCutAtACharacter) {
    EXPECT_EQ(cut_text("abc", 3), "abc");
    EXPECT_EQ(cut_text("ab\u00e9", 3), "ab");
    EXPECT_EQ(cut_text("ab\u00e9", 4), "ab\u00e9");
}

// Whether reading the file fails with one line that names it.
bool cannot_be_read(const std::string &path, const GeneratorProgram &generator) {
    try {
        std::string foreign;
        read_winners(path, generator, &foreign);
    } catch (const ConfigurationError &error) {
        const std::string problem = error.what();
        EXPECT_EQ(problem.rfind(path + ":", 0), 0U) << problem;
        EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
        return true;
    }
    return false;
}

TEST_F(TunerFiles, WinnersCutAtEveryByteAreNamedAndKept) {
    std::string warning;
    write_winners(path("w.json"), winners(512, true, generator), generator, &warning);
    EXPECT_EQ(warning, "");
    const std::string whole = read(path("w.json"));
    EXPECT_FALSE(cannot_be_read(path("w.json"), generator));
    for (std::size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
        write(path("w.json"), whole.substr(0, bytes));
        EXPECT_TRUE(cannot_be_read(path("w.json"), generator)) << bytes;
    }
    EXPECT_THROW(write_winners(path("w.json"), winners(512, true, generator), generator, &warning), ConfigurationError);
    EXPECT_EQ(read(path("w.json")), whole.substr(0, whole.size() - 3));
}

TEST_F(TunerFiles, WinnersOfAnotherMachineOrGeneratorAreReplaced) {
    const ordered_json good = winners(512, true, generator);
    const std::function<void(ordered_json &)> spoils[] = {
        [](ordered_json &w) { w["machine"]["exact"] = "another"; },
        [](ordered_json &w) { w["toolchain"]["generator_hash"] = "another"; },
    };
    for (const auto &spoil : spoils) {
        ordered_json spoilt = good;
        spoil(spoilt);
        write(path("w.json"), spoilt.dump());
        std::string foreign, warning;
        EXPECT_TRUE(read_winners(path("w.json"), generator, &foreign).is_null()) << spoilt.dump();
        EXPECT_NE(foreign, "");
        write_winners(path("w.json"), good, generator, &warning);
        EXPECT_NE(warning.find("replaced"), std::string::npos) << warning;
    }
}

// What the build would refuse is an error, and the file stays as it is.
TEST_F(TunerFiles, StrangeWinnersAreNamedAndKept) {
    const ordered_json good = winners(512, true, generator);
    const std::function<void(ordered_json &)> spoils[] = {
        [](ordered_json &w) { w["schema_version"] = 3; },
        [](ordered_json &w) { w["kernels"] = 5; },
        [](ordered_json &w) { w.erase("machine"); },
        [](ordered_json &w) { w["notes"] = "of mine"; },
    };
    const std::function<void(ordered_json &)> entry_spoils[] = {
        [](ordered_json &k) { k["op"] = "sideward"; },
        [](ordered_json &k) { k["isa"] = "mmx"; },
        [](ordered_json &k) { k["isa"] = 7; },
        [](ordered_json &k) { k["terms"] = {"bias"}; },
        [](ordered_json &k) { k["default"] = "none"; },
        [](ordered_json &k) { k["variants"][1]["id"] = "Q 1"; },
        [](ordered_json &k) { k["variants"][1].erase("schedule"); },
        [](ordered_json &k) { k["variants"][1]["schedule"] = "columns"; },
        [](ordered_json &k) { k["variants"][1]["tiles"]["block_q"] = 1 << 20; },
        [](ordered_json &k) { k["variants"][1]["tiles"]["tile_k"] = "many"; },
        [](ordered_json &k) { k["variants"][1]["tiles"]["tile_k"] = 8.5; },
        [](ordered_json &k) { k["variants"][1]["tiles"]["width"] = 8; },
        [](ordered_json &k) { k["table"][0]["shape"]["causal"] = "no"; },
        [](ordered_json &k) { k["table"][0]["shape"]["seqlen_q"] = 0; },
        [](ordered_json &k) { k["table"][0]["shape"]["seqlen_k"] = (1 << 30) + 1; },
        [](ordered_json &k) { k["table"][0]["variant"] = "none"; },
        [](ordered_json &k) { k["table"][0]["ratio"] = 0; },
        [](ordered_json &k) { k["table"][0].erase("ratio"); },
        [](ordered_json &k) { k["table"].push_back(k["table"][0]); },
    };
    std::vector<ordered_json> files;
    for (const auto &spoil : spoils) spoil(files.emplace_back(good));
    for (const auto &spoil : entry_spoils) spoil(files.emplace_back(good)["kernels"][0]);
    for (const ordered_json &file : files) {
        SCOPED_TRACE(file.dump());
        write(path("w.json"), file.dump());
        EXPECT_TRUE(cannot_be_read(path("w.json"), generator));
        std::string warning;
        EXPECT_THROW(write_winners(path("w.json"), winners(1024, false, generator), generator, &warning),
                     ConfigurationError);
        EXPECT_EQ(read(path("w.json")), file.dump());
    }
}

TEST_F(TunerFiles, HandWrittenWinnersAreTaken) {
    ordered_json file = winners(512, true, generator);
    file.erase("toolchain");
    file["machine"] = {{"family", "any"}};
    file["kernels"][0].erase("table");
    write(path("w.json"), file.dump());
    std::string problem;
    const ordered_json taken = read_winners(path("w.json"), generator, &problem);
    EXPECT_EQ(problem, "");
    EXPECT_EQ(tiles_in(taken, tuned(512, true).family).size(), 2U);
}

TEST_F(TunerFiles, MergeKnowsAShapeInAnyOrder) {
    ordered_json file = winners(512, true, generator);
    file["kernels"][0]["table"][0]["shape"] = {
        {"causal", false}, {"head_dim", 64}, {"seqlen_k", 512}, {"seqlen_q", 512}};
    EXPECT_EQ(merge_winners(file, winners(512, false, generator))["kernels"][0]["table"].size(), 1U);
}

TEST_F(TunerFiles, MergeKeepsOtherShapesAndReplacesTheSame) {
    std::string warning;
    write_winners(path("w.json"), winners(512, true, generator), generator, &warning);
    write_winners(path("w.json"), winners(1024, false, generator), generator, &warning);
    write_winners(path("w.json"), winners(1024, true, generator), generator, &warning);
    EXPECT_EQ(warning, "");
    const ordered_json merged = json::parse(read(path("w.json")));
    ASSERT_EQ(merged["kernels"].size(), 1U);
    EXPECT_EQ(merged["kernels"][0]["table"].size(), 2U);
    EXPECT_EQ(merged["kernels"][0]["variants"].size(), 2U);
    EXPECT_EQ(merged["kernels"][0]["variants"][1]["id"], "q64b128r1d8k8v8");
}

TEST_F(TunerFiles, TwoWritersLoseNothing) {
    constexpr int kShapes = 12;
    std::vector<pid_t> children;
    for (const int first : {0, 1}) {
        const pid_t child = fork();
        if (child == 0) {
            std::string warning;
            for (int i = first; i < kShapes; i += 2)
                write_winners(path("w.json"), winners(64 + i, i % 3 == 0, generator), generator, &warning);
            _exit(warning.empty() ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(json::parse(read(path("w.json")))["kernels"][0]["table"].size(), std::size_t{kShapes});
}

TEST_F(TunerFiles, KilledWritersLeaveAWholeFile) {
    std::string warning;
    write_winners(path("w.json"), winners(512, true, generator), generator, &warning);
    for (int i = 0; i < 50; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            for (int k = 0;; ++k)
                write_winners(path("w.json"), winners(1000 + k % 7, true, generator), generator, &warning);
        }
        usleep(static_cast<useconds_t>(200 + i * 137 % 3000));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        std::string problem;
        ASSERT_FALSE(read_winners(path("w.json"), generator, &problem).is_null()) << problem;
    }
}

}  // namespace
}  // namespace flashwright::test

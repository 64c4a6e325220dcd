// The interpreter of PTX as a process that shares the fake driver's memory, and runs launches one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

struct Launch {
    const std::string &ptx;
    unsigned blocks[3], threads[3];
    const std::vector<std::size_t> &argument_bytes;  // 8 is an address
    const std::vector<std::uint64_t> &arguments;
};

class InterpreterProcess {
 public:
    // `memory` is the file of the device's memory.
    InterpreterProcess(const std::string &command, int memory);
    InterpreterProcess(const InterpreterProcess &) = delete;
    InterpreterProcess &operator=(const InterpreterProcess &) = delete;

    // Whether it ran; the process says on standard error why not. Addresses are of this process, where memory is at
    // `base`.
    bool run(const Launch &launch, std::uint64_t base);

    // Instructions of warps, of all launches.
    std::uint64_t executed() const { return executed_; }
    // From now on results do not matter: a launch that equals an earlier one in all but its addresses is not run, but
    // counted as that one was.
    void only_count() { only_counts_ = true; }

 private:
    std::FILE *socket_ = nullptr;
    std::uint64_t executed_ = 0;
    bool only_counts_ = false;
    std::map<std::string, std::uint64_t> known_;  // executed, by what decides it
};

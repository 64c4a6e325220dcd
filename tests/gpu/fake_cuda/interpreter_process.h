// The interpreter of PTX as a process that shares the fake driver's memory, and runs launches one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
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

 private:
    std::FILE *socket_ = nullptr;
};

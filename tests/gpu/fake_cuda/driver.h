// What the files of the fake driver share: its state, and what every function of the driver begins with.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "fake_cuda.h"
#include "interpreter_process.h"

namespace fake_cuda {

using Result = int;  // CUresult
constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201, kInvalidHandle = 400;
constexpr std::size_t kMemory = std::size_t{1} << 30;
constexpr std::size_t kAlignment = 256;

struct Module {
    std::string ptx;
};

struct Function {
    Module *module;
    std::string name;
    std::vector<std::size_t> argument_bytes;
};

struct State {
    std::mutex mutex;
    std::vector<Call> calls;
    int calls_to_failure = -1;
    Result failure = kSuccess;
    std::string never_fails;
    // Device memory is a file, which the interpreter maps, too. What was freed is used again when nothing is left.
    int file;
    char *memory;
    std::size_t used = kAlignment;
    std::map<std::uint64_t, std::size_t> allocations;
    std::set<Module *> modules;
    std::vector<std::unique_ptr<Function>> functions;
    std::unique_ptr<InterpreterProcess> interpreter;

    State();
};

State &state();

// The innermost context that is current in this thread.
void *current_context();

// Writes the call down; whether it shall go on.
Result enter(Call call);
Result enter(const char *function);
// The same for what needs a context.
Result enter_context(Call call);

}  // namespace fake_cuda

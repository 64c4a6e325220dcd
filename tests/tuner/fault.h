// The ways in which kernels fail that must never win. FAULT is the one that is compiled in.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>

enum Fault { kWrongScale = 1, kHalfWritten, kNaN, kSegfault, kAbort, kEndless, kMemory, kBeside };

// Those that need nothing of the kernel.
inline void fail() {
    switch (FAULT) {
        case kSegfault:
            // cppcheck-suppress nullPointer
            *static_cast<volatile int *>(nullptr) = 1;
            break;
        case kAbort:
            std::abort();
        case kEndless:
            for (volatile int i = 0;; i = i + 1) {
            }
        case kMemory: {
            constexpr std::size_t kBytes = std::size_t{64} << 30;
            void *memory = operator new(kBytes);
            std::memset(memory, 1, kBytes);
            operator delete(memory);
            break;
        }
        default:
            break;
    }
}

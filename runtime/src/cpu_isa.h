// The instruction sets of this processor (kernels/isa.h), and which of them this CPU can run.
#pragma once

#include "flashwright/flashwright.h"

namespace flashwright {

struct DetectedIsa {
    const char *name, *description;
    char features[160];  // that it needs, separated by commas; an ISA has all of the ISAs before it
    char missing[160];   // those of them that this CPU or operating system lacks
    bool usable;
};

// Worst first. Detected once.
int isa_count();
const DetectedIsa &isa(int index);

// -1: no such name.
int find_isa_index(const char *name);

// A comma-separated list of all names, for messages.
const char *isa_names();

// The best usable ISA that FLASHWRIGHT_ISA allows and the build has kernels for. Decided once.
struct IsaChoice {
    int index = -1;
    flashwright_status status;  // why there is none
};
const IsaChoice &default_isa();

// An ISA asked for by name: unknown names and what cannot run here are errors.
flashwright_status require_isa(const char *name, int *index);

}  // namespace flashwright

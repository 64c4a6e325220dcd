// The properties of this machine that tiles depend on, and how machines are told apart.
#pragma once

#include <cstdint>
#include <string>

namespace flashwright {

struct Hardware {
    std::string cpu_name;
    std::string exact;                    // all of this in one text: measurements are comparable where it is equal
    std::string family;                   // vendor, family and model of the processor
    std::int64_t l1 = 0, l2 = 0, l3 = 0;  // bytes of the data caches of one core; 0: none
    int cores = 1;                        // that this process may use
};

const Hardware &hardware();  // determined once

}  // namespace flashwright

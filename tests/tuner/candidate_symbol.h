// The function that the tuner looks up in a candidate. Its arguments depend on the list of score terms.
#pragma once

#include <tuple>
#include <type_traits>

// Defines flashwright_candidate as Fault::run(tuple of the arguments). It is a friend, since only a template can name
// the arguments. The file that instantiates this declares it with C linkage first.
template <typename Kernel, typename Fault>
struct CandidateSymbol;

template <typename... Arguments, typename Fault>
struct CandidateSymbol<int (*)(Arguments...), Fault> {
    friend int flashwright_candidate(Arguments... arguments) {
        Fault::run(std::tuple<Arguments...>(arguments...));
        return 0;
    }
};

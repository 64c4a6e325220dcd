// The generator parameters that say which types a kernel has.
#pragma once

#include "algorithm/storage.h"

#include <Halide.h>

#include <map>
#include <string>

namespace flashwright {

// `storage=float32 accumulation=float64`. By default `accumulation` is `storage`, and `storage` is `dtype`.
struct TypeParameters {
    enum class Choice { unset, float32, float64 };

    static std::map<std::string, Choice> names() {
        return {{"unset", Choice::unset}, {"float32", Choice::float32}, {"float64", Choice::float64}};
    }

    Halide::GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)};
    Halide::GeneratorParam<Choice> storage{"storage", Choice::unset, names()};
    Halide::GeneratorParam<Choice> accumulation{"accumulation", Choice::unset, names()};

    NumberTypes chosen(const Halide::Target &target) const {
        const Halide::Type stored = type_of(storage, dtype);
        return {stored, type_of(accumulation, stored), target};
    }

 private:
    static Halide::Type type_of(Choice choice, const Halide::Type &otherwise) {
        if (choice == Choice::unset) return otherwise;
        return Halide::Float(choice == Choice::float32 ? 32 : 64);
    }
};

}  // namespace flashwright

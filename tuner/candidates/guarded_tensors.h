// Tensors in memory that shows what was written: poisoned, and with canaries around each.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <initializer_list>
#include <random>
#include <vector>

namespace flashwright {

class GuardedTensors {
 public:
    // Gives each contiguous tensor memory of its own, all of it NaN; a boolean one is the last. They must outlive this.
    explicit GuardedTensors(const std::vector<flashwright_tensor *> &tensors);
    explicit GuardedTensors(std::initializer_list<flashwright_tensor *> tensors)
        : GuardedTensors(std::vector(tensors)) {}
    GuardedTensors(const GuardedTensors &) = delete;
    GuardedTensors &operator=(const GuardedTensors &) = delete;

    void poison();
    bool canaries_whole() const;  // nothing beside the tensors was written
    // All of it, canaries too.
    std::vector<std::byte> &memory() { return memory_; }

 private:
    std::vector<const flashwright_tensor *> tensors_;
    std::vector<std::byte> memory_;
};

// Standard normal values; given ones, row-major; the same one everywhere from row `begin` of axis 2.
void fill_normal(const flashwright_tensor &tensor, std::mt19937 &random);
void fill_with(const flashwright_tensor &tensor, const std::vector<double> &values);
void fill_rows(const flashwright_tensor &tensor, std::int64_t begin, double value);

}  // namespace flashwright

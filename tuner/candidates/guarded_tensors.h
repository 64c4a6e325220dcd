// Tensors in memory that detects writes: poisoned, with canaries around each tensor.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <initializer_list>
#include <random>
#include <vector>

namespace flashwright {

class GuardedTensors {
 public:
    // Gives each contiguous tensor its own memory, filled with NaN. A boolean tensor must be the last. The tensors must
    // outlive this.
    explicit GuardedTensors(const std::vector<flashwright_tensor *> &tensors);
    explicit GuardedTensors(std::initializer_list<flashwright_tensor *> tensors)
        : GuardedTensors(std::vector(tensors)) {}
    GuardedTensors(const GuardedTensors &) = delete;
    GuardedTensors &operator=(const GuardedTensors &) = delete;

    void poison();
    bool canaries_whole() const;  // nothing was written beside the tensors
    // With the canaries.
    std::vector<std::byte> &memory() { return memory_; }

 private:
    std::vector<const flashwright_tensor *> tensors_;
    std::vector<std::byte> memory_;
};

// Fills with standard normal values; with the given values, row-major; with `value` from row `begin` of axis 2 on.
void fill_normal(const flashwright_tensor &tensor, std::mt19937 &random);
void fill_with(const flashwright_tensor &tensor, const std::vector<double> &values);
void fill_rows(const flashwright_tensor &tensor, std::int64_t begin, double value);

}  // namespace flashwright

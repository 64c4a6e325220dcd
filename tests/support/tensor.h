// Tensors of the tests, with any strides. Outputs are filled with a poison first, and gaps and margins are checked.
#pragma once

#include <flashwright/flashwright.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace flashwright::test {

// What lies next to the bytes of a tensor: margins that must stay as they are, or an unreadable page.
enum class Place { margins, page_after, page_before };

// Bytes filled with a pattern that is NaN in every floating-point type.
class Memory {
 public:
    Memory(std::size_t bytes, Place place);
    ~Memory();
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    char *data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    bool margins_intact() const;

 private:
    Place place_;
    std::size_t bytes_, mapped_ = 0;
    std::vector<char> heap_;
    char *mapping_ = nullptr, *data_ = nullptr;
};

std::size_t size_of(flashwright_dtype dtype);
double largest_of(flashwright_dtype dtype);  // finite number
const char *name_of(flashwright_dtype dtype);
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t> &shape);

class Tensor {
 public:
    Tensor() = default;  // not given
    Tensor(flashwright_dtype dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {},
           Place place = Place::margins);

    bool given() const { return memory_ != nullptr; }
    flashwright_tensor view() const;
    flashwright_dtype dtype() const { return dtype_; }
    const std::vector<std::int64_t> &shape() const { return shape_; }
    const std::vector<std::int64_t> &strides() const { return strides_; }
    std::int64_t count() const;

    double get(const std::vector<std::int64_t> &index) const;
    void set(const std::vector<std::int64_t> &index, double value);
    std::vector<double> values() const;  // row-major
    void assign(const std::function<double(std::int64_t n)> &value);

    void poison();
    bool untouched() const;      // every byte as poisoned
    bool fully_written() const;  // no element holds the poison
    bool gaps_intact() const;    // what is not an element still holds the poison
    std::string bytes() const;   // elements in row-major order

 private:
    char *element(std::int64_t offset) const;
    double load(std::int64_t offset) const;
    void store(std::int64_t offset, double value);
    bool poisoned(std::int64_t offset) const;
    void for_each_offset(const std::function<void(std::int64_t offset)> &visit) const;

    flashwright_dtype dtype_ = FLASHWRIGHT_F32;
    std::vector<std::int64_t> shape_, strides_;
    std::int64_t origin_ = 0;  // elements from the first byte to index 0, for negative strides
    std::shared_ptr<Memory> memory_;
};

// The data of the tests, exact in every dtype: n is the row-major index, s tells tensors apart.
double g(std::int64_t n, int s);
void fill_g(Tensor &tensor, int s);

}  // namespace flashwright::test

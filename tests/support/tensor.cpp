#include "tensor.h"

#include "kernels/dtype_dispatch.h"
#include "reference/element.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace flashwright::test {

namespace {

constexpr unsigned char kPoison[4] = {0xfa, 0x7f, 0xfa, 0x7f};  // NaN in f16, f32 and f64
constexpr std::size_t kMargin = 256;

void fill_poison(char *data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i++) data[i] = static_cast<char>(kPoison[i % 4]);
}

bool holds_poison(const char *data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i++) {
        if (data[i] != static_cast<char>(kPoison[i % 4])) return false;
    }
    return true;
}

}  // namespace

Memory::Memory(std::size_t bytes, Place place) : place_(place), bytes_(bytes) {
    if (place == Place::margins) {
        heap_.resize(bytes + 2 * kMargin + 64);
        const auto start = reinterpret_cast<std::uintptr_t>(heap_.data()) + kMargin;
        data_ = heap_.data() + kMargin + (64 - start % 64) % 64;
        fill_poison(heap_.data() + (data_ - heap_.data()) % 4, heap_.size() - (data_ - heap_.data()) % 4);
        return;
    }
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
    mapped_ = inner + 2 * page;
    void *mapping = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::runtime_error("mmap failed");
    mapping_ = static_cast<char *>(mapping);
    mprotect(mapping_ + page, inner, PROT_READ | PROT_WRITE);
    data_ = place == Place::page_before ? mapping_ + page : mapping_ + page + inner - bytes;
    fill_poison(data_, bytes);
}

Memory::~Memory() {
    if (mapping_) munmap(mapping_, mapped_);
}

bool Memory::margins_intact() const {
    if (place_ != Place::margins) return true;  // an access there ends the process
    return holds_poison(data_ - kMargin, kMargin) &&
           holds_poison(data_ + (bytes_ + 3) / 4 * 4, kMargin - 4);  // a bool tensor may end inside a word
}

std::size_t size_of(flashwright_dtype dtype) { return static_cast<std::size_t>(element_type(dtype).bytes); }

double largest_of(flashwright_dtype dtype) { return largest_number(dtype); }

const char *name_of(flashwright_dtype dtype) { return element_type(dtype).name; }

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t> &shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;)
        strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
    return strides;
}

Tensor::Tensor(flashwright_dtype dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, Place place)
    : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {
    if (strides_.empty()) strides_ = contiguous_strides(shape_);
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < shape_.size(); axis++) {
        const std::int64_t reach = (shape_[axis] - 1) * strides_[axis];
        (reach < 0 ? origin_ : last) += reach < 0 ? -reach : reach;
    }
    const std::int64_t elements = count() == 0 ? 0 : origin_ + last + 1;
    if (count() == 0) origin_ = 0;
    memory_ = std::make_shared<Memory>(static_cast<std::size_t>(elements) * size_of(dtype_), place);
}

flashwright_tensor Tensor::view() const {
    flashwright_tensor view{};
    if (!given()) return view;
    view.data = element(0);
    view.dtype = dtype_;
    view.rank = static_cast<std::int32_t>(shape_.size());
    std::copy(shape_.begin(), shape_.end(), view.shape);
    std::copy(strides_.begin(), strides_.end(), view.strides);
    return view;
}

std::int64_t Tensor::count() const {
    std::int64_t count = 1;
    for (std::int64_t extent : shape_) count *= extent;
    return count;
}

char *Tensor::element(std::int64_t offset) const {
    return memory_->data() + (origin_ + offset) * static_cast<std::int64_t>(size_of(dtype_));
}

double Tensor::load(std::int64_t offset) const { return load_element(element(offset), dtype_); }

void Tensor::store(std::int64_t offset, double value) { store_element(value, dtype_, element(offset)); }

bool Tensor::poisoned(std::int64_t offset) const { return holds_poison(element(offset), size_of(dtype_)); }

void Tensor::for_each_offset(const std::function<void(std::int64_t offset)> &visit) const {
    if (count() == 0) return;
    std::vector<std::int64_t> index(shape_.size(), 0);
    std::int64_t offset = 0;
    for (;;) {
        visit(offset);
        std::size_t axis = shape_.size();
        while (axis-- > 0) {
            offset += strides_[axis];
            if (++index[axis] < shape_[axis]) break;
            offset -= strides_[axis] * shape_[axis];
            index[axis] = 0;
        }
        if (axis == static_cast<std::size_t>(-1)) return;
    }
}

double Tensor::get(const std::vector<std::int64_t> &index) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); axis++) offset += index[axis] * strides_[axis];
    return load(offset);
}

void Tensor::set(const std::vector<std::int64_t> &index, double value) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); axis++) offset += index[axis] * strides_[axis];
    store(offset, value);
}

std::vector<double> Tensor::values() const {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(count()));
    for_each_offset([&](std::int64_t offset) { values.push_back(load(offset)); });
    return values;
}

void Tensor::assign(const std::function<double(std::int64_t n)> &value) {
    std::int64_t n = 0;
    for_each_offset([&](std::int64_t offset) { store(offset, value(n++)); });
}

void Tensor::poison() { fill_poison(memory_->data(), memory_->bytes()); }

bool Tensor::untouched() const { return holds_poison(memory_->data(), memory_->bytes()) && memory_->margins_intact(); }

bool Tensor::fully_written() const {
    bool written = true;
    for_each_offset([&](std::int64_t offset) { written = written && !poisoned(offset); });
    return written;
}

bool Tensor::gaps_intact() const {
    const std::size_t size = size_of(dtype_);
    std::vector<bool> is_element(memory_->bytes() / size, false);
    for_each_offset([&](std::int64_t offset) { is_element[static_cast<std::size_t>(origin_ + offset)] = true; });
    for (std::size_t i = 0; i < is_element.size(); i++) {
        if (!is_element[i] && !holds_poison(memory_->data() + i * size, size)) return false;
    }
    return memory_->margins_intact();
}

std::string Tensor::bytes() const {
    std::string bytes;
    for_each_offset([&](std::int64_t offset) { bytes.append(element(offset), size_of(dtype_)); });
    return bytes;
}

double g(std::int64_t n, int s) { return static_cast<double>((37 * n + 101 * s + 13) % 97 - 48) / 32; }

void fill_g(Tensor &tensor, int s) {
    tensor.assign([s](std::int64_t n) { return g(n, s); });
}

}  // namespace flashwright::test

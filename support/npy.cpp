#include "npy.h"

#include "file.h"
#include "kernels/dtype_dispatch.h"
#include "npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace flashwright {
namespace {

// Magic and version, the length of the header, the header, the data.
constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMagicSize = 6;
constexpr std::size_t kVersionSize = 2;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLongestHeader = 1 << 16;

// False if the product of the extents other than 0 overflows.
bool byte_count(flashwright_dtype dtype, const std::vector<std::int64_t> &shape, std::size_t *bytes) {
    std::int64_t size = element_type(dtype).bytes;
    bool empty = false;
    for (const std::int64_t extent : shape) {
        empty = empty || extent == 0;
        if (extent != 0 && __builtin_mul_overflow(size, extent, &size)) {
            return false;
        }
    }
    *bytes = empty ? 0 : static_cast<std::size_t>(size);
    return true;
}

std::size_t little_endian(const unsigned char *bytes, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = count; i-- > 0;) {
        value = value << 8 | bytes[i];
    }
    return value;
}

std::string read_header_text(InputFile &file) {
    unsigned char start[kMagicSize + kVersionSize];
    file.read(start, sizeof start, "the 8 bytes that start an .npy file");
    if (std::memcmp(start, kMagic, kMagicSize) != 0) {
        throw std::runtime_error(
            fmt::format("not an .npy file: expected it to start with the bytes 93 4e 55 4d 50 59, "
                        "got {:02x}",
                        fmt::join(start, start + kMagicSize, " ")));
    }
    const int version = start[kMagicSize];
    if (version < 1 || version > 3) {
        throw std::runtime_error(fmt::format("expected .npy version 1 to 3, got {}.{}", version, start[7]));
    }
    unsigned char length_bytes[4];
    const std::size_t length_size = version == 1 ? 2 : 4;
    file.read(length_bytes, length_size, "the length of the header");
    const std::size_t length = little_endian(length_bytes, length_size);
    if (length > kLongestHeader) {
        throw std::runtime_error(fmt::format("expected a header of at most {} bytes, got {}", kLongestHeader, length));
    }
    std::string text(length, '\0');
    file.read(text.data(), length, fmt::format("a header of {} bytes", length));
    return text;
}

flashwright_dtype dtype_of(const std::string &descr) {
    std::string known;
    for (const flashwright_dtype dtype : kTensorDtypes) {
        const char *name = element_type(dtype).npy;
        if (descr == name) return dtype;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    throw std::runtime_error(fmt::format("expected elements of one of {}, got {}", known, descr));
}

NpyArray read_array(InputFile &file) {
    const NpyHeader header = parse_npy_header(read_header_text(file));
    NpyArray array;
    array.dtype = dtype_of(header.descr);
    array.shape = header.shape;
    array.fortran_order = header.fortran_order;
    std::size_t bytes = 0;
    const std::string what = fmt::format("{} {}", header.descr, shape_text(array.shape));
    if (!byte_count(array.dtype, array.shape, &bytes)) {
        throw std::runtime_error(fmt::format("{} is larger than any memory", what));
    }
    if (bytes != file.bytes_left()) {
        throw std::runtime_error(
            fmt::format("expected {} bytes of data for {}, got {}", bytes, what, file.bytes_left()));
    }
    array.data.reset(new std::byte[bytes]);
    file.read(array.data.get(), bytes, "the data");
    return array;
}

std::string file_start(const NpyArray &array) {
    std::string header = format_npy_header({element_type(array.dtype).npy, array.fortran_order, array.shape});
    constexpr std::size_t kFixed = kMagicSize + kVersionSize + 2;
    // Padded with spaces and a newline, so that the data is aligned in the file.
    const std::size_t total = (kFixed + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
    header.append(total - kFixed - header.size() - 1, ' ');
    header += '\n';
    std::string start(kMagic, kMagicSize);
    start += {'\x01', '\x00', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    return start + header;
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t> &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

NpyArray planned_array(flashwright_dtype dtype, std::vector<std::int64_t> shape) {
    NpyArray array;
    array.dtype = dtype;
    array.shape = std::move(shape);
    return array;
}

void allocate(const std::string &name, NpyArray &planned) {
    std::size_t bytes = 0;
    if (!byte_count(planned.dtype, planned.shape, &bytes)) {
        throw std::runtime_error(fmt::format("{} {} is larger than any memory", name, shape_text(planned.shape)));
    }
    planned.data = std::make_unique<std::byte[]>(bytes);
}

NpyArray new_array(const std::string &name, flashwright_dtype dtype, std::vector<std::int64_t> shape) {
    NpyArray array = planned_array(dtype, std::move(shape));
    allocate(name, array);
    return array;
}

flashwright_tensor tensor_of(const std::string &name, const NpyArray &array, std::size_t least_rank) {
    const std::size_t rank = array.shape.size();
    if (rank < least_rank || rank > 4) {
        throw std::runtime_error(
            fmt::format("{}: expected rank {} to 4, got {} {}", name, least_rank, rank, shape_text(array.shape)));
    }
    flashwright_tensor tensor = {};
    tensor.data = array.data.get();
    tensor.dtype = array.dtype;
    tensor.rank = static_cast<std::int32_t>(rank);
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < rank; ++i) {
        const std::size_t axis = array.fortran_order ? i : rank - 1 - i;
        tensor.shape[axis] = array.shape[axis];
        tensor.strides[axis] = stride;
        stride *= array.shape[axis];
    }
    return tensor;
}

NpyArray read_npy(const std::string &path) {
    try {
        InputFile file(path);
        return read_array(file);
    } catch (const std::runtime_error &error) {
        throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
    }
}

void write_npy(const std::vector<NpyOutput> &outputs) {
    std::vector<FileContent> files;
    for (const NpyOutput &output : outputs) {
        std::size_t bytes = 0;
        byte_count(output.array->dtype, output.array->shape, &bytes);
        files.push_back({output.path, file_start(*output.array), {output.array->data.get(), bytes}});
    }
    write_files(files);
}

}  // namespace flashwright

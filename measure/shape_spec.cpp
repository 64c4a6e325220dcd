#include "shape_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace flashwright {
namespace {

[[noreturn]] void fail(const std::string &text, const std::string &reason) {
    throw std::invalid_argument(
        fmt::format("shape: expected B,HQ,HKV,TQ,TK,D[,DV][,causal], got \"{}\" ({})", text, reason));
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> fields;
    for (std::size_t comma; (comma = text.find(',')) != std::string_view::npos; text.remove_prefix(comma + 1)) {
        fields.push_back(text.substr(0, comma));
    }
    fields.push_back(text);
    return fields;
}

// Far below where the product of all sizes would overflow.
constexpr std::int64_t kLargestExtent = 1 << 24;
constexpr double kLargestTensor = 1e12;

std::int64_t parse_extent(const std::string &text, std::string_view field) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || value < 1 || value > kLargestExtent) {
        fail(text, fmt::format("\"{}\" is not an integer from 1 to {}", field, kLargestExtent));
    }
    return value;
}

// Pairs of a query and a key that is not masked.
double unmasked_pairs(const ShapeSpec &shape) {
    double pairs = static_cast<double>(shape.seqlen_q) * static_cast<double>(shape.seqlen_k);
    if (shape.causal) {
        // Row i has min(i + 1, seqlen_k) keys: a triangle, then full rows.
        const double triangle = static_cast<double>(std::min(shape.seqlen_q, shape.seqlen_k));
        pairs = triangle * (triangle + 1) / 2 +
                (static_cast<double>(shape.seqlen_q) - triangle) * static_cast<double>(shape.seqlen_k);
    }
    return static_cast<double>(shape.batch) * static_cast<double>(shape.num_heads) * pairs;
}

}  // namespace

ShapeSpec parse_shape_spec(const std::string &text) {
    std::vector<std::string_view> fields = split(text);
    const bool causal = fields.back() == "causal";
    if (causal) {
        fields.pop_back();
    }
    if (fields.size() != 6 && fields.size() != 7) {
        fail(text, fmt::format("{} numbers instead of 6 or 7", fields.size()));
    }
    std::int64_t extents[7];
    std::transform(fields.begin(), fields.end(), extents,
                   [&](std::string_view field) { return parse_extent(text, field); });
    const ShapeSpec shape = {extents[0],
                             extents[1],
                             extents[2],
                             extents[3],
                             extents[4],
                             extents[5],
                             fields.size() == 7 ? extents[6] : extents[5],
                             causal};
    if (shape.num_heads % shape.num_heads_kv != 0) {
        fail(text, "HQ is not a multiple of HKV");
    }
    const double largest = static_cast<double>(shape.batch) * static_cast<double>(shape.num_heads) *
                           static_cast<double>(std::max(shape.seqlen_q, shape.seqlen_k)) *
                           static_cast<double>(std::max(shape.head_dim, shape.head_dim_v));
    if (largest > kLargestTensor) {
        fail(text, "too large");
    }
    return shape;
}

std::string to_string(const ShapeSpec &shape) {
    return fmt::format("{},{},{},{},{},{}{}{}", shape.batch, shape.num_heads, shape.num_heads_kv, shape.seqlen_q,
                       shape.seqlen_k, shape.head_dim,
                       shape.head_dim_v != shape.head_dim ? fmt::format(",{}", shape.head_dim_v) : "",
                       shape.causal ? ",causal" : "");
}

double forward_flops(const ShapeSpec &shape) {
    return unmasked_pairs(shape) * 2.0 * static_cast<double>(shape.head_dim + shape.head_dim_v);
}

double backward_flops(const ShapeSpec &shape) {
    return unmasked_pairs(shape) * static_cast<double>(6 * shape.head_dim + 4 * shape.head_dim_v);
}

double forward_elements(const ShapeSpec &shape) {
    const auto channels = static_cast<double>(shape.head_dim + shape.head_dim_v);
    return static_cast<double>(shape.batch) * channels *
           (static_cast<double>(shape.num_heads) * static_cast<double>(shape.seqlen_q) +
            static_cast<double>(shape.num_heads_kv) * static_cast<double>(shape.seqlen_k));
}

const std::vector<ShapeSpec> &default_shapes() {
    static const std::vector<ShapeSpec> shapes = {
        {1, 8, 8, 1024, 1024, 64, 64, false}, {1, 8, 8, 1024, 1024, 128, 128, false},
        {1, 8, 8, 1024, 1024, 64, 64, true},  {1, 8, 8, 4096, 4096, 64, 64, true},
        {8, 12, 12, 197, 197, 64, 64, false}, {1, 8, 8, 1000, 1000, 80, 80, false},
    };
    return shapes;
}

}  // namespace flashwright

#include "random_problem.h"

#include <cstdlib>

namespace flashwright::test {

namespace {

std::uint64_t seed() {
    const char *text = std::getenv("FLASHWRIGHT_TEST_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 20240601;
}

}  // namespace

RandomProblems::RandomProblems() : random_(seed()) {}

int RandomProblems::count(int otherwise) {
    const char *text = std::getenv("FLASHWRIGHT_TEST_RANDOM");
    return text != nullptr ? std::atoi(text) : otherwise;
}

std::int64_t RandomProblems::below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
}

bool RandomProblems::chance(int percent) { return below(100) < percent; }

Shape RandomProblems::shape() {
    Shape shape;
    shape.batch = 1 + below(2);
    shape.heads_kv = 1 + below(2);
    shape.heads = shape.heads_kv * (1 + below(3));
    shape.seqlen_q = 1 + below(chance(30) ? 150 : 20);
    shape.seqlen_k = 1 + below(chance(30) ? 300 : 60);
    shape.head_dim = 1 + below(chance(20) ? 100 : 24);
    shape.head_dim_v = 1 + below(chance(20) ? 100 : 24);
    return shape;
}

Options RandomProblems::options(const Shape &shape, bool general) {
    Options o;
    if (chance(30)) o.softmax_scale = static_cast<double>(below(200) - 100) / 200;
    o.causal = chance(40);
    if (chance(30))
        o.diagonal = below(shape.seqlen_k + shape.seqlen_q) - shape.seqlen_q;
    else if (chance(50))
        o.align = chance(70) ? FLASHWRIGHT_ALIGN_BOTTOM_RIGHT : FLASHWRIGHT_ALIGN_TOP_LEFT;
    if (chance(25)) o.window_left = below(shape.seqlen_k + 2) - 1;
    if (chance(25)) o.window_right = below(shape.seqlen_k + 2) - 1;
    if (chance(30)) o.key_fractions = {static_cast<double>(below(101)) / 100, static_cast<double>(below(101)) / 100};
    if (!chance(general ? 80 : 5)) return o;
    if (chance(40)) o.softcap = 0.5 + static_cast<double>(below(100)) / 10;
    if (chance(40)) o.bias = coverage(), o.bias_masks = chance(40);
    if (chance(40)) o.mask = coverage();
    o.alibi = chance(40);
    return o;
}

Form RandomProblems::form(std::int64_t kinds) {
    if (chance(75)) return Form::contiguous;
    constexpr Form kForms[] = {Form::sequence_major, Form::row_gap,     Form::reversed, Form::odd_ones,
                               Form::transposed,     Form::channel_gap, Form::shared};
    return kForms[below(kinds)];
}

Coverage RandomProblems::coverage() {
    Coverage c{chance(50), chance(50), chance(60), chance(50)};
    if (chance(20)) c.key_stride = chance(50) ? 2 : -1;
    if (!c.by_stride && !c.batch) c.rank = c.heads ? 3 : static_cast<int>(2 + below(3));
    return c;
}

}  // namespace flashwright::test

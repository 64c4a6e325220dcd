#include "options.h"

#include <limits>

namespace flashwright::test {

namespace {

constexpr auto kTopLeft = FLASHWRIGHT_ALIGN_TOP_LEFT;
constexpr auto kBottomRight = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

}  // namespace

Options everything() {
    Options o;
    o.softmax_scale = 0.4;
    o.causal = true;
    o.align = kBottomRight;
    o.window_left = 40;
    o.window_right = 3;
    o.softcap = 2.5;
    o.key_fractions = {0.9, 1, 0.3};
    o.bias = Coverage{};
    o.bias_masks = true;
    o.mask = Coverage{true, false, true, true, 4};
    o.alibi = true;
    return o;
}

std::vector<Options> option_table() {
    std::vector<Options> table;
    const auto add = [&](auto change) { table.push_back(options_with(change)); };
    add([](Options &) {});
    for (double scale : {0.0, -0.3, 1.0, 0.01}) add([=](Options &o) { o.softmax_scale = scale; });
    add([](Options &o) { o.causal = true; });
    add([](Options &o) { o.causal = true, o.align = kTopLeft; });
    add([](Options &o) { o.causal = true, o.align = kBottomRight; });
    for (std::int64_t diagonal :
         {std::int64_t{-5}, std::int64_t{3}, std::int64_t{70}, std::int64_t{-1000}, kLowest, kHighest}) {
        add([=](Options &o) { o.causal = true, o.diagonal = diagonal; });
        add([=](Options &o) { o.window_left = 9, o.window_right = 4, o.diagonal = diagonal; });
    }
    const std::pair<std::int64_t, std::int64_t> windows[] = {{0, 0},        {5, -1},       {-1, 7},         {17, 2},
                                                             {3, kHighest}, {kHighest, 0}, {1000000, 1000}, {64, 64}};
    for (auto [left, right] : windows) add([=](Options &o) { o.window_left = left, o.window_right = right; });
    add([](Options &o) { o.window_left = 12, o.window_right = 5, o.causal = true, o.align = kBottomRight; });
    add([](Options &o) { o.window_left = 12, o.window_right = 5, o.align = kBottomRight; });
    add([](Options &o) { o.key_fractions = {0.7, 0, 1, 0.05}; });
    add([](Options &o) { o.key_fractions = {0.6, 0.2}, o.causal = true, o.align = kBottomRight; });
    add([](Options &o) { o.key_fractions = {0.6, 0.2}, o.causal = true; });
    for (bool by_stride : {false, true}) {
        for (Coverage c : {Coverage{true, true, true}, Coverage{false, true, true}, Coverage{true, false, true},
                           Coverage{true, true, false}, Coverage{false, false, false}}) {
            c.by_stride = by_stride;
            add([=](Options &o) { o.bias = c, o.bias_masks = by_stride; });
            add([=](Options &o) { o.mask = c; });
        }
    }
    for (int rank : {1, 2, 3}) {
        const Coverage c{false, rank > 2, rank > 1, false, rank};
        add([=](Options &o) { o.bias = c; });
        add([=](Options &o) { o.mask = c; });
    }
    for (double cap : {0.5, 20.0}) add([=](Options &o) { o.softcap = cap; });
    add([](Options &o) { o.alibi = true; });
    add([](Options &o) { o.alibi = true, o.causal = true, o.align = kBottomRight; });
    add([](Options &o) { o.alibi = true, o.diagonal = -20; });
    add([](Options &o) { o.alibi = true, o.key_fractions = {0.5, 1}, o.align = kBottomRight; });
    table.push_back(everything());
    return table;
}

}  // namespace flashwright::test

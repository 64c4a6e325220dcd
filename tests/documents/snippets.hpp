// The names that C++ snippets in the documents use without declaring them; see check.py.
#pragma once

#include "flashwright/flashwright.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>

extern const float *q, *k, *v, *dout, *qkv, *out_a, *out_b, *lse_a, *lse_b, *scores;
extern float *out, *lse, *dq, *dk, *dv, *m, *l, *acc;
extern const std::initializer_list<std::int64_t> qs, ks;
extern const flashwright::ScoreOptions options;

struct MyPool {
    void run(std::int64_t count, const std::function<void(std::int64_t)> &task);
};
extern MyPool pool;

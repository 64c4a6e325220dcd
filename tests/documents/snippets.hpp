// The names that C++ snippets in the documents use without declaring them; see check.py.
#pragma once

#include "flashwright/flashwright.hpp"

#include <cstdint>
#include <cstdio>
#include <initializer_list>

extern const float *q, *k, *v, *dout, *qkv;
extern float *out, *lse, *dq, *dk, *dv;
extern const std::initializer_list<std::int64_t> qs, ks;
extern const flashwright::ScoreOptions options;

/* The names that C snippets in the documents use without declaring them; see check.py. */
#ifndef FLASHWRIGHT_SNIPPETS_H
#define FLASHWRIGHT_SNIPPETS_H

#include "flashwright/flashwright.h"
#include "flashwright/flashwright_gpu.h"

extern float *q, *k, *v, *out;
extern flashwright_forward_args args;
extern flashwright_backward_args backward_args;
extern void *context, *cuda_stream;

#endif

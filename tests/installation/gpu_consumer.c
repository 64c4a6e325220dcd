/* The GPU library from C: the CPU answers; without a device the GPU's answer is an error, and the output stays. */
#include <flashwright/flashwright_gpu.h>

#include <math.h>
#include <stdio.h>

static flashwright_tensor column(float *data, int64_t rows) {
    const flashwright_tensor tensor = {data, FLASHWRIGHT_F32, 2, {rows, 1}, {1, 1}};
    return tensor;
}

static int right(const char *where, flashwright_status status, float out) {
    printf("%s: %g %s\n", where, out, status.message);
    return status.code == FLASHWRIGHT_OK ? fabsf(out - 1.5F) < 1e-6F : isnan(out);
}

int main(void) {
    float q[1] = {0}, k[2] = {0, 0}, v[2] = {1, 2}, out[1] = {NAN};
    flashwright_forward_args args;
    flashwright_forward_args_init(&args);
    args.q = column(q, 1);
    args.k = column(k, 2);
    args.v = column(v, 2);
    args.out = column(out, 1);
    flashwright_status status = flashwright_forward(&args, NULL);
    if (status.code != FLASHWRIGHT_OK || !right("cpu", status, out[0])) return 1;
    const char *const backends[] = {"opencl", "cuda"};
    for (int n = 0; n < 2; ++n) {
        out[0] = NAN;
        status = flashwright_gpu_forward(&args, backends[n], NULL);
        if (!right(backends[n], status, out[0])) return 1;
    }
    const flashwright_gpu_stream nowhere = {"opencl", NULL, NULL, 0};
    return flashwright_gpu_forward_on_stream(&args, &nowhere, NULL).code == FLASHWRIGHT_UNSUPPORTED ? 0 : 1;
}

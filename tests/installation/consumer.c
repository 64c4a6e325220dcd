/* As consumer.cpp, by a C compiler. */
#include <flashwright/flashwright.h>

#include <math.h>
#include <stdio.h>

static flashwright_tensor column(float *data, int64_t rows) {
    const flashwright_tensor tensor = {data, FLASHWRIGHT_F32, 2, {rows, 1}, {1, 1}};
    return tensor;
}

int main(void) {
    float q[1] = {0}, k[2] = {0, 0}, v[2] = {1, 2}, out[1] = {NAN};
    flashwright_forward_args args;
    flashwright_forward_args_init(&args);
    args.q = column(q, 1);
    args.k = column(k, 2);
    args.v = column(v, 2);
    args.out = column(out, 1);
    const flashwright_status status = flashwright_forward(&args, NULL);
    printf("flashwright %s: %g %s\n", flashwright_version(), out[0], status.message);
    return status.code == FLASHWRIGHT_OK && fabsf(out[0] - 1.5F) < 1e-6F ? 0 : 1;
}

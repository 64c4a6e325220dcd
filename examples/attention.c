/* Causal attention over three tokens with two channels each, from C. */
#include "flashwright/flashwright.h"

#include <stdio.h>

static flashwright_tensor matrix(double *data, int64_t rows, int64_t columns) {
    const flashwright_tensor tensor = {data, FLASHWRIGHT_F64, 2, {rows, columns}, {columns, 1}};
    return tensor;
}

int main(void) {
    double q[] = {1, 0, 0, 1, 1, 1}, v[] = {1, 2, 3, 4, 5, 6}, out[6];
    flashwright_forward_args args;
    flashwright_forward_args_init(&args);
    args.q = args.k = matrix(q, 3, 2);
    args.v = matrix(v, 3, 2);
    args.out = matrix(out, 3, 2);
    args.score.causal = 1;
    const flashwright_status status = flashwright_forward(&args, NULL);
    if (status.code != FLASHWRIGHT_OK) {
        fprintf(stderr, "error: %s\n", status.message);
        return 1;
    }
    printf("%.6f %.6f\n%.6f %.6f\n%.6f %.6f\n", out[0], out[1], out[2], out[3], out[4], out[5]);
    return 0;
}

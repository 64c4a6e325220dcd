// One row over two equal keys: the mean of their values.
#include <flashwright/flashwright.h>

#include <cmath>
#include <cstdio>

int main() {
    float q[1] = {0}, k[2] = {0, 0}, v[2] = {1, 2}, out[1] = {NAN};
    flashwright_forward_args args;
    flashwright_forward_args_init(&args);
    args.q = {q, FLASHWRIGHT_F32, 2, {1, 1}, {1, 1}};
    args.k = {k, FLASHWRIGHT_F32, 2, {2, 1}, {1, 1}};
    args.v = {v, FLASHWRIGHT_F32, 2, {2, 1}, {1, 1}};
    args.out = {out, FLASHWRIGHT_F32, 2, {1, 1}, {1, 1}};
    const flashwright_status status = flashwright_forward(&args, nullptr);
    std::printf("flashwright %s: %g %s\n", flashwright_version(), static_cast<double>(out[0]), status.message);
    return status.code == FLASHWRIGHT_OK && std::fabs(out[0] - 1.5F) < 1e-6F ? 0 : 1;
}

// Causal attention over three tokens with two channels each.
#include "flashwright/flashwright.hpp"

#include <cstdio>

int main() {
    const double q[] = {1, 0, 0, 1, 1, 1}, v[] = {1, 2, 3, 4, 5, 6};
    double out[6] = {};
    flashwright::ScoreOptions options;
    options.causal = true;
    const flashwright::Status status =
        flashwright::forward({q, {3, 2}}, {q, {3, 2}}, {v, {3, 2}}, {out, {3, 2}}, {}, options);
    if (!status.ok()) {
        std::fprintf(stderr, "error: %s\n", status.message());
        return 1;
    }
    std::printf("%.6f %.6f\n%.6f %.6f\n%.6f %.6f\n", out[0], out[1], out[2], out[3], out[4], out[5]);
}

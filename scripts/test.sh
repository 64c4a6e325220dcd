#!/usr/bin/env bash
# Sets up, builds and runs every test: the release build with its tests under emulated processors, a part of them on emulated
# 64-bit Arm, then the suite under the undefined-behaviour, address and thread sanitizers, which share the generated kernels; at last a table
# of shapes in WebAssembly and on emulated RISC-V.
# Presets given as arguments replace that list.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh --tests
presets=("$@")
[ $# -gt 0 ] || presets=(release arm64 ubsan asan tsan)
for preset in "${presets[@]}"; do
    build "$preset"
    run_tests "$preset"
done
# Attention in WebAssembly and on emulated RISC-V vectors, from the archives for those targets.
[ $# -gt 0 ] || scripts/targets.sh wasm-32-wasmrt riscv-64-linux
say "All tests passed: ${presets[*]}"

#!/usr/bin/env bash
# Sets up, builds and runs every test: the release build, whose tests include emulated x86-64 processors; a part of the suite on
# emulated 64-bit Arm; the suite under the undefined-behaviour, address and thread sanitizers, which share the generated kernels; a table
# of shapes in WebAssembly and on emulated RISC-V.
# Arguments are presets that replace this list.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh --tests
presets=("$@")
[ $# -gt 0 ] || presets=(release arm64 ubsan asan tsan)
for preset in "${presets[@]}"; do
    build "$preset"
    run_tests "$preset"
done
# WebAssembly and emulated RISC-V vectors use the archives for those targets.
[ $# -gt 0 ] || scripts/targets.sh wasm-32-wasmrt riscv-64-linux
say "All tests passed: ${presets[*]}"

#!/usr/bin/env bash
# Sets up, builds and runs every test: the release build with its tests under emulated processors, a part of them on emulated
# 64-bit Arm, then the suite under the undefined-behaviour, address and thread sanitizers, which share the generated kernels.
# Presets given as arguments replace that list.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh
presets=("$@")
[ $# -gt 0 ] || presets=(release arm64 ubsan asan tsan)
for preset in "${presets[@]}"; do
    build "$preset"
    run_tests "$preset"
done
say "All tests passed: ${presets[*]}"

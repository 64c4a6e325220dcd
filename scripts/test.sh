#!/usr/bin/env bash
# Sets up, builds and runs every test: the release build with its tests under emulated processors, then the suite under the
# address and undefined-behaviour sanitizers, which share the generated kernels. The thread sanitizer takes longer: nightly.sh.
# Presets given as arguments replace that list.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh
presets=("$@")
[ $# -gt 0 ] || presets=(release ubsan asan)
for preset in "${presets[@]}"; do
    build "$preset"
    run_tests "$preset"
done
say "All tests passed: ${presets[*]}"

#!/usr/bin/env bash
# What takes too long for every change: the whole suite under emulated processors, random tests with many more problems,
# once more under the sanitizers.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh
for preset in release asan ubsan tsan; do
    build "$preset"
    FLASHWRIGHT_TEST_RANDOM=${FLASHWRIGHT_TEST_RANDOM:-20000} FLASHWRIGHT_TEST_SEED=${FLASHWRIGHT_TEST_SEED:-$(date +%Y%m%d)} \
        run_tests "$preset" --timeout 7200
done
for cpu in Nehalem Haswell; do
    say "The whole suite on an emulated $cpu"
    qemu-x86_64 -cpu $cpu build/release/bin/flashwright_tests
done
say "All nightly tests passed"

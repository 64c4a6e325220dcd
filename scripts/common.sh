# Sourced by the other scripts: paths, progress messages, and functions that build and test a preset.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=build/venv
cmake=$venv/bin/cmake
ctest=$venv/bin/ctest
jobs=$(nproc)

say() { printf '\n==> [%d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

# configure PRESET
configure() {
    say "Configuring $1"
    "$cmake" --preset "$1" -DFLASHWRIGHT_WERROR="${FLASHWRIGHT_WERROR:-OFF}"
}

# build PRESET [TARGET...]
build() {
    local preset=$1
    shift
    configure "$preset"
    [ $# -gt 0 ] || set -- all
    say "Building $preset: $*"
    "$cmake" --build --preset "$preset" --parallel "$jobs" --target "$@"
}

# run_tests PRESET [CTEST_ARGUMENT...]
run_tests() {
    local preset=$1
    shift
    say "Testing $preset $*"
    CUDA_TOOLS=${CUDA_TOOLS:-$(echo "$PWD/$venv"/lib/python3*/site-packages/nvidia/cu*/bin)} "$ctest" --preset "$preset" --parallel "$jobs" --no-tests=error "$@"
}

#!/usr/bin/env bash
# Static checks of the project's own sources. They take about two minutes. clang-tidy takes longer: scripts/tidy.sh.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh --checks

# files PATTERN...: the project's files that match one of these patterns. They come from git; in a tree without git, from the folders.
files() {
    if [ -e .git ]; then
        git ls-files "$@"
    else
        local patterns=() pattern
        for pattern in "$@"; do patterns+=(-o -path "./$pattern"); done
        find . -path ./build -prune -o -type f \( "${patterns[@]:1}" \) -print
    fi
}

mapfile -t sources < <(files '*.cpp' '*.h' '*.hpp' '*.c')
say "clang-format: ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}"

say "shellcheck"
mapfile -t shell_scripts < <(files '*.sh' .ci/run)
shellcheck -x "${shell_scripts[@]}"

say "Layers: includes from a lower folder to a higher one"
scripts/check_layers.py

say "Subjects of commits"
scripts/check_commits.sh

say "cppcheck"
# Tensors are read through pointers to their element type; that is not a mistake.
cppcheck --quiet --std=c++17 --language=c++ --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
    --suppress=missingIncludeSystem --suppress=uninitDerivedMemberVar --suppress=invalidPointerCast --library=googletest \
    --library=scripts/cppcheck.cfg -I. -Iruntime/include -Iruntime/src -j "$jobs" runtime kernels algorithm schedules generators \
    support reference measure tuner cli examples tests bench

say "API reference"
mkdir -p build/docs
FLASHWRIGHT_DOCS=build/docs FLASHWRIGHT_VERSION='' doxygen docs/Doxyfile

say "All static checks passed"

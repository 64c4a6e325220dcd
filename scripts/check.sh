#!/usr/bin/env bash
# Static checks of the project's sources. They take a minute. clang-tidy takes longer and is in scripts/nightly.sh.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh --checks

mapfile -t sources < <(git ls-files '*.cpp' '*.h' '*.hpp' '*.c')
say "clang-format: ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}"

say "shellcheck"
mapfile -t shell_scripts < <(git ls-files '*.sh' .ci/run)
shellcheck -x "${shell_scripts[@]}"

say "cppcheck"
cppcheck --quiet --std=c++17 --language=c++ --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
    --suppress=missingIncludeSystem --suppress=uninitDerivedMemberVar -Iruntime/include -Iruntime/src -Ituner -j "$jobs" runtime tuner cli examples

say "API reference"
mkdir -p build/docs
FLASHWRIGHT_DOCS=build/docs FLASHWRIGHT_VERSION='' doxygen docs/Doxyfile

say "All static checks passed"

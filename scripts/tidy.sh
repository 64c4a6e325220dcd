#!/usr/bin/env bash
# tidy.sh [PATH...]: clang-tidy over the project's C++ sources, or over those whose path begins with a given one (tidy.sh kernels cli/).
# The compile commands come from the release preset and from the programs that the build runs, which are CMake projects of their own.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh --checks
work=build/tidy
projects=(generators generators/gpu kernels/plan)
configure release
for project in "${projects[@]}"; do
    say "Configuring $project"
    "$cmake" -S "$project" -B "$work/$project" -G Ninja "-DCMAKE_MAKE_PROGRAM=$PWD/$venv/bin/ninja" "-DCMAKE_PREFIX_PATH=$PWD/$venv" \
        -DCMAKE_BUILD_TYPE=None -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
done

# Merges the compile commands into one file, and lists the sources. Files in build/ are generated.
mapfile -t sources < <(
    python3 - $work build/release "${projects[@]/#/$work/}" <<'PYTHON'
import json, os, sys
work, *folders = sys.argv[1:]
commands = {}
for folder in folders:
    for command in json.load(open(f"{folder}/compile_commands.json")):
        path = os.path.relpath(command["file"])
        if not path.startswith("build/"):
            commands.setdefault(path, command)
json.dump(list(commands.values()), open(f"{work}/compile_commands.json", "w"))
print("\n".join(commands))
PYTHON
)
chosen=()
for source in "${sources[@]}"; do
    [ $# -gt 0 ] || chosen+=("$source")
    for path in "$@"; do
        [[ $source != "$path"* ]] || chosen+=("$source")
    done
done
say "clang-tidy: ${#chosen[@]} files"
printf '%s\n' "${chosen[@]}" | xargs -P "$jobs" -n 1 clang-tidy --quiet -p $work
say "clang-tidy found nothing"

#!/usr/bin/env bash
# targets.sh [TARGET...]: makes archives for other targets (docs/packaging.md), for the element types in FLASHWRIGHT_TARGETS_DTYPES (f32).
# If this machine or an emulator can run a target, its compiler builds the archive, and a table of shapes is run. For the other targets
# the script checks the format of the objects and runs nothing.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh
scripts/setup.sh --targets
targets=("$@")
[ $# -gt 0 ] || targets=(x86-64-linux arm-64-linux x86-64-windows x86-64-osx arm-64-osx riscv-64-linux wasm-32-wasmrt)

declare -A formats=([linux]=7f454c46 [windows]=6486 [osx]=cffaedfe [wasmrt]=0061736d)
declare -A toolchains=([x86-64-linux]=native [arm-64-linux]=aarch64-linux-gnu [riscv-64-linux]=riscv64-linux-gnu
    [wasm-32-wasmrt]=wasm32-wasi)

work=build/targets
list=$(printf '%s;' "${targets[@]}")
say "Archives for ${targets[*]}"
"$cmake" --preset release -B $work "-DFLASHWRIGHT_TARGETS=${list%;}" "-DFLASHWRIGHT_TARGETS_OPS=forward;backward" \
    "-DFLASHWRIGHT_TARGETS_DTYPES=${FLASHWRIGHT_TARGETS_DTYPES:-f32}" -DFLASHWRIGHT_BACKENDS= -DFLASHWRIGHT_BUILD_PROGRAM=OFF \
    -DFLASHWRIGHT_BUILD_TESTS=OFF >/dev/null
"$cmake" --build $work --parallel "$jobs" --target flashwright_targets

for target in "${targets[@]}"; do
    archives=("$work"/targets/flashwright-*-"$target".tar.gz)
    name=$(basename "${archives[-1]}" .tar.gz)
    rm -rf "${work:?}/run/$target"
    mkdir -p "$work/run/$target"
    tar xzf "${archives[-1]}" -C "$work/run/$target"
    for object in "$work/run/$target/$name"/objects/*; do
        start=$(od -An -tx1 -N4 "$object" | tr -d ' ')
        if [[ $start != "${formats[${target##*-}]}"* ]]; then
            echo "error: $object: expected an object for ${target##*-}, got one that starts with $start"
            exit 1
        fi
    done
    if [ -z "${toolchains[$target]:-}" ]; then
        say "$target: $(find "$work/run/$target/$name/objects" -type f | wc -l) objects in the target's format; skipped: nothing here can run them"
        continue
    fi
    say "$target: building from its archive, and running"
    arguments=()
    [ "${toolchains[$target]}" = native ] || arguments=(--toolchain "$PWD/cmake/toolchains/${toolchains[$target]}.cmake")
    "$cmake" -S tests/targets -B "$work/run/$target/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_MAKE_PROGRAM=$PWD/$venv/bin/ninja" \
        "-DARCHIVE=$PWD/$work/run/$target/$name" "${arguments[@]}" >/dev/null
    "$cmake" --build "$work/run/$target/build" --parallel "$jobs"
    "$ctest" --test-dir "$work/run/$target/build" --no-tests=error --output-on-failure
done
say "All archives are good"

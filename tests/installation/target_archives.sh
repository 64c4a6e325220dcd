#!/usr/bin/env bash
# target_archives.sh WORK SOURCE CMAKE CONFIGURE_ARGUMENT...: archives for targets that no compiler here knows. Their kernels are objects
# of those targets, nothing that the library's CMakeLists.txt names is missing, and an unknown target is an error. Nothing is run.
set -euo pipefail
work=$1 source=$2 cmake=$3
shift 3
configure() {
    "$cmake" -S "$source" -B "$work/build" -DFLASHWRIGHT_TARGETS_OPS=merge -DFLASHWRIGHT_TARGETS_DTYPES=f32 \
        -DFLASHWRIGHT_BACKENDS= -DFLASHWRIGHT_BUILD_PROGRAM=OFF -DFLASHWRIGHT_BUILD_TESTS=OFF "$@"
}
fail() {
    echo "FAILED: $*"
    exit 1
}

# check TARGET FIRST_BYTES KERNELS
check() {
    local folder object start file
    tar xzf "$work"/build/targets/flashwright-*-"$1".tar.gz -C "$work"
    folder=$(find "$work" -maxdepth 1 -name "flashwright-*-$1")
    [ "$(find "$folder/objects" -type f | wc -l)" = "$3" ] || fail "$1: expected $3 kernels, got: $(ls "$folder/objects")"
    for object in "$folder"/objects/*; do
        start=$(od -An -tx1 -N4 "$object" | tr -d ' ')
        [[ $start == "$2"* ]] || fail "$1: $object starts with $start, expected $2"
    done
    for file in CMakeLists.txt LICENSE halide/LICENSE.txt halide/HalideRuntime.h include/flashwright/flashwright.hpp \
        runtime/src/forward.cpp runtime/src/kernel_registry.cpp kernels/cpu_tiles.h; do
        [ -s "$folder/$file" ] || fail "$1: no $file"
    done
    echo "$1: $3 kernels in the target's format; not executed"
}

rm -rf "$work"
mkdir -p "$work"
configure "-DFLASHWRIGHT_TARGETS=x86-64-windows;arm-64-osx" "$@"
"$cmake" --build "$work/build" --target flashwright_targets
check x86-64-windows 6486 4
check arm-64-osx cffaedfe 1
configure -DFLASHWRIGHT_TARGETS=mips-32-linux "$@" >"$work/log" 2>&1 && fail "an unknown target was taken"
tr -s " \n" " " <"$work/log" | grep -q "FLASHWRIGHT_TARGETS: expected any of x86-64-linux, .*; got mips-32-linux" ||
    fail "$(cat "$work/log")"

#!/usr/bin/env bash
# `run forward --backend`: recorded tensors of a sentence encoder by OpenCL; and a machine without a driver, where one clear
# error comes and the CPU works as ever.
set -euo pipefail
data=$FLASHWRIGHT_SOURCE_DIR/examples/data/minilm
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
run() {
    "$FLASHWRIGHT_BIN" run forward --q "$data/q.npy" --k "$data/k.npy" --v "$data/v.npy" --key-lengths "$data/key_lengths.npy" \
        --out "$out/out.npy" --lse "$out/lse.npy" --verify "$@"
}
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

for backend in opencl cuda; do
    if OCL_ICD_VENDORS=/nowhere/ CUDA_VISIBLE_DEVICES='' run --backend $backend 2>"$out/error"; then
        fail "$backend ran without a driver"
    fi
    cat "$out/error"
    [ "$(wc -l <"$out/error")" = 1 ] || fail "expected one line"
    grep -q "^error: backend: expected a working $backend driver and device" "$out/error" || fail "expected the driver to be missed"
    [ ! -e "$out/out.npy" ] || fail "an output was written"
done
run --backend cpu
if run --backend opencl --isa avx2 2>"$out/error"; then fail "--isa was accepted"; fi
grep -q '^error: isa' "$out/error" || fail "expected isa to be named"

rm "$out"/*.npy
if ! run --backend opencl 2>"$out/error"; then
    cat "$out/error"
    grep -q clGetPlatformIDs "$out/error" || fail "OpenCL did not run"
    echo "SKIP: no OpenCL device"
    exit 77
fi
[ -s "$out/out.npy" ] || fail "no output"

#!/usr/bin/env bash
# `run forward` and `run backward` with --backend: recorded tensors of a sentence encoder by OpenCL; and a machine without a
# driver, where one clear error comes and the CPU works as ever.
set -euo pipefail
data=$FLASHWRIGHT_SOURCE_DIR/examples/data/minilm
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
inputs=(--q "$data/q.npy" --k "$data/k.npy" --v "$data/v.npy" --key-lengths "$data/key_lengths.npy" --verify)
forward() {
    "$FLASHWRIGHT_BIN" run forward "${inputs[@]}" --out "$out/out.npy" --lse "$out/lse.npy" "$@"
}
backward() {
    "$FLASHWRIGHT_BIN" run backward "${inputs[@]}" --out "$data/out.npy" --lse "$data/lse.npy" --dout "$data/q.npy" \
        --dq "$out/dq.npy" --dk "$out/dk.npy" --dv "$out/dv.npy" "$@"
}
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

for operation in forward backward; do
    for backend in opencl cuda; do
        if OCL_ICD_VENDORS=/nowhere/ CUDA_VISIBLE_DEVICES='' $operation --backend $backend 2>"$out/error"; then
            fail "$operation by $backend ran without a driver"
        fi
        cat "$out/error"
        [ "$(wc -l <"$out/error")" = 1 ] || fail "expected one line"
        grep -q "^error: backend: expected a working $backend driver and device" "$out/error" ||
            fail "expected the driver to be missed"
        [ -z "$(find "$out" -name '*.npy')" ] || fail "an output was written"
    done
    if $operation --backend opencl --isa avx2 2>"$out/error"; then fail "--isa was accepted"; fi
    grep -q '^error: isa' "$out/error" || fail "expected isa to be named"
    $operation --backend cpu
    rm "$out"/*.npy
done

if ! forward --backend opencl 2>"$out/error"; then
    cat "$out/error"
    grep -q clGetPlatformIDs "$out/error" || fail "OpenCL did not run"
    echo "SKIP: no OpenCL device"
    exit 77
fi
backward --backend opencl
for output in out lse dq dk dv; do
    [ -s "$out/$output.npy" ] || fail "no $output"
done

#!/usr/bin/env bash
# The tile of scores for tensor cores, assembled: HMMA instructions, and no call. Needs ptxas, and nvdisasm (PyPI:
# nvidia-cuda-nvdisasm) on the PATH, in /usr/local/cuda/bin or in the folder that CUDA_TOOLS names.
set -euo pipefail
PATH=${CUDA_TOOLS:+$CUDA_TOOLS:}$PATH:/usr/local/cuda/bin
for tool in ptxas nvdisasm; do
    if ! command -v $tool >/dev/null; then
        echo "SKIP: no $tool"
        exit 77
    fi
done
if [ ! -e "${FLASHWRIGHT_TENSOR_CORE_TILE:-}" ]; then
    echo "SKIP: no CUDA in this build"
    exit 77
fi
cubin=$(mktemp)
trap 'rm -f "$cubin"' EXIT
expected=32 # 8 fragments of 8 keys, by 4 steps of 16 channels
grep -aq mma.sync "${FLASHWRIGHT_TENSOR_CORE_TILE%.ptx}.o" || {
    echo "FAILED: the object holds other PTX"
    exit 1
}
for arch in sm_80 sm_90; do
    ptxas -arch=$arch "$FLASHWRIGHT_TENSOR_CORE_TILE" -o "$cubin"
    opcodes=$(nvdisasm -c "$cubin" | grep -oE '\b(HMMA|CALL)[.A-Z0-9]*' | sort | uniq -c | xargs)
    echo "$arch: $opcodes"
    if [ "$opcodes" != "$expected HMMA.16816.F32" ]; then
        echo "FAILED: expected $expected HMMA.16816.F32 and no CALL"
        exit 1
    fi
done

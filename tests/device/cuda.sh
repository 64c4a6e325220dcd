#!/usr/bin/env bash
# On a machine with a CUDA GPU: the GPU tests by CUDA, forward and backward, none of them skipped, and times beside attention
# by PyTorch's cuBLAS and fused kernels (compare.py). Elsewhere a skip with the reason.
#
#     tests/device/cuda.sh [FOLDER OF THE PROGRAMS]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=$(realpath "${1:-$here/../../build/release/bin}")
skip() {
    echo "SKIP: $*"
    exit 77
}

command -v nvidia-smi >/dev/null || skip "no NVIDIA driver"
nvidia-smi -L || skip "no NVIDIA GPU"
[ -x "$programs/flashwright_gpu_tests" ] || skip "no flashwright_gpu_tests in $programs"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
FLASHWRIGHT_TEST_BACKEND=cuda "$programs/flashwright_gpu_tests" 2>&1 | tee "$log"
if grep -q SKIPPED "$log"; then
    echo "FAILED: a test was skipped though there is a GPU"
    exit 1
fi
python3 "$here/compare.py" "$programs/flashwright_gpu_bench" --backend cuda

#!/usr/bin/env bash
# On a machine with a CUDA GPU: the GPU tests by CUDA, forward and backward, none of them skipped; a short run of the tuner, which
# must measure; and times beside attention by PyTorch's cuBLAS and fused kernels (compare.py). Elsewhere a skip with the reason.
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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
FLASHWRIGHT_TEST_BACKEND=cuda "$programs/flashwright_gpu_tests" 2>&1 | tee "$log"
if grep -q SKIPPED "$log"; then
    echo "FAILED: a test was skipped though there is a GPU"
    exit 1
fi
# Chosen by ptxas and nvdisasm, of which the driver brings neither.
export PATH=${CUDA_TOOLS:+$CUDA_TOOLS:}$PATH:/usr/local/cuda/bin
if command -v ptxas >/dev/null && command -v nvdisasm >/dev/null; then
    "$programs/flashwright" tune --backend cuda --output "$work/gpu.json" --only head_dim=64 --candidates 16 --budget 3m \
        --shape 1,8,8,1024,1024,64 --shape 1,8,8,1000,1000,64,causal
    grep -q '"basis": "measured"' "$work/gpu.json" || {
        echo "FAILED: the tuner measured nothing though there is a GPU"
        exit 1
    }
else
    echo "SKIP: no ptxas or nvdisasm (CUDA_TOOLS names their folder): the tuner was not run"
fi
python3 "$here/compare.py" "$programs/flashwright_gpu_bench" --backend cuda

#!/usr/bin/env bash
# The CUDA kernels assembled for each architecture that the ptxas at hand knows: a spill is a failure. Prints registers and shared memory.
# Needs ptxas on the PATH, in /usr/local/cuda/bin or in the folder that CUDA_TOOLS names.
set -euo pipefail
PATH=${CUDA_TOOLS:+$CUDA_TOOLS:}$PATH:/usr/local/cuda/bin
if ! command -v ptxas >/dev/null; then
    echo "SKIP: no ptxas"
    exit 77
fi
shopt -s nullglob
kernels=("$FLASHWRIGHT_KERNEL_DIR"/gpu/*_cuda_*.device_code)
if [ ${#kernels[@]} = 0 ]; then
    echo "SKIP: no CUDA kernels in this build"
    exit 77
fi
failed=0
known=$(ptxas --help)
for arch in sm_80 sm_90 sm_100; do
    [[ $known == *"'$arch'"* ]] || continue
    for kernel in "${kernels[@]}"; do
        report=$(ptxas -v -arch=$arch "$kernel" -o /dev/null 2>&1)
        name=$(basename "$kernel" .device_code)
        printf '%s %s: %s\n' "$arch" "$name" "$(grep -o 'Used.*' <<<"$report")"
        if ! grep -q ' 0 bytes spill stores, 0 bytes spill loads' <<<"$report"; then
            grep spill <<<"$report"
            failed=1
        fi
    done
done
exit $failed

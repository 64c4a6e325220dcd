#!/usr/bin/env bash
# Runs what takes too long for every change: random tests with many more problems, also under the sanitizers; the whole suite on
# emulated processors; all targets; every command of the documents; clang-tidy.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh --tests
scripts/setup.sh --checks
for preset in release clang asan ubsan tsan; do
    build "$preset"
    FLASHWRIGHT_TEST_KILLS=50 FLASHWRIGHT_TEST_RANDOM=${FLASHWRIGHT_TEST_RANDOM:-20000} FLASHWRIGHT_TEST_SEED=${FLASHWRIGHT_TEST_SEED:-$(date +%Y%m%d)} \
        run_tests "$preset" --timeout 7200
done
for cpu in Nehalem Haswell; do
    say "The whole suite on an emulated $cpu"
    qemu-x86_64 -cpu $cpu build/release/bin/flashwright_tests
done
say "Archives for all targets, in both precisions; runs those that can run here"
FLASHWRIGHT_TARGETS_DTYPES="f32;f64" scripts/targets.sh
say "Vulkan on Mesa's llvmpipe, and the form of kernels for other GPU interfaces"
"$cmake" --preset release -B build/nightly-gpus "-DFLASHWRIGHT_BACKENDS=opencl;cuda;vulkan" \
    "-DFLASHWRIGHT_GPU_LIBRARIES=metal;webgpu;d3d12compute"
"$cmake" --build build/nightly-gpus --target flashwright_gpu_tests flashwright_gpu_libraries
"$ctest" --test-dir build/nightly-gpus --no-tests=error --output-on-failure -R gpu_vulkan | tee build/nightly-gpus/gpu_vulkan.log
if grep -q Skipped build/nightly-gpus/gpu_vulkan.log; then
    say "FAILED: gpu_vulkan was skipped, although llvmpipe is a device"
    exit 1
fi
python3 -m venv build/wgpu
build/wgpu/bin/pip install --disable-pip-version-check --no-input -q wgpu==0.32.0 numpy==2.4.6
build/wgpu/bin/python tests/gpu/objects.py build/nightly-gpus/kernels/gpu
build/wgpu/bin/python tests/gpu/wgsl.py build/nightly-gpus/kernels/gpu
say "A project that builds its own kernels from the installed package, with an empty cache"
"$cmake" --install build/release --prefix build/nightly-prefix
"$cmake" -S tests/installation -B build/nightly-consumer -G Ninja -DISA=baseline "-DCMAKE_MAKE_PROGRAM=$PWD/$venv/bin/ninja" \
    "-DCMAKE_PREFIX_PATH=$PWD/build/nightly-prefix;$PWD/$venv" --fresh
rm -rf build/nightly-consumer/flashwright-kernel-cache
"$cmake" --build build/nightly-consumer
say "The suite on emulated RISC-V"
build riscv64
run_tests riscv64 --timeout 7200
say "The whole suite on emulated 64-bit Arm, without tests that limit memory: the limit would apply to the emulator"
build arm64
qemu-aarch64 -L /usr/aarch64-linux-gnu build/arm64/bin/flashwright_tests --gtest_filter='-MemoryUse*'
say "The tuner with candidates that are copies of the baseline"
tests/statistics/identical_candidates.sh build/release/bin/flashwright
say "A short tuning run, whose results Kernel Tuner reads"
python3 -m venv build/kernel-tuner
build/kernel-tuner/bin/pip install --disable-pip-version-check --no-input -q kernel_tuner==1.5.0 jsonschema==4.26.0
build/release/bin/flashwright tune --output build/nightly.json --dtype f32 --shape "1,8,8,512,512,64" --budget 1m
build/release/bin/flashwright report build/nightly.t4.json --kernel-tuner build/nightly-caches
build/kernel-tuner/bin/python tests/kernel_tuner_simulation.py build/nightly.t4.json build/nightly-caches/*.json
say "Every command of the documents"
tests/documents/run_commands.py
scripts/tidy.sh
say "All nightly tests passed"

# The GPU kernels of the configuration for each backend, the Halide runtime of the backends, and the registry of the kernels.
# Results: FLASHWRIGHT_GPU_OBJECTS, FLASHWRIGHT_GPU_REGISTRY.
include(kernel_steps)
set(FLASHWRIGHT_GPU_CONFIG "${PROJECT_SOURCE_DIR}/configs/gpu.json" CACHE FILEPATH "Configuration of the GPU kernels")

set(gpu_dir "${FLASHWRIGHT_KERNEL_DIR}/gpu")
set(FLASHWRIGHT_GPU_REGISTRY "${gpu_dir}/gpu_registry.cpp")
list(TRANSFORM FLASHWRIGHT_BACKENDS PREPEND "backend=" OUTPUT_VARIABLE arguments)
list(APPEND arguments processor=${CMAKE_SYSTEM_PROCESSOR} system=${CMAKE_SYSTEM_NAME} "source_dir=${PROJECT_SOURCE_DIR}")
flashwright_run_plan(gpu_plan "GPU kernels" gpu "${FLASHWRIGHT_GPU_REGISTRY}" "${FLASHWRIGHT_GPU_CONFIG}" "${arguments}")
flashwright_add_kernel_steps(FLASHWRIGHT_GPU_OBJECTS gpu "${gpu_dir}" ${gpu_plan})

# The generator program of the CUDA kernels beside the others, with the configuration of this build, for the tuner. Target:
# flashwright_gpu_generator.
if(NOT cuda IN_LIST FLASHWRIGHT_BACKENDS)
    return()
endif()
set(gpu_generator_program "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/flashwright_generate_gpu")
set(gpu_target "${FLASHWRIGHT_GPU_HOST_${processor}}-${FLASHWRIGHT_GPU_TARGET_cuda}-no_runtime-no_bounds_query-user_context")
add_custom_command(
    OUTPUT "${gpu_generator_program}" "${gpu_generator_program}.json"
    COMMAND
        "${CMAKE_COMMAND}" -DGENERATOR=gpu "-DOUTPUT=${gpu_generator_program}" "-DTARGETS={\"cuda\": \"${gpu_target}\"}"
        "-DCONFIGURATION=${FLASHWRIGHT_GPU_CONFIG}" ${FLASHWRIGHT_GENERATOR_DEFINITIONS} -P
        "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
    DEPENDS ${gpu_generator_sources} "${FLASHWRIGHT_GPU_CONFIG}" "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/generator_program.cmake" "${PROJECT_SOURCE_DIR}/cmake/generator_sources.cmake"
    COMMENT "Generator program of CUDA kernels"
    VERBATIM
)
add_custom_target(flashwright_gpu_generator DEPENDS "${gpu_generator_program}")

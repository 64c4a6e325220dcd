# The generator program of the CUDA kernels beside the others, with the configuration of this build, for the tuner. Target:
# flashwright_gpu_generator.
if(NOT cuda IN_LIST FLASHWRIGHT_BACKENDS)
    return()
endif()
set(gpu_generator_program "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/flashwright_generate_gpu")
set(gpu_target "${gpu_plan_TARGETS}")
list(FILTER gpu_target INCLUDE REGEX "^cuda\\|")
string(REPLACE "cuda|" "" gpu_target "${gpu_target}")
flashwright_generator_definitions(definitions)
flashwright_generator_sources(gpu_generator_sources gpu "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS)
add_custom_command(
    OUTPUT "${gpu_generator_program}" "${gpu_generator_program}.json" "${gpu_generator_program}.configuration.json"
    COMMAND
        "${CMAKE_COMMAND}" -DGENERATOR=gpu "-DOUTPUT=${gpu_generator_program}" "-DTARGETS={\"cuda\": \"${gpu_target}\"}"
        "-DCONFIGURATION=${FLASHWRIGHT_GPU_CONFIG}" ${definitions} -P "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
    DEPENDS ${gpu_generator_sources} "${FLASHWRIGHT_GPU_CONFIG}" "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/generator_program.cmake" "${PROJECT_SOURCE_DIR}/cmake/generator_sources.cmake"
    COMMENT "Generator program of CUDA kernels"
    VERBATIM
)
add_custom_target(flashwright_gpu_generator DEPENDS "${gpu_generator_program}")

# The kernels of the configuration, and the registry of them.
# Files go to FLASHWRIGHT_KERNEL_DIR. Results: FLASHWRIGHT_KERNEL_OBJECTS, FLASHWRIGHT_KERNEL_REGISTRY.
include(kernel_steps)

set(config "")
foreach(file IN LISTS FLASHWRIGHT_CONFIG)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" NORMALIZE)
    list(APPEND config "${file}")
endforeach()
flashwright_make_plan(plan FLASHWRIGHT_CONFIG "${FLASHWRIGHT_KERNEL_DIR}" SYSTEM ${CMAKE_SYSTEM_NAME} PROCESSOR ${CMAKE_SYSTEM_PROCESSOR}
                      CONFIG ${config} ANY_MACHINE ${FLASHWRIGHT_ANY_MACHINE} LENIENT)
list(LENGTH plan kernel_count)
message(STATUS "Kernels: ${kernel_count} from ${plan_FILES}, cached in ${FLASHWRIGHT_KERNEL_CACHE}")
if(plan_SKIPPED)
    message(STATUS "Kernels: not for ${CMAKE_SYSTEM_PROCESSOR}, skipped: ${plan_SKIPPED}")
endif()

set(FLASHWRIGHT_KERNEL_REGISTRY "${FLASHWRIGHT_KERNEL_DIR}/kernel_registry.cpp")
flashwright_add_kernel_steps(FLASHWRIGHT_KERNEL_OBJECTS cpu "${FLASHWRIGHT_KERNEL_DIR}" ${plan})

# The generator program beside the others, for the tuner.
list(TRANSFORM plan_TARGETS REPLACE "(.*)\\|(.*)" "\"\\1\": \"\\2\"" OUTPUT_VARIABLE targets)
list(JOIN targets ", " targets)
flashwright_generator_definitions(definitions)
flashwright_generator_sources(generator_sources cpu "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS)
set(generator_program "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/flashwright_generate")
add_custom_command(
    OUTPUT "${generator_program}" "${generator_program}.json"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${generator_program}" "-DTARGETS={${targets}}"
            ${definitions} -P "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
    DEPENDS ${generator_sources} "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/generator_program.cmake" "${PROJECT_SOURCE_DIR}/cmake/generator_sources.cmake"
    COMMENT "Generator program"
    VERBATIM
)
add_custom_target(flashwright_generator DEPENDS "${generator_program}")

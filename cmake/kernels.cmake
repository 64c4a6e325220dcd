# The kernels of the configuration, and the registry of them.
# Files go to FLASHWRIGHT_KERNEL_DIR. Results: FLASHWRIGHT_KERNEL_OBJECTS, FLASHWRIGHT_KERNEL_REGISTRY.
set(HALIDE_VERSION ${Halide_VERSION})
include(kernel_plan)
include(kernel_steps)

flashwright_read_configuration()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CONFIGURATION_FILES})
list(LENGTH KERNELS kernel_count)
message(STATUS "Kernels: ${kernel_count} from ${CONFIGURATION_FILES}, cached in ${FLASHWRIGHT_KERNEL_CACHE}")
if(SKIPPED_ISAS)
    message(STATUS "Kernels: not for ${CMAKE_SYSTEM_PROCESSOR}, skipped: ${SKIPPED_ISAS}")
endif()

set(FLASHWRIGHT_KERNEL_REGISTRY "${FLASHWRIGHT_KERNEL_DIR}/kernel_registry.cpp")
flashwright_plan_kernels(plan ${CMAKE_SYSTEM_NAME})
flashwright_add_kernel_steps(FLASHWRIGHT_KERNEL_OBJECTS "${FLASHWRIGHT_KERNEL_DIR}" ${plan})
flashwright_write_registry("${FLASHWRIGHT_KERNEL_REGISTRY}")

# The generator program beside the others, for the tuner.
set(targets "")
foreach(isa IN LISTS FLASHWRIGHT_ISAS)
    flashwright_halide_target(target ${isa} linux)
    list(APPEND targets "\"${isa}\": \"${target}\"")
endforeach()
list(JOIN targets ", " targets)
flashwright_generator_definitions(FLASHWRIGHT_GENERATOR_DEFINITIONS)
flashwright_generator_sources(generator_sources cpu "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS)
set(generator_program "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/flashwright_generate")
add_custom_command(
    OUTPUT "${generator_program}" "${generator_program}.json"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${generator_program}" "-DTARGETS={${targets}}"
            ${FLASHWRIGHT_GENERATOR_DEFINITIONS} -P "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
    DEPENDS ${generator_sources} "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/generator_program.cmake" "${PROJECT_SOURCE_DIR}/cmake/generator_sources.cmake"
    COMMENT "Generator program"
    VERBATIM
)
add_custom_target(flashwright_generator DEPENDS "${generator_program}")

# What is installed, by component:
#   cpu              the libraries, their headers and the package files; the program
#   opencl, cuda     the GPU library, which serves all backends of the build
#   generators       flashwright_add_kernels and the sources of the generators; the runtime without kernels
include(CMakePackageConfigHelpers)
include(generator_sources)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/flashwright")
# As the source tree has it, for the scripts find each other by it.
set(generators_dir "${CMAKE_INSTALL_DATADIR}/flashwright")

install(TARGETS flashwright flashwright_shared EXPORT flashwright_targets COMPONENT cpu)
install(DIRECTORY runtime/include/flashwright TYPE INCLUDE COMPONENT cpu PATTERN "*_gpu.*" EXCLUDE)
install(EXPORT flashwright_targets NAMESPACE flashwright:: DESTINATION "${package_dir}" COMPONENT cpu)
write_basic_package_version_file(flashwrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(
    cmake/flashwrightConfig.cmake.in flashwrightConfig.cmake
    INSTALL_DESTINATION "${package_dir}"
    PATH_VARS generators_dir
    NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO
)
install(FILES "${PROJECT_BINARY_DIR}/flashwrightConfig.cmake" "${PROJECT_BINARY_DIR}/flashwrightConfigVersion.cmake"
        DESTINATION "${package_dir}" COMPONENT cpu)
if(TARGET flashwright_program)
    install(TARGETS flashwright_program COMPONENT cpu)
endif()

# The same archive belongs to each backend's component; the first one tells where it lies.
set(archive_rule TARGETS flashwright_gpu EXPORT flashwright_gpu_targets)
foreach(backend IN LISTS FLASHWRIGHT_BACKENDS)
    install(${archive_rule} COMPONENT ${backend})
    set(archive_rule FILES $<TARGET_FILE:flashwright_gpu> DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(DIRECTORY runtime/include/flashwright TYPE INCLUDE COMPONENT ${backend} FILES_MATCHING PATTERN "*_gpu.*")
    install(EXPORT flashwright_gpu_targets NAMESPACE flashwright:: DESTINATION "${package_dir}"
            FILE flashwright_${backend}_targets.cmake COMPONENT ${backend})
endforeach()
if(TARGET flashwright_gpu)
    # The program lends its Halide runtime to the candidates that the tuner loads.
    set(lends "$<BUILD_INTERFACE:$<BOOL:$<TARGET_PROPERTY:FLASHWRIGHT_LENDS_GPU_RUNTIME>>>")
    target_link_options(flashwright_gpu INTERFACE
                        $<$<AND:$<PLATFORM_ID:Linux>,$<NOT:$<BOOL:${lends}>>>:LINKER:--exclude-libs,libflashwright_gpu.a>)
endif()

install(TARGETS flashwright_runtime EXPORT flashwright_generators_targets
        OBJECTS DESTINATION "${CMAKE_INSTALL_LIBDIR}/flashwright" COMPONENT generators)
install(EXPORT flashwright_generators_targets NAMESPACE flashwright:: DESTINATION "${package_dir}" COMPONENT generators)
flashwright_generator_sources(generator_sources cpu "${PROJECT_SOURCE_DIR}")
flashwright_generator_sources(plan_sources plan "${PROJECT_SOURCE_DIR}")
set(sources
    ${generator_sources}
    ${plan_sources}
    configs/default.json
    runtime/include/flashwright/flashwright.h
    runtime/src/kernel_abi.h
    cmake/flashwright_add_kernels.cmake
    cmake/flashwright_compiler.cmake
    cmake/flashwright_halide.cmake
    cmake/generate_kernel.cmake
    cmake/generator_program.cmake
    cmake/generator_sources.cmake
    cmake/kernel_steps.cmake
    cmake/plan_kernels.cmake
)
list(REMOVE_DUPLICATES sources)
foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    install(FILES "${source}" DESTINATION "${generators_dir}/${folder}" COMPONENT generators)
endforeach()

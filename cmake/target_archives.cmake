# FLASHWRIGHT_TARGETS: for each an archive of headers, kernels and the sources of the runtime, which that target's own compiler makes
# a library of (target_archive/CMakeLists.txt.in). Nothing here needs that compiler.
include(kernel_space)
include(kernel_steps)
set(archives "")
set(archive_dir "${PROJECT_BINARY_DIR}/targets")
file(GLOB runtime_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" runtime/src/*.cpp runtime/src/*.h)
set(halide_files "${Halide_DIR}/../../../include/HalideRuntime.h|halide/HalideRuntime.h"
                 "${Halide_DIR}/../../../share/doc/Halide/LICENSE.txt|halide/LICENSE.txt")

# target_parts(PROCESSOR_OUT SYSTEM_OUT TARGET): the names that CMake has for a target of Halide's.
function(target_parts processor_out system_out target)
    set(known "")
    foreach(processor IN LISTS FLASHWRIGHT_PROCESSORS)
        foreach(system IN LISTS FLASHWRIGHT_SYSTEMS)
            set(name ${FLASHWRIGHT_ARCHITECTURE_${processor}}-${FLASHWRIGHT_OS_${system}})
            list(APPEND known ${name})
            if(target STREQUAL name)
                set(${processor_out} ${processor} PARENT_SCOPE)
                set(${system_out} ${system} PARENT_SCOPE)
                return()
            endif()
        endforeach()
    endforeach()
    list(JOIN known ", " known)
    message(FATAL_ERROR "FLASHWRIGHT_TARGETS: expected any of ${known}; got ${target}")
endfunction()

foreach(target IN LISTS FLASHWRIGHT_TARGETS)
    target_parts(processor system ${target})
    set(dir "${archive_dir}/${target}")
    flashwright_make_plan(plan "FLASHWRIGHT_TARGETS, ${target}" "${dir}" SYSTEM ${system} PROCESSOR ${processor} CONFIG ${FLASHWRIGHT_CONFIG}
                          OPS ${FLASHWRIGHT_TARGETS_OPS} DTYPES ${FLASHWRIGHT_TARGETS_DTYPES} ANY_MACHINE ${FLASHWRIGHT_ANY_MACHINE})
    flashwright_add_kernel_steps(objects "${dir}" ${plan})
    configure_file(cmake/target_archive/CMakeLists.txt.in "${dir}/CMakeLists.txt" @ONLY)

    set(files "${dir}/CMakeLists.txt|CMakeLists.txt" "${dir}/kernel_registry.cpp|runtime/src/kernel_registry.cpp")
    foreach(source IN LISTS runtime_sources ITEMS kernels/cpu_tiles.h kernels/dtype.h kernels/dtype_dispatch.h LICENSE)
        list(APPEND files "${PROJECT_SOURCE_DIR}/${source}|${source}")
    endforeach()
    foreach(header flashwright.h flashwright.hpp)
        list(APPEND files "${PROJECT_SOURCE_DIR}/runtime/include/flashwright/${header}|include/flashwright/${header}")
    endforeach()
    foreach(object IN LISTS objects)
        cmake_path(GET object FILENAME name)
        list(APPEND files "${object}|kernels/${name}")
    endforeach()
    list(APPEND files ${halide_files})

    set(name flashwright-${PROJECT_VERSION}-${target})
    set(archive "${archive_dir}/${name}.tar.gz")
    list(TRANSFORM files REPLACE "\\|.*" "" OUTPUT_VARIABLE inputs)
    add_custom_command(
        OUTPUT "${archive}"
        COMMAND "${CMAKE_COMMAND}" -DNAME=${name} "-DARCHIVE=${archive}" "-DFILES=${files}" -P
                "${PROJECT_SOURCE_DIR}/cmake/target_archive/pack.cmake"
        DEPENDS ${inputs} "${PROJECT_SOURCE_DIR}/cmake/target_archive/pack.cmake"
        COMMENT "Archive for ${target}"
        VERBATIM
    )
    list(APPEND archives "${archive}")
endforeach()
add_custom_target(flashwright_targets ALL DEPENDS ${archives})

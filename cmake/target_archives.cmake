# FLASHWRIGHT_TARGETS: for each an archive of headers, kernels and the sources of the runtime, which that target's own compiler makes
# a library of (target_archive/CMakeLists.txt.in). Nothing here needs that compiler.
include(kernel_steps)
set(archives "")
set(archive_dir "${PROJECT_BINARY_DIR}/targets")
file(GLOB runtime_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" runtime/src/*.cpp runtime/src/*.h)
set(halide_files "${Halide_DIR}/../../../include/HalideRuntime.h|halide/HalideRuntime.h"
                 "${Halide_DIR}/../../../share/doc/Halide/LICENSE.txt|halide/LICENSE.txt")

foreach(target IN LISTS FLASHWRIGHT_TARGETS)
    set(dir "${archive_dir}/${target}")
    flashwright_make_plan(plan FLASHWRIGHT_TARGETS "${dir}" TARGET ${target} CONFIG ${FLASHWRIGHT_CONFIG} OPS ${FLASHWRIGHT_TARGETS_OPS}
                          DTYPES ${FLASHWRIGHT_TARGETS_DTYPES} ANY_MACHINE ${FLASHWRIGHT_ANY_MACHINE})
    flashwright_add_kernel_steps(objects cpu "${dir}" ${plan})
    configure_file(cmake/target_archive/CMakeLists.txt.in "${dir}/CMakeLists.txt" @ONLY)

    set(files "${dir}/CMakeLists.txt|CMakeLists.txt" "${dir}/kernel_registry.cpp|runtime/src/kernel_registry.cpp")
    foreach(source IN LISTS runtime_sources ITEMS kernels/cpu_tiles.h kernels/dtype.h kernels/dtype_dispatch.h kernels/isa.h kernels/op.h
                                                kernels/score_term.h LICENSE)
        list(APPEND files "${PROJECT_SOURCE_DIR}/${source}|${source}")
    endforeach()
    foreach(header flashwright.h flashwright.hpp)
        list(APPEND files "${PROJECT_SOURCE_DIR}/runtime/include/flashwright/${header}|include/flashwright/${header}")
    endforeach()
    foreach(object IN LISTS objects)
        cmake_path(GET object FILENAME name)
        list(APPEND files "${object}|objects/${name}")
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

# The sources of a generator program, everything that a kernel's code depends on: GENERATOR is `cpu` or `gpu`. The spaces of
# tiles are the tuner's.
# flashwright_generator_sources(OUT GENERATOR SOURCE_DIR [CONFIGURE_DEPENDS])
function(flashwright_generator_sources out generator source_dir)
    file(
        GLOB sources ${ARGN}
        "${source_dir}/generators/*.cpp"
        "${source_dir}/generators/*.h"
        "${source_dir}/algorithm/*.cpp"
        "${source_dir}/algorithm/*.h"
        "${source_dir}/kernels/*_tiles.h"
        "${source_dir}/schedules/*.cpp"
        "${source_dir}/schedules/*.h"
        "${source_dir}/generators/CMakeLists.txt"
        "${source_dir}/generators/gpu/*"
        "${source_dir}/kernels/gpu_*"
        "${source_dir}/kernels/tile_space_template.h"
    )
    set(gpu_alone "/generators/gpu/|/schedules/gpu_|/kernels/gpu_|/kernels/tile_space_template")
    if(generator STREQUAL "gpu")
        set(shared "/algorithm/")
        list(FILTER sources INCLUDE REGEX "${gpu_alone}|${shared}")
    else()
        list(FILTER sources EXCLUDE REGEX "${gpu_alone}")
    endif()
    list(SORT sources)
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

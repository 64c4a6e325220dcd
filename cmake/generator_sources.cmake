# The sources of a program that the build runs: PROGRAM is `cpu` or `gpu`, a generator program, or `plan`. Of a generator program
# they are everything that a kernel's code depends on: no tile spaces, which are the tuner's, and no configurations.
# flashwright_generator_sources(OUT PROGRAM SOURCE_DIR [CONFIGURE_DEPENDS])
function(flashwright_generator_sources out program source_dir)
    if(program STREQUAL "plan")
        set(patterns kernels/*.cpp kernels/*.h kernels/plan/*)
    elseif(program STREQUAL "gpu")
        set(patterns generators/gpu/* algorithm/*.cpp algorithm/*.h schedules/gpu_* kernels/gpu_* kernels/score_term.h
                     kernels/tile_parameter.h kernels/tile_space_template.h)
    else()
        set(patterns generators/*.cpp generators/*.h generators/CMakeLists.txt algorithm/*.cpp algorithm/*.h schedules/cpu_*
                     kernels/cpu_tiles.h kernels/cpu_schedules.* kernels/op.h kernels/score_term.h kernels/tile_parameter.h)
    endif()
    list(TRANSFORM patterns PREPEND "${source_dir}/")
    file(GLOB sources ${ARGN} ${patterns})
    list(SORT sources)
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

# The sources of a program that the build runs: PROGRAM is `cpu` or `gpu`, a generator program, or `plan`. Of a generator program
# they are everything that a kernel's code depends on: no tile spaces, which are the tuner's, and no configurations.
# flashwright_generator_sources(OUT PROGRAM SOURCE_DIR [CONFIGURE_DEPENDS])
function(flashwright_generator_sources out program source_dir)
    if(program STREQUAL "plan")
        set(patterns kernels/*.cpp kernels/*.h kernels/plan/*)
    else()
        set(patterns
            generators/*.cpp
            generators/*.h
            generators/CMakeLists.txt
            generators/gpu/*
            algorithm/*.cpp
            algorithm/*.h
            schedules/*.cpp
            schedules/*.h
            kernels/*_tiles.h
            kernels/*_schedules.*
            kernels/op.h
        )
    endif()
    list(TRANSFORM patterns PREPEND "${source_dir}/")
    file(GLOB sources ${ARGN} ${patterns})
    set(gpu_alone "/generators/gpu/|/schedules/gpu_|/kernels/gpu_")
    if(program STREQUAL "gpu")
        set(shared "/algorithm/")
        list(FILTER sources INCLUDE REGEX "${gpu_alone}|${shared}")
    elseif(program STREQUAL "cpu")
        list(FILTER sources EXCLUDE REGEX "${gpu_alone}")
    endif()
    list(SORT sources)
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

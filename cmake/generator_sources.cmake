# The sources of the generator program, everything that a kernel's code depends on. The spaces of tiles are the tuner's.
# flashwright_generator_sources(OUT SOURCE_DIR [CONFIGURE_DEPENDS])
function(flashwright_generator_sources out source_dir)
    file(
        GLOB sources ${ARGN}
        "${source_dir}/generators/*.cpp"
        "${source_dir}/generators/*.h"
        "${source_dir}/schedules/*.cpp"
        "${source_dir}/schedules/*.h"
        "${source_dir}/generators/CMakeLists.txt"
    )
    list(FILTER sources EXCLUDE REGEX "_space\\.(cpp|h)$")
    list(SORT sources)
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

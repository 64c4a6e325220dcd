# The generator program in the cache, for scripts (cmake -P): hash_sources(OUT), build_generator(OUT HASH), run(), seconds_since().
# They read CACHE, HALIDE_DIR, HALIDE_VERSION, CXX, NINJA, WERROR.
include("${CMAKE_CURRENT_LIST_DIR}/generator_sources.cmake")
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source_dir)

function(hash_sources out)
    flashwright_generator_sources(sources "${source_dir}")
    set(hashes "${HALIDE_VERSION}")
    foreach(source IN LISTS sources)
        file(SHA256 "${source}" hash)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${source_dir}")
        string(APPEND hashes "\n${source} ${hash}")
    endforeach()
    string(SHA256 hash "${hashes}")
    set(${out} ${hash} PARENT_SCOPE)
endfunction()

function(seconds_since out start)
    string(TIMESTAMP now "%s%f")
    math(EXPR tenths "(${now} - ${start}) / 100000")
    math(EXPR whole "${tenths} / 10")
    math(EXPR tenth "${tenths} % 10")
    set(${out} "${whole}.${tenth}" PARENT_SCOPE)
endfunction()

# Runs a command; shows its output where something is wrong.
function(run what)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        list(JOIN ARGN " " command)
        message(NOTICE "${output}")
        message(FATAL_ERROR "${what} failed (${result}): ${command}")
    elseif(output MATCHES "warning:")
        message(NOTICE "${output}")
    endif()
endfunction()

# The generator program of these sources, built when it is not there yet. Each source tree has one build folder for it; the
# program is copied out under its hash, so nobody's build pulls it away under a running kernel.
function(build_generator out sources_hash)
    set(program "${CACHE}/bin/flashwright_generate-${sources_hash}")
    set(${out} "${program}" PARENT_SCOPE)
    string(SHA256 tree "${source_dir}")
    string(SUBSTRING ${tree} 0 12 tree)
    set(build_dir "${CACHE}/generator-${tree}")
    file(LOCK "${build_dir}" DIRECTORY GUARD FUNCTION)
    if(NOT EXISTS "${program}")
        string(TIMESTAMP start "%s%f")
        run("configuring the kernel generator"
            "${CMAKE_COMMAND}" -S "${source_dir}/generators" -B "${build_dir}" -G Ninja "-DCMAKE_MAKE_PROGRAM=${NINJA}"
            "-DCMAKE_CXX_COMPILER=${CXX}" "-DHalide_DIR=${HALIDE_DIR}" "-DHalideHelpers_DIR=${HALIDE_DIR}Helpers"
            -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DFLASHWRIGHT_WERROR=${WERROR})
        run("building the kernel generator" "${CMAKE_COMMAND}" --build "${build_dir}")
        hash_sources(hash_now)
        if(NOT hash_now STREQUAL sources_hash)
            message(FATAL_ERROR "The sources of the kernel generator changed while it was built; build again.")
        endif()
        file(COPY_FILE "${build_dir}/flashwright_generate" "${program}.new")
        file(RENAME "${program}.new" "${program}")
        seconds_since(seconds ${start})
        message(STATUS "kernel generator built in ${seconds} s")
    endif()
endfunction()

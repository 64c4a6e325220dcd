# cmake -P: puts NAME.o, NAME.stmt and NAME.s into OUTPUT_DIR, from the cache or by running the generator program.
#   NAME, ARGUMENTS     the kernel, and the generator's command line for it, without paths
#   OUTPUT_DIR, CACHE   where the files go; the cache folder, shared by build folders
#   HALIDE_DIR, HALIDE_VERSION, CXX, NINJA   for building the generator program, when it is needed at all
# A cache entry is a folder named by the SHA-256 of all that decides its content. It appears by a rename, so it is whole
# or absent. One lock an entry: two builds at once do not generate the same kernel twice.
cmake_minimum_required(VERSION 3.28)
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

# Runs a command; on failure shows its output.
function(run what)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${what} failed (${result}): ${command}\n${output}")
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
            "-DCMAKE_CXX_COMPILER=${CXX}" "-DHalide_DIR=${HALIDE_DIR}" "-DHalideHelpers_DIR=${HALIDE_DIR}Helpers" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1)
        run("building the kernel generator" "${CMAKE_COMMAND}" --build "${build_dir}")
        file(COPY_FILE "${build_dir}/flashwright_generate" "${program}.new")
        file(RENAME "${program}.new" "${program}")
        seconds_since(seconds ${start})
        message(STATUS "kernel generator built in ${seconds} s")
    endif()
endfunction()

hash_sources(sources_hash)
string(SHA256 key "${sources_hash}\n${ARGUMENTS}")
set(entry "${CACHE}/entries/${key}")
file(MAKE_DIRECTORY "${CACHE}/bin" "${CACHE}/entries" "${CACHE}/locks")
file(LOCK "${CACHE}/locks/${key}")
if(NOT EXISTS "${entry}")
    build_generator(generator ${sources_hash})
    string(TIMESTAMP start "%s%f")
    set(scratch "${CACHE}/entries/${key}.new")
    file(REMOVE_RECURSE "${scratch}")
    file(MAKE_DIRECTORY "${scratch}")
    separate_arguments(arguments UNIX_COMMAND "${ARGUMENTS}")
    run("generating kernel ${NAME}" "${generator}" -o "${scratch}" ${arguments})
    file(WRITE "${scratch}/command.txt" "flashwright_generate ${ARGUMENTS}\n")
    file(RENAME "${scratch}" "${entry}")
    seconds_since(seconds ${start})
    message(STATUS "kernel ${NAME} generated in ${seconds} s")
endif()
file(MAKE_DIRECTORY "${OUTPUT_DIR}")
foreach(extension o stmt s)
    file(COPY_FILE "${entry}/${NAME}.${extension}" "${OUTPUT_DIR}/${NAME}.${extension}")
endforeach()

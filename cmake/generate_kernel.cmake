# cmake -P: puts NAME.<each of EXTENSIONS> into OUTPUT_DIR, from the cache or by running the generator program.
#   NAME, ARGUMENTS     the kernel, and the generator's command line for it, without paths
#   OUTPUT_DIR, CACHE   where the files go; the cache folder, shared by build folders
#   GENERATOR           which program: cpu or gpu
#   HALIDE_DIR, HALIDE_VERSION, CXX, BUILD_SYSTEM, MAKE_PROGRAM, WERROR   for building the generator program, when it is needed at all
# A cache entry is a folder named by the SHA-256 of all that decides its content. It appears by a rename, so it is whole
# or absent. One lock an entry: two builds at once do not generate the same kernel twice.
cmake_minimum_required(VERSION 3.28)
include("${CMAKE_CURRENT_LIST_DIR}/generator_program.cmake")

hash_sources(sources_hash ${GENERATOR})
string(SHA256 key "${sources_hash}\n${ARGUMENTS}")
set(entry "${CACHE}/entries/${key}")
file(MAKE_DIRECTORY "${CACHE}/bin" "${CACHE}/entries" "${CACHE}/locks")
file(LOCK "${CACHE}/locks/${key}")
if(NOT EXISTS "${entry}")
    build_program(generator ${GENERATOR} ${sources_hash})
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
foreach(extension IN LISTS EXTENSIONS)
    file(COPY_FILE "${entry}/${NAME}.${extension}" "${OUTPUT_DIR}/${NAME}.${extension}")
endforeach()

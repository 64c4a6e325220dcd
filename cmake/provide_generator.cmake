# cmake -P: copies the generator program to OUTPUT, built if need be, and writes OUTPUT.json for the tuner.
#   OUTPUT, TARGETS    where to; JSON object of the Halide target of each ISA
#   GENERATOR, CONFIGURATION   cpu (the default) or gpu; a kernel configuration, if any: its copy is OUTPUT.configuration.json
#   CACHE, HALIDE_DIR, HALIDE_VERSION, CXX, BUILD_SYSTEM, MAKE_PROGRAM, WERROR   as in generate_kernel.cmake
cmake_minimum_required(VERSION 3.28)
include("${CMAKE_CURRENT_LIST_DIR}/generator_program.cmake")
if(NOT GENERATOR)
    set(GENERATOR cpu)
endif()
hash_sources(sources_hash ${GENERATOR})
file(MAKE_DIRECTORY "${CACHE}/bin")
build_program(generator ${GENERATOR} ${sources_hash})
file(COPY_FILE "${generator}" "${OUTPUT}")
set(facts "{\"generator_hash\": \"${sources_hash}\", \"halide\": \"${HALIDE_VERSION}\", \"targets\": ${TARGETS}")
if(CONFIGURATION)
    file(COPY_FILE "${CONFIGURATION}" "${OUTPUT}.configuration.json")
    cmake_path(GET OUTPUT FILENAME name)
    string(APPEND facts ", \"configuration\": \"${name}.configuration.json\"")
endif()
string(APPEND facts "}\n")
file(WRITE "${OUTPUT}.json" "${facts}")

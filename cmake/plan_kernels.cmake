# cmake -P: writes REGISTRY and PLAN by the plan program (kernels/plan/main.cpp), which is built if need be.
#   KERNELS          cpu or gpu
#   REGISTRY, PLAN   the files; PLAN.warnings is a third
#   CONFIG           configurations, later ones override; none: the one that ships
#   ARGUMENTS        further arguments of the program
#   CACHE, HALIDE_VERSION, CXX, BUILD_SYSTEM, MAKE_PROGRAM, WERROR, JSON_DIR, PREFIX_PATH   as in generator_program.cmake
# The program's error is one line on stderr, before what CMake says. In a process of its own, the script leaves no names behind in the
# project.
cmake_minimum_required(VERSION 3.28)
include("${CMAKE_CURRENT_LIST_DIR}/generator_program.cmake")
if(KERNELS STREQUAL "cpu")
    set(defaults "${source_dir}/configs/default.json")
    if(NOT CONFIG)
        set(CONFIG "${defaults}")
    endif()
    hash_sources(generator_hash cpu)
    list(APPEND ARGUMENTS "defaults=${defaults}" generator_hash=${generator_hash})
endif()
list(TRANSFORM CONFIG PREPEND "config=")
hash_sources(plan_hash plan)
file(MAKE_DIRECTORY "${CACHE}/bin")
build_program(program plan ${plan_hash})
execute_process(
    COMMAND "${program}" kernels=${KERNELS} ${CONFIG} ${ARGUMENTS} "registry=${REGISTRY}" "plan=${PLAN}" "warnings=${PLAN}.warnings"
    RESULT_VARIABLE result ERROR_VARIABLE problem
)
if(NOT result EQUAL 0)
    message(NOTICE "${problem}")
    message(FATAL_ERROR "flashwright_plan failed (${result})")
endif()

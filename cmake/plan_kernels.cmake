# cmake -P: writes REGISTRY, and PLAN: the files read, parted by |, then KERNEL|ARGUMENTS a line.
#   FLASHWRIGHT_CONFIG, FLASHWRIGHT_ONLY_*, FLASHWRIGHT_PROCESSOR, FLASHWRIGHT_ANY_MACHINE   as in kernel_configuration.cmake
#   SYSTEM_NAME, HALIDE_VERSION, PROJECT_SOURCE_DIR   CMAKE_SYSTEM_NAME; Halide's version; where relative paths begin
# An error is one line on stderr. In a process of its own, it leaves no names behind in the project that asks.
cmake_minimum_required(VERSION 3.28)
set(FLASHWRIGHT_STRICT TRUE)
if(NOT FLASHWRIGHT_CONFIG)
    cmake_path(SET FLASHWRIGHT_CONFIG NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../configs/default.json")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/kernel_plan.cmake")
flashwright_check_wanted()
flashwright_read_configuration()
flashwright_plan_kernels(plan "${SYSTEM_NAME}")
flashwright_write_registry("${REGISTRY}")
list(JOIN CONFIGURATION_FILES "|" files)
list(JOIN plan "\n" plan)
file(WRITE "${PLAN}" "${files}\n${plan}\n")

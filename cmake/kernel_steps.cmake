# Build steps that generate kernels, for this project and for those that use the installed package: nothing here but functions of our
# prefix.
include("${CMAKE_CURRENT_LIST_DIR}/generator_sources.cmake")

# flashwright_generator_definitions(OUT): what the scripts are told that may have to build a program, which runs on the machine that
# builds.
function(flashwright_generator_definitions out)
    set(host_cxx "${CMAKE_CXX_COMPILER}")
    if(CMAKE_CROSSCOMPILING)
        set(host_cxx c++)
    endif()
    set(FLASHWRIGHT_HOST_CXX "${host_cxx}" CACHE STRING "C++ compiler for the generator and plan programs")
    string(REGEX REPLACE "^Ninja.*" "Ninja" build_system "${CMAKE_GENERATOR}")
    set(definitions
        "-DCACHE=${FLASHWRIGHT_KERNEL_CACHE}" "-DHALIDE_DIR=${Halide_DIR}" -DHALIDE_VERSION=${Halide_VERSION}
        "-DCXX=${FLASHWRIGHT_HOST_CXX}" "-DBUILD_SYSTEM=${build_system}" "-DMAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}"
        "-DWERROR=${FLASHWRIGHT_WERROR}"
    )
    set(${out} "${definitions}" PARENT_SCOPE)
endfunction()

# flashwright_run_plan(PLAN_OUT WHO KERNELS REGISTRY FILES ARGUMENTS)
# The plan of the kernels in FILES, by plan_kernels.cmake: KERNEL|ARGUMENTS each. REGISTRY is their table, and plan.txt appears beside it.
# PLAN_OUT_FILES, PLAN_OUT_SKIPPED and PLAN_OUT_TARGETS: the files that are used, the instruction sets that are another processor's,
# ISA|HALIDE_TARGET (or BACKEND|HALIDE_TARGET) of all. WHO is named if there is no such plan.
function(flashwright_run_plan plan_out who kernels registry files arguments)
    set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plan_kernels.cmake")
    cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH source_dir)
    cmake_path(GET registry PARENT_PATH dir)
    set(plan_file "${dir}/plan.txt")
    flashwright_generator_definitions(definitions)
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -DKERNELS=${kernels} "-DREGISTRY=${registry}" "-DPLAN=${plan_file}" "-DCONFIG=${files}"
                "-DARGUMENTS=${arguments}" ${definitions} "-DJSON_DIR=${nlohmann_json_DIR}" "-DPREFIX_PATH=${CMAKE_PREFIX_PATH}" -P
                "${script}"
        RESULT_VARIABLE result ERROR_VARIABLE problem OUTPUT_QUIET
    )
    if(NOT result EQUAL 0)
        string(REGEX REPLACE "\n+CMake Error at .*plan_kernels.*" "" problem "${problem}")
        message(FATAL_ERROR "${who}: ${problem}")
    endif()
    file(STRINGS "${plan_file}" lines ENCODING UTF-8)
    foreach(kind file skipped target kernel)
        set(${kind}_lines "${lines}")
        list(FILTER ${kind}_lines INCLUDE REGEX "^${kind}\\|")
        list(TRANSFORM ${kind}_lines REPLACE "^${kind}\\|" "")
    endforeach()
    file(READ "${plan_file}.warnings" warnings)
    if(warnings)
        message(WARNING "${warnings}")
    endif()
    # Also files that cannot be used yet: they may be mended.
    foreach(file IN LISTS files file_lines)
        if(EXISTS "${file}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
        endif()
    endforeach()
    flashwright_generator_sources(plan_sources plan "${source_dir}" CONFIGURE_DEPENDS)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${plan_sources} "${script}")
    set(${plan_out} "${kernel_lines}" PARENT_SCOPE)
    set(${plan_out}_FILES "${file_lines}" PARENT_SCOPE)
    set(${plan_out}_SKIPPED "${skipped_lines}" PARENT_SCOPE)
    set(${plan_out}_TARGETS "${target_lines}" PARENT_SCOPE)
endfunction()

# flashwright_make_plan(PLAN_OUT WHO DIR [SYSTEM <name>] [PROCESSOR <name>] [TARGET <name of Halide's>] [CONFIG <file>...] [OPS ...]
#                       [DTYPES ...] [ISAS ...] [ANY_MACHINE <bool>] [LENIENT])
# The plan of the CPU kernels that the configuration has of these, as flashwright_run_plan; DIR/kernel_registry.cpp is their table.
# LENIENT: a file that cannot be used is a warning, and the defaults serve.
function(flashwright_make_plan plan_out who dir)
    cmake_parse_arguments(PARSE_ARGV 3 ARG "LENIENT" "SYSTEM;PROCESSOR;TARGET;ANY_MACHINE" "CONFIG;OPS;DTYPES;ISAS")
    set(files "")
    foreach(file IN LISTS ARG_CONFIG)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
        list(APPEND files "${file}")
    endforeach()
    set(strict ON)
    if(ARG_LENIENT)
        set(strict OFF)
    endif()
    set(arguments processor=${ARG_PROCESSOR} system=${ARG_SYSTEM} target=${ARG_TARGET} any_machine=${ARG_ANY_MACHINE} strict=${strict}
                  "source_dir=${PROJECT_SOURCE_DIR}")
    foreach(axis OPS DTYPES ISAS)
        foreach(value IN LISTS ARG_${axis})
            list(APPEND arguments ${axis}=${value})
        endforeach()
    endforeach()
    flashwright_run_plan(plan "${who}" cpu "${dir}/kernel_registry.cpp" "${files}" "${arguments}")
    foreach(part "" _FILES _SKIPPED _TARGETS)
        set(${plan_out}${part} "${plan${part}}" PARENT_SCOPE)
    endforeach()
endfunction()

# flashwright_kernel_extensions(OUT ARGUMENTS): of the files that the generator's -e asks for, in their order.
function(flashwright_kernel_extensions out arguments)
    set(extension_object o)
    set(extension_static_library a)
    set(extension_assembly s)
    set(extension_c_header h)
    set(extension_stmt stmt)
    set(extension_device_code device_code)
    if(arguments MATCHES "target=[^ ]*-windows-")
        set(extension_object obj)
        set(extension_static_library lib)
    endif()
    string(REGEX REPLACE "^.* -e ([a-z_,]+) .*$" "\\1" kinds "${arguments}")
    string(REPLACE "," ";" kinds "${kinds}")
    set(extensions "")
    foreach(kind IN LISTS kinds)
        list(APPEND extensions "${extension_${kind}}")
    endforeach()
    set(${out} "${extensions}" PARENT_SCOPE)
endfunction()

# flashwright_add_kernel_steps(OBJECTS_OUT GENERATOR DIR PLAN...): one custom command for each KERNEL|ARGUMENTS, by the generator program
# `cpu` or `gpu`, with its files in DIR. The first file of each is its object.
function(flashwright_add_kernel_steps objects_out generator dir)
    set(scripts_dir "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
    cmake_path(GET scripts_dir PARENT_PATH source_dir)
    flashwright_generator_sources(sources ${generator} "${source_dir}" CONFIGURE_DEPENDS)
    flashwright_generator_definitions(definitions)
    set(objects "")
    foreach(kernel IN LISTS ARGN)
        string(REPLACE "|" ";" kernel "${kernel}")
        list(POP_FRONT kernel name arguments)
        flashwright_kernel_extensions(extensions "${arguments}")
        list(TRANSFORM extensions PREPEND "${dir}/${name}." OUTPUT_VARIABLE outputs)
        add_custom_command(
            OUTPUT ${outputs}
            COMMAND "${CMAKE_COMMAND}" -DGENERATOR=${generator} -DNAME=${name} "-DARGUMENTS=${arguments}" "-DOUTPUT_DIR=${dir}"
                    "-DEXTENSIONS=${extensions}" ${definitions} -P "${scripts_dir}/generate_kernel.cmake"
            DEPENDS ${sources} "${scripts_dir}/generate_kernel.cmake" "${scripts_dir}/generator_program.cmake"
                    "${scripts_dir}/generator_sources.cmake"
            COMMENT "Kernel ${name}"
            VERBATIM
        )
        list(GET outputs 0 object)
        list(APPEND objects "${object}")
    endforeach()
    set(${objects_out} "${objects}" PARENT_SCOPE)
endfunction()

# Build steps that generate kernels, for this project and for those that use the installed package: nothing here but functions of our
# prefix.
include("${CMAKE_CURRENT_LIST_DIR}/generator_sources.cmake")

# flashwright_generator_definitions(OUT): what the scripts are told that may have to build the generator program, which runs on the
# machine that builds.
function(flashwright_generator_definitions out)
    set(host_cxx "${CMAKE_CXX_COMPILER}")
    if(CMAKE_CROSSCOMPILING)
        set(host_cxx c++)
    endif()
    set(FLASHWRIGHT_HOST_CXX "${host_cxx}" CACHE STRING "C++ compiler for the generator program")
    string(REGEX REPLACE "^Ninja.*" "Ninja" build_system "${CMAKE_GENERATOR}")
    set(definitions
        "-DCACHE=${FLASHWRIGHT_KERNEL_CACHE}" "-DHALIDE_DIR=${Halide_DIR}" -DHALIDE_VERSION=${Halide_VERSION}
        "-DCXX=${FLASHWRIGHT_HOST_CXX}" "-DBUILD_SYSTEM=${build_system}" "-DMAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}"
        "-DWERROR=${FLASHWRIGHT_WERROR}"
    )
    set(${out} "${definitions}" PARENT_SCOPE)
endfunction()

# flashwright_make_plan(PLAN_OUT WHO DIR [SYSTEM <name>] [PROCESSOR <name>] [CONFIG <file>...] [OPS ...] [DTYPES ...] [ISAS ...]
#                       [ANY_MACHINE <bool>])
# The plan of the kernels that the configuration has of these, by plan_kernels.cmake; DIR/kernel_registry.cpp is their table. WHO is
# named if they cannot be had.
function(flashwright_make_plan plan_out who dir)
    cmake_parse_arguments(PARSE_ARGV 3 ARG "" "SYSTEM;PROCESSOR;ANY_MACHINE" "CONFIG;OPS;DTYPES;ISAS")
    set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plan_kernels.cmake")
    set(files "")
    foreach(file IN LISTS ARG_CONFIG)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
        list(APPEND files "${file}")
    endforeach()
    execute_process(
        COMMAND
            "${CMAKE_COMMAND}" "-DFLASHWRIGHT_CONFIG=${files}" "-DFLASHWRIGHT_ONLY_OPS=${ARG_OPS}"
            "-DFLASHWRIGHT_ONLY_DTYPES=${ARG_DTYPES}" "-DFLASHWRIGHT_ONLY_ISAS=${ARG_ISAS}"
            "-DFLASHWRIGHT_ANY_MACHINE=${ARG_ANY_MACHINE}" "-DFLASHWRIGHT_PROCESSOR=${ARG_PROCESSOR}"
            "-DSYSTEM_NAME=${ARG_SYSTEM}" "-DHALIDE_VERSION=${Halide_VERSION}" "-DPROJECT_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
            "-DREGISTRY=${dir}/kernel_registry.cpp" "-DPLAN=${dir}/plan.txt" -P "${script}"
        RESULT_VARIABLE result ERROR_VARIABLE problem OUTPUT_QUIET
    )
    if(NOT result EQUAL 0)
        string(REGEX REPLACE "\n.*" "" problem "${problem}")
        message(FATAL_ERROR "${who}: ${problem}")
    endif()
    file(STRINGS "${dir}/plan.txt" plan)
    list(POP_FRONT plan files)
    string(REPLACE "|" ";" files "${files}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files} "${script}")
    set(${plan_out} "${plan}" PARENT_SCOPE)
endfunction()

# flashwright_add_kernel_steps(OBJECTS_OUT DIR PLAN...): one custom command for each KERNEL|ARGUMENTS, with its files in DIR.
function(flashwright_add_kernel_steps objects_out dir)
    set(scripts_dir "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
    cmake_path(GET scripts_dir PARENT_PATH source_dir)
    flashwright_generator_sources(sources cpu "${source_dir}" CONFIGURE_DEPENDS)
    flashwright_generator_definitions(definitions)
    set(objects "")
    foreach(kernel IN LISTS ARGN)
        string(REPLACE "|" ";" kernel "${kernel}")
        list(POP_FRONT kernel name arguments)
        set(object o)
        if(arguments MATCHES "target=[^ ]*-windows-")
            set(object obj)
        endif()
        set(outputs ${name}.${object} ${name}.stmt ${name}.s)
        list(TRANSFORM outputs PREPEND "${dir}/")
        add_custom_command(
            OUTPUT ${outputs}
            COMMAND "${CMAKE_COMMAND}" -DNAME=${name} "-DARGUMENTS=${arguments}" "-DOUTPUT_DIR=${dir}"
                    "-DEXTENSIONS=${object};stmt;s" ${definitions} -P "${scripts_dir}/generate_kernel.cmake"
            DEPENDS ${sources} "${scripts_dir}/generate_kernel.cmake" "${scripts_dir}/generator_program.cmake"
                    "${scripts_dir}/generator_sources.cmake"
            COMMENT "Kernel ${name}"
            VERBATIM
        )
        list(APPEND objects "${dir}/${name}.${object}")
    endforeach()
    set(${objects_out} "${objects}" PARENT_SCOPE)
endfunction()

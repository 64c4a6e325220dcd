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
        set(outputs ${name}.o ${name}.stmt ${name}.s)
        list(TRANSFORM outputs PREPEND "${dir}/")
        add_custom_command(
            OUTPUT ${outputs}
            COMMAND "${CMAKE_COMMAND}" -DNAME=${name} "-DARGUMENTS=${arguments}" "-DOUTPUT_DIR=${dir}" ${definitions} -P
                    "${scripts_dir}/generate_kernel.cmake"
            DEPENDS ${sources} "${scripts_dir}/generate_kernel.cmake" "${scripts_dir}/generator_program.cmake"
                    "${scripts_dir}/generator_sources.cmake"
            COMMENT "Kernel ${name}"
            VERBATIM
        )
        list(APPEND objects "${dir}/${name}.o")
    endforeach()
    set(${objects_out} "${objects}" PARENT_SCOPE)
endfunction()

# flashwright_add_kernels(NAME <target>
#                         [CONFIG <file>...]   configurations or winners of the tuner, later ones override; default: the shipped one
#                         [OPS <op>...] [DTYPES <dtype>...] [ISAS <isa>...]   which of their kernels; default: all
#                         [CACHE <folder>]     where generated kernels are kept; default: FLASHWRIGHT_KERNEL_CACHE, else in the build folder
#                         [ANY_MACHINE])       take winners of another machine
# A static library of the runtime with these kernels and no others: linked in the place of flashwright::flashwright, calls are
# served by them. find_package(flashwright COMPONENTS generators) finds Halide, which it wants.
include("${CMAKE_CURRENT_LIST_DIR}/kernel_steps.cmake")

function(flashwright_add_kernels)
    cmake_parse_arguments(PARSE_ARGV 0 ARG "ANY_MACHINE" "NAME;CACHE" "CONFIG;OPS;DTYPES;ISAS")
    if(NOT ARG_NAME OR ARG_UNPARSED_ARGUMENTS OR ARG_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "flashwright_add_kernels: expected NAME <target>, then any of CONFIG, OPS, DTYPES, ISAS, CACHE with values, "
                            "ANY_MACHINE; got: ${ARGV}")
    endif()
    if(NOT CMAKE_CXX_COMPILER_LOADED)
        message(FATAL_ERROR "flashwright_add_kernels(${ARG_NAME}): expected a project with C++: enable_language(CXX)")
    endif()
    set(scripts_dir "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
    set(dir "${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_kernels")
    if(ARG_CACHE)
        set(FLASHWRIGHT_KERNEL_CACHE "${ARG_CACHE}")
    elseif(NOT FLASHWRIGHT_KERNEL_CACHE)
        set(FLASHWRIGHT_KERNEL_CACHE "${PROJECT_BINARY_DIR}/flashwright-kernel-cache")
    endif()

    flashwright_make_plan(plan "flashwright_add_kernels(${ARG_NAME})" "${dir}" SYSTEM ${CMAKE_SYSTEM_NAME} PROCESSOR ${CMAKE_SYSTEM_PROCESSOR}
                          CONFIG ${ARG_CONFIG} OPS ${ARG_OPS} DTYPES ${ARG_DTYPES} ISAS ${ARG_ISAS} ANY_MACHINE ${ARG_ANY_MACHINE})
    flashwright_add_kernel_steps(objects cpu "${dir}" ${plan})

    cmake_path(GET scripts_dir PARENT_PATH source_dir)
    set(runtime flashwright::flashwright_runtime)
    add_library(${ARG_NAME} STATIC "${dir}/kernel_registry.cpp" ${objects} $<TARGET_OBJECTS:${runtime}>)
    # Generated code, whose warnings are none of the project's.
    set_source_files_properties("${dir}/kernel_registry.cpp" PROPERTIES COMPILE_OPTIONS -w)
    set_target_properties(${ARG_NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
    target_compile_features(${ARG_NAME} PUBLIC cxx_std_17)
    target_include_directories(${ARG_NAME} PRIVATE "${source_dir}" "${source_dir}/runtime/src"
                               PUBLIC $<TARGET_PROPERTY:${runtime},INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(${ARG_NAME} PRIVATE Threads::Threads)
    # A shared object that holds the library exports nothing of it.
    target_link_options(${ARG_NAME} INTERFACE $<$<PLATFORM_ID:Linux>:LINKER:--exclude-libs,lib${ARG_NAME}.a>)
endfunction()

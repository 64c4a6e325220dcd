# One custom command per kernel of the configuration, and the registry of them.
# Files go to FLASHWRIGHT_KERNEL_DIR. Results: FLASHWRIGHT_KERNEL_OBJECTS, FLASHWRIGHT_KERNEL_REGISTRY.
set(HALIDE_VERSION ${Halide_VERSION})
include(kernel_configuration)

# The command line of the generator for one kernel, without paths.
function(flashwright_generator_arguments out name)
    set(op ${${name}_OP})
    set(target ${FLASHWRIGHT_TARGET_${${name}_ISA}}-${FLASHWRIGHT_TARGET_FEATURES})
    set(arguments -g ${op} -f flashwright_${name} -n ${name} -e object,stmt,assembly target=${target}
                  dtype=${FLASHWRIGHT_DTYPE_${${name}_DTYPE}})
    if(${name}_TERMS)
        list(JOIN ${name}_TERMS "+" terms)
        list(APPEND arguments terms=${terms})
    endif()
    if(${name}_PORTABLE)
        list(APPEND arguments portable=true)
    endif()
    foreach(tile IN LISTS ${name}_TILES)
        string(REGEX REPLACE "=.*" "" parameter ${tile})
        if(NOT parameter IN_LIST FLASHWRIGHT_RUNTIME_TILES_${op})
            list(APPEND arguments ${tile})
        endif()
    endforeach()
    list(JOIN arguments " " arguments)
    set(${out} "${arguments}" PARENT_SCOPE)
endfunction()

# For the scripts that may have to build the generator program, which runs on the machine that builds.
set(host_cxx "${CMAKE_CXX_COMPILER}")
if(CMAKE_CROSSCOMPILING)
    set(host_cxx c++)
endif()
set(FLASHWRIGHT_HOST_CXX "${host_cxx}" CACHE STRING "C++ compiler for the generator program")
set(FLASHWRIGHT_GENERATOR_DEFINITIONS
    "-DCACHE=${FLASHWRIGHT_KERNEL_CACHE}" "-DHALIDE_DIR=${Halide_DIR}" -DHALIDE_VERSION=${Halide_VERSION}
    "-DCXX=${FLASHWRIGHT_HOST_CXX}" "-DNINJA=${CMAKE_MAKE_PROGRAM}" -DWERROR=${FLASHWRIGHT_WERROR}
)

function(flashwright_add_kernel name)
    flashwright_generator_arguments(arguments ${name})
    set(outputs ${name}.o ${name}.stmt ${name}.s)
    list(TRANSFORM outputs PREPEND "${FLASHWRIGHT_KERNEL_DIR}/")
    add_custom_command(
        OUTPUT ${outputs}
        COMMAND
            "${CMAKE_COMMAND}" -DNAME=${name} "-DARGUMENTS=${arguments}" "-DOUTPUT_DIR=${FLASHWRIGHT_KERNEL_DIR}"
            ${FLASHWRIGHT_GENERATOR_DEFINITIONS} -P "${PROJECT_SOURCE_DIR}/cmake/generate_kernel.cmake"
        DEPENDS ${generator_sources} "${PROJECT_SOURCE_DIR}/cmake/generate_kernel.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/generator_program.cmake" "${PROJECT_SOURCE_DIR}/cmake/generator_sources.cmake"
        COMMENT "Kernel ${name}"
        VERBATIM
    )
endfunction()

function(capitalise out word)
    string(SUBSTRING ${word} 0 1 initial)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${initial} initial)
    set(${out} ${initial}${rest} PARENT_SCOPE)
endfunction()

# The `Terms` of the runtime as a C++ expression.
function(term_bits out terms)
    set(bits "")
    foreach(term IN LISTS terms)
        capitalise(bit ${term})
        list(APPEND bits k${bit})
    endforeach()
    list(JOIN bits " | " bits)
    if(NOT bits)
        set(bits 0)
    endif()
    set(${out} "${bits}" PARENT_SCOPE)
endfunction()

function(flashwright_write_registry)
    set(declarations "")
    set(kernels "")
    foreach(name IN LISTS KERNELS)
        set(op ${${name}_OP})
        capitalise(type ${op})
        string(APPEND declarations "std::remove_pointer_t<${type}Kernel> flashwright_${name};\n")

        term_bits(terms_bits "${${name}_TERMS}")
        list(JOIN ${name}_TERMS "," terms_text)

        list(TRANSFORM ${name}_TILES REPLACE "(.*)=(.*)" ".\\1 = \\2" OUTPUT_VARIABLE tiles)
        list(JOIN tiles ", " tiles)
        list(TRANSFORM ${name}_TILES REPLACE "(.*)=(.*)" "\"\\1\": \\2" OUTPUT_VARIABLE tiles_json)
        list(JOIN tiles_json ", " tiles_json)

        string(TOUPPER ${${name}_DTYPE} dtype)
        set(portable false)
        if(${name}_PORTABLE)
            set(portable true)
        endif()
        string(
            APPEND
            kernels
            "    {.name = \"${name}\",\n"
            "     .op = Op::${op},\n"
            "     .dtype = FLASHWRIGHT_${dtype},\n"
            "     .isa = \"${${name}_ISA}\",\n"
            "     .variant = \"${${name}_VARIANT}\",\n"
            "     .terms = ${terms_bits},\n"
            "     .portable = ${portable},\n"
            "     .tiles = {${tiles}},\n"
            "     .terms_text = \"${terms_text}\",\n"
            "     .tiles_json = R\"({${tiles_json}})\",\n"
            "     .${op} = flashwright_${name}},\n"
        )
    endforeach()

    set(rows "")
    foreach(row IN LISTS TABLE_ROWS)
        string(REPLACE "|" ";" row "${row}")
        list(POP_FRONT row op dtype isa seqlen_q seqlen_k head_dim causal variant ratio)
        string(TOUPPER ${dtype} dtype)
        string(TOLOWER ${causal} causal)
        string(REGEX REPLACE "^on$" "true" causal ${causal})
        string(REGEX REPLACE "^off$" "false" causal ${causal})
        string(
            APPEND rows "    {Op::${op}, FLASHWRIGHT_${dtype}, \"${isa}\", ${seqlen_q}, ${seqlen_k}, ${head_dim}, "
            "${causal}, \"${variant}\", ${ratio}},\n"
        )
    endforeach()
    list(LENGTH TABLE_ROWS row_count)

    # Paths only as far as the source tree knows them.
    set(names "")
    set(contents "")
    foreach(file IN LISTS CONFIGURATION_FILES)
        cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${file}" inside)
        if(inside)
            cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE shown)
        else()
            cmake_path(GET file FILENAME shown)
        endif()
        list(APPEND names "\"${shown}\"")
        file(READ "${file}" content)
        string(STRIP "${content}" content)
        string(APPEND contents "${separator}${content}")
        set(separator ", ")
    endforeach()
    list(JOIN names ", " names)
    set(config_json "{\"files\": [${names}], \"configurations\": [${contents}]}")

    configure_file("${PROJECT_SOURCE_DIR}/cmake/kernel_registry.cpp.in" "${FLASHWRIGHT_KERNEL_REGISTRY}" @ONLY)
endfunction()

flashwright_read_configuration()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CONFIGURATION_FILES})
list(LENGTH KERNELS kernel_count)
message(STATUS "Kernels: ${kernel_count} from ${CONFIGURATION_FILES}, cached in ${FLASHWRIGHT_KERNEL_CACHE}")
if(SKIPPED_ISAS)
    message(STATUS "Kernels: not for ${CMAKE_SYSTEM_PROCESSOR}, skipped: ${SKIPPED_ISAS}")
endif()

set(FLASHWRIGHT_KERNEL_REGISTRY "${FLASHWRIGHT_KERNEL_DIR}/kernel_registry.cpp")
include(generator_sources)
flashwright_generator_sources(generator_sources cpu "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS)
foreach(name IN LISTS KERNELS)
    flashwright_add_kernel(${name})
endforeach()
list(TRANSFORM KERNELS REPLACE "(.+)" "${FLASHWRIGHT_KERNEL_DIR}/\\1.o" OUTPUT_VARIABLE FLASHWRIGHT_KERNEL_OBJECTS)
flashwright_write_registry()

# The generator program beside the others, for the tuner.
set(targets "")
foreach(isa IN LISTS FLASHWRIGHT_ISAS)
    list(APPEND targets "\"${isa}\": \"${FLASHWRIGHT_TARGET_${isa}}-${FLASHWRIGHT_TARGET_FEATURES}\"")
endforeach()
list(JOIN targets ", " targets)
set(generator_program "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/flashwright_generate")
add_custom_command(
    OUTPUT "${generator_program}" "${generator_program}.json"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${generator_program}" "-DTARGETS={${targets}}"
            ${FLASHWRIGHT_GENERATOR_DEFINITIONS} -P "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
    DEPENDS ${generator_sources} "${PROJECT_SOURCE_DIR}/cmake/provide_generator.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/generator_program.cmake" "${PROJECT_SOURCE_DIR}/cmake/generator_sources.cmake"
    COMMENT "Generator program"
    VERBATIM
)
add_custom_target(flashwright_generator DEPENDS "${generator_program}")

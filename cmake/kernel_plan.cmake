# What is to be generated: reads the configuration (kernel_configuration.cmake) and turns its results into command lines and the
# registry.
include("${CMAKE_CURRENT_LIST_DIR}/kernel_configuration.cmake")

# The command line of the generator for one kernel, without paths.
function(flashwright_generator_arguments out name os)
    set(op ${${name}_OP})
    flashwright_halide_target(target ${${name}_ISA} ${os})
    set(arguments -g ${op} -f flashwright_${name} -n ${name} -e object,stmt,assembly target=${target}
                  dtype=${FLASHWRIGHT_DTYPE_${${name}_DTYPE}})
    if(${name}_TERMS)
        list(JOIN ${name}_TERMS "+" terms)
        list(APPEND arguments terms=${terms})
    endif()
    if(${name}_GENERIC)
        list(APPEND arguments generic=true)
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

# flashwright_plan_kernels(OUT SYSTEM): KERNEL|ARGUMENTS of each of KERNELS, for the operating system SYSTEM (CMAKE_SYSTEM_NAME).
function(flashwright_plan_kernels out system)
    if(NOT system IN_LIST FLASHWRIGHT_SYSTEMS)
        list(JOIN FLASHWRIGHT_SYSTEMS ", " known)
        stop("CMAKE_SYSTEM_NAME: expected any of ${known}, got ${system}")
    endif()
    set(os ${FLASHWRIGHT_OS_${system}})
    set(plan "")
    foreach(name IN LISTS KERNELS)
        flashwright_generator_arguments(arguments ${name} ${os})
        list(APPEND plan "${name}|${arguments}")
    endforeach()
    set(${out} "${plan}" PARENT_SCOPE)
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

# flashwright_write_registry(FILE): the table of KERNELS and TABLE_ROWS as C++.
function(flashwright_write_registry registry)
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
        set(generic false)
        if(${name}_GENERIC)
            set(generic true)
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
            "     .generic = ${generic},\n"
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

    configure_file("${source_dir}/cmake/kernel_registry.cpp.in" "${registry}" @ONLY)
endfunction()

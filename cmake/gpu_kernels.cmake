# One custom command per kernel of configs/gpu.json and backend, the Halide runtime of the backends, and the registry.
# Results: FLASHWRIGHT_GPU_OBJECTS, FLASHWRIGHT_GPU_REGISTRY.
set(FLASHWRIGHT_GPU_CONFIG "${PROJECT_SOURCE_DIR}/configs/gpu.json")
# Halide targets: of the processor that calls the kernels, and what each backend adds. PTX of a capability runs on all
# later ones.
set(FLASHWRIGHT_GPU_HOST_x86_64 x86-64-linux)
set(FLASHWRIGHT_GPU_HOST_aarch64 arm-64-linux)
set(FLASHWRIGHT_GPU_TARGET_opencl opencl)
set(FLASHWRIGHT_GPU_TARGET_cuda cuda-cuda_capability_80)
set(FLASHWRIGHT_GPU_TILES threads rows block_k tile_d tile_v)

set(gpu_dir "${PROJECT_BINARY_DIR}/kernels/gpu")
flashwright_generator_sources(gpu_generator_sources gpu "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS)

# Files from the GPU generator program, by way of the cache.
function(flashwright_add_gpu_output name arguments)
    set(outputs "")
    foreach(extension IN LISTS ARGN)
        list(APPEND outputs "${gpu_dir}/${name}.${extension}")
    endforeach()
    add_custom_command(
        OUTPUT ${outputs}
        COMMAND
            "${CMAKE_COMMAND}" -DGENERATOR=gpu -DNAME=${name} "-DARGUMENTS=${arguments}" "-DOUTPUT_DIR=${gpu_dir}"
            "-DEXTENSIONS=${ARGN}" ${FLASHWRIGHT_GENERATOR_DEFINITIONS} -P
            "${PROJECT_SOURCE_DIR}/cmake/generate_kernel.cmake"
        DEPENDS ${gpu_generator_sources} "${PROJECT_SOURCE_DIR}/cmake/generate_kernel.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/generator_program.cmake" "${PROJECT_SOURCE_DIR}/cmake/generator_sources.cmake"
        COMMENT "Kernel ${name}"
        VERBATIM
    )
endfunction()

# Reads kernels[index]: entry_terms, entry_finite, entry_head_dim, and the values of FLASHWRIGHT_GPU_TILES in their order.
macro(read_gpu_entry index)
    string(JSON entry_terms GET "${gpu_config}" kernels ${index} terms)
    string(REGEX REPLACE "[][\" \n]" "" entry_terms "${entry_terms}")
    string(REPLACE "," ";" entry_terms "${entry_terms}")
    string(JSON entry_finite GET "${gpu_config}" kernels ${index} finite_values)
    string(REPLACE "ON" "true" entry_finite "${entry_finite}")
    string(REPLACE "OFF" "false" entry_finite "${entry_finite}")
    string(JSON entry_head_dim GET "${gpu_config}" kernels ${index} head_dim)
    set(entry_tiles "")
    foreach(tile IN LISTS FLASHWRIGHT_GPU_TILES)
        string(JSON value GET "${gpu_config}" kernels ${index} tiles ${tile})
        list(APPEND entry_tiles ${value})
    endforeach()
endmacro()

function(flashwright_read_gpu_kernels)
    file(READ "${FLASHWRIGHT_GPU_CONFIG}" gpu_config)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${FLASHWRIGHT_GPU_CONFIG}")
    string(JSON count LENGTH "${gpu_config}" kernels)
    math(EXPR last "${count} - 1")
    set(host ${FLASHWRIGHT_GPU_HOST_${processor}})
    set(features "")
    set(devices "")
    set(device_rows "")
    set(objects "")
    set(declarations "")
    set(rows "")
    foreach(backend IN LISTS FLASHWRIGHT_BACKENDS)
        string(APPEND features "-${backend}")
        string(APPEND devices "const halide_device_interface_t *halide_${backend}_device_interface();\n")
        string(APPEND device_rows "    {\"${backend}\", halide_${backend}_device_interface},\n")
        foreach(index RANGE ${last})
            read_gpu_entry(${index})
            term_bits(bits "${entry_terms}")
            list(JOIN entry_terms "+" terms)
            list(JOIN entry_terms "_" label)
            set(suffix "")
            if(NOT entry_finite)
                set(suffix careful)
            endif()
            string(JOIN "_" name forward ${label} f32 ${backend} d${entry_head_dim} ${suffix})
            set(arguments "-g forward_gpu -f flashwright_${name} -n ${name} -e object,stmt,device_code")
            string(APPEND arguments " target=${host}-${FLASHWRIGHT_GPU_TARGET_${backend}}-no_runtime-no_bounds_query-user_context")
            if(terms)
                string(APPEND arguments " terms=${terms}")
            endif()
            string(APPEND arguments " finite_values=${entry_finite} head_dim=${entry_head_dim}")
            foreach(tile value IN ZIP_LISTS FLASHWRIGHT_GPU_TILES entry_tiles)
                string(APPEND arguments " ${tile}=${value}")
            endforeach()
            flashwright_add_gpu_output(${name} "${arguments}" o stmt device_code)
            list(APPEND objects "${gpu_dir}/${name}.o")
            list(JOIN entry_tiles ", " tiles)
            string(APPEND declarations "std::remove_pointer_t<GpuForwardKernel> flashwright_${name};\n")
            string(APPEND rows "    {\"${name}\", \"${backend}\", ${bits}, ${entry_finite}, {${entry_head_dim}, ${tiles}}, "
                               "flashwright_${name}},\n")
        endforeach()
    endforeach()
    flashwright_add_gpu_output(flashwright_gpu_runtime
                               "-r flashwright_gpu_runtime -e object target=${host}${features}" o)
    list(APPEND objects "${gpu_dir}/flashwright_gpu_runtime.o")
    set(registry "${gpu_dir}/gpu_registry.cpp")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/gpu_registry.cpp.in" "${registry}" @ONLY)
    set(FLASHWRIGHT_GPU_OBJECTS "${objects}" PARENT_SCOPE)
    set(FLASHWRIGHT_GPU_REGISTRY "${registry}" PARENT_SCOPE)
endfunction()

flashwright_read_gpu_kernels()

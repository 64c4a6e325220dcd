# One custom command per kernel of configs/gpu.json and backend, the Halide runtime of the backends, and the registry.
# Results: FLASHWRIGHT_GPU_OBJECTS, FLASHWRIGHT_GPU_REGISTRY.
set(FLASHWRIGHT_GPU_CONFIG "${PROJECT_SOURCE_DIR}/configs/gpu.json" CACHE FILEPATH "Configuration of the GPU kernels")
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

# Reads kernels[index]: entry_op, entry_terms, entry_finite, entry_head_dim.
macro(read_gpu_entry index)
    string(JSON entry_op GET "${gpu_config}" kernels ${index} op)
    string(JSON entry_terms GET "${gpu_config}" kernels ${index} terms)
    string(REGEX REPLACE "[][\" \n]" "" entry_terms "${entry_terms}")
    string(REPLACE "," ";" entry_terms "${entry_terms}")
    string(JSON entry_finite GET "${gpu_config}" kernels ${index} finite_values)
    string(REPLACE "ON" "true" entry_finite "${entry_finite}")
    string(REPLACE "OFF" "false" entry_finite "${entry_finite}")
    string(JSON entry_head_dim GET "${gpu_config}" kernels ${index} head_dim)
endmacro()

# Appends to `objects` and `declarations`.
macro(add_gpu_kernel name generator arguments type)
    set(all_arguments "-g ${generator} -f flashwright_${name} -n ${name} -e object,stmt,device_code")
    string(APPEND all_arguments " target=${host}-${FLASHWRIGHT_GPU_TARGET_${backend}}-no_runtime-no_bounds_query-user_context${arguments}")
    flashwright_add_gpu_output(${name} "${all_arguments}" o stmt device_code)
    list(APPEND objects "${gpu_dir}/${name}.o")
    string(APPEND declarations "std::remove_pointer_t<${type}> flashwright_${name};\n")
endmacro()

# One kernel program of the entry that was read, and `tiles`, the values of FLASHWRIGHT_GPU_TILES as C++ has them. What follows
# `type` is where the entry has the tiles.
macro(add_gpu_program name generator arguments type)
    set(entry_arguments "")
    list(JOIN entry_terms "+" terms)
    if(terms)
        string(APPEND entry_arguments " terms=${terms}")
    endif()
    string(APPEND entry_arguments " finite_values=${entry_finite} head_dim=${entry_head_dim}${arguments}")
    set(tiles ${entry_head_dim})
    foreach(tile IN LISTS FLASHWRIGHT_GPU_TILES)
        string(JSON value GET "${gpu_config}" kernels ${index} ${ARGN} ${tile})
        string(APPEND entry_arguments " ${tile}=${value}")
        string(APPEND tiles ", ${value}")
    endforeach()
    add_gpu_kernel(${name} ${generator} "${entry_arguments}" ${type})
endmacro()

# The passes of a backward entry, by what they sum up: dq; dk, dv or dk+dv.
macro(add_gpu_gradient_passes)
    string(JSON pass_count LENGTH "${gpu_config}" kernels ${index} passes)
    math(EXPR last_pass "${pass_count} - 1")
    set(passes "")
    foreach(pass RANGE ${last_pass})
        string(JSON sums MEMBER "${gpu_config}" kernels ${index} passes ${pass})
        string(REPLACE "+" "_" pass_label "${sums}")
        add_gpu_program(${name}_${pass_label} backward_gpu " sums=${sums}" GpuGradientPass passes ${sums})
        set(flags "")
        foreach(pattern IN ITEMS "^d[kv]" "dk" "dv")
            if("${sums}" MATCHES "${pattern}")
                string(APPEND flags "true, ")
            else()
                string(APPEND flags "false, ")
            endif()
        endforeach()
        list(APPEND passes "{${flags}{${tiles}}, flashwright_${name}_${pass_label}}")
    endforeach()
    list(JOIN passes ", " passes)
endmacro()

# What a backend has that takes tensors in device memory: appends to `objects`, `declarations` and `stream_drivers`, and sets
# `streams`, the values of GpuDevice.
macro(add_gpu_copies)
    set(streams "nullptr, {}")
    if(backend STREQUAL "cuda")
        set(stream_kernels copy_cuda_f32 copy_cuda_bool gradient_rows_cuda_f32 gradient_keys_cuda_f32 gradient_terms_cuda_f32)
        string(APPEND stream_drivers "extern const GpuStreamDriver kCudaStreamDriver;\n")
        add_gpu_kernel(copy_cuda_f32 copy_gpu " from.type=float32" GpuStreamKernels::Copy)
        add_gpu_kernel(copy_cuda_bool copy_gpu " from.type=uint8" GpuStreamKernels::Copy)
        add_gpu_kernel(gradient_rows_cuda_f32 gradient_rows_gpu "" GpuStreamKernels::Columns)
        add_gpu_kernel(gradient_keys_cuda_f32 gradient_rows_gpu " of_keys=true" GpuStreamKernels::Columns)
        add_gpu_kernel(gradient_terms_cuda_f32 gradient_terms_gpu "" GpuStreamKernels::Terms)
        list(TRANSFORM stream_kernels PREPEND flashwright_)
        list(JOIN stream_kernels ", " stream_kernels)
        set(streams "&kCudaStreamDriver, {${stream_kernels}}")
    endif()
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
    set(stream_drivers "")
    set(objects "")
    set(declarations "")
    set(forward_rows "")
    set(backward_rows "")
    foreach(backend IN LISTS FLASHWRIGHT_BACKENDS)
        string(APPEND features "-${backend}")
        string(APPEND devices "const halide_device_interface_t *halide_${backend}_device_interface();\n")
        add_gpu_copies()
        string(APPEND device_rows "    {\"${backend}\", halide_${backend}_device_interface, ${streams}},\n")
        foreach(index RANGE ${last})
            read_gpu_entry(${index})
            term_bits(bits "${entry_terms}")
            list(JOIN entry_terms "_" label)
            set(suffix "")
            if(NOT entry_finite)
                set(suffix careful)
            endif()
            string(JOIN "_" name ${entry_op} ${label} f32 ${backend} d${entry_head_dim} ${suffix})
            set(range "{\"${name}\", \"${backend}\", ${bits}, ${entry_finite}, ${entry_head_dim}}")
            if(entry_op STREQUAL "forward")
                add_gpu_program(${name} forward_gpu "" GpuForwardKernel tiles)
                string(APPEND forward_rows "    {${range}, {${tiles}}, flashwright_${name}},\n")
            else()
                add_gpu_gradient_passes()
                string(APPEND backward_rows "    {${range}, ${pass_count}, {${passes}}},\n")
            endif()
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

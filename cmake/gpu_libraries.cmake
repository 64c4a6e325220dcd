# FLASHWRIGHT_GPU_LIBRARIES: static libraries of forward kernels for GPU interfaces that the library has no backend for, each with its
# header, source and tiles in the folder of the GPU kernels, and Halide's runtime for it. Their arguments are those of runtime/gpu/gpu_kernels.h.
set(FLASHWRIGHT_GPU_LIBRARIES "" CACHE STRING "GPU kernels as static libraries for other machines: any of metal, webgpu, d3d12compute")
set(library_metal arm-64-osx-metal)
set(library_webgpu wasm-32-wasmrt-wasm_simd128-webgpu)
set(library_d3d12compute x86-64-windows-d3d12compute)

set(libraries "")
foreach(api IN LISTS FLASHWRIGHT_GPU_LIBRARIES)
    if(NOT library_${api})
        message(FATAL_ERROR "FLASHWRIGHT_GPU_LIBRARIES: expected any of metal, webgpu, d3d12compute; got ${api}")
    endif()
    set(target ${library_${api}})
    # Tiles that nest fewer than 127 braces in WGSL, and 16 KB of shared memory.
    set(tiles_64 "threads=32 rows=1 block_k=8 tile_d=4 tile_v=8")
    set(tiles_128 "threads=16 rows=1 block_k=4 tile_d=4 tile_v=16")
    set(plan "")
    foreach(head_dim IN ITEMS 64 128)
        set(name forward_f32_${api}_d${head_dim})
        list(
            APPEND
            plan
            "${name}|-g forward_gpu -f flashwright_${name} -n ${name} -e static_library,c_header,device_code,stmt target=${target}-no_runtime-no_bounds_query-user_context assume_finite=true head_dim=${head_dim} ${tiles_${head_dim}}"
        )
        file(GENERATE OUTPUT "${gpu_dir}/${name}.tiles" CONTENT "${tiles_${head_dim}}\n")
    endforeach()
    set(name flashwright_${api}_runtime)
    list(APPEND plan "${name}|-r ${name} -e static_library target=${target}")
    flashwright_add_kernel_steps(objects gpu "${gpu_dir}" ${plan})
    list(APPEND libraries ${objects})
endforeach()
if(libraries)
    add_custom_target(flashwright_gpu_libraries ALL DEPENDS ${libraries})
endif()

# The names a kernel configuration may use. One place each: the build, the registry and its checks derive from here.

# The operations, and the tile parameters of each.
set(FLASHWRIGHT_OPS forward backward merge step)
set(FLASHWRIGHT_OPS_WITH_TERMS forward backward)
set(FLASHWRIGHT_TILES_forward block_q block_k row_vectors tile_d tile_k tile_v)
set(FLASHWRIGHT_TILES_backward block_q block_k tile_k width tile_q)
set(FLASHWRIGHT_TILES_merge block_q)
set(FLASHWRIGHT_TILES_step block_q tile_k)
# Tile parameters that a kernel takes at run time; all others are compiled in.
set(FLASHWRIGHT_RUNTIME_TILES_forward block_k)
set(FLASHWRIGHT_RUNTIME_TILES_backward block_q block_k)

# Element types by their names in the generators.
set(FLASHWRIGHT_DTYPES f32 f64)
set(FLASHWRIGHT_DTYPE_f32 float32)
set(FLASHWRIGHT_DTYPE_f64 float64)

# Score terms, in the order of kernel names.
set(FLASHWRIGHT_TERMS softcap alibi bias mask)

# Instruction sets: the processor (CMAKE_SYSTEM_PROCESSOR), the bits of a vector and the Halide features of each.
set(FLASHWRIGHT_ISAS "")
function(flashwright_isa name processor vector_bits features)
    list(APPEND FLASHWRIGHT_ISAS ${name})
    set(FLASHWRIGHT_ISAS ${FLASHWRIGHT_ISAS} PARENT_SCOPE)
    set(FLASHWRIGHT_ISAS_${processor} ${FLASHWRIGHT_ISAS_${processor}} ${name} PARENT_SCOPE)
    set(FLASHWRIGHT_PROCESSOR_${name} ${processor} PARENT_SCOPE)
    set(FLASHWRIGHT_FEATURES_${name} "${features}" PARENT_SCOPE)
    foreach(dtype IN LISTS FLASHWRIGHT_DTYPES)
        string(SUBSTRING ${dtype} 1 -1 bits)
        math(EXPR lanes "${vector_bits} / ${bits}")
        set(FLASHWRIGHT_LANES_${name}_${dtype} ${lanes} PARENT_SCOPE)
    endforeach()
endfunction()
flashwright_isa(baseline x86_64 128 "")
flashwright_isa(sse41 x86_64 128 -sse41)
flashwright_isa(avx2 x86_64 256 -sse41-avx-avx2-f16c-fma)
flashwright_isa(avx512 x86_64 512 -sse41-avx-avx2-f16c-fma-avx512-avx512_skylake)
flashwright_isa(neon aarch64 128 "")
flashwright_isa(rvv riscv64 256 -rvv-vector_bits_256)
flashwright_isa(simd128 wasm32 128 -wasm_simd128)

# The members of a configuration's entry that choose kernels, and the variables that narrow each.
set(FLASHWRIGHT_AXES op dtype isa)
set(FLASHWRIGHT_ONLY_AXES FLASHWRIGHT_ONLY_OPS FLASHWRIGHT_ONLY_DTYPES FLASHWRIGHT_ONLY_ISAS)

# Halide's names of the processors, and of the operating systems (CMAKE_SYSTEM_NAME).
set(FLASHWRIGHT_PROCESSORS x86_64 aarch64 riscv64 wasm32)
set(FLASHWRIGHT_ARCHITECTURE_x86_64 x86-64)
set(FLASHWRIGHT_ARCHITECTURE_aarch64 arm-64)
set(FLASHWRIGHT_ARCHITECTURE_riscv64 riscv-64)
set(FLASHWRIGHT_ARCHITECTURE_wasm32 wasm-32)
set(FLASHWRIGHT_SYSTEMS Linux Darwin Windows WASI)
set(FLASHWRIGHT_OS_Linux linux)
set(FLASHWRIGHT_OS_Darwin osx)
set(FLASHWRIGHT_OS_Windows windows)
set(FLASHWRIGHT_OS_WASI wasmrt)

# Kernels bring no Halide runtime, check nothing (the library has) and carry their task's scratch memory along.
set(FLASHWRIGHT_TARGET_FEATURES no_runtime-no_asserts-no_bounds_query-user_context)

# flashwright_halide_target(OUT ISA OS): the whole target of a kernel; OS is Halide's name of it.
function(flashwright_halide_target out isa os)
    set(architecture ${FLASHWRIGHT_ARCHITECTURE_${FLASHWRIGHT_PROCESSOR_${isa}}})
    set(${out} ${architecture}-${os}${FLASHWRIGHT_FEATURES_${isa}}-${FLASHWRIGHT_TARGET_FEATURES} PARENT_SCOPE)
endfunction()

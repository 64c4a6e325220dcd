# WebAssembly with 128-bit vectors, without threads, by Debian's clang and wasi-libc; tests run under node.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-14)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -fno-exceptions")
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-warnings "${CMAKE_CURRENT_LIST_DIR}/wasi.mjs")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)

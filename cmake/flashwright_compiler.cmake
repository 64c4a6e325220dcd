# How our own C++ is compiled.
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL)
    add_compile_options(-Wall -Wextra -Wshadow)
endif()
# GCC warns of what instrumented code only seems to do; the release build is the one that must be free of warnings.
if(FLASHWRIGHT_WERROR AND NOT FLASHWRIGHT_SANITIZE)
    add_compile_options(-Werror)
endif()
if(FLASHWRIGHT_SANITIZE)
    add_compile_options(-fsanitize=${FLASHWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${FLASHWRIGHT_SANITIZE})
endif()

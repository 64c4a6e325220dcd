# find_package(Halide) without Python's development headers: the package file that the wheel puts in the venv asks for
# them, though nothing here needs them, and then forwards to the one found here.
if(NOT Halide_DIR)
    foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
        file(GLOB found "${prefix}/lib/python3*/site-packages/halide/lib64/cmake/Halide")
        if(found)
            list(GET found 0 found)
            set(Halide_DIR "${found}" CACHE PATH "Folder of HalideConfig.cmake")
        endif()
    endforeach()
endif()
find_package(Halide 21 REQUIRED COMPONENTS shared)

# find_package(Halide) without Python's development headers: the package files that the wheel puts in the venv ask for
# them, though nothing here needs them, and then forward to the ones found here.
# FLASHWRIGHT_HALIDE_OPTIONAL: no error without it.
# A block: projects that use the package include this too.
block()
    foreach(package Halide HalideHelpers)
        foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
            file(GLOB found "${prefix}/lib/python3*/site-packages/halide/lib64/cmake/${package}")
            if(found AND NOT ${package}_DIR)
                list(GET found 0 found)
                set(${package}_DIR "${found}" CACHE PATH "Folder of ${package}Config.cmake")
            endif()
        endforeach()
    endforeach()
    set(CMAKE_DISABLE_FIND_PACKAGE_Halide_Python TRUE)
    set(required REQUIRED)
    if(FLASHWRIGHT_HALIDE_OPTIONAL)
        set(required QUIET)
    endif()
    find_package(Halide 21 ${required} COMPONENTS shared)
    foreach(variable Halide_FOUND Halide_VERSION)
        set(${variable} "${${variable}}" PARENT_SCOPE)
    endforeach()
endblock()

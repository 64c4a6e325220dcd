# find_package(flashwright): flashwright::flashwright (static), flashwright::flashwright_shared.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/flashwright_targets.cmake")
# A project in C alone does not link the C++ library by itself.
if(NOT CMAKE_CXX_COMPILER_LOADED)
    set_property(TARGET flashwright::flashwright APPEND PROPERTY INTERFACE_LINK_LIBRARIES stdc++ m)
endif()

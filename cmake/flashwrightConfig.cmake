# find_package(flashwright): flashwright::flashwright (static), flashwright::flashwright_shared.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/flashwright_targets.cmake")

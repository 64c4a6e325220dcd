# What an installed package has besides targets and headers: the file for pkg-config, and archives by cpack.
# It may be installed, or moved, anywhere: the prefix is found from the file's own place.
file(RELATIVE_PATH prefix_from_here "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/flashwright.pc.in" "${PROJECT_BINARY_DIR}/flashwright.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/flashwright.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT cpu)

# The GPU library is static alone, and so is what it needs of the other.
list(JOIN FLASHWRIGHT_BACKENDS ", " backend_names)
foreach(backend IN LISTS FLASHWRIGHT_BACKENDS)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/flashwright_gpu.pc.in" "${PROJECT_BINARY_DIR}/flashwright_gpu.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/flashwright_gpu.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT ${backend})
endforeach()

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME flashwright)
set(CPACK_PACKAGE_CONTACT "The flashwright authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
include(CPack)

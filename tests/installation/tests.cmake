# The installed package, from a project that knows nothing of this one (CMakeLists.txt here).
set(source "${CMAKE_CURRENT_LIST_DIR}")
set(build "${CMAKE_CURRENT_BINARY_DIR}/installation")
set(prefix "${build}/prefix")
add_test(NAME package_install COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${prefix}")
add_test(NAME package_install_cpu
         COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${build}/prefix_cpu" --component cpu)
set_tests_properties(package_install package_install_cpu PROPERTIES FIXTURES_SETUP package)

# package_test(NAME COMMAND...): uses what was installed.
function(package_test name)
    add_test(NAME package_${name} COMMAND ${ARGN})
    set_tests_properties(package_${name} PROPERTIES FIXTURES_REQUIRED package)
endfunction()
# consumer_test(NAME COMMAND...): uses what the consumer built.
function(consumer_test name)
    package_test(${name} ${ARGN})
    set_tests_properties(package_${name} PROPERTIES FIXTURES_REQUIRED "package;consumer" ENVIRONMENT HL_OCL_PLATFORM_NAME=Portable)
endfunction()

set(build_and_test --build-generator "${CMAKE_GENERATOR}" --build-makeprogram "${CMAKE_MAKE_PROGRAM}")
package_test(components "${CMAKE_CTEST_COMMAND}" --build-and-test "${source}/components" "${build}/components" ${build_and_test}
             --build-options "-DPREFIX=${prefix}" "-DPREFIX_CPU=${build}/prefix_cpu")

# Kernels come from the cache of this build: that the installed sources make the same generator program is what their hash says.
set(isa baseline)
list(JOIN CMAKE_PREFIX_PATH "\\;" prefix_path)
package_test(consumer "${CMAKE_CTEST_COMMAND}" --build-and-test "${source}" "${build}/consumer" ${build_and_test}
             --build-options "-DCMAKE_PREFIX_PATH=${prefix}\\;${prefix_path}" -DISA=${isa} "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
             "-DFLASHWRIGHT_KERNEL_CACHE=${FLASHWRIGHT_KERNEL_CACHE}")
set_tests_properties(package_consumer PROPERTIES FIXTURES_SETUP consumer)
package_test(consumer_mistake "${CMAKE_COMMAND}" -S "${source}" -B "${build}/mistake" -G "${CMAKE_GENERATOR}"
             "-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}" "-DCMAKE_PREFIX_PATH=${prefix}\\;${prefix_path}" -DISA=mmx)
set_tests_properties(package_consumer_mistake PROPERTIES
                     PASS_REGULAR_EXPRESSION "flashwright_add_kernels\\(own_kernels\\): ISAS: expected any of baseline")
foreach(consumer c_flashwright c_flashwright_shared cpp_flashwright cpp_flashwright_shared own_kernels_alone)
    consumer_test(${consumer} "${build}/consumer/${consumer}")
endforeach()

# The next version, installed, and a plug-in that links its shared library.
set(next "${build}/next_version")
package_test(next_version "${CMAKE_CTEST_COMMAND}" --build-and-test "${PROJECT_SOURCE_DIR}" "${next}/build" ${build_and_test}
             --build-options "-DCMAKE_PROJECT_flashwright_INCLUDE=${source}/next_version/version.cmake" -DCMAKE_BUILD_TYPE=Release
             "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_PREFIX_PATH=${prefix_path}" "-DFLASHWRIGHT_KERNEL_CACHE=${FLASHWRIGHT_KERNEL_CACHE}"
             -DFLASHWRIGHT_BACKENDS= -DFLASHWRIGHT_BUILD_PROGRAM=OFF -DFLASHWRIGHT_BUILD_TESTS=OFF
             --test-command "${CMAKE_COMMAND}" --install "${next}/build" --prefix "${next}/prefix" --component cpu)
package_test(next_version_plugin "${CMAKE_CTEST_COMMAND}" --build-and-test "${source}/next_version" "${next}/plugin" ${build_and_test}
             --build-options "-DCMAKE_PREFIX_PATH=${next}/prefix" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}")
set_tests_properties(package_next_version PROPERTIES FIXTURES_SETUP next_version)
set_tests_properties(package_next_version_plugin PROPERTIES FIXTURES_SETUP consumer FIXTURES_REQUIRED "package;next_version")
consumer_test(plugins "${build}/consumer/plugins" "${build}/consumer/libplugin_default.so" "${build}/consumer/libplugin_own.so"
              "${next}/plugin/libplugin_next.so")
# exports_test(LIBRARY NAMES): the consumer's shared object shows these functions and no others.
function(exports_test library names)
    consumer_test(${library}_exports "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DLIBRARY=${build}/consumer/lib${library}.so"
                  "-DNAMES=${names}" -P "${source}/check_exports.cmake")
endfunction()
exports_test(plugin_default "plugin_attend plugin_version")
exports_test(plugin_own "plugin_attend plugin_version")
if(TARGET flashwright_gpu)
    foreach(consumer gpu_consumer_first gpu_consumer_last gpu_consumer_shared)
        consumer_test(${consumer} "${build}/consumer/${consumer}")
    endforeach()
    exports_test(attention _Z6attendv)
endif()
package_test(pkg_config bash "${source}/pkg_config.sh" "${prefix}" "${build}/pkg_config")
set_tests_properties(package_pkg_config PROPERTIES SKIP_RETURN_CODE 77)
package_test(exports "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DLIBRARY=$<TARGET_FILE:flashwright_shared>"
             "-DHEADER=${PROJECT_SOURCE_DIR}/runtime/include/flashwright/flashwright.h" -P "${source}/check_exports.cmake")

add_test(NAME target_archives
         COMMAND bash "${source}/target_archives.sh" "${build}/targets" "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}" -G "${CMAKE_GENERATOR}"
                 "-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
                 "-DCMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH}" "-DFLASHWRIGHT_KERNEL_CACHE=${FLASHWRIGHT_KERNEL_CACHE}")

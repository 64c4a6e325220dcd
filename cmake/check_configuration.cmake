# cmake -P: reads the files of FLASHWRIGHT_CONFIG as the build would. Ends with an error and one line on stderr if one cannot be used.
cmake_minimum_required(VERSION 3.28)
set(FLASHWRIGHT_CHECK_ONLY TRUE)
include("${CMAKE_CURRENT_LIST_DIR}/kernel_configuration.cmake")
flashwright_read_configuration()

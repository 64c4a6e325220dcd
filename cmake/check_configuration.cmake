# cmake -P: reads the files of FLASHWRIGHT_CONFIG as the build would. Ends with an error and one line on stderr if one cannot be used.
cmake_minimum_required(VERSION 3.28)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
set(FLASHWRIGHT_CHECK_ONLY TRUE)
include(kernel_configuration)
flashwright_read_configuration()

# Build tests/package/consumer/ against libndr in one of the ways that a user might choose, then run it. What gets libndr
# by FetchContent is tests/package/fetched/, a program in C++ with typed launches.
# Run as: cmake -D WAY=... -D PREFIX=... -D ROOT=... and what else tests/CMakeLists.txt passes
cmake_minimum_required(VERSION 3.21)

set(consumer ${ROOT}/tests/package/consumer)
if(WAY STREQUAL fetch_content)
  set(consumer ${ROOT}/tests/package/fetched)
endif()
set(build ${CMAKE_CURRENT_BINARY_DIR}/build)
file(REMOVE_RECURSE ${build})
file(MAKE_DIRECTORY ${build})

if(WAY MATCHES "^pkg_config")
  set(package ndr)
  if(WAY STREQUAL pkg_config_static)
    # At another place, because an installed tree may be moved. The shared library is beside the static one.
    file(COPY ${PREFIX}/ DESTINATION ${build}/prefix)
    set(PREFIX ${build}/prefix)
    set(package ndr-static)
  endif()
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${package}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "pkg-config says: ${flags}")
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs lib${package}
    OUTPUT_VARIABLE second_flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT second_flags STREQUAL flags)
    message(FATAL_ERROR "pkg-config's package lib${package} says: ${second_flags}")
  endif()
  execute_process(COMMAND ${PKG_CONFIG} --variable=kernelsdir ${package}
    OUTPUT_VARIABLE kernels OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT EXISTS ${kernels}/ndr/item.clh)
    message(FATAL_ERROR "pkg-config's variable kernelsdir is \"${kernels}\", which has no ndr/item.clh.")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(
    COMMAND ${CC} -std=c11 -Wall -Wextra -Wpedantic -Werror ${consumer}/main.c ${flags}
            -Wl,-rpath,${PREFIX}/${LIBDIR} -o ${build}/consumer
    COMMAND_ERROR_IS_FATAL ANY)
else()
  set(ENV{CC} ${CC})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${consumer} -B ${build} -G ${GENERATOR} -D WAY=${WAY} -D NDR_ROOT=${ROOT}
            -D CMAKE_PREFIX_PATH=${PREFIX}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} COMMAND_ERROR_IS_FATAL ANY)
endif()

execute_process(COMMAND ${build}/consumer COMMAND_ERROR_IS_FATAL ANY)

execute_process(COMMAND ${READELF} -d ${build}/consumer OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(WAY MATCHES "_static$" AND dynamic MATCHES "NEEDED[^\n]*libndr")
  message(FATAL_ERROR "The consumer asked for the static library and got the shared one.")
elseif(NOT WAY MATCHES "_static$" AND NOT dynamic MATCHES "NEEDED[^\n]*libndr")
  message(FATAL_ERROR "The consumer asked for the shared library and got the static one.")
endif()
if(dynamic MATCHES "NEEDED[^\n]*OpenCL")
  message(FATAL_ERROR "The consumer, which calls no OpenCL, is linked with it.")
endif()

# On a machine without OpenCL it starts and reports what is missing.
function(expect_without_opencl sentence)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ARGN} ${build}/consumer RESULT_VARIABLE result ERROR_VARIABLE said)
  if(NOT result EQUAL 1 OR NOT said MATCHES "NDR_NO_DRIVER: ${sentence}")
    message(FATAL_ERROR "Without OpenCL (${ARGN}) the consumer gave ${result} and said: ${said}")
  endif()
endfunction()
file(WRITE ${build}/broken/libOpenCL.so.1 "no library")
file(COPY_FILE ${build}/broken/libOpenCL.so.1 ${build}/broken/libOpenCL.so)
expect_without_opencl("no OpenCL library is found: [^\n]*; install an ICD loader" LD_LIBRARY_PATH=${build}/broken)
expect_without_opencl("the OpenCL library that NDR_OPENCL names cannot be opened: " NDR_OPENCL=${build}/broken/none)

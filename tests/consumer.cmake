# Build tests/consumer/ against libndr in one of the ways a user might, then run it.
# Run as: cmake -D WAY=... -D PREFIX=... -D ROOT=... and what else tests/CMakeLists.txt passes
cmake_minimum_required(VERSION 3.25)

set(consumer ${ROOT}/tests/consumer)
set(build ${CMAKE_CURRENT_BINARY_DIR}/build)
file(REMOVE_RECURSE ${build})
file(MAKE_DIRECTORY ${build})

if(WAY MATCHES "^pkg_config")
  set(package ndr)
  if(WAY STREQUAL pkg_config_static)
    # At some other place: an installed tree may be moved. The shared library lies beside the static one.
    file(COPY ${PREFIX}/ DESTINATION ${build}/prefix)
    set(PREFIX ${build}/prefix)
    set(package ndr-static)
  endif()
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${package}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "pkg-config says: ${flags}")
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

# The shared library has its SONAME and needs only libc.
# Run as: cmake -D READELF=... -D LIBRARY=... -D SONAME=... -P needs.cmake
cmake_minimum_required(VERSION 3.21)

execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)

string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\n" lines "${dynamic}")
set(needed "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".* ([^ ]+)\n" "\\1" name "${line}") # "... library: [libc.so.6]"
  string(REGEX REPLACE "[^A-Za-z0-9._+-]" "" name "${name}")
  list(APPEND needed ${name})
endforeach()
message(STATUS "needs: ${needed}")
foreach(name IN LISTS needed)
  if(NOT name MATCHES "^(libc\\.so\\.6|ld-linux.*)$")
    message(FATAL_ERROR "${LIBRARY} needs ${name}.")
  endif()
endforeach()

string(REPLACE "." "\\." soname "${SONAME}")
if(NOT dynamic MATCHES "\\(SONAME\\)[^\n]*[^A-Za-z0-9._]${soname}[^A-Za-z0-9._]")
  message(FATAL_ERROR "${LIBRARY} does not have the SONAME ${SONAME}:\n${dynamic}")
endif()

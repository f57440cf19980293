# Calls that enqueue nothing do not compile with ndr_after(), and the errors say which type they got.
# Run as: cmake -D SOURCE=<only_commands.c> -D COMPILER=... -D LANGUAGE=c|c++ -D INCLUDE=... -P only_commands.cmake
cmake_minimum_required(VERSION 3.21)

file(STRINGS ${SOURCE} lines)
set(number 0)
set(wanted "")
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  if(line MATCHES "/\\* error \\*/")
    list(APPEND wanted ${number})
  endif()
endforeach()

set(ENV{LC_ALL} C)
execute_process(COMMAND ${COMPILER} -x ${LANGUAGE} -std=${LANGUAGE}11 -I${INCLUDE} -fsyntax-only ${SOURCE}
  ERROR_VARIABLE said RESULT_VARIABLE status)
string(REPLACE ";" "," said "${said}")
# An error in the expansion of a macro may be reported in the header: then a note names the line.
string(REGEX MATCHALL "only_commands\\.c:[0-9]+:[0-9]+: (error|note: in expansion|note: expanded)" places "${said}")
list(TRANSFORM places REPLACE "only_commands\\.c:([0-9]+):.*" "\\1")
list(REMOVE_DUPLICATES places)
if(status EQUAL 0 OR NOT "${places}" STREQUAL "${wanted}")
  message(FATAL_ERROR "Lines ${wanted} should draw errors, but lines ${places} do:\n${said}")
endif()
string(REGEX MATCHALL "ndr_queue_after" names "${said}")
list(LENGTH names named)
list(LENGTH wanted count)
if(named LESS count)
  message(FATAL_ERROR "${named} of ${count} errors name ndr_queue_after:\n${said}")
endif()

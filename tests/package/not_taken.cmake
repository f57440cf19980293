# Each argument that ndr_launch() refuses draws one error, in which a name suggests what to write.
# Run as: cmake -D SOURCE=<not_taken.c> -D COMPILER=... -D LANGUAGE=c|c++ -D INCLUDE=... -P not_taken.cmake
cmake_minimum_required(VERSION 3.21)

file(STRINGS ${SOURCE} marks REGEX "/\\* error( in [c+]+)?: ")
set(wanted "")
foreach(mark IN LISTS marks)
  string(REGEX MATCH "/\\* error( in ([c+]+))?: ([a-z_0-9]+)" mark "${mark}")
  if("${CMAKE_MATCH_1}" STREQUAL "" OR "${CMAKE_MATCH_2}" STREQUAL "${LANGUAGE}")
    list(APPEND wanted ${CMAKE_MATCH_3})
  endif()
endforeach()

set(ENV{LC_ALL} C)
execute_process(COMMAND ${COMPILER} -x ${LANGUAGE} -std=${LANGUAGE}11 -I${INCLUDE} -fsyntax-only ${SOURCE}
  ERROR_VARIABLE said RESULT_VARIABLE status)
string(REPLACE ";" "," said "${said}")
string(REGEX MATCHALL "[^\n]*:[0-9]+: error: [^\n]*" errors "${said}")
list(LENGTH wanted count)
list(LENGTH errors found)
if(count LESS 8 OR NOT found EQUAL count OR status EQUAL 0)
  message(FATAL_ERROR "${count} errors were expected, ${found} were found:\n${said}")
endif()
foreach(name error IN ZIP_LISTS wanted errors)
  if(NOT error MATCHES "${name}")
    message(FATAL_ERROR "This error should contain ${name}:\n${error}")
  endif()
endforeach()

# Each marked line of refused.cpp draws an error that contains the mark's text, and the rest compiles.
# Run as: cmake -D SOURCE=<refused.cpp> -D COMPILER=... -D INCLUDE=... -P refused.cmake
cmake_minimum_required(VERSION 3.21)

set(ENV{LC_ALL} C)
set(flags -std=c++17 -Wall -Wextra -Wpedantic -Werror -I${INCLUDE} -fsyntax-only)
execute_process(COMMAND ${COMPILER} ${flags} -D CASE=0 ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)

file(STRINGS ${SOURCE} marks REGEX "/\\* [0-9]+: ")
foreach(mark IN LISTS marks)
  string(REGEX MATCH "/\\* ([0-9]+): (.*) \\*/" mark "${mark}")
  set(case ${CMAKE_MATCH_1})
  set(wanted "${CMAKE_MATCH_2}")
  execute_process(COMMAND ${COMPILER} ${flags} -D CASE=${case} ${SOURCE} ERROR_VARIABLE said RESULT_VARIABLE status)
  string(FIND "${said}" "${wanted}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "case ${case} should draw an error with \"${wanted}\":\n${said}")
  endif()
endforeach()
list(LENGTH marks count)
if(count LESS 15)
  message(FATAL_ERROR "${count} marks were found.")
endif()
message(STATUS "${count} lines do not compile")

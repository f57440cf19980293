# Every public function that returns a status has it checked by the compiler, except ndr_error_set(), which returns its
# argument.
# Run as: cmake -D SOURCE=<ignored.c> -D COMPILER=... -D INCLUDE=... -P ignored.cmake
cmake_minimum_required(VERSION 3.21)

file(GLOB headers ${INCLUDE}/ndr/*.h)
foreach(header IN LISTS headers)
  file(STRINGS ${header} unmarked REGEX "^NDR_API ndr_status")
  list(FILTER unmarked EXCLUDE REGEX " ndr_error_set\\(")
  if(unmarked)
    message(FATAL_ERROR "${header}: write NDR_MUST_CHECK in place of NDR_API: ${unmarked}")
  endif()
endforeach()

# The marked lines of the source, and the lines with warnings. GCC also warns about (void), clang does not.
file(STRINGS ${SOURCE} lines)
set(number 0)
set(wanted "")
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  if(line MATCHES "/\\* warns \\*/" AND NOT (line MATCHES "\\(void\\)" AND COMPILER MATCHES "clang"))
    list(APPEND wanted ${number})
  endif()
endforeach()
execute_process(COMMAND ${COMPILER} -std=c11 -Wall -Wextra -Wpedantic -I${INCLUDE} -c ${SOURCE} -o ignored.o
  ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "ignored\\.c:[0-9]+:[0-9]+: (warning: ignoring|note: in expansion)" warnings "${said}")
list(TRANSFORM warnings REPLACE "ignored\\.c:([0-9]+):.*" "\\1")
list(REMOVE_DUPLICATES warnings)
if(NOT "${warnings}" STREQUAL "${wanted}")
  message(FATAL_ERROR "Lines ${wanted} should draw a warning, but lines ${warnings} do:\n${said}")
endif()

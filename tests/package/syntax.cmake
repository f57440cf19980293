# Check that clang compiles the library's sources without a warning for a given system, which may have other headers:
# every third file, on the next days the others; with NDR_TEST_LONG=1 all. NDR_TEST_DAY sets the day.
# Run as: cmake -D CLANG=<clang> -D TARGET=<triple> -D FLAGS=<more,parted,by,commas> -D ROOT=<project> -P syntax.cmake
cmake_minimum_required(VERSION 3.21)

string(REPLACE "," ";" flags "${FLAGS}")
file(GLOB files "${ROOT}/src/*/*.c" "${ROOT}/src/*/*/*.c")
set(day "$ENV{NDR_TEST_DAY}")
if(day STREQUAL "")
  string(TIMESTAMP now %s UTC)
  math(EXPR day "${now} / 86400")
endif()
set(count 0)
foreach(file IN LISTS files)
  math(EXPR day "${day} + 1")
  math(EXPR turn "${day} % 3")
  if(turn AND NOT "$ENV{NDR_TEST_LONG}")
    continue()
  endif()
  math(EXPR count "${count} + 1")
  execute_process(
    COMMAND ${CLANG} --target=${TARGET} -std=c11 -DNDR_BUILDING -fsyntax-only -Wall -Wextra -Wpedantic
            -Wconversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Werror -I${ROOT}/include -I${ROOT}/src
            -I${ROOT}/kernels
            ${flags} ${file}
    RESULT_VARIABLE status ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    string(APPEND wrong "${said}")
  endif()
endforeach()
if(wrong)
  message(FATAL_ERROR "For ${TARGET}:\n${wrong}")
endif()
message(STATUS "${count} files for ${TARGET}: no warning")

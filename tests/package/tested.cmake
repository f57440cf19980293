# Every file of src/ has a test of the same name, or the list below has the tests that cover it. The test of an
# operation covers all files of its folder, because it runs each implementation by name.
# Run as: cmake -D ROOT=<project> -P tested.cmake
cmake_minimum_required(VERSION 3.21)

# file: the tests that cover it. A file is here if it can only be reached through another one.
set(covered
  "base/handle: check"              # handles are known in checked contexts only
  "device/cache: binary"
  "device/caps: catalog context"    # what NDR_DISABLE disables; what a device reports
  "device/clock: trace"
  "device/record: trace"
  "device/cl_error: status failures"
  "device/dumps: dump"
  "device/drivers: catalog"         # why there is no driver or device
  "device/format: image"
  "device/image_part: image"
  "device/pinned: between"
  "device/map: buffer view image"
  "device/sampler: image"
  "device/transfer: buffer image rect shared"
  "device/user: shared address"
  "launch/args: launch"
  "launch/reduction: reducer"
  "launch/checked: check"           # together with device/check
  "launch/values: launch errors"
  "ops/job: workspace reduce"
  "ops/choices: select tune"
  "ops/answers: selftest"
  "ops/trial: prove"
  "ops/operand: reduce matmul"      # tests/ops/refusals.c
  "ops/array: map"
  "ops/names: map"
  "ops/written: map"
  "ops/sequence: top_k array_scan"
  "ops/sized: queue catalog context kernel warm" # and tests/package/abi
  "ops/progress: prove"
  "program/adopt: native"
  "program/build: kernel"
  "program/explain: errors"
  "program/places: errors"
  "program/folders: source paste"
  "program/language: errors"
  "program/lines: source guard"
  "program/macros: source"
  "program/plain: outline"
  "program/probe: kernel compiled"
  "program/program: kernel compiled"
  "program/signature: kernel"
  "program/types: dtype")

set(wrong "")
file(GLOB tests RELATIVE ${ROOT}/tests ${ROOT}/tests/*/test_*.c)
list(TRANSFORM tests REPLACE "^.*/test_(.*)\\.c$" "\\1")
file(GLOB files RELATIVE ${ROOT}/src ${ROOT}/src/*/*.c ${ROOT}/src/*/*/*.c)
set(listed "")
foreach(line IN LISTS covered)
  string(REGEX MATCH "^([^:]+): (.+)$" line "${line}")
  set(file ${CMAKE_MATCH_1})
  separate_arguments(by UNIX_COMMAND "${CMAKE_MATCH_2}")
  list(APPEND listed ${file})
  cmake_path(GET file FILENAME name)
  if(NOT "${file}.c" IN_LIST files)
    string(APPEND wrong "  src/${file}.c is listed and does not exist\n")
  elseif(name IN_LIST tests AND NOT IS_DIRECTORY ${ROOT}/src/ops/${name}) # test_map is that of the operation
    string(APPEND wrong "  src/${file}.c is listed and has a test_${name}.c\n")
  endif()
  foreach(test IN LISTS by)
    if(NOT test IN_LIST tests)
      string(APPEND wrong "  src/${file}.c is listed with test_${test}.c, which does not exist\n")
    endif()
  endforeach()
endforeach()
foreach(file IN LISTS files)
  string(REGEX REPLACE "\\.c$" "" file ${file})
  cmake_path(GET file FILENAME name)
  if(file MATCHES "^ops/([^/]+)/" AND CMAKE_MATCH_1 IN_LIST tests)
    continue()
  endif()
  if(NOT name IN_LIST tests AND NOT file IN_LIST listed)
    string(APPEND wrong "  src/${file}.c has no test_${name}.c; write one, or list here which tests cover it\n")
  endif()
endforeach()

if(wrong)
  message(FATAL_ERROR "${CMAKE_CURRENT_LIST_FILE}:\n${wrong}")
endif()
list(LENGTH files count)
message(STATUS "${count} files of src/ have a test")

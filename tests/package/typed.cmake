# Build tests/package/typed/ against libndr in one of the ways that a user might choose, and run it without its kernel
# files. Then change what its headers are made of.
# Run as: cmake -D WAY=... -D PREFIX=... -D ROOT=... -D CC=... -D GENERATOR=... -P typed.cmake
cmake_minimum_required(VERSION 3.21)

set(source ${CMAKE_CURRENT_BINARY_DIR}/typed)
set(build ${CMAKE_CURRENT_BINARY_DIR}/build)
file(REMOVE_RECURSE ${source} ${build})
file(COPY ${ROOT}/tests/package/typed DESTINATION ${CMAKE_CURRENT_BINARY_DIR})
set(ENV{CC} ${CC})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR} -D WAY=${WAY} -D NDR_ROOT=${ROOT}
          -D CMAKE_PREFIX_PATH=${PREFIX} -D CMAKE_C_FLAGS=-Wall\ -Wextra\ -Wpedantic\ -Wconversion\ -Werror
  COMMAND_ERROR_IS_FATAL ANY)

# build_typed(OUT) runs the build; OUT gets what it printed, and OUT_status its exit code.
function(build_typed out)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(${out} "${said}" PARENT_SCOPE)
  set(${out}_status ${status} PARENT_SCOPE)
endfunction()

# run_typed(LINE...) builds and runs it where its kernel files are not, and compares what it prints.
function(run_typed)
  build_typed(said)
  if(said_status)
    message(FATAL_ERROR "the build failed:\n${said}")
  endif()
  file(RENAME ${source} ${source}.away)
  execute_process(COMMAND ${build}/typed OUTPUT_VARIABLE printed RESULT_VARIABLE status)
  file(RENAME ${source}.away ${source})
  list(JOIN ARGN "\n" wanted)
  if(status OR NOT printed STREQUAL "${wanted}\n")
    message(FATAL_ERROR "expected:\n${wanted}\nthe program gave ${status} and printed:\n${printed}")
  endif()
endfunction()

# expect_failure(REGEX) builds, which must fail with this in what it prints.
function(expect_failure regex)
  build_typed(said)
  if(NOT said_status OR NOT said MATCHES "${regex}")
    message(FATAL_ERROR "a failure with \"${regex}\" was expected; the build gave ${said_status} and printed:\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

# change(FILE FROM TO) replaces a part of a file.
function(change file from to)
  file(READ ${source}/${file} text)
  string(REPLACE "${from}" "${to}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${file} has no \"${from}\"")
  endif()
  file(WRITE ${source}/${file} "${changed}")
endfunction()

run_typed("3 199, 25 below" "parts 2, limit 50")

# A kernel's text and each file that it includes are followed, and nothing else is made again.
change(kernels/half.clh "PARTS 2" "PARTS 4")
run_typed("2 100, 49 below" "parts 4, limit 50")
build_typed(said)
if(said MATCHES "Binding")
  message(FATAL_ERROR "a header was made again without a change:\n${said}")
endif()
change(shared/weights.h "float factor;" "float factor; /* a comment */")
build_typed(said)
if(NOT said MATCHES "Binding scale.cl" OR said MATCHES "Binding count.cl")
  message(FATAL_ERROR "a change of weights.h should make scale.cl.h alone again:\n${said}")
endif()

# A mistake in a kernel stops the build, with its file and line; the earlier header stays.
change(kernels/scale.cl "w.shift;" "w.shyft;")
expect_failure("typed/kernels/scale.cl:10:[^\n]*")
if(NOT said MATCHES "shyft")
  message(FATAL_ERROR "the error does not name the member:\n${said}")
endif()
change(kernels/scale.cl "w.shyft;" "w.shift;")

# Without a device the kernels are only read, and the header is the same.
file(SHA256 ${build}/ndr_kernels/typed/count.cl.h with_device)
file(TOUCH ${source}/kernels/count.cl)
set(ENV{OCL_ICD_VENDORS} ${CMAKE_CURRENT_BINARY_DIR}/none)
build_typed(said)
unset(ENV{OCL_ICD_VENDORS})
file(SHA256 ${build}/ndr_kernels/typed/count.cl.h without_device)
if(said_status OR NOT said MATCHES "count.cl is not compiled here, only read: ")
  message(FATAL_ERROR "without a device the build gave ${said_status} and printed:\n${said}")
endif()
if(NOT with_device STREQUAL without_device)
  message(FATAL_ERROR "the header depends on whether there is a device")
endif()
run_typed("2 100, 49 below" "parts 4, limit 50")

# Wrong calls are refused when CMake runs, with what to write.
file(READ ${source}/CMakeLists.txt lists)
function(expect_refusal call regex)
  file(WRITE ${source}/CMakeLists.txt "${lists}${call}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} ${build} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(NOT status OR NOT said MATCHES "${regex}")
    message(FATAL_ERROR "a refusal with \"${regex}\" was expected of ${call}; CMake gave ${status} and printed:\n${said}")
  endif()
endfunction()
expect_refusal("ndr_add_kernels(nobody FILES kernels/half.clh)" "no target nobody: write add_executable\\(\\) or")
expect_refusal("ndr_add_kernels(typed FILE kernels/half.clh)" "write FILES in front of the kernel files")
expect_refusal("ndr_add_kernels(typed FILES nobody.cl)" "there is no file [^ ]*/nobody.cl: correct its name")
expect_refusal("ndr_add_kernels(typed FILES kernels/half.clh PREFFIX x_)" "there is no file [^ ]*/PREFFIX: .*PREFIX")
expect_refusal("ndr_add_kernels(typed FILES kernels/scale.cl)" "scale.cl is named twice; name it once")
file(WRITE ${source}/CMakeLists.txt "${lists}")

# Each file under kernels/ is correct OpenCL C by itself, without any device. Before 3.0 a file may say, in an #error, that
# it needs a device that can do more. The kernels of an operation share one list of parameters, and not each one uses all.
# Run as: cmake -D CLANG=... -D STD=CL1.2 -D KERNELS=... -P kernels.cmake
cmake_minimum_required(VERSION 3.21)

file(GLOB_RECURSE files RELATIVE "${KERNELS}" "${KERNELS}/*.cl" "${KERNELS}/*.clh" "${KERNELS}/*.h")
set(failed "")
foreach(file IN LISTS files)
  set(shared_parameters -Wno-unused-parameter)
  if(file MATCHES "^ndr/")
    set(shared_parameters "")
  endif()
  execute_process(
    COMMAND ${CLANG} -x cl -cl-std=${STD} -target spir64-unknown-unknown -Xclang -cl-ext=+all
            -Xclang -finclude-default-header -Wall -Wextra -Werror -Wno-unused-function -Wno-pragma-once-outside-header
            ${shared_parameters}
            -I${KERNELS} -fsyntax-only ${KERNELS}/${file}
    RESULT_VARIABLE status ERROR_VARIABLE errors)
  if(status AND NOT STD STREQUAL "CL3.0" AND errors MATCHES "#error \"?[a-z_]+\\.clh needs a device that")
    message(STATUS "${file} is not for ${STD}")
  elseif(status)
    message("${errors}")
    list(APPEND failed ${file})
  endif()
endforeach()
list(LENGTH files count)
message(STATUS "${count} files as ${STD}")
if(failed OR count EQUAL 0)
  message(FATAL_ERROR "not correct as ${STD}: ${failed}")
endif()

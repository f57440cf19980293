# Each file under kernels/ is correct OpenCL C by itself, without any device. Before 3.0 a file may say, in an #error, that
# it needs a device that can do more. The kernels of an operation share one list of parameters, and not each one uses all.
# The headers of the vocabulary may be included in any order: here forwards and backwards by name.
# Run as: cmake -D CLANG=... -D STD=CL1.2 -D KERNELS=... -P kernels.cmake
cmake_minimum_required(VERSION 3.21)

file(GLOB_RECURSE files RELATIVE "${KERNELS}" "${KERNELS}/*.cl" "${KERNELS}/*.clh" "${KERNELS}/*.h")
set(failed "")
set(compile ${CLANG} -x cl -cl-std=${STD} -target spir64-unknown-unknown -Xclang -cl-ext=+all
            -Xclang -finclude-default-header -Wall -Wextra -Werror -Wno-unused-function -Wno-pragma-once-outside-header
            -I${KERNELS} -fsyntax-only)

file(GLOB headers RELATIVE "${KERNELS}" "${KERNELS}/ndr/*.clh")
if(STD STREQUAL "CL3.0") # before, some need a device that can do more
  foreach(order IN ITEMS forwards backwards)
    set(includes "")
    foreach(header IN LISTS headers)
      list(APPEND includes -include ${header})
    endforeach()
    execute_process(COMMAND ${compile} ${includes} ${KERNELS}/ndr/ndr.clh RESULT_VARIABLE status ERROR_VARIABLE errors)
    if(status)
      message("${errors}")
      list(APPEND failed "all headers ${order}")
    endif()
    list(REVERSE headers)
  endforeach()
endif()

foreach(file IN LISTS files)
  set(shared_parameters -Wno-unused-parameter)
  if(file MATCHES "^ndr/")
    set(shared_parameters "")
  endif()
  execute_process(COMMAND ${compile} ${shared_parameters} ${KERNELS}/${file}
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

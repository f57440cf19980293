# Install into a folder of the build tree, and check that everything was installed.
# Run as: cmake -D BUILD=... -D PREFIX=... -P install_tree.cmake
cmake_minimum_required(VERSION 3.21)

file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} COMMAND_ERROR_IS_FATAL ANY)

file(GLOB_RECURSE installed RELATIVE ${PREFIX} ${PREFIX}/*)
foreach(part "include/ndr/ndr\\.h" "include/ndr/ndr_args\\.h" "include/ndr/ndr\\.hpp" "libndr\\.so" "libndr\\.a" "ndr-config\\.cmake"
        "ndr-config-version\\.cmake" "pkgconfig/ndr\\.pc" "pkgconfig/ndr-static\\.pc" "pkgconfig/libndr\\.pc" "pkgconfig/libndr-static\\.pc"
        "share/ndr/kernels/ndr/.*\\.clh"
        "share/ndr/kernels/ndr/detail/.*\\.inc" "share/ndr/kernels/ndr/detail/launch_record\\.h"
        "LICENSE" "docs/ranges\\.md" "examples/CMakeLists\\.txt" "examples/common/example\\.h" "examples/reduction/reduction\\.cl"
        "examples/vector_add/main\\.c")
  set(found ${installed})
  list(FILTER found INCLUDE REGEX "${part}$")
  if(NOT found)
    message(FATAL_ERROR "${part} was not installed; these were: ${installed}")
  endif()
endforeach()

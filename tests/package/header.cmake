# Compile one public header alone, included twice, or one source that uses the headers: as C11 or as C++11.
# Run as: cmake -D HEADER=ndr/x.h | -D SOURCE=<file> -D COMPILER=... -D LANGUAGE=c|c++ -D INCLUDE=... [-D FLAGS=a,b]
#           -P header.cmake
cmake_minimum_required(VERSION 3.21)

set(flags -x ${LANGUAGE} -std=${LANGUAGE}11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Werror -I${INCLUDE})
string(REPLACE "," ";" more "${FLAGS}")
list(APPEND flags ${more})
if(HEADER)
  file(WRITE alone.txt "#include \"${HEADER}\"\n#include \"${HEADER}\"\ntypedef int not_empty;\n")
  set(SOURCE alone.txt)
endif()

execute_process(COMMAND ${COMPILER} ${flags} -fsyntax-only ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)

# C++ programs include C headers inside extern "C".
if(LANGUAGE STREQUAL "c++")
  set(header ndr/ndr.h)
  if(HEADER)
    set(header ${HEADER})
  endif()
  file(WRITE inside.txt "extern \"C\" {\n#include \"${header}\"\n}\n#include \"${SOURCE}\"\n")
  execute_process(COMMAND ${COMPILER} ${flags} -I. -fsyntax-only inside.txt COMMAND_ERROR_IS_FATAL ANY)
endif()

# Only ndr_cl.h may include OpenCL's own headers.
if(HEADER AND NOT HEADER STREQUAL "ndr/ndr_cl.h")
  execute_process(COMMAND ${COMPILER} ${flags} -M ${SOURCE} OUTPUT_VARIABLE seen COMMAND_ERROR_IS_FATAL ANY)
  if(seen MATCHES "/CL/[a-z_]+\\.h")
    message(FATAL_ERROR "${HEADER} includes OpenCL's ${CMAKE_MATCH_0}.")
  endif()
endif()

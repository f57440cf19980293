# Draw the house from its #includes, and fail where a file looks upstairs or through another's door.
# Run as: cmake -D SRC=<src folder> -P floors.cmake
#
#   a door    src/<floor>/<floor>.h   sees the doors of floors below, public headers and system headers
#   a file    src/<floor>/*.c         sees the door of its own floor, public headers and system headers
cmake_minimum_required(VERSION 3.25)

set(floors base device program launch ops) # bottom to top
set(wrong "")

file(GLOB folders LIST_DIRECTORIES true RELATIVE "${SRC}" "${SRC}/*")
foreach(folder IN LISTS folders)
  if(NOT folder IN_LIST floors)
    string(APPEND wrong "  src/${folder}: is no floor\n")
  endif()
endforeach()

foreach(floor IN LISTS floors)
  list(FIND floors ${floor} height)
  set(door "${floor}/${floor}.h")
  set(seen "")
  file(GLOB files RELATIVE "${SRC}" "${SRC}/${floor}/*.[ch]")
  foreach(file IN LISTS files)
    file(STRINGS "${SRC}/${file}" includes REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" target "${line}")
      cmake_path(GET target PARENT_PATH other)
      list(FIND floors "${other}" other_height)
      list(APPEND seen "${target}")
      if(other STREQUAL "ndr")
        continue()
      elseif(file STREQUAL door)
        if(target STREQUAL "${other}/${other}.h" AND other_height GREATER -1 AND other_height LESS height)
          continue()
        endif()
      elseif(target STREQUAL door)
        continue()
      endif()
      if(other_height GREATER height)
        string(APPEND wrong "  src/${file} looks upstairs at \"${target}\"\n")
      else()
        string(APPEND wrong "  src/${file} includes \"${target}\" rather than \"${door}\"\n")
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES seen)
  list(LENGTH files count)
  message(STATUS "${floor}: ${count} files, seeing ${seen}")
endforeach()

if(wrong)
  message(FATAL_ERROR "The floors are not kept (see docs/architecture.md):\n${wrong}")
endif()

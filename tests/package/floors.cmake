# Read all #includes, and fail if a file includes a header of a higher floor or a header that the list does not allow.
# Run as: cmake -D SRC=<src folder> -P floors.cmake
#
#   src/<floor>/<floor>.h            includes the headers of lower floors, public headers and system headers
#   src/<floor>/*.c                  include the header of their own floor, public headers and system headers
#   src/<floor>/<folder>/            has a header <folder>.h, which includes the floor's; its files include that one
# alone
#   kernels/shared/*.h, kernels/ndr/detail/*.h   are included by headers
#   names of types, enumerators and functions that a floor's header declares are not used on a lower floor
cmake_minimum_required(VERSION 3.21)

set(floors base device program launch ops) # bottom to top
set(submitter device/submit.c) # alone enqueues
set(system base/os.h base/os.c) # alone use the operating system
set(wrong "")

# Types of the public headers may be used on every floor, wherever their struct is defined.
file(GLOB headers "${SRC}/../include/ndr/*.h")
set(public "")
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(REGEX MATCHALL "ndr_[a-z0-9_]+" words "${text}")
  list(APPEND public ${words})
endforeach()
list(REMOVE_DUPLICATES public)

file(GLOB folders LIST_DIRECTORIES true RELATIVE "${SRC}" "${SRC}/*")
foreach(folder IN LISTS folders)
  if(NOT folder IN_LIST floors)
    string(APPEND wrong "  src/${folder}: is no floor\n")
  endif()
endforeach()

foreach(floor IN LISTS floors)
  list(FIND floors ${floor} height)
  set(seen "")
  file(GLOB files RELATIVE "${SRC}" "${SRC}/${floor}/*.[ch]" "${SRC}/${floor}/*/*.[ch]")
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME room)
    set(header_of_floor "${folder}/${room}.h")
    file(STRINGS "${SRC}/${file}" includes REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" target "${line}")
      cmake_path(GET target PARENT_PATH other)
      list(FIND floors "${other}" other_height)
      list(APPEND seen "${target}")
      if(other STREQUAL "ndr")
        continue()
      elseif(file STREQUAL header_of_floor)
        if(other STREQUAL floor OR other STREQUAL "shared" OR other STREQUAL "ndr/detail")
          continue() # a header may be in parts
        elseif(target STREQUAL "${other}/${other}.h" AND other_height GREATER -1 AND other_height LESS height)
          continue()
        endif()
      elseif(target STREQUAL header_of_floor)
        continue()
      endif()
      if(other_height GREATER height)
        string(APPEND wrong "  src/${file} includes the header of a higher floor, \"${target}\"\n")
      else()
        string(APPEND wrong "  src/${file} includes \"${target}\" rather than \"${header_of_floor}\"\n")
      endif()
    endforeach()
  endforeach()
  foreach(file IN LISTS files)
    if(file IN_LIST system)
      continue()
    endif()
    file(STRINGS "${SRC}/${file}" lines REGEX "clEnqueue")
    list(FILTER lines EXCLUDE REGEX "^ *(REQUIRED|OPTIONAL)\\(") # rows of the table
    if(lines AND NOT file STREQUAL submitter)
      string(APPEND wrong "  src/${file} calls clEnqueue*; call a function of ${submitter}: ${lines}\n")
    endif()
    file(STRINGS "${SRC}/${file}" lines REGEX
      "include *<(pthread|sched|time|dlfcn|dirent|fcntl|unistd|windows|sys/.*)\\.h>|(^|[^a-z_])(secure_)?getenv *\\(|(^|[^a-z_])strerror *\\([^)]")
    if(lines)
      string(APPEND wrong "  src/${file} asks the operating system; base/os.c does that for all: ${lines}\n")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES seen)
  list(LENGTH files count)
  message(STATUS "${floor}: ${count} files, seeing ${seen}")
endforeach()

# The names that a floor's headers declare: types, enumerators, functions.
set(below "")
foreach(floor IN LISTS floors)
  set(names "")
  file(GLOB_RECURSE headers "${SRC}/${floor}/*.h")
  foreach(header IN LISTS headers)
    file(READ "${header}" text)
    string(REGEX MATCHALL "\n(struct|enum|}|typedef struct) ndr_[a-z0-9_]+|\n    NDR_[A-Z0-9_]+|\n[a-z][^\n(]*[ *]ndr_[a-z0-9_]+\\("
           declarations "${text}")
    foreach(declaration IN LISTS declarations)
      string(REGEX MATCH "(ndr|NDR)_[A-Za-z0-9_]+\\(?$" name "${declaration}")
      string(REPLACE "(" "" name "${name}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES names)
  if(public)
    list(REMOVE_ITEM names ${public})
  endif()
  list(LENGTH names count)
  message(STATUS "${floor}: ${count} names of its own")
  foreach(lower IN LISTS below)
    file(GLOB_RECURSE files RELATIVE "${SRC}" "${SRC}/${lower}/*.[ch]")
    foreach(file IN LISTS files)
      file(READ "${SRC}/${file}" text)
      foreach(name IN LISTS names)
        if(text MATCHES "[^A-Za-z0-9_]${name}[^A-Za-z0-9_]")
          string(APPEND wrong "  src/${file} mentions ${name}, of the floor ${floor}\n")
        endif()
      endforeach()
    endforeach()
  endforeach()
  list(APPEND below ${floor})
endforeach()

if(wrong)
  message(FATAL_ERROR "The floors are not kept (see docs/architecture.md):\n${wrong}")
endif()

# Put kernel files into a program, with a C function for each kernel. docs/typed.md shows it in use.
#
#     ndr_add_kernels(TARGET [PREFIX text] [OPTIONS option...] [INCLUDE_DIRECTORIES folder...] [NO_CHECK] FILES file...)
#
# The target's sources may then include "NAME.h" for each file with that name, such as "saxpy.cl.h". It has the text with
# the files that it includes, and one function for each kernel. `ndr bind` makes it, and again when one of these files
# changes. It compiles the kernels if there is a device, and a mistake in one stops the build.
#
#     PREFIX               begins the names of functions and constants
#     OPTIONS              for OpenCL's compiler, such as -DTILE=16; the program passes them, too
#     INCLUDE_DIRECTORIES  where included files are searched, after the folder of the file that includes them
#     NO_CHECK             compiles no kernel

# A project that contains libndr builds the command only if it is used.
function(ndr_require_tool)
  set(sources ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tools/ndr)
  if(NOT TARGET ndr::tool AND EXISTS ${sources})
    add_subdirectory(${sources} ${CMAKE_BINARY_DIR}/ndr_tool EXCLUDE_FROM_ALL)
  elseif(NOT TARGET ndr::tool)
    message(FATAL_ERROR "ndr_add_kernels() needs the command ndr, which was not installed with libndr: build libndr with "
                        "NDR_BUILD_TOOLS=ON, and install it")
  endif()
endfunction()

function(ndr_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_CHECK" "PREFIX" "FILES;OPTIONS;INCLUDE_DIRECTORIES")
  if(NOT arg_FILES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ndr_add_kernels(${target} ...): write FILES in front of the kernel files: ${ARGN}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "ndr_add_kernels(${target} ...): there is no target ${target}: write add_executable() or "
                        "add_library() for it first")
  endif()
  ndr_require_tool()
  set(flags "")
  if(arg_PREFIX)
    list(APPEND flags --prefix=${arg_PREFIX})
  endif()
  if(arg_NO_CHECK)
    list(APPEND flags --no-check)
  endif()
  foreach(option IN LISTS arg_OPTIONS)
    list(APPEND flags --build-options=${option})
  endforeach()
  foreach(folder IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH folder)
    list(APPEND flags --include=${folder})
    target_include_directories(${target} PRIVATE ${folder})
  endforeach()

  set(out ${CMAKE_CURRENT_BINARY_DIR}/ndr_kernels/${target})
  file(MAKE_DIRECTORY ${out})
  target_include_directories(${target} PRIVATE ${out})
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${file} NORMALIZE may_be_generated)
    if(NOT may_be_generated AND NOT EXISTS ${file})
      message(FATAL_ERROR "ndr_add_kernels(${target} ...): there is no file ${file}: correct its name; the words in front "
                          "of lists are FILES, OPTIONS, INCLUDE_DIRECTORIES and PREFIX")
    endif()
    cmake_path(GET file FILENAME name)
    cmake_path(GET file PARENT_PATH folder)
    get_source_file_property(other ${out}/${name}.h NDR_KERNEL_FILE)
    if(other STREQUAL file)
      message(FATAL_ERROR "ndr_add_kernels(${target} ...): ${file} is named twice; name it once")
    elseif(other)
      message(FATAL_ERROR "ndr_add_kernels(${target} ...): ${other} and ${file} have one name; rename one of them")
    endif()
    set_source_files_properties(${out}/${name}.h PROPERTIES NDR_KERNEL_FILE ${file})
    add_custom_command(
      OUTPUT ${out}/${name}.h
      COMMAND ndr::tool bind ${flags} --output=${out}/${name}.h --depfile=${out}/${name}.d ${file}
      DEPENDS ${file} ndr::tool
      DEPFILE ${out}/${name}.d
      COMMENT "Binding ${name}"
      VERBATIM)
    target_sources(${target} PRIVATE ${out}/${name}.h)
    target_include_directories(${target} PRIVATE ${folder}) # for headers that the kernels and the program share
  endforeach()
endfunction()

# Each public function is in a scene of test_failures.c, in which its calls of OpenCL and its allocations fail, or below
# with the reason why not.
# Run as: cmake -D ROOT=... -P injected.cmake
cmake_minimum_required(VERSION 3.21)

set(exempt
  # call neither OpenCL nor the allocator
  ndr_version ndr_device_type_name ndr_dtype_name ndr_dtype_size ndr_f16_from_float
  ndr_f16_to_float ndr_bf16_from_float ndr_bf16_to_float ndr_narrow_floats ndr_widen_floats ndr_image_format_size ndr_buffer_size ndr_log_set
  ndr_context_cl ndr_context_cl_device ndr_event_cl ndr_kernel_cl ndr_shared_pointer ndr_shared_size
  # the same function as all failures
  ndr_error_set
  # behind the macros ndr_launch() and ndr_prepare()
  ndr_launch_v ndr_prepare_v
  # test_trace_failures
  ndr_trace_start ndr_trace_begin ndr_trace_end
  # read a folder, without a context: test_stored
  ndr_cache_get_folder ndr_cache_visit
  # builds in threads of its own, by the same functions as ndr_kernel_get(); test_warm makes its builds fail
  ndr_cache_warm
  # runs the operations that are in scenes, and takes their failures for its result; test_selftest makes them fail
  ndr_selftest)

file(READ ${ROOT}/tests/faults/test_failures.c scenes)
file(GLOB headers ${ROOT}/include/ndr/*.h)
set(missing "")
set(needless "")
set(count 0)
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX MATCHALL "\n(NDR_API|NDR_MUST_CHECK) [^(;]*\\(" starts "${text}")
  foreach(start IN LISTS starts)
    string(REGEX MATCH "[a-z0-9_]+\\($" call "${start}")
    string(REGEX REPLACE "(_sized)?\\($" "" name "${call}")
    math(EXPR count "${count} + 1")
    string(REGEX MATCH "[^a-z0-9_]${name}\\(" in_scenes "${scenes}")
    if(NOT in_scenes AND NOT name IN_LIST exempt)
      list(APPEND missing ${name})
    elseif(in_scenes AND name IN_LIST exempt)
      list(APPEND needless ${name})
    endif()
  endforeach()
endforeach()

message(STATUS "${count} public functions")
if(count EQUAL 0 OR missing)
  message(FATAL_ERROR "in no scene of tests/faults/test_failures.c: ${missing}")
elseif(needless)
  message(FATAL_ERROR "exempt in tests/package/injected.cmake, but in a scene: ${needless}")
endif()

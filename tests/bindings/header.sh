#!/bin/sh
# header.sh COMPILER INCLUDE - ndr.hpp alone, included twice, compiles without a warning: as C++17 and C++20, with and
# without exceptions and RTTI. It includes no header of OpenCL.
set -eu
printf '#include "ndr/ndr.hpp"\n#include "ndr/ndr.hpp"\n' >alone.cpp
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wold-style-cast'
for standard in 17 20; do
    for mode in '-fno-exceptions -fno-rtti' -DNDR_CXX_EXCEPTIONS; do
        # shellcheck disable=SC2086 # one word for each option
        "$1" -std=c++$standard $mode $warnings -Werror -I"$2" -fsyntax-only alone.cpp
    done
done
"$1" -std=c++17 -I"$2" -M alone.cpp >seen
if grep '/CL/' seen; then echo "header.sh: ndr.hpp includes OpenCL's header"; exit 1; fi

#!/bin/sh
# from_opencl.sh - docs/appendix/opencl.md names every function of OpenCL 1.2, and only names of libndr that exist.
#
#     from_opencl.sh <opencl.md> <CL/cl.h> <include/ndr>
set -eu
page=$1 opencl=$2 include=$3

# A name is between backquotes, in full or with a star for its end.
tr '`' '\n' <"$page" | grep -o '^cl[A-Za-z]*\*\{0,1\}$' | sort -u >named
tr '\n' ' ' <"$opencl" | grep -o 'cl[A-Z][A-Za-z]*([^;]*VERSION_1_[012]' | sed 's/(.*//' >functions
[ "$(wc -l <functions)" -ge 70 ] || { echo "from_opencl.sh: $opencl shows only $(wc -l <functions) functions"; exit 1; }

missing=
while read -r name; do
    found=
    while read -r known; do
        # shellcheck disable=SC2254 # the star is a pattern
        case $name in $known) found=yes && break ;; esac
    done <named
    [ -n "$found" ] || missing="$missing $name"
done <functions
[ -z "$missing" ] || { echo "from_opencl.sh: the page names no replacement for$missing"; exit 1; }

grep -o '\<ndr_[a-z0-9_]*[a-z0-9]\>' "$page" | sort -u >ours
cat "$include"/*.h >headers
while read -r name; do
    grep -q "\<$name\>" headers || { echo "from_opencl.sh: the headers have no $name"; exit 1; }
done <ours
echo "from_opencl.sh: $(wc -l <functions) functions of OpenCL's, $(wc -l <ours) names of libndr's"

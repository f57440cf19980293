#!/bin/bash
# vocabulary_size.sh CLANG KERNELS - the vocabulary stays cheap to parse.
#
# A kernel with ndr/group.clh and one reduction is at most 100 KB after preprocessing, and all of ndr/ndr.clh at most
# 500: a compiler's time grows with the size. No macro of kernels/ndr that defines functions has more than ten lines:
# bodies belong in kernels/ndr/detail.
set -euo pipefail
clang=$1 kernels=$2 failed=0

# check_size HEADER MOST: the bytes of a kernel that includes HEADER and calls one function.
check_size() {
    local bytes
    bytes=$(printf '#include "ndr/%s"\n%s\n' "$1" \
        'kernel void k(global float *x, NDR_ND_RANGE(1)) {
             x[0] = ndr_reduce_over_group(ndr_get_group(NDR_ND_ITEM(1)), x[0], NDR_PLUS);
         }' | "$clang" -x cl -cl-std=CL1.2 -target spir64 -D__OPTIMIZE__ -I"$kernels" -E -P - | wc -c)
    echo "$1: $bytes bytes, $2 at most"
    [ "$bytes" -gt 1000 ] && [ "$bytes" -le "$2" ] || { echo "FAILED: ndr/$1"; failed=1; }
}

# The macros that define functions, longest first: lines, name.
defining_macros() {
    awk '/^#define / { name = FILENAME ": " $2; lines = 0; defines = 0; inside = 1 }
         inside { ++lines; if (/NDR_(FUNCTION|INLINE|REFUSED)_/ && lines > 1) defines = 1 }
         inside && !/\\$/ { if (defines) print lines - 1, name; inside = 0 }' "$@" | sort -rn
}

check_size group.clh 100000
check_size ndr.clh 500000
defining_macros "$kernels"/ndr/*.clh "$kernels"/ndr/detail/*.inc >macros.txt
[ -s macros.txt ] || { echo "FAILED: found no macro that defines functions"; failed=1; }
while read -r lines name; do
    [ "$lines" -le 10 ] || { echo "FAILED: $name defines functions over $lines lines"; failed=1; }
done <macros.txt
exit $failed

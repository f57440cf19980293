#!/bin/sh
# test_build.sh - `ndr build`: kernels and their signatures, the log, the binary, builds that fail.
#
#     test_build.sh <ndr>
set -eu
ndr=$1
failures=0
export NDR_CACHE="$PWD/cache" # so that each kernel is compiled once

wrong() {
    echo "test_build.sh: $1"
    failures=$((failures + 1))
}

# has FILE TEXT...: FILE contains each text.
has() {
    file=$1
    shift
    for text in "$@"; do grep -qF -- "$text" "$file" || wrong "no \"$text\" in $file: $(cat "$file")"; done
}

cat >kernels.cl <<'CL'
#include <ndr/nd_item.clh>
#include <ndr/reduction.clh>
struct pair { int a; float b; };
kernel void plain(read_only image2d_t from, sampler_t how, struct pair p, uchar4 v) {}
kernel __attribute__((reqd_work_group_size(8, 4, 1))) void
groups(global const int *x, local float4 *t, constant uchar *c, NDR_ND_RANGE(2)) {}
kernel void total(global const int *x, NDR_REDUCTION(1, (SUM, int, sum)))
{
    NDR_REDUCE(i, 1, sum) { NDR_COMBINE(sum, x[ndr_global_id(i, 0)]); }
}
kernel void count(global int *x) { x[get_global_id(0)] += STEP; }
CL

"$ndr" build kernels.cl -D STEP=2 >out
has out "plain(read_only image2d_t from, sampler_t how, struct pair p, uchar4 v)" \
    "groups(global const int* x, local float4* t, constant uchar* c, NDR_ND_RANGE(2))" "required group size 1x4x8" \
    "total(global const int* x, SUM_int* sum, NDR_REDUCTION(1))" "count(global int* x)" "local memory" \
    "private memory" \
    "groups of at most" "best multiples of"
[ "$(grep -c '^[a-z]*(' out)" -eq 4 ] || wrong "it does not show 4 kernels: $(cat out)"

"$ndr" build kernels.cl -D STEP=2 --json >out
tr -d ' \n' <out >flat
has flat '"name":"groups"' '"form":"NDR_ND_RANGE"' '"dims":2' '"required_local_size":[1,4,8]' \
    '{"name":"t","type":"float4*","kind":"local","bytes":16,"elements":"f32x4"}' \
    '{"name":"x","type":"int*","kind":"global","bytes":4,"elements":"i32","access":"read_write"}' '"log":"'

# ---- the binary ----

"$ndr" build kernels.cl -D STEP=2 --save kernels.bin >out
has out "the binary is in kernels.bin"
[ -s kernels.bin ] || wrong "there is no binary"
[ "$("$ndr" run kernels.bin count -g 2 -a 1,5:i32[2] --print=0 | tail -1)" = "  3 7" ] || wrong \
    "the binary does not run"

# ---- what fails ----

code=0
"$ndr" build kernels.cl >out 2>err || code=$?
[ "$code" -eq 1 ] || wrong "a build that fails gives $code"
has err "ndr build: NDR_BUILD_FAILED: \"kernels.cl\" did not build" "kernels.cl:11" "STEP"
code=0
"$ndr" build kernels.cl --json >out 2>err || code=$?
[ "$code" -eq 1 ] || wrong "a build that fails gives $code with --json"
has out '"error": "\"kernels.cl\" did not build' '"log": "'

# fails CODE SENTENCE ARGUMENT...
fails() {
    wanted=$1 sentence=$2 code=0
    shift 2
    "$ndr" build "$@" >out 2>err || code=$?
    [ "$code" -eq "$wanted" ] || wrong "ndr build $* gives $code"
    has err "$sentence"
    [ ! -s out ] || wrong "ndr build $* prints $(cat out)"
}
fails 2 "name a file: ndr build FILE.cl"
fails 2 "name one file" kernels.cl kernels.cl
fails 1 "kernel file \"none.cl\" cannot be read: No such file" none.cl
fails 1 "the file \"none.bin\" cannot be opened" none.bin
fails 2 "--include is for texts, and \"kernels.bin\" is compiled already" kernels.bin -I .
fails 1 "the file \"missing/x.bin\" cannot be written" kernels.cl -D STEP=1 --save missing/x.bin
echo 'int two(void) { return 2; }' >empty.cl
fails 1 "the file \"empty.cl\" has no kernel, so there is no binary to save" empty.cl --save empty.bin
[ ! -e empty.bin ] || wrong "a build without kernels leaves a file"
"$ndr" build empty.cl >out
has out "empty.cl has no kernels"

[ "$failures" -eq 0 ] && echo "test_build.sh: all as expected"

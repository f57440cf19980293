#!/bin/sh
# test_build.sh - `ndr build`: kernels and their signatures, registers, the log, the binary, SPIR-V, builds that fail.
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
    "private memory" "registers not reported" \
    "groups of at most" "best multiples of"
[ "$(grep -c '^[a-z]*(' out)" -eq 4 ] || wrong "it does not show 4 kernels: $(cat out)"

"$ndr" build kernels.cl -D STEP=2 --json >out
tr -d ' \n' <out >flat
has flat '"name":"groups"' '"form":"NDR_ND_RANGE"' '"dims":2' '"required_local_size":[1,4,8]' \
    '{"name":"t","type":"float4*","kind":"local","bytes":16,"elements":"f32x4"}' \
    '{"name":"x","type":"int*","kind":"global","bytes":4,"elements":"i32","access":"read_write"}' '"log":"' \
    '"registers":null'

# Registers, of a driver that reports them.
OPENCL_LAYERS="$VERBOSE_LAYER" NDR_CACHE=off "$ndr" build kernels.cl -D STEP=2 >out
if grep -q ptxas out; then
    grep -A1 '^groups(' out | grep -q ', 10 registers,' || wrong "groups does not have 10 registers: $(cat out)"
    grep -A1 '^count(' out | grep -q ', 255 registers,' || wrong "count does not have 255 registers: $(cat out)"
    [ "$(grep -c 'registers not reported' out)" -eq 2 ] || wrong "plain and total have registers: $(cat out)"
    OPENCL_LAYERS="$VERBOSE_LAYER" NDR_CACHE=off "$ndr" build kernels.cl -D STEP=2 --json >out
    has out '"registers": 10' '"registers": 255' '"registers": null'
else
    echo "left out: registers: the OpenCL loader takes no layers"
fi

# ---- the binary ----

"$ndr" build kernels.cl -D STEP=2 --output kernels.bin >out
has out "the binary is in kernels.bin"
[ -s kernels.bin ] || wrong "there is no binary"
[ "$("$ndr" run kernels.bin count -g 2 -a 1,5:i32[2] --print=0 | tail -1)" = "  3 7" ] || wrong \
    "the binary does not run"

# ---- SPIR-V ----

# only NAME...: the folder programs has these alone, and the linker, which some drivers need
only() {
    rm -rf programs
    mkdir programs
    ! command -v ld >/dev/null || ln -s "$(command -v ld)" programs
    for name in "$@"; do
        printf '#!/bin/sh\nexit 3\n' >"programs/$name"
        chmod +x "programs/$name"
    done
}

printf 'int half_of(int x) { return x / 2; }\n' >part.clh
printf '#include <ndr/item.clh>\n#include "part.clh"\nkernel void halve(global int *x, NDR_RANGE(1))\n%s\n' \
    '{ const ndr_item it = NDR_ITEM(1); x[ndr_global_id(it, 0)] = half_of(x[ndr_global_id(it, 0)]) + STEP; }' >halve.cl
if command -v clang-15 >/dev/null && command -v llvm-spirv-15 >/dev/null; then
    only
    for name in clang-15 llvm-spirv-15; do ln -sf "$(command -v $name)" programs; done
    mkdir -p tmp
    TMPDIR=$PWD/tmp PATH=$PWD/programs "$ndr" build halve.cl -D STEP=2 -b "-cl-fast-relaxed-math" --json -o halve.spv >out
    has out '"output": "halve.spv"'
    [ "$(head -c 4 halve.spv | od -An -tx4 | tr -d ' ')" = 07230203 ] || wrong "halve.spv is not SPIR-V"
    grep -q halve halve.spv || wrong "halve.spv has no kernel called halve"
    ! command -v spirv-val >/dev/null || spirv-val halve.spv || wrong "halve.spv is not valid"
    [ -z "$(ls tmp)" ] || wrong "files stay: $(ls tmp)"
    "$ndr" build halve.cl -D STEP=2 -o halve.spv | grep -qx "the SPIR-V is in halve.spv" || wrong "it does not name halve.spv"
    if "$ndr" devices --json | grep -q '"spirv": true'; then
        printf 'kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }\n' >twice.cl
        "$ndr" build twice.cl -o twice.spv >out
        [ "$("$ndr" run twice.spv twice -g 2 -a 1,5:i32[2] --print=0 | tail -1)" = "  2 10" ] || wrong "SPIR-V does not run"
    else
        echo "left out: running SPIR-V: the device takes none"
    fi
else
    echo "left out: SPIR-V: clang-15 and llvm-spirv-15 are not installed"
fi

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
fails 1 "the file \"missing/x.bin\" cannot be written" kernels.cl -D STEP=1 --output missing/x.bin
echo 'int two(void) { return 2; }' >empty.cl
fails 1 "the file \"empty.cl\" has no kernel, so there is nothing to write" empty.cl --output empty.bin
fails 2 "SPIR-V is made of a text, and \"kernels.bin\" is compiled already" kernels.bin -o kernels.spv
# without FOUND NAME...: PATH has these programs alone
without() {
    found=$1
    shift
    only "$@"
    sentence="ndr build: SPIR-V is made by clang and llvm-spirv of the same version, and $found"
    code=0
    PATH=$PWD/programs "$ndr" build halve.cl -D STEP=1 -o none.spv >out 2>err || code=$?
    [ "$code" -eq 1 ] || wrong "SPIR-V without programs gives $code"
    has err "$sentence"
    [ ! -e none.spv ] || wrong "a failure leaves a file"
}
without "neither is in PATH: install them"
without "clang is not in PATH: install them" llvm-spirv-15
without "llvm-spirv is not in PATH: install them" clang clang-15
without "those in PATH are of different versions: install them" clang-16 llvm-spirv-15
only clang-16 llvm-spirv-16
code=0
PATH=$PWD/programs:$PATH "$ndr" build halve.cl -D STEP=1 -o none.spv >out 2>err || code=$?
[ "$code" -eq 1 ] || wrong "a compiler that fails gives $code"
[ ! -e none.spv ] || wrong "a failure leaves a file"
has err "clang-16 made no SPIR-V of \"halve.cl\"; what it printed is above"
[ ! -e empty.bin ] || wrong "a build without kernels leaves a file"
"$ndr" build empty.cl >out
has out "empty.cl has no kernels"

[ "$failures" -eq 0 ] && echo "test_build.sh: all as expected"

#!/bin/sh
# test_run.sh - `ndr run`: arguments, results and refusals, in text and in JSON.
#
#     test_run.sh <ndr>
set -eu
ndr=$1
failures=0
export NDR_CACHE="$PWD/cache" # so that each kernel is compiled once

mkdir -p folder
echo '#define STEP 2' >folder/step.h
cat >kernels.cl <<'CL'
#include <ndr/nd_item.clh>
#include <ndr/reduction.clh>
#ifdef HEADER
#include "step.h"
#endif
#ifndef SCALE
#define SCALE 1
#endif
struct pair { int a; int b; };
kernel void saxpy(float a, global const float *x, global float *y)
{
    const size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
kernel void values(char c, uchar4 u, short s, long2 l, float3 f, ulong d, struct pair p, global float *out)
{
    const float all[] = { c, u.x, u.w, s, l.y, f.x + f.y + f.z, d, p.a * 10 + p.b };
    for (int i = 0; i < 8; ++i) out[i] = SCALE * all[i];
}
#ifdef cl_khr_fp64
kernel void doubles(double d, double2 v, global double *out)
{
    out[0] = d;
    out[1] = v.y;
}
#endif
kernel void bfloats(ushort one, global ushort *y)
{
    const float x = as_float((uint)one << 16) * as_float((uint)y[get_global_id(0)] << 16);
    if (x == x) y[get_global_id(0)] = as_uint(x) >> 16;
}
kernel void halves(global half *x) { vstore_half(2 * vload_half(get_global_id(0), x), get_global_id(0), x); }
kernel void sum_groups(global const int *x, local int *t, global int *sums)
{
    t[get_local_id(0)] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    int s = 0;
    for (size_t i = 0; i < get_local_size(0); ++i) s += t[i];
    sums[get_group_id(0)] = s;
}
kernel void rows(global int *x, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    if (ndr_in_range(it)) x[ndr_global_linear_id(it)] = (int)(10 * ndr_global_id(it, 0) + ndr_global_id(it, 1));
}
kernel void items(global int *x, NDR_RANGE(3))
{
    const ndr_item it = NDR_ITEM(3);
    x[ndr_global_linear_id(it)] = (int)ndr_global_linear_range(it);
}
kernel void total(global const int *x, NDR_REDUCTION(1, (SUM, int, sum), (MIN, int, least)))
{
    NDR_REDUCE(i, 1, sum, least) {
        NDR_COMBINE(sum, x[ndr_global_id(i, 0)]);
        NDR_COMBINE(least, x[ndr_global_id(i, 0)]);
    }
}
kernel void grey(read_only image2d_t from, write_only image2d_t to, sampler_t how)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    const float4 p = read_imagef(from, how, at);
    const float g = (p.x + p.y + p.z) / 3;
    write_imagef(to, at, (float4)(g, g, g, 1));
}
kernel void invert(global const uchar *from, global uchar *to) { to[get_global_id(0)] = 255 - from[get_global_id(0)]; }
kernel void walk(global int *x, int step) { x[get_global_id(0)] += step; }
kernel void count(global int *x) { x[get_global_id(0)] += 1; }
kernel void beyond(global int *x) { x[get_global_id(0) + 4] = 1; }
CL

# shows WHAT EXPECTED ARGUMENT...: the program prints EXPECTED (lines joined by |).
shows() {
    what=$1 expected=$2
    shift 2
    code=0
    found=$("$ndr" run kernels.cl "$@" 2>&1 | tr '\n' '|') || code=$?
    [ "$found" = "$expected" ] && return
    echo "test_run.sh: $what: expected \"$expected\", found \"$found\""
    failures=$((failures + 1))
}

# refuses CODE SENTENCE ARGUMENT...: exit code CODE, nothing on stdout, one line on stderr that contains SENTENCE.
refuses() {
    wanted=$1 sentence=$2
    shift 2
    code=0
    "$ndr" run kernels.cl "$@" >out 2>err || code=$?
    lines=$(grep -vc "^Try" err) || true
    if [ "$code" -ne "$wanted" ] || [ -s out ] || ! grep -qF -- "$sentence" err || [ "$lines" -ne 1 ]; then
        echo "test_run.sh: ndr run kernels.cl $*: expected $wanted and \"$sentence\", found $code and $(cat err out)"
        failures=$((failures + 1))
    fi
}

# ---- arguments ----

shows "by name" "y (float*), f32[4]:|  1 3 5 7|" saxpy -g 4 --arg y=fill:1 --arg a=2 --arg x=iota
shows "by position" "y (float*), f32[4]:|  0 2 4 6|" saxpy -g 4 -a 2 -a iota:f32[4] -a :f32[4]
shows "mixed" "y (float*), f32[4]:|  4 6 8 10|" saxpy -g 4 -a x=2,3,4,5 -a 2 -a zeros
shows "every kind of value" "out (float*), f32[8]:|  -3 1 4 -300 6 7.5 9 12|" values -g 1 -a c=-3 -a u=1,2,3,4 \
    -a s=-300 -a l=5,6 -a f=1,2.5,4 -a d=9 -a p=1,2:i32[2] -a 'out:[8]'
shows "macros and a folder" "out (float*), f32[8]:|  -9 3 3 0 0 0 0 0|" values -g 1 -a c=-3 -a u=1 -a s=0 -a l=0 \
    -a f=0 -a d=0 -a p=0,0:i32[2] -a 'out:[8]' -D 'SCALE=(1+STEP)' -I folder -D HEADER
if "$ndr" build kernels.cl | grep -q '^doubles('; then
    shows "doubles" "out (double*), f64[2]:|  0.1 -1e-300|" doubles -g 1 -a d=0.1 -a v=0,-1e-300 -a 'out:[2]'
fi
shows "a parameter with the name of a function" "x (int*), i32[1]:|  7|" walk -g 1 -a step=7 -a x
shows "halves" "x (half*), f16[3]:|  0.2 2 nan|" halves -g 3 -a x=0.1,1,nan
shows "bfloats" "y (ushort*), bf16[3]:|  0.2 4 nan|" bfloats -g 3 -a one=2:bf16 -a y=0.1,2,nan:bf16
shows "local memory" "sums (int*), i32[4]:|  6 22 38 54|" sum_groups -g 16 -l 4 -a x=iota -a t=local:i32[4] \
    -a 'sums:[4]'
shows "groups that the library chooses" "sums (int*), i32[1]:|  6|" sum_groups -g 4 -a x=iota -a t=local:i32[64] \
    -a 'sums:[1]'
shows "local memory of the group's size" "sums (int*), i32[4]:|  6 22 38 54|" sum_groups -g 16 -l 4 -a x=iota -a t \
    -a 'sums:[4]'
shows "a reduction" "sum (SUM_int*), i32[1]:|  145|least (MIN_int*), i32[1]:|  1|" total -g 9 -a x=iota:1:1 \
    -a sum=100 -a least

# ---- ranges ----

shows "rows and columns" "x (int*), i32[2x3]:|  0 1 2|  10 11 12|" rows -g 2x3 -a x
shows "groups of a size" "x (int*), i32[2x4]:|  0 1 2 3|  10 11 12 13|" rows -g 2,4 -l 1x2 -a x
shows "rounded up" "x (int*), i32[2x3]:|  0 1 2|  10 11 12|" rows -g 2x3 -l 2x2 --edge=round -a x
shows "split" "x (int*), i32[2x3]:|  0 1 2|  10 11 12|" rows -g 2x3 -l 2x2 --edge=split -a x
shows "groups by their number" "x (int*), i32[6]:|  0 1 10 11 20 21|" rows --groups 3x1 -l 1x2 -a 'x:i32[6]'
shows "three dimensions" "x (int*), i32[1x2x3]:|  6 6 6|  6 6 6|" items -g 1x2x3 -a x
shows "an offset" "x (int*), i32[4]:|  0 0 1 1|" count -g 2 --offset 2 -a 'x:[4]'

# ---- files ----

printf '\001\002\003\004' >bytes.bin
shows "raw bytes" "to (uchar*), u8[4]:|  254 253 252 251|" invert -g 4 -a from=@bytes.bin -a to
shows "saved" "x (float*): saved to y.npy|" saxpy -g 2x2 -a 1 -a x=iota:0.5:1 -a y --save x=y.npy
shows "read again" "x (float*), f32[2x2]:|  0.5 1.5|  2.5 3.5|" saxpy -g 4 -a 0 -a x=@y.npy -a y --print=x
printf 'P6\n2 1\n255\n\003\006\011\036\074\132' >two.ppm
shows "an image" "to (image2d_t): saved to grey.ppm|to (image2d_t), u8x4[1x2]:|  (6,6,6,255) (60,60,60,255)|" grey \
    -g 1x2 \
    -a from=@two.ppm -a to -a how=sampler:clamp --save to=grey.ppm --print=to
printf 'P6\n2 1\n255\n\006\006\006\074\074\074' | cmp - grey.ppm || failures=$((failures + 1))
printf 'P2 3 1 255 10 20 255' >row.pgm
shows "a picture in bytes" "to (uchar*): saved to inverted.pgm|" invert -g 3 -a from=@row.pgm -a 'to:[1x3]' \
    --save to=inverted.pgm
printf 'P5\n3 1\n255\n\365\353\000' | cmp - inverted.pgm || failures=$((failures + 1))

# ---- results ----

shows "limited" "x (int*), i32[9]:|  1 1|  and 7 more; --limit=9 shows all|" count -g 9 -a x --limit=2
shows "hashed" "x (int*): xxh128 99aa06d3014798d86001c324468d497f|" count -g 0 -a x --hash # of no bytes
printf '\001\000\000\000' >one.bin
shows "equal" "x (int*): equal to one.bin|" count -g 1 -a x --compare x=one.bin
shows "repeated" "x (int*), i32[1]:|  70|" count -g 1 -a x --repeat 70
code=0
"$ndr" run kernels.cl count -g 2 -a x=1,5 --compare x=bytes.bin >out 2>err || code=$?
[ "$code" -eq 1 ] && grep -q "x (int\*) has 2 elements, but the file \"bytes.bin\" has 1; compare" err || \
    failures=$((failures + 1))
code=0
"$ndr" run kernels.cl count -g 1 -a x=1 --compare x=one.bin >out 2>err || code=$?
if [ "$code" -ne 1 ] || ! grep -q \
    "differs from one.bin in 1 of 1 elements; the first is \[0\]: 2, expected 1; the largest difference is 1" out; then
    echo "test_run.sh: a difference gives $code, $(cat out err)"
    failures=$((failures + 1))
fi
shows "near" "x (int*): equal to one.bin within the tolerance|" count -g 1 -a x=1 --compare x=one.bin:1

# ---- JSON ----

"$ndr" run kernels.cl count -g 2 -a x=1,5 --json --print --hash --time=3 --check >out
for wanted in '"kernel": "count"' '"median_ns"' '"xxh128"' '"check": "checking is on' '"launches": 1'; do
    grep -qF "$wanted" out || { echo "test_run.sh: no $wanted in $(cat out)"; failures=$((failures + 1)); }
done
[ "$(tr -d ' \n' <out | grep -oF '"values":[2,6]' | wc -l)" -eq 1 ] || { echo "test_run.sh: no values in $(cat out)"; \
    failures=$((failures + 1)); }

# ---- tracing, checking ----

"$ndr" run kernels.cl count -g 2 -a x --trace trace.json >/dev/null
grep -q '"count"' trace.json || { echo "test_run.sh: the timeline has no count"; failures=$((failures + 1)); }
refuses 1 "NDR_OUT_OF_BOUNDS: kernel \"beyond\"" beyond -g 4 -a 'x:[4]' --check

# ---- refusals ----

refuses 2 "name a file and a kernel" # no kernel
refuses 1 'has no kernel called "nobody"; it has' nobody -g 1
refuses 2 "the range is missing; write --global 1024" count -a x
refuses 2 "--global and --groups exclude each other" count -g 1 --groups 1 -a x
refuses 2 "--global=4y: it takes 1 to 3 sizes, as in 1024 or 768x1024" count -g 4y -a x
refuses 2 "--global=1x1x1x1: it takes 1 to 3 sizes" count -g 1x1x1x1 -a x
refuses 2 "the size 8 of --global is not a multiple of the size 3 of --local; make it one, or write --edge=split" \
    count -g 8 -l 3 -a x
refuses 2 "--edge=up: it takes reject, round or split" count -g 8 --edge=up -a x
refuses 2 "--offset=1x1: it has 2 sizes, but the range has 1" count -g 8 --offset 1x1 -a x
refuses 1 "the global range has 1 dimension, but the local range has 2" count -g 8 -l 8x1 -a x
refuses 2 'the kernel "rows" is written for a range of 2 dimensions, but 1 size is given; write 2' rows -g 4 -a x
refuses 2 'the kernel "items" takes a range without groups; leave out --local' items -g 1x2x3 -l 1x1x1 -a x
refuses 2 'a number of elements is written behind a colon, as in x:[1024]' count -g 4 -a 'x[4]'
refuses 2 '"x=3" is one word too many; an argument is written as --arg x=3' count -g 4 x=3
mkdir -p folder
refuses 1 'the file "folder" cannot be written: Is a directory; name a file, and no folder' \
    count -g 4 -a x --save x=folder
refuses 2 'the kernel "saxpy" takes 3 arguments, and y (float*) is not given; add it, as in --arg y=zeros' saxpy -g 8 \
    -a 2 -a x
refuses 2 'argument "3": the kernel "saxpy" has no parameter left for it; it has a (float), x (float*), y (float*)' \
    saxpy -g 8 -a 2 -a x -a y -a 3
refuses 2 'argument "q=1": the kernel "saxpy" has no parameter "q"; it has a (float), x' saxpy -g 8 -a q=1
refuses 2 'argument "a=3": "a" is given already' saxpy -g 8 -a a=2 -a a=3
refuses 2 'argument "a": a (float) takes a number; write it, as in a=1' saxpy -g 8 -a a -a x -a y
refuses 2 'argument "a=2:f64": a (float) does not take f64; leave the type out' saxpy -g 8 -a a=2:f64 -a x -a y
refuses 2 'argument "a=2:[3]": a (float) is a value, and [] is for memory; leave it out' saxpy -g 8 -a a=2:[3] -a x -a y
refuses 2 '"1e99" does not fit f32' saxpy -g 8 -a a=1e99 -a x -a y
refuses 2 '"f31" is not a type; types are i8' saxpy -g 8 -a 2 -a x=iota:f31[8] -a y
refuses 2 '3 numbers are written, but 8 of f32 take 8; write as many' saxpy -g 8 -a 2 -a x=1,2,3:f32[8] -a y
refuses 2 'it is for a buffer; write zeros, iota, numbers or @FILE' saxpy -g 8 -a 2 -a x=local:f32[8] -a y
refuses 2 'it is for local memory; write local:f32[64]' sum_groups -g 8 -l 8 -a x -a t=iota -a sums
refuses 2 'its size is not written, and --local gives none' sum_groups -g 8 -a x -a t -a sums
refuses 2 'takes an image; write @picture.ppm' grey -g 1x1 -a null -a null -a sampler
refuses 2 'takes a sampler; write sampler' grey -g 1x1 -a ':u8x4[1x1]' -a ':u8x4[1x1]' -a 3
refuses 2 '"soft" is none of linear' grey -g 1x1 -a ':u8x4[1x1]' -a ':u8x4[1x1]' -a sampler:soft
refuses 2 'its size is not written, and a range of groups gives none' count --groups 2 -l 2 -a x
bytes=$("$ndr" devices --json | sed -n 's/.*"max_buffer_bytes": *\([0-9]*\).*/\1/p' | head -1)
most=$((bytes / 4))
refuses 1 "$((most + 1)) elements of f32 are more than the largest buffer of the device holds, $most" saxpy -g 8 -a 2 \
    -a "x=iota:f32[$((most + 1))]" -a y
refuses 1 'the file "none.bin" cannot be opened: No such file or directory; check its path' saxpy -g 8 -a 2 \
    -a x=@none.bin -a y
printf '1234567890' >ten.bin
refuses 2 'argument "x=ten.bin": "ten.bin" is not a value; write a number, numbers with commas, @FILE' saxpy -g 8 -a 2 \
    -a x=ten.bin -a y
refuses 2 '--global=1e6: it takes 1 to 3 sizes, as in 1024' count -g 1e6 -a x
refuses 1 'has 8 elements, but the file "y.npy" has 4; compare with a file of as many' saxpy -g 8 -a 2 -a x -a y --compare y=y.npy
refuses 1 'the file "ten.bin" has 10 bytes, which is not a multiple of the 4 bytes of f32' saxpy -g 8 -a 2 \
    -a x=@ten.bin -a y
refuses 1 'the file "bytes.bin" has 1 element of f32, but [8] is written, which has 8' saxpy -g 8 -a 2 \
    -a x=@bytes.bin:f32[8] -a y
refuses 1 'the file "y.npy" has elements of f32, but i32 is wanted' count -g 8 -a x=@y.npy
refuses 1 'the file "y.npy" has 4 elements, [2x2], but [5] is written' saxpy -g 4 -a 2 -a x=@y.npy:f32[5] -a y
refuses 1 'the file "missing/x.npy" cannot be written: No such file' count -g 1 -a x --save x=missing/x.npy
refuses 1 'the image "x.ppm" cannot be made of i32; use u8, u16, or floats' count -g 1 -a x --save x=x.ppm
refuses 2 '--save=x: no file is named; write NAME=FILE' count -g 1 -a x --save x
refuses 2 '--save: there is no buffer or image "q" among the arguments' count -g 1 -a x --save q=x.npy
refuses 2 '--compare=x=y.npy:-1: the tolerance must be 0 or more' count -g 1 -a x --compare x=y.npy:-1
refuses 2 '--repeat=0: it takes a number of at least 1' count -g 1 -a x --repeat 0
refuses 2 '"x" is one word too many; results are written with =, as in --print=x' count -g 1 -a x --print x
refuses 3 'NDR_NO_MATCHING_DEVICE' count -g 1 -a x --device nothing-like-it

# A warning is no refusal.
code=0
"$ndr" run kernels.cl saxpy -g 4 -a 2 -a x=iota:u8[16] -a y >out 2>err || code=$?
if [ "$code" -ne 0 ] || ! grep -q "warning: x (float\*) is given elements of u8" err; then
    echo "test_run.sh: no warning of another type, but $code and $(cat err)"
    failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] && echo "test_run.sh: all as expected"

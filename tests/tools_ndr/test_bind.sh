#!/bin/sh
# test_bind.sh - `ndr bind`: a mistake in the kernels leaves no header, and a file without kernels is compiled, too.
# tests/unit/test_bind.c and tests/package/typed* test the headers.
. "$(dirname "$0")/common.sh"
rm -f ./*.cl.h
echo 'kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }' >good.cl
echo 'kernel void twice(global int *x) { x[get_global_id(0)] *= nowhere; }' >wrong.cl
echo 'krnel void twice(global int *x) { x[get_global_id(0)] *= 2; }' >misspelt.cl
echo '#define WIDTH 16' >constants.cl

run 0 "$ndr" bind good.cl
[ ! -s out ] && [ ! -s err ] || complain 'it prints something'
grep -q 'ndr_status twice(' good.cl.h || complain 'good.cl.h has no function twice'
for name in wrong misspelt; do
    run 1 "$ndr" bind $name.cl
    says err "ndr bind: $name.cl: \"$name.cl\" did not build"
    [ ! -e $name.cl.h ] || complain "$name.cl.h is made"
done
says err 'krnel is not a word of OpenCL C: write kernel'
run 0 "$ndr" bind --no-check misspelt.cl
run 0 "$ndr" bind constants.cl
says err 'constants.cl has no kernel whose parameters are written out, so the header has no function'
grep -q 'constants_WIDTH = 16' constants.cl.h || complain 'constants.cl.h has no constant'

run 1 "$ndr" bind nothing.cl
says err 'kernel file "nothing.cl" cannot be read'
run 2 "$ndr" bind
run 2 "$ndr" bind good.cl wrong.cl
run 3 "$ndr" bind --device no-such-device good.cl
finish

#!/bin/sh
# test_bind.sh - `ndr bind`: a mistake in the kernels leaves no header, and a file without kernels is compiled, too.
# Two headers with one kernel are refused. tests/unit/test_bind.c and tests/package/typed* test the headers.
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
run 3 "$ndr" bind --device no-such-device good.cl

cat >axpy.cl <<'CL'
#include <ndr/item.clh>
kernel void axpy(float a, global const float *x, global float *y, NDR_RANGE(1))
{
    const size_t i = ndr_global_id(NDR_ITEM(1), 0);
    y[i] += a * x[i];
}
CL
sed 's/+=/-=/' axpy.cl >minus.cl

run 2 "$ndr" bind
run 1 "$ndr" bind missing.cl
says err 'kernel file "missing.cl" cannot be read: No such file or directory; its path is relative to the working directory'
run 1 "$ndr" bind '~/axpy.cl'
says err 'only shells replace ~: write the path of the home folder'

# Nothing is written, and the name is the one that was asked for.
run 1 "$ndr" bind --no-check --output=missing/axpy.h axpy.cl
says err '"missing/axpy.h" cannot be written: No such file or directory; check its folder, the permissions and the free space'
mkdir -p folder.h
run 1 "$ndr" bind --no-check --output=folder.h axpy.cl
says err '"folder.h" cannot be written: Is a directory; check its folder'
[ -z "$(find . -name '*.part')" ] || complain "a part of a file is left"

# Two files with a kernel of one name in one program.
run 2 "$ndr" bind --no-check axpy.cl minus.cl
says err 'too many arguments: "minus.cl"; one FILE at a time'
run 0 "$ndr" bind --no-check axpy.cl
run 0 "$ndr" bind --no-check minus.cl
printf '#include "axpy.cl.h"\n#include "axpy.cl.h"\n#include "minus.cl.h"\n' >both.c
for language in c c++; do
    run 1 "${CC:-cc}" -x "$language" -fsyntax-only "-I$root/include" both.c
    says err 'has a kernel axpy, too: make one of them with a prefix, by ndr bind --prefix=, or PREFIX of'
done
run 0 "$ndr" bind --no-check --prefix=minus_ minus.cl
for language in c c++; do run 0 "${CC:-cc}" -x "$language" -fsyntax-only "-I$root/include" both.c; done
finish

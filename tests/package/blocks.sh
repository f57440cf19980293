#!/bin/sh
# blocks.sh - the code blocks of a page work as the page describes.
#
#     blocks.sh <page.md> <C compiler> <include folder> <folder of libndr.so> <ndr> [<installed prefix> <its library folder>]
#
# A block is a test if the line before its fence is <!-- test: NAME -->. Each is written to a file of that name, or to
# two files if there are two names. All blocks of a page are in one folder.
#     NAME.out    what the program NAME prints, or the commands NAME.sh
#     NAME.sh     commands, run if a prefix is given, with the prefix in place of /opt/ndr. They run as on a machine that
#                 setup/examples has prepared: with Ninja, without make
#     NAME.cl, CMakeLists.txt    for the others
#     NAME.cpp    a whole C++17 program, compiled by $NDR_CXX without a warning and run
#     NAME.py     a program, run by $NDR_PYTHON
#     any other   a whole C program, compiled without a warning and run; if there is a NAME.sh for it, only by that.
#                 `ndr bind` makes the headers NAME.cl.h that it includes
# README quotes sentences of another page: <!-- said: PAGE -->. README's vector add has at most 25 lines, and README gives
# the right number of lines of the one in plain OpenCL.
set -eu
page=$1 compiler=$2 include=$3 library=$4 ndr=${5:-} prefix=${6:-} libdir=${7:-}
unset PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH C_INCLUDE_PATH CPATH

rm -rf blocks
mkdir blocks
awk '
    /^<!-- test: .* -->$/ { name = $3; also = NF > 4 ? $4 : ""; next }
    name != "" && /^```/ {
        if (inside) { inside = 0; name = ""; next }
        inside = 1
        printf "" > ("blocks/" name)
        next
    }
    inside { print > ("blocks/" name); if (also) print > ("blocks/" also); next }
    name != "" && /^$/ { next }
    name != "" { print "blocks.sh: no code block after: test: " name; failed = 1; exit }
    END { exit failed || inside }' "$page"

cd blocks
mkdir ../no_make 2>/dev/null || true
for name in make gmake smake; do
    printf '#!/bin/sh\nexit 127\n' >../no_make/$name
    chmod +x ../no_make/$name
done
programs=0 scripts=0
for block in *; do
    name=${block%.*}
    echo "== $block"
    case $block in
    '*') break ;;
    *.cl | *.h | *.out | CMakeLists.txt | Makefile) continue ;;
    *.sh)
        [ -n "$prefix" ] || { echo "blocks.sh: no installed libndr to run it with"; continue; }
        sed "s|/opt/ndr/lib\>|$libdir|g; s|/opt/ndr\>|$prefix|g" "$block" >"$name.run"
        PATH=$PWD/../no_make:$PATH sh -eux "$name.run" >"$name.said" || { cat "$name.said"; exit 1; }
        cat "$name.said"
        if [ -f "$name.out" ]; then diff "$name.out" "$name.said"; fi
        scripts=$((scripts + 1))
        continue
        ;;
    esac
    [ ! -f "$name.sh" ] || continue
    for kernels in $(sed -n 's/^#include "\(.*\.cl\)\.h".*/\1/p' "$block"); do "$ndr" bind "$kernels"; done
    case $block in
    *.cpp)
        "$NDR_CXX" -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror "$block" -I"$include" -L"$library" -lndr \
            -Wl,-rpath,"$library" -o "$name.run"
        ;;
    *.py) printf '#!/bin/sh\nexec "%s" %s\n' "$NDR_PYTHON" "$block" >"$name.run" && chmod +x "$name.run" ;;
    *)
        raw=
        if grep -q '[^[:alnum:]_]cl[A-Z][[:alnum:]]*(' "$block"; then raw=-lOpenCL; fi
        "$compiler" -std=c11 -Wall -Wextra -Wpedantic -Werror -x c "$block" -I"$include" -L"$library" -lndr $raw -lm \
            -Wl,-rpath,"$library" -o "$name.run"
        ;;
    esac
    "./$name.run" | tee "$name.said"
    if [ -f "$name.out" ]; then diff "$name.out" "$name.said"; fi
    programs=$((programs + 1))
done
echo "blocks.sh: $programs programs compiled and run, $scripts scripts run"

[ "$(basename "$page")" = README.md ] || exit 0
# <!-- said: PAGE -->: the lines of the block behind it are also on that page, where a test compares them.
other=$(sed -n 's/^<!-- said: \(.*\) -->$/\1/p' "$page")
awk '/^<!-- said: / { said = 1; next } said && /^```/ { if (said++ == 2) exit; next } said == 2' "$page" >quoted
[ -s quoted ] || { echo "blocks.sh: README quotes no sentences"; exit 1; }
while IFS= read -r line; do
    grep -qxF -e "$line" "$(dirname "$page")/$other" || { echo "blocks.sh: $other does not have: $line"; exit 1; }
done <quoted
lines=$(grep -c '[^[:space:]]' vector_add.c)
echo "blocks.sh: vector_add.c has $lines lines that are not blank"
[ "$lines" -le 25 ] || { echo "blocks.sh: the vector add may have 25"; exit 1; }
raw=$(grep -c '[^[:space:]]' "$(dirname "$page")/examples/vector_add/raw_opencl.c")
grep -q "| $raw, six of them the kernel |" "$page" || {
    echo "blocks.sh: examples/vector_add/raw_opencl.c has $raw lines that are not blank; README says otherwise"
    exit 1
}

#!/bin/sh
# typed_errors.sh - a wrong argument of a function that `ndr bind` generated is an error of the compiler which names the
# parameter.
#
#     typed_errors.sh <ndr> <header/typed.c> <include folder> c|c++ <compiler>
#
# Without its marked lines header/typed.c compiles without a warning, and with each of them it does not:
#     launch; /* wrong: in what the C compiler prints | in what the C++ compiler prints */
set -eu
ndr=$1 source=$2 include=$3 language=$4 compiler=$5
"$ndr" bind --no-check -o typed.cl.h "${source%.c}.cl"

# compile_with LINE compiles the file with this marked line alone.
compile_with() {
    awk -v line="$1" '/wrong: / && NR != line { print ""; next } { print }' "$source" >typed.c
    LC_ALL=C "$compiler" -x "$language" "-std=${language}11" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual \
        -Werror -I. "-I$include" -fsyntax-only typed.c >said 2>&1
}

compile_with 0 || { cat said; exit 1; }
column=2
[ "$language" = c ] && column=1
count=0
for line in $(grep -n 'wrong: ' "$source" | cut -d: -f1); do
    wanted=$(sed -n "${line}s/.*wrong: \(.*\) \*\/$/\1/p" "$source" | awk -F ' [|] ' -v n=$column '{ print $n }')
    if compile_with "$line"; then
        echo "typed_errors.sh: line $line of typed.c compiles"
        exit 1
    fi
    grep -q "typed.c:$line:.*error: " said && grep -q -- "$wanted" said || {
        cat said
        echo "typed_errors.sh: the error of line $line should contain $wanted"
        exit 1
    }
    count=$((count + 1))
done
[ $count -ge 16 ] || { echo "typed_errors.sh: only $count lines"; exit 1; }
echo "typed_errors.sh: $count errors"

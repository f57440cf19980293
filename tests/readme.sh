#!/bin/sh
# readme.sh - README's code blocks do what it says.
#
#     readme.sh <README.md> <C compiler> <include folder> <folder of libndr.so>
#
# A block is a test when the line before its fence is <!-- test: NAME -->. NAME ending in .cl is written
# beside the programs, NAME ending in .out is what the program before the dot prints, and every other one
# is a whole C program, compiled without a warning and run. The vector add has at most 25 lines.
# The lines of plain OpenCL that README compares them with are counted again.
set -eu
readme=$1 compiler=$2 include=$3 library=$4

raw=$(grep -c '[^[:space:]]' "$(dirname "$readme")/examples/vector_add/raw_opencl.c")
grep -q "| $raw, six of them the kernel |" "$readme" || {
    echo "readme.sh: examples/vector_add/raw_opencl.c has $raw lines that are not blank; README says otherwise"
    exit 1
}

rm -rf blocks
mkdir blocks
awk '
    /^<!-- test: .* -->$/ { name = $3; next }
    name != "" && /^```/ { if (inside) { inside = 0; name = "" } else { inside = 1; printf "" > ("blocks/" name) }; next }
    inside { print > ("blocks/" name); next }
    name != "" && /^$/ { next }
    name != "" { print "readme.sh: no code block behind: test: " name; failed = 1; exit }
    END { exit failed || inside }' "$readme"

cd blocks
programs=0
for block in *; do
    case $block in
    *.cl | *.out) continue ;;
    '*') break ;;
    esac
    name=${block%.c}
    echo "== $name"
    "$compiler" -std=c11 -Wall -Wextra -Wpedantic -Werror -x c "$block" -I"$include" -L"$library" -lndr -lm \
        -Wl,-rpath,"$library" -o "$name.run"
    "./$name.run" | tee "$name.said"
    if [ -f "$name.out" ]; then diff "$name.out" "$name.said"; fi
    programs=$((programs + 1))

    case $name in
    vector_add*)
        lines=$(grep -c '[^[:space:]]' "$block")
        echo "$name: $lines lines that are not blank"
        [ "$lines" -le 25 ] || { echo "readme.sh: the vector add may have 25"; exit 1; }
        vector_add=seen
        ;;
    esac
done
[ "${vector_add:-}" = seen ] || { echo "readme.sh: no block named vector_add in $readme"; exit 1; }
echo "readme.sh: $programs programs compiled and run"

#!/bin/sh
# typed_make.sh - the Makefile of docs/typed.md builds its program, and again when the kernel changes.
#
#     typed_make.sh <docs/typed.md> <make> <C compiler> <installed prefix> <its library folder>
set -eu
page=$1 make=$2 compiler=$3 prefix=$4 libdir=$5
rm -rf files
mkdir files
awk '/^<!-- test: (Makefile|saxpy\.cl|saxpy\.c) -->$/ { name = $3; next }
    name != "" && /^```/ { if (inside) name = ""; inside = !inside; next }
    inside && name != "" { print > ("files/" name) }' "$page"
cd files
! grep "$(printf '\t')" Makefile || { echo "typed_make.sh: the site shows tabs as spaces, which make refuses"; exit 1; }
export PKG_CONFIG_PATH="$libdir/pkgconfig" PATH="$prefix/bin:$PATH" LD_RUN_PATH="$libdir"

"$make" CC="$compiler"
./saxpy | tee said
grep -qx 1999 said
"$make" CC="$compiler" | grep -q 'up to date' || { echo "typed_make.sh: make builds again without a change"; exit 1; }
sed 's/a \* x\[i\]/2 * a * x[i]/' saxpy.cl >changed
mv changed saxpy.cl
touch -d '+2 seconds' saxpy.cl # make compares whole seconds on some file systems
"$make" CC="$compiler"
./saxpy | tee said
grep -qx 3997 said

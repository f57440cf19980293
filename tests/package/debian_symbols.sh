#!/bin/sh
# debian_symbols.sh - debian/libndr0.2.symbols has the functions that the library exports, and no other.
#
#     debian_symbols.sh <nm> <libndr.so> <symbols file>
set -eu
nm=$1 library=$2 symbols=$3
"$nm" -D --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >exported
sed -n 's/^ \(ndr_[a-z0-9_]*\)@NDR_.*/\1/p' "$symbols" | sort >kept
[ -s exported ] || { echo "debian_symbols.sh: $library exports nothing"; exit 1; }
diff kept exported >changes || {
    echo "debian_symbols.sh: add the names with >, and the version in which they are new, to $symbols; remove those with <:"
    grep '^[<>]' changes
    exit 1
}
echo "debian_symbols.sh: $(wc -l <exported) functions"

#!/bin/sh
# compare.sh - programs that were compiled with the kept headers run with the library: its ABI beside the kept one.
#
#     compare.sh <library> <headers> <kept .abi>
#
# More functions, enumerators and members at the end of growing structs are fine. All else fails.
set -eu
library=$1 headers=$2 kept=$3
here=$(cd "$(dirname "$0")" && pwd)

"$here/describe" "$library" "$headers" now.abi

# growth.abignore lists the structs that the headers mark.
awk '/^    NDR_MAY_GROW$/ { marked = 1 } /^} ndr_/ { if (marked) print substr($2, 1, length($2) - 1); marked = 0 }' \
    "$headers"/*.h | sort >marked
sed -n 's/^ *name_regexp = ^ndr_(\(.*\))\$$/\1/p' "$here/growth.abignore" | tr '|' '\n' | sed 's/^/ndr_/' | sort >listed
cmp -s marked listed || { diff marked listed; echo "compare.sh: growth.abignore lists other structs than the headers mark"; exit 1; }

if ! abidiff --no-added-syms --suppressions "$here/growth.abignore" "$kept" now.abi >differences; then
    cat differences
    echo "compare.sh: this breaks programs that were compiled before. If that is meant, say so in CHANGELOG.md and run"
    echo "compare.sh: tests/package/abi/freeze build/dev/libndr.so"
    exit 1
fi

# abidiff 2.2 leaves out too much of the types that it suppresses, so their members are compared here: those that are
# kept have their types and places. A new one does not lie in what was padding, which has garbage in programs that were
# compiled before, unless it is `unused` and fills it. Structs that do not grow have their sizes.
members() { # "struct size member offset type", in bits. The ids of types with a name may differ from file to file.
    awk -F"'" 'NR == FNR {
            if (!/<(type|typedef|enum|class|union)-decl name=/) next
            for (i = 1; i < NF; i += 2) if ($i ~ / id=$/) { gsub(" ", "_", $2); name[$(i + 1)] = $2 }
            next
        }
        /<class-decl / { s = "" }
        /<class-decl name=.ndr_[^>]*[^\/]>/ {
            for (i = 1; i < NF; i += 2) { if ($i ~ / name=$/) s = $(i + 1); if ($i ~ /size-in-bits=$/) z = $(i + 1) }
        }
        s && /<data-member/ { for (i = 1; i < NF; i += 2) if ($i ~ /offset-in-bits=$/) o = $(i + 1) }
        s && /<var-decl/ { print s, z, $2, o, $4 in name ? name[$4] : $4 }' "$1" "$1"
}
members "$kept" >before
members now.abi >after
awk 'FILENAME == "marked" { grows[$1] = 1; next }
    FILENAME == "before" { size[$1] = $2; place[$1, $3] = $4 " " $5; next }
    { seen[$1, $3] = 1 }
    !($1 in size) { next }
    $2 != size[$1] && !($1 in grows) { wrong[$1 " has another size, and programs contain it"] = 1 }
    ($1, $3) in place && place[$1, $3] != $4 " " $5 { wrong[$1 "." $3 " has another place or type"] = 1 }
    !(($1, $3) in place) && $3 !~ /^unused/ && $4 < size[$1] { wrong[$1 "." $3 " lies in padding of the kept " $1] = 1 }
    END {
        for (key in place) if (!(key in seen)) { split(key, part, SUBSEP); wrong[part[1] "." part[2] " is gone"] = 1 }
        for (sentence in wrong) { print "compare.sh: " sentence; bad = 1 }
        exit bad
    }' marked before after
echo "compare.sh: $(wc -l <after) members, $(grep -c '<elf-symbol ' now.abi) functions"

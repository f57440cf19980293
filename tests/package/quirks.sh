#!/bin/sh
# quirks.sh - sources name a row of src/device/quirks.c where they avoid a fault of a driver, and no other row; and
# tools/ndr/faults has a reproducer for each row.
#
#     quirks.sh <list_quirks> <root>
set -eu
list=$1 root=$2
"$list" | cut -f1 | sort >ids
"$list" | awk -F '\t' '$2 == "no switch" { print $1 }' | sort >in_the_code

# "the fault a_b", "the faults a_b and c_d", and switches
cd "$root"
files=$(find src kernels -type f ! -path src/device/quirks.c ! -path src/device/quirks.h)
# shellcheck disable=SC2086
named=$(cat $files | tr -s '\n *' ' ' | grep -oE '[Tt]he faults? [a-z0-9]+(_[a-z0-9]+)+(,? (and|or) [a-z0-9]+(_[a-z0-9]+)+)?' |
    grep -oE '[a-z0-9]+(_[a-z0-9]+)+' | sort -u)
# shellcheck disable=SC2086
switched=$(cat $files | grep -oE 'NDR_QUIRK_[A-Z0-9_]+' | sed 's/^NDR_QUIRK_//' | tr 'A-Z' 'a-z' | sort -u)
cd - >/dev/null
unknown=$(printf '%s\n' "$named" | comm -23 - ids)
[ -z "$unknown" ] || { echo "quirks.sh: no row: $unknown"; exit 1; }
printf '%s\n%s\n' "$named" "$switched" | sort -u >used
unused=$(comm -23 in_the_code used)
[ -z "$unused" ] || { echo "quirks.sh: rows that no source names: $unused"; exit 1; }
grep -ohE '^    \{ "[a-z0-9_]+", ' "$root"/tools/ndr/faults/*.c | cut -d'"' -f2 | sort >reproducers
cmp -s ids reproducers || { echo "quirks.sh: without a row, or without a reproducer:" && comm -3 ids reproducers; exit 1; }
echo "quirks.sh: $(wc -l <ids) rows, $(printf '%s\n' "$named" | wc -l) named in sources"

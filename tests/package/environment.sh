#!/bin/sh
# environment.sh - docs/devices.md lists each environment variable that libndr reads for itself, and only base/os.c
# reads.
#
#     environment.sh <docs/devices.md> <src folder>
set -eu
page=$1 src=$2
grep -rhoE 'ndr_environment\("[A-Z_]+"' "$src" --include='*.c' | sed 's/.*"\(.*\)"/\1/' | sort -u >in_sources
sed -n '/^## The environment/,/^## /p' "$page" | grep '^| `' | cut -d'|' -f2 | grep -oE '[A-Z_]+' | sort -u >in_page
[ -s in_sources ] || { echo "environment.sh: no variables in $src"; exit 1; }
unlisted=$(comm -23 in_sources in_page)
[ -z "$unlisted" ] || { echo "environment.sh: not in $page: $unlisted"; exit 1; }
gone=$(comm -13 in_sources in_page | grep '^NDR_' || true)
[ -z "$gone" ] || { echo "environment.sh: in $page, and read nowhere: $gone"; exit 1; }
echo "environment.sh: $(wc -l <in_sources) variables"

#!/bin/sh
# logging.sh - docs/logging.md lists each message of the sources with its level, and no other.
#
#     logging.sh <docs/logging.md> <src folder>
set -eu
page=$1 src=$2

# "ID LEVEL" of each ndr_log(NDR_LOG_LEVEL, "ID", ..., which stands in one line
grep -rhoE 'ndr_log\(NDR_LOG_[A-Z]+, "[a-z_.]+"' "$src" --include='*.c' |
    sed -E 's/.*NDR_LOG_([A-Z]+), "([a-z_.]+)"/\2 \1/' | tr 'A-Z' 'a-z' | sort -u >in_sources
sed -nE 's/^\| `([a-z_.]+)` \| ([a-z]+) \| .*/\1 \2/p' "$page" | sort >in_page

calls=$(grep -rhE '\bndr_log\(' "$src" --include='*.c' | wc -l)
read_calls=$(grep -rhE 'ndr_log\(NDR_LOG_[A-Z]+, "[a-z_.]+"' "$src" --include='*.c' | wc -l)
[ "$calls" -eq "$read_calls" ] || { echo "logging.sh: $calls calls of ndr_log, $read_calls with level and id in one line"; exit 1; }
[ -s in_page ] || { echo "logging.sh: no messages in $page"; exit 1; }
diff in_sources in_page || { echo "logging.sh: < is in the sources, > is in $page"; exit 1; }
echo "logging.sh: $(wc -l <in_page) messages, $calls calls"

#!/bin/sh
# installed_links.sh - the relative links of the installed pages lead to installed files.
#
#     installed_links.sh <folder of the installed documents>
set -eu
cd "$1"
count=0 failed=
for page in $(find . -name '*.md'); do
    for link in $(sed '/^```/,/^```/d' "$page" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//; s/#.*//'); do
        case $link in http*) continue ;; esac
        count=$((count + 1))
        [ -e "$(dirname "$page")/$link" ] || { echo "installed_links.sh: $page links $link, which is not installed"; failed=yes; }
    done
done
[ -z "$failed" ] && [ "$count" -gt 0 ] || exit 1
echo "installed_links.sh: $count links"

#!/bin/sh
# pages.sh - the links of the pages lead somewhere, each page is linked, and names of libndr that pages give exist.
#
#     pages.sh <root of the sources>
#
# The entries of docs/appendix/decisions/ and CHANGELOG.md may name what has been removed. docs/appendix/decisions.md has
# the title of each entry.
set -eu
cd "$1"
pages=$(find README.md CONTRIBUTING.md CHANGELOG.md docs examples -name '*.md')
found=$OLDPWD/pages
rm -rf "$found"
mkdir "$found"

# Each heading as the anchor that GitHub makes of it, and each link outside of code blocks: A page#anchor, L page link.
# shellcheck disable=SC2086 # one word for each page
awk '
    FNR == 1 { code = 0 }
    /^```/ { code = !code }
    code { next }
    /^#/ {
        anchor = tolower($0)
        sub(/^#+ */, "", anchor)
        gsub(/[^a-z0-9_ -]/, "", anchor)
        gsub(/ /, "-", anchor)
        print "A " FILENAME "#" anchor
    }
    {
        while (match($0, /\]\([^) ]+\)/)) {
            print "L " FILENAME " " substr($0, RSTART + 2, RLENGTH - 3)
            $0 = substr($0, RSTART + RLENGTH)
        }
    }' $pages >"$found/all"
sed -n 's/^A //p' "$found/all" | sort -u >"$found/anchors"

failed=
sed -n 's/^L //p' "$found/all" | grep -v ' http' >"$found/links"
while read -r page link; do
    file=$page
    [ -z "${link%%#*}" ] || file=$(realpath -m --relative-to=. "$(dirname "$page")/${link%%#*}")
    [ -e "$file" ] || { echo "pages.sh: $page links $link, which does not exist"; failed=yes; }
    case $link in
    *.md#* | '#'*)
        grep -qxF "$file#${link#*#}" "$found/anchors" || { echo "pages.sh: $page links $link: no such heading"; failed=yes; }
        ;;
    esac
    [ "$file" = "$page" ] || echo "$file" >>"$found/linked"
done <"$found/links"
for page in $(find docs examples -name '*.md'); do
    grep -qxF "$page" "$found/linked" || { echo "pages.sh: no page links $page"; failed=yes; }
done

grep -rhoE '\<(ndr|NDR)_\w*[A-Za-z0-9]\>' include kernels mpi src cmake tests CMakeLists.txt | sort -u >"$found/known"
for page in $pages; do
    case $page in docs/appendix/decisions* | CHANGELOG.md) continue ;; esac
    grep -oE '\<(ndr|NDR)_\w*[A-Za-z0-9]\>' "$page" | grep -v -e OPERATION -e ndr_noun_verb | sort -u | comm -23 - "$found/known" |
        sed "s|^|pages.sh: $page gives a name that does not exist: |" >>"$found/unknown"
done
cat "$found/unknown"

# An entry begins with **DATE · TITLE.**
sed -n 's/^\*\*\(20[^*]*[^*.,:]\)[.,:]*\*\*.*/- \1/p' docs/appendix/decisions/*.md | sort >"$found/entries"
grep '^- 20' docs/appendix/decisions.md | sort | diff - "$found/entries" >"$found/index" || {
    echo "pages.sh: < is only in docs/appendix/decisions.md, > only on a page of docs/appendix/decisions/:"
    grep '^[<>]' "$found/index"
    failed=yes
}
[ -z "$failed" ] && [ ! -s "$found/unknown" ] || exit 1
echo "pages.sh: $(wc -l <"$found/links") links, $(wc -l <"$found/anchors") headings"

#!/bin/sh
# site.sh - the book as a site: it builds without a warning, its links lead somewhere, it has a page for each page of
# docs/, the reference has every public name with its lists, and a search finds guides but no appendix.
#
#     site.sh <root of the sources>
set -eu
root=$1
"$root/docs/site/build" "$root" site
"$root/tests/package/site_links.py" site/html

fail() { echo "site.sh: $1"; exit 1; }

# Every page is in the table of contents, or is an appendix.
for page in $(cd "$root" && find docs -name '*.md' ! -path 'docs/appendix/*' ! -name README.md); do
    grep -qF "\"$page\"" site/mkdocs.yml || fail "docs/README.md does not list $page"
done

# Guides, the tutorial and the rest do not lead to the appendix.
cd "$root"
grep -l '](\(\.\./\)*\(docs/\)*appendix/' docs/*.md docs/tutorial/*.md docs/vocabulary/*.md examples/*/*.md README.md |
    grep -v -e '^docs/README' -e docs/performance -e docs/errors -e docs/devices -e docs/scale -e docs/packages -e docs/from-opencl &&
    fail "these link an appendix"
cd "$OLDPWD"

# The first page of each half is not blank, and lists stay lists.
has() { grep -q "$2" "site/reference/$1" || fail "$1 does not have: $2"; }
has host/index.html '<li><b>Errors.</b> A call that can fail'
has host/group__topic__ranges.html '<li>local.size given'
has kernels/index.html 'ndr/reduction.clh</a>'

# Pages for those who come from elsewhere have the two programs beside each other.
for page in "$root"/docs/from-*.md; do
    grep -q '<div class="beside">' "site/html/docs/$(basename "$page" .md).html" || fail "$page has no programs side by side"
done

# Every name that the headers export, and every function of the vocabulary.
names() { grep -oE 'ndr_\w+\(' | tr -d '(' | grep -v '_sized$' | sort -u; }
grep -ohE '^(NDR_API|NDR_MUST_CHECK|NDR_SIZED) [^;(]*\bndr_\w+\(' "$root"/include/ndr/*.h | names >host_names
grep -ohE '^NDR_FUNCTION_ [^(]*\bndr_\w*[a-z0-9]\(' -r "$root/kernels/ndr" | names >kernel_names
for half in host kernels; do
    sed -n 's|.*<name>\(.*\)</name>.*|\1|p' site/$half.tags | sort -u >tags_$half
    [ -s "${half%s}_names" ] || fail "no names of $half"
    missing=$(comm -23 "${half%s}_names" tags_$half | tr '\n' ' ')
    [ -z "$missing" ] || fail "the reference does not have: $missing"
done

grep -q '"docs/order.html' site/html/search/search_index.json || fail "the search does not have docs/order.md"
grep -q '"docs/appendix/' site/html/search/search_index.json && fail "the search has appendices"
echo "site.sh: $(wc -l <host_names) names of the host, $(wc -l <kernel_names) of the vocabulary"

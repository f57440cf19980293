#!/bin/sh
# forms.sh - docs/appendix/forms.md names a test for each cell of the table in docs/which-form.md of what each form can
# use.
#
#     forms.sh <which-form.md> <forms.md> <folder of rooms with test_*.c>
#
# The table "Shown by" has the same heads and rows as "What each can use", in the same order. Each of its cells has at
# least one test, and only tests that exist. A test is a name that some test_*.c passes to CMocka.
set -eu
page=$1 shown=$2 tests=$3

grep -hoE 'cmocka_unit_test[a-z_]*\( *test_[A-Za-z0-9_]+' "$tests"/*/test_*.c | sed 's/.*( *//' | sort -u >known.txt

awk -F ' *[|] *' '
    function say(what) { print "forms.sh: " what; failed = 1 }
    FNR == 1 { ++files }
    files == 1 { known[$0] = 1; next }
    /^## / { table = /^## What each can use$/ ? 1 : /^## Shown by$/ ? 2 : 0 }
    !table || !/^\|/ || /^\|-/ { next }
    NF != 6 { say($2 ": " NF - 2 " columns instead of 4") }
    !(table in head) { head[table] = $0; next }
    { name[table, ++rows[table]] = $2 }
    table == 2 {
        for (i = 3; i < NF; ++i) {
            named = 0
            rest = $i
            while (match(rest, /test_[A-Za-z0-9_]+/)) {
                test = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                named++
                if (!(test in known)) say($2 ": no test " test)
            }
            if (!named) say($2 ": no test shows column " i - 2)
        }
    }
    END {
        if (!rows[1]) say("no table of what each can use")
        if (head[1] != head[2]) say("the heads differ")
        if (rows[1] != rows[2]) say(rows[2] + 0 " rows shown instead of " rows[1])
        for (i = 1; i <= rows[1]; ++i)
            if (name[1, i] != name[2, i]) say("row " i " is \"" name[2, i] "\" instead of \"" name[1, i] "\"")
        if (!failed) print "forms.sh: " rows[1] " rows"
        exit failed
    }' known.txt "$page" "$shown"

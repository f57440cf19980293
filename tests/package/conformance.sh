#!/bin/sh
# conformance.sh - docs/appendix/conformance.md has every row, and names only tests that exist.
#
#     conformance.sh <conformance.md> <folder of rooms with test_*.c>
#
# Rows: A1 to A79, A50s to A57s, E1 to E26, each once and with one test at least. A test is a name that CMocka is given
# in some test_*.c. A driver's cell is "pass", "skip: reason" or "-".
set -eu
page=$1 tests=$2

grep -hoE 'cmocka_unit_test[a-z_]*\( *test_[A-Za-z0-9_]+' "$tests"/*/test_*.c | sed 's/.*( *//' | sort -u >known.txt

awk -F '|' '
    function say(what) { print "conformance.sh: " what; failed = 1 }
    function trim(s) { gsub(/^ +| +$/, "", s); return s }
    FNR == NR { known[$0] = 1; next }
    /^\| [AE][0-9]+s? \|/ {
        row = trim($2)
        if (++seen[row] > 1) say(row ": there twice")
        if (NF != 12) say(row ": " NF - 2 " columns instead of 10")
        named = 0
        rest = $4
        while (match(rest, /test_[A-Za-z0-9_]+/)) {
            name = substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
            named++
            if (!(name in known)) say(row ": no test " name)
        }
        if (!named) say(row ": no test shows it")
        for (i = 5; i < NF; ++i) {
            cell = trim($i)
            if (cell != "pass" && cell != "-" && cell !~ /^skip: ./) say(row ": a cell says \"" cell "\"")
        }
        rows++
    }
    END {
        for (i = 1; i <= 79; ++i) if (!("A" i in seen)) say("A" i " is missing")
        for (i = 50; i <= 57; ++i) if (!("A" i "s" in seen)) say("A" i "s is missing")
        for (i = 1; i <= 26; ++i) if (!("E" i in seen)) say("E" i " is missing")
        if (rows != 79 + 8 + 26) say(rows " rows instead of " 79 + 8 + 26)
        if (!failed) print "conformance.sh: " rows " rows"
        exit failed
    }' known.txt "$page"

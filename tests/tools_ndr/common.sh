# shellcheck shell=sh disable=SC2034
# common.sh - what the tests of the command ndr share. Each is started in a folder of its own as
#
#     test_NAME.sh <the command ndr> <root of the sources>
set -eu
ndr=$1 root=$2
failed=0
unset NDR_DEVICE NDR_CHECK NDR_LOG NDR_TRACE NDR_DISABLE NDR_QUIRKS NDR_SELFTEST NDR_OPENCL NDR_CACHE_MIB NO_COLOR

complain() {
    echo "$0: $shown: $*"
    sed 's/^/    out: /' out
    sed 's/^/    err: /' err
    failed=1
}

# run CODE COMMAND...: the files `out` and `err` get what it prints; its exit code must be CODE.
run() {
    wanted=$1
    shift
    shown=$*
    code=0
    "$@" >out 2>err </dev/null || code=$?
    [ "$code" = "$wanted" ] || complain "exit code $code instead of $wanted"
}

# says FILE TEXT, lacks FILE TEXT: of the last command.
says() { grep -qF -e "$2" "$1" || complain "$1 lacks: $2"; }
lacks() { ! grep -qF -e "$2" "$1" || complain "$1 has: $2"; }

# leave_out REASON: what the rest would test cannot be tested here.
leave_out() { echo "left out: $*"; }

# is_today I DAYS: whether part I belongs to this run, one in DAYS. NDR_TEST_DAY sets the day, NDR_TEST_LONG=1 takes all.
is_today() { [ -n "${NDR_TEST_LONG:-}" ] || [ $((($1 + ${NDR_TEST_DAY:-$(date +%s) / 86400}) % $2)) = 0 ]; }

# The operations of the headers, by the names of `ndr bench`.
operations() {
    sed -nE 's/^NDR_SIZED ndr_status ndr_([a-z_]+)\(ndr_queue \*queue, const ndr_\1_desc .*/\1/p' "$root"/include/ndr/*.h |
        sed 's/^array_copy$/transpose/'
}

finish() { exit "$failed"; }

#!/bin/sh
# setup.sh - setup/check and setup/examples print what they do and how long it takes, and distinguish a slow machine
# from a failure.
#
#     setup.sh <sources> <ctest> <build>
#
# Stubs that print their arguments replace the commands that they call. A real ctest writes the log of a test that is
# too slow and of one that fails.
set -eu
root=$1 ctest=$2 build=$3
here=$PWD

fail() {
    echo "setup.sh: $1"
    cat "$here/said"
    exit 1
}

says() { grep -q -- "$1" "$here/said" || fail "it does not say: $1"; }
says_not() { ! grep -q -- "$1" "$here/said" || fail "it says: $1"; }

# step_before STEP LINE: the step is announced before the line that it prints.
step_before() {
    step=$(grep -n "^setup: step $1 of 3: .*minute" said | head -n 1 | cut -d: -f1)
    command=$(grep -n "^$2" said | head -n 1 | cut -d: -f1)
    [ -n "$step" ] && [ -n "$command" ] && [ "$step" -lt "$command" ] || fail "step $1 is not announced before: $2"
}

rm -rf stubs logs
mkdir stubs logs
for name in cmake ctest apt-get sudo; do
    printf '#!/bin/sh\necho "ran: %s $*"\n' $name >stubs/$name
done
printf '#!/bin/sh\necho installed\n' >stubs/dpkg-query
chmod +x stubs/*

PATH=$here/stubs:$PATH "$root/setup/check" >said 2>&1
head -n 1 said | grep -q '^setup: .* minutes on 2 quiet cores' || fail "check does not begin with its time"
step_before 1 'setup: every package is there'
step_before 2 'ran: cmake --preset dev'
step_before 2 'ran: cmake --build --preset dev'
step_before 3 'ran: ctest --preset dev'
says 'setup: every package is there: .* doxygen mkdocs-material$' # which default tests need
says 'setup: the longest take a minute and a half on 2 quiet cores, and minutes without a line on a busy machine;'
says 'setup: a test that has not ended after 15 minutes is stopped'
says 'setup: the tests passed'

PATH=$here/stubs:$PATH "$root/setup/examples" >said 2>&1
head -n 1 said | grep -q '^setup: .* minutes on 2 quiet cores' || fail "examples does not begin with its time"
step_before 1 'setup: every package is there'
step_before 2 'ran: cmake --preset release'
step_before 3 'ran: cmake --build --preset examples'

# setup/narrow makes nothing without a command to run.
status=0
PATH=$here/stubs:$PATH "$root/setup/narrow" >said 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "setup/narrow without a command ends with $status"
says 'usage: .*narrow COMMAND'

# No test of the suite has a longer limit than setup/check says.
# In a folder of its own, because a listing empties the log of the tests that run there.
mkdir -p listing
echo "subdirs(\"$build\")" >listing/CTestTestfile.cmake
longest=$("$ctest" --test-dir listing --show-only=json-v1 |
    grep -A1 '"TIMEOUT"' | sed -n 's/.*"value" : \([0-9]*\).*/\1/p' | sort -n | tail -n 1)
[ "$longest" -eq 900 ] || fail "the longest time limit of a test is $longest s, and setup/check says 15 minutes"

cat >logs/CTestTestfile.cmake <<'END'
add_test(endless sleep 60)
set_tests_properties(endless PROPERTIES TIMEOUT 1)
add_test(wrong false)
add_test(left_out sh -c "echo SKIPPED")
set_tests_properties(left_out PROPERTIES SKIP_REGULAR_EXPRESSION SKIPPED)
END
"$ctest" --test-dir logs -O both.log >/dev/null 2>&1 && fail "ctest has passed"
"$ctest" --test-dir logs -E wrong -O late.log >/dev/null 2>&1 && fail "ctest has passed"
"$ctest" --test-dir logs -E endless -O wrong.log >/dev/null 2>&1 && fail "ctest has passed"

"$root/setup/outcome" both.log >said
says '^setup: slow machine: endless did not end'
says '^setup: failed: wrong;'
"$root/setup/outcome" late.log >said
says '^setup: slow machine: endless did not end'
says "ctest --preset dev -R '^(endless)\$'"
says_not 'failed'
"$root/setup/outcome" wrong.log >said
says '^setup: failed: wrong;'
says_not 'slow machine'
says_not 'left_out'

# A failed run reports it, in these words and by its status.
printf '#!/bin/sh\nexit 8\n' >stubs/ctest
printf '#!/bin/sh\n' >stubs/cmake
! PATH=$here/stubs:$PATH "$root/setup/check" >said 2>&1 || fail "check has passed"
says_not 'the tests passed'
echo "setup.sh: passed"

#!/bin/sh
# test_selftest.sh - `ndr selftest`: all passes here, and a driver that is wrong, crashes or hangs fails the parts that
# meet it, and no others.
. "$(dirname "$0")/common.sh"
export NDR_CACHE="$PWD/store"
unset NDR_DISABLE BROKEN_LAYER_DOES BROKEN_LAYER_KERNEL BROKEN_LAYER_UNLESS

run 0 "$ndr" selftest
lacks out FAILED
says out ' 0 failed, '
says out 'device "'
for part in transfers range 'groups, barriers, local memory' 'group functions' atomics reducers; do
    says out "passed   $part"
done
says out 'passed   reduce tree_'
says out 'passed   reduce atomic_'
says out 'passed   reduce recursive'
says out 'passed   matmul '
says out 'skipped  '
says out ': libndr takes another on this device: '

# Each implementation that the device reports is in the list.
cp out parts
"$ndr" devices --json >devices
sed -n 's/^ *"row": "\(.*\)".*/\1/p' devices | sort -u >rows
[ -s rows ] || complain '`ndr devices` has no rows'
while read -r row; do grep -qE "(reduce|matmul) $row(:|\$)" parts || complain "it does not list $row"; done <rows

run 0 "$ndr" selftest --json
says out '"failed": 0'
says out '"outcome": "passed"'
lacks out '"fix"'
run 0 env NDR_DISABLE=fp64,int64_atomics "$ndr" selftest
says out 'skipped  64-bit atomics: the device has no 64-bit atomics'

run 2 "$ndr" selftest it
says err 'too many arguments: "it"'
run 2 "$ndr" selftest --timeout never
says err '--timeout is "never"; give a number'
run 3 "$ndr" selftest --device no-such-device
says err 'no-such-device'
run 1 sh -c "'$ndr' selftest --json >/dev/full"

# ---- faults ----

export OPENCL_LAYERS="$BROKEN_LAYER"
BROKEN_LAYER_DOES=crash BROKEN_LAYER_KERNEL=selftest_range run 1 "$ndr" selftest
if ! grep -q '^FAILED' out; then
    failed=0
    leave_out 'faults of a driver: the OpenCL loader takes no layers'
    finish
fi
only_failed() { # only_failed PART: that part failed, with a fix, and no other
    says out "FAILED   $1: $2"
    says out ' 1 failed, '
    says out 'report this with the output of `ndr doctor --json`'
    says out 'passed   transfers'
    says out 'passed   reduce '
}
only_failed range 'it crashed while it ran a kernel: Aborted'
lacks out 'set NDR_DISABLE'
rm -f once
BROKEN_LAYER_ONCE=$PWD/once BROKEN_LAYER_DOES=crash BROKEN_LAYER_KERNEL=selftest_atomics run 1 "$ndr" selftest
only_failed atomics 'it crashed while it ran a kernel: Aborted'
says out 'fix: it passes when it runs again: run `ndr selftest` again'
lacks out 'set NDR_DISABLE'
BROKEN_LAYER_DOES=hang BROKEN_LAYER_KERNEL=selftest_reducers BROKEN_LAYER_UNLESS=sub_groups \
    run 1 "$ndr" selftest --timeout 20
only_failed reducers 'it hung while it ran a kernel: --timeout is 20 s'
says out 'fix: set NDR_DISABLE=sub_groups, with which it passes; update the driver, and report'
export BROKEN_LAYER_DOES=wrong
BROKEN_LAYER_KERNEL=selftest_atomics BROKEN_LAYER_UNLESS=memory_order run 1 "$ndr" selftest --json
says out '"failed": 1'
says out '"outcome": "failed"'
says out 'is 0 instead of 1000'
says out 'set NDR_DISABLE=memory_order'
for kernel in selftest_groups selftest_group_functions; do
    BROKEN_LAYER_KERNEL=$kernel run 1 "$ndr" selftest
    says out ' 1 failed, '
    says out ' instead of '
done

# The results of operations, and bytes that are read.
BROKEN_LAYER_KERNEL=$(sed -n 's/^passed   matmul \(.*\)/gemm_\1/p' parts | head -1) run 1 "$ndr" selftest
says out 'FAILED   matmul '
says out ' instead of '
says out 'passed   reduce '
unset BROKEN_LAYER_KERNEL
run 1 "$ndr" selftest
says out 'FAILED   transfers: after a write of 4099 bytes at byte 13, byte 28 of a buffer is '
NDR_CACHE=off BROKEN_LAYER_DOES=crash run 1 "$ndr" selftest # programs of the store are not created
says out 'passed   transfers'
says out 'FAILED   range: it crashed while it built a kernel: Aborted'
finish

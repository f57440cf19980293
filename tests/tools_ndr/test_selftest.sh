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
for part in transfers range 'groups, barriers, local memory' 'group functions' atomics reducers 'reduce tree_' \
    'reduce atomic_' 'reduce recursive' 'matmul ' 'map flat' 'map strided' 'scan ' 'select ' 'sort ' 'histogram ' \
    'random ' 'array_copy ' 'gather ' 'scatter ' 'array_scan ' 'top_k ' 'map_reduce ' 'merge shares' 'merge_sort '; do
    says out "passed   $part"
done
cp out parts
run 0 "$ndr" doctor
operations=$(sed '1,/^passed   reducers/d' parts | grep -c '^passed ')
says out "$operations implementations of operations give right results on this driver"

# From here on without the operations.
export NDR_SELFTEST=off
run 0 "$ndr" selftest --json
says out '"failed": 0'
says out '"outcome": "passed"'
lacks out '"fix"'
run 0 env NDR_DISABLE=fp64,int64_atomics "$ndr" selftest
says out 'skipped  64-bit atomics: the device has no 64-bit atomics'
says out 'skipped  operations: NDR_SELFTEST is off'

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
}
only_failed range 'it crashed while it ran a kernel: Aborted'
lacks out 'set NDR_DISABLE'
rm -f once
BROKEN_LAYER_ONCE=$PWD/once BROKEN_LAYER_DOES=crash BROKEN_LAYER_KERNEL=selftest_atomics run 1 "$ndr" selftest
only_failed atomics 'it crashed while it ran a kernel: Aborted'
says out 'fix: it passes when it runs again: run `ndr selftest` again'
lacks out 'set NDR_DISABLE'
if is_today 3 4; then # 20 s
    BROKEN_LAYER_DOES=hang BROKEN_LAYER_KERNEL=selftest_reducers BROKEN_LAYER_UNLESS=sub_groups \
        run 1 "$ndr" selftest --timeout 20
    only_failed reducers 'it hung while it ran a kernel: --timeout is 20 s'
    says out 'fix: set NDR_DISABLE=sub_groups, with which it passes; update the driver, and report'
fi
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

unset NDR_SELFTEST

# Each of these parts tests all operations again. On a day runs one of them, or the part that hangs.

# An implementation whose results are wrong: the next one is tested and used, now and by programs that run later.
wrong_results() {
    product=3x1031x1033
    row=$(sed -n 's/^passed   matmul \(.*\)/\1/p' parts | head -1)
    BROKEN_LAYER_KERNEL=gemm_$row run 1 "$ndr" selftest
    says out "FAILED   matmul $row: a product of $(echo $product | sed 's/x/ x /g') of f32 is wrong"
    says out 'fix: libndr does not use it on this driver any more; update the driver, and report this'
    says out ' 1 failed, '
    says out 'passed   reduce '
    unset BROKEN_LAYER_DOES
    run 0 "$ndr" doctor
    says out "libndr does not use matmul $row on this driver: a product of "
    says out 'fix: update the driver, and run `ndr selftest` again'
    run 0 env NDR_LOG=warn "$ndr" bench matmul $product --runs 3 --seconds 1 --json
    lacks out "\"implementation\": \"$row\""
    says err "op.refused: matmul: variant $row is not used on device"
    says err ' is wrong'
    run 0 env NDR_SELFTEST=off NDR_LOG=warn "$ndr" bench matmul $product --runs 3 --seconds 1 --json
    says out "\"implementation\": \"$row\""
    lacks err op.refused
}

# One that crashes: tried again, and refused.
crashes() {
    row=$(sed -n 's/^passed   select \(.*\)/\1/p' parts | head -1)
    rm -f once
    BROKEN_LAYER_ONCE=$PWD/once BROKEN_LAYER_DOES=crash BROKEN_LAYER_KERNEL=select_$row run 1 "$ndr" selftest
    says out "FAILED   operations: it crashed while it tested select $row: Aborted"
    says out "passed   select $row"
    says out 'fix: it passes when it runs again'
    BROKEN_LAYER_DOES=crash BROKEN_LAYER_KERNEL=select_$row run 1 "$ndr" selftest
    says out "FAILED   select $row: it crashed while it tested select $row: Aborted"
    says out 'fix: libndr does not use it on this driver any more'
    says out ' 1 failed, '
    [ "$(grep -c '^passed   select ' out)" = 1 ] || complain 'no other selection was tested'
    BROKEN_LAYER_DOES=crash BROKEN_LAYER_KERNEL=select_$row NDR_CACHE=off run 1 "$ndr" selftest
    says out 'fix: programs use it, because this is not kept: run `ndr selftest` again with a store that can be written'
}

# An operation without a right implementation is refused; and bytes that are read are wrong.
no_right_one() {
    export BROKEN_LAYER_DOES=wrong
    BROKEN_LAYER_KERNEL=ndr_map run 1 "$ndr" selftest
    says out 'FAILED   map flat: a map of f32: element '
    says out 'FAILED   map strided: '
    says out 'FAILED   operations: ndr_map: no implementation gives right results on device "'
    run 1 env NDR_SELFTEST=off "$ndr" selftest
    says out 'FAILED   transfers: after a write of 4099 bytes at byte 13, byte 28 of a buffer is '
    NDR_SELFTEST=off NDR_CACHE=off BROKEN_LAYER_DOES=crash run 1 "$ndr" selftest # programs of the store are not created
    says out 'passed   transfers'
    says out 'FAILED   range: it crashed while it built a kernel: Aborted'
}

! is_today 0 4 || wrong_results
! is_today 1 4 || crashes
! is_today 2 4 || no_right_one
finish

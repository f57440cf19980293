#!/bin/sh
# test_devices.sh - `ndr devices`: the list, the choice, the rows, and what is wrong.
. "$(dirname "$0")/common.sh"
export NDR_CACHE=off

run 0 "$ndr" devices
says out '* 0: '
says out '* is chosen: NDR_DEVICE is not set: the first GPU, else '
says out 'i32: sum of 1000 '
says out ', product of 2048 '
lacks out "$(printf '\033')" # no colour in a file

run 0 "$ndr" devices --json
says out '"chosen": 0'
says out '"max_group_size": '
says out '"f64": '
says out '"remote": false'
says out '"row": "tree_'
says out '"reasons": "not '
! grep -q '^  "error"' out || complain 'a device is chosen, and there is an error'

for operation in reduce sort $(operations); do says out "\"operation\": \"$operation\""; done

# The row is the one that NDR_LOG=debug shows: without f64 such calls are refused.
NDR_DISABLE=fp64 run 0 "$ndr" devices --json
says out 'has no f64'
NDR_DISABLE=fp64 run 0 "$ndr" devices
says out 'f64: sum of 10000000 is refused'

NDR_DEVICE=0 run 0 "$ndr" devices
says out '* is chosen: NDR_DEVICE is "0"'
run 0 "$ndr" devices --device cpu:0
says out '* is chosen: --device is "cpu:0"'
run 3 "$ndr" devices --device cpu:99
says err 'asks for "cpu:99", but there are fewer devices of that type'
NDR_DEVICE=none run 0 "$ndr" devices --device 0
says out '* is chosen: --device is "0"'

run 3 "$ndr" devices -d no-such-device
says err 'asks for "no-such-device", but no device'
says out '  0: ' # the list is there all the same
lacks out 'is chosen'
run 3 "$ndr" devices -d no-such-device --json
says out '"error": '
lacks out '"chosen"'

mkdir -p empty
OCL_ICD_VENDORS=$PWD/empty run 3 "$ndr" devices
says err 'NDR_NO_DRIVER: no OpenCL driver is found, as the environment variable OCL_ICD_VENDORS is '
OCL_ICD_VENDORS=$PWD/empty run 3 "$ndr" devices --json
says out '"devices": []'
says out '"error": "no OpenCL driver is found'

NDR_DISABLE=nothing run 1 "$ndr" devices
says err 'NDR_DISABLE'

run 2 "$ndr" devices here
says err 'ndr devices: too many arguments: "here"'
run 2 "$ndr" devices --jsn
says err "unrecognized option '--jsn'"
run 0 "$ndr" devices --help
says out '--json'
run 2 "$ndr" device
says err 'ndr: there is no command "device"; `ndr --help` lists the commands'
run 1 sh -c "'$ndr' devices --json >/dev/full"
says err 'ndr devices: the result cannot be written to stdout'
finish

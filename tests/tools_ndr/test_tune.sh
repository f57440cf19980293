#!/bin/sh
# test_tune.sh - `ndr tune`: the choice is kept, and new programs get it. No time is compared.
. "$(dirname "$0")/common.sh"
export NDR_CACHE="$PWD/store"
rm -rf store

run 0 "$ndr" tune 96x64x64 --seconds 1
says out 'product of 96x64x64, f32, on device "'
says out '  before: '
says out '  after:  '
says out "kept in \"$PWD/store\" for products with m from 65 to 128, n from 33 to 64 and k from 33 to 64"
run 0 "$ndr" cache ls
says out 'tuned'

run 0 "$ndr" tune 7x1x33 --dtype f64 --accuracy full -s 1 --json
says out '"dtype": "f64"'
says out "\"folder\": \"$PWD/store\""
for key in device class listed_row listed_seconds row seconds implementation reasons; do says out "\"$key\": "; done
row=$(sed -n 's/^ *"row": "\(.*\)".*/\1/p' out)
says out "\"implementation\": \"$row\""

# The programs of that class, also of another shape, run it.
run 0 "$ndr" bench matmul 8x1x40 --dtype f64 -n 3 --json
says out "\"implementation\": \"$row\""

run 0 env NDR_CACHE=off "$ndr" tune 3x3x3 -s 1
says out 'not kept for other programs: '
says out 'NDR_CACHE'
run 0 env NDR_CACHE=off "$ndr" tune 3x3x3 -s 1 --json
says out '"not_kept": "'

# ---- the command line ----

run 2 "$ndr" tune
says err 'no shape is given; give three numbers like 1024x512x256'
run 2 "$ndr" tune 10x10
says err 'the shape is "10x10"; give three numbers like 1024x512x256'
run 2 "$ndr" tune 1x1x1 2x2x2
says err 'too many arguments: "2x2x2"'
run 2 "$ndr" tune 1x1x1 --dtype i32
says err '--dtype is "i32"; give f32 or f64'
run 2 "$ndr" tune 1x1x1 --accuracy half
says err '--accuracy is "half"; give full or tf32'
run 2 "$ndr" tune 1x1x1 --seconds 0
says err '--seconds is "0"; give a number'
run 3 "$ndr" tune 1x1x1 --device no-such-device
run 1 "$ndr" tune 1x1x5000000
says err 'ndr tune: '
run 1 sh -c "'$ndr' tune 1x1x1 -s 1 >/dev/full"
finish

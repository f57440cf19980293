#!/bin/sh
# test_bench.sh - `ndr bench`: what it prints. No time is compared.
. "$(dirname "$0")/common.sh"
export NDR_CACHE="$PWD/store"

run 0 "$ndr" bench matmul 65x33x17 --runs 5
says out 'matmul 65x33x17 of f32 on device "'
says out '  implementation   '
says out '  call to end      median '
says out ', 5 runs'
says out '  on the device    '
says out 'FLOP/s'
says out 'B/s'
run 0 "$ndr" bench matmul 65x33x17 --dtype f64 --accuracy tf32 -n 3 --json
says out '"dtype": "f64"'
says out '"shape": "65x33x17"'
says out '"runs": 3'
for key in implementation reasons call median_s minimum_s spread gb_per_s gflop_per_s; do says out "\"$key\": "; done

# The implementation is the one that ran.
run 0 "$ndr" bench reduce 10000 --method recursive -n 3 --json
says out '"implementation": "recursive"'
lacks out gflop_per_s
for call in 'i32 min' 'u64 max' 'f32 sum'; do
    run 0 "$ndr" bench reduce 1000 --dtype "${call% *}" --op "${call#* }" --method atomic -n 3
    says out "reduce 1000 of ${call% *} on"
done
for operation in scan sort top_k merge merge_sort select histogram random gather scatter map map_reduce; do
    run 0 "$ndr" bench $operation 1001 -n 3
    says out "$operation 1001 of f32 on device"
    says out '  implementation   '
    says out 'B/s'
done
for dtype in i32 u32 i64 u64 f64; do
    run 0 "$ndr" bench merge 1001 -n 3 --dtype $dtype
    says out "merge 1001 of $dtype on device"
done
for dtype in f16 bf16; do
    run 0 "$ndr" bench reduce 1001 -n 3 --dtype $dtype
done
run 0 "$ndr" bench histogram 1001 -n 3 --dtype i32
run 0 "$ndr" bench map_reduce 1001 -n 3 --dtype i64 --op max
for operation in transpose array_scan; do
    run 0 "$ndr" bench $operation 65x33 -n 3
    says out "$operation 65x33 of f32 on device"
    says out '  implementation   '
done
run 0 "$ndr" bench array_scan 33x65 -n 3 --dtype i64 --op max
run 0 "$ndr" bench top_k 7 -n 3 --dtype u32 # fewer than the usual k
for operation in copy fill launch; do
    run 0 "$ndr" bench $operation 4097 -n 4
    says out "$operation 4097 on device"
    lacks out implementation
    says out ', 4 runs'
done
lacks out 'B/s' # of launch
run 0 "$ndr" bench fill 100 -n 1000 --seconds 1e-9
says out ', 3 runs'

# ---- the command line ----

run 0 "$ndr" bench --help
for operation in reduce sort $(operations); do says out " $operation "; done

run 2 "$ndr" bench
says err 'give an operation and a shape, such as: reduce 16777216'
run 2 "$ndr" bench copy
run 2 "$ndr" bench sor 10
says err 'the operation is "sor"; give matmul, reduce, scan, array_scan, sort, top_k, merge, merge_sort, '
says err 'copy, fill or launch'
for shape in 10x10 10x10x 10x10x10x10 10x0x10 axbxc 10x-1x10 99999999999x1x1; do
    run 2 "$ndr" bench matmul $shape
    says err "the shape is \"$shape\"; give three numbers like 1024x512x256, which are m, n and k, from 1 to "
done
run 2 "$ndr" bench transpose 10
says err 'the shape is "10"; give two numbers like 1024x512, which are rows and columns, from 1 to 1073741824 each'
run 2 "$ndr" bench histogram 10 --dtype i64
says err '--dtype is "i64"; give i32, u32, f32 or f64'
run 2 "$ndr" bench sort 10 --op sum
says err 'sort takes no option --op'
run 2 "$ndr" bench reduce 0
says err 'the shape is "0"; give a number, from 1 to'
run 2 "$ndr" bench reduce 10 20
says err 'too many arguments: "20"'
run 2 "$ndr" bench matmul 1x1x1 --dtype i32
says err '--dtype is "i32"; give f32 or f64'
run 2 "$ndr" bench reduce 10 --dtype i8
says err '--dtype is "i8"; give i32, u32, i64, u64, f32, f64, f16 or bf16'
run 2 "$ndr" bench reduce 10 --op product
says err '--op is "product"; give sum, min or max'
run 2 "$ndr" bench copy 10 --op sum
says err 'copy takes no option --op'
run 2 "$ndr" bench fill 10 --dtype f32
run 2 "$ndr" bench fill 10 --runs 0
says err '--runs is "0"; give '
run 2 "$ndr" bench fill 10 --runs 0.5
run 2 "$ndr" bench fill 10 --seconds -1
run 3 "$ndr" bench fill 10 --device no-such-device
run 1 "$ndr" bench fill 1000000000000
says err 'ndr bench: '
run 1 sh -c "'$ndr' bench fill 10 -n 3 >/dev/full"
run 1 sh -c "'$ndr' bench fill 10 -n 3 --json >/dev/full"
finish

#!/bin/sh
# test_replay.sh - `ndr replay` of launches that NDR_DUMP saved: results, shrinking, crashes, and damaged folders.
#
#     test_replay.sh <ndr> <replay_launches>
set -eu
ndr=$1 launches=$2
rm -rf saved
unset NDR_DUMP NDR_CHECK

fail() {
    echo "test_replay.sh: $*"
    [ ! -s out ] || cat out
    exit 1
}

# save WHICH [OPTION=VALUE...]: run a launch, and set `dir` to the folder that it is saved in.
save() {
    which=$1
    shift
    rm -rf "saved/$which"
    env "$@" "$launches" "$which" >out 2>&1 || fail "the launch $which ended with $?"
    dir=$(echo "saved/$which"/*)
    [ -f "$dir/launch.json" ] || fail "the launch $which is not saved once: $dir"
}

# replay CODE WORDS... -- ARGUMENTS...: run `ndr replay`, which must exit with CODE and print each of the words.
replay() {
    wanted=$1
    shift
    : >words
    while [ "$1" != -- ]; do
        printf '%s\n' "$1" >>words
        shift
    done
    shift
    code=0
    "$ndr" replay "$@" >out 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] || fail "ndr replay $* ended with $code, not $wanted"
    while read -r line; do
        grep -qF -- "$line" out || fail "ndr replay $* does not print: $line"
    done <words
}

# ---- a launch that succeeds ----

save success NDR_DUMP=saved/success,all
good=$dir
replay 0 'NDR_OK' 'It succeeds with the saved results, in 1 buffer.' -- "$good"
replay 0 'median' 'of 3 runs' -- --time --repeat=3 --check --compare "$good/"
replay 0 '"outcome": "NDR_OK"' '"same": true' '"compared_buffers": 1' '"runs": 1' -- --json "$good"

# One result that differs: element 501 becomes 1002.5 instead of 1003. It is found by one group of 4 items.
cp -r "$good" saved/changed
printf '\000\240\172\104' | dd of=saved/changed/buffer1.after.bin bs=4 seek=501 conv=notrunc 2>/dev/null
replay 1 '1 of 1000 elements (f32) differ' 'element 501: 1003 here, 1002.5 saved' 'It did not end as' -- saved/changed
replay 1 '"outcome": "different"' '"element": 501' '"same": false' -- --json saved/changed
replay 0 'It succeeds' -- --tolerance=0.001 saved/changed
replay 1 'element 501' -- --tolerance=0.0001 saved/changed
replay 0 'smallest range, global (4), local (4), offset (500)' 'saved in saved/changed-shrunk' -- --shrink saved/changed
replay 1 'It fails as it did' 'global (4), local (4), offset (500)' 'element 501' -- saved/changed-shrunk
replay 1 'nothing to shrink' -- --shrink "$good"

save reducers NDR_DUMP=saved/reducers,all
replay 0 'It succeeds with the saved results, in 1 buffer.' -- --compare "$dir"
printf '\001' | dd of="$dir/buffer1.after.bin" bs=1 seek=2000 conv=notrunc 2>/dev/null
replay 1 '1 of 1000 elements (i32) differ' 'element 500: 499493 here, 499457 saved' -- "$dir"

save views NDR_DUMP=saved/views,all
replay 0 'It succeeds with the saved results, in 1 buffer.' -- --compare "$dir"
[ "$(find "$dir" -name 'buffer*.bin' | wc -l)" -eq 2 ] || fail "two views have not one buffer: $(ls "$dir")"

# ---- a launch that writes out of bounds ----

save out_of_bounds NDR_CHECK=1 NDR_DUMP=saved/out_of_bounds
replay 1 'NDR_OUT_OF_BOUNDS' 'past the end of its buffer' 'It fails as it did when it was saved.' -- "$dir"
replay 1 'there is nothing to compare' -- --compare "$dir"
replay 0 'smallest range, global (1), offset (900)' -- --shrink "$dir"
replay 1 'It fails as it did' 'global (1), offset (900)' -- "$dir-shrunk"
replay 1 'exists; move it away' -- --shrink "$dir"
rm -r "$dir-shrunk"
replay 0 '"tries": ' '"folder": "saved' -- --json --shrink "$dir"
[ "$(find saved/out_of_bounds -maxdepth 1 -mindepth 1 | wc -l)" -eq 2 ] || fail "shrinking leaves other folders"
replay 2 'has 2 launches; name one of them' -- saved/out_of_bounds

# Rows 6 and 7, columns 12 to 15: the first of these 2 by 4 groups that writes past element 199.
save rows NDR_CHECK=1 NDR_DUMP=saved/rows
replay 0 'smallest range, global (2, 4), local (2, 4), offset (6, ' -- --shrink "$dir"

# ---- a launch that the driver refused, and other ends ----

save refused NDR_DUMP=saved/refused
replay 0 'CL_OUT_OF_RESOURCES' 'It did not end as it did' -- "$dir"

# It wrote nothing then, and runs unchecked unless --check is given.
save refused_and_wrong NDR_DUMP=saved/refused_and_wrong
replay 1 'replayed on' 'NDR_OUT_OF_BOUNDS' 'It did not end as it did' -- --check "$dir"

# llvmpipe ends long loops early, so nothing takes long there.
save slow NDR_DUMP=saved/slow
grep -q llvmpipe "$dir/launch.json" ||
    replay 1 '"outcome": "timeout"' 'has not ended within 1 s' -- --json --timeout=1 "$dir"

rm -rf saved/crash
NDR_DUMP=saved/crash,all "$launches" crash >out 2>&1 && fail "the launch that crashes has ended" || true
dir=$(echo saved/crash/*)
replay 1 'saved on' 'not ended' 'replayed: crash' 'ended its process by signal' 'It fails as it did' -- "$dir"
replay 0 'smallest range, global (1), offset (' -- --shrink "$dir"

# An operation: its kernels are the library's own files.
NDR_DUMP=saved/reduce,all "$launches" reduce >out 2>&1 || fail "the reduction ended with $?"
for dir in saved/reduce/*; do
    grep -q '"form": "bundled"' "$dir/launch.json" || fail "$dir is not of the library"
    replay 0 'It succeeds with the saved results' -- "$dir"
done

save image NDR_DUMP=saved/image,all
replay 1 'argument 0 "image" (image2d_t) of kernel "width" was not saved: NDR_DUMP saves no images' -- "$dir"

# A launch that is run again is not saved again.
NDR_DUMP=saved/again,all
export NDR_DUMP
replay 0 'It succeeds' -- "$good"
unset NDR_DUMP
[ ! -e saved/again ] || fail "ndr replay saves its launch"

# ---- the command line ----

replay 2 'name the folder of a launch' --
replay 2 'too many arguments' -- "$good" other
replay 2 '--repeat is "0"; give a number from 1' -- --repeat=0 "$good"
replay 2 '--tolerance is "x"' -- --tolerance=x "$good"
replay 3 'NDR_NO_MATCHING_DEVICE' -- --device=nosuchdevice "$good"
replay 1 'saved/none/launch.json" cannot be read: No such file or directory; name the folder of a launch' -- saved/none

# ---- damaged folders ----

# damage EXPRESSION WORDS...: change launch.json of the good launch.
damage() {
    rm -rf saved/damaged
    cp -r "$good" saved/damaged
    sed -i "$1" saved/damaged/launch.json
    shift
    replay 1 "$@" -- saved/damaged
}
damage 's/"ndr_dump": 1/"ndr_dump": 2/' '"ndr_dump" is 2, but this command reads version 1'
damage 's/.*"status".*/{/' 'line 4 is not JSON'
damage 's/"buffer0.bin"/"..\/x"/' '"../x" is not the name of a file in this folder'
damage 's/"size_bytes": 4000, "is_written": false/"size_bytes": 4001, "is_written": false/' 'has 4000 bytes, but launch.json says 4001'
damage 's/"global": \[1000\]/"global": [-1]/' '"global" has a size that is not a number from 0 on'
damage 's/"global": \[1000\]/"global": [1, 2, 3, 4]/' '"global" is not a list of up to 3 sizes'
damage 's/"global": \[1000\]/"global": []/' 'both or neither'
damage 's/"global": \[1000\]/"global": [9000000000000000000]/' 'NDR_LIMIT_EXCEEDED'
damage 's/"buffer": 0,/"buffer": 7,/' 'names a buffer that is not there'
damage 's/"offset_bytes": 0/"offset_bytes": 8/' 'reaches past the end of its buffer of 4000 bytes'
damage 's/"offset_bytes": 0, "size_bytes": 4000/"offset_bytes": 5000, "size_bytes": 0/' 'reaches past the end of its buffer of 4000 bytes'
damage 's/"buffer0.bin"/"x\/..\/buffer0.bin"/' 'is not the name of a file in this folder'
damage 's/"kind": "null"/"kind": "nothing"/' 'the kind "nothing" of argument 4 is not known'
damage 's/"bytes": "/"bytes": "0/' 'end within a byte'
damage 's/"bytes": "0/"bytes": "x/' 'not hexadecimal digits'
damage 's/"form": "source"/"form": "spirv"/' 'NDR_'
damage 's/"form": "source"/"form": "bundled"/' 'NDR_NOT_FOUND'
damage 's/"name": "apply"/"name": "other"/' 'NDR_NOT_FOUND'
damage 's/"args": \[/"args": 3, "others": [/' 'NDR_BAD_KERNEL_ARGUMENT'
rm -rf saved/damaged
cp -r "$good" saved/damaged
truncate -s 10 saved/damaged/buffer1.bin
replay 1 'has 10 bytes, but launch.json says 4000' -- saved/damaged
rm saved/damaged/buffer1.bin
replay 1 'buffer1.bin" cannot be read: No such file' -- saved/damaged
mkfifo saved/damaged/buffer1.bin
replay 1 'is no regular file' -- saved/damaged
echo "test_replay.sh: done"

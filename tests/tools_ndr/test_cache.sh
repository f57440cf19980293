#!/bin/sh
# test_cache.sh - `ndr cache`: what is in the store, what is damaged, what is removed, and what is built ahead.
. "$(dirname "$0")/common.sh"
export NDR_CACHE="$PWD/store"
chmod -R u+rwx store closed 2>/dev/null || true
rm -rf store closed
echo 'kernel void twice(global int *x) { x[0] *= BY; } kernel void once(global int *x) { x[0] += BY; }' >two.cl
echo 'kernel void wrong(global int *x) { x[0] = nowhere; }' >wrong.cl
echo 'int one(void) { return 1; }' >none.cl

run 0 "$ndr" cache ls
says out "0 files, 0 bytes, in $PWD/store"

# ---- warm ----

run 0 "$ndr" cache warm two.cl -b -DBY=3
says out 'two.cl is in the store'
run 0 "$ndr" cache ls
says out 'kernels twice, once with -cl-std='
says out '-DBY=3'
says out "1 file, "
run 1 "$ndr" cache warm two.cl wrong.cl none.cl missing.cl --build-options -DBY=4
says out 'two.cl is in the store'
says out 'wrong.cl: "wrong.cl" did not build for "'
says out 'none.cl: "none.cl" has no kernel'
says out 'missing.cl: kernel file "missing.cl" cannot be read'
run 1 "$ndr" cache warm wrong.cl two.cl -b -DBY=4 --json
says out '"is_kept": true'
says out '"is_kept": false'
says out '"error": "'
run 3 "$ndr" cache warm two.cl --device no-such-device
says err 'NDR_NO_MATCHING_DEVICE'
NDR_CACHE=off run 1 "$ndr" cache warm two.cl
says err 'ndr cache: NDR_NOT_KEPT: ndr_cache_warm: this context has no store'

# ---- ls: no device is needed ----

mkdir -p empty
OCL_ICD_VENDORS=$PWD/empty run 0 "$ndr" cache ls --json
says out "\"folder\": \"$PWD/store\""
says out '"what": "kernels twice, once"'
says out '"is_of_this_library": true'
lacks out '"fault"'

# ---- verify and clear ----

run 0 "$ndr" cache verify
says out '0 of 3 files damaged or unfinished, 0 bytes'
whole=$(ls store | wc -l)
first=$(ls store/ndr-* | head -1)
cp "$first" "$first.1.2.3"
echo damage >>"$first"
echo mine >store/mine
run 1 "$ndr" cache verify
says out 'it is damaged: its checksum is wrong: '"$PWD/$first"
says out 'a process ended while it wrote it, or is writing it: '
says out '2 of 4 files damaged or unfinished, '
says out '`ndr cache clear --broken` removes the files'
run 1 "$ndr" cache verify --json
says out '"fault": "it is damaged'
lacks out '"what": "kernels'
run 0 "$ndr" cache clear --broken
says out '2 files removed'
run 0 "$ndr" cache verify
[ "$(ls store/ndr-* | wc -l)" = $((whole - 1)) ] || complain 'another number of files is left'
touch -d '3 days ago' "$(ls store/ndr-* | head -1)"
run 0 "$ndr" cache ls
says out ' 3 d  '
run 0 "$ndr" cache clear --unused 4
says out '0 files removed'
run 0 "$ndr" cache clear --unused 2
says out '1 file removed'
run 0 "$ndr" cache clear --json
says out '"entries": ['
[ "$(ls store)" = mine ] || complain "left: $(ls store), instead of mine alone"

# A store that is refused, or off.
chmod 777 store
run 1 "$ndr" cache ls
says err 'ndr cache: the store "'
says err 'chmod go-w'
NDR_CACHE=off run 1 "$ndr" cache ls
says err 'ndr cache: there is no store: NDR_CACHE is off; unset it, or set it to a folder'
NDR_CACHE=here run 1 "$ndr" cache clear
says err 'NDR_CACHE is "here"'

# ---- the command line ----

run 2 "$ndr" cache
says err 'no action is given; use ls, verify, clear or warm'
run 2 "$ndr" cache list
says err '"list" is not an action; use ls, verify, clear or warm'
run 2 "$ndr" cache ls two.cl
says err 'ls takes no argument: "two.cl"'
run 2 "$ndr" cache warm
says err 'warm: no file is given'
run 2 "$ndr" cache ls --broken
says err '--broken and --unused are for clear'
run 2 "$ndr" cache clear --unused soon
says err '--unused is "soon"; give a number from 0 to 36500'
run 2 "$ndr" cache verify -b -DX
says err '--build-options is for warm'
finish

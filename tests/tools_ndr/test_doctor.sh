#!/bin/sh
# test_doctor.sh - `ndr doctor`: each fault of a machine is found, and has a fix.
. "$(dirname "$0")/common.sh"
export NDR_CACHE="$PWD/store"
rm -rf store store2 icd closed empty full
mkdir -p icd empty

# The .icd file of the driver under test: the first that has a device.
vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
run 0 "$ndr" doctor --faults=none
says out 'ok     libndr '
says out 'ok     the OpenCL library: '
says out ' runs a kernel'
says out '0 faults, '
says out 'ok     a program gets device "'
says out 'files can be written'
good=$(sed -n 's/^ok     "\(.*\.icd\)": .*/\1/p' out | head -1)
[ -e "$good" ] || complain "no .icd file with a device in $vendors"

run 0 "$ndr" doctor --faults=none --json
says out '"faults": 0'
says out '"check": "kernel"'
says out '"level": "ok"'
lacks out '"level": "fault"'
lacks err ' ' # drivers may print, but not PoCL here

# The store that the kernel was written to.
says out 'the store has 1 file, '

# ---- the command line ----

run 2 "$ndr" doctor --faults=none --timeout never
says err '--timeout is "never"; give a number, more than 0'
run 2 "$ndr" doctor --faults=none -t 0
run 2 "$ndr" doctor --faults=none it
says err 'too many arguments: "it"'
run 1 "$ndr" doctor --faults=none --device no-such-device
says out 'FAULT  device "no-such-device" does not run a kernel: '
run 1 sh -c "'$ndr' doctor --json >/dev/full"

# ---- known faults ----

lacks out ' crashed'
run 2 "$ndr" doctor --faults=some
says err '--faults is "some"; give none, open or all'
if NDR_CACHE=off "$ndr" devices | grep -q 'Portable Computing Language'; then
    run 0 "$ndr" doctor
    says out 'note   this driver has a fault that libndr cannot avoid, kernel_renamed: '
    says out '(Tried: it crashed while it ran the reproducer: Aborted.)'
    says out 'known faults of such drivers, which `ndr doctor --faults=all` tries: '
    run 0 "$ndr" doctor --faults=all --timeout 2
    says out 'this driver has these faults, which libndr avoids'
    says out 'these known faults do not show on this driver: '
    for id in last_pitch_refused last_sub_group_full barrier_in_loop; do says out "$id"; done
fi

# ---- variables ----

for bad in NDR_LOG=loud NDR_DEVICE=no-such-device NDR_DISABLE=x NDR_QUIRKS=+x NDR_SELFTEST=x NDR_CHECK=x NDR_TRACE=x NDR_CACHE=here \
    NDR_CACHE_MIB=0; do
    run 1 env "$bad" "$ndr" doctor --faults=none
    says out "FAULT  ${bad%%=*} "
    says out "1 fault, "
    says out ' runs a kernel' # without the variable
done
run 1 env NDR_DEVICE=no-such-device "$ndr" doctor --faults=none
says out 'without the variables that are refused, a program gets device'
run 1 env NDR_OPENCL=/no/such/library "$ndr" doctor --faults=none
says out 'the OpenCL library that NDR_OPENCL names cannot be opened'
run 0 env NDR_DEVICES=gpu NDR_CACHE=off NDR_LOG=info NDR_CHECK=1 NDR_TRACE=table "$ndr" doctor --faults=none
says out 'note   libndr reads no variable NDR_DEVICES; is its name misspelt?'
says out 'ok     NDR_LOG is "info"'
lacks err libndr # neither logs nor a trace of doctor's own work

# A timeline that exists is not replaced.
echo mine >trace.json
run 0 env NDR_TRACE="table,$PWD/trace.json" "$ndr" doctor --faults=none
[ "$(cat trace.json)" = mine ] || complain 'trace.json has been replaced'
run 1 env NDR_TRACE=/no/such/folder/trace.json "$ndr" doctor --faults=none
says out 'its folder: it does not exist'

# docs/devices.md has the same variables.
sed -n '/^## The environment/,/^## /p' "$root/docs/devices.md" | grep '^| `' | cut -d'|' -f2 | grep -oE '[A-Z][A-Z_]+' | sort -u >page
sed -n '/^} variables/,/^};/p' "$root/tools/ndr/doctor_environment.c" | grep -oE '"[A-Z_]+"' | tr -d '"' | sort -u >table
[ -s page ] || complain 'no variables in docs/devices.md'
missing=$(comm -23 page table)
[ -z "$missing" ] || complain "doctor_environment.c lacks $missing"

# ---- folders ----

run 1 env POCL_CACHE_DIR=/dev/null/x NDR_CACHE=off "$ndr" doctor --faults=none
says out 'FAULT  the folder of drivers'\'' files (from POCL_CACHE_DIR), "/dev/null/x": a file is where the folder should be'
says out 'fix: set POCL_CACHE_DIR or HOME to a folder of this user'
says out 'note   there is no store: NDR_CACHE is off'
run 1 env -u POCL_CACHE_DIR -u XDG_CACHE_HOME HOME=/dev/null/x "$ndr" doctor --faults=none
says out '(from HOME), "/dev/null/x/.cache"'
run 1 env POCL_CACHE_DIR= "$ndr" doctor --faults=none
says out 'FAULT  POCL_CACHE_DIR is set, but empty'
says out ' runs a kernel'
run 1 env NDR_CACHE=/dev/null/x "$ndr" doctor --faults=none
says out 'FAULT  the store of built programs, "/dev/null/x": a file is where'
run 1 env TMPDIR=/dev/null/x "$ndr" doctor --faults=none
says out '(from TMPDIR)'

# ---- no /sys, as in a bare chroot ----

without_sys() { unshare -rm sh -c 'mount -t tmpfs none /sys && "$@"' sh "$@"; }
if without_sys true 2>/dev/null; then
    run 1 without_sys "$ndr" doctor --faults=none
    says out 'FAULT  /sys is not mounted: drivers look there for processors and GPUs'
    says out 'fix: run `mount -t sysfs sysfs /sys`'
    lacks out 'there is no GPU'
else
    leave_out '/sys: this user can mount nothing'
fi

# ---- the store ----

for file in store/ndr-*; do echo damage >>"$file"; done
run 1 "$ndr" doctor --faults=none
says out 'FAULT  1 of 1 files of the store cannot be used; the first, "'
says out 'its checksum is wrong'
says out 'fix: run `ndr cache clear --broken`'
mkdir store2
chmod 777 store2
run 1 env NDR_CACHE="$PWD/store2" "$ndr" doctor --faults=none
says out 'FAULT  the store "'
says out 'chmod go-w'

# ---- drivers ----

export OCL_ICD_VENDORS="$PWD/icd"
only() { # only FILE TEXT: the driver under test, and one more file
    rm -f icd/*
    cp "$good" icd/good.icd
    printf '%s\n' "$2" >"icd/$1"
}
only missing.icd /no/such/library.so
run 1 "$ndr" doctor --faults=none
says out 'icd/missing.icd" names a library that cannot be opened: /no/such/library.so'
says out 'fix: reinstall that driver, or correct or remove the file'
says out ' runs a kernel'
says out '1 fault, '
only none.icd ''
run 1 "$ndr" doctor --faults=none
says out 'icd/none.icd" names no library'
only broken.icd "$BROKEN_ICD"
run 0 "$ndr" doctor --faults=none
says out 'note   "'
says out 'but has no device for this user'
export BROKEN_ICD_DOES=crash
run 1 "$ndr" doctor --faults=none
says out "it crashed while it opened its library: Segmentation fault"
says out 'note   devices are not tried'
lacks out ' runs a kernel'
BROKEN_ICD_DOES=hang run 1 "$ndr" doctor --faults=none --timeout 0.5
says out 'it hung while it opened its library: --timeout is 0.5 s'
unset BROKEN_ICD_DOES
ls "${TMPDIR:-/tmp}"/ndr-doctor-* >out 2>err && complain 'temporary folders are left'

# Libraries without .icd files: by a loader that reads OCL_ICD_FILENAMES, and by one that does not.
named=$(head -n 1 "$good")
only broken.icd "$BROKEN_ICD"
run 0 env NDR_OPENCL="$NAMES_LOADER" OCL_ICD_FILENAMES="$named" "$ndr" doctor --faults=none
says out "ok     OCL_ICD_FILENAMES is \"$named\", which gives "
says out "opens, but has no device for this user; OCL_ICD_FILENAMES takes its place"
run 0 env NDR_OPENCL="$NAMES_LOADER" OCL_ICD_FILENAMES="$named" OCL_ICD_VENDORS="$PWD/empty" "$ndr" doctor --faults=none
says out 'empty"; OCL_ICD_FILENAMES takes its place'
lacks out 'install a driver'
run 0 env OCL_ICD_FILENAMES=/no/such/library.so "$ndr" doctor --faults=none
says out 'note   OCL_ICD_FILENAMES is "/no/such/library.so", which gives no device'
says out 'fix: unset it, or set OCL_ICD_VENDORS to a folder of .icd files'
lacks out 'takes its place'
run 1 env NDR_OPENCL="$NAMES_LOADER" OCL_ICD_FILENAMES="$BROKEN_ICD" BROKEN_ICD_DOES=crash OCL_ICD_VENDORS="$PWD/empty" \
    "$ndr" doctor --faults=none
says out 'FAULT  OCL_ICD_FILENAMES is "'
says out 'it crashed while it listed their devices: Segmentation fault'

export OCL_ICD_VENDORS="$PWD/trace.json"
run 1 "$ndr" doctor --faults=none
says out 'which is neither a folder nor an .icd file'
export OCL_ICD_VENDORS="$PWD/empty"
run 1 "$ndr" doctor --faults=none
says out 'note   there is no .icd file in "'
says out 'FAULT  no OpenCL driver is found, as the environment variable OCL_ICD_VENDORS is "'
run 1 "$ndr" doctor --faults=none --json
says out '"level": "fault"'

# ---- kernels ----

export OCL_ICD_VENDORS="$good"
export OPENCL_LAYERS="$BROKEN_LAYER" NDR_CACHE=off
BROKEN_LAYER_DOES=crash run 1 "$ndr" doctor --faults=none
if grep -q ' runs a kernel' out; then
    leave_out 'what crashes and hangs in a driver: the OpenCL loader takes no layers'
else
    says out 'does not run a kernel: it crashed while it built a kernel: Aborted'
    says out 'fix: update the driver; until then choose another device with NDR_DEVICE'
    BROKEN_LAYER_DOES=hang run 1 "$ndr" doctor --faults=none --timeout 2
    says out 'does not run a kernel: it hung while it built a kernel: --timeout is 2 s'
    BROKEN_LAYER_DOES=wrong run 1 "$ndr" doctor --faults=none
    says out 'gives wrong results: element 7 of a kernel that computes 2 x + 1'
fi
unset OPENCL_LAYERS
export NDR_CACHE="$PWD/store2"
rm -rf store2

# ---- with another /dev, a full disk and a user without rights: in a namespace of this user's own ----

# apart COMMAND...: root's rights there, except to files that their modes close to him
apart() {
    run "$1" unshare --mount --user --map-root-user sh -c "$2 exec setpriv --bounding-set=-all --inh-caps=-all \"\$0\" doctor --faults=none" "$ndr"
}
if ! unshare --mount --user --map-root-user setpriv --bounding-set=-all true 2>/dev/null; then
    leave_out 'nodes, rights and full disks: this system has no user namespaces, or no setpriv'
    finish
fi
mkdir -p full closed
apart 1 "mount -t tmpfs -o size=64k tmpfs full; export TMPDIR=$PWD/full;"
says out 'its disk is full: 64 KiB are left'
says out 'fix: make room there, or set TMPDIR to another folder'
apart 1 "chmod 500 closed; export NDR_CACHE=$PWD/closed/store;"
says out 'this user cannot write to it (Permission denied)'
mkdir -p /tmp/pocl
apart 1 "mount -t tmpfs -o mode=500 tmpfs /tmp/pocl; unset HOME XDG_CACHE_HOME POCL_CACHE_DIR;"
says out 'FAULT  the folder of drivers'\'' files (HOME is not set), "/tmp/pocl/kcache": this user cannot write to it'
if "$ndr" devices | grep -q 'Portable Computing Language'; then
    says out 'this user cannot write to "/tmp/pocl/kcache" (HOME is not set)'
fi
apart 1 "mount -t tmpfs tmpfs /dev; : >/dev/null; mkdir /dev/dri; : >/dev/dri/renderD128; : >/dev/nvidia0; chmod 060 /dev/nvidia0; chmod 666 /dev/dri/renderD128;"
says out 'ok     this user may read and write /dev/dri/renderD128'
says out 'FAULT  this user may not read and write /dev/nvidia0 (group root, mode 0060)'
says out 'fix: sudo usermod -aG root root, and log in again'
gpu=/sys/bus/pci/devices/0000:01:00.0
on_bus() { echo "mount -t tmpfs tmpfs /dev; : >/dev/null; mount -t tmpfs tmpfs ${gpu%/*}; mkdir $gpu; echo $1 >$gpu/class; echo 0x10de >$gpu/vendor;"; }
if [ -d "${gpu%/*}" ]; then
    apart 0 "$(on_bus 0x030000)"
    says out 'note   this machine has a GPU of NVIDIA, but no node for it'
    apart 0 "$(on_bus 0x020000)" # a network adapter
    says out 'ok     there is no GPU'
else
    leave_out 'GPUs without nodes: there is no PCI bus'
fi
apart 1 "mount -t tmpfs tmpfs /dev; : >/dev/null; : >/dev/kfd; chmod 0 /dev/kfd;"
says out 'FAULT  this user may not read and write /dev/kfd'
says out 'fix: ask the administrator'
finish

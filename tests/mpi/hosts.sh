#!/bin/sh
# hosts.sh MPIEXEC PROGRAM - four ranks on two hosts: network namespaces of this machine with host names of their own,
# joined by a link with 1 ms latency and 0.5 % loss. For OpenMPI, as root.
set -eu
mpiexec=$1 program=$2
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "hosts.sh: skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may make network namespaces"
command -v ip >/dev/null || skip "ip is missing (Debian: iproute2)"
[ -c /dev/net/tun ] || skip "there is no /dev/net/tun"
"$mpiexec" --version | grep -q 'Open MPI\|OpenRTE' || skip "the MPI is not OpenMPI"
a=ndr-$$-a b=ndr-$$-b
ip netns add $a 2>/dev/null || skip "this system makes no network namespaces"
trap 'ip netns del $a; ip netns del $b' EXIT
ip netns add $b

mkfifo said words 2>/dev/null || true
python3 "$here/relay.py" $a $b 1 0.5 <words >said &
exec 4>words 3<said
read -r ready <&3
[ "$ready" = ready ] || { echo "hosts.sh: the relay says $ready"; exit 1; }
number=1
for host in $a $b; do
    ip -n $host addr add 10.77.0.$number/24 dev wire
    ip -n $host link set wire up
    ip -n $host link set lo up
    number=$((number + 1))
done
ip netns exec $a ping -c 1 -W 5 10.77.0.2 >/dev/null 2>&1 || true

# What OpenMPI starts on the second host: "agent 10.77.0.2 COMMAND".
cat >agent <<END
#!/bin/sh
shift
exec ip netns exec $b unshare --uts sh -c "hostname $b; \$*"
END
chmod +x agent
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_plm_rsh_agent="$PWD/agent" OMPI_MCA_btl_tcp_if_include=wire OMPI_MCA_oob_tcp_if_include=wire
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
passed=
for name in POCL_CACHE_DIR NDR_CACHE NDR_DEVICE; do
    if printenv $name >/dev/null; then passed="$passed -x $name"; fi
done
# shellcheck disable=SC2086 # a word for each variable
start() {
    ip netns exec $a unshare --uts sh -c "hostname $a; exec \"\$@\"" start \
        "$mpiexec" --host 10.77.0.1:2,10.77.0.2:2 -n 4 --map-by node $passed "$@"
}

start "$program" | tee together
grep -q "^4 ranks, 2 of them on one host" together || { echo "hosts.sh: the ranks are not on two hosts"; exit 1; }
# A rank on the second host kills itself.
began=$(date +%s)
if start "$program" killed >killed 2>&1; then cat killed; echo "hosts.sh: it succeeded"; exit 1; fi
cat killed
grep -q "signal 9" killed || { echo "hosts.sh: no sentence about the rank that was killed"; exit 1; }
echo "hosts.sh: started and ended after $(($(date +%s) - began)) s"
exec 4>&-
cat <&3

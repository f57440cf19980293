#!/bin/sh
# run.sh - start a program of several ranks on this machine; the MPI is that of MPIEXEC.
#
#     run.sh MPIEXEC RANKS PROGRAM [ARGUMENT...]                 the program succeeds
#     run.sh --ends SENTENCE MPIEXEC RANKS PROGRAM [ARGUMENT...] all ranks end within 10 s, with a text that contains it
set -eu
sentence=
if [ "$1" = --ends ]; then sentence=$2; shift 2; fi
mpiexec=$1 ranks=$2
shift 2
# OpenMPI refuses root and more ranks than cores unless it is told; containers may forbid its way to copy.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none
if [ -z "$sentence" ]; then exec "$mpiexec" -n "$ranks" "$@"; fi

"$mpiexec" -n "$ranks" "$@" >said 2>&1 &
launcher=$!
# The clock starts when the ranks are under way or one has ended.
waited=0
while kill -0 $launcher 2>/dev/null && ! grep -q "under way" said && [ $waited -lt 600 ]; do
    sleep 0.2
    waited=$((waited + 1))
done
began=$(date +%s)
while kill -0 $launcher 2>/dev/null && [ $(($(date +%s) - began)) -le 30 ]; do sleep 0.2; done
took=$(($(date +%s) - began))
if kill -0 $launcher 2>/dev/null; then kill $launcher; cat said; echo "run.sh: the ranks have not ended"; exit 1; fi
status=0
wait $launcher || status=$?
cat said
[ $status -ne 0 ] || { echo "run.sh: the program succeeded"; exit 1; }
grep -q "$sentence" said || { echo "run.sh: no sentence with: $sentence"; exit 1; }
[ $took -le 10 ] || { echo "run.sh: the ranks took $took s to end"; exit 1; }
echo "run.sh: ended after $took s"

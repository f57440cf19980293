#!/bin/sh
# mpich.sh SOURCES MPICC MPIEXEC LIBRARY - ndr_mpi and its test program compiled by MPICH's compiler, and run.
set -eu
root=$1 mpicc=$2 mpiexec=$3 library=$(dirname "$4")
"$mpicc" -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -Wall -Wextra -Werror -I"$root/include" -I"$root/mpi/include" \
    "$root"/mpi/src/*.c "$root/tests/mpi/ranks.c" -o ranks -L"$library" -lndr -Wl,-rpath,"$library"
for ranks in 1 4; do "$root/tests/mpi/run.sh" "$mpiexec" $ranks ./ranks; done
"$root/tests/mpi/run.sh" "$mpiexec" 2 ./ranks returns
"$root/tests/mpi/run.sh" --ends "signal 9" "$mpiexec" 4 ./ranks killed
"$root/tests/mpi/run.sh" --ends "ndr_mpi: rank 1 of 4 on .*: a buffer of .* bytes exceeds" "$mpiexec" 4 ./ranks memory

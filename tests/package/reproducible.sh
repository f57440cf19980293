#!/bin/sh
# reproducible.sh - library and command have the same bytes whichever folder they are built in, with debug information, too.
#
#     reproducible.sh <root of the sources> <cmake> <C compiler> <generator>
set -eu
root=$1 cmake=$2 compiler=$3 generator=$4
rm -rf one another_folder
for folder in one another_folder; do
    mkdir -p $folder/sources
    for part in CMakeLists.txt cmake include kernels src tools docs README.md CHANGELOG.md CONTRIBUTING.md LICENSE; do
        cp -R "$root/$part" $folder/sources
    done
    # -O0: the fastest, and the paths are the same
    "$cmake" -G "$generator" -S $folder/sources -B $folder/sources/built_in_$folder -D CMAKE_C_COMPILER="$compiler" \
        -D CMAKE_BUILD_TYPE=RelWithDebInfo -D CMAKE_C_FLAGS_RELWITHDEBINFO='-O0 -g' \
        -D NDR_BUILD_TESTS=OFF -D NDR_BUILD_EXAMPLES=OFF -D NDR_BUILD_MPI=OFF >$folder/log 2>&1 || { cat $folder/log; exit 1; }
    "$cmake" --build $folder/sources/built_in_$folder >>$folder/log || { cat $folder/log; exit 1; }
done
for library in libndr.so libndr.a tools/ndr/ndr; do
    cmp one/sources/built_in_one/$library another_folder/sources/built_in_another_folder/$library
    ! grep -aqF "$PWD/one" one/sources/built_in_one/$library || {
        echo "reproducible.sh: $library names the folder in which it was built"
        exit 1
    }
    sha256sum one/sources/built_in_one/$library another_folder/sources/built_in_another_folder/$library
done

#!/bin/sh
# readme_cmake.sh - README's line that builds libndr without the presets configures it where only what setup/examples
# installs is installed: neither make nor CMocka.
#
#     readme_cmake.sh <root of the sources>
#
# It runs in a copy of the sources, because the line names a folder in them. The build itself is not repeated.
set -eu
root=$1
line=$(tr '\n' ' ' <"$root/README.md" | grep -o '`cmake [^`]*-B build/release && [^`]*`' | tr -d '`')
[ -n "$line" ] || { echo "readme_cmake.sh: README.md has no line with -B build/release"; exit 1; }

rm -rf copy no_make
mkdir copy no_make
for name in make gmake smake; do
    printf '#!/bin/sh\nexit 127\n' >no_make/$name
    chmod +x no_make/$name
done
for part in CMakeLists.txt bench cmake docs examples include kernels mpi src tests tools README.md CHANGELOG.md LICENSE; do
    cp -R "$root/$part" copy
done
cd copy
echo "+ ${line% && *}"
PATH=$PWD/../no_make:$PATH PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$PWD/../no_packages sh -euc "${line% && *}"

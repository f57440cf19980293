#!/bin/sh
# build_python.sh SOURCES FOLDER - build the Python package into FOLDER, from the archive of its sources that setuptools
# makes of a copy, since it writes beside them.
set -eu
rm -rf sources dist "$2"
cp -r "$1" sources
(cd sources && "$NDR_PYTHON" setup.py -q sdist --dist-dir ../dist)
rm -rf sources
mkdir sources
tar -xzf dist/*.tar.gz --strip-components=1 -C sources
cd sources
"$NDR_PYTHON" setup.py -q build --build-base ../base --build-lib "$2"

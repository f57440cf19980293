#!/bin/sh
# build_python.sh SOURCES FOLDER - build the Python package of a copy of its sources into FOLDER, since setuptools writes
# beside the sources.
set -eu
rm -rf sources "$2"
cp -r "$1" sources
cd sources
"$NDR_PYTHON" setup.py -q build --build-base ../base --build-lib "$2"

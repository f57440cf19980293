#!/bin/sh
# build_python.sh SOURCES FOLDER - build the Python package into FOLDER, and leave nothing in its sources.
set -eu
find "$1" -type f | sort >before
rm -rf "$2"
cd "$1"
"$NDR_PYTHON" setup.py -q build --build-base "$OLDPWD/base" --build-lib "$2"
cd "$OLDPWD"
find "$1" -type f | sort | diff before - || { echo "build_python.sh: the build changed $1"; exit 1; }

"""Build and install the Python package of libndr: `python3 setup.py build`, or pip. See docs/python.md."""

from setuptools import setup

setup(packages=["ndr"], cffi_modules=["ndr_build.py:builder"])

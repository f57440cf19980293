"""Make the module ndr._ndr by cffi: its declarations are those of libndr's headers, read here.

The headers that are used: the folder NDR_INCLUDE if that is set, else include/ of this source tree if it is one, else
those of pkg-config. The library: the folder NDR_LIBDIR if that is set, else that of pkg-config.

Run as a program, it prints the declarations.
"""

import os
import re
import subprocess

from cffi import FFI

HEADERS = ("ndr.h", "ndr_image.h", "ndr_shared.h", "ndr_ops.h", "ndr_group.h")

# What libndr calls: functions of ndr/_callbacks.py.
CALLBACKS = """
extern "Python" void ndr_python_ended(ndr_status, const char *, void *);
extern "Python" ndr_status ndr_python_task(void *);
extern "Python" void ndr_python_table(const char *, void *);
extern "Python" void ndr_python_warmed(const ndr_warm_progress *, void *);
"""


def declarations(text):
    """The types, constants and functions of a header, as cffi reads them."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    text = text.replace("\\\n", "")
    constants = re.findall(r"^#define (NDR_[A-Z_]+) +(?:[0-9]+|UINT64_MAX|UINT64_C\(.*\)) *$", text, flags=re.M)
    text = re.sub(r"^ *#.*\n", "", text, flags=re.M)
    text = re.sub(r"^static inline [^{]*\{.*?^\}\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^NDR_[A-Z_]+ [^;]*_sized\([^;]*;\n", "", text, flags=re.M)
    text = re.sub(r"\b(NDR_API|NDR_MUST_CHECK|NDR_SIZED) ", "", text)
    text = text.replace("NDR_MAY_GROW", "...;")
    return text + "".join(f"#define {name} ...\n" for name in constants)


def cdef(include):
    """The declarations of all headers."""
    parts = []
    for name in HEADERS:
        with open(os.path.join(include, "ndr", name), encoding="utf-8") as file:
            parts.append(declarations(file.read()))
    return "".join(parts) + CALLBACKS


def pkg_config(variable):
    """A variable of libndr's pkg-config file."""
    return subprocess.run(["pkg-config", f"--variable={variable}", "ndr"], check=True, capture_output=True,
                          text=True).stdout.strip()


def include_dir():
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
    if "NDR_INCLUDE" in os.environ:
        return os.environ["NDR_INCLUDE"]
    return os.path.normpath(own) if os.path.exists(os.path.join(own, "ndr", "ndr.h")) else pkg_config("includedir")


def builder():
    """The FFI of the module. Outside of the linker's own folders the module remembers where the library is."""
    include, libdir = include_dir(), os.environ.get("NDR_LIBDIR") or pkg_config("libdir")
    usual = libdir.startswith(("/usr/lib", "/lib"))
    ffi = FFI()
    ffi.cdef(cdef(include))
    ffi.set_source("ndr._ndr", "".join(f"#include <ndr/{name}>\n" for name in HEADERS), libraries=["ndr"],
                   include_dirs=[include], library_dirs=[libdir], runtime_library_dirs=[] if usual else [libdir])
    return ffi


if __name__ == "__main__":
    print(cdef(include_dir()))

"""Ranges and arguments of launches."""

import struct
import sys

from ndr._base import (DTYPES, Error, Status, choose, dtype_name, dtype_of_format, dtype_size, encode, ffi, host_memory,
                       lib, refuse, to_range)

# ---- ranges ----------------------------------------------------------------------------------------


class NdRange:
    """Work-items in groups.

    size    all work-items: a number, or up to three, the last dimension contiguous
    local   the work-items of one group; 0 in every dimension lets libndr choose. None: no groups
    groups  instead of `size`: the number of groups
    offset  added to global ids
    edge    what happens to a size that is not a multiple of local: "reject", "round_up" or "split"
    """

    def __init__(self, size=None, local=None, *, groups=None, offset=None, edge="reject"):
        if (size is None) == (groups is None):
            refuse("an NdRange has a size or a number of groups; give one of the two", Status.BAD_RANGE)
        self.c = ffi.new("ndr_nd_range *")
        setattr(self.c, "global", to_range(size) if groups is None else {"dims": 0})
        if groups is not None:
            self.c.groups = to_range(groups)
        dims = max(getattr(self.c, "global").dims, self.c.groups.dims)
        if local == 0:
            local = (0,) * dims
        if local is not None:
            self.c.local = to_range(local)
        if offset is not None:
            for i, each in enumerate(to_range(offset)["size"]):
                self.c.offset[i] = each
        self.c.edge = choose("ndr_edge", edge, "NdRange: edge")


def nd_range(value):
    """A range of a launch as libndr takes it."""
    return value.c if isinstance(value, NdRange) else NdRange(value).c


# ---- arguments -------------------------------------------------------------------------------------
# Each class has as_argument(arg, keep): it fills in an ndr_arg, and `keep` gets what must live during the call.


def _set_value(arg, kind, data, size, dtype=0, name=ffi.NULL):
    arg.kind = kind
    arg.dtype = dtype
    arg.size_bytes = size
    value = getattr(arg, "as").value
    value.bytes = data
    value.type_name = name


class Local:
    """Local memory of 1 to 3 extents, of numbers, or of structs of `size_bytes` bytes that the kernel calls `name`."""

    def __init__(self, dtype, *extents, size_bytes=None, name=None):
        if not 1 <= len(extents) <= 3:
            refuse(f"local memory has 1 to 3 extents, but {len(extents)} are given", Status.BAD_KERNEL_ARGUMENT)
        self._dtype = None if dtype is None else dtype_name(dtype)
        self._size = dtype_size(self._dtype) if self._dtype else size_bytes
        if not self._size:
            refuse("local memory of structs needs size_bytes", Status.BAD_KERNEL_ARGUMENT)
        self._name = name
        self._extents = to_range(extents)["size"] + [1] * (3 - len(extents))

    def as_argument(self, arg, keep):
        arg.kind = lib.NDR_ARG_LOCAL
        arg.dtype = DTYPES[self._dtype] if self._dtype else 0
        arg.size_bytes = self._size
        getattr(arg, "as").extent = self._extents
        if self._name:
            keep.append(ffi.new("char[]", encode(self._name)))
            arg.element_name = keep[-1]


class Struct:
    """A struct by value: the bytes of a NumPy structured scalar, a ctypes.Structure or bytes. If `name` is given, it is
    compared with the kernel's type."""

    def __init__(self, value, name=None):
        self._data, self._size = host_memory(value, False, "a struct")
        self._name = name

    def as_argument(self, arg, keep):
        keep.append(ffi.new("char[]", encode(self._name)) if self._name else ffi.NULL)
        _set_value(arg, lib.NDR_ARG_STRUCT, self._data, self._size, name=keep[-1])


class Vector:
    """A vector by value, of 2, 3, 4, 8 or 16 numbers of one element type."""

    def __init__(self, dtype, *values):
        self._dtype = dtype_name(dtype)
        self._elements = ffi.new("char[]", b"".join(_pack(self._dtype, value) for value in values))
        self._size = len(values) * dtype_size(self._dtype)

    def as_argument(self, arg, keep):
        _set_value(arg, lib.NDR_ARG_VECTOR, self._elements, self._size, DTYPES[self._dtype])


class Reducer:
    """Where the result of a reducer goes: element `element` of `buffer`, which begins with `initial` combined.

    op     "sum", "min", "max", "product", "bit_and", "bit_or" or "bit_xor"
    dtype  the reducer's type; None: that of the buffer
    """

    def __init__(self, op, initial, buffer, element=0, dtype=None):
        self._op = choose("ndr_op", op, "Reducer: op")
        self._dtype = dtype_name(buffer.dtype if dtype is None else dtype)
        self._initial = _pack(self._dtype, initial).ljust(8, b"\0")
        self._buffer, self._element = buffer, element

    def as_argument(self, arg, keep):
        arg.kind = lib.NDR_ARG_REDUCER
        arg.dtype = DTYPES[self._dtype]
        reducer = getattr(arg, "as").reducer
        reducer.buffer = self._buffer.pointer
        reducer.element = self._element
        reducer.initial = int.from_bytes(_widen(self._dtype, self._initial), sys.byteorder)
        reducer.op = self._op


class At:
    """The address `offset_bytes` bytes into a shared allocation."""

    def __init__(self, shared, offset_bytes):
        self._shared, self._offset = shared, offset_bytes

    def as_argument(self, arg, keep):
        self._shared.as_argument(arg, keep)
        at = ffi.cast("uintptr_t", lib.ndr_shared_pointer(self._shared.pointer))
        getattr(arg, "as").shared.pointer = ffi.cast("void *", int(at) + self._offset)


class Reaches:
    """Declares, after the last argument, that the kernel uses a shared allocation, or a buffer that has an address,
    without an argument."""

    def __init__(self, memory):
        self._memory = memory

    def as_argument(self, arg, keep):
        self._memory.as_argument(arg, keep)
        is_buffer = arg.kind == lib.NDR_ARG_BUFFER
        arg.kind = lib.NDR_ARG_REACHED_BUFFER if is_buffer else lib.NDR_ARG_REACHED


def _pack(dtype, value):
    """The bytes of a number of an element type."""
    try:
        array = ffi.new({"f32": "float *", "f64": "double *"}.get(dtype, f"{_c_name(dtype)} *"), value)
    except (TypeError, OverflowError) as why:
        raise Error(Status.BAD_KERNEL_ARGUMENT, f"{value!r} is not a number that {dtype} holds: {why}") from None
    return bytes(ffi.buffer(array))


def _c_name(dtype):
    if dtype == "f16":
        refuse("a value of f16 is passed as f32, which the launch rounds; use f32")
    return ("int" if dtype[0] == "i" else "uint") + dtype[1:] + "_t"


def _widen(dtype, data):
    """The bytes of a number as as.i, as.u, as.f or as.d has them."""
    if dtype[0] == "f":
        return data
    number = int.from_bytes(data[:dtype_size(dtype)], sys.byteorder, signed=dtype[0] == "i")
    return number.to_bytes(8, sys.byteorder, signed=dtype[0] == "i")


def _set_integer(arg, value, dtype=None):
    if not -(1 << 63) <= value < 1 << 64:
        refuse(f"no integer parameter can hold {value}", Status.BAD_KERNEL_ARGUMENT)
    is_signed = value < 1 << 63
    arg.kind = lib.NDR_ARG_SIGNED if is_signed else lib.NDR_ARG_UNSIGNED
    arg.dtype = DTYPES[dtype] if dtype else lib.NDR_DTYPE_I64 if is_signed else lib.NDR_DTYPE_U64
    setattr(getattr(arg, "as"), "i" if is_signed else "u", value)


def _set_scalar(arg, view, keep):
    """A NumPy or ctypes scalar, which has a type of its own; any other is a struct."""
    dtype = dtype_of_format(view)
    if dtype is None:
        Struct(view).as_argument(arg, keep)
    elif dtype[0] != "f":
        _set_integer(arg, int.from_bytes(view.tobytes(), sys.byteorder, signed=dtype[0] == "i"), dtype)
    elif dtype == "f64":
        arg.kind, arg.dtype = lib.NDR_ARG_DOUBLE, lib.NDR_DTYPE_F64
        getattr(arg, "as").d = struct.unpack("d", view.tobytes())[0]
    else:
        arg.kind, arg.dtype = lib.NDR_ARG_FLOAT, lib.NDR_DTYPE_F32
        getattr(arg, "as").f = struct.unpack("f" if dtype == "f32" else "e", view.tobytes())[0]


def set_argument(arg, value, keep, what, use_array=None):
    """Fill in an ndr_arg. use_array(view) makes a buffer of an array, for calls that take arrays."""
    if hasattr(value, "as_argument"):
        value.as_argument(arg, keep)
    elif value is None:
        arg.kind = lib.NDR_ARG_NULL
    elif type(value) is float:
        arg.kind, arg.dtype = lib.NDR_ARG_REAL, lib.NDR_DTYPE_F64
        getattr(arg, "as").d = value
    elif isinstance(value, int):
        _set_integer(arg, int(value))
    else:
        _set_buffered(arg, value, keep, what, use_array)
    keep.append(value)


def _set_buffered(arg, value, keep, what, use_array):
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{what}: {type(value).__name__} is not an argument; pass a Buffer, Image, Sampler or Shared, "
                        "a number, an array, None, or a Local, Vector, Struct or Reducer") from None
    if view.ndim == 0:
        _set_scalar(arg, view, keep)
    elif use_array is None:
        refuse(f"{what} is an array, which only a launch takes; pass a Buffer", Status.BAD_KERNEL_ARGUMENT)
    else:
        use_array(value).as_argument(arg, keep)


def arguments(values, keep, use_array=None):
    """The ndr_arg of all values. The array must live until the call has returned, and so must `keep`."""
    args = ffi.new("ndr_arg[]", max(1, len(values)))
    for i, value in enumerate(values):
        set_argument(args[i], value, keep, f"argument {i}", use_array)
    return args

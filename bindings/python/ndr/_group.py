"""Several devices, or parts of one, that work on arrays of the host: the calls of ndr_group.h."""

from ndr._base import Handle, check, choose, dtype_of_format, dtype_size, encode, ffi, host_memory, lib, new_struct, refuse, view_of
from ndr._operations import named_scalar


def _elements(array, writable, what):
    """The memory of an array, its dtype and its shape."""
    view = view_of(array, writable, what)
    dtype = dtype_of_format(view)
    if dtype is None:
        refuse(f"{what} has elements of format {view.format!r}, which are no numbers of libndr's")
    return host_memory(array, writable, what)[0], dtype, view.shape


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


class Group(Handle):
    """A group of the devices that a text names, or of parts of one. Arrays are the host's, such as NumPy's."""

    _noun = "group"

    def __init__(self, device=None, part_count=0):
        keep, made = [], ffi.new("ndr_group **")
        desc = new_struct("ndr_group_desc", {"device": device, "part_count": part_count}, keep)
        check(lib.ndr_group_create(desc, made))
        super().__init__(made[0], lib.ndr_group_destroy)

    def __len__(self):
        return lib.ndr_group_size(self.pointer)

    def matmul(self, a, b, c, accuracy="full"):
        """c = a * b, of matrices of two dimensions."""
        (pa, dtype, (m, k)), (pb, b_dtype, (rows, n)), (pc, c_dtype, shape) = (
            _elements(a, False, "a"), _elements(b, False, "b"), _elements(c, True, "c"))
        if rows != k or tuple(shape) != (m, n) or {b_dtype, c_dtype} != {dtype}:
            refuse(f"matmul: a is {m} x {k} of {dtype}, so b must be {k} x {n} and c {m} x {n} of {dtype}")
        desc = new_struct("ndr_group_matmul_desc", {"dtype": dtype, "accuracy": accuracy, "m": m, "n": n, "k": k}, [])
        desc.a, desc.b, desc.c = pa, pb, pc
        check(lib.ndr_group_matmul(self.pointer, desc))

    def reduce(self, x, op="sum", numerics="fast"):
        """All elements combined, a number."""
        px, dtype, shape = _elements(x, False, "the array")
        result = ffi.new("char[]", dtype_size(dtype))
        desc = new_struct("ndr_group_reduce_desc", {"dtype": dtype, "op": op, "numerics": numerics,
                                                    "count": _count(shape)}, [])
        desc.input, desc.output = px, result
        check(lib.ndr_group_reduce(self.pointer, desc))
        return memoryview(ffi.buffer(result)).cast(view_of(x, False, "the array").format.lstrip("@="))[0]

    def scan(self, x, to, op="sum", is_exclusive=False):
        """The elements of x, each combined with all before it, into `to`, which may be x."""
        (px, dtype, shape), (pto, to_dtype, to_shape) = _elements(x, False, "x"), _elements(to, True, "to")
        if to_dtype != dtype or _count(to_shape) != _count(shape):
            refuse(f"scan: x has {_count(shape)} elements of {dtype}, but `to` has {_count(to_shape)} of {to_dtype}")
        desc = new_struct("ndr_group_scan_desc", {"dtype": dtype, "op": op, "is_exclusive": is_exclusive,
                                                  "count": _count(shape)}, [])
        desc.input, desc.output = px, pto
        check(lib.ndr_group_scan(self.pointer, desc))

    def map(self, statement, inputs=None, outputs=None, scalars=None, declarations=None):
        """Run a statement for each index: map("y = a * x + y", scalars={"a": 2.0}, inputs={"x": x, "y": y},
        outputs={"y": y})."""
        inputs, outputs, scalars, keep, counts = inputs or {}, outputs or {}, scalars or {}, [], {}
        names = list(dict.fromkeys([*inputs, *outputs]))
        arrays = ffi.new("ndr_group_array[]", len(names))
        for i, name in enumerate(names):
            array = arrays[i]
            keep.append(ffi.new("char[]", encode(name)))
            array.name = keep[-1]
            for table, member in ((inputs, "input"), (outputs, "output")):
                if name in table:
                    memory, dtype, shape = _elements(table[name], member == "output", name)
                    keep.append(memory)
                    array.dtype = choose("ndr_dtype", dtype, name)
                    setattr(array, member, memory)
                    counts[name] = _count(shape)
        if len(set(counts.values())) > 1:
            refuse(f"map: arrays have one length, but these have {counts}")
        given = ffi.new("ndr_map_scalar[]", [named_scalar(name, value, keep)[0] for name, value in scalars.items()])
        desc = new_struct("ndr_group_map_desc", {"statement": statement, "declarations": declarations,
                                                 "scalar_count": len(scalars), "array_count": len(names),
                                                 "count": next(iter(counts.values()), 0)}, keep)
        desc.arrays, desc.scalars = arrays, given
        check(lib.ndr_group_map(self.pointer, desc))

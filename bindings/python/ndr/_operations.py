"""Operations on arrays in buffers: the calls of ndr_ops.h, whose descriptors' members are keyword arguments."""

from ndr._args import set_argument
from ndr._base import dtype_name, dtype_size, ffi, lib, new_struct, refuse, to_range
from ndr._memory import Buffer


class Array:
    """Elements of a buffer in 1 to 3 dimensions: element (i0, i1, i2) is element offset + i0 * strides[0] + i1 * strides[1]
    + i2 * strides[2] of the buffer. Without strides they follow each other; without a shape it is the buffer's."""

    def __init__(self, buffer, shape=None, strides=None, offset=0, dtype=None):
        shape = buffer.shape if shape is None else shape
        if shape is None:
            refuse("an Array needs a shape, which this buffer does not have; give one")
        sizes = to_range(shape)["size"]
        if strides is None:
            strides = [1]
            for size in sizes[:0:-1]:
                strides.insert(0, strides[0] * size)
        if len(strides) != len(sizes):
            refuse(f"an Array of {len(sizes)} dimensions has {len(strides)} strides; give one for each dimension")
        self.dtype = dtype_name(buffer.dtype if dtype is None else dtype)
        self.values = {"buffer": buffer.pointer, "dtype": self.dtype, "offset": offset, "shape": tuple(sizes),
                       "stride": list(strides) + [0] * (3 - len(sizes))}


def _array(value):
    return (value if isinstance(value, Array) else Array(value)).values


def _span(value):
    buffer, offset = value if isinstance(value, tuple) else (value, 0)
    return {"buffer": buffer.pointer, "offset": offset}


def _results(value):
    """An output of map_reduce(): packed, unless it is an Array."""
    if isinstance(value, Array):
        return value.values
    buffer = value[0] if isinstance(value, tuple) else value
    typed = {} if buffer.dtype is None else {"dtype": dtype_name(buffer.dtype)}
    return {**_span(value), **typed}


def _named_array(name, value, keep):
    return new_struct("ndr_map_array", {"name": name, "array": _array(value)}, keep)


def named_scalar(name, value, keep):
    scalar = new_struct("ndr_map_scalar", {"name": name}, keep)
    set_argument(scalar.value, value, keep, f"scalar {name!r}")
    if type(value) is float:
        scalar.value.kind, scalar.value.dtype = lib.NDR_ARG_FLOAT, lib.NDR_DTYPE_F32
        getattr(scalar.value, "as").f = value
    return scalar


def _named_value(name, value, keep):
    members = {"name": name, **value}
    if members.get("output") is not None:
        members["output"] = _results(members["output"])
    return new_struct("ndr_map_reduce_value", members, keep)


_LISTS = {ffi.typeof("ndr_map_array"): _named_array, ffi.typeof("ndr_map_scalar"): named_scalar,
          ffi.typeof("ndr_map_reduce_value"): _named_value}
_SPAN, _ARRAY = ffi.typeof("ndr_span"), ffi.typeof("ndr_array")


def _members(type_name, given, keep):
    """The members of a descriptor: buffers become spans and arrays, dicts lists of named structs with their count."""
    fields, members = dict(ffi.typeof(type_name).fields), {}
    for name, value in given.items():
        members[name] = value
        if value is None or name not in fields:
            continue
        ctype = fields[name].type
        if ctype == _SPAN:
            members[name] = _span(value)
        elif ctype == _ARRAY:
            members[name] = (_results if "axes" in fields else _array)(value)
        elif ctype.kind == "pointer" and isinstance(value, dict) and ctype.item in _LISTS:
            make = _LISTS[ctype.item]
            made = [make(key, each, keep)[0] for key, each in value.items()]
            members[name] = ffi.new(ffi.typeof(f"{ctype.item.cname}[]"), made)
            members[name[:-1] + "_count"] = len(value)
    return members


def _whole(given, name, element_bytes):
    """How many elements of that size a buffer has from its offset on."""
    buffer, offset = given if isinstance(given, tuple) else (given, 0)
    if not isinstance(buffer, Buffer):
        raise TypeError(f"{name} is a Buffer, or a tuple of one and an offset, but {type(buffer).__name__} is given")
    return max(0, buffer.size // element_bytes - offset)


def _defaults(members, lead):
    """The dtype and the count of the elements of `lead`, if they are not given."""
    if lead is None or members.get(lead) is None:
        return
    buffer = members[lead][0] if isinstance(members[lead], tuple) else members[lead]
    if members.get("dtype") is None and getattr(buffer, "dtype", None) is not None:
        members["dtype"] = dtype_name(buffer.dtype)
    if members.get("count") is None and members.get("dtype") is not None:
        members["count"] = _whole(members[lead], lead, dtype_size(members["dtype"]))


def _operation(call, type_name, lead, text):
    def run(self, *, after=None, **members):
        keep = []
        _defaults(members, lead)
        desc = new_struct(type_name, _members(type_name, members, keep), keep)
        return self._command(after, call, desc)

    run.__doc__ = text
    return run


class Operations:
    """The operations of a queue. Each takes the members of its descriptor, by their names in ndr_ops.h, and after=, and
    returns its Event. A span is a Buffer, or a tuple of a Buffer and an offset in elements; an array is an Array, or a
    Buffer that has a shape. A float of Python is a float as a scalar, a numpy.float64 a double. `dtype` and `count` are by
    default those of the first buffer."""

    scan = _operation(lib.ndr_scan, "ndr_scan_desc", "input", "Prefix sums and the like, from input to output.")
    array_scan = _operation(lib.ndr_array_scan, "ndr_array_scan_desc", None,
                            "Prefix sums and the like along `axis`, from the array input to output.")
    select = _operation(lib.ndr_select, "ndr_select_desc", "input",
                        "Copy the elements whose flags are not 0 to output, and their number to selected.")
    sort = _operation(lib.ndr_sort, "ndr_sort_desc", "keys", "Sort keys, and values along with them.")
    top_k = _operation(lib.ndr_top_k, "ndr_top_k_desc", "keys",
                       "Find the k smallest or largest keys, with their values or indexes.")
    merge_sort = _operation(lib.ndr_merge_sort, "ndr_merge_sort_desc", "input",
                            "Sort by `less`, a comparison of two elements a and b in OpenCL C.")
    histogram = _operation(lib.ndr_histogram, "ndr_histogram_desc", "input", "Count the elements in each bin.")
    random = _operation(lib.ndr_random, "ndr_random_desc", "output", "Fill output with random numbers.")
    array_copy = _operation(lib.ndr_array_copy, "ndr_array_copy_desc", None,
                            "Copy the array input to output, of the same shape and with other strides.")
    map_elements = _operation(lib.ndr_map, "ndr_map_desc", None,
                              "Run a statement for each index: queue.map_elements(statement=\"y = a * x + y\", "
                              "scalars={\"a\": 2.0}, inputs={\"x\": x, \"y\": y}, outputs={\"y\": y}).")
    map_reduce = _operation(lib.ndr_map_reduce, "ndr_map_reduce_desc", None,
                            "Combine the values of an expression: queue.map_reduce(dtype=\"f32\", op=\"sum\", "
                            "expression=\"x * y\", inputs={\"x\": x, \"y\": y}, output=result).")
    _merge = _operation(lib.ndr_merge, "ndr_merge_desc", None, "")
    _gather = _operation(lib.ndr_gather, "ndr_gather_desc", None, "")
    _scatter = _operation(lib.ndr_scatter, "ndr_scatter_desc", None, "")

    def merge(self, first, second, output, *, after=None, **members):
        """Merge two sorted arrays into one."""
        known = {"first": first, "second": second, "output": output, **members}
        buffer = first[0] if isinstance(first, tuple) else first
        known.setdefault("dtype", None if "element" in known else buffer.dtype)
        for name in ("first", "second"):
            size = known["element_bytes"] if "element" in known else dtype_size(dtype_name(known["dtype"]))
            known.setdefault(f"{name}_count", _whole(known[name], name, size))
        return self._merge(after=after, **known)

    def gather(self, input, indexes, output, *, after=None, **members):
        """output[i] = input[indexes[i]]; an index that is not one of the input gives 0."""
        return self._gather(after=after, **_indexed(input, indexes, output, "input", members))

    def scatter(self, input, indexes, output, *, after=None, **members):
        """output[indexes[i]] = input[i]; an index that is not one of the output writes nothing."""
        return self._scatter(after=after, **_indexed(input, indexes, output, "output", members))


def _indexed(input, indexes, output, table, members):
    """The members of a gathering or a scattering by indexes of `table`."""
    known = {"input": input, "indexes": indexes, "output": output, **members}
    source = input[0] if isinstance(input, tuple) else input
    listed = indexes[0] if isinstance(indexes, tuple) else indexes
    dtype, index_dtype = (dtype_name(known.get(name, each.dtype)) for name, each in
                          (("dtype", source), ("index_dtype", listed)))
    known.setdefault("count", _whole(indexes, "indexes", dtype_size(index_dtype)))
    known.setdefault(f"{table}_count", _whole(known[table], table, dtype_size(dtype)))
    return {**known, "dtype": dtype, "index_dtype": index_dtype}

"""What all parts share: errors, C structs from keywords, element types, the host's memory, handles."""

import atexit
import enum
import os
import sys
import threading
import types

from ndr._ndr import ffi, lib

# ---- errors ----------------------------------------------------------------------------------------


def _relements(type_name):
    return ffi.typeof(type_name).relements


Status = enum.IntEnum("Status", {name[len("NDR_"):]: value for name, value in _relements("ndr_status").items()})
Status.__doc__ = "Why a call failed: ndr_status of libndr's header."


class Error(Exception):
    """A call that failed. Its text is libndr's sentence.

    status     a Status
    cl_error   OpenCL's code, or 0
    build_log  the compiler's whole log, if a build failed
    """

    def __init__(self, status, sentence, cl_error=0, build_log=""):
        super().__init__(sentence)
        self.status = Status(status)
        self.cl_error = cl_error
        self.build_log = build_log


def text_of(chars):
    return ffi.string(chars).decode("utf-8", "replace")


def check(status):
    """Raise what the library said about a call on this thread."""
    if status:
        raise Error(status, text_of(lib.ndr_last_error()), lib.ndr_last_cl_error(), text_of(lib.ndr_last_build_log()))


def refuse(sentence, status=Status.BAD_ARGUMENT):
    raise Error(status, sentence)


# ---- enumerations, structs -------------------------------------------------------------------------


def names_of(enum_type):
    """The enumerators of a C type by their names without the prefix: {"read": 1, ...}."""
    all_names = ffi.typeof(enum_type).relements if isinstance(enum_type, str) else enum_type.relements
    prefix = os.path.commonprefix(list(all_names))
    prefix = prefix[:prefix.rindex("_") + 1]
    return {name[len(prefix):].lower(): value for name, value in sorted(all_names.items(), key=lambda each: each[1])}


def choose(enum_type, value, what):
    """The enumerator that `value`, a name or a number, means."""
    names = names_of(enum_type)
    if isinstance(value, str) and value.lower() in names:
        return names[value.lower()]
    if isinstance(value, int) and value in names.values():
        return int(value)
    return refuse(f"{what}: {value!r} is not valid; use one of {', '.join(names)}")


def encode(text):
    """`text` for a char *, which would end at a NUL."""
    encoded = os.fsencode(text)
    return refuse(f"{text!r} has a NUL character; remove it") if b"\0" in encoded else encoded


def to_c(ctype, value, keep, what):
    """`value` as a member of type `ctype` of a descriptor; `keep` gets what must live as long as the descriptor."""
    if ctype.kind == "enum":
        return choose(ctype, value, what)
    if ctype == ffi.typeof("ndr_range"):
        return to_range(value)
    if ctype.kind == "struct" and isinstance(value, dict):
        return new_struct(ctype.cname, value, keep)[0]
    if ctype.kind != "pointer":
        return value
    if ctype.item.cname == "char":
        keep.append(ffi.new("char[]", encode(value)))
    elif ctype.item.kind == "pointer":
        texts = [ffi.new("char[]", encode(each)) for each in value]
        keep.append(texts)
        keep.append(ffi.new("char *[]", texts + [ffi.NULL]))
    elif ctype.item.kind == "void":
        keep.append(host_memory(value, False)[0])
    elif isinstance(value, dict):
        keep.append(new_struct(ctype.item.cname, value, keep))
    else:
        keep.append(value)
        return getattr(value, "pointer", value)
    return keep[-1]


def new_struct(type_name, values, keep):
    """A pointer to a struct whose members are set by a dict; a member that is None or missing is zero."""
    struct = ffi.new(type_name + " *")
    fields = dict(ffi.typeof(type_name).fields)
    for name, value in values.items():
        if value is None:
            continue
        if name not in fields:
            refuse(f"{type_name} has no member {name!r}; it has {', '.join(fields)}")
        setattr(struct, name, to_c(fields[name].type, value, keep, f"{type_name}.{name}"))
        if fields[name].type.cname == "void *" and name + "_bytes" in fields:
            setattr(struct, name + "_bytes", memoryview(value).nbytes)
    return struct


def from_c(ctype, value):
    """A member of a struct as Python's value."""
    if ctype.kind == "enum":
        return {number: name for name, number in names_of(ctype).items()}.get(value, value)
    if ctype.kind == "array" and ctype.item.cname == "char":
        return text_of(value)
    if ctype.kind == "array":
        return tuple(value)
    if ctype.kind == "pointer" and ctype.item.cname == "char":
        return text_of(value) if value else None
    return value


def to_namespace(struct):
    """All members of a struct, by their names in C."""
    fields = ffi.typeof(struct).item.fields
    return types.SimpleNamespace(**{name: from_c(field.type, getattr(struct, name)) for name, field in fields})


def read_text(call):
    """The whole text of a function that takes a capacity, a text and a length."""
    length = ffi.new("size_t *")
    check(call(0, ffi.NULL, length))
    text = ffi.new("char[]", length[0] + 1)
    check(call(length[0] + 1, text, ffi.NULL))
    return text_of(text)


def to_range(value):
    """An ndr_range of a number or of 1 to 3 numbers."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(sizes) <= 3:
        refuse(f"a range has 1 to 3 dimensions, but {len(sizes)} are given", Status.BAD_RANGE)
    for size in sizes:
        if not hasattr(size, "__index__"):
            raise TypeError(f"a range has integers, but {type(size).__name__} is given")
        if not 0 <= size < 1 << (8 * ffi.sizeof("size_t")):
            refuse(f"a range cannot have the size {size}", Status.BAD_RANGE)
    return {"dims": len(sizes), "size": [int(size) for size in sizes]}


def element_count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


# ---- element types ---------------------------------------------------------------------------------

DTYPES = {name: value for name, value in names_of("ndr_dtype").items() if value}
_KINDS = {**dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN?c", "u"), **dict.fromkeys("efd", "f")}
FORMATS = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f32": "f",
            "f64": "d", "f16": "e", "bf16": "H"}


def dtype_of_format(view):
    """The element type of a memoryview, such as "f32"; None if it is not a number of this machine's byte order. Elements of
    bf16 are u16 there."""
    order, char = (view.format[0], view.format[1:]) if view.format[:1] in "@=<>!" else ("@", view.format)
    if char not in _KINDS or (order in "<>!" and view.itemsize > 1 and (order == "<") != (sys.byteorder == "little")):
        return None
    name = f"{_KINDS[char]}{8 * view.itemsize}"
    return name if name in DTYPES else None


def dtype_name(value):
    """"f32" for "f32", "float32" and numpy.float32, and so on."""
    if isinstance(value, str) and value in DTYPES:
        return value
    if isinstance(value, str) and value == "bfloat16":
        return "bf16"
    numpy = sys.modules.get("numpy")
    if numpy is not None and value is not None:
        try:
            dtype = numpy.dtype(value)
        except TypeError:
            dtype = None
        if dtype is not None and dtype.isnative and f"{dtype.kind}{8 * dtype.itemsize}" in DTYPES:
            return f"{dtype.kind}{8 * dtype.itemsize}"
    return refuse(f"{value!r} is not an element type; use one of {', '.join(DTYPES)}, or one of NumPy's")


def dtype_size(name):
    return lib.ndr_dtype_size(DTYPES[name])


def new_host_array(dtype, shape):
    """An array for the host: NumPy's if that can be imported, else a memoryview."""
    try:
        import numpy
    except ImportError:
        if not isinstance(dtype, str):
            refuse("without NumPy pass the memory to read into: read(buffer, memory)")
        data = memoryview(bytearray(element_count(shape) * dtype_size(dtype)))
        return data.cast(FORMATS[dtype], shape) if data.nbytes else data
    return numpy.empty(shape, FORMATS[dtype] if isinstance(dtype, str) else dtype)


# ---- the host's memory -----------------------------------------------------------------------------


def view_of(value, writable, what="the memory"):
    """A memoryview of an object that has the buffer protocol."""
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{what}: {type(value).__name__} has no memory that can be used; pass a NumPy array, bytes, "
                        "an array.array or another object with the buffer protocol") from None
    if not view.c_contiguous:
        refuse(f"{what} is not contiguous; pass numpy.ascontiguousarray(x), or copy it")
    if writable and view.readonly:
        refuse(f"{what} is read-only; pass memory that may be written")
    return view


def host_memory(value, writable, what="the memory"):
    """The address and the bytes of an object's memory. The address keeps the memory in place."""
    view = view_of(value, writable, what)
    return ffi.from_buffer("char[]", view, require_writable=writable), view.nbytes


def narrow_floats(dtype, floats):
    """Floats (f32) as elements of "f16" or "bf16", rounded to nearest even. A bf16 is a u16 on the host."""
    return _converted(lib.ndr_narrow_floats, dtype, floats, "f32", dtype_name(dtype))


def widen_floats(dtype, bits):
    """Elements of "f16" or "bf16" as floats (f32)."""
    return _converted(lib.ndr_widen_floats, dtype, bits, dtype_name(dtype), "f32")


def _converted(call, dtype, given, from_dtype, to_dtype):
    view = view_of(given, False)
    is_fitting = view.format in (FORMATS[from_dtype], FORMATS["u16"]) and view.itemsize == dtype_size(from_dtype)
    if not is_fitting:
        refuse(f"the array has elements of format {view.format!r}, but {from_dtype} are wanted; convert it before")
    made = new_host_array(to_dtype, view.shape)
    count = element_count(view.shape)
    if count:
        check(call(DTYPES[dtype_name(dtype)], count, ffi.cast("void *", ffi.from_buffer(view)),
                   ffi.cast("void *", ffi.from_buffer(made))))
    return made


class _Pending:
    """Host memory of transfers that may not have ended, with their events."""

    def __init__(self):
        self._lock = threading.Lock()
        self._kept = {}
        self._limit = 64

    def keep(self, event, memory):
        with self._lock:
            if len(self._kept) >= self._limit:
                self._kept = {key: each for key, each in self._kept.items() if not self._has_ended(each[0])}
                self._limit = max(64, 2 * len(self._kept))
            self._kept[id(event)] = (event, memory)

    def drop(self, event):
        with self._lock:
            self._kept.pop(id(event), None)

    def leak(self):
        """At the interpreter's end: memory that a transfer may still use is never freed."""
        with self._lock:
            left = [each for each in self._kept.values() if not self._has_ended(each[0])]
        if left and sys.implementation.name == "cpython":
            import ctypes
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(left))

    @staticmethod
    def _has_ended(event):
        state = ffi.new("ndr_event_state *")
        return lib.ndr_event_get_state(event, state) != 0 or state[0] in (lib.NDR_EVENT_COMPLETE, lib.NDR_EVENT_FAILED)


pending = _Pending()
atexit.register(pending.leak)

# ---- handles ---------------------------------------------------------------------------------------


def _in_a_thread(destroy):
    """A destructor that may have to wait for work, which a garbage collection must not do."""

    def start(pointer):
        try:
            threading.Thread(target=destroy, args=(pointer,), daemon=True).start()
        except RuntimeError:  # the interpreter ends, and the process with it
            pass

    return start


class Handle:
    """An object of libndr. destroy(), or the end of a `with` block, destroys it; so does the garbage collector, in any
    order."""

    _noun = "object"

    def __init__(self, pointer, destroy):
        self._destroy = destroy
        self._pointer = ffi.gc(pointer, destroy)
        self._users = 0  # views of its memory

    @property
    def pointer(self):
        """The C handle. The object stays its owner."""
        if not self._pointer:
            refuse(f"the {self._noun} has been destroyed")
        return self._pointer

    def wait_in_a_thread(self):
        """From now on the garbage collector destroys it on a thread, because that may wait for work."""
        pointer = self._pointer
        ffi.gc(pointer, None)
        self._pointer = ffi.gc(pointer, _in_a_thread(self._destroy))

    def destroy(self):
        """Destroy it now. Work that is enqueued still runs."""
        if self._users:
            refuse(f"the {self._noun} cannot be destroyed while the host uses its memory: end the mapping, or delete "
                   "the views")
        if self._pointer:
            pointer, self._pointer = self._pointer, ffi.NULL
            ffi.gc(pointer, None)
            self._destroy(pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

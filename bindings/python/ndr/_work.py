"""Devices, contexts, kernels, queues and events."""

import functools

from ndr import _callbacks
from ndr._args import At, Reaches, arguments, nd_range, set_argument
from ndr._base import (DTYPES, FORMATS, Error, Handle, Status, check, choose, dtype_name, dtype_of_format, dtype_size,
                       element_count, encode, ffi, host_memory, lib, names_of, new_host_array, new_struct, pending,
                       read_text, refuse, text_of, to_namespace, to_range, view_of)
from ndr._operations import Operations
from ndr._memory import Buffer, Image, Mapping, Sampler, Shared, array_description

_FOREVER = lib.NDR_FOREVER


def _timeout_ns(seconds):
    return _FOREVER if seconds is None else max(0, min(int(seconds * 1e9), _FOREVER))


def _made(type_name, call, *args):
    """The handle that call(*args, out) makes."""
    out = ffi.new(type_name + " **")
    check(call(*args, out))
    return out[0]


def _described(type_name, call, *args):
    """The struct that call(*args, out) fills in, as a namespace."""
    out = ffi.new(type_name + " *")
    check(call(*args, out))
    return to_namespace(out)


# ---- the process -----------------------------------------------------------------------------------


def version():
    """The version of the library that runs."""
    return text_of(lib.ndr_version())


def devices():
    """What is known of each device of every driver, with the members of ndr_device_info."""
    count = ffi.new("size_t *")
    check(lib.ndr_device_list(0, ffi.NULL, count))
    found = ffi.new("ndr_device_info[]", max(1, count[0]))
    check(lib.ndr_device_list(count[0], found, count))
    return [to_namespace(ffi.addressof(found, i)) for i in range(min(count[0], len(found)))]


def log(level):
    """Print what libndr does to stderr: "off", "error", "warn", "info" or "debug"; "default" is as NDR_LOG says."""
    check(lib.ndr_log_set(choose("ndr_log_level", level, "log"), ffi.NULL, ffi.NULL))


def trace(file=None, table=None):
    """Start a trace of the contexts that are created from now on: a timeline in a file, and a table for table(text), or
    for stderr if table is True."""
    keep = []
    desc = new_struct("ndr_trace_desc", {"file": file, "has_table": bool(table)}, keep)
    if callable(table):
        desc.user, _ = _callbacks.box(table)
        desc.callback = lib.ndr_python_table
    status = lib.ndr_trace_start(desc)
    if status and desc.user:
        error = text_of(lib.ndr_last_error())
        _callbacks.unbox(desc.user)
        raise Error(status, error)
    check(status)


class region:
    """`with ndr.region("step", bytes, flops):` a part of the thread's work, as a row of a trace's table."""

    def __init__(self, label, bytes=0, flops=0):
        self._values = label, bytes, flops

    def __enter__(self):
        label, size, flops = self._values
        lib.ndr_trace_begin(encode(label), size, flops)
        return self

    def __exit__(self, *_):
        lib.ndr_trace_end()


# ---- events ----------------------------------------------------------------------------------------


class Event(Handle):
    """One piece of enqueued work, or an event that the program ends."""

    _noun = "event"

    def __init__(self, pointer, keep=None, box=None):
        super().__init__(pointer, lib.ndr_event_destroy)
        self._box = box
        if keep:
            pending.keep(self._pointer, keep)

    def wait(self, seconds=None):
        """Wait until the work has ended, at most `seconds`; raises its failure, or Status.TIMEOUT."""
        pointer = self.pointer
        if seconds is None:
            status = lib.ndr_event_wait(pointer)
        else:
            status = lib.ndr_event_wait_within(pointer, _timeout_ns(seconds))
        try:
            check(status)
        except Error as error:
            if self._box is not None and self._box.raised is not None:
                raise error from self._box.raised
            raise
        pending.drop(pointer)

    @property
    def state(self):
        """"queued", "submitted", "running", "complete" or "failed"."""
        state = ffi.new("ndr_event_state *")
        check(lib.ndr_event_get_state(self.pointer, state))
        return {number: name for name, number in names_of("ndr_event_state").items()}[state[0]]

    @property
    def elapsed_ns(self):
        """How long the work ran on the device, on a queue made with is_profiling=True. Waits for it."""
        elapsed = ffi.new("uint64_t *")
        check(lib.ndr_event_elapsed_ns(self.pointer, elapsed))
        return elapsed[0]

    @property
    def times(self):
        """When the work was queued, submitted, started and ended. Waits for it."""
        return _described("ndr_event_times", lib.ndr_event_get_times, self.pointer)

    def complete(self):
        """End an event of Context.event()."""
        check(lib.ndr_event_complete(self.pointer))

    def fail(self, status, why):
        """End an event of Context.event() as failed, with a Status other than OK."""
        check(lib.ndr_event_fail(self.pointer, Status(status), encode(why)))

    def on_end(self, function):
        """Call function(error) on another thread when the work has ended; error is None or the Error."""
        handle, _ = _callbacks.box(function)
        status = lib.ndr_event_set_callback(self.pointer, lib.ndr_python_ended, handle)
        if status:
            sentence = text_of(lib.ndr_last_error())
            _callbacks.unbox(handle)
            raise Error(status, sentence)

    def destroy(self):
        """Destroy it now; the work continues, and so does what it uses."""
        pointer, self._pointer = self._pointer, ffi.NULL  # memory that is kept for the work keeps the C handle
        del pointer


def wait_all(events, seconds=None):
    """Wait until all have ended; raises the failure of the first that failed."""
    events = list(events)
    check(lib.ndr_event_wait_all([event.pointer for event in events], len(events), _timeout_ns(seconds)))


def wait_any(events, seconds=None):
    """Wait until one has ended, and return its index."""
    events = list(events)
    index = ffi.new("size_t *")
    check(lib.ndr_event_wait_any([event.pointer for event in events], len(events), _timeout_ns(seconds), index))
    return index[0]


# ---- contexts --------------------------------------------------------------------------------------


class Context(Handle):
    """One device, and the kernels built for it. `device` is a type, an index or part of a name; None: the default.
    check: "on" or "off", as NDR_CHECK."""

    _noun = "context"

    def __init__(self, device=None, check=None):
        keep = []
        device = None if device is None else str(device)
        if check is None:
            pointer = _made("ndr_context", lib.ndr_context_create, ffi.NULL if device is None else encode(device))
        else:
            desc = new_struct("ndr_context_desc", {"device": device, "check": check}, keep)
            pointer = _made("ndr_context", lib.ndr_context_create_with, desc)
        super().__init__(pointer, lib.ndr_context_destroy)

    @property
    def device(self):
        """What is known of its device, with the members of ndr_device_info."""
        return _described("ndr_device_info", lib.ndr_context_get_device, self.pointer)

    @property
    def cache(self):
        """What the store on disk did: folder, hits, misses."""
        return _described("ndr_cache_info", lib.ndr_context_get_cache, self.pointer)

    @property
    def check_report(self):
        """What NDR_CHECK could and could not check."""
        return read_text(functools.partial(lib.ndr_context_get_check_report, self.pointer))

    def queue(self, **options):
        """A queue of work, with the members of ndr_queue_desc: is_profiling, spin_ns, is_out_of_order."""
        desc = new_struct("ndr_queue_desc", options, [])
        return Queue(self, _made("ndr_queue", lib.ndr_queue_create, self.pointer, desc))

    def event(self):
        """An event that ends by complete() or fail()."""
        return Event(_made("ndr_event", lib.ndr_event_create, self.pointer))

    # ---- memory ----

    def buffer(self, contents, **options):
        """A buffer: of `contents` bytes if that is an integer, else a copy of an array. The options are the members of
        ndr_buffer_desc: kernels and host ("read", "write", ...), is_pinned, has_address."""
        if isinstance(contents, int) or (hasattr(contents, "__index__") and getattr(contents, "shape", None) == ()):
            return self._buffer({"size_bytes": int(contents), **options})
        data, size = host_memory(contents, False, "the contents")
        if not options:
            pointer = _made("ndr_buffer", lib.ndr_buffer_create_from, self.pointer, size, data)
            return Buffer(self, pointer, *array_description(contents))
        return self._buffer({"size_bytes": size, "contents": contents if size else None, **options},
                            *array_description(contents))

    def empty(self, shape, dtype="f32", **options):
        """A buffer of elements that are undefined until written."""
        shape, dtype = tuple(to_shape(shape)), dtype_name(dtype)
        size = element_count(shape) * dtype_size(dtype)
        if not options:
            return Buffer(self, _made("ndr_buffer", lib.ndr_buffer_create, self.pointer, size), dtype, shape)
        return self._buffer({"size_bytes": size, **options}, dtype, shape)

    def buffer_over(self, array):
        """A buffer over the memory of an array, which it keeps. Map it to use the array."""
        data, size = host_memory(array, True, "the array")
        pointer = _made("ndr_buffer", lib.ndr_buffer_create_over, self.pointer, size, data)
        made = Buffer(self, pointer, *array_description(array))
        made.over = data
        return made

    def _buffer(self, values, dtype=None, shape=None):
        keep = []
        desc = new_struct("ndr_buffer_desc", values, keep)
        pointer = _made("ndr_buffer", lib.ndr_buffer_create_with, self.pointer, desc)
        return Buffer(self, pointer, dtype, shape, bool(desc.has_address))

    def shared(self, shape, dtype="u8", kind="any"):
        """A shared allocation."""
        shape, dtype = tuple(to_shape(shape)), dtype_name(dtype)
        kind = choose("ndr_shared_kind", kind, "shared: kind")
        size = element_count(shape) * dtype_size(dtype)
        return Shared(self, _made("ndr_shared", lib.ndr_shared_create, self.pointer, kind, size), dtype, shape)

    def shared_info(self, kind="any"):
        """What a kind of shared memory can do on the device."""
        return _described("ndr_shared_info", lib.ndr_shared_get_info, self.pointer,
                          choose("ndr_shared_kind", kind, "shared_info: kind"))

    def image(self, size, channels="rgba", type="f32", contents=None, **options):
        """An image of (columns,), (rows, columns) or (planes, rows, columns). The options are the members of
        ndr_image_desc: is_array, buffer, kernels, host, is_read_write."""
        keep = []
        size = tuple(to_shape(size))
        desc = _image_desc(size, channels, type, options, keep)
        if contents is not None:
            data, given = host_memory(contents, False, "the contents")
            wanted = element_count(size) * lib.ndr_image_format_size(desc.format)
            if given != wanted:
                refuse(f"the image has {wanted} bytes, but contents of {given} are given", Status.OUT_OF_BOUNDS)
            desc.contents = data
        return Image(_made("ndr_image", lib.ndr_image_create, self.pointer, desc), channels, type, size)

    def image_formats(self, size=(1, 1), **options):
        """The formats that the device has for such images: pairs of channels and type."""
        keep = []
        desc = _image_desc(size, "rgba", "f32", options, keep)
        count = ffi.new("size_t *")
        check(lib.ndr_image_list_formats(self.pointer, desc, 0, ffi.NULL, count))
        found = ffi.new("ndr_image_format[]", max(1, count[0]))
        check(lib.ndr_image_list_formats(self.pointer, desc, count[0], found, count))
        return [tuple(to_namespace(ffi.addressof(found, i)).__dict__.values()) for i in range(count[0])]

    def sampler(self, **options):
        """How kernels read images: is_normalized, is_linear, addressing."""
        return Sampler(_made("ndr_sampler", lib.ndr_sampler_create, self.pointer,
                             new_struct("ndr_sampler_desc", options, [])))

    # ---- programs ----

    def kernel(self, name, source=None, **options):
        """The kernel `name` of OpenCL C in a string, or of file=, bundled=, spirv= or binary=. More options: options,
        include_dirs, label, sub_group_size, linked, as in ndr_kernel_desc."""
        keep = []
        desc = new_struct("ndr_kernel_desc", {"name": name, "source": source, **options}, keep)
        return Kernel(self, _made("ndr_kernel", lib.ndr_kernel_get, self.pointer, desc), name)

    def tune(self, m, n, k, dtype="f32", **options):
        """Measure the implementations of a product on the device, and use the fastest: max_seconds, accuracy."""
        desc = new_struct("ndr_tune_desc", {"dtype": dtype_name(dtype), "m": m, "n": n, "k": k, **options}, [])
        return _described("ndr_tune_result", lib.ndr_tune, self.pointer, desc)

    def warm(self, programs, progress=None):
        """Build programs ahead into the store on disk. Each is a dict with the members of an ndr_warm_desc, such as
        {"kernel": {"name": "add", "source": source}} or {"reduce": {"dtype": "f32", "op": "sum", "count": 1000}};
        progress(index, error, done, count) is called for each, from other threads."""
        keep = []
        descs = ffi.new("ndr_warm_desc[]", max(1, len(programs)))
        for i, each in enumerate(programs):
            descs[i] = new_struct("ndr_warm_desc", each, keep)[0]
        handle, callback = ffi.NULL, ffi.NULL
        if progress is not None:
            handle, _ = _callbacks.box(progress)
            callback = lib.ndr_python_warmed
        try:
            check(lib.ndr_cache_warm(self.pointer, descs, len(programs), callback, handle))
        finally:
            if handle:
                _callbacks.unbox(handle)


def to_shape(shape):
    """A tuple of sizes of a number or of numbers."""
    return shape if isinstance(shape, (tuple, list)) else (shape,)


def _image_desc(size, channels, type, options, keep):
    form = {"channels": channels, "type": type}
    return new_struct("ndr_image_desc", {"format": form, "size": tuple(size), **options}, keep)


# ---- kernels ---------------------------------------------------------------------------------------


_NAMES = {value: name for name, value in DTYPES.items()}
_SMALLER = {"f64": ("f16", "f32"), "i64": ("i16", "u16", "i32", "u32")}


def _element_type(value):
    """The type of the numbers in a buffer, a shared allocation or an array; None: it is not known, or no such thing."""
    if isinstance(value, (Buffer, Shared)):
        return value.dtype if isinstance(value.dtype, str) else None
    try:
        view = memoryview(value)
    except TypeError:
        return None
    return dtype_of_format(view) if view.ndim else None


class Kernel:
    """A kernel built for a context, which owns it."""

    def __init__(self, context, pointer, name):
        self.context, self.name, self._pointer = context, name, pointer

    @property
    def pointer(self):
        """The C handle."""
        self.context.pointer  # which must not have been destroyed
        return self._pointer

    @property
    def info(self):
        """What it needs and allows, with the members of ndr_kernel_info."""
        return _described("ndr_kernel_info", lib.ndr_kernel_get_info, self.pointer)

    @functools.cached_property
    def _pointees(self):
        """Each parameter's name, and the type of the numbers that it points to; None for other parameters."""
        info, found = ffi.new("ndr_parameter_info *"), []
        for i in range(self.info.arg_count):
            check(lib.ndr_kernel_get_parameter(self.pointer, i, info))
            is_pointer = info.kind in (lib.NDR_PARAMETER_GLOBAL, lib.NDR_PARAMETER_CONSTANT) and info.lanes == 1
            found.append((text_of(info.name), _NAMES.get(info.dtype) if is_pointer else None))
        return found

    def check_elements(self, args):
        """Refuse elements of NumPy's default types, float64 and int64, for a pointer to smaller ones, because the
        kernel would take each for several."""
        for i, (arg, (name, wanted)) in enumerate(zip(args, self._pointees)):
            given = _element_type(arg)
            if wanted in _SMALLER.get(given, ()):
                numpy_name = {"f": "float", "i": "int", "u": "uint"}[wanted[0]] + wanted[1:]
                refuse(f'kernel "{self.name}", argument {i} "{name}" points to {wanted}, but elements of {given} are '
                       f"given, NumPy's default; convert the array with x.astype(numpy.{numpy_name})",
                       Status.BAD_KERNEL_ARGUMENT)

    @property
    def log(self):
        """The compiler's warnings."""
        return read_text(functools.partial(lib.ndr_kernel_get_log, self.pointer))

    def sub_groups(self, local):
        """Its sub-groups in groups of `local`."""
        size = ffi.new("ndr_range *", to_range(local))
        return _described("ndr_sub_group_info", lib.ndr_kernel_get_sub_groups, self.pointer, size)

    def suggest_local(self, size):
        """The local size that libndr would choose."""
        local = ffi.new("ndr_range *")
        check(lib.ndr_kernel_suggest_local(self.pointer, ffi.new("ndr_range *", to_range(size)), local))
        return tuple(local.size[i] for i in range(local.dims))

    def prepare(self, size, *args):
        """A launch that is checked once and run many times, by Queue.run()."""
        self.check_elements(args)
        keep = []
        given = arguments(args, keep)
        pointer = _made("ndr_prepared", lib.ndr_prepare_v, self.pointer, nd_range(size), given, len(args))
        return Prepared(self, pointer, keep)


class Prepared(Handle):
    """A prepared launch."""

    _noun = "prepared launch"

    def __init__(self, kernel, pointer, args):
        super().__init__(pointer, lib.ndr_prepared_destroy)
        self.kernel = kernel
        self._args = []  # memory under Context.buffer_over()
        self._keep(args)

    def _keep(self, args):
        self._args = self._args + args
        if any(isinstance(each, (Shared, At, Reaches)) for each in args):
            self.wait_in_a_thread()

    def set(self, index, value):
        """Change one argument, counted from 0."""
        arg, keep = ffi.new("ndr_arg *"), []
        set_argument(arg, value, keep, f"argument {index}")
        check(lib.ndr_prepared_set(self.pointer, index, arg[0]))
        self._keep(keep)


# ---- queues ----------------------------------------------------------------------------------------


class _HostArrays:
    """Arrays that are arguments of a launch: a buffer for each, over the array's memory."""

    def __init__(self, context):
        self._context = context
        self._made = []  # (address, size, buffer, is_read_only)

    def use(self, array):
        view = view_of(array, False, "an array")
        is_read_only = view.readonly
        data, size = host_memory(array, not is_read_only)
        address = int(ffi.cast("uintptr_t", data))
        for other, other_size, buffer, _ in self._made:
            if address == other and size == other_size:
                return buffer
            if address < other + other_size and other < address + size:
                refuse("two arrays of a launch overlap in memory; pass Buffers, or copy one",
                       Status.BAD_KERNEL_ARGUMENT)
        made = self._context.buffer(array) if is_read_only else self._context.buffer_over(array)
        self._made.append((address, size, made, is_read_only))
        return made

    def finish(self, queue, event):
        """Wait for the launch, and bring the arrays up to date."""
        if not self._made:
            return
        event.wait()
        for _, size, buffer, is_read_only in self._made:
            if size and not is_read_only:
                queue.map(buffer, "read").unmap()
        queue.finish()
        for _, _, buffer, _ in self._made:
            buffer.destroy()


def _require_memory(memory, verb):
    if not isinstance(memory, (Buffer, Shared, Image)):
        raise TypeError(f"{verb} takes a Buffer, Shared or Image first, but {type(memory).__name__} is given; "
                        "make one with context.buffer(array)")


class Queue(Operations, Handle):
    """A queue of work. Each command takes after=, an Event or several that it waits for, and returns its Event, if it
    does not say otherwise."""

    _noun = "queue"

    def __init__(self, context, pointer):
        super().__init__(pointer, lib.ndr_queue_destroy)
        self.context = context

    # ---- waiting ----

    def flush(self):
        """Submit everything enqueued, without waiting."""
        check(lib.ndr_queue_flush(self.pointer))

    def finish(self, seconds=None):
        """Wait until everything enqueued has ended, at most `seconds`; raises the first failure, or Status.TIMEOUT."""
        if seconds is None:
            check(lib.ndr_queue_finish(self.pointer))
        else:
            check(lib.ndr_queue_finish_within(self.pointer, _timeout_ns(seconds)))

    def finish_timed(self):
        """Wait, and return the time then, in nanoseconds of the host's monotonic clock."""
        time = ffi.new("uint64_t *")
        check(lib.ndr_queue_finish_timed(self.pointer, time))
        return time[0]

    # ---- commands ----

    def _passed(self, after):
        """What a command gets as its queue; it lasts as long as the list."""
        if after is None:
            return [self.pointer]
        events = [after] if isinstance(after, Event) else list(after)
        array = ffi.new("ndr_event *[]", [event.pointer for event in events] or [ffi.NULL])
        seal = ffi.new("ndr_queue_after *", {"seal": lib.NDR_AFTER_SEAL, "queue": self.pointer, "events": array,
                                             "count": len(events)})
        return [ffi.cast("ndr_queue *", seal), seal, array, events]

    def _command(self, after, call, *args, keep=None, box=None):
        passed = self._passed(after)
        return Event(_made("ndr_event", call, passed[0], *args), keep, box)

    def _transfer(self, wait, after, call, *args, keep):
        if not wait:
            return self._command(after, call, *args, keep=keep)
        passed = self._passed(after)
        check(call(passed[0], *args, ffi.NULL))
        return None

    def launch(self, kernel, size, *args, after=None):
        """Enqueue a kernel over a number of items, a tuple of them or an NdRange, with one argument for each of its
        parameters. An array may be an argument: then the call returns when the launch has ended, and has written it."""
        if not isinstance(kernel, Kernel):
            raise TypeError(f"launch takes a Kernel first, but {type(kernel).__name__} is given; "
                            "make one with context.kernel(name, source)")
        kernel.check_elements(args)
        keep, arrays = [], _HostArrays(self.context)
        given = arguments(args, keep, arrays.use)
        event = self._command(after, lib.ndr_launch_v, kernel.pointer, nd_range(size), given, len(args))
        arrays.finish(self, event)
        return event

    def run(self, prepared, after=None):
        """Enqueue a prepared launch."""
        return self._command(after, lib.ndr_prepared_run, prepared.pointer)

    def mark(self, after=None):
        """An event that completes when everything enqueued before it has ended."""
        return self._command(after, lib.ndr_queue_mark)

    def barrier(self, after=None):
        """Work enqueued later starts when everything enqueued before has ended."""
        return self._command(after, lib.ndr_queue_barrier)

    def host_task(self, function, after=None):
        """Enqueue function(), which runs on another thread. If it raises, the work behind it fails."""
        handle, box = _callbacks.new_box(function)
        return self._command(after, lib.ndr_host_task, lib.ndr_python_task, handle, keep=(handle, box), box=box)

    # ---- transfers ----

    def write(self, memory, data, offset_bytes=0, *, origin=None, extent=None, wait=True, after=None):
        """Copy an array to a buffer, a shared allocation, or a part of an image. wait=False: return the Event at once;
        do not change the array until it has completed."""
        _require_memory(memory, "write")
        host, size = host_memory(data, False, "the data")
        return self._copy_host("write", memory, host, size, offset_bytes, origin, extent, wait, after)

    def read(self, memory, into=None, offset_bytes=0, *, origin=None, extent=None, wait=True, after=None):
        """Copy a buffer, a shared allocation or a part of an image to an array, and return that; without `into` to a
        new one of its dtype and shape. wait=False: return the Event at once; `into` has the data when it has
        completed."""
        _require_memory(memory, "read")
        if into is None:
            if not wait:
                refuse("read with wait=False needs an array to read into; pass into=")
            into = self._new_array(memory, offset_bytes, extent)
        host, size = host_memory(into, True, "the array to read into")
        event = self._copy_host("read", memory, host, size, offset_bytes, origin, extent, wait, after)
        return into if wait else event

    @staticmethod
    def _new_array(memory, offset_bytes, extent):
        if isinstance(memory, Image):
            return new_host_array(memory.dtype, memory.array_shape(to_shape(extent or memory.size)))
        if offset_bytes:
            refuse("a read from an offset needs an array to read into; pass into=")
        return new_host_array(*memory._whole())

    def _copy_host(self, verb, memory, host, size, offset_bytes, origin, extent, wait, after):
        if isinstance(memory, Image):
            part, _, needed = memory.part(origin, extent)
            if size < needed:
                refuse(f"the image's part has {needed} bytes, but an array of {size} is given", Status.OUT_OF_BOUNDS)
            call = {"write": lib.ndr_image_write, "read": lib.ndr_image_read}[verb]
            return self._transfer(wait, after, call, memory.pointer, part, host, keep=host)
        call = {("write", Buffer): lib.ndr_buffer_write, ("read", Buffer): lib.ndr_buffer_read,
                ("write", Shared): lib.ndr_shared_write, ("read", Shared): lib.ndr_shared_read}[verb, type(memory)]
        return self._transfer(wait, after, call, memory.pointer, offset_bytes, size, host, keep=host)

    def fill(self, memory, value, offset_bytes=0, size_bytes=None, *, origin=None, extent=None, after=None):
        """Repeat a value: in a buffer a number of its dtype, or bytes; in an image four numbers r, g, b and a."""
        if isinstance(memory, Image):
            part, _, _ = memory.part(origin, extent)
            is_integer = memory.type in ("i8", "i16", "i32", "u8", "u16", "u32")
            c_type = "float[4]" if not is_integer else "int32_t[4]" if memory.type[0] == "i" else "uint32_t[4]"
            return self._command(after, lib.ndr_image_fill, memory.pointer, part, ffi.new(c_type, list(value)))
        if isinstance(value, (int, float)) and memory.dtype in DTYPES:
            value = _number(memory.dtype, value)
        pattern, pattern_bytes = host_memory(value, False, "the value")
        size = memory.size - offset_bytes if size_bytes is None else size_bytes
        return self._command(after, lib.ndr_buffer_fill, memory.pointer, offset_bytes, size, pattern, pattern_bytes)

    def copy(self, source, to, source_offset_bytes=0, to_offset_bytes=0, size_bytes=None, *, origin=None, extent=None,
             to_origin=None, after=None):
        """Copy between two buffers, shared allocations or images."""
        if isinstance(source, Image):
            part, _, _ = source.part(origin, extent)
            place = ffi.NULL if to_origin is None else ffi.new("size_t[3]", list(to_shape(to_origin)))
            return self._command(after, lib.ndr_image_copy, source.pointer, part, to.pointer, place)
        size = source.size - source_offset_bytes if size_bytes is None else size_bytes
        call = lib.ndr_shared_copy if isinstance(source, Shared) else lib.ndr_buffer_copy
        return self._command(after, call, source.pointer, source_offset_bytes, to.pointer, to_offset_bytes, size)

    def transfer(self, source, to_queue, to, source_offset_bytes=0, to_offset_bytes=0, size_bytes=None, wait=True,
                 after=None):
        """Copy a buffer to one of another queue, which may be of another context. wait=False: return the Event at once."""
        size = source.size - source_offset_bytes if size_bytes is None else size_bytes
        return self._transfer(wait, after, lib.ndr_buffer_transfer, source.pointer, source_offset_bytes,
                              to_queue.pointer, to.pointer, to_offset_bytes, size, keep=(source, to_queue, to))

    def prefetch(self, shared, offset_bytes=0, size_bytes=None, after=None):
        """Move a shared allocation to the device before a kernel uses it: a hint."""
        size = shared.size - offset_bytes if size_bytes is None else size_bytes
        return self._command(after, lib.ndr_shared_prefetch, shared.pointer, offset_bytes, size)

    def copy_rect(self, source, to, rect, after=None):
        """Copy a rectangle between buffers. `rect` is a Rect."""
        return self._command(after, lib.ndr_buffer_copy_rect, source.pointer, to.pointer, rect.c)

    def write_rect(self, buffer, rect, data, wait=True, after=None):
        """Copy a rectangle of an array to a buffer."""
        host, size = host_memory(data, False, "the data")
        rect.check_host(getattr(rect.c, "from"), size)
        return self._transfer(wait, after, lib.ndr_buffer_write_rect, buffer.pointer, rect.c, host, keep=host)

    def read_rect(self, buffer, rect, into, wait=True, after=None):
        """Copy a rectangle of a buffer into an array."""
        host, size = host_memory(into, True, "the array to read into")
        rect.check_host(rect.c.to, size)
        event = self._transfer(wait, after, lib.ndr_buffer_read_rect, buffer.pointer, rect.c, host, keep=host)
        return into if wait else event

    def map(self, memory, access="read_write", offset_bytes=0, size_bytes=None, *, origin=None, extent=None,
            after=None):
        """Let the host access memory: a Mapping, for `with`. Access "write" means that all of it is overwritten."""
        access = choose("ndr_map_access", access, "map: access")
        if isinstance(memory, Image):
            return self._map_image(memory, access, origin, extent, after)
        is_all = offset_bytes == 0 and size_bytes is None
        size = memory.size - offset_bytes if size_bytes is None else size_bytes
        passed, host = self._passed(after), ffi.new("void **")
        is_shared = isinstance(memory, Shared)
        call = lib.ndr_shared_map if is_shared else lib.ndr_buffer_map
        check(call(passed[0], memory.pointer, access, offset_bytes, size, host))
        end = functools.partial(_unmap, lib.ndr_shared_unmap if is_shared else lib.ndr_buffer_unmap, self, memory)
        dtype, shape = memory._whole() if is_all else (memory.dtype, None)
        if not is_all and dtype in DTYPES and size % dtype_size(dtype) == 0:
            shape = (size // dtype_size(dtype),)
        return Mapping(end, memory, host[0], size, dtype if shape else None, shape)

    def _map_image(self, image, access, origin, extent, after):
        part, sizes, _ = image.part(origin, extent)
        passed, mapped = self._passed(after), ffi.new("ndr_mapped_part *")
        check(lib.ndr_image_map(passed[0], image.pointer, access, part, mapped))
        sizes = [1] * (3 - len(sizes)) + sizes
        size = ((sizes[0] - 1) * mapped.plane_pitch_bytes + (sizes[1] - 1) * mapped.row_pitch_bytes
                + sizes[2] * image.element_bytes)
        end = functools.partial(_unmap, lib.ndr_image_unmap, self, image)
        return Mapping(end, image, mapped.host, size, None, None, row_pitch_bytes=mapped.row_pitch_bytes,
                       plane_pitch_bytes=mapped.plane_pitch_bytes)

    # ---- operations ----

    def reduce(self, op, source, to=None, *, dtype=None, offset=0, count=None, to_offset=0, method="tree",
               numerics="fast", factors=None, factors_offset=0, after=None):
        """Combine the elements of a buffer: "sum", "min" or "max". The result goes to element `to_offset` of `to`;
        without `to` the call waits, and returns it as a number. `numerics`: "fast", "reproducible" or "exact"; with
        `factors`, a buffer, the sum is a dot product."""
        dtype = dtype_name(source.dtype if dtype is None else dtype)
        count = source.size // dtype_size(dtype) - offset if count is None else count
        result = to if to is not None else self.context.empty(1, dtype)
        keep = []
        desc = new_struct("ndr_reduce_desc", {
            "dtype": dtype, "op": op, "method": method, "count": count,
            "input": {"buffer": source.pointer, "offset": offset},
            "output": {"buffer": result.pointer, "offset": to_offset}, "numerics": numerics,
            "factors": {"buffer": factors.pointer if factors is not None else None, "offset": factors_offset}}, keep)
        event = self._command(after, lib.ndr_reduce, desc)
        return event if to is not None else memoryview(self.read(result, new_memory(dtype)))[0]

    def matmul(self, a, b, c, *, alpha=None, beta=None, after=None, **options):
        """c = alpha * a * b + beta * c. Each is a buffer of shape (rows, columns), or a Matrix. The options are count,
        a_stride, b_stride, c_stride, accuracy and so on, as in ndr_matmul_desc. c may have another dtype."""
        keep = []
        matrices = [each if isinstance(each, Matrix) else Matrix(each) for each in (a, b, c)]
        scaling = {"is_set": True, "alpha": 1 if alpha is None else alpha, "beta": 0 if beta is None else beta}
        desc = new_struct("ndr_matmul_desc", {
            "dtype": matrices[0].dtype, "output_dtype": matrices[2].dtype, "scaling": scaling,
            **{name: matrix.values for name, matrix in zip("abc", matrices)}, **options}, keep)
        if matrices[0].dtype != matrices[1].dtype:
            refuse(f"matmul: a and b have the dtypes {matrices[0].dtype} and {matrices[1].dtype}; give them one")
        return self._command(after, lib.ndr_matmul, desc)


def new_memory(dtype):
    """Memory of the host for one element, without NumPy."""
    return memoryview(bytearray(dtype_size(dtype))).cast(FORMATS[dtype])


def _number(dtype, value):
    """The bytes of a number of an element type."""
    one = new_memory(dtype)
    one[0] = value if dtype[0] == "f" else int(value)
    return one


def _unmap(call, queue, memory, address):
    if not queue._pointer or not memory._pointer:  # destroyed: the memory's own destruction ends the mapping
        return 0
    return call(queue._pointer, memory._pointer, address, ffi.NULL)


class Matrix:
    """A row-major matrix in a buffer: of its shape, or of `rows` and `cols` from element `offset` on."""

    def __init__(self, buffer, rows=None, cols=None, pitch=0, offset=0, dtype=None):
        if rows is None or cols is None:
            if buffer.shape is None or len(buffer.shape) != 2:
                refuse(f"a matrix needs a buffer of 2 dimensions, but this one has the shape {buffer.shape}; give rows "
                       "and cols to a Matrix")
            rows, cols = buffer.shape
        self.dtype = dtype_name(buffer.dtype if dtype is None else dtype)
        self.values = {"buffer": buffer.pointer, "offset": offset, "rows": rows, "cols": cols, "pitch": pitch}


class Rect:
    """A rectangle of elements in two memories, each with its offset_bytes, origin, row_pitch_bytes, plane_pitch_bytes:
    `Rect((3, 4), 4, source={"origin": (1, 2), "row_pitch_bytes": 40}, to={})`."""

    def __init__(self, extent, element_bytes=1, source=None, to=None):
        self.c = new_struct("ndr_rect_desc", {
            "extent": extent, "element_bytes": element_bytes, "from": self._side(source), "to": self._side(to)}, [])

    @staticmethod
    def _side(values):
        values = dict(values or {})
        if "origin" in values:
            values["origin"] = list(to_shape(values["origin"]))
        return values

    def check_host(self, side, given):
        """Refuse a rectangle that leaves the host's memory."""
        dims, extent = self.c.extent.dims, list(self.c.extent.size)
        if 0 in extent[:dims]:
            return
        end, pitch = side.offset_bytes, self.c.element_bytes or 1
        for d in reversed(range(dims)):
            is_row = d + 1 == dims
            end += (side.origin[d] + extent[d] - (0 if is_row else 1)) * pitch
            pitch = (side.row_pitch_bytes if is_row else side.plane_pitch_bytes) or pitch * extent[d]
        if end > given:
            refuse(f"the rectangle uses {end} bytes of the host's memory, but an array of {given} is given",
                   Status.OUT_OF_BOUNDS)

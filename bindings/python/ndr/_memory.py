"""Buffers, shared allocations, images, samplers, and what maps them."""

import functools

from ndr._args import At
from ndr._base import (DTYPES, FORMATS, Handle, check, dtype_name, dtype_of_format, dtype_size, element_count, ffi, lib,
                       names_of, refuse, to_range, view_of)


class _Typed(Handle):
    """Memory whose element type and shape are known if it was made of an array or with a dtype."""

    dtype = None
    shape = None

    def _describe(self, dtype, shape):
        self.dtype, self.shape = dtype, shape

    def _whole(self):
        """The element type and the shape of all of it; bytes if they are not known."""
        return (self.dtype, self.shape) if self.dtype is not None else ("u8", (self.size,))


class Buffer(_Typed):
    """Device memory. size counts bytes; dtype and shape are those that it was made with."""

    _noun = "buffer"

    def __init__(self, context, pointer, dtype=None, shape=None, has_address=False):
        super().__init__(pointer, lib.ndr_buffer_destroy)
        self.context = context
        self.has_address = has_address
        self._describe(dtype, shape)
        if has_address:
            self.wait_in_a_thread()

    @property
    def size(self):
        return lib.ndr_buffer_size(self.pointer)

    @property
    def address(self):
        """The address on the device, of a buffer made with has_address=True."""
        address = ffi.new("uint64_t *")
        check(lib.ndr_buffer_get_address(self.pointer, address))
        return address[0]

    def view(self, offset_bytes, size_bytes, dtype=None):
        """A buffer that is a part of this one."""
        made = ffi.new("ndr_buffer **")
        check(lib.ndr_buffer_create_view(self.pointer, offset_bytes, size_bytes, made))
        dtype = dtype and dtype_name(dtype)
        shape = (size_bytes // dtype_size(dtype),) if dtype else None
        return Buffer(self.context, made[0], dtype, shape, self.has_address)

    def as_argument(self, arg, keep):
        arg.kind = lib.NDR_ARG_BUFFER
        getattr(arg, "as").buffer = self.pointer


def array_description(array):
    """The element type and the shape of an array; NumPy's dtype for elements that are not numbers."""
    view = view_of(array, False)
    return dtype_of_format(view) or getattr(array, "dtype", None), view.shape


class Shared(_Typed):
    """Memory at one address on the host and the device."""

    _noun = "shared allocation"

    def __init__(self, context, pointer, dtype=None, shape=None):
        super().__init__(pointer, lib.ndr_shared_destroy)
        self.context = context
        self._describe(dtype, shape)
        self.wait_in_a_thread()

    @property
    def size(self):
        return lib.ndr_shared_size(self.pointer)

    @property
    def address(self):
        """Of its first byte."""
        return int(ffi.cast("uintptr_t", lib.ndr_shared_pointer(self.pointer)))

    def at(self, offset_bytes):
        """An address in it, as an argument."""
        return At(self, offset_bytes)

    def view(self):
        """Its memory, for kinds that the host may access without a mapping: a memoryview. It cannot be destroyed while
        the view exists."""
        return view_of_memory(self, lib.ndr_shared_pointer(self.pointer), self.size, lambda: None, *self._whole())

    def as_argument(self, arg, keep):
        arg.kind = lib.NDR_ARG_SHARED
        shared = getattr(arg, "as").shared
        shared.allocation = self.pointer
        shared.pointer = ffi.NULL


class Sampler(Handle):
    """How kernels read images."""

    _noun = "sampler"

    def __init__(self, pointer):
        super().__init__(pointer, lib.ndr_sampler_destroy)

    def as_argument(self, arg, keep):
        arg.kind = lib.NDR_ARG_SAMPLER
        getattr(arg, "as").sampler = self.pointer


_CHANNEL_DTYPES = {"unorm8": "u8", "unorm16": "u16", "snorm8": "i8", "snorm16": "i16"}


class Image(Handle):
    """Memory that kernels read by coordinates. size counts elements, the last dimension contiguous."""

    _noun = "image"

    def __init__(self, pointer, channels, channel_type, size):
        super().__init__(pointer, lib.ndr_image_destroy)
        self.channels, self.type, self.size = channels, channel_type, size
        self.element_bytes = lib.ndr_image_format_size(
            {"channels": names_of("ndr_channels")[channels], "type": names_of("ndr_channel_type")[channel_type]})

    @property
    def dtype(self):
        """The element type of one channel."""
        return _CHANNEL_DTYPES.get(self.type, self.type)

    def as_argument(self, arg, keep):
        arg.kind = lib.NDR_ARG_IMAGE
        getattr(arg, "as").image = self.pointer

    def part(self, origin, extent):
        """An ndr_image_part, its extent, and its bytes without gaps."""
        part = ffi.new("ndr_image_part *")
        size = to_range(self.size if extent is None else extent)
        if origin is not None or extent is not None:
            part.extent = size
        for i, each in enumerate(to_range(origin)["size"] if origin is not None else ()):
            part.origin[i] = each
        return part, size["size"], element_count(size["size"]) * self.element_bytes

    def array_shape(self, extent):
        """The shape of an array of `extent` elements: with a dimension of channels if there are several."""
        channels = self.element_bytes // dtype_size(self.dtype)
        return tuple(extent) + ((channels,) if channels > 1 else ())


# ---- the host's access -----------------------------------------------------------------------------


def _end_use(owner, end, pointer):
    owner._users -= 1
    end()


def view_of_memory(owner, address, size, end, dtype, shape):
    """A memoryview of `size` bytes. end() is called when nothing uses them any more; until then `owner` stays."""
    owner._users += 1
    pointer = ffi.gc(ffi.cast("char *", address), functools.partial(_end_use, owner, end))
    view = memoryview(ffi.buffer(pointer, size))
    if dtype not in DTYPES or size == 0 or element_count(shape) * dtype_size(dtype) != size:
        return view
    return view.cast("B").cast(FORMATS[dtype], shape)


class _Access:
    """What ends a mapping, once."""

    def __init__(self, unmap, address):
        self._unmap = unmap  # unmap(address) gives a status
        self._address = address
        self.status = None

    def end(self):
        self.status = self._unmap(self._address)


class Mapping:
    """The host's access to memory: `with queue.map(buffer) as view:`. view is a memoryview, to be given to
    numpy.asarray(); no array of it may be left when the block ends. A Mapping that is only dropped ends when its view
    and all arrays of it are gone."""

    def __init__(self, unmap, owner, address, size, dtype, shape, **layout):
        self._access = _Access(unmap, address)
        self.view = view_of_memory(owner, address, size, self._access.end, dtype, shape)
        self.__dict__.update(layout)

    def unmap(self):
        """End the access now."""
        if self.view is None:
            return
        try:
            self.view.release()
        except BufferError:
            pass
        self.view = None
        if self._access.status is None:
            refuse("an array or another memoryview still uses the mapped memory; delete it before the mapping ends")
        check(self._access.status)

    def __enter__(self):
        return self.view

    def __exit__(self, *_):
        self.unmap()

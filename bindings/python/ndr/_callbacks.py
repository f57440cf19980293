"""Functions of Python that libndr calls, on threads of its own. cffi gets the interpreter's lock for them."""

import threading

from ndr._base import Error, Status, ffi, lib, text_of

_boxes = {}  # what libndr has the address of


class _Box:
    def __init__(self, function):
        self.function = function
        self.raised = None  # by the function


def new_box(function):
    """The `user` pointer of a callback that calls `function`, and the box. Both must live until the last call."""
    made = _Box(function)
    return ffi.new_handle(made), made


def box(function):
    """The same, kept until unbox()."""
    handle, made = new_box(function)
    _boxes[handle] = made
    return handle, made


def unbox(handle):
    _boxes.pop(handle, None)


def _report(found, why):
    """What the function raised, which nobody else catches."""
    found.raised = why
    if not isinstance(why, Error):
        threading.excepthook(threading.ExceptHookArgs((type(why), why, why.__traceback__, None)))


@ffi.def_extern()
def ndr_python_ended(status, sentence, user):
    found = ffi.from_handle(user)
    try:
        found.function(Error(status, text_of(sentence)) if status else None)
    except BaseException as why:
        _report(found, why)
    finally:
        unbox(user)


@ffi.def_extern(error=lib.NDR_BAD_ARGUMENT)
def ndr_python_task(user):
    found = ffi.from_handle(user)
    try:
        found.function()
        return lib.NDR_OK
    except BaseException as why:
        _report(found, why)
        return why.status if isinstance(why, Error) else Status.BAD_ARGUMENT


@ffi.def_extern()
def ndr_python_table(text, user):
    found = ffi.from_handle(user)
    try:
        found.function(text_of(text))
    except BaseException as why:
        _report(found, why)
    finally:
        unbox(user)


@ffi.def_extern()
def ndr_python_warmed(progress, user):
    found = ffi.from_handle(user)
    try:
        error = Error(progress.status, text_of(progress.error)) if progress.status else None
        found.function(progress.index, error, progress.done, progress.count)
    except BaseException as why:
        _report(found, why)

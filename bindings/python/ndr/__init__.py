"""libndr: OpenCL kernels over ND-ranges, reductions and matrix products. docs/python.md has programs."""

from ndr._args import At, Local, NdRange, Reaches, Reducer, Struct, Vector
from ndr._base import DTYPES, Error, Status, narrow_floats, widen_floats
from ndr._group import Group
from ndr._memory import Buffer, Image, Mapping, Sampler, Shared
from ndr._operations import Array
from ndr._work import (Context, Event, Kernel, Matrix, Prepared, Queue, Rect, devices, log, region, trace, version,
                       wait_all, wait_any)

__version__ = "0.2.0"
__all__ = ["Array", "At", "Buffer", "Context", "DTYPES", "Error", "Event", "Group", "Image", "Kernel", "Local", "Mapping", "Matrix",
           "NdRange", "Prepared", "Queue", "Reaches", "Rect", "Reducer", "Sampler", "Shared", "Status", "Struct",
           "Vector", "devices", "log", "narrow_floats", "region", "trace", "version", "wait_all", "wait_any",
           "widen_floats"]

"""PyOpenCL's ReductionKernel, for pyopencl.c: each line on stdin requests one measurement.

In:   f32 sum 1000000    Out:   0.000123   seconds of one finished call, after warm-up, on new operands
"""
import math
import sys
import time

import numpy as np
import pyopencl as cl
import pyopencl.array
from pyopencl.reduction import ReductionKernel

SHORTEST_S = 10e-3
TYPES = {"f32": (np.float32, "float"), "f64": (np.float64, "double"), "i32": (np.int32, "int")}
OPS = {
    "sum": ("0", "a+b", np.sum),
    "min": ("INFINITY", "fmin(a,b)", np.min),
    "max": ("-INFINITY", "fmax(a,b)", np.max),
}


def open_device(text):
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            if text.lower() in (platform.name + "\n" + device.name).lower():
                return cl.Context([device])
    sys.exit(f"pyopencl_reduce: no device matches \"{text}\"")


def new_operand(dtype, n, rng):
    if dtype == np.int32:
        return rng.integers(-2**31, 2**31, n, dtype=np.int32)
    return rng.random(n, dtype=dtype)


def is_correct(dtype, op, host, got):
    if dtype == np.int32:
        return got == np.sum(host, dtype=np.int32)
    if op != "sum":
        return got == OPS[op][2](host)
    return math.isclose(got, np.sum(host, dtype=np.longdouble), rel_tol=len(host) * np.finfo(dtype).eps)


def main(text):
    context = open_device(text)
    queue = cl.CommandQueue(context)
    rng = np.random.default_rng()
    kernels = {}
    for line in sys.stdin:
        type_name, op, n = line.split()
        dtype, c_type = TYPES[type_name]
        neutral, combine, _ = OPS[op]
        if (type_name, op) not in kernels:
            kernels[type_name, op] = ReductionKernel(
                context, dtype, neutral=neutral, reduce_expr=combine, arguments=f"__global const {c_type} *in")
        reduce = kernels[type_name, op]
        host = new_operand(dtype, int(n), rng)
        x = cl.array.to_device(queue, host)

        def seconds(calls):
            start = time.perf_counter()
            for _ in range(calls):
                result = reduce(x, queue=queue)
                queue.finish()
            return time.perf_counter() - start, result

        _, result = seconds(2)
        if not is_correct(dtype, op, host, result.get()[()]):
            sys.exit(f"pyopencl_reduce: {line.strip()} gave {result.get()}")
        once, _ = seconds(1)
        calls = max(1, math.ceil(SHORTEST_S / once))
        print(f"{seconds(calls)[0] / calls:.9f}", flush=True)


main(sys.argv[1])

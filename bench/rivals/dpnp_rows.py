"""dpnp and numba-dpex on Intel's OpenCL runtime, for dpnp.c: each line on stdin requests one measurement.

In:   matmul f32 512 512 512    Out:   0.000456   seconds of one finished call, after warm-up, on new operands
      sum f32 1000000
      atomic f32 1000000
"""
import sys
import time

import dpctl
import dpnp
import numpy as np

SHORTEST_S = 10e-3
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
OPS = {"sum": (dpnp.sum, np.sum), "min": (dpnp.min, np.min), "max": (dpnp.max, np.max)}


def open_queue():
    for device in dpctl.get_devices(device_type="cpu"):
        if "intel" in device.sycl_platform.name.lower():
            return dpctl.SyclQueue(device)
    sys.exit("dpnp_rows: Intel's OpenCL runtime is not installed")


def new_operand(dtype, shape, rng):
    if dtype == np.int32:
        return rng.integers(-2**31, 2**31, shape, dtype=np.int32)
    return rng.random(shape, dtype=dtype)


def is_close(got, wanted, terms, dtype):
    return np.all(np.abs(got - wanted) <= terms * np.finfo(dtype).eps * np.abs(wanted))


def prepare_matmul(queue, dtype, m, n, k, rng):
    host_a, host_b = new_operand(dtype, (m, k), rng), new_operand(dtype, (k, n), rng)
    a, b = dpnp.array(host_a, sycl_queue=queue), dpnp.array(host_b, sycl_queue=queue)
    c = dpnp.empty((m, n), dtype=dtype, sycl_queue=queue)
    rows = rng.integers(0, m, 4)

    def is_correct():
        wanted = host_a[rows].astype(np.float64) @ host_b.astype(np.float64)
        return is_close(dpnp.asnumpy(c)[rows], wanted, k, dtype)

    return lambda: dpnp.matmul(a, b, out=c), is_correct


def prepare_reduce(queue, op, dtype, n, rng):
    host = new_operand(dtype, n, rng)
    x = dpnp.array(host, sycl_queue=queue)
    result = []

    def run():
        result[:] = [OPS[op][0](x, dtype=dtype) if op == "sum" else OPS[op][0](x)]

    def is_correct():
        wanted = OPS[op][1](host) if op != "sum" else np.sum(host, dtype=dtype if dtype == np.int32 else np.longdouble)
        got = dpnp.asnumpy(result[0])
        return got == wanted if op != "sum" or dtype == np.int32 else is_close(got, wanted, n, dtype)

    return run, is_correct


def prepare_atomic(queue, dtype, n, rng):
    import numba_dpex
    from numba_dpex import kernel_api

    @numba_dpex.kernel
    def add_each(item: kernel_api.Item, x, total):
        kernel_api.AtomicRef(total, 0).fetch_add(x[item.get_id(0)])

    host = new_operand(dtype, n, rng)
    x = dpnp.array(host, sycl_queue=queue)
    total = dpnp.zeros(1, dtype=dtype, sycl_queue=queue)

    def run():
        total[0] = 0
        numba_dpex.call_kernel(add_each, kernel_api.Range(n), x, total)

    return run, lambda: is_close(dpnp.asnumpy(total)[0], np.sum(host, dtype=np.longdouble), n, dtype)


def prepare(queue, words, rng):
    work, dtype, sizes = words[0], TYPES[words[1]], [int(word) for word in words[2:]]
    if work == "matmul":
        return prepare_matmul(queue, dtype, *sizes, rng)
    if work == "atomic":
        return prepare_atomic(queue, dtype, *sizes, rng)
    return prepare_reduce(queue, work, dtype, *sizes, rng)


def seconds_of(call, queue, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        call()
        queue.wait()
    return (time.perf_counter() - begin) / calls


def measure(call, queue):
    warm_until = time.perf_counter() + 30e-3
    call()
    while time.perf_counter() < warm_until:
        call()
    queue.wait()
    calls = 1
    seconds = seconds_of(call, queue, calls)
    while seconds * calls < SHORTEST_S:
        calls = int(2 * SHORTEST_S / seconds / 2) + 1 if seconds * calls > SHORTEST_S / 16 else calls * 8
        seconds = seconds_of(call, queue, calls)
    return seconds


def main():
    queue = open_queue()
    rng = np.random.default_rng()
    for line in sys.stdin:
        call, is_correct = prepare(queue, line.split(), rng)
        seconds = measure(call, queue)
        if not is_correct():
            sys.exit(f"dpnp_rows: wrong result of {line.strip()}")
        print(f"{seconds:.9f}", flush=True)


main()

"""PyTorch's sums along an axis on a GPU, for torch.c: each line on stdin requests one measurement.

In:   16384 16384 0 1    Out:   0.000243   rows, columns, axis, back to back or not; seconds of one call, after warm-up
"""
import statistics
import sys
import time

import torch

matrix = {}


def operand(rows, cols):
    if (rows, cols) not in matrix:
        matrix.clear()
        matrix[rows, cols] = torch.rand(rows, cols, device="cuda")
    return matrix[rows, cols]


def check(x, axis, result):
    wanted = torch.sum(x[:64].double(), 1) if axis == 1 else torch.sum(x[:, :64].double(), 0)
    if not torch.allclose(result[: len(wanted)].double(), wanted, rtol=1e-4):
        sys.exit("torch_rows: a wrong sum")


def single(call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def back_to_back(call, calls):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls


for line in sys.stdin:
    rows, cols, axis, is_back_to_back = (int(word) for word in line.split())
    x = operand(rows, cols)
    result = torch.empty(rows if axis == 1 else cols, device="cuda")

    def call():
        torch.sum(x, axis, out=result)

    for _ in range(3):
        call()
    seconds = back_to_back(call, 20) if is_back_to_back else statistics.median(single(call) for _ in range(15))
    check(x, axis, result)
    print(f"{seconds:.9f}", flush=True)

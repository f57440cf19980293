"""pi by counting points, in Python. main.cpp does the same in C++."""

import pathlib
import sys

import ndr

POINTS = 10_000_000
kernel_file = pathlib.Path(__file__).with_name("pi.cl")

with ndr.Context() as context, context.queue() as queue:
    count = context.kernel("count_inside", file=kernel_file)
    inside = context.empty(1, "u32")
    queue.launch(count, POINTS, ndr.Reducer("sum", 0, inside))
    found = int(queue.read(inside)[0])

pi = 4 * found / POINTS
is_right = 3.1415 < pi < 3.1417
print(f"{found} of {POINTS} points are inside: pi is about {pi:.5f}, which is {'right' if is_right else 'wrong'}")
sys.exit(not is_right)

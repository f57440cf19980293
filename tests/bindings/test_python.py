"""test_python.py - the Python package on a device.

Run as: python3 test_python.py, with the built package on PYTHONPATH. NDR_INCLUDE is the folder of the headers.
"""

import array
import ctypes
import gc
import os
import re
import subprocess
import sys
import threading
import unittest

import ndr

try:
    import numpy as np
except ImportError:  # the tests that need it are skipped
    np = None

KERNELS = """
struct pair { int first; float second; };
kernel void add(global const float *a, global const float *b, global float *c)
{
    const size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}
kernel void scale(global float *x, float by, int times)
{
    for (int k = 0; k < times; ++k) x[get_global_id(0)] *= by;
}
kernel void take(global float *out, struct pair p, float4 v, local float *scratch, global float *none)
{
    scratch[get_local_id(0)] = v.w;
    out[get_global_id(0)] = none ? -1 : p.first + p.second + v.x + scratch[get_local_id(0)];
}
kernel void whole(global long *out, long a, ulong b, uchar c, short d)
{
    out[0] = a; out[1] = (long)b; out[2] = c; out[3] = d;
}
"""

REDUCING = """
#include <ndr/reduction.clh>
kernel void total(global const int *x, NDR_REDUCTION(1, (SUM, int, sum)))
{
    NDR_REDUCE(i, 1, sum) { NDR_COMBINE(sum, x[ndr_global_id(i, 0)]); }
}
"""

needs_numpy = unittest.skipIf(np is None, "NumPy is not installed (Debian: python3-numpy)")


class Case(unittest.TestCase):
    def setUp(self):
        self.context = ndr.Context()
        self.queue = self.context.queue()

    def tearDown(self):
        self.queue.destroy()
        self.context.destroy()
        del self.queue, self.context

    def kernel(self, name, source=KERNELS):
        return self.context.kernel(name, source)

    def ones(self, count=100):
        return self.context.buffer(array.array("f", [1] * count))

    def refused(self, status, part, call, *args, **options):
        with self.assertRaises(ndr.Error) as raised:
            call(*args, **options)
        self.assertEqual(raised.exception.status.name, status)
        self.assertIn(part, str(raised.exception))
        return raised.exception


class Errors(Case):
    def test_errors__have_the_sentence_and_the_log(self):
        error = self.refused("NOT_FOUND", 'has no kernel called "misspelt"', self.kernel, "misspelt")
        self.assertEqual(error.build_log, "")
        error = self.refused("BUILD_FAILED", "y", self.kernel, "x", "kernel void x() { y = 1; }")
        self.assertIn("y", error.build_log)
        self.assertNotEqual(error.cl_error, 0)
        self.refused("NO_MATCHING_DEVICE", "no such", ndr.Context, "no such device")
        self.refused("BAD_ARGUMENT", "has a NUL character; remove it", ndr.Context, "cpu\0gpu")

    def test_errors__of_options_name_those_that_exist(self):
        self.refused("BAD_ARGUMENT", "it has is_profiling, spin_ns", self.context.queue, profiling=True)
        self.refused("BAD_ARGUMENT", "use one of read, write, read_write", self.queue.map, self.ones(), "all")
        self.refused("BAD_ARGUMENT", "is not an element type", self.context.empty, 3, "f31")
        self.refused("BAD_ARGUMENT", "None is not an element type", self.queue.reduce, "sum", self.context.buffer(8))

    @needs_numpy
    def test_errors__of_numpys_default_types_say_how_to_convert(self):
        add, whole = self.kernel("add"), self.kernel("whole")
        doubles, integers, floats = np.ones(8), np.arange(8), np.ones(8, np.float32)
        for wrong in doubles, self.context.buffer(doubles):
            with self.assertRaisesRegex(ndr.Error, r'argument 1 "b" points to f32, but elements of f64 are given, .*'
                                                   r"x\.astype\(numpy\.float32\)"):
                self.queue.launch(add, 8, floats, wrong, floats)
        with self.assertRaisesRegex(ndr.Error, r"astype\(numpy\.float32\)"):
            add.prepare(8, self.context.buffer(doubles), None, None)
        total = self.context.kernel("total", REDUCING)
        with self.assertRaisesRegex(ndr.Error, r"points to i32, but elements of i64 .*astype\(numpy\.int32\)"):
            self.queue.launch(total, 8, integers, ndr.Reducer("sum", 0, self.context.empty(1, np.int32)))
        c = np.zeros(8, np.float32)
        self.queue.launch(add, 8, floats, floats.view(np.uint8), c)  # bytes are anything
        self.assertEqual(c[7], 2)
        self.queue.launch(whole, 1, integers, 1, 2, 3, 4)
        self.assertEqual(list(integers[:4]), [1, 2, 3, 4])

    def test_errors__of_another_object_name_the_one_to_pass(self):
        with self.assertRaisesRegex(TypeError, r"takes a Kernel first, but str .*context\.kernel\(name, source\)"):
            self.queue.launch("add", 8)
        with self.assertRaisesRegex(TypeError, "argument 0: list is not an argument; pass a Buffer, .* an array"):
            self.queue.launch(self.kernel("add"), 1, [1.0], None, None)
        for call in self.queue.read, lambda x: self.queue.write(x, x):
            with self.assertRaisesRegex(TypeError, r"takes a Buffer, Shared or Image first, but bytearray"):
                call(bytearray(8))

    def test_errors__of_destroyed_objects_name_them(self):
        x = self.ones()
        kernel = self.kernel("scale")
        other = ndr.Context()
        of_other = other.kernel("scale", KERNELS)
        other.destroy()
        x.destroy()
        x.destroy()
        self.refused("BAD_ARGUMENT", "the buffer has been destroyed", self.queue.launch, kernel, 1, x, 2.0, 1)
        self.refused("BAD_ARGUMENT", "the context has been destroyed", lambda: of_other.info)


class Described(Case):
    def test_described__devices_and_context(self):
        found = ndr.devices()
        self.assertGreater(len(found), 0)
        self.assertIn(self.context.device.name, [device.name for device in found])
        self.assertIn(found[0].type, ("cpu", "gpu", "accelerator", "other"))
        self.assertEqual(len(found[0].max_local_size), 3)
        self.assertEqual(self.context.cache.hits, 0)
        self.assertIn("off", self.context.check_report if os.environ.get("NDR_CHECK", "0") == "0" else "off")
        self.assertIn("on", ndr.Context(check="on").check_report)

    def test_described__kernel(self):
        kernel = self.kernel("add")
        self.assertEqual(kernel.info.arg_count, 3)
        self.assertGreater(kernel.suggest_local(64)[0], 0)
        self.assertGreater(kernel.sub_groups(8).count, 0)
        self.assertIsInstance(kernel.log, str)

    def test_described__version_is_that_of_the_header(self):
        with open(os.path.join(os.environ["NDR_INCLUDE"], "ndr", "ndr.h"), encoding="utf-8") as file:
            version = re.search('NDR_VERSION_STRING "(.*)"', file.read()).group(1)
        self.assertEqual(ndr.version(), version)
        self.assertEqual(ndr.__version__, version)


class Transfers(Case):
    def test_transfers__take_any_buffer_protocol(self):
        x = self.context.buffer(16)
        self.queue.write(x, bytes(range(16)))
        self.queue.write(x, array.array("i", [-1]), offset_bytes=4)
        into = bytearray(16)
        self.assertIs(self.queue.read(x, into), into)
        self.assertEqual(bytes(into), bytes([0, 1, 2, 3, 255, 255, 255, 255]) + bytes(range(8, 16)))
        self.assertEqual(bytes(self.queue.read(x)), bytes(into))
        number = ctypes.c_int(0)
        self.queue.read(x, number, offset_bytes=4)
        self.assertEqual(number.value, -1)

    def test_transfers__stay_inside_of_both_memories(self):
        x = self.context.buffer(16)
        self.refused("OUT_OF_BOUNDS", "17 bytes", self.queue.write, x, bytes(17))
        self.refused("OUT_OF_BOUNDS", "8 bytes from byte 9", self.queue.read, x, bytearray(8), 9)
        self.refused("BAD_ARGUMENT", "is read-only", self.queue.read, x, bytes(8))
        self.refused("BAD_ARGUMENT", "is not contiguous", self.queue.write, x, memoryview(bytes(8))[::2])
        self.assertRaisesRegex(TypeError, "list has no memory", self.queue.write, x, [1, 2])

    def test_transfers__fill_copy_and_view(self):
        x, y = self.context.empty(10), self.context.empty(10)
        self.queue.fill(x, 2)
        self.queue.fill(x, 3.5, offset_bytes=8, size_bytes=4)
        self.queue.fill(y, b"\0\0\0\0")
        self.queue.copy(x, y, 4, 8, 12)
        into = array.array("f", bytes(40))
        self.assertEqual(list(self.queue.read(y, into)), [0, 0, 2, 3.5, 2, 0, 0, 0, 0, 0])
        align = self.context.device.view_align_bytes
        big = self.context.buffer(2 * align)
        part = big.view(align, 8, "f32")
        self.queue.fill(part, 1.5)
        self.assertEqual(list(self.queue.read(part, array.array("f", bytes(8)))), [1.5, 1.5])
        self.assertEqual(part.shape, (2,))
        self.refused("BAD_ARGUMENT", "has_address", lambda: part.address)
        self.assertEqual(self.context.buffer(8, kernels="read", host="write").size, 8)
        self.refused("BAD_ARGUMENT", "host", self.queue.read, self.context.buffer(8, host="none"), bytearray(8))

    def test_transfers__of_rectangles_stay_inside_of_the_array(self):
        x = self.ones()
        host = array.array("f", range(36))
        rect = ndr.Rect((3, 4), 4, source={"origin": (1, 2), "row_pitch_bytes": 40}, to={"row_pitch_bytes": 40})
        self.queue.write_rect(x, rect, host)
        self.assertEqual(self.queue.read(x, array.array("f", bytes(400)))[11], 23)
        self.refused("OUT_OF_BOUNDS", "uses 144 bytes", self.queue.write_rect, x, rect, host[:35])
        y = self.ones()
        self.queue.copy_rect(x, y, rect)
        back = ndr.Rect((2, 2), 4, source={"row_pitch_bytes": 40})
        self.assertEqual(list(self.queue.read_rect(y, back, array.array("f", bytes(16)))), [24, 25, 34, 35])
        self.refused("OUT_OF_BOUNDS", "uses 16 bytes", self.queue.read_rect, y, back, array.array("f", bytes(12)))
        self.queue.read_rect(y, ndr.Rect((0, 2), 4), bytearray(0))

    @needs_numpy
    @needs_numpy
    def test_floats_of_16_bits__are_converted(self):
        values = np.array([[1.5, -2], [0.1, np.inf]], np.float32)
        halves, bfloats = ndr.narrow_floats("f16", values), ndr.narrow_floats("bfloat16", values)
        np.testing.assert_array_equal(halves, values.astype(np.float16))
        np.testing.assert_array_equal(bfloats, np.array([[0x3fc0, 0xc000], [0x3dcd, 0x7f80]], np.uint16))
        np.testing.assert_array_equal(ndr.widen_floats("f16", halves), halves.astype(np.float32))
        np.testing.assert_array_equal(ndr.widen_floats("bf16", bfloats), (bfloats.astype(np.uint32) << 16).view(np.float32))
        self.assertEqual(ndr.narrow_floats("bf16", values[:0]).shape, (0, 2))
        self.refused("BAD_ARGUMENT", "use NDR_DTYPE_F16 or", ndr.narrow_floats, "f32", values)
        self.refused("BAD_ARGUMENT", "but f32 are wanted", ndr.narrow_floats, "f16", values.astype(np.float64))
        x = self.context.empty((2, 2), "bf16")
        self.queue.write(x, bfloats)
        got = self.queue.read(x)
        self.assertEqual((x.dtype, got.dtype, got.shape), ("bf16", np.uint16, (2, 2)))

    def test_transfers__keep_dtype_and_shape(self):
        for dtype in "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 f2".split():
            a = np.arange(6).astype(dtype).reshape(2, 3)
            got = self.queue.read(self.context.buffer(a))
            self.assertEqual((got.dtype, got.shape), (a.dtype, a.shape))
            self.assertTrue((got == a).all())
        pairs = np.zeros(3, dtype=[("first", "i4"), ("second", "f4")])
        pairs["second"] = 2.5
        got = self.queue.read(self.context.buffer(pairs))
        self.assertEqual(got.dtype, pairs.dtype)
        self.assertEqual(got["second"][2], 2.5)
        self.assertEqual(self.queue.read(self.context.empty((0, 3), np.float64)).shape, (0, 3))
        self.refused("BAD_ARGUMENT", "numpy.ascontiguousarray", self.context.buffer, np.ones((4, 4))[:, 1])
        self.assertEqual(self.context.buffer(np.int64(24)).size, 24)

    @needs_numpy
    def test_transfers__that_do_not_wait_keep_the_memory(self):
        x = self.context.empty(1 << 16, "i32")
        held = self.context.event()
        event = self.queue.write(x, np.full(1 << 16, 7, np.int32), wait=False, after=held)
        gc.collect()
        junk = [np.zeros(1 << 16, np.int32) for _ in range(8)]
        held.complete()
        event.wait()
        self.assertTrue((self.queue.read(x) == 7).all())
        into = np.zeros(1 << 16, np.int32)
        held = self.context.event()
        event = self.queue.read(x, into, wait=False, after=held)
        del event
        held.complete()
        self.queue.finish()
        self.assertTrue((into == 7).all())
        self.assertEqual(len(junk), 8)
        self.refused("BAD_ARGUMENT", "into=", self.queue.read, x, wait=False)


class Maps(Case):
    def test_maps__give_a_memoryview_of_the_elements(self):
        x = self.context.empty((2, 5))
        with self.queue.map(x, "write") as view:
            self.assertEqual((view.format, view.shape), ("f", (2, 5)))
            for i in range(2):
                for j in range(5):
                    view[i, j] = 10 * i + j
        with self.queue.map(x, "read", 8, 8) as view:
            self.assertEqual(view.tolist(), [2, 3])
            self.refused("BAD_ARGUMENT", "map", self.queue.fill, x, 0)
        self.queue.fill(x, 0)
        self.refused("OUT_OF_BOUNDS", "byte", self.queue.map, x, "read", 40, 8)

    def test_maps__cannot_leave_a_view_behind(self):
        x = self.ones()
        mapping = self.queue.map(x, "read")
        view = mapping.view
        rest = view[2:]
        self.refused("BAD_ARGUMENT", "cannot be destroyed", x.destroy)
        self.refused("BAD_ARGUMENT", "still uses the mapped memory", mapping.unmap)
        self.assertEqual(rest[0], 1)
        del rest, view
        self.queue.fill(x, 0)
        if np is not None:
            mapping = self.queue.map(x, "read")
            a = np.asarray(mapping.view)
            self.refused("BAD_ARGUMENT", "still uses the mapped memory", mapping.unmap)
            del a
            mapping.unmap()
        x.destroy()

    def test_maps__that_are_dropped_end(self):
        x = self.ones()
        view = self.queue.map(x, "read").view
        self.assertEqual(view[3], 1)
        del view
        self.queue.fill(x, 0)
        view = self.queue.map(x, "read").view
        del x
        gc.collect()
        self.assertEqual(view[3], 0)

    @needs_numpy
    def test_maps__buffer_over_an_array(self):
        a = np.ones(64, np.float32)
        x = self.context.buffer_over(a)
        self.queue.launch(self.kernel("scale"), 64, x, 3.0, 1)
        with self.queue.map(x, "read"):
            self.assertTrue((a == 3).all())


class Launches(Case):
    def test_launches__take_numbers_of_python(self):
        out = self.context.empty(4, "i64")
        self.queue.launch(self.kernel("whole"), 1, out, -(1 << 63), (1 << 64) - 1, 255, -32768)
        got = self.queue.read(out, array.array("q", bytes(32)))
        self.assertEqual(list(got), [-(1 << 63), -1, 255, -32768])
        whole = self.kernel("whole")
        self.refused("BAD_KERNEL_ARGUMENT", "no integer parameter", self.queue.launch, whole, 1, out, 1 << 64, 0, 0, 0)
        self.refused("BAD_KERNEL_ARGUMENT", "cannot hold 256", self.queue.launch, whole, 1, out, 0, 0, 256, 0)
        self.refused("BAD_KERNEL_ARGUMENT", "takes an integer", self.queue.launch, whole, 1, out, 1.5, 0, 0, 0)
        x = self.ones()
        self.queue.launch(self.kernel("scale"), (100,), x, 2.5, True)
        self.assertEqual(self.queue.read(x, array.array("f", bytes(400)))[99], 2.5)
        self.refused("BAD_KERNEL_ARGUMENT", "1e+300", self.queue.launch, self.kernel("scale"), 1, x, 1e300, 1)
        self.assertRaisesRegex(TypeError, "argument 1: str is not an argument", self.queue.launch, whole, 1, out, "x")
        self.assertRaisesRegex(TypeError, "a range has integers", self.queue.launch, whole, 1.5, out)
        self.refused("BAD_RANGE", "1 to 3 dimensions", self.queue.launch, whole, (1, 1, 1, 1), out)

    def test_launches__take_numbers_of_ctypes(self):
        x = self.ones()
        self.queue.launch(self.kernel("scale"), 100, x, ctypes.c_float(2), ctypes.c_short(3))
        self.assertEqual(self.queue.read(x, array.array("f", bytes(400)))[0], 8)
        self.refused("BAD_KERNEL_ARGUMENT", "the double 2 is given", self.queue.launch, self.kernel("scale"), 1, x,
                     ctypes.c_double(2), 1)

    @needs_numpy
    def test_launches__take_scalars_of_numpy(self):
        x, scale = self.ones(), self.kernel("scale")
        for number in (np.float32(2), np.float16(2), np.array(2, np.float32)):
            self.queue.launch(scale, 100, x, number, np.uint8(1))
        self.assertEqual(self.queue.read(x)[0], 8)
        self.refused("BAD_KERNEL_ARGUMENT", "the double 2 is given", self.queue.launch, scale, 1, x, np.float64(2), 1)
        self.refused("BAD_KERNEL_ARGUMENT", "cannot hold", self.queue.launch, scale, 1, x, 2.0, np.int64(1 << 40))

    def test_launches__take_every_kind_of_argument(self):
        class Pair(ctypes.Structure):
            _fields_ = [("first", ctypes.c_int), ("second", ctypes.c_float)]

        out, take = self.ones(), self.kernel("take")
        vector, size = ndr.Vector("f32", 10, 0, 0, 100.0), ndr.NdRange(100, 10)
        values = [Pair(1, 0.5), ndr.Struct(Pair(1, 0.5), "struct pair")]
        if np is not None:
            values.append(np.array([(1, 0.5)], dtype=[("first", "i4"), ("second", "f4")])[0])
        for value in values:
            self.queue.fill(out, 0)
            self.queue.launch(take, size, out, value, vector, ndr.Local("f32", 5, 2), None)
            self.assertEqual(self.queue.read(out, array.array("f", bytes(400)))[99], 111.5)
        other = ndr.Struct(Pair(1, 0.5), "other")
        self.refused("BAD_KERNEL_ARGUMENT", '"p"', self.queue.launch, take, size, out, other, vector,
                     ndr.Local("f32", 10), None)
        self.refused("BAD_KERNEL_ARGUMENT", "f32 holds", ndr.Vector, "f32", "a", "b")
        self.refused("BAD_KERNEL_ARGUMENT", "1 to 3 extents", ndr.Local, "f32")

    def test_launches__take_groups_and_edges(self):
        x, scale = self.ones(), self.kernel("scale")
        self.refused("BAD_RANGE", "is not a multiple", self.queue.launch, scale, ndr.NdRange(100, 16), x, 2.0, 1)
        self.queue.launch(scale, ndr.NdRange(100, 0), x, 2.0, 1)
        self.queue.launch(scale, ndr.NdRange(groups=10, local=10), x, 2.0, 1)
        self.assertEqual(self.queue.read(x, array.array("f", bytes(400)))[99], 4)
        self.refused("BAD_RANGE", "one of the two", ndr.NdRange)
        self.refused("BAD_ARGUMENT", "reject, round_up, split", ndr.NdRange, 1, 1, edge="cut")

    def test_launches__write_reducers(self):
        x = self.context.buffer(array.array("i", [3] * 1000))
        sums = self.context.buffer(array.array("i", [-1, -1]))
        self.queue.launch(self.kernel("total", REDUCING), 1000, x, ndr.Reducer("sum", -5, sums, 1))
        self.assertEqual(list(self.queue.read(sums, array.array("i", bytes(8)))), [-1, 2995])
        self.refused("BAD_ARGUMENT", "bit_xor", ndr.Reducer, "mean", 0, sums)

    @needs_numpy
    def test_launches__take_arrays(self):
        add = self.kernel("add")
        a, b, c = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32), np.empty(1000, np.float32)
        b.flags.writeable = False
        self.queue.launch(add, 1000, a, b, c)
        self.assertTrue((c == a + 1).all())
        self.queue.launch(add, 1000, a, a, a)
        self.assertEqual(a[999], 2 * 999)
        self.refused("BAD_KERNEL_ARGUMENT", "overlap", self.queue.launch, add, 500, a[:600], a[400:], c)
        self.refused("BAD_KERNEL_ARGUMENT", "only a launch takes", add.prepare, 1000, a, b, c)

    def test_launches__prepared(self):
        x, y = self.ones(), self.ones()
        twice = self.kernel("scale").prepare(100, x, 2.0, 1)
        del x
        gc.collect()
        self.queue.run(twice)
        twice.set(0, y)
        self.queue.run(twice, after=self.queue.run(twice))
        self.assertEqual(self.queue.read(y, array.array("f", bytes(400)))[9], 4)
        self.refused("BAD_KERNEL_ARGUMENT", "argument 1", twice.set, 1, y)


class Events(Case):
    def test_events__order_commands(self):
        other = self.context.queue()
        x, scale = self.ones(), self.kernel("scale")
        first = self.queue.launch(scale, 100, x, 2.0, 1)
        second = other.launch(scale, 100, x, 3.0, 1, after=first)
        got = self.queue.read(x, array.array("f", bytes(400)), after=[first, second])
        self.assertEqual(got[9], 6)
        ndr.wait_all([first, second])
        self.assertIn(ndr.wait_any([first, second], 3600), (0, 1))
        self.assertEqual(second.state, "complete")
        self.refused("BAD_ARGUMENT", "profiling", lambda: second.times)
        self.queue.barrier().wait()
        self.queue.mark().wait(3600)
        self.queue.flush()
        self.queue.finish(3600)
        self.assertGreater(self.queue.finish_timed(), 0)

    def test_events__have_times(self):
        timed = self.context.queue(is_profiling=True)
        event = timed.launch(self.kernel("scale"), 100, self.ones(), 2.0, 1)
        self.assertGreaterEqual(event.times.ended_ns, event.times.queued_ns)
        self.assertGreaterEqual(event.elapsed_ns, 0)

    def test_events__of_the_program(self):
        good, bad = self.context.event(), self.context.event()
        self.refused("TIMEOUT", "", good.wait, 0)
        self.refused("TIMEOUT", "", good.wait, -1)
        good.complete()
        good.wait()
        bad.fail(ndr.Status.OUT_OF_BOUNDS, "the reason")
        self.refused("OUT_OF_BOUNDS", "the reason", bad.wait)
        self.refused("OUT_OF_BOUNDS", "the reason", self.queue.barrier, bad)

    def test_events__call_functions(self):
        said, called = [], threading.Event()
        self.queue.mark().on_end(lambda error: (said.append(error), called.set()))
        called.wait()
        self.assertEqual(said, [None])
        held = self.context.event()
        called.clear()
        held.on_end(lambda error: (said.append(error.status), called.set()))
        held.fail(ndr.Status.TIMEOUT, "why")
        called.wait()
        self.assertEqual(said[1], ndr.Status.TIMEOUT)

    def test_events__of_host_tasks(self):
        calls = []
        self.queue.host_task(lambda: calls.append(threading.get_ident())).wait()
        self.assertNotEqual(calls, [threading.get_ident()])

        def fails():
            raise ndr.Error(ndr.Status.LIMIT_EXCEEDED, "too much")

        event = self.queue.host_task(fails)
        error = self.refused("LIMIT_EXCEEDED", "LIMIT_EXCEEDED", event.wait)
        self.assertEqual(str(error.__cause__), "too much")
        seen, before = [], threading.excepthook
        threading.excepthook = lambda args: seen.append(args.exc_value)
        try:
            error = self.refused("BAD_ARGUMENT", "", self.queue.host_task(lambda: 1 // 0).wait)
        finally:
            threading.excepthook = before
        self.assertIsInstance(error.__cause__, ZeroDivisionError)
        self.assertIsInstance(seen[0], ZeroDivisionError)

    def test_events__are_waited_for_without_the_interpreters_lock(self):
        held = self.context.event()
        calls = [held.wait, self.queue.finish, lambda: ndr.wait_all([held]), lambda: ndr.wait_any([held]),
                 lambda: self.queue.read(x, bytearray(8)), lambda: self.queue.map(x, "read").unmap()]
        x = self.context.buffer(8)
        self.queue.barrier(after=held)
        threads = [threading.Thread(target=call) for call in calls]
        for each in threads:
            each.start()
        held.complete()
        for each in threads:
            each.join()


class OtherMemory(Case):
    def test_other_memory__shared(self):
        if not self.context.shared_info().is_available:
            self.skipTest("the device has no shared memory")
        x, y = self.context.shared(100, "f32"), self.context.shared(100, "f32")
        scale = self.kernel("scale")
        self.queue.write(x, array.array("f", [1] * 100))
        self.queue.prefetch(x)
        self.queue.launch(scale, 100, x, 3.0, 1, ndr.Reaches(y))
        self.queue.launch(scale, 50, x.at(200), 2.0, 1)
        self.queue.copy(x, y)
        with self.queue.map(y, "read") as view:
            self.assertEqual((view[0], view[99], len(view)), (3, 6, 100))
        self.refused("OUT_OF_BOUNDS", "bytes", self.queue.read, y, bytearray(8), 396)
        before = x.at(-4)
        self.refused("BAD_KERNEL_ARGUMENT", "not in the shared allocation", self.queue.launch, scale, 1, before, 1.0, 1)
        self.assertNotEqual(x.address, 0)
        if self.context.shared_info("fine").is_available:
            fine = self.context.shared(4, "i32", "fine")
            view = fine.view()
            view[2] = 7
            self.refused("BAD_ARGUMENT", "cannot be destroyed", fine.destroy)
            self.assertEqual(list(self.queue.read(fine, array.array("i", bytes(16))))[2], 7)

    def test_other_memory__buffers_with_addresses(self):
        if not self.context.device.has_buffer_addresses:
            self.skipTest("buffers of the device have no addresses")
        x = self.context.buffer(array.array("f", [1] * 4), has_address=True)
        double = self.kernel("twice", "kernel void twice(ulong at) { ((global float *)at)[get_global_id(0)] *= 2; }")
        self.queue.launch(double, 3, x.address + 4, ndr.Reaches(x))
        self.assertEqual(list(self.queue.read(x, array.array("f", bytes(16)))), [1, 2, 2, 2])

    def test_other_memory__images(self):
        try:
            formats = self.context.image_formats()
        except ndr.Error as why:
            self.assertEqual(why.status, ndr.Status.UNSUPPORTED)
            self.skipTest("the device has no images")
        self.assertIn(("r", "f32"), formats)
        host = array.array("f", range(20))
        a = self.context.image((4, 5), "r", "f32", host)
        b = self.context.image((4, 5), "r", "f32")
        self.queue.fill(b, (7, 0, 0, 0))
        self.queue.copy(a, b, origin=(1, 1), extent=(2, 3), to_origin=(0, 0))
        got = self.queue.read(b, array.array("f", bytes(80)))
        self.assertEqual(list(got[:6]), [6, 7, 8, 7, 7, 11])
        self.queue.write(a, array.array("f", [-1, -2]), origin=(3, 0), extent=(1, 2))
        self.assertEqual(list(self.queue.read(a, array.array("f", bytes(8)), origin=(3, 1), extent=(1, 2))), [-2, 17])
        self.refused("OUT_OF_BOUNDS", "80 bytes", self.queue.read, a, bytearray(79))
        self.refused("OUT_OF_BOUNDS", "has 80 bytes", self.context.image, (4, 5), "r", "f32", bytes(79))
        mapping = self.queue.map(a, "read", origin=(1, 1), extent=(2, 3))
        view = mapping.view
        self.assertEqual(view[mapping.row_pitch_bytes:][:4].cast("f")[0], 11)
        del view
        mapping.unmap()
        if np is not None:
            rgba = np.arange(4 * 5 * 4, dtype=np.uint8).reshape(4, 5, 4)
            image = self.context.image((4, 5), "rgba", "unorm8", rgba)
            self.assertTrue((self.queue.read(image) == rgba).all())
        sampler = self.context.sampler(is_linear=True, addressing="clamp")
        sample = self.kernel("sample", """
            kernel void sample(read_only image2d_t from, sampler_t how, global float *to)
            { to[0] = read_imagef(from, how, (float2)(1.0f, 0.5f)).x; }""")
        to = self.context.empty(1)
        self.queue.launch(sample, 1, b, sampler, to)
        self.assertEqual(self.queue.read(to, array.array("f", bytes(4)))[0], 6.5)


class Operations(Case):
    def test_operations__reduce(self):
        x = self.context.buffer(array.array("i", [3, -5, 4]))
        self.assertEqual([self.queue.reduce(op, x) for op in ("sum", "min", "max")], [2, -5, 4])
        self.assertEqual(self.queue.reduce("sum", x, offset=1, count=1, method="recursive"), -5)
        to = self.context.empty(2, "i32")
        self.queue.reduce("max", x, to, to_offset=1).wait()
        self.assertEqual(self.queue.read(to, array.array("i", bytes(8)))[1], 4)
        self.refused("OUT_OF_BOUNDS", "input", self.queue.reduce, "sum", x, count=4)
        y = self.context.buffer(array.array("f", [2e38, 1, 2e38, -2e38, -2e38]))
        self.assertEqual(self.queue.reduce("sum", y, numerics="exact"), 1)
        self.assertEqual(self.queue.reduce("sum", y, count=1, offset=1, factors=y, factors_offset=1), 1)

    def test_operations__matmul(self):
        a = self.context.buffer(array.array("f", [1] * 6))
        b = self.context.buffer(array.array("f", [2] * 12))
        c = self.context.buffer(array.array("f", [1] * 8))
        self.refused("BAD_ARGUMENT", "2 dimensions", self.queue.matmul, a, b, c)
        matrices = ndr.Matrix(a, 2, 3), ndr.Matrix(b, 3, 4), ndr.Matrix(c, 2, 4)
        self.queue.matmul(*matrices, beta=10).wait()
        self.assertEqual(self.queue.reduce("sum", c), 8 * 16)
        self.queue.matmul(*matrices, accuracy="tf32")
        self.assertEqual(self.queue.reduce("sum", c), 8 * 6)
        doubles = ndr.Matrix(self.context.empty((3, 4), "f64"))
        self.refused("BAD_ARGUMENT", "f32 and f64; give them one", self.queue.matmul, matrices[0], doubles, matrices[2])
        bytes_ = [ndr.Matrix(self.context.buffer(array.array("b", [-3] * 6)), *shape) for shape in ((2, 3), (3, 2))]
        sums = self.context.buffer(array.array("i", [0] * 4))
        self.queue.matmul(*bytes_, ndr.Matrix(sums, 2, 2)).wait()
        self.assertEqual(self.read_ints(sums), [27] * 4)
        self.refused("BAD_ARGUMENT", "m", self.context.tune, 0, 1, 1)

    def ints(self, *values):
        return self.context.buffer(array.array("i", values))

    def read_ints(self, buffer):
        return list(self.queue.read(buffer, array.array("i", bytes(buffer.size))))

    def test_operations__scan_select_and_sort(self):
        x, to, flags = self.ints(4, 1, 3, 2), self.context.empty(4, "i32"), self.context.buffer(bytes([1, 0, 0, 1]))
        self.queue.scan(op="sum", input=x, output=to, is_exclusive=True)
        self.assertEqual(self.read_ints(to), [0, 4, 5, 8])
        self.queue.scan(op="max", input=(x, 1), count=3, output=(to, 1))
        self.assertEqual(self.read_ints(to), [0, 1, 3, 3])
        columns = ndr.Array(x, shape=(2, 2), dtype="i32")
        self.queue.array_scan(op="sum", axis=0, input=columns, output=ndr.Array(to, shape=(2, 2)))
        self.assertEqual(self.read_ints(to), [4, 1, 7, 3])
        count = self.context.empty(1, "u64")
        self.queue.select(input=x, flags=flags, output=to, selected=count)
        self.assertEqual(self.read_ints(to)[:2], [4, 2])
        self.assertEqual(self.queue.read(count, array.array("Q", bytes(8)))[0], 2)
        places = self.ints(0, 1, 2, 3)
        self.queue.sort(keys=x, sorted_keys=x, values=places, sorted_values=places, value_bytes=4, is_descending=True)
        self.assertEqual((self.read_ints(x), self.read_ints(places)), ([4, 3, 2, 1], [0, 2, 3, 1]))
        self.queue.top_k(keys=x, k=2, top_keys=(to, 2), top_indexes=(indexes := self.context.empty(2, "u64")))
        self.assertEqual(self.read_ints(to)[2:], [1, 2])
        self.assertEqual(list(self.queue.read(indexes, array.array("Q", bytes(16)))), [3, 2])
        self.queue.sort(keys=x, sorted_keys=to, length=2)
        self.assertEqual(self.read_ints(to), [3, 4, 1, 2])
        merged = self.context.empty(6, "i32")
        self.queue.merge_sort(input=x, output=x, less="a < b")
        self.queue.merge(x, self.ints(0, 3), merged)
        self.assertEqual(self.read_ints(merged), [0, 1, 2, 3, 3, 4])
        self.refused("BAD_ARGUMENT", "no member 'descending'", self.queue.sort, keys=x, descending=True)
        self.refused("OUT_OF_BOUNDS", "output", self.queue.scan, op="sum", input=x, output=(to, 1))

    def test_transfers__between_contexts(self):
        with ndr.Context() as other:
            queue, x, y = other.queue(), self.ints(1, 2, 3), other.empty(3, "i32")
            self.queue.transfer(x, queue, y)
            self.queue.transfer(x, queue, y, 4, 0, 4, wait=False).wait()
            self.assertEqual(list(queue.read(y, array.array("i", bytes(12)))), [2, 2, 3])

    def test_operations__of_a_group(self):
        with ndr.Group() as group:
            x, y = array.array("i", range(1000)), array.array("i", [1] * 1000)
            self.assertGreaterEqual(len(group), 1)
            self.assertEqual(group.reduce(x), 499500)
            self.assertEqual(group.reduce(x, op="max", numerics="reproducible"), 999)
            group.map("y = a * x + y + (int)i", scalars={"a": 2}, inputs={"x": x, "y": y}, outputs={"y": y})
            self.assertEqual(list(y), [3 * i + 1 for i in range(1000)])
            group.scan(x, x)
            self.assertEqual(x[999], 499500)
            a, b = memoryview(array.array("f", [1, 2, 3, 4])).cast("B"), array.array("f", [1, 0, 0, 2])
            a, b, c = a.cast("f", (2, 2)), memoryview(b).cast("B").cast("f", (2, 2)), array.array("f", bytes(16))
            group.matmul(a, b, memoryview(c).cast("B").cast("f", (2, 2)))
            self.assertEqual(list(c), [1, 4, 3, 8])
            self.refused("BAD_ARGUMENT", "arrays have one length", group.map, "x = 1", outputs={"x": x, "c": c})
            self.refused("BAD_ARGUMENT", "must be 2 x 2", group.matmul, a, b, memoryview(c).cast("B").cast("f", (4, 1)))

    def test_operations__count_draw_and_move(self):
        x, to = self.ints(4, 1, 3, 2, 3), self.context.empty(4, "u32")
        self.queue.histogram(input=x, output_dtype="u32", bins=4, lower=1, upper=5, output=to)
        self.assertEqual(self.read_ints(to), [1, 1, 2, 1])
        self.queue.random(distribution="below", below=1, low=6, output=(to, 3))
        self.assertEqual(self.read_ints(to), [1, 1, 2, 6])
        matrix, turned = self.context.buffer(array.array("i", range(6))), self.context.empty(6, "i32")
        self.queue.array_copy(input=ndr.Array(matrix, (2, 3)), output=ndr.Array(turned, (2, 3), (1, 2)))
        self.assertEqual(self.read_ints(turned), [0, 3, 1, 4, 2, 5])
        got = self.context.empty(3, "i32")
        self.queue.gather(matrix, self.ints(5, -1, 2), got)
        self.assertEqual(self.read_ints(got), [5, 0, 2])
        self.queue.scatter(got, (self.ints(9, 2, 0, 6), 1), turned)
        self.assertEqual(self.read_ints(turned), [0, 3, 5, 4, 2, 5])
        self.refused("BAD_ARGUMENT", "1 strides", ndr.Array, matrix, (2, 3), (1,))
        with self.assertRaisesRegex(TypeError, "indexes is a Buffer"):
            self.queue.gather(matrix, ndr.Array(matrix, 3), got)

    def test_operations__map(self):
        x, y = self.context.buffer(array.array("f", [1, 2, 3])), self.context.buffer(array.array("f", [10, 20, 30]))
        self.queue.map_elements(statement="y = a * x + y", scalars={"a": 2.0}, inputs={"x": x, "y": y}, outputs={"y": y})
        self.assertEqual(list(self.queue.read(y, array.array("f", bytes(12)))), [12, 24, 36])
        total = self.context.empty(1, "f64")
        self.queue.map_reduce(dtype="f64", op="sum", expression="(double)x * y", inputs={"x": x, "y": y}, output=total)
        self.assertEqual(self.queue.read(total, array.array("d", bytes(8)))[0], 12 + 48 + 108)
        rows = ndr.Array(self.context.buffer(array.array("f", range(6))), (2, 3))
        least, sums = self.context.empty(2, "f32"), self.context.empty(2, "f32")
        self.queue.map_reduce(inputs={"x": rows}, axes=1 << 1, values={
            "low": {"dtype": "f32", "op": "min", "expression": "x", "output": least},
            "sum": {"dtype": "f32", "op": "sum", "expression": "x", "output": sums}})
        self.assertEqual(list(self.queue.read(least, array.array("f", bytes(8)))), [0, 3])
        self.assertEqual(list(self.queue.read(sums, array.array("f", bytes(8)))), [3, 12])
        self.refused("BUILD_FAILED", "expression", self.queue.map_elements, statement="y = z", outputs={"y": y})

    def test_operations__map_reduce(self):
        x = ndr.Array(self.context.buffer(array.array("f", [1, 5, 3, 4, 2, 6])), (2, 3))
        sums, mean, most = self.context.empty(3, "f32"), self.context.empty(3, "f32"), self.context.empty(2, "u64")
        self.queue.map_reduce(op="sum", dtype="f32", expression="x", inputs={"x": x}, axes=1, output=sums)
        self.assertEqual(list(self.queue.read(sums, array.array("f", bytes(12)))), [5, 7, 9])
        self.queue.map_reduce(values={"mean": {"dtype": "f32", "op": "sum", "expression": "x", "finish": "r.mean / n",
                                               "output": mean},
                                      "most": {"dtype": "f32", "op": "arg_max", "expression": "x", "output": most}},
                              scalars={"n": 3.0}, inputs={"x": x}, axes=2)
        self.assertEqual(list(self.queue.read(mean, array.array("f", bytes(12))))[:2], [3, 4])
        self.assertEqual(list(self.queue.read(most, array.array("Q", bytes(16)))), [1, 2])

    def test_operations__warm(self):
        os.environ["NDR_CACHE"] = os.path.join(os.environ["NDR_TEST_SCRATCH"], "store")
        try:
            context, said = ndr.Context(), []
            both = [{"kernel": {"name": name, "source": KERNELS}} for name in ("add", "misspelt")]
            self.refused("NOT_FOUND", "misspelt", context.warm, both, lambda *progress: said.append(progress))
            self.assertEqual(sorted(each[0] for each in said), [0, 1])
            self.assertEqual([each[1].status for each in said if each[1]], [ndr.Status.NOT_FOUND])
            matrix = {"rows": 64, "cols": 64}
            context.warm([both[0], {"reduce": {"dtype": "f32", "op": "sum", "count": 1000}},
                          {"matmul": {"dtype": "f32", "a": matrix, "b": matrix, "c": matrix}}])
        finally:
            os.environ["NDR_CACHE"] = "off"


class Process(unittest.TestCase):
    def test_process__traces(self):
        tables = []
        ndr.trace(file=os.path.join(os.environ["NDR_TEST_SCRATCH"], "trace.json"), table=tables.append)
        with self.assertRaisesRegex(ndr.Error, "trace"):
            ndr.trace(table=print)
        with ndr.Context() as context, context.queue() as queue, ndr.region("the region", 400, 100):
            queue.launch(context.kernel("scale", KERNELS), 100, context.buffer(bytes(400)), 2.0, 1).wait()
        del context, queue
        gc.collect()
        self.assertIn("the region", tables[0])

    def test_process__logs_to_stderr(self):
        program = "import ndr; ndr.log('error')\ntry: ndr.Context('no such device')\nexcept ndr.Error: pass"
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr
        self.assertIn("no such device", said)
        with self.assertRaisesRegex(ndr.Error, "off, error, warn, info, debug"):
            ndr.log("loud")

    def test_process__objects_go_in_any_order(self):
        program = f"""
import gc
import ndr
KERNELS = '''{KERNELS}'''
class Held:
    # An event that ends well when it goes: if it failed, PoCL 3.1 might crash while its context goes.
    def __init__(self, context):
        self.event = context.event()
    def __del__(self):
        if self.event.state != "complete":
            self.event.complete()
def objects():
    context = ndr.Context()
    queue, kernel, x = context.queue(), context.kernel("scale", KERNELS), context.buffer(bytes(400))
    held = Held(context)
    made = [context, held, queue, kernel, x, kernel.prepare(100, x, 2.0, 1)]
    made.append(queue.launch(kernel, 100, x, 2.0, 1, after=held.event))
    made.append(queue.write(x, bytes(400), wait=False))
    made.append(queue.host_task(lambda: None))
    if context.shared_info().is_available:
        shared = context.shared(100, "f32")
        made += [shared, queue.launch(kernel, 100, shared, 2.0, 1, after=held.event)]
        made.append(kernel.prepare(100, shared, 2.0, 1))
    return made
for i in range(12):
    made = objects()
    while made:
        del made[(5 * i + 7) % len(made)]
        gc.collect()
loop = objects()
loop.append(loop)         # a circle, which only the collector ends
del loop
gc.collect()
left = objects()          # goes with the interpreter; work that runs then might crash Intel's runtime
left.append(left)
left[1].event.complete()
left[2].finish()
print("done")
"""
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "done\n", ""))

    def test_process__threads_share_objects(self):
        with ndr.Context() as context, context.queue() as queue:
            kernel = context.kernel("scale", KERNELS)
            wrong = []

            def work():
                for i in range(50):
                    x = context.buffer(array.array("f", [1] * 64))
                    queue.launch(kernel, 64, x, float(i), 1)
                    if set(queue.read(x, array.array("f", bytes(256)))) != {float(i)}:
                        wrong.append(i)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            self.assertEqual(wrong, [])

    def test_process__needs_no_numpy(self):
        program = f"""
import sys
sys.modules["numpy"] = None
import ndr
with ndr.Context() as context, context.queue() as queue:
    x = context.empty(4)
    queue.fill(x, 1)
    queue.launch(context.kernel("scale", '''{KERNELS}'''), 4, x, 2.0, 1)
    print(queue.read(x).tolist(), queue.reduce("sum", x))
"""
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((ran.stdout, ran.stderr), ("[2.0, 2.0, 2.0, 2.0] 8.0\n", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)

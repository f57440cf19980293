/* test_cpp.cpp - ndr.hpp: each part of it on a device, and what ndr_args.h does in C++.
 *
 * Compiled as C++17 without exceptions and RTTI, and as C++20, where ndr::span is std::span. */
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#undef fail /* CMocka's macro, where ndr::event has a function */
#define STOP(...) (print_error(__VA_ARGS__), _fail(__FILE__, __LINE__))

#include "ndr/ndr.hpp"

namespace
{

using namespace std::chrono_literals;

/* ---- what the tests share ---- */

constexpr char kernels[] = R"(
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
kernel void warn(global int *x) { int unused; x[0] = 1; }
)";

constexpr char reducing[] = R"(
#include <ndr/reduction.clh>
kernel void total(global const int *x, NDR_REDUCTION(1, (SUM, int, sum)))
{
    NDR_REDUCE(i, 1, sum) { NDR_COMBINE(sum, x[ndr_global_id(i, 0)]); }
}
)";

struct pair {
    int first;
    float second;
};

/* The value of a result, which must not be an error. */
template <class T> T need(ndr::result<T> made)
{
    if (!made) STOP("%s\n", made.error().what());
    return std::move(*made);
}
void need(ndr::result<void> done)
{
    if (!done) STOP("%s\n", done.error().what());
}

/* An error of this status, whose sentence contains `part`. */
template <class T> void refused(ndr_status status, const char *part, const ndr::result<T> &made)
{
    if (made) STOP("nothing was refused; %s was expected\n", part);
    assert_string_equal(ndr_status_name(made.status()), ndr_status_name(status));
    if (!std::strstr(made.error().what(), part)) STOP("\"%s\" is not in: %s\n", part, made.error().what());
}

struct setting {
    ndr::context context = need(ndr::context::create());
    ndr::queue queue = need(ndr::queue::create(context));

    template <class T> ndr::buffer<T> of(const std::vector<T> &contents) const
    {
        return need(ndr::buffer<T>::create_from(context, contents));
    }
    ndr::kernel kernel(const char *name, const char *source = kernels) const
    {
        return need(ndr::kernel::from_source(context, name, source));
    }
};

const std::vector<float> ones(100, 1.0f);

/* ---- results and handles ---- */

void test_cpp__result_keeps_the_error(void **)
{
    const setting s;
    const ndr::result<ndr::kernel> wrong = ndr::kernel::from_source(s.context, "misspelt", kernels);
    const ndr::result<ndr::kernel> broken = ndr::kernel::from_source(s.context, "x", "kernel void x() { y = 1; }");
    refused(NDR_NOT_FOUND, "has no kernel called \"misspelt\"", wrong);
    refused(NDR_BUILD_FAILED, "y", broken);
    assert_true(wrong.error().build_log().empty());
    assert_non_null(std::strstr(broken.error().build_log().c_str(), "y"));
    assert_string_equal(wrong.error().status_name(), "NDR_NOT_FOUND");
    assert_int_equal(ndr::context::create("no device has this name").error().cl_error(), 0);
    assert_true(broken.error().cl_error() != 0);
}

ndr::result<size_t> count_devices(bool fails)
{
    NDR_LET(all, ndr::devices());
    NDR_LET(context, ndr::context::create(fails ? "no device has this name" : nullptr));
    NDR_DO(need(ndr::queue::create(context)).finish());
    return all.size();
}

void test_cpp__errors_are_returned_to_the_caller(void **)
{
    assert_true(need(count_devices(false)) > 0);
    refused(NDR_NO_MATCHING_DEVICE, "no device has this name", count_devices(true));
}

void test_cpp__handle_moves_and_is_destroyed_once(void **)
{
    const setting s;
    ndr::buffer<float> a = s.of(ones), b = std::move(a);
    assert_null(a.get());
    assert_int_equal(b.size(), ones.size());
    a = std::move(b);
    assert_true(a && !b);
    ndr_buffer *raw = a.release();
    const ndr::buffer<float> owner(raw);
    assert_null(a.get());
    assert_ptr_equal(owner.get(), raw);
    a.reset();
    assert_int_equal(a.size_bytes(), 0);
}

void test_cpp__context_describes_itself(void **)
{
    const setting s;
    ndr_context_desc desc{};
    desc.check = NDR_CHECK_ON;
    const ndr::context checked = need(ndr::context::create(desc));
    assert_non_null(std::strstr(need(checked.check_report()).c_str(), "on"));
    assert_true(need(s.context.device()).compute_units > 0);
    assert_int_equal(need(s.context.cache()).hits, 0);
    assert_string_equal(ndr::version(), NDR_VERSION_STRING);
    assert_string_equal(ndr::name(ndr::dtype_of<uint16_t>), "u16");
    assert_int_equal(ndr::size_bytes(NDR_DTYPE_F64), 8);
    assert_int_equal(ndr::f16_from_float(1.5f), 0x3e00);
    assert_int_equal(ndr::bf16_from_float(1.5f), 0x3fc0);
    assert_true(ndr::f16_to_float(0x3e00) == 1.5f && ndr::bf16_to_float(0x3fc0) == 1.5f);
    const std::vector<uint16_t> bits = need(ndr::narrow_floats(NDR_DTYPE_BF16, { 1.5f, -2 }));
    assert_true((bits == std::vector<uint16_t>{ 0x3fc0, 0xc000 }));
    assert_true((need(ndr::widen_floats(NDR_DTYPE_BF16, bits)) == std::vector<float>{ 1.5f, -2 }));
    refused(NDR_BAD_ARGUMENT, "dtype is u16", ndr::widen_floats(NDR_DTYPE_U16, bits));
    assert_string_equal(ndr::name(NDR_DEVICE_TYPE_CPU), "cpu");
    static_assert(ndr::dtype_of<pair> == NDR_DTYPE_NONE && ndr::dtype_of<double> == NDR_DTYPE_F64);
}

/* ---- transfers ---- */

void test_cpp__transfer_stays_inside_of_both_memories(void **)
{
    const setting s;
    const ndr::buffer<float> x = s.of(ones);
    std::vector<float> more(101, 2.0f);
    refused(NDR_OUT_OF_BOUNDS, "404 bytes from byte 0", s.queue.write(x, more));
    refused(NDR_OUT_OF_BOUNDS, "404 bytes from byte 0", s.queue.read(x, more));
    refused(NDR_OUT_OF_BOUNDS, "bytes", s.queue.fill(x, 1.0f, SIZE_MAX / 2, 1));
    need(s.queue.write(x, ndr::span<const float>(more.data(), 3), 97));
    const float tail[] = { 5, 6 };
    need(s.queue.write(x, tail, 1));
    need(s.queue.fill(x, 7.0f, 10, 2));
    const std::vector<float> all = need(s.queue.read(x));
    float part[4];
    need(s.queue.read(x, part, 96));
    assert_true(part[0] == 1 && part[1] == 2 && part[3] == 2);
    assert_true(all[0] == 1 && all[1] == 5 && all[2] == 6 && all[3] == 1 && all[10] == 7 && all[12] == 1);
}

void test_cpp__transfers_between_contexts_and_groups(void **)
{
    const setting s;
    const ndr::context other = need(ndr::context::create());
    const ndr::queue far = need(ndr::queue::create(other));
    const ndr::buffer<float> x = s.of(ones), y = need(ndr::buffer<float>::create(other, 10));
    ndr::event done;
    need(s.queue.transfer(x, 0, far, y, 2, 5));
    need(s.queue.transfer(x, 0, far, y, 0, 2, &done));
    need(done.wait());
    assert_true(need(far.read(y))[6] == 1);
    ndr_context *const contexts[] = { s.context.get(), other.get() };
    ndr_group_desc ranks = {};
    ranks.contexts = contexts;
    ranks.context_count = 2;
    const ndr::group group = need(ndr::group::create(ranks));
    assert_int_equal(group.size(), 2);
    int values[3] = { 1, 2, 3 }, sum = 0;
    ndr_group_reduce_desc desc = {};
    desc.dtype = NDR_DTYPE_I32, desc.op = NDR_OP_SUM, desc.input = values, desc.count = 3, desc.output = &sum;
    need(group.reduce(desc));
    assert_int_equal(sum, 6);
    ndr_group_scan_desc scan = {};
    scan.dtype = NDR_DTYPE_I32, scan.op = NDR_OP_SUM, scan.input = scan.output = values, scan.count = 3;
    need(group.scan(scan));
    assert_int_equal(values[2], 6);
    const ndr_group_array array = { "v", NDR_DTYPE_I32, values, values };
    ndr_group_map_desc map = {};
    map.statement = "v *= 2", map.arrays = &array, map.array_count = 1, map.count = 3;
    need(group.map(map));
    assert_int_equal(values[0], 2);
    float one[1] = { 3 }, product[1] = { 0 };
    ndr_group_matmul_desc matmul = {};
    matmul.dtype = NDR_DTYPE_F32, matmul.m = matmul.n = matmul.k = 1, matmul.a = matmul.b = one, matmul.c = product;
    need(group.matmul(matmul));
    assert_true(product[0] == 9);
}

void test_cpp__buffers_copy_view_and_map(void **)
{
    const setting s;
    const ndr::buffer<float> x = s.of(ones), y = need(ndr::buffer<float>::create(s.context, 100));
    need(s.queue.copy(x, y));
    need(s.queue.fill(y, 3.0f));
    need(s.queue.copy(x, 0, y, 50, 50));
    const ndr::buffer<uint32_t> bits = need(y.view<uint32_t>(0, 2));
    assert_int_equal(need(s.queue.read(bits))[1], 0x40400000);
    {
        ndr::mapped<float> host = need(s.queue.map(y, NDR_MAP_READ_WRITE, 49, 2));
        assert_int_equal(host.size(), 2);
        assert_true(host[0] == 3 && host[1] == 1);
        for (float &each : host) each = 9;
        refused(NDR_BAD_ARGUMENT, "map", s.queue.read(y));
        ndr::mapped<float> moved = std::move(host);
        need(moved.unmap());
    }
    {
        const auto host = need(s.queue.map(y, NDR_MAP_READ));
    } /* unmapped here */
    assert_true(need(s.queue.read(y))[50] == 9);
    refused(NDR_OUT_OF_BOUNDS, "byte", s.queue.map(y, NDR_MAP_READ, 99, 2));
    ndr_buffer_desc desc{};
    desc.size_bytes = 8;
    desc.host = NDR_ACCESS_NONE;
    refused(NDR_BAD_ARGUMENT, "host", s.queue.read(need(ndr::buffer<float>::create(s.context, desc))));
    std::vector<float> over(64, 4.0f);
    assert_true(need(s.queue.read(need(ndr::buffer<float>::create_over(s.context, over))))[63] == 4);
    refused(NDR_LIMIT_EXCEEDED, "bytes", ndr::buffer<double>::create(s.context, SIZE_MAX / 2));
    refused(NDR_BAD_ARGUMENT, "has_address", x.address());
}

void test_cpp__rectangle_stays_inside_of_the_span(void **)
{
    const setting s;
    const ndr::buffer<float> x = s.of(ones), y = s.of(ones);
    ndr_rect_desc rect{};
    rect.extent = ndr::range(3, 4);
    rect.element_bytes = sizeof(float);
    rect.from.row_pitch_bytes = rect.to.row_pitch_bytes = 10 * sizeof(float);
    rect.from.origin[0] = 1;
    rect.from.origin[1] = 2;
    std::vector<float> host(36); /* the last element is (3, 5) of rows of 10 */
    std::iota(host.begin(), host.end(), 0.0f);
    need(s.queue.write_rect(x, rect, host));
    assert_true(need(s.queue.read(x))[11] == 23);
    host.pop_back();
    refused(NDR_OUT_OF_BOUNDS, "uses 144 bytes of the host's memory, but its span has 140",
            s.queue.write_rect(x, rect, host));
    need(s.queue.copy_rect(x, y, rect));
    need(s.queue.read_rect(y, rect, ndr::span<float>(host.data(), 24)));
    refused(NDR_OUT_OF_BOUNDS, "uses 96 bytes", s.queue.read_rect(y, rect, ndr::span<float>(host.data(), 23)));
    rect.extent.size[0] = 0;
    need(s.queue.read_rect(y, rect, ndr::span<float>()));
    rect.extent = ndr::range(2, 3, 4);
    rect.to = ndr_rect_side{};
    rect.to.row_pitch_bytes = 16;
    rect.to.plane_pitch_bytes = 64;
    refused(NDR_OUT_OF_BOUNDS, "uses 112 bytes", s.queue.read_rect(y, rect, ndr::span<float>(host.data(), 27)));
}

/* ---- launches ---- */

void test_cpp__launches_with_checked_types(void **)
{
    const setting s;
    const ndr::buffer<float> a = s.of(ones), b = s.of(ones), c = need(ndr::buffer<float>::create(s.context, 100));
    const ndr::kernel plain = s.kernel("add");
    const auto add = need(plain.typed<void(const float *, const float *, float *)>());
    const auto scale = need(s.kernel("scale").typed<void(float *, float, int)>());
    need(s.queue.launch(plain, ndr::range(100), a, b, c));
    need(s.queue.launch(add, ndr::range(50), a, c, c));
    need(s.queue.launch(scale, ndr::nd_range(ndr::range(100), ndr::range(10)), c, 10.0f, short{ 2 }));
    const std::vector<float> sum = need(s.queue.read(c));
    assert_true(sum[0] == 300 && sum[99] == 200);
    refused(NDR_BAD_KERNEL_ARGUMENT, "takes 3 arguments, but its type in the program has 1",
            plain.typed<void(float *)>());
    refused(NDR_BAD_KERNEL_ARGUMENT, "takes 3 arguments", s.queue.launch(plain, ndr::range(1), a));
    refused(NDR_BAD_KERNEL_ARGUMENT, "cannot hold", s.queue.launch(scale, ndr::range(1), c, 1.0f, INT64_MAX));
    assert_int_equal(need(plain.info()).arg_count, 3);
    assert_true(need(plain.suggest_local(ndr::range(64))).size[0] > 0);
    assert_true(need(plain.sub_groups(ndr::range(8))).count > 0);
    need(s.kernel("warn").log());
    refused(NDR_NOT_FOUND, "nowhere.cl", ndr::kernel::from_file(s.context, "add", std::string("nowhere.cl")));
}

void test_cpp__launches_with_every_kind_of_argument(void **)
{
    const setting s;
    const ndr::buffer<float> out = s.of(ones);
    const ndr::kernel take = s.kernel("take");
    const pair p = { 1, 0.5f };
    const ndr_nd_range range = ndr::nd_range(ndr::range(100), ndr::range(10));
    const auto typed =
        need(take.typed<void(float *, pair, ndr::vector_value<float, 4>, ndr::local_memory<float>, float *)>());
    need(s.queue.launch(take, range, out, ndr::value(p, "struct pair"), ndr::vec<float>(10, 0, 0, 100.0f),
                        ndr::local<float>(10), ndr::null));
    assert_true(need(s.queue.read(out))[99] == 111.5f);
    need(s.queue.launch(typed, range, out, pair{ 2, 0.5f }, ndr::vec<float>(10, 0, 0, 100), ndr::local<float>(5, 2),
                        ndr::null));
    assert_true(need(s.queue.read(out))[99] == 112.5f);
    need(s.queue.launch(take, range, out, ndr_struct(pair, 3, 0.5f), ndr_vector(float, 10, 0, 0, 100),
                        ndr_local(float, 10), ndr_null));
    assert_true(need(s.queue.read(out))[99] == 113.5f);
    refused(NDR_BAD_KERNEL_ARGUMENT, "\"p\"",
            s.queue.launch(take, range, out, ndr::value(p, "struct other"), ndr::vec<float>(10, 0, 0, 100),
                           ndr::local<float>(10), ndr::null));
}

void test_cpp__reducer_goes_to_its_element(void **)
{
    const setting s;
    const ndr::buffer<int> x = s.of(std::vector<int>(1000, 3)), sums = s.of(std::vector<int>(2, -1));
    const ndr::kernel total = s.kernel("total", reducing);
    need(s.queue.launch(total, ndr::range(1000), x, ndr::reducer(NDR_OP_SUM, 5, sums, 1)));
    const std::vector<int> found = need(s.queue.read(sums));
    assert_true(found[0] == -1 && found[1] == 3005);
}

void test_cpp__prepared_launch_takes_another_argument(void **)
{
    const setting s;
    const ndr::buffer<float> x = s.of(ones), y = s.of(ones);
    const ndr::prepared twice = need(ndr::prepared::create(s.kernel("scale"), ndr::range(100), x, 2.0f, 1));
    ndr::event done;
    need(s.queue.run(twice));
    need(twice.set(0, y));
    need(s.queue.run(twice, &done));
    need(s.queue.after(done).run(twice));
    assert_true(need(s.queue.read(x))[99] == 2 && need(s.queue.read(y))[99] == 4);
    refused(NDR_BAD_KERNEL_ARGUMENT, "argument 1", twice.set(1, x));
}

/* ---- events ---- */

void test_cpp__commands_wait_for_events(void **)
{
    const setting s;
    const ndr::queue other = need(ndr::queue::create(s.context));
    const ndr::buffer<float> x = s.of(ones);
    const ndr::kernel scale = s.kernel("scale");
    ndr::event first, none;
    need(s.queue.launch_event(scale, first, ndr::range(100), x, 2.0f, 1));
    ndr::event second;
    need(other.after(first, none).launch_event(scale, second, ndr::range(100), x, 3.0f, 1));
    std::vector<ndr::event> both;
    both.push_back(std::move(first));
    both.push_back(std::move(second));
    std::vector<float> got(100);
    need(s.queue.after_all(both).read(x, got));
    assert_true(got[99] == 6);
    need(ndr::wait_all(both));
    need(ndr::wait_all(both, 1h));
    assert_true(need(ndr::wait_any(both)) < 2);
    assert_int_equal(need(both[1].state()), NDR_EVENT_COMPLETE);
    refused(NDR_BAD_ARGUMENT, "profiling", both[1].elapsed());
    need(s.queue.barrier());
    need(need(s.queue.mark()).wait());
    need(s.queue.flush());
    need(s.queue.finish_within(1h));
    assert_true(need(s.queue.finish_timed()).count() > 0);
}

void test_cpp__profiling_queue_tells_times(void **)
{
    const setting s;
    ndr_queue_desc desc{};
    desc.is_profiling = true;
    const ndr::queue timed = need(ndr::queue::create(s.context, desc));
    const ndr::buffer<float> x = s.of(ones);
    ndr::event done;
    need(timed.launch_event(s.kernel("scale"), done, ndr::range(100), x, 2.0f, 1));
    const ndr_event_times times = need(done.times());
    assert_true(times.ended_ns >= times.queued_ns);
    assert_true(need(done.elapsed()).count() >= 0);
}

void test_cpp__event_of_the_program_ends_once(void **)
{
    const setting s;
    const ndr::event good = need(ndr::event::create(s.context)), bad = need(ndr::event::create(s.context));
    refused(NDR_TIMEOUT, "", good.wait_within(0ns));
    refused(NDR_TIMEOUT, "", good.wait_within(-1s));
    need(good.complete());
    need(good.wait());
    need(bad.fail(NDR_OUT_OF_BOUNDS, "the reason"));
    refused(NDR_OUT_OF_BOUNDS, "the reason", bad.wait());
    refused(NDR_OUT_OF_BOUNDS, "the reason", s.queue.after(bad).barrier());
}

/* Counts the copies of a function that exist. */
struct counted {
    static inline std::atomic<int> alive{ 0 };
    counted() { ++alive; }
    counted(const counted &) { ++alive; }
    ~counted() { --alive; }
};

void test_cpp__functions_are_called_and_destroyed(void **)
{
    const setting s;
    std::atomic<int> calls{ 0 };
    const ndr::buffer<float> x = s.of(ones);
    ndr::event done, failed, held = need(ndr::event::create(s.context));
    need(s.queue.host_task([&calls, c = counted()] { (void)c, ++calls; }, &done));
    need(done.wait());
    need(done.set_callback([&calls, c = counted()](ndr_status status, const char *sentence) {
        (void)c;
        if (status == NDR_OK && *sentence == '\0') ++calls;
    }));
    need(s.queue.host_task(
        [c = counted()] {
            (void)c;
            return NDR_LIMIT_EXCEEDED;
        },
        &failed));
    refused(NDR_LIMIT_EXCEEDED, "NDR_LIMIT_EXCEEDED", failed.wait());
    const ndr::queue other = need(ndr::queue::create(s.context));
    need(other.after(held).host_task(
        [&calls, c = counted()]() -> ndr::result<void> {
            (void)c;
            ++calls;
            return ndr::ok();
        },
        &failed));
    need(held.fail(NDR_BAD_ARGUMENT, "never called"));
    refused(NDR_BAD_ARGUMENT, "never called", failed.wait());
    while (counted::alive > 0) std::this_thread::yield();
    assert_int_equal(calls, 2);
}

/* ---- other memory ---- */

void test_cpp__shared_allocation_is_an_argument(void **)
{
    if (!need(ndr::shared_info(setting{}.context, NDR_SHARED_ANY)).is_available) {
        print_message("skipped: the device has no shared memory\n");
        skip(); /* runs no destructors */
    }
    const setting s;
    const ndr::shared<float> x = need(ndr::shared<float>::create(s.context, 100)),
                             y = need(ndr::shared<float>::create(s.context, 100));
    const auto scale = need(s.kernel("scale").typed<void(float *, float, int)>());
    need(s.queue.write(x, ones));
    need(s.queue.prefetch(x, 0, 100));
    need(s.queue.launch(scale, ndr::range(100), x, 3.0f, 1, ndr::reaches(y)));
    need(s.queue.launch(scale, ndr::range(50), ndr::at(x, x.data() + 50), 2.0f, 1));
    need(s.queue.copy(x, 0, y, 0, x.size()));
    {
        const ndr::mapped<float> host = need(s.queue.map(y, NDR_MAP_READ));
        assert_ptr_equal(host.data(), y.data());
        assert_true(host[0] == 3 && host[99] == 6);
    }
    std::vector<float> got(2);
    need(s.queue.read(y, got, 98));
    assert_true(got[1] == 6);
    refused(NDR_OUT_OF_BOUNDS, "bytes", s.queue.read(y, got, 99));
}

void test_cpp__buffer_with_an_address_is_reached(void **)
{
    if (!need(setting{}.context.device()).has_buffer_addresses) {
        print_message("skipped: buffers of the device have no addresses\n");
        skip(); /* runs no destructors */
    }
    const setting s;
    ndr_buffer_desc desc{};
    desc.size_bytes = 16;
    desc.contents = ones.data();
    desc.has_address = true;
    const ndr::buffer<float> x = need(ndr::buffer<float>::create(s.context, desc));
    const auto twice =
        need(s.kernel("twice", "kernel void twice(ulong at) { ((global float *)at)[get_global_id(0)] *= 2; }")
                 .typed<void(uint64_t)>());
    need(s.queue.launch(twice, ndr::range(3), need(x.address()) + 4, ndr::reaches(x)));
    const std::vector<float> got = need(s.queue.read(x));
    assert_true(got[0] == 1 && got[1] == 2 && got[3] == 2);
}

void test_cpp__image_transfers_stay_inside_of_the_span(void **)
{
    ndr_image_desc desc{};
    desc.format = { NDR_CHANNELS_R, NDR_CHANNEL_F32 };
    desc.size = ndr::range(4, 5);
    if (ndr::image_formats(setting{}.context, desc).status() == NDR_UNSUPPORTED) {
        print_message("skipped: the device has no images\n");
        skip(); /* runs no destructors */
    }
    const setting s;
    const auto formats = ndr::image_formats(s.context, desc);
    assert_true(!(*formats).empty());
    assert_int_equal(ndr::size_bytes(desc.format), 4);
    const ndr::image a = need(ndr::image::create(s.context, desc)), b = need(ndr::image::create(s.context, desc));
    std::vector<float> host(20);
    std::iota(host.begin(), host.end(), 0.0f);
    need(s.queue.write(a, host));
    need(s.queue.fill(b, std::array<float, 4>{ 7, 0, 0, 0 }));
    ndr_image_part part{};
    part.extent = ndr::range(2, 3);
    part.origin[0] = part.origin[1] = 1;
    need(s.queue.copy(a, b, part, { 0, 0, 0 }));
    std::vector<float> got(20, 0.0f);
    need(s.queue.read(b, got));
    assert_true(got[0] == 6 && got[2] == 8 && got[3] == 7 && got[5] == 11);
    got.resize(8);
    part.row_pitch_bytes = 20;
    need(s.queue.read(a, got, part));
    assert_true(got[0] == 6 && got[7] == 13);
    got.pop_back();
    refused(NDR_OUT_OF_BOUNDS, "read of an image uses 32 bytes", s.queue.read(a, got, part));
    refused(NDR_OUT_OF_BOUNDS, "write of an image uses 32 bytes", s.queue.write(a, got, part));
    refused(NDR_OUT_OF_BOUNDS, "uses 80 bytes", s.queue.write(a, got));
    const ndr::mapped_image mapped = need(s.queue.map(a, NDR_MAP_READ, part));
    assert_int_equal(mapped.bytes.size(), mapped.row_pitch_bytes + 12);
    float first;
    std::memcpy(&first, mapped.bytes.data() + mapped.row_pitch_bytes, sizeof first);
    assert_true(first == 11);
    const ndr::sampler sampler = need(ndr::sampler::create(s.context));
    assert_int_equal(sampler.arg().kind, NDR_ARG_SAMPLER);
    assert_int_equal(a.arg().kind, NDR_ARG_IMAGE);
}

/* ---- operations ---- */

void test_cpp__operations_take_their_type_from_the_buffers(void **)
{
    const setting s;
    const ndr::buffer<float> a = s.of(std::vector<float>(6, 1.0f)), b = s.of(std::vector<float>(12, 2.0f)),
                             c = s.of(std::vector<float>(8, 1.0f)), sum = s.of(ones);
    need(s.queue.matmul(ndr::matrix(a, 2, 3), ndr::matrix(b, 3, 4), ndr::matrix(c, 2, 4), ndr_scaling_of(1, 10)));
    need(s.queue.reduce(NDR_OP_SUM, c, sum));
    assert_true(need(s.queue.read(sum))[0] == 8 * 16);
    refused(NDR_OUT_OF_BOUNDS, "b", s.queue.matmul(ndr::matrix(a, 2, 3), ndr::matrix(b, 3, 5), ndr::matrix(c, 2, 5)));
    const ndr::buffer<int64_t> longs = s.of(std::vector<int64_t>{ 3, -5, 4 }), least = s.of(std::vector<int64_t>(1));
    need(s.queue.reduce(NDR_OP_MIN, longs, least));
    assert_int_equal(need(s.queue.read(least))[0], -5);
    const ndr::buffer<uint8_t> bytes = s.of(std::vector<uint8_t>{ 1, 200, 3 });
    const ndr::buffer<uint32_t> counts = s.of(std::vector<uint32_t>(2));
    ndr_histogram_desc halves{};
    halves.dtype = NDR_DTYPE_U8;
    halves.output_dtype = NDR_DTYPE_U32;
    halves.bins = 2;
    halves.upper = 256;
    halves.input.buffer = bytes.get();
    halves.count = bytes.size();
    halves.output.buffer = counts.get();
    need(s.queue.histogram(halves));
    assert_int_equal(need(s.queue.read(counts))[0], 2);
    ndr_random_desc sixes{};
    sixes.dtype = NDR_DTYPE_U32;
    sixes.distribution = NDR_RANDOM_BELOW;
    sixes.below = 1;
    sixes.low = 6;
    sixes.count = counts.size();
    sixes.output.buffer = counts.get();
    need(s.queue.random(sixes));
    assert_int_equal(need(s.queue.read(counts))[1], 6);
    const ndr::buffer<int32_t> four = s.of(std::vector<int32_t>{ 4, 1, 3, 2 }), out = s.of(std::vector<int32_t>(4));
    ndr_scan_desc scan{};
    scan.dtype = NDR_DTYPE_I32;
    scan.op = NDR_OP_SUM;
    scan.input.buffer = four.get();
    scan.count = 4;
    scan.output.buffer = out.get();
    need(s.queue.scan(scan));
    assert_int_equal(need(s.queue.read(out))[3], 10);
    ndr_array_scan_desc rows{};
    rows.op = NDR_OP_SUM;
    rows.axis = 1;
    rows.input = ndr_array_of(four.get(), NDR_DTYPE_I32, ndr_range_2d(2, 2));
    rows.output = ndr_array_of(out.get(), NDR_DTYPE_I32, ndr_range_2d(2, 2));
    need(s.queue.array_scan(rows));
    assert_int_equal(need(s.queue.read(out))[3], 5);
    ndr_sort_desc sort{};
    sort.dtype = NDR_DTYPE_I32;
    sort.keys.buffer = four.get();
    sort.count = 4;
    sort.sorted_keys.buffer = four.get();
    need(s.queue.sort(sort));
    assert_int_equal(need(s.queue.read(four))[3], 4);
    ndr_top_k_desc largest{};
    largest.dtype = NDR_DTYPE_I32;
    largest.is_largest = true;
    largest.keys.buffer = four.get();
    largest.count = 4;
    largest.k = 2;
    largest.top_keys.buffer = out.get();
    need(s.queue.top_k(largest));
    assert_int_equal(need(s.queue.read(out))[1], 3);
    const ndr::buffer<uint8_t> flags = s.of(std::vector<uint8_t>{ 0, 1, 0, 1 });
    const ndr::buffer<uint64_t> number = s.of(std::vector<uint64_t>(1));
    ndr_select_desc select{};
    select.dtype = NDR_DTYPE_I32;
    select.input.buffer = four.get();
    select.flags.buffer = flags.get();
    select.count = 4;
    select.output.buffer = out.get();
    select.selected.buffer = number.get();
    need(s.queue.select(select));
    assert_int_equal(need(s.queue.read(number))[0], 2);
    assert_int_equal(need(s.queue.read(out))[1], 4);
    ndr_merge_desc merge{};
    merge.dtype = NDR_DTYPE_I32;
    merge.first.buffer = merge.second.buffer = four.get();
    merge.first_count = merge.second_count = 2;
    merge.second.offset = 2;
    merge.output.buffer = out.get();
    need(s.queue.merge(merge));
    assert_int_equal(need(s.queue.read(out))[3], 4);
    ndr_merge_sort_desc by_last_bit{};
    by_last_bit.dtype = NDR_DTYPE_I32;
    by_last_bit.less = "(a & 1) < (b & 1)";
    by_last_bit.input.buffer = four.get();
    by_last_bit.count = 4;
    by_last_bit.output.buffer = out.get();
    need(s.queue.merge_sort(by_last_bit));
    assert_int_equal(need(s.queue.read(out))[1], 4);
    const ndr_map_array x{ "x", ndr_array_of(four.get(), NDR_DTYPE_I32, ndr_range_1d(4)) };
    ndr_map_desc map{};
    map.statement = "x = 2 * x";
    map.inputs = map.outputs = &x;
    map.input_count = map.output_count = 1;
    need(s.queue.map(map));
    ndr_map_reduce_desc more{};
    more.dtype = NDR_DTYPE_I32;
    more.op = NDR_OP_SUM;
    more.expression = "x + 1";
    more.inputs = &x;
    more.input_count = 1;
    more.output.buffer = out.get();
    need(s.queue.map_reduce(more));
    assert_int_equal(need(s.queue.read(out))[0], 24);
    const ndr_map_array square{ "x", ndr_array_of(four.get(), NDR_DTYPE_I32, ndr_range_2d(2, 2)) };
    std::array<std::int32_t, 2> sums{};
    more.inputs = &square;
    more.axes = 1;
    more.output = {};
    more.host = sums.data();
    need(s.queue.map_reduce(more));
    assert_int_equal(sums[0] + sums[1], 24);
    ndr_tune_desc wrong{};
    refused(NDR_BAD_ARGUMENT, "dtype", ndr::tune(s.context, wrong));
}

void test_cpp__warming_tells_its_progress(void **)
{
    const std::string store = std::string(std::getenv("NDR_TEST_SCRATCH")) + "/store";
    setenv("NDR_CACHE", store.c_str(), 1);
    const setting s;
    ndr_kernel_desc good{}, bad{};
    good.name = "add";
    bad.name = "misspelt";
    good.source = bad.source = kernels;
    ndr_warm_desc both[2] = {};
    both[0].kernel = &good;
    both[1].kernel = &bad;
    std::atomic<size_t> failed{ 0 };
    refused(NDR_NOT_FOUND, "misspelt", ndr::cache_warm(s.context, both, [&](const ndr_warm_progress &each) {
                failed += each.status != NDR_OK ? each.index : 0;
            }));
    assert_int_equal(failed, 1);
    need(ndr::cache_warm(s.context, ndr::span<const ndr_warm_desc>(both, 1)));
    need(ndr::cache_warm(s.context, {}));
    setenv("NDR_CACHE", "off", 1);
}

/* ---- the process ---- */

void test_cpp__logs_and_traces(void **)
{
    std::string heard, table;
    need(ndr::log_set(
        NDR_LOG_ERROR,
        [](ndr_log_level, const char *, const char *said, void *user) { *static_cast<std::string *>(user) += said; },
        &heard));
    assert_true(!ndr::context::create("no device has this name"));
    need(ndr::log_set(NDR_LOG_DEFAULT));
    assert_true(heard.find("no device has this name") != std::string::npos);

    ndr_trace_desc desc{};
    desc.has_table = true;
    desc.callback = [](const char *lines, void *user) { *static_cast<std::string *>(user) += lines; };
    desc.user = &table;
    need(ndr::trace_start(desc));
    {
        const setting s;
        const ndr::trace_region region("the region", 400, 100);
        const ndr::buffer<float> x = s.of(ones);
        need(s.queue.launch(s.kernel("scale"), ndr::range(100), x, 2.0f, 1));
        need(s.queue.finish());
    }
    assert_true(table.find("the region") != std::string::npos);
}

/* ---- ndr_args.h in C++ ---- */

void test_cpp__macros_pass_what_they_name(void **)
{
    const pair p = { 1, 0.5f };
    const ndr_arg kept = ndr_struct(pair, p);
    assert_ptr_equal(kept.as.value.bytes, &p); /* the value itself, which outlives the statement */
    assert_int_equal(kept.size_bytes, sizeof p);
    assert_string_equal(kept.as.value.type_name, "pair");

    const setting s;
    const ndr::buffer<float> out = s.of(ones);
    const float half = 0.5f;
    assert_int_equal(ndr_launch(s.queue.get(), s.kernel("take").get(), ndr_nd_range_1d(100, 10), out.get(),
                                ndr_struct(struct pair, 1, half), ndr_vector(float, 10, 0, 0, 100),
                                ndr_local(float, 10), ndr_null),
                     NDR_OK);
    assert_true(need(s.queue.read(out))[99] == 111.5f);

    ndr_event *ended = nullptr, *bad = nullptr;
    assert_int_equal(ndr_queue_mark(ndr_after(s.queue.get(), NULL), &ended), NDR_OK);
    assert_int_equal(ndr_event_create(s.context.get(), &bad), NDR_OK);
    assert_int_equal(ndr_event_fail(bad, NDR_OUT_OF_BOUNDS, "the reason"), NDR_OK);
    assert_int_equal(ndr_queue_barrier(ndr_after(s.queue.get(), NULL, ended, nullptr), nullptr), NDR_OK);
    assert_int_equal(ndr_queue_barrier(ndr_after(s.queue.get(), NULL, ended, bad), nullptr), NDR_OUT_OF_BOUNDS);
    assert_int_equal(ndr_queue_finish(s.queue.get()), NDR_OK);
    ndr_event_destroy(ended);
    ndr_event_destroy(bad);
}

} /* namespace */

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_cpp__result_keeps_the_error),
        cmocka_unit_test(test_cpp__errors_are_returned_to_the_caller),
        cmocka_unit_test(test_cpp__handle_moves_and_is_destroyed_once),
        cmocka_unit_test(test_cpp__context_describes_itself),
        cmocka_unit_test(test_cpp__transfer_stays_inside_of_both_memories),
        cmocka_unit_test(test_cpp__transfers_between_contexts_and_groups),
        cmocka_unit_test(test_cpp__buffers_copy_view_and_map),
        cmocka_unit_test(test_cpp__rectangle_stays_inside_of_the_span),
        cmocka_unit_test(test_cpp__launches_with_checked_types),
        cmocka_unit_test(test_cpp__launches_with_every_kind_of_argument),
        cmocka_unit_test(test_cpp__reducer_goes_to_its_element),
        cmocka_unit_test(test_cpp__prepared_launch_takes_another_argument),
        cmocka_unit_test(test_cpp__commands_wait_for_events),
        cmocka_unit_test(test_cpp__profiling_queue_tells_times),
        cmocka_unit_test(test_cpp__event_of_the_program_ends_once),
        cmocka_unit_test(test_cpp__functions_are_called_and_destroyed),
        cmocka_unit_test(test_cpp__shared_allocation_is_an_argument),
        cmocka_unit_test(test_cpp__buffer_with_an_address_is_reached),
        cmocka_unit_test(test_cpp__image_transfers_stay_inside_of_the_span),
        cmocka_unit_test(test_cpp__operations_take_their_type_from_the_buffers),
        cmocka_unit_test(test_cpp__warming_tells_its_progress),
        cmocka_unit_test(test_cpp__logs_and_traces),
        cmocka_unit_test(test_cpp__macros_pass_what_they_name),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

/* refused.cpp - what ndr.hpp does not compile: each marked line is compiled by itself (-D CASE=n), and the compiler's
 * error contains the text of the mark. With CASE 0 everything else compiles. */
#include "ndr/ndr.hpp"

struct pair {
    int first;
    float second;
};

using typed = ndr::typed_kernel<void(const float *, pair, float, int, ndr::local_memory<float>)>;

ndr::result<void> calls(const ndr::queue &queue, const ndr::kernel &kernel, const typed &k, const ndr::buffer<float> &x,
                        const ndr::buffer<double> &y, const ndr::event &event);

ndr::result<void> calls(const ndr::queue &queue, const ndr::kernel &kernel, const typed &k, const ndr::buffer<float> &x,
                        const ndr::buffer<double> &y, const ndr::event &event)
{
    const ndr_range range = ndr::range(8);
    const auto local = ndr::local<float>(8);
    const pair p = { 1, 2 };
    float host[8] = {};
    const std::vector<double> doubles(8);
    (void)y, (void)doubles;
    NDR_DO(queue.write(x, host));
    NDR_DO(queue.after(event).launch(k, range, x, p, 1.0f, 'c', local));
    NDR_DO(queue.launch(k, range, ndr::null, ndr::value(p), 1.0f, 2ul, ndr_local(float, 8)));
#if CASE == 1
    NDR_DO(queue.launch(kernel, range, host)); /* 1: this is not an argument of a launch */
#elif CASE == 2
    NDR_DO(queue.launch(k, range, y, p, 1.0f, 2, local)); /* 2: another type than the kernel's parameter */
#elif CASE == 3
    NDR_DO(queue.launch(k, range, x, p, 1.0, 2, local)); /* 3: another type than the kernel's parameter */
#elif CASE == 4
    NDR_DO(queue.launch(k, range, x, p, 1.0f, 2)); /* 4: the kernel takes another number of arguments */
#elif CASE == 5
    NDR_DO(queue.launch(kernel, 8, x)); /* 5: a launch takes an ndr::range */
#elif CASE == 6
    queue.launch(kernel, range, x); /* 6: nodiscard */
#elif CASE == 7
    const ndr::buffer<float> copy = x; /* 7: deleted */
#elif CASE == 8
    NDR_DO(queue.write(x, doubles)); /* 8: no matching */
#elif CASE == 9
    NDR_DO(queue.after(x).barrier()); /* 9: after() takes ndr::event */
#elif CASE == 10
    NDR_DO(queue.launch(k, range, x, 1, 1.0f, 2, local)); /* 10: another type than the kernel's parameter */
#elif CASE == 11
    ndr::buffer<std::string> texts; /* 11: elements are copied as bytes */
#elif CASE == 12
    NDR_DO(queue.launch(kernel, range, nullptr)); /* 12: this is not an argument of a launch */
#elif CASE == 13
    NDR_DO(queue.reduce(NDR_OP_SUM, x, y)); /* 13: no matching */
#elif CASE == 14
    NDR_DO(queue.host_task([] { return 1; })); /* 14: a host task returns void, ndr_status or ndr::result<void> */
#elif CASE == 15
    NDR_DO(queue.launch(kernel, range, p)); /* 15: ndr::value(a_struct) */
#endif
    return queue.launch(kernel, range, x, 1, ndr::value(p));
}

/* main.cpp - pi by counting points, in C++. pi.py does the same in Python. */
#include <ndr/ndr.hpp>

#include <cstdint>
#include <cstdio>

static ndr::result<bool> run()
{
    const size_t points = 10'000'000;
    NDR_LET(context, ndr::context::create());
    NDR_LET(queue, ndr::queue::create(context));
    NDR_LET(count, ndr::kernel::from_file(context, "count_inside", EXAMPLE_DIR "/pi.cl"));
    NDR_LET(inside, ndr::buffer<uint32_t>::create(context, 1));
    NDR_DO(queue.launch(count, ndr::range(points), ndr::reducer(NDR_OP_SUM, 0, inside)));
    NDR_LET(found, queue.read(inside));
    const double pi = 4.0 * found[0] / static_cast<double>(points);
    const bool is_right = pi > 3.1415 && pi < 3.1417;
    std::printf("%u of %zu points are inside: pi is about %.5f, which is %s\n", found[0], points, pi,
                is_right ? "right" : "wrong");
    return is_right;
}

int main()
{
    const ndr::result<bool> is_right = run();
    if (!is_right) std::fprintf(stderr, "%s\n", is_right.error().what());
    return is_right && *is_right ? 0 : 1;
}

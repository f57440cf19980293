/* test_cpp_exceptions.cpp - ndr.hpp with NDR_CXX_EXCEPTIONS: calls return values and throw ndr::error. The other file
 * of the program, cpp_checked.cpp, includes it without. */
#define NDR_CXX_EXCEPTIONS
#include "ndr/ndr.hpp"

#include <cstdio>
#include <cstring>

size_t count_devices_checked(); /* cpp_checked.cpp */

static int failures;

#define EXPECT(condition) \
    ((condition) ? (void)0 : (void)(++failures, std::printf("line %d: not so: %s\n", __LINE__, #condition)))

static const char source[] = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }";

template <class Call> static void expect_thrown(ndr_status status, const char *part, const Call &call)
{
    try {
        call();
        EXPECT(!"nothing was thrown");
    } catch (const std::exception &why) {
        EXPECT(std::strstr(why.what(), part));
        EXPECT(static_cast<const ndr::error &>(why).status() == status);
    }
}

static ndr::result<size_t> forms_of_checked_programs(const ndr::queue &queue, const ndr::buffer<float> &x)
{
    NDR_LET(all, queue.read(x));
    NDR_DO(queue.finish());
    return all.size();
}

static void run()
{
    const ndr::context context = ndr::context::create();
    const ndr::queue queue = ndr::queue::create(context);
    const ndr::kernel twice = ndr::kernel::from_source(context, "twice", source);
    const ndr::buffer<float> x = ndr::buffer<float>::create_from(context, std::vector<float>(10, 3.0f));
    queue.launch(twice.typed<void(float *)>(), ndr::range(10), x);
    EXPECT(queue.read(x)[9] == 6);
    EXPECT(forms_of_checked_programs(queue, x) == 10);
    EXPECT(queue.map(x, NDR_MAP_READ)[0] == 6);
    std::vector<float> more(11);
    expect_thrown(NDR_OUT_OF_BOUNDS, "44 bytes", [&] { queue.read(x, more); });
    expect_thrown(NDR_NOT_FOUND, "thrice", [&] { (void)ndr::kernel::from_source(context, "thrice", source); });
    ndr::event done;
    queue.host_task([&] { queue.read(x, more); }, &done);
    expect_thrown(NDR_OUT_OF_BOUNDS, "44 bytes", [&] { done.wait(); });
    EXPECT(count_devices_checked() == ndr::devices().size());
}

int main()
{
    try {
        run();
    } catch (const ndr::error &why) {
        std::printf("%s\n", why.what());
        return 1;
    }
    return failures != 0;
}

// boost_compute.cpp - Boost.Compute: reductions, scans, sorts and maps.
#include <boost/compute/algorithm/copy.hpp>
#include <boost/compute/algorithm/inclusive_scan.hpp>
#include <boost/compute/algorithm/reduce.hpp>
#include <boost/compute/algorithm/sort.hpp>
#include <boost/compute/algorithm/sort_by_key.hpp>
#include <boost/compute/algorithm/transform.hpp>
#include <boost/compute/command_queue.hpp>
#include <boost/compute/functional.hpp>
#include <boost/compute/iterator/buffer_iterator.hpp>
#include <boost/compute/lambda.hpp>
#include <boost/version.hpp>
#include <cstdio>

#include "ndr/ndr.h" // which has C++ of its own, so outside of the extern "C" that the bench's headers need
#include "ndr/ndr_cl.h"

extern "C" {
#include "rival.h"
#include "rows_map.h"
#include "rows_reduce.h"
#include "rows_scan.h"
#include "rows_sort.h"

extern const rival rival_boost_compute;
}

namespace compute = boost::compute;

template <class T, class Op>
static void reduce_by(compute::command_queue &queue, reduction *j, Op op)
{
    const compute::buffer input(ndr_buffer_cl(j->input.buffer)), output(ndr_buffer_cl(j->output.buffer));
    const auto first = compute::make_buffer_iterator<T>(input, take_offset(j));
    const auto result = compute::make_buffer_iterator<T>(output, 0);
    compute::reduce(first, first + static_cast<std::ptrdiff_t>(j->of.count), result, op, queue);
}

template <class T>
static void reduce(compute::command_queue &queue, reduction *j)
{
    switch (j->of.op) {
    case NDR_OP_MIN: reduce_by<T>(queue, j, compute::min<T>()); break;
    case NDR_OP_MAX: reduce_by<T>(queue, j, compute::max<T>()); break;
    default: reduce_by<T>(queue, j, compute::plus<T>()); break;
    }
}

// Its context keys Boost.Compute's program cache.
static compute::command_queue &the_boost_queue()
{
    static compute::command_queue queue(ndr_queue_cl(the_queue));
    return queue;
}

template <class T> static compute::buffer_iterator<T> at(const shared_memory &memory, size_t index)
{
    return compute::make_buffer_iterator<T>(compute::buffer(ndr_buffer_cl(memory.buffer)), index);
}

template <class T> static void scan_by(const scan *j)
{
    compute::inclusive_scan(at<T>(j->input, 0), at<T>(j->input, j->of.count), at<T>(j->output, 0), the_boost_queue());
}

static void run_scan(void *job)
{
    const scan *j = static_cast<const scan *>(job);
    if (j->of.dtype == NDR_DTYPE_F32) scan_by<cl_float>(j);
    else scan_by<cl_int>(j);
    the_boost_queue().finish();
}

static void run_sort(void *job)
{
    const sorting *j = static_cast<const sorting *>(job);
    compute::command_queue &queue = the_boost_queue();
    const auto keys = at<cl_uint>(j->sorted_keys, 0), end = at<cl_uint>(j->sorted_keys, j->of.count);
    compute::copy(at<cl_uint>(j->keys, 0), at<cl_uint>(j->keys, j->of.count), keys, queue);
    if (j->of.has_values) {
        const auto values = at<cl_uint>(j->sorted_values, 0);
        compute::copy(at<cl_uint>(j->values, 0), at<cl_uint>(j->values, j->of.count), values, queue);
        compute::sort_by_key(keys, end, values, queue);
    } else {
        compute::sort(keys, end, queue);
    }
    queue.finish();
}

static void run_map(void *job)
{
    using compute::lambda::_1;
    using compute::lambda::_2;
    const mapping *j = static_cast<const mapping *>(job);
    compute::transform(at<cl_float>(j->x, 0), at<cl_float>(j->x, j->count), at<cl_float>(j->y, 0),
                       at<cl_float>(j->z, 0), 0.5f * _1 + _2, the_boost_queue());
    the_boost_queue().finish();
}

static void run_reduce(void *job)
{
    compute::command_queue &queue = the_boost_queue();
    reduction *j = static_cast<reduction *>(job);
    switch (j->of.dtype) {
    case NDR_DTYPE_I32: reduce<cl_int>(queue, j); break;
    case NDR_DTYPE_F64: reduce<cl_double>(queue, j); break;
    default: reduce<cl_float>(queue, j); break;
    }
    queue.finish();
}

static void describe() { std::printf("%d.%d", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000); }

const rival rival_boost_compute = { "Boost.Compute",
                                    describe,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    { { &reduce_work, { "Boost.Compute", true, run_reduce, nullptr, false } },
                                      { &scan_work, { "Boost.Compute", true, run_scan, nullptr, false } },
                                      { &sort_work, { "Boost.Compute", true, run_sort, nullptr, false } },
                                      { &map_work, { "Boost.Compute", true, run_map, nullptr, false } } } };

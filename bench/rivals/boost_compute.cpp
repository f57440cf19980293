// boost_compute.cpp - Boost.Compute: reductions.
#include <boost/compute/algorithm/reduce.hpp>
#include <boost/compute/command_queue.hpp>
#include <boost/compute/functional.hpp>
#include <boost/compute/iterator/buffer_iterator.hpp>
#include <boost/version.hpp>
#include <cstdio>

#include "ndr/ndr.h" // which has C++ of its own, so outside of the extern "C" that the bench's headers need
#include "ndr/ndr_cl.h"

extern "C" {
#include "rival.h"
#include "rows_reduce.h"

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

static void run_reduce(void *job)
{
    static compute::command_queue queue(ndr_queue_cl(the_queue)); // its context keys Boost.Compute's program cache
    reduction *j = static_cast<reduction *>(job);
    switch (j->of.dtype) {
    case NDR_DTYPE_I32: reduce<cl_int>(queue, j); break;
    case NDR_DTYPE_F64: reduce<cl_double>(queue, j); break;
    default: reduce<cl_float>(queue, j); break;
    }
    queue.finish();
}

static void describe() { std::printf("%d.%d", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000); }

const rival rival_boost_compute = {
    "Boost.Compute", describe, nullptr, nullptr, nullptr, { { &reduce_work, { "Boost.Compute", true, run_reduce, nullptr, false } } }
};

// boost_compute.cpp - Boost.Compute's reduce, behind a C function.
#include <boost/compute/algorithm/reduce.hpp>
#include <boost/compute/command_queue.hpp>
#include <boost/compute/functional.hpp>
#include <boost/compute/iterator/buffer_iterator.hpp>

#include "boost_compute.h"

namespace compute = boost::compute;

template <class T, class Op>
static void reduce(compute::command_queue &queue, cl_mem input, size_t offset, size_t count, cl_mem output, Op op)
{
    const auto first = compute::make_buffer_iterator<T>(compute::buffer(input), offset);
    const auto result = compute::make_buffer_iterator<T>(compute::buffer(output), 0);
    compute::reduce(first, first + static_cast<std::ptrdiff_t>(count), result, op, queue);
}

template <class T>
static void reduce_by(compute::command_queue &queue, cl_mem input, size_t offset, size_t count, ndr_op op, cl_mem output)
{
    switch (op) {
    case NDR_OP_MIN: reduce<T>(queue, input, offset, count, output, compute::min<T>()); break;
    case NDR_OP_MAX: reduce<T>(queue, input, offset, count, output, compute::max<T>()); break;
    default: reduce<T>(queue, input, offset, count, output, compute::plus<T>()); break;
    }
}

extern "C" void boost_reduce(cl_command_queue cl, cl_mem input, size_t offset, size_t count, ndr_dtype dtype, ndr_op op,
                             cl_mem output)
{
    static compute::command_queue queue(cl); // its context keys Boost.Compute's program cache
    switch (dtype) {
    case NDR_DTYPE_I32: reduce_by<cl_int>(queue, input, offset, count, op, output); break;
    case NDR_DTYPE_F64: reduce_by<cl_double>(queue, input, offset, count, op, output); break;
    default: reduce_by<cl_float>(queue, input, offset, count, op, output); break;
    }
    queue.finish();
}

/* typed.c - launches by generated functions: the right ones draw no warning, each marked line an
 * error in which the C compiler, and the C++ compiler, name what is wrong. */
#include "typed.cl.h"

struct pair {
    int first;
    float second;
};

#define PAIR ndr_struct(struct pair, pair)

void launch(ndr_queue *queue, ndr_event *event, ndr_context *context, ndr_prepared *prepared, ndr_buffer *x,
            ndr_shared *shared, ndr_image *image, ndr_sampler *sampler, float *host, size_t n, struct pair pair);

void launch(ndr_queue *queue, ndr_event *event, ndr_context *context, ndr_prepared *prepared, ndr_buffer *x,
            ndr_shared *shared, ndr_image *image, ndr_sampler *sampler, float *host, size_t n, struct pair pair)
{
    const ndr_range range = ndr_range_1d(n);
    const ndr_nd_range groups = ndr_nd_range_2d(n, n, 4, 4);
    const float v[4] = { 1, 2, 3, 4 };
    const char c = 'c';

    NDR_IGNORE(axpy(queue, range, 2.0f, x, shared));
    NDR_IGNORE(axpy(ndr_after(queue, event), groups, (float)n, x, ndr_null));
    NDR_IGNORE(axpy_event(queue, &event, range, 2.0f, x, x));
    NDR_IGNORE(all(queue, groups, x, n, -1, v, PAIR, image, sampler));
    NDR_IGNORE(all_event(queue, NULL, groups, x, 4u, c, host, PAIR, image, sampler));
    NDR_IGNORE(axpy_prepare(context, &prepared, range, 2.0f, x, shared));
    NDR_IGNORE(all_prepare(context, &prepared, groups, x, n, -1, v, PAIR, image, sampler));
    const ndr_kernel_desc desc = axpy_desc();
    (void)desc;
    NDR_IGNORE(axpy(queue, range, x, 2.0f, x));    /* wrong: axpy_parameter_a_takes_a_float | ndr_f32 a_, */
    NDR_IGNORE(axpy(queue, range, x, 2.0f, x));    /* wrong: axpy_parameter_x_takes_a_buffer | ndr_f32 a_, */
    NDR_IGNORE(axpy(queue, range, 2, x, x));       /* wrong: axpy_parameter_a_takes_a_float | ndr_f32 a_, */
    NDR_IGNORE(axpy(queue, range, 2.0, x, x));     /* wrong: axpy_parameter_a_takes_a_float | ndr_f32 a_, */
    NDR_IGNORE(axpy(queue, range, 2.0f, host, x)); /* wrong: axpy_parameter_x_takes_a_buffer | ndr_memory */
    NDR_IGNORE(axpy(queue, range, 2.0f, x, NULL)); /* wrong: axpy_parameter_y_takes_a_buffer | ndr_memory */
    NDR_IGNORE(axpy(queue, n, 2.0f, x, x));        /* wrong: axpy_parameter_range_takes_an_ndr_range_or_ | ndr_any_range */
    NDR_IGNORE(axpy(queue, range, 2.0f, x));       /* wrong: macro.*axpy | to .*axpy */
    NDR_IGNORE(axpy(queue, range, 2.0f, x, x, x)); /* wrong: macro.*axpy | to .*axpy */
    NDR_IGNORE(all(queue, range, x, n, 1, v, PAIR, image, sampler));     /* wrong: all_parameter_range_takes_an_ndr_nd_range | ndr_nd_range */
    NDR_IGNORE(all(queue, groups, x, x, 1, v, PAIR, image, sampler));    /* wrong: all_parameter_tile_takes_a_number_of_el | ndr_integer tile_, */
    NDR_IGNORE(all(queue, groups, x, n, 1.0f, v, PAIR, image, sampler)); /* wrong: all_parameter_n_takes_an_integer | ndr_integer n_, */
    NDR_IGNORE(all(queue, groups, x, n, 1, 1.0f, PAIR, image, sampler)); /* wrong: all_parameter_v_takes_an_array_of_4_f | float. v */
    NDR_IGNORE(all(queue, groups, x, n, 1, v, pair, image, sampler));    /* wrong: all_parameter_p_takes_an_ndr_struct | ndr_arg */
    NDR_IGNORE(all(queue, groups, x, n, 1, v, PAIR, sampler, sampler));  /* wrong: all_parameter_from_takes_an_ndr_im | ndr_image */
    NDR_IGNORE(all(queue, groups, x, n, 1, v, PAIR, image, image));      /* wrong: all_parameter_by_takes_an_ndr_sam | ndr_sampler */
    NDR_IGNORE(axpy_prepare(context, &prepared, range, x, 2.0f, x)); /* wrong: axpy_parameter_a_takes_a_float | ndr_f32 a_, */
    NDR_IGNORE(axpy_prepare(context, &prepared, n, 2.0f, x, x));     /* wrong: axpy_parameter_range_takes_an_nd | ndr_any_range */
    NDR_IGNORE(axpy_prepare(context, &prepared, range, 2.0f, x));    /* wrong: macro.*axpy_prepare | to .*axpy_prepare */
    NDR_IGNORE(axpy_prepare(queue, &prepared, range, 2.0f, x, x));   /* wrong: ndr_context | ndr_context */
    NDR_IGNORE(axpy_prepare(context, &event, range, 2.0f, x, x));    /* wrong: ndr_prepared | ndr_prepared */
    NDR_IGNORE(all_prepare(context, &prepared, range, x, n, 1, v, PAIR, image, sampler)); /* wrong: all_parameter_range_takes_an_ndr_nd_range | ndr_nd_range */
}

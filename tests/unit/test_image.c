/* test_image.c - images and samplers: formats, transfers of parts against a plain model, arguments of kernels. */
#include "support.h"

#include "device/context.h"
#include "device/image.h"
#include "ndr/ndr_cl.h"
#include "ndr/ndr_image.h"
#include "reference.h"

static void skip_without_images(void)
{
    cl_bool has_images = CL_FALSE;
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL),
                     CL_SUCCESS);
    skip_without(has_images, "the device has no images");
}

static const ndr_image_format bytes4 = { NDR_CHANNELS_RGBA, NDR_CHANNEL_U8 };
static const ndr_image_format floats4 = { NDR_CHANNELS_RGBA, NDR_CHANNEL_F32 };

/* One of each type. */
static const ndr_image_desc types[] = {
    { .size = { 1, { 67 } } },
    { .size = { 2, { 13, 37 } } },
    { .size = { 3, { 5, 7, 11 } } },
    { .size = { 2, { 6, 19 } }, .is_array = true },
    { .size = { 3, { 4, 6, 9 } }, .is_array = true },
};
enum { TYPES = sizeof types / sizeof types[0], MOST = 600 };

static ndr_image *image_of(ndr_image_desc desc)
{
    ndr_image *image = NULL;
    assert_ok(ndr_image_create(context, &desc, &image));
    return image;
}

static ndr_image *image_with(size_t type, ndr_image_format format, const void *contents)
{
    ndr_image_desc desc = types[type];
    desc.format = format;
    desc.contents = contents;
    return image_of(desc);
}

static size_t count_of(const ndr_range *size)
{
    size_t count = 1;
    for (unsigned d = 0; d < size->dims; ++d) count *= size->size[d];
    return count;
}

/* ---- formats ---- */

/* Elements of each listed format come back as they went in. */
static void test_image__has_the_formats_that_are_listed(void **state)
{
    skip_without_images();
    for (size_t t = 0; t < TYPES; ++t)
        for (int access = NDR_ACCESS_READ_WRITE; access <= NDR_ACCESS_WRITE; ++access) {
            ndr_image_format formats[200];
            size_t count = 0;
            ndr_image_desc desc = types[t];
            desc.kernels = (ndr_access)access;
            assert_ok(ndr_image_list_formats(context, &desc, 200, formats, &count));
            for (size_t i = 0; i < count && i < 200; i += quick() ? 7 : 1) {
                unsigned char written[16 * MOST], got[16 * MOST];
                const size_t bytes = count_of(&desc.size) * ndr_image_format_size(formats[i]);
                for (size_t b = 0; b < bytes; ++b) written[b] = (unsigned char)(b * 7 % 97);
                desc.format = formats[i];
                ndr_image *image = image_of(desc);
                assert_ok(ndr_image_write(queue, image, NULL, written, NULL));
                assert_ok(ndr_image_read(queue, image, NULL, got, NULL));
                if (memcmp(got, written, bytes) != 0)
                    fail_msg("type %zu: channels %d of type %d come back changed", t, (int)formats[i].channels,
                             (int)formats[i].type);
                ndr_image_destroy(image);
            }
        }
}

static void test_image__format_sizes_are_channels_times_bytes(void **state)
{
    assert_int_equal(ndr_image_format_size(bytes4), 4);
    assert_int_equal(ndr_image_format_size(floats4), 16);
    assert_int_equal(ndr_image_format_size((ndr_image_format){ NDR_CHANNELS_RG, NDR_CHANNEL_F16 }), 4);
    assert_int_equal(ndr_image_format_size((ndr_image_format){ NDR_CHANNELS_DEPTH, NDR_CHANNEL_UNORM16 }), 2);
    assert_int_equal(ndr_image_format_size((ndr_image_format){ 0, NDR_CHANNEL_U8 }), 0);
    assert_int_equal(ndr_image_format_size((ndr_image_format){ (ndr_channels)9, NDR_CHANNEL_U8 }), 0);
    assert_int_equal(ndr_image_format_size((ndr_image_format){ NDR_CHANNELS_R, (ndr_channel_type)-1 }), 0);
}

/* ---- parts ---- */

static uint64_t seed;
static size_t below(size_t count) { return (size_t)(random_bits(&seed) >> 33) % count; }

/* An image of four bytes an element, and its model; the host's memory of a transfer. */
static uint32_t model[MOST], host[8 * MOST], got[8 * MOST];

static ndr_image_part random_part(const ndr_range *size, bool has_pitches)
{
    ndr_image_part p = { .extent.dims = size->dims };
    for (unsigned d = 0; d < size->dims; ++d) {
        p.origin[d] = below(size->size[d] + 1);
        p.extent.size[d] = below(size->size[d] - p.origin[d] + 1);
    }
    const unsigned last = size->dims - 1;
    if (!has_pitches || size->dims == 1) return p;
    p.row_pitch_bytes = below(2) ? 4 * (p.extent.size[last] + below(4)) : 0;
    const size_t row = p.row_pitch_bytes ? p.row_pitch_bytes : 4 * p.extent.size[last];
    if (size->dims == 3) p.plane_pitch_bytes = below(2) ? row * (p.extent.size[1] + below(2)) : 0;
    return p;
}

/* Calls `use` with the element's index in the image and in the host's memory. */
static void for_each_element(const ndr_range *size, const ndr_image_part *p, void (*use)(size_t in_image, size_t on_host))
{
    size_t extent[3] = { 1, 1, 1 }, origin[3] = { 0, 0, 0 }, full[3] = { 1, 1, 1 };
    for (unsigned d = 0; d < size->dims; ++d) {
        extent[3 - size->dims + d] = p->extent.size[d];
        origin[3 - size->dims + d] = p->origin[d];
        full[3 - size->dims + d] = size->size[d];
    }
    const size_t row = p->row_pitch_bytes ? p->row_pitch_bytes / 4 : extent[2];
    const size_t plane = p->plane_pitch_bytes ? p->plane_pitch_bytes / 4 : extent[1] * row;
    for (size_t i = 0; i < extent[0]; ++i)
        for (size_t j = 0; j < extent[1]; ++j)
            for (size_t k = 0; k < extent[2]; ++k)
                use(((origin[0] + i) * full[1] + origin[1] + j) * full[2] + origin[2] + k, i * plane + j * row + k);
}

static void write_model(size_t in_image, size_t on_host) { model[in_image] = host[on_host]; }
static void read_model(size_t in_image, size_t on_host) { host[on_host] = model[in_image]; }
static void fill_model(size_t in_image, size_t on_host)
{
    model[in_image] = 0x04030201;
}

static void print_part(const ndr_range *size, const ndr_image_part *p)
{
    print_message("of %zu %zu %zu: origin %zu %zu %zu, extent %zu %zu %zu, pitches %zu %zu\n", size->size[0], size->size[1],
                  size->size[2], p->origin[0], p->origin[1], p->origin[2], p->extent.size[0], p->extent.size[1],
                  p->extent.size[2], p->row_pitch_bytes, p->plane_pitch_bytes);
}

static void assert_model(ndr_image *image, const ndr_range *size, const ndr_image_part *p, const char *call)
{
    assert_ok(ndr_image_read(queue, image, NULL, got, NULL));
    if (memcmp(got, model, 4 * count_of(size)) == 0) return;
    print_part(size, p);
    fail_msg("%s left other elements than a plain loop", call);
}

static void transfer_randomly(ndr_image *image, const ndr_range *size)
{
    ndr_image_part p = random_part(size, true);
    ndr_event *done;
    for (size_t i = 0; i < 8 * MOST; ++i) host[i] = got[i] = (uint32_t)random_bits(&seed);
    if (below(2)) {
        assert_ok(ndr_image_write(queue, image, &p, host, NULL));
    } else {
        assert_ok(ndr_image_write(queue, image, &p, host, &done));
        assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
    }
    for_each_element(size, &p, write_model);
    assert_model(image, size, &p, "ndr_image_write");
    p = random_part(size, true);
    memcpy(got, host, sizeof got);
    if (below(2)) {
        assert_ok(ndr_image_read(queue, image, &p, got, NULL));
    } else {
        assert_ok(ndr_image_read(queue, image, &p, got, &done));
        assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
    }
    for_each_element(size, &p, read_model);
    assert_memory_equal(got, host, sizeof got);
    p = random_part(size, false);
    assert_ok(ndr_image_fill(queue, image, &p, (const uint32_t[]){ 1, 2, 3, 4 }, NULL));
    for_each_element(size, &p, fill_model);
    assert_model(image, size, &p, "ndr_image_fill");
}

static void test_image__random_parts_are_transferred_as_by_a_plain_loop(void **state)
{
    skip_without_images();
    const uint64_t first = number_from_env("NDR_TEST_SEED", 1);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)first);
    seed = first << 32;
    for (size_t t = 0; t < TYPES; ++t) {
        for (size_t i = 0; i < MOST; ++i) model[i] = (uint32_t)(i * 2654435761u);
        ndr_image *image = image_with(t, bytes4, model);
        assert_model(image, &types[t].size, &(ndr_image_part){ 0 }, "ndr_image_create");
        for (int i = 0; i < (quick() ? 5 : 60); ++i) transfer_randomly(image, &types[t].size);
        ndr_image_destroy(image);
    }
}

static void test_image__copies_parts_between_and_within_images(void **state)
{
    skip_without_images();
    seed = number_from_env("NDR_TEST_SEED", 1) << 32;
    for (size_t t = 0; t < TYPES; ++t)
        for (int i = 0; i < (quick() ? 3 : 20); ++i) {
            const ndr_range *size = &types[t].size;
            for (size_t e = 0; e < MOST; ++e) model[e] = (uint32_t)random_bits(&seed), got[e] = (uint32_t)e;
            ndr_image *from = image_with(t, bytes4, model), *to = image_with(t, bytes4, got);
            ndr_image_part part = random_part(size, false), there = part;
            for (unsigned d = 0; d < size->dims; ++d) there.origin[d] = below(size->size[d] - part.extent.size[d] + 1);
            for_each_element(size, &part, read_model);
            for (size_t e = 0; e < MOST; ++e) model[e] = (uint32_t)e;
            for_each_element(size, &there, write_model);
            assert_ok(ndr_image_copy(queue, from, &part, to, there.origin, NULL));
            assert_model(to, size, &there, "ndr_image_copy");
            ndr_image_destroy(from);
            ndr_image_destroy(to);
        }
    for (size_t e = 0; e < MOST; ++e) model[e] = (uint32_t)e;
    ndr_image *image = image_with(1, bytes4, model);
    const ndr_image_part left = { .extent = ndr_range_2d(13, 18) };
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_copy(queue, image, &left, image, (const size_t[]){ 0, 17 }, NULL),
                   "the two parts of the same image overlap");
    assert_ok(ndr_image_copy(queue, image, &left, image, (const size_t[]){ 0, 18 }, NULL));
    for_each_element(&types[1].size, &left, read_model);
    for_each_element(&types[1].size, &(ndr_image_part){ .origin = { 0, 18 }, .extent = left.extent }, write_model);
    assert_model(image, &types[1].size, &left, "ndr_image_copy within an image");
    ndr_image_destroy(image);
}

/* ---- kernels ---- */

static const char kernels[] =
    "kernel void read_1d(read_only image1d_t i, sampler_t s, global uint *out)\n"
    "{\n"
    "    uint4 v = read_imageui(i, s, (int)get_global_id(0));\n"
    "    out[get_global_id(0)] = v.x | v.y << 8 | v.z << 16 | v.w << 24;\n"
    "}\n"
    "kernel void read_2d(read_only image2d_t i, sampler_t s, global uint *out)\n"
    "{\n"
    "    uint4 v = read_imageui(i, s, (int2)(get_global_id(0), get_global_id(1)));\n"
    "    out[get_global_id(1) * get_image_width(i) + get_global_id(0)] = v.x | v.y << 8 | v.z << 16 | v.w << 24;\n"
    "}\n"
    "kernel void read_3d(read_only image3d_t i, sampler_t s, global uint *out)\n"
    "{\n"
    "    uint4 v = read_imageui(i, s, (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0));\n"
    "    out[(get_global_id(2) * get_image_height(i) + get_global_id(1)) * get_image_width(i) + get_global_id(0)] =\n"
    "        v.x | v.y << 8 | v.z << 16 | v.w << 24;\n"
    "}\n"
    "kernel void read_1d_array(read_only image1d_array_t i, sampler_t s, global uint *out)\n"
    "{\n"
    "    uint4 v = read_imageui(i, s, (int2)(get_global_id(0), get_global_id(1)));\n"
    "    out[get_global_id(1) * get_image_width(i) + get_global_id(0)] = v.x | v.y << 8 | v.z << 16 | v.w << 24;\n"
    "}\n"
    "kernel void read_2d_array(read_only image2d_array_t i, sampler_t s, global uint *out)\n"
    "{\n"
    "    uint4 v = read_imageui(i, s, (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0));\n"
    "    out[(get_global_id(2) * get_image_height(i) + get_global_id(1)) * get_image_width(i) + get_global_id(0)] =\n"
    "        v.x | v.y << 8 | v.z << 16 | v.w << 24;\n"
    "}\n"
    "kernel void turn(read_only image2d_t from, write_only image2d_t to)\n"
    "{\n"
    "    const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(to, at.yx, read_imagef(from, s, at) * 2.0f);\n"
    "}\n"
    "kernel void at(read_only image2d_t i, sampler_t s, float x, float y, global float4 *out)\n"
    "{\n"
    "    out[0] = read_imagef(i, s, (float2)(x, y));\n"
    "}\n";

static void test_image__of_each_type_is_an_argument(void **state)
{
    skip_without_images();
    static const char *const names[TYPES] = { "read_1d", "read_2d", "read_3d", "read_1d_array", "read_2d_array" };
    ndr_sampler *sampler;
    assert_ok(ndr_sampler_create(context, NULL, &sampler));
    for (size_t i = 0; i < MOST; ++i) model[i] = (uint32_t)(i * 2654435761u);
    ndr_buffer *out = buffer_of(sizeof model, NULL);
    for (size_t t = 0; t < TYPES; ++t) {
        ndr_image_desc desc = types[t];
        desc.format = bytes4;
        desc.contents = model;
        desc.kernels = NDR_ACCESS_READ;
        ndr_image *image = image_of(desc);
        assert_ok(ndr_launch(queue, kernel_of(kernels, names[t]), types[t].size, image, sampler, out));
        read_buffer(out, got, 4 * count_of(&types[t].size));
        if (memcmp(got, model, 4 * count_of(&types[t].size)) != 0) fail_msg("%s read other elements", names[t]);
        ndr_image_destroy(image);
    }
    ndr_sampler_destroy(sampler);
    ndr_buffer_destroy(out);
}

static void test_image__is_read_and_written_by_kernels(void **state)
{
    skip_without_images();
    enum { ROWS = 17, COLS = 33 };
    static float from[ROWS][COLS][4], to[COLS][ROWS][4];
    for (size_t i = 0; i < sizeof from / sizeof(float); ++i) (&from[0][0][0])[i] = (float)i;
    ndr_image *in = image_of((ndr_image_desc){
                  .format = floats4, .size = ndr_range_2d(ROWS, COLS), .contents = from, .kernels = NDR_ACCESS_READ }),
              *out = image_of((ndr_image_desc){
                  .format = floats4, .size = ndr_range_2d(COLS, ROWS), .kernels = NDR_ACCESS_WRITE });
    assert_ok(ndr_launch(queue, kernel_of(kernels, "turn"), ndr_range_2d(ROWS, COLS), in, out));
    assert_ok(ndr_image_read(queue, out, NULL, to, NULL));
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLS; ++c)
            for (int i = 0; i < 4; ++i) assert_true(to[c][r][i] == 2 * from[r][c][i]);
    ndr_image_destroy(in);
    ndr_image_destroy(out);
}

/* A prepared launch keeps its images and samplers. */
static void test_image__is_kept_by_a_prepared_launch(void **state)
{
    skip_without_images();
    for (size_t i = 0; i < MOST; ++i) model[i] = (uint32_t)(i * 2654435761u);
    ndr_image *image = image_with(1, bytes4, model), *other = image_with(1, bytes4, host);
    ndr_buffer *out = buffer_of(sizeof model, NULL);
    ndr_sampler *sampler;
    ndr_prepared *prepared;
    const ndr_nd_range range = { .global = types[1].size };
    assert_ok(ndr_sampler_create(context, NULL, &sampler));
    const ndr_arg args[] = { ndr_arg_of(other), ndr_arg_of(sampler), ndr_arg_of(out) };
    assert_ok(ndr_prepare_v(kernel_of(kernels, "read_2d"), &range, args, 3, &prepared));
    assert_ok(ndr_prepared_set(prepared, 0, ndr_arg_of(image)));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_prepared_set(prepared, 1, ndr_arg_of(out)), "takes a sampler");
    ndr_image_destroy(image);
    ndr_image_destroy(other);
    ndr_sampler_destroy(sampler);
    assert_ok(ndr_prepared_run(queue, prepared, NULL));
    take_buffer(out, got, 4 * count_of(&types[1].size));
    assert_memory_equal(got, model, 4 * count_of(&types[1].size));
    ndr_prepared_destroy(prepared);
}

static float sample(ndr_image *image, ndr_sampler_desc desc, float x, float y)
{
    float values[4] = { 0 };
    ndr_sampler *sampler;
    ndr_buffer *out = buffer_of(sizeof values, NULL);
    assert_ok(ndr_sampler_create(context, &desc, &sampler));
    assert_ok(ndr_launch(queue, kernel_of(kernels, "at"), ndr_range_1d(1), image, sampler, x, y, out));
    take_buffer(out, values, sizeof values);
    ndr_sampler_destroy(sampler);
    return values[0];
}

static void test_sampler__reads_as_its_descriptor_says(void **state)
{
    skip_without_images();
    float pixels[2][4][4] = { 0 };
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 4; ++c) pixels[r][c][0] = (float)(10 * r + c + 1);
    ndr_image *image = image_of((ndr_image_desc){ .format = floats4, .size = ndr_range_2d(2, 4), .contents = pixels });
    assert_true(sample(image, (ndr_sampler_desc){ 0 }, 2.5f, 1.5f) == 13);
    assert_true(sample(image, (ndr_sampler_desc){ 0 }, 9.5f, 0.5f) == 4);
    assert_true(sample(image, (ndr_sampler_desc){ .addressing = NDR_ADDRESSING_CLAMP }, 9.5f, 0.5f) == 0);
    assert_true(sample(image, (ndr_sampler_desc){ .is_linear = true }, 2.0f, 0.5f) == 2.5f);
    assert_true(sample(image, (ndr_sampler_desc){ .is_normalized = true }, 0.625f, 0.75f) == 13);
    assert_true(sample(image, (ndr_sampler_desc){ true, false, NDR_ADDRESSING_REPEAT }, 1.625f, 0.75f) == 13);
    assert_true(sample(image, (ndr_sampler_desc){ true, false, NDR_ADDRESSING_MIRRORED_REPEAT }, 1.125f, 0.25f) == 4);
    ndr_image_destroy(image);
}

/* PoCL 3.1 does not free all of an image over a buffer: it keeps some bytes and a reference to the context. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static ndr_status create_over_buffer(const ndr_image_desc *desc, ndr_image **image)
{
    if (__lsan_disable) __lsan_disable();
    const ndr_status status = ndr_image_create(context, desc, image);
    if (__lsan_enable) __lsan_enable();
    return status;
}

static cl_uint context_references(void)
{
    cl_uint count = 0;
    assert_int_equal(clGetContextInfo(context->cl, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL), CL_SUCCESS);
    return count;
}

static void test_image__over_a_buffer_shows_its_bytes(void **state)
{
    skip_without_images();
    enum { N = 100 };
    const ndr_image_desc use = { .size = ndr_range_1d(N), .buffer = (ndr_buffer *)&use };
    ndr_image_format formats[200];
    size_t count = 0, i = 0;
    assert_ok(ndr_image_list_formats(context, &use, 200, formats, &count));
    while (i < count && !(formats[i].channels == NDR_CHANNELS_RGBA && formats[i].type == NDR_CHANNEL_U8)) ++i;
    skip_without(i < count, "the device has no images over buffers");
    static const char source[] = "kernel void read(read_only image1d_buffer_t i, global uint *out)\n"
                                 "{\n"
                                 "    uint4 v = read_imageui(i, (int)get_global_id(0));\n"
                                 "    out[get_global_id(0)] = v.x | v.y << 8 | v.z << 16 | v.w << 24;\n"
                                 "}\n";
    for (size_t e = 0; e < N; ++e) model[e] = (uint32_t)(e * 2654435761u);
    ndr_buffer *buffer = buffer_of(4 * N, model), *out = buffer_of(4 * N, NULL);
    void *mapped;
    ndr_image *image = NULL, *none = NULL;
    ndr_image_desc desc = { .format = bytes4, .size = ndr_range_1d(N + 1), .buffer = buffer };
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_image_create(context, &desc, &none),
                   "101 elements of 4 bytes reach past the end of a buffer of 400 bytes");
    assert_null(none);
    desc.size = ndr_range_1d(N);
    if (context->checker) {
        assert_refused(NDR_UNSUPPORTED, ndr_image_create(context, &desc, &none), "NDR_CHECK has put a guard zone before");
        destroy_buffers(buffer, out);
        return;
    }
    const cl_uint references = context_references();
    assert_ok(create_over_buffer(&desc, &image));
    assert_ok(ndr_launch(queue, kernel_of(source, "read"), ndr_range_1d(N), image, out));
    read_buffer(out, got, 4 * N);
    assert_memory_equal(got, model, 4 * N);
    assert_ok(ndr_buffer_map(queue, buffer, NDR_MAP_WRITE, 0, 4, &mapped));
    memcpy(mapped, model, 4);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel_of(source, "read"), ndr_range_1d(N), image, out),
                   "is an image over a buffer that the host has mapped");
    assert_ok(ndr_buffer_unmap(queue, buffer, mapped, NULL));
    ndr_mapped_part part;
    const ndr_image_part middle = { .origin = { 7 }, .extent = ndr_range_1d(11) };
    assert_ok(ndr_image_map(queue, image, NDR_MAP_READ_WRITE, &middle, &part));
    assert_memory_equal(part.host, model + 7, 11 * sizeof model[0]);
    model[8] = 0x11223344;
    memcpy(part.host, model + 7, 11 * sizeof model[0]);
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_read(queue, buffer, 0, 4, got, NULL), "the host has the buffer mapped");
    ndr_mapped_part other = { NULL };
    const ndr_status overlapping = ndr_image_map(queue, image, NDR_MAP_READ, &middle, &other);
    assert_refused(NDR_BAD_ARGUMENT, overlapping, "the mapping of 44 bytes from byte 28 of the buffer overlaps an earlier one");
    assert_null(strstr(ndr_last_error(), "ndr_buffer_map"));
    assert_ok(ndr_image_unmap(queue, image, part.host, NULL));
    read_buffer(buffer, got, 4 * N);
    assert_memory_equal(got, model, 4 * N);
    ndr_image *again;
    assert_ok(ndr_image_from_cl(context, ndr_image_cl(image), &again));
    assert_ok(ndr_image_write(queue, again, &middle, model + 30, NULL));
    memcpy(model + 7, model + 30, 11 * sizeof model[0]);
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_copy(queue, again, &middle, image, (const size_t[]){ 17 }, NULL),
                   "the two parts of the same image's buffer overlap");
    assert_ok(ndr_image_map(queue, again, NDR_MAP_READ, &middle, &part));
    assert_memory_equal(part.host, model + 7, 11 * sizeof model[0]);
    assert_ok(ndr_image_unmap(queue, again, part.host, NULL));
    ndr_image_destroy(again);
    assert_ok(ndr_image_read(queue, image, &middle, got, NULL));
    assert_memory_equal(got, model + 7, 11 * sizeof model[0]);
    ndr_buffer_destroy(buffer);
    assert_ok(ndr_launch(queue, kernel_of(source, "read"), ndr_range_1d(N), image, out)); /* it keeps the buffer */
    assert_ok(ndr_image_map(queue, image, NDR_MAP_READ, NULL, &part));
    assert_memory_equal(part.host, model, 4 * N);
    assert_ok(ndr_queue_finish(queue));
    ndr_image_destroy(image); /* the last of the buffer: it is unmapped */
    if (__lsan_disable && context_references() > references) clReleaseContext(context->cl); /* PoCL 3.1, see above */
    ndr_buffer_destroy(out);
}

static void test_image__over_a_view_is_refused(void **state)
{
    skip_without_images();
    skip_without(!context->checker, "all buffers are views of memory with guard zones");
    ndr_buffer *buffer = buffer_of(2 * device.view_align_bytes, NULL), *view;
    ndr_image *image = NULL;
    assert_ok(ndr_buffer_create_view(buffer, device.view_align_bytes, 8, &view));
    const ndr_image_desc desc = { .format = bytes4, .size = ndr_range_1d(2), .buffer = view };
    assert_refused(NDR_UNSUPPORTED, ndr_image_create(context, &desc, &image),
                   "the buffer is a view; drivers support images only at the start of a buffer");
    assert_null(image);
    destroy_buffers(view, buffer);
}

/* ---- the forms of public kernels ----
 *
 * Kernels of photo editors take several images, samplers at program scope, vectors by value, tables in buffers and local
 * memory, over sizes that do not divide. Launched by libndr and by OpenCL they leave the same bits. */

enum { FORM_ROWS = 23, FORM_COLS = 37, FORM_ELEMENTS = FORM_ROWS * FORM_COLS, FORM_GROUP = 8, MAX_FORM_ARGS = 8 };

static const char forms[] =
    "constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;\n"
    "kernel void mix_by(read_only image2d_t a, read_only image2d_t b, write_only image2d_t out, const int width,\n"
    "                   const int height, const float4 share, global const float *table)\n"
    "{\n"
    "    const int x = get_global_id(0), y = get_global_id(1);\n"
    "    if (x >= width || y >= height) return;\n"
    "    float4 p = read_imagef(a, nearest, (int2)(x, y)), q = read_imagef(b, linear, (float2)(x + 0.25f, y * 0.9f));\n"
    "    p = mix(p, q, share);\n"
    "    p.w = table[clamp((int)(p.w * 255.0f), 0, 255)];\n"
    "    write_imagef(out, (int2)(x, y), p);\n"
    "}\n"
    "kernel void blur_rows(read_only image2d_t in, write_only image2d_t out, global const float *weight, const int radius,\n"
    "                      const int width, const int height, local float4 *row)\n"
    "{\n"
    "    const int x = get_global_id(0), y = get_global_id(1), l = get_local_id(0), n = get_local_size(0);\n"
    "    for (int i = l; i < n + 2 * radius; i += n)\n"
    "        row[i] = read_imagef(in, nearest, (int2)(x - l + i - radius, y));\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (x >= width || y >= height) return;\n"
    "    float4 sum = 0.0f;\n"
    "    for (int i = -radius; i <= radius; ++i) sum += row[l + radius + i] * weight[i + radius];\n"
    "    write_imagef(out, (int2)(x, y), sum);\n"
    "}\n";
/* In a program with one of the others, Mesa 22.3.6 cannot compile it. */
static const char unpack_form[] =
    "kernel void unpack(read_only image2d_t raw, write_only image2d_t out, const int2 origin, const uint black,\n"
    "                   global const uchar *pattern, sampler_t s)\n"
    "{\n"
    "    const int x = get_global_id(0), y = get_global_id(1);\n"
    "    const uint v = read_imageui(raw, s, (int2)(x, y) + origin).x;\n"
    "    write_imagef(out, (int2)(x, y), (float4)((float)(v - min(v, black)) * pattern[(y & 1) * 2 + (x & 1)], x, y, 1.0f));\n"
    "}\n";

/* One argument as libndr and as OpenCL take it. */
typedef struct form_arg {
    ndr_arg arg;
    size_t cl_bytes;
    const void *cl;
} form_arg;

static void check_form(const char *source, const char *name, const form_arg *given, size_t count, ndr_image *output, const size_t local[2])
{
    static float by_libndr[FORM_ELEMENTS][4], by_opencl[FORM_ELEMENTS][4];
    const size_t zeros[3] = { 0, 0, 0 }, extent[3] = { FORM_COLS, FORM_ROWS, 1 };
    ndr_arg args[MAX_FORM_ARGS];
    ndr_nd_range range = { .global = ndr_range_2d(FORM_ROWS, FORM_COLS) };
    size_t global[2] = { FORM_COLS, FORM_ROWS };
    if (local) {
        for (int d = 0; d < 2; ++d) global[d] = (global[d] + local[d] - 1) / local[d] * local[d];
        range = (ndr_nd_range){ .global = ndr_range_2d(global[1], global[0]), .local = ndr_range_2d(local[1], local[0]) };
    }
    ndr_kernel *kernel = kernel_of(source, name);
    for (size_t i = 0; i < count; ++i) args[i] = given[i].arg;
    assert_ok(ndr_launch_v(queue, kernel, &range, args, count, NULL));
    assert_ok(ndr_image_read(queue, output, NULL, by_libndr, NULL));
    assert_ok(ndr_image_fill(queue, output, NULL, (const float[4]){ 0 }, NULL));
    cl_kernel cl = ndr_kernel_cl(kernel);
    for (size_t i = 0; i < count; ++i)
        assert_int_equal(clSetKernelArg(cl, (cl_uint)i, given[i].cl_bytes, given[i].cl), CL_SUCCESS);
    cl_command_queue line = ndr_queue_cl(queue);
    assert_int_equal(clEnqueueNDRangeKernel(line, cl, 2, NULL, global, local, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(clEnqueueReadImage(line, ndr_image_cl(output), CL_TRUE, zeros, extent, 0, 0, by_opencl, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_true(by_libndr[FORM_ELEMENTS - 1][0] != 0 && by_libndr[FORM_ELEMENTS - 1][3] != 0);
    if (memcmp(by_libndr, by_opencl, sizeof by_opencl) != 0) fail_msg("%s leaves other bits than with OpenCL", name);
}

static void test_image__kernels_of_public_forms_leave_the_bits_of_opencl(void **state)
{
    skip_without_images();
    static float a[FORM_ELEMENTS][4], b[FORM_ELEMENTS][4], table[256];
    static uint16_t raw[FORM_ELEMENTS];
    seed = number_from_env("NDR_TEST_SEED", 1) << 32;
    for (size_t i = 0; i < 4 * FORM_ELEMENTS; ++i) {
        (&a[0][0])[i] = (float)(below(1000) + 1) / 1000;
        (&b[0][0])[i] = (float)(below(1000) + 1) / 1000;
        raw[i / 4] = (uint16_t)(600 + below(60000));
    }
    for (size_t i = 0; i < 256; ++i) table[i] = (float)(i + 1) / 256;
    const ndr_range size = ndr_range_2d(FORM_ROWS, FORM_COLS);
    const ndr_access reads = NDR_ACCESS_READ;
    ndr_image *in_a = image_of((ndr_image_desc){ .format = floats4, .size = size, .contents = a, .kernels = reads }),
              *in_b = image_of((ndr_image_desc){ .format = floats4, .size = size, .contents = b, .kernels = reads }),
              *in_raw = image_of((ndr_image_desc){ .format = { NDR_CHANNELS_R, NDR_CHANNEL_U16 }, .size = size,
                                                   .contents = raw, .kernels = reads }),
              *out = image_of((ndr_image_desc){ .format = floats4, .size = size, .kernels = NDR_ACCESS_WRITE });
    ndr_buffer *tables = buffer_of(sizeof table, table), *pattern = buffer_of(4, "\1\2\3\4");
    ndr_sampler *sampler;
    assert_ok(ndr_sampler_create(context, NULL, &sampler));
    const cl_mem cl_a = ndr_image_cl(in_a), cl_b = ndr_image_cl(in_b), cl_raw = ndr_image_cl(in_raw), cl_out = ndr_image_cl(out),
                 cl_table = ndr_buffer_cl(tables), cl_pattern = ndr_buffer_cl(pattern);
    const struct _cl_sampler *const cl_sampler = ndr_sampler_cl(sampler);
    const cl_int width = FORM_COLS, height = FORM_ROWS, radius = 3;
    const cl_uint black = 512;
    const cl_float4 share = { { 0.25f, 0.5f, 0.75f, 0.125f } };
    const cl_int2 origin = { { 2, -1 } };
    const form_arg mix_by[] = {
        { ndr_arg_of(in_a), sizeof cl_a, &cl_a }, { ndr_arg_of(in_b), sizeof cl_b, &cl_b },
        { ndr_arg_of(out), sizeof cl_out, &cl_out }, { ndr_arg_of(width), sizeof width, &width },
        { ndr_arg_of(height), sizeof height, &height },
        { ndr_vector(float, 0.25f, 0.5f, 0.75f, 0.125f), sizeof share, &share },
        { ndr_arg_of(tables), sizeof cl_table, &cl_table },
    };
    check_form(forms, "mix_by", mix_by, 7, out, NULL);
    const form_arg blur_rows[] = {
        { ndr_arg_of(in_a), sizeof cl_a, &cl_a }, { ndr_arg_of(out), sizeof cl_out, &cl_out },
        { ndr_arg_of(tables), sizeof cl_table, &cl_table }, { ndr_arg_of(radius), sizeof radius, &radius },
        { ndr_arg_of(width), sizeof width, &width }, { ndr_arg_of(height), sizeof height, &height },
        { ndr_local(cl_float4, FORM_GROUP + 6), (FORM_GROUP + 6) * sizeof(cl_float4), NULL },
    };
    check_form(forms, "blur_rows", blur_rows, 7, out, (const size_t[]){ FORM_GROUP, 1 });
    const form_arg unpack[] = {
        { ndr_arg_of(in_raw), sizeof cl_raw, &cl_raw }, { ndr_arg_of(out), sizeof cl_out, &cl_out },
        { ndr_vector(int, 2, -1), sizeof origin, &origin }, { ndr_arg_of(black), sizeof black, &black },
        { ndr_arg_of(pattern), sizeof cl_pattern, &cl_pattern }, { ndr_arg_of(sampler), sizeof cl_sampler, &cl_sampler },
    };
    check_form(unpack_form, "unpack", unpack, 6, out, NULL);
    ndr_image_destroy(in_a);
    ndr_image_destroy(in_b);
    ndr_image_destroy(in_raw);
    ndr_image_destroy(out);
    destroy_buffers(tables, pattern);
    ndr_sampler_destroy(sampler);
}

/* ---- mapping ---- */

/* The mapped part as for_each_element() takes it. */
static ndr_image_part as_mapped(ndr_image_part part, const ndr_mapped_part *mapped)
{
    part.row_pitch_bytes = mapped->row_pitch_bytes;
    part.plane_pitch_bytes = mapped->plane_pitch_bytes;
    return part;
}

static bool maps_first_layers;
static uint32_t *mapped_words;
static void compare_mapped(size_t in_image, size_t on_host) { assert_int_equal(mapped_words[on_host], model[in_image]); }
static void write_mapped(size_t in_image, size_t on_host)
{
    mapped_words[on_host] = model[in_image] = (uint32_t)random_bits(&seed);
}

/* In Mesa 22.3.6, a mapped part of a 1-D array must begin at the first layer, or has wrong elements. */
static bool driver_maps_first_layers(void)
{
    enum { LAYERS = 6, COLS = 19 };
    uint32_t elements[LAYERS * COLS];
    for (uint32_t i = 0; i < LAYERS * COLS; ++i) elements[i] = i;
    const size_t origin[3] = { 0, 2, 0 }, extent[3] = { COLS, 3, 1 };
    const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = COLS, .image_array_size = LAYERS };
    size_t row = 0, slice = 0;
    cl_int error;
    cl_mem cl = clCreateImage(context->cl, CL_MEM_COPY_HOST_PTR, &format, &desc, elements, &error);
    assert_int_equal(error, CL_SUCCESS);
    cl_command_queue line = ndr_queue_cl(queue);
    uint32_t *mapped = clEnqueueMapImage(line, cl, CL_TRUE, CL_MAP_READ, origin, extent, &row, &slice, 0, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    const bool is_wrong = mapped[0] != 2 * COLS || mapped[2 * slice / sizeof *mapped] != 4 * COLS;
    assert_int_equal(clEnqueueUnmapMemObject(line, cl, mapped, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(clFinish(line), CL_SUCCESS);
    clReleaseMemObject(cl);
    return is_wrong;
}

static void map_randomly(ndr_image *image, const ndr_range *size, ndr_map_access access)
{
    ndr_image_part part;
    ndr_mapped_part mapped = { 0 };
    do part = random_part(size, false);
    while (count_of(&part.extent) == 0);
    if (maps_first_layers && size->dims == 2) part.extent.size[0] += part.origin[0], part.origin[0] = 0;
    assert_ok(ndr_image_map(queue, image, access, &part, &mapped));
    assert_non_null(mapped.host);
    assert_true(size->dims > 1 ? mapped.row_pitch_bytes >= 4 * part.extent.size[size->dims - 1] : mapped.row_pitch_bytes == 0);
    assert_true(size->dims > 2 ? mapped.plane_pitch_bytes >= mapped.row_pitch_bytes : mapped.plane_pitch_bytes == 0);
    part = as_mapped(part, &mapped);
    mapped_words = mapped.host;
    if (access != NDR_MAP_WRITE) for_each_element(size, &part, compare_mapped);
    if (access != NDR_MAP_READ) for_each_element(size, &part, write_mapped);
    assert_ok(ndr_image_unmap(queue, image, mapped.host, NULL));
    assert_model(image, size, &part, "ndr_image_unmap");
}

static void test_image__maps_random_parts_of_each_type(void **state)
{
    skip_without_images();
    seed = number_from_env("NDR_TEST_SEED", 1) << 32;
    for (size_t t = 0; t < TYPES; ++t) {
        for (size_t i = 0; i < MOST; ++i) model[i] = (uint32_t)(i * 2654435761u);
        ndr_image *image = image_with(t, bytes4, model);
        maps_first_layers = types[t].is_array && driver_maps_first_layers();
        for (int i = 0; i < (quick() ? 2 : 20); ++i)
            for (int access = NDR_MAP_READ; access <= NDR_MAP_READ_WRITE; ++access)
                map_randomly(image, &types[t].size, (ndr_map_access)access);
        ndr_image_destroy(image);
    }
}

/* Mapped to read: commands that only read are taken. Mapped to write: none is. */
static void test_image__mapped_is_kept_from_the_device(void **state)
{
    skip_without_images();
    ndr_image *image = image_with(1, floats4, NULL), *other = image_with(1, floats4, NULL);
    ndr_kernel *turn = kernel_of(kernels, "turn");
    const ndr_range one = ndr_range_2d(1, 1);
    static float values[13 * 37 * 4];
    ndr_mapped_part read, written;
    assert_ok(ndr_image_map(queue, image, NDR_MAP_READ, NULL, &read));
    assert_ok(ndr_launch(queue, turn, one, image, other));
    assert_ok(ndr_image_read(queue, image, NULL, values, NULL));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, turn, one, other, image), "kernel \"turn\", argument 1 \"to\"",
                   "is an image that the host has mapped; unmap it first");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_fill(queue, image, NULL, values, NULL),
                   "ndr_image_fill: the host has the image mapped; unmap it first");
    assert_ok(ndr_image_map(queue, image, NDR_MAP_READ_WRITE, &(ndr_image_part){ .extent = one }, &written));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, turn, one, image, other), "argument 0 \"from\"",
                   "is an image that the host has mapped");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_copy(queue, image, NULL, other, NULL, NULL),
                   "ndr_image_copy, from: the host has the image mapped");
    assert_ok(ndr_image_unmap(queue, image, written.host, NULL));
    assert_ok(ndr_image_copy(queue, image, NULL, other, NULL, NULL));
    if (read.host != written.host) assert_ok(ndr_image_unmap(queue, image, read.host, NULL));
    ndr_image_destroy(image); /* mapped on drivers that give both mappings one address: it is unmapped */
    ndr_image_destroy(other);
    assert_ok(ndr_queue_finish(queue));
}

static void test_image__refuses_maps_that_are_not_valid(void **state)
{
    skip_without_images();
    ndr_image *image = image_with(1, bytes4, model),
              *closed = image_of((ndr_image_desc){ .format = bytes4, .size = ndr_range_2d(4, 4), .host = NDR_ACCESS_NONE }),
              *to_read = image_of((ndr_image_desc){
                  .format = bytes4, .size = ndr_range_2d(4, 4), .contents = model, .host = NDR_ACCESS_READ });
    ndr_mapped_part mapped = { 0 };
    const ndr_image_part none = { .extent = ndr_range_2d(2, 0) }, wide = { .origin = { 0, 30 }, .extent = ndr_range_2d(1, 8) };
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_map(queue, image, (ndr_map_access)0, NULL, &mapped),
                   "ndr_image_map: 0 is not an ndr_map_access; use NDR_MAP_READ");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_map(queue, image, NDR_MAP_READ, &none, &mapped),
                   "ndr_image_map: a part of 0 elements has no address");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_image_map(queue, image, NDR_MAP_READ, &wide, &mapped),
                   "ndr_image_map, dimension 1: origin 30 and extent 8");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_map(queue, image, NDR_MAP_READ, NULL, NULL), "mapped is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_map(NULL, image, NDR_MAP_READ, NULL, &mapped), "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_map(queue, NULL, NDR_MAP_READ, NULL, &mapped), "image is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_map(queue, closed, NDR_MAP_READ, NULL, &mapped),
                   "the image was created without host access, so the host cannot read it; change ndr_image_desc.host");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_map(queue, to_read, NDR_MAP_WRITE, NULL, &mapped),
                   "the image was created with read-only host access, so the host cannot write it");
    assert_null(mapped.host);
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_unmap(queue, image, model, NULL), "is not where this image is mapped",
                   "pass the address that ndr_image_map() returned");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_unmap(queue, image, NULL, NULL), "is not where this image is mapped");
    assert_ok(ndr_image_map(queue, to_read, NDR_MAP_READ, NULL, &mapped));
    assert_memory_equal(mapped.host, model, 16);
    assert_ok(ndr_image_unmap(queue, to_read, mapped.host, NULL));
    ndr_image_destroy(image);
    ndr_image_destroy(closed);
    ndr_image_destroy(to_read);
}

/* ---- uses ---- */

/* Whatever the host may do, the formats are the same, and fills and copies are allowed. */
static void test_image__fills_and_copies_need_no_access_of_the_host(void **state)
{
    skip_without_images();
    for (int kernel = NDR_ACCESS_READ_WRITE; kernel <= NDR_ACCESS_NONE; ++kernel)
        for (int access = NDR_ACCESS_READ_WRITE; access <= NDR_ACCESS_NONE; ++access) {
            ndr_image *from = image_of((ndr_image_desc){ .format = bytes4, .size = ndr_range_2d(3, 5),
                                                         .kernels = (ndr_access)kernel, .host = (ndr_access)access }),
                      *to = image_of((ndr_image_desc){ .format = bytes4, .size = ndr_range_2d(3, 5) });
            assert_ok(ndr_image_fill(queue, from, NULL, (const uint32_t[]){ 1, 2, 3, 4 }, NULL));
            assert_ok(ndr_image_copy(queue, from, NULL, to, NULL, NULL));
            assert_ok(ndr_image_read(queue, to, NULL, got, NULL));
            for (int i = 0; i < 15; ++i) assert_int_equal(got[i], 0x04030201);
            ndr_image_destroy(from);
            ndr_image_destroy(to);
        }
}

static void test_image__of_no_kernel_is_not_an_argument(void **state)
{
    skip_without_images();
    ndr_image *image = image_of((ndr_image_desc){ .format = floats4, .size = ndr_range_2d(4, 4), .kernels = NDR_ACCESS_NONE });
    assert_refused(
        NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, kernel_of(kernels, "turn"), ndr_range_2d(1, 1), image, image),
        "argument 0 \"from\"", "created without kernel access (ndr_image_desc.kernels), but this kernel reads it");
    ndr_image_destroy(image);
}

/* Formats of read_write parameters are fewer: an image of another one is refused. */
static void test_image__for_read_write_parameters_needs_a_format_for_that(void **state)
{
    skip_without_images();
    static const char source[] = "kernel void twice(read_write image2d_t i)\n"
                                 "{\n"
                                 "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
                                 "    write_imagef(i, at, read_imagef(i, at) * 2.0f);\n"
                                 "}\n";
    ndr_image_desc use = { .format = floats4, .size = ndr_range_2d(3, 5), .is_read_write = true };
    ndr_image_format both[200], either[200];
    size_t both_count = 0, either_count = 0;
    assert_ok(ndr_image_list_formats(context, &use, 200, both, &both_count));
    use.is_read_write = false;
    assert_ok(ndr_image_list_formats(context, &use, 200, either, &either_count));
    for (size_t i = 0; i < either_count; ++i) {
        size_t k = 0;
        while (k < both_count && memcmp(&both[k], &either[i], sizeof both[k]) != 0) ++k;
        if (k < both_count) continue;
        use.format = either[i];
        use.is_read_write = true;
        ndr_image *none = NULL;
        assert_refused(NDR_UNSUPPORTED, ndr_image_create(context, &use, &none), "for an image2d_t as a read_write parameter");
        assert_null(none);
        break;
    }
    skip_without(both_count > 0, "the device has no images that one kernel reads and writes");
    ndr_kernel *twice = NULL;
    const ndr_kernel_desc desc = { .name = "twice", .source = source };
    const ndr_status status = ndr_kernel_get(context, &desc, &twice);
    skip_without(status == NDR_OK, "the compiler has no read_write images");
    float values[3][5][4], out[3][5][4];
    for (size_t i = 0; i < 60; ++i) (&values[0][0][0])[i] = (float)i;
    ndr_image *image = image_of((ndr_image_desc){ .format = floats4, .size = ndr_range_2d(3, 5), .contents = values });
    assert_ok(ndr_launch(queue, twice, ndr_range_2d(3, 5), image));
    assert_ok(ndr_image_read(queue, image, NULL, out, NULL));
    for (size_t i = 0; i < 60; ++i) assert_true((&out[0][0][0])[i] == 2 * (float)i);
    image->is_read_write = false; /* as of a format that is not listed; drivers may list all for this use */
    assert_refused(NDR_UNSUPPORTED, ndr_launch(queue, twice, ndr_range_2d(3, 5), image),
                   "kernel \"twice\", argument 0 \"i\"", "of a format that the device does not have for read_write");
    ndr_image_destroy(image);
}

/* ---- OpenCL's objects ---- */

static cl_mem cl_image_of(cl_mem_flags flags, cl_mem_object_type type, cl_image_format format, size_t width, size_t height,
                          size_t depth)
{
    const bool is_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    const cl_image_desc desc = { .image_type = type,
                                 .image_width = width,
                                 .image_height = type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 0 : height,
                                 .image_depth = is_array ? 0 : depth,
                                 .image_array_size = type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? height : is_array ? depth : 0 };
    cl_int error;
    cl_mem cl = clCreateImage(context->cl, flags, &format, &desc, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    return cl;
}

static cl_uint references_of(cl_mem cl)
{
    cl_uint count = 0;
    assert_int_equal(clGetMemObjectInfo(cl, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL), CL_SUCCESS);
    return count;
}

static void test_image_from_cl__takes_each_type(void **state)
{
    skip_without_images();
    static const char *const names[TYPES] = { "read_1d", "read_2d", "read_3d", "read_1d_array", "read_2d_array" };
    static const cl_mem_object_type cl_types[TYPES] = { CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE3D,
                                                        CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D_ARRAY };
    ndr_sampler *sampler, *wrong;
    cl_int error;
    cl_sampler cl_nearest = clCreateSampler(context->cl, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(ndr_sampler_from_cl(context, cl_nearest, &sampler));
    assert_ptr_equal(ndr_sampler_cl(sampler), cl_nearest);
    clReleaseSampler(cl_nearest); /* libndr has a reference of its own */
    ndr_buffer *out = buffer_of(sizeof model, NULL);
    for (size_t t = 0; t < TYPES; ++t) {
        const ndr_range *size = &types[t].size;
        size_t reversed[3] = { 1, 0, 0 };
        ndr_reverse_dims(size->dims, size->size, reversed);
        cl_mem cl = cl_image_of(CL_MEM_READ_ONLY, cl_types[t], (cl_image_format){ CL_RGBA, CL_UNSIGNED_INT8 }, reversed[0],
                                reversed[1], reversed[2]);
        const cl_uint before = references_of(cl);
        ndr_image *image;
        assert_ok(ndr_image_from_cl(context, cl, &image));
        assert_ptr_equal(ndr_image_cl(image), cl);
        assert_int_equal(references_of(cl), before + 1);
        ndr_image_destroy(image);
        assert_int_equal(references_of(cl), before);
        assert_ok(ndr_image_from_cl(context, cl, &image));
        for (size_t i = 0; i < MOST; ++i) model[i] = (uint32_t)(i * 2654435761u + t);
        assert_ok(ndr_image_write(queue, image, NULL, model, NULL));
        assert_ok(ndr_launch(queue, kernel_of(kernels, names[t]), *size, image, sampler, out));
        read_buffer(out, got, 4 * count_of(size));
        assert_memory_equal(got, model, 4 * count_of(size));
        seed = t + 1;
        maps_first_layers = types[t].is_array && driver_maps_first_layers();
        map_randomly(image, size, NDR_MAP_READ_WRITE);
        ndr_image_destroy(image);
        clReleaseMemObject(cl);
    }
    ndr_sampler_destroy(sampler);
    assert_refused(NDR_BAD_ARGUMENT, ndr_sampler_from_cl(context, NULL, &wrong), "cl is NULL");
    ndr_buffer_destroy(out);
}

static void test_image_from_cl__has_the_accesses_of_the_object(void **state)
{
    skip_without_images();
    const cl_image_format format = { CL_RGBA, CL_FLOAT };
    cl_mem cl = cl_image_of(CL_MEM_WRITE_ONLY | CL_MEM_HOST_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, format, 5, 3, 0);
    ndr_image *image, *other = image_with(1, floats4, NULL);
    assert_ok(ndr_image_from_cl(context, cl, &image));
    clReleaseMemObject(cl);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, kernel_of(kernels, "turn"), ndr_range_2d(3, 3), image, other),
                   "created write-only for kernels (ndr_image_desc.kernels), but this kernel reads it");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_write(queue, image, NULL, host, NULL),
                   "with read-only host access, so the host cannot write it");
    assert_ok(ndr_launch(queue, kernel_of(kernels, "turn"), ndr_range_2d(3, 3), other, image));
    assert_ok(ndr_queue_finish(queue));
    ndr_image_destroy(image);
    ndr_image_destroy(other);
}

static void test_image_from_cl__refuses_what_is_not_an_image_of_the_context(void **state)
{
    skip_without_images();
    cl_int error;
    ndr_image *image = NULL;
    ndr_sampler *sampler = NULL;
    ndr_context *other;
    assert_ok(ndr_context_create(NULL, &other));
    cl_mem buffer = clCreateBuffer(context->cl, 0, 64, NULL, &error),
           cl = cl_image_of(0, CL_MEM_OBJECT_IMAGE2D, (cl_image_format){ CL_RGBA, CL_FLOAT }, 5, 3, 0);
    cl_sampler cl_sampler = clCreateSampler(context->cl, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error);
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_from_cl(context, buffer, &image), "the memory object is a buffer, not an image");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_from_cl(other, cl, &image), "belongs to another OpenCL context");
    assert_refused(NDR_BAD_ARGUMENT, ndr_sampler_from_cl(other, cl_sampler, &sampler), "belongs to another OpenCL context");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_from_cl(NULL, cl, &image), "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_from_cl(context, NULL, &image), "cl is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_from_cl(context, cl, NULL), "image is NULL");
    assert_null(image);
    assert_null(sampler);
    assert_null(ndr_image_cl(NULL));
    assert_null(ndr_sampler_cl(NULL));
    clReleaseMemObject(buffer);
    clReleaseMemObject(cl);
    clReleaseSampler(cl_sampler);
    ndr_context_destroy(other);
}

/* ---- refusals ---- */

static void test_image__refuses_to_list_formats_for_a_use_that_is_not_valid(void **state)
{
    skip_without_images();
    const struct {
        ndr_image_desc use;
        const char *part;
    } cases[] = {
        { { .size = { 4, { 0 } } }, "size.dims is 4; make it 1, 2 or 3" },
        { { .size = { 1, { 0 } }, .is_array = true }, "is_array is set, but size has 1 dimension" },
        { { .size = { 2, { 0 } }, .buffer = (ndr_buffer *)&cases }, "buffer is set, but size has 2 dimensions" },
        { { .size = { 2, { 0 } }, .kernels = (ndr_access)4 },
          "kernels is 4; use NDR_ACCESS_READ_WRITE, NDR_ACCESS_READ, NDR_ACCESS_WRITE or NDR_ACCESS_NONE" },
        { { .size = { 2, { 0 } }, .kernels = NDR_ACCESS_WRITE, .is_read_write = true },
          "is_read_write is set, but kernels is 2; set that to NDR_ACCESS_READ_WRITE" },
    };
    size_t count = 77;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        assert_refused(NDR_BAD_ARGUMENT, ndr_image_list_formats(context, &cases[i].use, 0, NULL, &count),
                       "ndr_image_list_formats, use: ", cases[i].part);
    assert_int_equal(count, 77);
    const ndr_image_desc other_members = { .size = { 2, { 0 } }, .host = (ndr_access)99 }; /* are not read */
    assert_ok(ndr_image_list_formats(context, &other_members, 0, NULL, &count));
}

static void test_image__refuses_descriptions_that_are_not_valid(void **state)
{
    skip_without_images();
    ndr_image *image = NULL;
    size_t most = 0;
    char limit[64];
    assert_int_equal(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof most, &most, NULL), CL_SUCCESS);
    snprintf(limit, sizeof limit, "has at most %zu there", most);
    const struct {
        ndr_status status;
        ndr_image_desc desc;
        const char *part;
    } cases[] = {
        { NDR_BAD_ARGUMENT, { .format = bytes4 }, "size.dims is 0; make it 1, 2 or 3" },
        { NDR_BAD_ARGUMENT, { .format = bytes4, .size = { 4, { 1, 1, 1 } } }, "size.dims is 4" },
        { NDR_BAD_ARGUMENT, { .format = bytes4, .size = { 1, { 4 } }, .is_array = true }, "is_array is set, but size has 1" },
        { NDR_BAD_ARGUMENT, { .format = bytes4, .size = { 2, { 4, 0 } } }, "dimension 1 has 0 elements" },
        { NDR_BAD_ARGUMENT, { .size = { 2, { 4, 4 } } }, "format {0, 0} is not valid; set channels and type" },
        { NDR_UNSUPPORTED, { .format = { NDR_CHANNELS_INTENSITY, NDR_CHANNEL_I32 }, .size = { 2, { 4, 4 } } },
          "has no format INTENSITY of I32 for an image2d_t that kernels read and write; of INTENSITY it has " },
        { NDR_UNSUPPORTED, { .format = { NDR_CHANNELS_INTENSITY, NDR_CHANNEL_I32 }, .size = { 2, { 4, 4 } } },
          "; of type I32 it has " },
        { NDR_BAD_ARGUMENT, { .format = bytes4, .size = { 1, { 4 } }, .kernels = NDR_ACCESS_READ, .is_read_write = true },
          "is_read_write is set, but kernels is 1; set that to NDR_ACCESS_READ_WRITE" },
        { NDR_LIMIT_EXCEEDED, { .format = bytes4, .size = { 2, { most + 1, 4 } } }, limit },
        { NDR_BAD_ARGUMENT, { .format = bytes4, .size = { 1, { 4 } }, .kernels = (ndr_access)4 }, "kernels is 4; use NDR_ACCESS_READ_WRITE, " },
        { NDR_BAD_ARGUMENT, { .format = bytes4, .size = { 1, { 4 } }, .host = (ndr_access)-1 }, "host is -1; use NDR_ACCESS_READ_WRITE, " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        assert_refused(cases[i].status, ndr_image_create(context, &cases[i].desc, &image), "ndr_image_create",
                       cases[i].part);
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_create(NULL, &types[0], &image), "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_create(context, NULL, &image), "desc is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_create(context, &types[0], NULL), "image is NULL");
    assert_null(image);
    ndr_sampler *sampler = NULL;
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_sampler_create(context, &(ndr_sampler_desc){ .addressing = NDR_ADDRESSING_REPEAT }, &sampler),
                   "needs normalised coordinates; set is_normalized");
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_sampler_create(context, &(ndr_sampler_desc){ .addressing = (ndr_addressing)5 }, &sampler),
                   "addressing is 5");
    assert_null(sampler);
    ndr_image_destroy(NULL);
    ndr_sampler_destroy(NULL);
}

static void test_image__refuses_parts_that_do_not_fit_by_dimension(void **state)
{
    skip_without_images();
    ndr_image *image = image_with(1, bytes4, model), *deep = image_with(2, bytes4, model), *floats = image_with(1, floats4, NULL);
    const ndr_image_part wide = { .origin = { 0, 30 }, .extent = ndr_range_2d(1, 8) },
                         tall = { .origin = { 13, 0 }, .extent = ndr_range_2d(1, 1) },
                         flat = { .extent = ndr_range_1d(4) },
                         narrow = { .extent = ndr_range_2d(2, 4), .row_pitch_bytes = 15 },
                         ragged = { .row_pitch_bytes = 44, .plane_pitch_bytes = 44 * 7 + 4 };
    assert_refused(
        NDR_OUT_OF_BOUNDS, ndr_image_read(queue, image, &wide, got, NULL),
        "ndr_image_read, dimension 1: origin 30 and extent 8 reach past the end of an image of 37 elements there");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_image_write(queue, image, &tall, got, NULL),
                   "ndr_image_write, dimension 0: origin 13");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_image_fill(queue, image, &wide, got, NULL), "ndr_image_fill, dimension 1");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_image_copy(queue, image, NULL, image, (const size_t[]){ 0, 1 }, NULL),
                   "ndr_image_copy, to, dimension 1: origin 1 and extent 37");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_read(queue, image, &flat, got, NULL),
                   "extent.dims is 1, but the image has 2");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_read(queue, image, &narrow, got, NULL),
                   "dimension 1: 4 elements take 16 bytes, but row_pitch_bytes is 15");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_write(queue, deep, &ragged, host, NULL),
                   "plane_pitch_bytes is 312; it must be a multiple of row_pitch_bytes, 44");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_copy(queue, image, NULL, deep, NULL, NULL), "from has 2 dimensions, but to has 3; use images");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_copy(queue, image, NULL, floats, NULL, NULL),
                   "from has elements RGBA of U8, but to has RGBA of F32; use images of the same format");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_read(queue, image, NULL, NULL, NULL), "host is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_read(NULL, image, NULL, got, NULL), "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_read(queue, NULL, NULL, got, NULL), "image is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_image_fill(queue, image, NULL, NULL, NULL), "value is NULL");
    ndr_image_destroy(image);
    ndr_image_destroy(deep);
    ndr_image_destroy(floats);
}

static void test_image__arguments_are_checked_against_the_kernel(void **state)
{
    skip_without_images();
    ndr_kernel *turn = kernel_of(kernels, "turn"), *read_2d = kernel_of(kernels, "read_2d");
    ndr_image *image = image_with(1, floats4, NULL), *array = image_with(3, floats4, NULL),
              *to_read = image_of((ndr_image_desc){ .format = floats4, .size = ndr_range_2d(4, 4), .kernels = NDR_ACCESS_READ }),
              *to_write = image_of((ndr_image_desc){ .format = floats4, .size = ndr_range_2d(4, 4), .kernels = NDR_ACCESS_WRITE });
    ndr_sampler *sampler;
    ndr_buffer *buffer = buffer_of(64, NULL);
    assert_ok(ndr_sampler_create(context, NULL, &sampler));
    const ndr_range one = ndr_range_2d(1, 1);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, turn, one, buffer, image),
                   "kernel \"turn\", argument 0 \"from\"", "takes an image, but a buffer is given");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, turn, one, array, image), "is given an image1d_array_t");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, turn, one, to_write, image),
                   "created write-only for kernels (ndr_image_desc.kernels), but this kernel reads it");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, turn, one, image, to_read), "argument 1 \"to\"",
                   "read-only for kernels (ndr_image_desc.kernels), but this kernel writes it");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, turn, one, (ndr_image *)NULL, image), "is a NULL image");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, read_2d, one, image, 1, buffer),
                   "takes a sampler, but an integer is given");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, read_2d, one, image, (ndr_sampler *)NULL, buffer),
                   "is a NULL sampler");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, read_2d, one, image, sampler, image),
                   "takes a buffer, but an image is given");
    ndr_image_destroy(image);
    ndr_image_destroy(array);
    ndr_image_destroy(to_read);
    ndr_image_destroy(to_write);
    ndr_sampler_destroy(sampler);
    ndr_buffer_destroy(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image__has_the_formats_that_are_listed),
        cmocka_unit_test(test_image__format_sizes_are_channels_times_bytes),
        cmocka_unit_test(test_image__random_parts_are_transferred_as_by_a_plain_loop),
        cmocka_unit_test(test_image__copies_parts_between_and_within_images),
        cmocka_unit_test(test_image__of_each_type_is_an_argument),
        cmocka_unit_test(test_image__is_read_and_written_by_kernels),
        cmocka_unit_test(test_image__is_kept_by_a_prepared_launch),
        cmocka_unit_test(test_sampler__reads_as_its_descriptor_says),
        cmocka_unit_test(test_image__over_a_buffer_shows_its_bytes),
        cmocka_unit_test(test_image__over_a_view_is_refused),
        cmocka_unit_test(test_image__kernels_of_public_forms_leave_the_bits_of_opencl),
        cmocka_unit_test(test_image__maps_random_parts_of_each_type),
        cmocka_unit_test(test_image__mapped_is_kept_from_the_device),
        cmocka_unit_test(test_image__refuses_maps_that_are_not_valid),
        cmocka_unit_test(test_image__fills_and_copies_need_no_access_of_the_host),
        cmocka_unit_test(test_image__of_no_kernel_is_not_an_argument),
        cmocka_unit_test(test_image__for_read_write_parameters_needs_a_format_for_that),
        cmocka_unit_test(test_image_from_cl__takes_each_type),
        cmocka_unit_test(test_image_from_cl__has_the_accesses_of_the_object),
        cmocka_unit_test(test_image_from_cl__refuses_what_is_not_an_image_of_the_context),
        cmocka_unit_test(test_image__refuses_to_list_formats_for_a_use_that_is_not_valid),
        cmocka_unit_test(test_image__refuses_descriptions_that_are_not_valid),
        cmocka_unit_test(test_image__refuses_parts_that_do_not_fit_by_dimension),
        cmocka_unit_test(test_image__arguments_are_checked_against_the_kernel),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}

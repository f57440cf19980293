/* image_part.c - transfers and mappings of parts of images. */
#include "device/buffer.h"
#include "device/context.h"
#include "device/format.h"
#include "device/image.h"
#include "device/queue.h"
#include "device/transfer.h"

#include <string.h>

/* ---- parts ---- */

/* A part in OpenCL's order, padded with 1. */
typedef struct part {
    size_t origin[3], extent[3];
    size_t pitch[2]; /* of the host's rows and planes; 0: dense */
} part;

static bool is_empty(const part *p) { return p->extent[0] == 0 || p->extent[1] == 0 || p->extent[2] == 0; }

static ndr_status check_queue(const char *call, const ndr_queue *queue, const ndr_image *image)
{
    NDR_REQUIRE_SET_IN(call, queue, image);
    return ndr_check_home(call, "image", queue, image->context);
}

static ndr_status check_use(const char *call, const ndr_queue *queue, const ndr_image *image, bool device_writes)
{
    NDR_TRY(check_queue(call, queue, image));
    NDR_REQUIRE(ndr_image_is_free(image, device_writes), "%s: the host has the image%s mapped; unmap it first", call,
                image->buffer ? "'s buffer" : "");
    return NDR_OK;
}

static ndr_status check_host_access(const char *call, const ndr_image *image, bool reads, bool writes)
{
    if (image->buffer) NDR_TRY(ndr_check_host_access(call, "buffer", image->buffer->host_access, reads, writes));
    return ndr_check_host_access(call, "image", image->host_access, reads, writes);
}

static ndr_status check_inside(const char *call, const ndr_image *image, const size_t origin[3], const size_t extent[3])
{
    for (unsigned k = 0; k < image->dims; ++k)
        NDR_REQUIRE_AS(
            NDR_OUT_OF_BOUNDS, origin[k] <= image->size[k] && extent[k] <= image->size[k] - origin[k],
            "%s, dimension %u: origin %zu and extent %zu reach past the end of an image of %zu elements there; "
            "make one of them smaller", call,
            image->dims - 1 - k, origin[k], extent[k], image->size[k]);
    return NDR_OK;
}

static ndr_status read_part(const char *call, const ndr_image *image, const ndr_image_part *given, part *out)
{
    *out = (part){ 0 };
    memcpy(out->extent, image->size, sizeof image->size);
    if (!given) return NDR_OK;
    ndr_reverse_dims(image->dims, given->origin, out->origin);
    out->pitch[0] = given->row_pitch_bytes;
    out->pitch[1] = given->plane_pitch_bytes;
    if (given->extent.dims > 0) {
        NDR_REQUIRE(given->extent.dims == image->dims,
                    "%s: extent.dims is %u, but the image has %u; make extent with ndr_range_%ud()", call,
                    given->extent.dims, image->dims, image->dims);
        ndr_reverse_dims(image->dims, given->extent.size, out->extent);
    }
    return check_inside(call, image, out->origin, out->extent);
}

/* Pitches that libndr's dimensions have: of rows in 2 and 3, of planes in 3. */
static ndr_status check_pitches(const char *call, const ndr_image *image, const part *p)
{
    static const char *const names[] = { "row_pitch_bytes", "plane_pitch_bytes" };
    size_t bytes = p->extent[0] * image->element_bytes;
    for (unsigned k = 0; k + 1 < image->dims; ++k) {
        const size_t pitch = p->pitch[k] ? p->pitch[k] : bytes;
        NDR_REQUIRE(pitch >= bytes, "%s, dimension %u: %zu elements take %zu bytes, but %s is %zu; increase it", call,
                    image->dims - 1 - k, p->extent[k], bytes, names[k], pitch);
        NDR_REQUIRE(k == 0 || !p->pitch[0] || pitch % p->pitch[0] == 0,
                    "%s: %s is %zu; it must be a multiple of %s, %zu", call, names[k], pitch, names[0], p->pitch[0]);
        NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS, ndr_mul_fits(pitch, p->extent[k + 1], &bytes) && bytes <= PTRDIFF_MAX,
                       "%s: with %s %zu the part exceeds the host's address space; reduce it", call, names[k], pitch);
    }
    return NDR_OK;
}

/* ---- transfers ---- */

/* The bytes of a part of an image over a buffer. Transfers and mappings of such parts are those of the buffer: the
 * fault image_buffer_origin. */
static ndr_bytes bytes_of(const ndr_image *image, const part *p)
{
    return (ndr_bytes){ image->buffer, p->origin[0] * image->element_bytes, p->extent[0] * image->element_bytes };
}

static ndr_cl_side side_of(const ndr_image *image, const size_t origin[3])
{
    return (ndr_cl_side){ .cl = image->cl, .origin = { origin[0], origin[1], origin[2] } };
}

static ndr_transfer transfer_of(ndr_work work, const ndr_image *image, const part *p)
{
    return (ndr_transfer){ .work = work,
                           .from = side_of(image, p->origin),
                           .to = side_of(image, p->origin),
                           .extent = { p->extent[0], p->extent[1], p->extent[2] },
                           .element_bytes = image->element_bytes };
}

/* A write leaves the host's memory unchanged. Some drivers take a row's pitch for the distance of the layers of a 1-D
 * array, others a slice's. */
static ndr_transfer with_host(bool writes, const ndr_image *image, const part *p, void *host)
{
    const ndr_bytes bytes = bytes_of(image, p);
    if (image->buffer) return ndr_buffer_transferring(writes ? NDR_WORK_WRITE : NDR_WORK_READ, &bytes, host);
    ndr_transfer t = transfer_of(writes ? NDR_WORK_WRITE_IMAGE : NDR_WORK_READ_IMAGE, image, p);
    size_t *const pitch = writes ? t.from.pitch : t.to.pitch;
    if (image->dims > 1) pitch[0] = p->pitch[0];
    pitch[1] = image->is_row_array ? pitch[0] : image->dims > 2 ? p->pitch[1] : 0;
    t.source = t.target = host;
    return t;
}

static ndr_status transfer(const char *call, bool writes, ndr_queue *queue, ndr_image *image,
                           const ndr_image_part *given, const void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    NDR_TRY(check_use(call, order.queue, image, writes));
    NDR_TRY(check_host_access(call, image, !writes, writes));
    NDR_TRY(read_part(call, image, given, &p));
    if (!is_empty(&p)) NDR_TRY(check_pitches(call, image, &p));
    NDR_REQUIRE(host || is_empty(&p), "%s: host is NULL, but the part is not empty; pass memory of that size", call);
    const ndr_transfer t = with_host(writes, image, &p, (void *)(uintptr_t)host);
    return ndr_transfer_run(&order, &t, true, event);
}

ndr_status ndr_image_write(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, const void *host,
                           ndr_event **event)
{
    return transfer(__func__, true, queue, image, given, host, event);
}

ndr_status ndr_image_read(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, void *host,
                          ndr_event **event)
{
    return transfer(__func__, false, queue, image, given, host, event);
}

ndr_status ndr_image_fill(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, const void *value,
                          ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    NDR_TRY(check_use(__func__, order.queue, image, true));
    NDR_REQUIRE_SET(value);
    NDR_TRY(read_part(__func__, image, given, &p));
    ndr_transfer t = transfer_of(NDR_WORK_FILL_IMAGE, image, &p);
    t.source = value;
    return ndr_transfer_run(&order, &t, false, event);
}

static ndr_status check_copy(const ndr_image *from, const part *p, const ndr_image *to, const size_t to_origin[3])
{
    const size_t *origin = p->origin, *extent = p->extent;
    NDR_REQUIRE(from->dims == to->dims,
                "ndr_image_copy: from has %u dimensions, but to has %u; use images of the same dimensions", from->dims,
                to->dims);
    if (!ndr_format_is_same(from->format, to->format)) return ndr_image_refuse_formats(from, to);
    NDR_TRY(check_inside("ndr_image_copy, to", to, to_origin, extent));
    bool overlap = from->cl == to->cl && !is_empty(p);
    for (unsigned k = 0; k < from->dims; ++k)
        overlap = overlap && origin[k] < to_origin[k] + extent[k] && to_origin[k] < origin[k] + extent[k];
    if (from->buffer && to->buffer)
        overlap = ndr_bytes_overlap(bytes_of(from, p), (ndr_bytes){ to->buffer, to_origin[0] * to->element_bytes,
                                                                    extent[0] * to->element_bytes });
    NDR_REQUIRE(!overlap, "ndr_image_copy: the two parts of the same image%s overlap; copy via another image",
                from->buffer && to->buffer ? "'s buffer" : "");
    return NDR_OK;
}

ndr_status ndr_image_copy(ndr_queue *queue, ndr_image *from, const ndr_image_part *given, ndr_image *to,
                          const size_t *to_origin, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    size_t target[3] = { 0, 0, 0 };
    NDR_TRY(check_use("ndr_image_copy, from", order.queue, from, false));
    NDR_TRY(check_use("ndr_image_copy, to", order.queue, to, true));
    NDR_TRY(read_part("ndr_image_copy, from", from, given, &p));
    if (to_origin) ndr_reverse_dims(to->dims, to_origin, target);
    NDR_TRY(check_copy(from, &p, to, target));
    ndr_transfer t = transfer_of(NDR_WORK_COPY_IMAGE, from, &p);
    t.to = side_of(to, target);
    return ndr_transfer_run(&order, &t, false, event);
}

/* ---- mapping ---- */

ndr_status ndr_image_map(ndr_queue *queue, ndr_image *image, ndr_map_access access, const ndr_image_part *given,
                         ndr_mapped_part *mapped)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    NDR_TRY(check_queue(__func__, order.queue, image));
    NDR_REQUIRE_SET(mapped);
    NDR_TRY(ndr_map_check(__func__, access));
    NDR_TRY(check_host_access(__func__, image, access != NDR_MAP_WRITE, access != NDR_MAP_READ));
    NDR_TRY(read_part(__func__, image, given, &p));
    NDR_REQUIRE(!is_empty(&p), "ndr_image_map: a part of 0 elements has no address; map at least one element");
    size_t pitch[2] = { 0, 0 }; /* of rows and slices, as the driver reports them */
    void *host;
    ndr_transfer map = transfer_of(NDR_WORK_MAP_IMAGE, image, &p);
    map.mapped_pitch = pitch;
    const ndr_mapping_request request = { __func__, &image->mappings, &map, { 0 }, access, NULL };
    NDR_TRY(image->buffer ? ndr_buffer_map_bytes(__func__, &order, bytes_of(image, &p), access, &host)
                          : ndr_mapping_begin(&order, &request, &host));
    *mapped = (ndr_mapped_part){ .host = host };
    if (image->dims > 1) mapped->row_pitch_bytes = pitch[image->is_row_array ? 1 : 0];
    if (image->dims > 2) mapped->plane_pitch_bytes = pitch[1];
    return NDR_OK;
}

ndr_status ndr_image_unmap(ndr_queue *queue, ndr_image *image, void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(check_queue(__func__, order.queue, image));
    const ndr_buffer *buffer = image->buffer;
    ndr_mappings *const mappings = buffer ? &buffer->whole->mappings : &image->mappings;
    return ndr_unmap(&order,
                     &(ndr_unmap_request){ __func__, "image", mappings, buffer ? buffer->cl : image->cl, host, NULL },
                     event);
}

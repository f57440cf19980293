/* clock.c - maps the clock of a device, by which events tell their times, to the host's clock.
 *
 * Each try brackets a time of the device between two of the host. The narrowest of a few brackets is taken; half of its
 * width is the error. */
#include "device/clock.h"
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/wait.h"

enum { TRIES = 8, SPIN_NS = 200000 /* waking a thread would widen the bracket */ };

/* A time of the device that lies between two times of the host, or two such times. */
typedef struct bracket {
    int64_t before_ns, after_ns;
    cl_ulong first, last;
} bracket;

static void narrow(ndr_clock_map *map, const bracket *b)
{
    const int64_t least = b->before_ns - (int64_t)b->first, most = b->after_ns - (int64_t)b->last;
    const int64_t error_ns = (most - least) / 2;
    if (error_ns < 0 || (map->is_known && error_ns >= map->error_ns)) return;
    *map = (ndr_clock_map){ true, least + error_ns, error_ns };
}

/* ---- by the device's timer ---- */

/* A platform without such timers reports 0, or refuses the query. */
static bool has_timer(cl_device_id device)
{
    cl_platform_id platform;
    cl_ulong resolution_ns = 0;
    return ndr_cl.clGetDeviceAndHostTimer
           && ndr_cl.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) == CL_SUCCESS
           && ndr_cl.clGetPlatformInfo(platform, CL_PLATFORM_HOST_TIMER_RESOLUTION, sizeof resolution_ns,
                                       &resolution_ns, NULL)
                  == CL_SUCCESS
           && resolution_ns > 0;
}

/* The host's time that the driver gives is of a clock that it chooses. */
static bool read_timer(cl_device_id device, bracket *b)
{
    cl_ulong host;
    b->before_ns = ndr_clock_ns();
    if (ndr_cl.clGetDeviceAndHostTimer(device, &b->first, &host) != CL_SUCCESS) return false;
    b->after_ns = ndr_clock_ns();
    b->last = b->first;
    return true;
}

/* ---- by a marker ---- */

static bool read_marker(ndr_context *context, cl_command_queue queue, bracket *b)
{
    cl_event event;
    b->before_ns = ndr_clock_ns();
    const char *call;
    if (ndr_command_run_quietly(context, queue, &ndr_marker, &event, &call) != CL_SUCCESS) return false;
    (void)ndr_cl.clFlush(queue);
    ndr_spin_on_event(context, SPIN_NS, event);
    const bool has_ended = ndr_wait_for_event(context, event) == CL_SUCCESS;
    b->after_ns = ndr_clock_ns();
    const bool is_read = has_ended && ndr_cl_event_times(event, &b->first, &b->last);
    ndr_cl.clReleaseEvent(event);
    return is_read && b->first > 0 && b->last >= b->first;
}

static void map_by_markers(ndr_context *context, ndr_clock_map *map)
{
    cl_int error;
    bracket b;
    cl_command_queue queue =
        ndr_cl.clCreateCommandQueue(context->cl, context->device, CL_QUEUE_PROFILING_ENABLE, &error);
    if (error != CL_SUCCESS) return;
    for (unsigned i = 0; i < TRIES && read_marker(context, queue, &b); ++i) narrow(map, &b);
    ndr_cl.clReleaseCommandQueue(queue);
}

ndr_clock_map ndr_clock_map_read(ndr_context *context)
{
    bracket b;
    ndr_clock_map map = { 0 };
    if (has_timer(context->device))
        for (unsigned i = 0; i < TRIES && read_timer(context->device, &b); ++i) narrow(&map, &b);
    if (!map.is_known) map_by_markers(context, &map);
    return map;
}

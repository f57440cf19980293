/* units.c - chooses the matrix units that tiles of kernels/ndr/matrix.clh take.
 *
 *   compute capability 9.0          those of four warps (wgmma), in PTX for sm_90a
 *   8.0 and more, and linked texts  those of a warp (mma.sync)
 *   otherwise                       none
 *
 * A program's own -DNDR_MATRIX_UNITS=0, 1 or 2 comes first. */
#include "device/context.h"
#include "program/program.h"

#include <string.h>

bool ndr_units_are_used(const ndr_program *program)
{
    return ndr_source_includes(&program->source, "ndr/matrix.clh");
}

void ndr_units_choose(const ndr_program *program, ndr_text *options)
{
    enum { WARPS = 800, TEAMS = 900 };
    static const char units[] = "-DNDR_MATRIX_UNITS=";
    const unsigned capability = program->context->caps.compute_capability;
    if (options->failed || !ndr_units_are_used(program) || !strstr(options->chars, "-DNDR_PTX=1")) return;
    if (!strstr(options->chars, units) && capability >= WARPS)
        ndr_text_add(options, " %s%d", units, capability == TEAMS && !program->is_linked ? 2 : 1);
    const char *const chosen = options->failed ? NULL : strstr(options->chars, units);
    if (chosen && chosen[sizeof units - 1] == '2') ndr_text_add(options, " -DNDR_PTX_TARGET=sm_90a");
}

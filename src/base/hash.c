/* hash.c - a 128-bit hash of bytes.
 *
 * XXH3 is wide enough that two texts of a process do not share a hash by chance. It does not resist deliberate
 * collisions, and need not: a user who chooses a kernel's source also chooses the code that runs. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/base.h"

ndr_hash ndr_hash_bytes(const void *bytes, size_t count)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, count);
    return (ndr_hash){ { hash.low64, hash.high64 } };
}

bool ndr_hash_equal(ndr_hash a, ndr_hash b) { return a.words[0] == b.words[0] && a.words[1] == b.words[1]; }

// libstdcxx.cpp - the sorts of GCC's C++ library: by OpenMP's threads, and the stable one of one thread.
#include <algorithm>
#include <cstdio>
#include <parallel/algorithm>

#include "ndr/ndr.h" // which has C++ of its own, so outside of the extern "C" that the bench's headers need

extern "C" {
#include "rival.h"
#include "rows_sort.h"

extern const rival rival_libstdcxx;
}

static void run_parallel(void *job)
{
    const sorting *j = static_cast<const sorting *>(job);
    const uint32_t *keys = static_cast<const uint32_t *>(j->keys.host);
    uint32_t *sorted = static_cast<uint32_t *>(j->sorted_keys.host);
    std::copy(keys, keys + j->of.count, sorted);
    __gnu_parallel::sort(sorted, sorted + j->of.count);
}

static void run_stable(void *job)
{
    const sorting *j = static_cast<const sorting *>(job);
    std::copy(j->pairs, j->pairs + j->of.count, j->sorted_pairs);
    std::stable_sort(j->sorted_pairs, j->sorted_pairs + j->of.count,
                     [](const sort_pair &a, const sort_pair &b) { return a.key < b.key; });
}

static void describe() { std::printf("of GCC %d.%d", __GNUC__, __GNUC_MINOR__); }

const rival rival_libstdcxx = {
    "libstdc++", describe, nullptr, nullptr, nullptr,
    { { &sort_work, { "__gnu_parallel::sort", false, run_parallel, nullptr, false } },
      { &merge_sort_work, { "__gnu_parallel::sort", false, run_parallel, nullptr, false } },
      { &sort_work, { "std::stable_sort", false, run_stable, nullptr, false } } }
};

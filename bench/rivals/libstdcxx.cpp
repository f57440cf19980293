// libstdcxx.cpp - the sorts of GCC's C++ library: by OpenMP's threads, the stable one of one thread, those of the smallest
// keys of one thread, and OpenMP loops over segments.
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

static size_t length_of(const sorting *j) { return j->of.length ? j->of.length : j->of.count; }

static void run_segments(void *job)
{
    const sorting *j = static_cast<const sorting *>(job);
    const uint32_t *keys = static_cast<const uint32_t *>(j->keys.host);
    uint32_t *sorted = static_cast<uint32_t *>(j->sorted_keys.host);
    const size_t length = length_of(j);
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t at = 0; at < j->of.count; at += length) {
        std::copy(keys + at, keys + at + length, sorted + at);
        std::sort(sorted + at, sorted + at + length);
    }
}

static void run_partial(void *job)
{
    const sorting *j = static_cast<const sorting *>(job);
    const uint32_t *keys = static_cast<const uint32_t *>(j->keys.host);
    uint32_t *sorted = static_cast<uint32_t *>(j->sorted_keys.host);
    const size_t length = length_of(j);
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t s = 0; s < j->of.count / length; ++s)
        std::partial_sort_copy(keys + s * length, keys + (s + 1) * length, sorted + s * j->of.k,
                               sorted + (s + 1) * j->of.k);
}

static void run_nth(void *job)
{
    const sorting *j = static_cast<const sorting *>(job);
    const uint32_t *keys = static_cast<const uint32_t *>(j->keys.host);
    uint32_t *sorted = static_cast<uint32_t *>(j->sorted_keys.host);
    std::copy(keys, keys + j->of.count, sorted);
    std::nth_element(sorted, sorted + j->of.k - 1, sorted + j->of.count);
    std::sort(sorted, sorted + j->of.k);
}

static void describe() { std::printf("of GCC %d.%d", __GNUC__, __GNUC_MINOR__); }

const rival rival_libstdcxx = {
    "libstdc++", describe, nullptr, nullptr, nullptr,
    { { &sort_work, { "__gnu_parallel::sort", false, run_parallel, nullptr, false } },
      { &merge_sort_work, { "__gnu_parallel::sort", false, run_parallel, nullptr, false } },
      { &sort_work, { "std::stable_sort", false, run_stable, nullptr, false } },
      { &segments_work, { "OpenMP loop of std::sort", false, run_segments, nullptr, false } },
      { &top_k_work, { "std::partial_sort_copy", false, run_partial, nullptr, false } },
      { &top_k_work, { "OpenMP loop of std::partial_sort_copy", false, run_partial, nullptr, false } },
      { &top_k_work, { "std::nth_element, std::sort", false, run_nth, nullptr, false } } }
};

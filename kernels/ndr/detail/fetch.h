/* fetch.h - prefetches. */
#ifndef NDR_DETAIL_FETCH_H
#define NDR_DETAIL_FETCH_H

/* Prefetch the element at global pointer `p` to the cache of that level (3: the first), to be read or (`writes` 1)
 * written. PoCL's prefetch() does nothing, so the compiler's builtin is used if it generates machine code, which
 * __ELF__ and __MACH__ show: SPIR-V cannot express it. (Drivers that compile through SPIR-V may undefine __SPIR__.) */
#if defined(__has_builtin) && (defined(__ELF__) || defined(__MACH__))
#if __has_builtin(__builtin_prefetch)
#define NDR_PREFETCH_(p, writes, level) __builtin_prefetch(p, writes, level)
#endif
#endif
#ifndef NDR_PREFETCH_
#define NDR_PREFETCH_(p, writes, level) prefetch(p, 1)
#endif

/* How far before its use memory that is read in order is prefetched, in bytes: two pages, because CPUs do not prefetch
 * past a page themselves. One line in four, to the second-level cache, is enough: CPUs then prefetch the others. */
#define NDR_PREFETCH_BYTES_ 8192
#define NDR_PREFETCH_EVERY_ 256 /* bytes between two such lines */

#endif

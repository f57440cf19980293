/* machine.c - what the machine is, and its clock, sleep and dice. */
#define _GNU_SOURCE
#include "bench.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif

extern char **environ;

double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sleep_s(double seconds)
{
    const struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&t, NULL);
}

/* xorshift64*; the state is never 0. */
uint64_t chance(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

unsigned thread_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* ---- environment ---- */

/* OpenBLAS 0.3.21 takes a CPU that is younger than itself for a Prescott of 2004; then we name it the best core that the
 * CPU does have. NULL: it knows better than we do. */
static const char *openblas_core(void)
{
#if defined(BENCH_OPENBLAS) && defined(__x86_64__)
    const char *core = openblas_get_corename();
    if (strcmp(core, "Prescott") != 0 && strcmp(core, "Generic") != 0) return NULL;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
    return NULL;
}

/* PoCL as installed: no POCL_ variable but the cache folder. */
static void forget_pocl_settings(void)
{
    for (char **entry = environ; *entry;) {
        char name[64];
        const size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "POCL_", 5) == 0 && length < sizeof name) {
            memcpy(name, *entry, length);
            name[length] = '\0';
            unsetenv(name); /* moves the entries behind it up */
        } else {
            ++entry;
        }
    }
}

void machine_prepare(char **argv)
{
    if (getenv("NDR_BENCH_PREPARED")) return;
    forget_pocl_settings();
    setenv("POCL_CACHE_DIR", BENCH_POCL_CACHE_DIR, 1);
    setenv("NDR_OPENCL", BENCH_LAUNCHES, 1); /* counts launches and passes them on */
    const char *core = openblas_core();
    if (core) setenv("OPENBLAS_CORETYPE", core, 0);
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0); /* idle threads spin for 2^20 ticks instead of 2^26 */
    setenv("NDR_BENCH_PREPARED", "1", 1);
    execv("/proc/self/exe", argv);
    perror("bench: execv");
    exit(2);
}

/* ---- describing ---- */

static void print_cpu(void)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    const char *model = "unknown CPU";
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            line[strcspn(line, "\n")] = '\0';
            model = strchr(line, ':') + 2;
            break;
        }
    if (file) fclose(file);
    double load = 0;
    getloadavg(&load, 1);
    printf("CPU       %s, %u threads, load %.2f\n", model, thread_count(), load);
}

void machine_describe(void)
{
    ndr_device_info info;
    MUST(ndr_context_get_device(the_context, &info));
    print_cpu();
    printf("device    %s (asked for \"%s\")\n          %s %s, %u compute units\n", info.name, the_device_words, info.platform, info.driver,
           info.compute_units);
    printf("libndr    %s\n", ndr_version());
#ifdef BENCH_OPENBLAS
    printf("OpenBLAS  %s, core %s, %d threads\n", openblas_get_config(), openblas_get_corename(), openblas_get_num_threads());
#else
    printf("OpenBLAS  was not there at build time\n");
#endif
    printf("OpenMP    %s\n", openmp() ? "from the C compiler" : "was not there at build time");
#ifdef BENCH_CLBLAST
    printf("CLBlast   as installed, its default parameters\n");
#else
    printf("CLBlast   was not there at build time\n");
#endif
#ifdef BENCH_BOOST_COMPUTE
    printf("Boost.Compute %d.%d\n", BENCH_BOOST_COMPUTE / 100000, BENCH_BOOST_COMPUTE / 100 % 1000);
#else
    printf("Boost.Compute was not there at build time\n");
#endif
#ifdef BENCH_PYOPENCL
    printf("PyOpenCL  of %s\n", BENCH_PYOPENCL);
#else
    printf("PyOpenCL  was not there at build time\n");
#endif
}

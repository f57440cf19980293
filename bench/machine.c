/* machine.c - description and environment of the machine, clock, sleep and random numbers. */
#define _GNU_SOURCE
#include "bench.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

bool the_one_thread;
size_t the_threads;

double now_s(void)
{
    struct timespec t;
    clock_gettime(the_one_thread ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sleep_s(double seconds)
{
    const struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&t, NULL);
}

/* xorshift64*; the state is never 0. */
uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

unsigned thread_count(void)
{
    if (the_one_thread) return 1;
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* ---- environment ---- */

/* PoCL and OpenBLAS as installed: none of their variables except those that are set below. OPENBLAS_CORETYPE=Haswell, left
 * by somebody else, halves OpenBLAS's rate on AVX-512. */
static void forget_settings(void)
{
    for (char **entry = environ; *entry;) {
        char name[64];
        const size_t length = strcspn(*entry, "=");
        const bool is_theirs = strncmp(*entry, "POCL_", 5) == 0 || strncmp(*entry, "OPENBLAS_", 9) == 0;
        if (is_theirs && length < sizeof name) {
            memcpy(name, *entry, length);
            name[length] = '\0';
            unsetenv(name); /* moves the later entries up */
        } else {
            ++entry;
        }
    }
}

/* The process gets the first CPUs that it may use, and each library one thread for each of them: PoCL and OpenBLAS count
 * the machine's. With the CPU time of one thread it does not matter which CPU that is. */
static void limit_threads(void)
{
    cpu_set_t set;
    char count[24];
    snprintf(count, sizeof count, "%zu", the_threads);
    setenv("POCL_MAX_PTHREAD_COUNT", count, 1);
    setenv("OPENBLAS_NUM_THREADS", count, 1);
    setenv("OMP_NUM_THREADS", count, 1);
    if (the_one_thread || sched_getaffinity(0, sizeof set, &set) != 0) return;
    size_t left = the_threads;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set)) continue;
        if (left > 0) --left;
        else CPU_CLR(cpu, &set);
    }
    if (sched_setaffinity(0, sizeof set, &set) == 0) return;
    perror("bench: sched_setaffinity");
    exit(2);
}

void machine_prepare(char **argv, const char *core, bool keeps_programs)
{
    if (getenv("NDR_BENCH_PREPARED")) return;
    forget_settings();
    setenv("POCL_CACHE_DIR", BENCH_POCL_CACHE_DIR, 1);
    /* Without a store first calls compile, and no stored tuning changes a row. */
    setenv("NDR_CACHE", keeps_programs ? BENCH_STORE_DIR : "off", 1);
    if (the_threads) limit_threads();
    if (core) core_prepare(core, BENCH_POCL_CACHE_DIR);
    setenv("NDR_OPENCL", BENCH_LAUNCHES, 1); /* counts launches and passes them on */
    rivals_prepare();
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
    printf("device    %s (selected by \"%s\")\n          %s %s, %u compute units\n", info.name, the_device_text,
           info.platform, info.driver, info.compute_units);
    printf("libndr    %s\n", ndr_version());
    rivals_describe();
}

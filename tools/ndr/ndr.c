/* ndr.c - the command `ndr`: its subcommands, and the choice of one. */
#include "command.h"

#include <string.h>

extern const command bench_command;
extern const command bind_command;
extern const command build_command;
extern const command cache_command;
extern const command devices_command;
extern const command doctor_command;
extern const command replay_command;
extern const command run_command;
extern const command selftest_command;
extern const command trace_command;
extern const command tune_command;

static const command *const commands[] = {
    &devices_command,
    &doctor_command,
    &selftest_command,
    &build_command,
    &bind_command,
    &run_command,
    &trace_command,
    &replay_command,
    &bench_command,
    &tune_command,
    &cache_command,
};

enum { COUNT = sizeof commands / sizeof commands[0] };

static void print_help(FILE *to)
{
    fputs("Usage: ndr COMMAND [OPTION...]\n\nCommands for libndr, a library that launches kernels on OpenCL.\n\n", to);
    for (size_t i = 0; i < COUNT; ++i) fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`ndr COMMAND --help` describes a command, and `ndr --version` prints the library's version.\n"
          "Exit codes: 0 done; 1 it failed, or found a fault; 2 the command line is wrong; 3 no driver or no device.\n",
          to);
}

static int run(const command *c, int argc, char **argv)
{
    char name[32];
    snprintf(name, sizeof name, "ndr %s", c->name);
    argv[0] = name;
    return c->run(argc, argv);
}

int main(int argc, char **argv)
{
    const char *const name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0 || strcmp(name, "help") == 0) {
        print_help(argc > 1 ? stdout : stderr);
        return argc > 1 ? DONE : USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("ndr %s\n", ndr_version());
        return DONE;
    }
    for (size_t i = 0; i < COUNT; ++i)
        if (strcmp(name, commands[i]->name) == 0) return run(commands[i], argc - 1, argv + 1);
    fprintf(stderr, "ndr: there is no command \"%s\"; `ndr --help` lists the commands\n", name);
    return USAGE;
}

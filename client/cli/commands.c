#include <string.h>

#include "client/cli/cli.h"

static enum cli_exit run_help(struct cli *cli)
{
    (void)cli;
    return cli_print_help(NULL);
}

static const struct cli_command commands[] = {
    { "lower", "lower a module; print canonical BIR-JSON", cli_run_compile, BIR_METHOD_LOWER, true },
    { "encode", "lower if needed, then print descriptors and instruction words", cli_run_compile, BIR_METHOD_ENCODE,
      true },
    { "convert", "print a module again without lowering it; .klr becomes BIR-JSON", cli_run_compile, BIR_METHOD_CONVERT,
      true },
    { "check", "read, verify and validate; print diagnostics only", cli_run_compile, BIR_METHOD_CHECK, true },
    { "stats", "print the counters of the daemon", cli_run_stats, BIR_METHOD_COUNT, false },
    { "ping", "ask whether a daemon answers", cli_run_ping, BIR_METHOD_COUNT, false },
    { "version", "print the versions of this program and of the daemon", cli_run_version, BIR_METHOD_COUNT, false },
    { "sock", "print the path of the socket", cli_run_sock, BIR_METHOD_COUNT, false },
    { "stop", "let the daemon finish its work and exit, and wait for that", cli_run_stop, BIR_METHOD_COUNT, false },
    { "help", "print help", run_help, BIR_METHOD_COUNT, false },
};

const struct cli_command *cli_commands(size_t *count)
{
    *count = sizeof commands / sizeof commands[0];
    return commands;
}

const struct cli_command *cli_find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

#include <string.h>

#include "base/near.h"
#include "client/cli/cli.h"

static enum cli_exit run_help(struct cli *cli)
{
    const struct cli_command *command = cli->word_count ? cli_find_command(cli->words[0]) : NULL;
    if (cli->word_count && !command)
        return cli_unknown_command(cli->words[0]);
    return cli_print_help(command);
}

#define MODULE "[FILE|-]"

static const struct cli_command commands[] = {
    { "lower", "lower a module; print canonical BIR-JSON", cli_run_compile, BIR_METHOD_LOWER, MODULE, 1 },
    { "encode", "lower if needed, then print descriptors and instruction words", cli_run_compile, BIR_METHOD_ENCODE,
      MODULE, 1 },
    { "decode", "print the fields of a descriptor, of instruction words, or of what encode wrote as bin",
      cli_run_compile, BIR_METHOD_DECODE, "[HEX|FILE|-]", 1 },
    { "explain", "say how the bytes of an instruction, or of one operand such as act0/ins/0, come about",
      cli_run_compile, BIR_METHOD_EXPLAIN, "[FILE|-] [TARGET]", 2 },
    { "inspect", "print operands as the vendor's objects lie in memory: of a module, or with --image of such bytes",
      cli_run_compile, BIR_METHOD_INSPECT, "[FILE|HEX|-] [TARGET]", 2 },
    { "convert", "print a module again without lowering it; .klr becomes BIR-JSON", cli_run_compile, BIR_METHOD_CONVERT,
      MODULE, 1 },
    { "check", "read, verify and validate; print diagnostics only", cli_run_compile, BIR_METHOD_CHECK, MODULE, 1 },
    { "hazards",
      "find memory accesses that nothing orders, in modules with semaphores; of a directory, every .json below",
      cli_run_hazards, BIR_METHOD_HAZARDS, "[FILE|DIR|-]...", SIZE_MAX },
    { "stats", "print the counters of the daemon", cli_run_stats, BIR_METHOD_COUNT, NULL, 0 },
    { "ping", "ask whether a daemon answers", cli_run_ping, BIR_METHOD_COUNT, NULL, 0 },
    { "version", "print the versions of this program and of the daemon", cli_run_version, BIR_METHOD_COUNT, NULL, 0 },
    { "sock", "print the path of the socket", cli_run_sock, BIR_METHOD_COUNT, NULL, 0 },
    { "stop", "let the daemon finish its work and exit, and wait for that", cli_run_stop, BIR_METHOD_COUNT, NULL, 0 },
    { "help", "print help, of one command or of the program", run_help, BIR_METHOD_COUNT, "[COMMAND]", 1 },
};

const struct cli_command *cli_commands(size_t *count)
{
    *count = sizeof commands / sizeof commands[0];
    return commands;
}

enum cli_exit cli_unknown_command(const char *name)
{
    struct bir_near near;
    bir_near_init(&near, name, strlen(name));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        bir_near_offer(&near, commands[i].name, strlen(commands[i].name));
    return cli_fail_near(&near, "unknown command \"%s\"", name);
}

const struct cli_command *cli_find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/*
 * One input from its name to a result, compiled in process or by a daemon.
 *
 * A daemon is used when it answers and has the same build of the compiler, because only then are the bytes the same.
 * What is in its way is told with --verbose, and an error only with --daemon=require or start.
 *
 * Nothing is printed while it works, so that several can run at a time; what went wrong waits in `error`.
 */
#ifndef CLIENT_CLI_WORK_H
#define CLIENT_CLI_WORK_H

#include "client/cli/cli.h"

struct work {
    const struct cli *cli;
    const char *name; /* of the input, for people */

    char *input;
    size_t input_len;
    bool input_borrowed; /* it is an argument of the command line */

    /* CLI_DONE: there is a result. CLI_INPUT: the diagnostics say why there is none. Otherwise error says it. */
    enum cli_exit status;
    char error[1024];
    struct bir_diags diags;
    enum bir_verdict verdict;
    const void *output;
    size_t output_len;
    const void *dumps;
    size_t dumps_len;
    const char *stats;
    size_t stats_len;

    struct bir_compile_result result; /* owns what a compile in process gave */
    struct roost_reply reply;         /* owns what the daemon gave */
    struct bir_arena arena;           /* of the daemon's diagnostics */
};

/* word: a file name, "-" for standard input, or for decode hex text; NULL is standard input. */
void work_init(struct work *work, const struct cli *cli, const char *word);
void work_deinit(struct work *work);

/* Reads the input and compiles it. client is a handle of the calling thread, or NULL to compile in process. */
void work_run(struct work *work, const char *word, roost *client);

/* Exit status of a result. */
enum cli_exit work_exit(const struct work *work);

/* From the first compile in process on, signals and the alarm of --timeout cancel instead of killing; this ends it. */
void work_disarm(void);

#endif

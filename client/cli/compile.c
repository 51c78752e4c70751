/* The commands that compile one input, and the printing of what comes of it. */
#include <unistd.h>

#include "client/cli/diagnostics.h"
#include "client/cli/work.h"

static enum cli_exit print_notes(const struct work *work)
{
    enum cli_exit status = CLI_DONE;
    if (work->dumps_len)
        status = cli_write(STDERR_FILENO, "standard error", work->dumps, work->dumps_len);
    if (status == CLI_DONE && work->stats_len && work->cli->options.stats) {
        status = cli_write(STDERR_FILENO, "standard error", work->stats, work->stats_len);
        if (status == CLI_DONE)
            status = cli_write(STDERR_FILENO, "standard error", "\n", 1);
    }
    return status;
}

/* What failed to be written hides nothing else: it is the exit status. */
static enum cli_exit print(const struct work *work)
{
    const struct cli *cli = work->cli;
    enum cli_exit status = CLI_DONE;
    if (work->status != CLI_TIME)
        status = diagnostics_print(cli, &work->diags, work->name, work->input, work->input_len);
    if (work->error[0])
        (void)cli_fail(work->status, "%s", work->error);
    if (status == CLI_DONE && work->status != CLI_TIME)
        status = print_notes(work);
    if (status == CLI_DONE && work->status == CLI_DONE && cli->command->method != BIR_METHOD_CHECK)
        status = cli_write_result(cli, work->output, work->output_len);
    return status == CLI_DONE ? work_exit(work) : status;
}

enum cli_exit cli_run_compile(struct cli *cli)
{
    struct work work;
    const char *word = cli->word_count ? cli->words[0] : NULL;
    roost *client = cli->daemon == CLI_DAEMON_NEVER ? NULL : cli_client(cli, true);
    if (!client && cli->daemon != CLI_DAEMON_NEVER)
        return cli_fail(CLI_INTERNAL, "out of memory");
    work_init(&work, cli, word);
    work_run(&work, word, client);
    work_disarm();
    enum cli_exit status = print(&work);
    work_deinit(&work);
    roost_free(client);
    return status;
}

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/output.h"

enum cli_exit cli_fail(enum cli_exit status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("roost: error: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return status;
}

enum cli_exit cli_fail_near(const struct bir_near *near, const char *fmt, ...)
{
    struct bir_buf meant;
    bir_buf_init(&meant, 0);
    bir_near_write(near, "\"", &meant);
    va_list args;
    va_start(args, fmt);
    fputs("roost: error: ", stderr);
    vfprintf(stderr, fmt, args);
    va_end(args);
    if (meant.len)
        fprintf(stderr, "; did you mean %.*s?\n", (int)meant.len, meant.data);
    else
        fputs("; see roost --help\n", stderr);
    bir_buf_deinit(&meant);
    return CLI_USAGE;
}

/* Threads may call it: a line is one write. */
void cli_verbose(const struct cli *cli, const char *fmt, ...)
{
    char text[1024];
    if (!cli->verbose)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "roost: %s\n", text);
}

enum cli_exit cli_write(int fd, const char *name, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cli_fail(CLI_USAGE, "cannot write to %s: %s", name, strerror(errno));
        at += n;
        len -= (size_t)n;
    }
    return CLI_DONE;
}

bool cli_to_stdout(const struct cli *cli)
{
    return !cli->output || strcmp(cli->output, "-") == 0;
}

enum cli_exit cli_write_result(const struct cli *cli, const void *bytes, size_t len)
{
    if (cli_to_stdout(cli)) {
        enum cli_exit status = cli_write(STDOUT_FILENO, "standard output", bytes, len);
        bool open_line = len > 0 && ((const char *)bytes)[len - 1] != '\n';
        if (status == CLI_DONE && open_line && isatty(STDOUT_FILENO))
            status = cli_write(STDOUT_FILENO, "standard output", "\n", 1);
        return status;
    }
    return output_write(cli->output, bytes, len);
}

bool cli_colour(const struct cli *cli, int fd)
{
    const char *no_color = getenv("NO_COLOR");
    if (cli->color == CLI_COLOR_AUTO)
        return isatty(fd) && !(no_color && no_color[0]);
    return cli->color == CLI_COLOR_ALWAYS;
}

/* The roostd beside this program: installed in one directory with it, or in the build tree. */
static const char *daemon_beside(char *path, size_t size)
{
    static const char *const places[] = { "roostd", "../daemon/roostd" };
    char self[2048];
    const char *named = getenv("ROOST_DAEMON");
    if (named && named[0])
        return named;
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0)
        return NULL;
    self[len] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return NULL;
    slash[1] = '\0';
    for (size_t i = 0; i < 2; i++)
        if ((size_t)snprintf(path, size, "%s%s", self, places[i]) < size && access(path, X_OK) == 0)
            return path;
    return NULL;
}

/* choice: how long a daemon that is not indispensable may take to greet, and one that is only asked about to answer */
#define PATIENCE_MS 5000

/* A call that compiles names its own time; the handle's is that of everything else. */
static unsigned handle_timeout_ms(const struct cli *cli)
{
    bool is_patient = cli->command->run == cli_run_stop ||
                      (cli->command->method != BIR_METHOD_COUNT && cli->daemon != CLI_DAEMON_AUTO);
    return is_patient || (cli->timeout_ms && cli->timeout_ms < PATIENCE_MS) ? cli->timeout_ms : PATIENCE_MS;
}

roost *cli_client(const struct cli *cli, bool start)
{
    char path[4096];
    struct roost_options options = { .size = sizeof options,
                                     .socket = cli->socket,
                                     .start = start && cli->daemon == CLI_DAEMON_START,
                                     .daemon = daemon_beside(path, sizeof path),
                                     .timeout_ms = handle_timeout_ms(cli),
                                     .client = "roost" };
    return roost_new(&options);
}

enum cli_exit cli_print_help(const struct cli_command *command)
{
    struct bir_buf text;
    bir_buf_init(&text, 0);
    cli_put_help(command, &text);
    enum cli_exit status = text.status == BIR_OK ? cli_write(STDOUT_FILENO, "standard output", text.data, text.len)
                                                 : cli_fail(CLI_INTERNAL, "out of memory");
    bir_buf_deinit(&text);
    return status;
}

/* No file and no connection may take the place of a standard stream that is closed. What fills the gap fails when it is
 * used, as the closed stream would. */
static bool fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

int cli_main(int argc, char **argv)
{
    struct cli cli = { 0 };
    if (!fill_standard_streams())
        return CLI_INTERNAL;
    bir_buf_init(&cli.options_json, 0);
    enum cli_exit status = cli_parse(&cli, argc, argv);
    if (status == CLI_DONE && cli.help)
        status = cli_print_help(cli.command);
    else if (status == CLI_DONE)
        status = cli.command->run(&cli);
    bir_buf_deinit(&cli.options_json);
    return (int)status;
}

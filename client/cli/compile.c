/*
 * lower, encode, convert, check: in the daemon, or here. Both ways end in the same place: diagnostics as bir_diags,
 * output as bytes, and one function that prints them.
 *
 * A daemon is used when it answers and has the same build of the compiler, because only then are the bytes the same.
 * What is in its way is told with --verbose, and an error only with --daemon=require or start.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "client/cli/diagnostics.h"

struct input {
    char *bytes;
    size_t len;
};

struct work {
    struct cli *cli;
    struct input input;
    struct bir_arena arena; /* of the diagnostics */
    struct bir_diags diags;
    const void *output;
    size_t output_len;
    const void *dumps;
    size_t dumps_len;
    const char *stats;
    size_t stats_len;
};

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ----------------------------------------------------------------------------------------------------------- files */

static enum cli_exit read_all(int fd, const char *name, struct input *input)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        bir_buf_reserve(&buf, (size_t)st.st_size + 1);
    ssize_t n = 1;
    while (n != 0 && bir_buf_reserve(&buf, 65536)) {
        n = read(fd, buf.data + buf.len, buf.capacity - buf.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        buf.len += (size_t)n;
    }
    int failure = errno;
    bool whole = n == 0 && buf.status == BIR_OK;
    input->bytes = whole ? bir_buf_steal(&buf, &input->len) : NULL;
    bir_buf_deinit(&buf);
    if (n < 0)
        return cli_fail(CLI_USAGE, "cannot read %s: %s", name, strerror(failure));
    return input->bytes ? CLI_DONE : cli_fail(CLI_INTERNAL, "there is no memory for %s", name);
}

static enum cli_exit read_input(const struct cli *cli, struct input *input)
{
    if (!cli->file && isatty(STDIN_FILENO))
        return cli_fail(CLI_USAGE, "%s needs a FILE; - is standard input", cli->command->name);
    if (!cli->file || strcmp(cli->file, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", input);
    int fd = open(cli->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cli_fail(CLI_USAGE, "cannot open %s: %s", cli->file, strerror(errno));
    enum cli_exit status = read_all(fd, cli->file, input);
    close(fd);
    return status;
}

/* On a terminal a result ends its line. */
static enum cli_exit write_output(const struct cli *cli, const void *bytes, size_t len)
{
    if (!cli->output || strcmp(cli->output, "-") == 0) {
        enum cli_exit status = cli_write(STDOUT_FILENO, "standard output", bytes, len);
        bool open_line = len > 0 && ((const char *)bytes)[len - 1] != '\n';
        if (status == CLI_DONE && open_line && isatty(STDOUT_FILENO) && cli->format != CLI_FORMAT_BIN)
            status = cli_write(STDOUT_FILENO, "standard output", "\n", 1);
        return status;
    }
    int fd = open(cli->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return cli_fail(CLI_USAGE, "cannot open %s: %s", cli->output, strerror(errno));
    enum cli_exit status = cli_write(fd, cli->output, bytes, len);
    if (close(fd) != 0 && status == CLI_DONE)
        status = cli_fail(CLI_USAGE, "cannot write to %s: %s", cli->output, strerror(errno));
    return status;
}

/* -------------------------------------------------------------------------------------------------------- printing */

static enum cli_exit print(struct work *work)
{
    struct cli *cli = work->cli;
    enum cli_exit status = diagnostics_print(cli, &work->diags, work->input.bytes, work->input.len);
    if (status == CLI_DONE && work->dumps_len)
        status = cli_write(STDERR_FILENO, "standard error", work->dumps, work->dumps_len);
    if (status == CLI_DONE && work->stats_len && cli->options.stats) {
        status = cli_write(STDERR_FILENO, "standard error", work->stats, work->stats_len);
        if (status == CLI_DONE)
            status = cli_write(STDERR_FILENO, "standard error", "\n", 1);
    }
    if (status == CLI_DONE && work->diags.errors)
        return CLI_INPUT;
    if (status == CLI_DONE && cli->command->method != BIR_METHOD_CHECK)
        status = write_output(cli, work->output, work->output_len);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ in process */

/* Set by SIGINT, SIGTERM and the alarm of --timeout. */
static struct bir_cancel cancel;

static void on_signal(int number)
{
    (void)number;
    bir_cancel_set(&cancel);
}

static void arm(const struct cli *cli)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval timer = { .it_value = { .tv_sec = cli->timeout_ms / 1000,
                                                   .tv_usec = (suseconds_t)(cli->timeout_ms % 1000) * 1000 } };
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void disarm(void)
{
    const struct itimerval never = { 0 };
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static enum cli_exit exit_of(enum bir_status status)
{
    switch (status) {
    case BIR_OK: return CLI_DONE;
    case BIR_INVALID:
    case BIR_LIMIT: return CLI_INPUT;
    case BIR_CANCELLED: return cli_fail(CLI_TIME, "cancelled");
    case BIR_NOMEM: return cli_fail(CLI_INTERNAL, "out of memory");
    case BIR_INTERNAL: break;
    }
    return CLI_INTERNAL;
}

static enum cli_exit compile_here(struct work *work, const char *why)
{
    struct cli *cli = work->cli;
    const struct bir_compile_request request = { .method = cli->command->method,
                                                 .input = work->input.bytes,
                                                 .input_len = work->input.len,
                                                 .options = cli->options };
    struct bir_compile_limits limits;
    struct bir_compile_result result;
    bir_compile_limits_init(&limits);
    uint64_t started = now_us();
    arm(cli);
    enum cli_exit status = exit_of(bir_compile(&request, &limits, &cancel, &result));
    disarm();
    cli_verbose(cli, "compiled in process (%s) in %llu us, %zu bytes", why, (unsigned long long)(now_us() - started),
                result.output.len);
    work->diags = result.diags;
    work->output = result.output.data;
    work->output_len = result.output.len;
    work->dumps = result.dumps.data;
    work->dumps_len = result.dumps.len;
    work->stats = result.stats_json.data;
    work->stats_len = result.stats_json.len;
    enum cli_exit printed = status == CLI_TIME ? CLI_DONE : print(work);
    bir_compile_result_deinit(&result);
    return status == CLI_DONE || status == CLI_INPUT ? printed : status;
}

/* ------------------------------------------------------------------------------------------------------- by a daemon
 */

/* NULL, or why this daemon may give other bytes than this program. */
static const char *other_build(roost *client)
{
    const char *hello;
    if (roost_hello(client, &hello) != ROOST_OK)
        return roost_error(client);
    json_t *object = json_loads(hello, 0, NULL);
    const char *build = json_string_value(json_object_get(object, "build_id"));
    bool same = build && strcmp(build, bir_build_id()) == 0;
    json_decref(object);
    return same ? NULL : "the daemon has another build of the compiler; roost stop ends it";
}

/* Failures that compiling here can get around. */
static bool falls_back(enum roost_status status)
{
    switch (status) {
    case ROOST_TIMEOUT:
    case ROOST_CANCELLED:
    case ROOST_DEADLINE:
    case ROOST_BAD_MODULE:
    case ROOST_LIMIT:
    case ROOST_INTERNAL:
    case ROOST_NOMEM: return false;
    default: return status != ROOST_OK;
    }
}

static enum cli_exit exit_of_reply(enum roost_status status, const char *error)
{
    switch (status) {
    case ROOST_OK: return CLI_DONE;
    case ROOST_BAD_MODULE:
    case ROOST_LIMIT: return CLI_INPUT;
    case ROOST_TIMEOUT:
    case ROOST_CANCELLED:
    case ROOST_DEADLINE: return cli_fail(CLI_TIME, "%s", error);
    case ROOST_USAGE:
    case ROOST_TOO_LARGE:
    case ROOST_REFUSED: return cli_fail(CLI_USAGE, "%s", error);
    case ROOST_UNREACHABLE:
    case ROOST_VERSION:
    case ROOST_BUSY:
    case ROOST_SHUTTING_DOWN: return cli_fail(CLI_UNREACHABLE, "%s", error);
    default: return cli_fail(CLI_INTERNAL, "%s", error);
    }
}

static enum cli_exit print_reply(struct work *work, roost *client, enum roost_status status,
                                 const struct roost_reply *reply, uint64_t started)
{
    cli_verbose(work->cli, "compiled by the daemon at %s (%s) in %llu us, %zu bytes", roost_socket_path(client),
                status == ROOST_OK ? reply->cache : roost_strerror(status), (unsigned long long)(now_us() - started),
                reply->output_len);
    bir_diags_init(&work->diags, &work->arena, UINT32_MAX);
    if (reply->diagnostics && !diagnostics_read(reply->diagnostics, &work->diags))
        return cli_fail(CLI_INTERNAL, "the daemon's diagnostics are not understood");
    work->output = reply->output;
    work->output_len = reply->output_len;
    work->dumps = reply->dumps;
    work->dumps_len = reply->dumps_len;
    work->stats = reply->stats;
    work->stats_len = reply->stats ? strlen(reply->stats) : 0;
    enum cli_exit printed = print(work);
    if (status == ROOST_INTERNAL && reply->diagnostics && strcmp(reply->diagnostics, "[]") != 0)
        return CLI_INTERNAL;
    enum cli_exit result = exit_of_reply(status, reply->error ? reply->error : roost_strerror(status));
    return result == CLI_DONE || result == CLI_INPUT ? printed : result;
}

static enum cli_exit compile_there(struct work *work, roost *client)
{
    struct cli *cli = work->cli;
    bool optional = cli->daemon == CLI_DAEMON_AUTO;
    const char *other = optional ? other_build(client) : NULL;
    if (other)
        return compile_here(work, other);
    const struct roost_request request = { .size = sizeof request,
                                           .method = cli->command->name,
                                           .module = work->input.bytes,
                                           .module_len = work->input.len,
                                           .options = cli->options_json.data };
    struct roost_reply reply;
    uint64_t started = now_us();
    enum roost_status status = roost_compile(client, &request, &reply);
    enum cli_exit result = optional && falls_back(status) ? compile_here(work, roost_error(client))
                           : falls_back(status)           ? exit_of_reply(status, roost_error(client))
                                                          : print_reply(work, client, status, &reply, started);
    roost_reply_clear(&reply);
    return result;
}

enum cli_exit cli_run_compile(struct cli *cli)
{
    struct work work = { .cli = cli };
    enum cli_exit status = read_input(cli, &work.input);
    roost *client = NULL;
    bir_arena_init(&work.arena, 0);
    if (status == CLI_DONE && cli->daemon == CLI_DAEMON_NEVER)
        status = compile_here(&work, "as told");
    else if (status == CLI_DONE)
        status =
            (client = cli_client(cli, true)) ? compile_there(&work, client) : cli_fail(CLI_INTERNAL, "out of memory");
    roost_free(client);
    bir_arena_deinit(&work.arena);
    free(work.input.bytes);
    return status;
}

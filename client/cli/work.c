#include "client/cli/work.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "client/cli/diagnostics.h"

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void fail(struct work *work, enum cli_exit status, const char *fmt, ...) BIR_PRINTF(3, 4);

static void fail(struct work *work, enum cli_exit status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(work->error, sizeof work->error, fmt, args);
    va_end(args);
    work->status = status;
}

/* --- input --- */

#define READ_BYTES 65536u

/* No more than the compiler takes: a device or a pipe may never end. */
static void read_all(struct work *work, int fd)
{
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    struct bir_buf buf;
    bir_buf_init(&buf, limits.input_bytes + READ_BYTES);
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        bir_buf_reserve(&buf, (size_t)st.st_size + 1);
    ssize_t n = 1;
    while (n != 0 && bir_buf_reserve(&buf, READ_BYTES)) {
        n = read(fd, buf.data + buf.len, buf.capacity - buf.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        buf.len += (size_t)n;
    }
    int failure = errno;
    bool too_long = buf.status == BIR_LIMIT;
    bool whole = n == 0 && buf.status == BIR_OK;
    work->input = whole ? bir_buf_steal(&buf, &work->input_len) : NULL;
    bir_buf_deinit(&buf);
    if (n < 0)
        fail(work, CLI_USAGE, "cannot read %s: %s", work->name, strerror(failure));
    else if (too_long)
        fail(work, CLI_INPUT, "%s is longer than %zu bytes, the limit of the compiler", work->name,
             limits.input_bytes);
    else if (!work->input)
        fail(work, CLI_INTERNAL, "there is no memory for %s", work->name);
}

/* Hex digits, with what may stand between bytes. */
static bool is_hex(const char *text)
{
    return text[0] && strspn(text, "0123456789abcdefABCDEFxX: \t\n") == strlen(text);
}

/* Whether the input is bytes, and not a module. */
static bool takes_bytes(const struct cli *cli)
{
    return cli->command->method == BIR_METHOD_DECODE || cli->options.image;
}

static bool is_bytes(const struct cli *cli, const char *word)
{
    return takes_bytes(cli) && cli->options.bytes != BIR_BYTES_BINARY && is_hex(word) && access(word, F_OK) != 0;
}

static bool is_stdin(const char *word)
{
    return !word || strcmp(word, "-") == 0;
}

static void read_input(struct work *work, const char *word)
{
    if (!word && isatty(STDIN_FILENO)) {
        fail(work, CLI_USAGE, "%s needs a FILE; - is standard input", work->cli->command->name);
    } else if (is_stdin(word)) {
        read_all(work, STDIN_FILENO);
    } else if (is_bytes(work->cli, word)) {
        work->input = (char *)(uintptr_t)word;
        work->input_len = strlen(word);
        work->input_borrowed = true;
    } else {
        int fd = open(word, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            fail(work, CLI_USAGE, "cannot open %s: %s%s", word, strerror(errno),
                 takes_bytes(work->cli) ? ", and it is not hex" : "");
            return;
        }
        read_all(work, fd);
        close(fd);
    }
}

/* --- in process --- */

/* Set by SIGINT, SIGTERM and the alarm of --timeout. */
static struct bir_cancel cancel;
static volatile sig_atomic_t cancelled_by;
static bool armed;
static pthread_mutex_t arming = PTHREAD_MUTEX_INITIALIZER;

static void on_signal(int number)
{
    cancelled_by = number;
    bir_cancel_set(&cancel);
}

/* choice: what a compile may take when --timeout does not say */
#define DEFAULT_TIME_MS 600000u

static uint32_t time_ms(const struct cli *cli)
{
    return cli->timeout_ms ? cli->timeout_ms : DEFAULT_TIME_MS;
}

static void arm(const struct cli *cli)
{
    /* Who asks twice wants out. */
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    const struct itimerval timer = { .it_value = { .tv_sec = time_ms(cli) / 1000,
                                                   .tv_usec = (suseconds_t)(time_ms(cli) % 1000) * 1000 } };
    pthread_mutex_lock(&arming);
    if (!armed) {
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    armed = true;
    pthread_mutex_unlock(&arming);
}

void work_disarm(void)
{
    const struct itimerval never = { 0 };
    pthread_mutex_lock(&arming);
    if (armed) {
        setitimer(ITIMER_REAL, &never, NULL);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
    }
    armed = false;
    pthread_mutex_unlock(&arming);
}

static void take_status(struct work *work, enum bir_status status)
{
    switch (status) {
    case BIR_OK: work->status = CLI_DONE; break;
    case BIR_INVALID:
    case BIR_LIMIT: work->status = CLI_INPUT; break;
    case BIR_CANCELLED:
        if (cancelled_by == SIGALRM)
            fail(work, CLI_TIME, "not done within %.3f seconds", time_ms(work->cli) / 1000.0);
        else
            fail(work, CLI_TIME, "cancelled");
        break;
    case BIR_NOMEM: fail(work, CLI_INTERNAL, "out of memory"); break;
    case BIR_INTERNAL: work->status = CLI_INTERNAL; break;
    }
}

/* --time-passes: what each stage took since the one before, on standard error. */
static void print_stage(void *user, const char *stage)
{
    uint64_t *last = user;
    uint64_t now = now_us();
    fprintf(stderr, "%10llu us  %s\n", (unsigned long long)(now - *last), stage);
    *last = now;
}

static void compile_here(struct work *work, const char *why)
{
    const struct cli *cli = work->cli;
    uint64_t stage_started = now_us();
    const struct bir_compile_request request = { .method = cli->command->method,
                                                 .input = work->input,
                                                 .input_len = work->input_len,
                                                 .options = cli->options,
                                                 .on_stage = cli->time_passes ? print_stage : NULL,
                                                 .user = &stage_started };
    struct bir_compile_limits limits;
    struct bir_compile_result *result = &work->result;
    bir_compile_limits_init(&limits);
    uint64_t started = now_us();
    arm(cli);
    take_status(work, bir_compile(&request, &limits, &cancel, result));
    cli_verbose(cli, "compiled %s in process (%s) in %llu us, %zu bytes", work->name, why,
                (unsigned long long)(now_us() - started), result->output.len);
    work->diags = result->diags;
    work->verdict = result->verdict;
    work->output = result->output.data;
    work->output_len = result->output.len;
    work->dumps = result->dumps.data;
    work->dumps_len = result->dumps.len;
    work->stats = result->stats_json.data;
    work->stats_len = result->stats_json.len;
}

/* --- by a daemon --- */

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

static enum cli_exit exit_of(enum roost_status status)
{
    switch (status) {
    case ROOST_OK: return CLI_DONE;
    case ROOST_BAD_MODULE:
    case ROOST_LIMIT: return CLI_INPUT;
    case ROOST_TIMEOUT:
    case ROOST_CANCELLED:
    case ROOST_DEADLINE: return CLI_TIME;
    case ROOST_USAGE:
    case ROOST_TOO_LARGE:
    case ROOST_REFUSED: return CLI_USAGE;
    case ROOST_UNREACHABLE:
    case ROOST_VERSION:
    case ROOST_BUSY:
    case ROOST_SHUTTING_DOWN: return CLI_UNREACHABLE;
    default: return CLI_INTERNAL;
    }
}

static enum bir_verdict verdict_of(const char *name)
{
    for (int verdict = BIR_VERDICT_CLEAN; verdict <= BIR_VERDICT_UNDECIDED; verdict++)
        if (strcmp(name, bir_verdict_name((enum bir_verdict)verdict)) == 0)
            return (enum bir_verdict)verdict;
    return BIR_VERDICT_NONE;
}

static void take_reply(struct work *work, enum roost_status status)
{
    const struct roost_reply *reply = &work->reply;
    work->status = exit_of(status);
    bir_diags_init(&work->diags, &work->arena, UINT32_MAX);
    if (reply->diagnostics && !diagnostics_read(reply->diagnostics, &work->diags)) {
        fail(work, CLI_INTERNAL, "the daemon's diagnostics are not understood");
        return;
    }
    if (work->status != CLI_DONE && work->diags.count == 0)
        fail(work, work->status, "%s", reply->error ? reply->error : roost_strerror(status));
    /* In process a module with errors is a failure, for check, too. */
    if (work->status == CLI_DONE && work->diags.errors)
        work->status = CLI_INPUT;
    work->verdict = verdict_of(reply->verdict);
    work->output = reply->output;
    work->output_len = reply->output_len;
    work->dumps = reply->dumps;
    work->dumps_len = reply->dumps_len;
    work->stats = reply->stats;
    work->stats_len = reply->stats ? strlen(reply->stats) : 0;
}

static void compile_there(struct work *work, roost *client)
{
    const struct cli *cli = work->cli;
    bool optional = cli->daemon == CLI_DAEMON_AUTO;
    const char *other = optional ? other_build(client) : NULL;
    if (other) {
        compile_here(work, other);
        return;
    }
    const struct roost_request request = { .size = sizeof request,
                                           .method = cli->command->name,
                                           .module = work->input,
                                           .module_len = work->input_len,
                                           .options = cli->options_json.data,
                                           .timeout_ms = time_ms(cli) };
    uint64_t started = now_us();
    enum roost_status status = roost_compile(client, &request, &work->reply);
    if (falls_back(status) && optional) {
        compile_here(work, roost_error(client));
    } else if (falls_back(status)) {
        fail(work, exit_of(status), "%s", roost_error(client));
    } else {
        cli_verbose(cli, "%s compiled by the daemon at %s (%s) in %llu us, %zu bytes", work->name,
                    roost_socket_path(client), status == ROOST_OK ? work->reply.cache : roost_strerror(status),
                    (unsigned long long)(now_us() - started), work->reply.output_len);
        take_reply(work, status);
    }
}

/* --- all of it --- */

void work_init(struct work *work, const struct cli *cli, const char *word)
{
    *work = (struct work){ .cli = cli, .name = is_stdin(word) ? "<stdin>" : word };
    if (!is_stdin(word) && is_bytes(cli, word))
        work->name = "<hex>";
    bir_arena_init(&work->arena, 0);
}

void work_deinit(struct work *work)
{
    bir_compile_result_deinit(&work->result);
    roost_reply_clear(&work->reply);
    bir_arena_deinit(&work->arena);
    if (!work->input_borrowed)
        free(work->input);
}

void work_run(struct work *work, const char *word, roost *client)
{
    read_input(work, word);
    if (work->status == CLI_DONE && client)
        compile_there(work, client);
    else if (work->status == CLI_DONE)
        compile_here(work, "as told");
}

enum cli_exit work_exit(const struct work *work)
{
    if (work->status != CLI_DONE)
        return work->status;
    switch (work->verdict) {
    case BIR_VERDICT_NONE:
    case BIR_VERDICT_CLEAN: break;
    case BIR_VERDICT_FINDINGS: return CLI_INPUT;
    case BIR_VERDICT_UNDECIDED: return CLI_UNDECIDED;
    }
    return CLI_DONE;
}

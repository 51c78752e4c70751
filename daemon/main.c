#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include "daemon/listen.h"
#include "daemon/log.h"
#include "daemon/options.h"
#include "daemon/server.h"

/* Exit statuses of the man page. */
#define EXIT_USAGE 2

static int print(void (*write_text)(struct bir_buf *))
{
    struct bir_buf text;
    bir_buf_init(&text, 0);
    write_text(&text);
    size_t written = text.status == BIR_OK ? fwrite(text.data, 1, text.len, stdout) : 0;
    int result = written == text.len && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    bir_buf_deinit(&text);
    return result;
}

static void put_version(struct bir_buf *out)
{
    bir_buf_printf(out, "roostd %s\nbuild %s\nprotocol %d.%d\nlibuv %s\nfeatures %s\n", bir_version(), bir_build_id(),
                   PROTO_VERSION_MAJOR, PROTO_VERSION_MINOR, uv_version_string(), ROOSTD_FEATURES);
}

static enum log_level level_of(const char *name)
{
    static const char *const names[] = { "error", "warning", "info", "debug" };
    for (int i = 0; i < 4; i++)
        if (strcmp(names[i], name) == 0)
            return (enum log_level)i;
    return LOG_LEVEL_INFO;
}

/* Standard error is the journal when JOURNAL_STREAM names it by device and inode; the variable alone is inherited by
 * every shell of a session that the service manager has started. */
static bool logs_to_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

/* A socket must not become standard output because whoever started us has closed that. */
static bool fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return false;
    return true;
}

/* The client that started us shows this to its user. */
static int give_up(const struct roostd_options *options, const char *error)
{
    log_line(LOG_LEVEL_ERROR, "%s", error);
    if (options->ready_fd)
        dprintf((int)options->ready_fd, "error: %s\n", error);
    return EXIT_FAILURE;
}

/* Nothing in the environment may change a result; what is left is for the service manager's messages. */
static void reduce_environment(uint64_t threads)
{
    static const char *const kept[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID" };
    char *values[3];
    char count[24];
    for (size_t i = 0; i < 3; i++)
        values[i] = getenv(kept[i]) ? strdup(getenv(kept[i])) : NULL;
    clearenv();
    for (size_t i = 0; i < 3; i++) {
        if (values[i])
            setenv(kept[i], values[i], 1);
        free(values[i]);
    }
    snprintf(count, sizeof count, "%llu", (unsigned long long)threads);
    setenv("UV_THREADPOOL_SIZE", count, 1);
}

int main(int argc, char **argv)
{
    static struct roostd_options options;
    struct listener listener;
    char error[512];
    if (!fill_standard_streams())
        return EXIT_FAILURE;
    roostd_options_init(&options);
    if (!roostd_options_parse(&options, argc, argv, error, sizeof error)) {
        fprintf(stderr, "roostd: error: %s\n", error);
        return EXIT_USAGE;
    }
    if (options.help)
        return print(roostd_options_help);
    if (options.version)
        return print(put_version);
    log_init(level_of(options.log_level), logs_to_journal());
    signal(SIGPIPE, SIG_IGN);
    if (!listener_open(&listener, options.socket, error, sizeof error))
        return give_up(&options, error);
    reduce_environment(options.threads);
    return server_run(&options, &listener);
}

/*
 * Starting a daemon: any number of processes may find that nobody listens, and exactly one daemon may come of it. They
 * take a lock on the socket's directory; whoever holds it looks again, starts the daemon and waits until it says, over
 * a pipe, that it is ready or why not. Should two daemons meet all the same, because somebody started one by hand, the
 * loser ends with "another roostd is running", and connecting works.
 *
 * The daemon gets nothing of ours: it is the grandchild in a session of its own, with the pipe as its only descriptor
 * besides stdio, in /, with default signals. So it keeps no pipe of a build open and no directory busy, and leaves no
 * zombie. It logs to SOCKET.log, to which every start appends unless it has grown long.
 */
#include "client/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/failure.h"

#define RETRY_MS 5
/* Where the daemon finds the pipe. */
#define READY_FD 3
/* A log longer than this is begun anew. */
#define LOG_BYTES (1 << 20)

uint64_t client_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int client_wait_ms(uint64_t ms)
{
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static void pause_briefly(void)
{
    const struct timespec step = { .tv_nsec = RETRY_MS * 1000000L };
    nanosleep(&step, NULL);
}

/* 0 or an errno; EAGAIN means that the daemon's backlog is full. */
static int try_connect(const struct sockaddr_un *address, int *fd)
{
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return errno;
    if (connect(*fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return 0;
    int failure = errno;
    close(*fd);
    *fd = -1;
    return failure;
}

static bool nobody_listens(int failure)
{
    return failure == ECONNREFUSED || failure == ENOENT;
}

static enum roost_status unreachable(const struct sockaddr_un *address, int failure, char *error, size_t error_size)
{
    proto_fail(error, error_size, "no daemon answers at %s: %s", address->sun_path, strerror(failure));
    return ROOST_UNREACHABLE;
}

static enum roost_status timed_out(const struct sockaddr_un *address, const char *what, char *error, size_t error_size)
{
    proto_fail(error, error_size, "timed out while %s at %s", what, address->sun_path);
    return ROOST_TIMEOUT;
}

/* Connects; while a failure is one that passes, until the deadline. */
static enum roost_status connect_patiently(const struct sockaddr_un *address, bool starting, uint64_t deadline, int *fd,
                                           char *error, size_t error_size)
{
    for (;;) {
        int failure = try_connect(address, fd);
        if (failure == 0)
            return ROOST_OK;
        if (failure != EAGAIN && failure != EINTR && !(starting && nobody_listens(failure)))
            return unreachable(address, failure, error, error_size);
        if (client_now_ms() >= deadline)
            return timed_out(address, "connecting", error, error_size);
        pause_briefly();
    }
}

/* The log, a file of ours and nothing else, out of the way of the daemon's descriptors; -1 when there can be none. */
static int open_log(const char *path)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
        return -1;
    if (st.st_size > LOG_BYTES && ftruncate(fd, 0) != 0)
        return -1;
    return fcntl(fd, F_DUPFD, READY_FD + 1);
}

/* Runs in the child of a process that may have threads: nothing but async-signal-safe calls. */
static _Noreturn void exec_daemon(char *const paths[2], char *const argv[], const char *log_path, int ready)
{
    sigset_t none;
    setsid();
    if (fork() != 0)
        _exit(0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    /* Out of the way of the descriptors that are about to be filled: a caller may have closed all of those. */
    int null = fcntl(open("/dev/null", O_RDWR), F_DUPFD, READY_FD + 1);
    int log = open_log(log_path);
    if (ready != READY_FD) {
        dup2(ready, READY_FD);
    } else {
        int flags = fcntl(ready, F_GETFD);
        fcntl(ready, F_SETFD, flags & ~FD_CLOEXEC);
    }
    for (int fd = 0; fd < 3; fd++)
        dup2(fd == STDERR_FILENO && log >= 0 ? log : null, fd);
    close_range(READY_FD + 1, ~0U, 0);
    if (chdir("/") == 0) {
        execv(paths[0], argv);
        execvp(paths[1], argv);
    }
    static const char text[] = "error: the program roostd is not found\n";
    ssize_t ignored = write(READY_FD, text, sizeof text - 1);
    _exit(ignored < 0);
}

/* What the daemon says over the pipe, without the newline; "" when it says nothing. */
static bool read_verdict(int fd, uint64_t deadline, char *text, size_t size)
{
    size_t len = 0;
    for (;;) {
        uint64_t now = client_now_ms();
        struct pollfd poller = { .fd = fd, .events = POLLIN };
        int ready = now < deadline ? poll(&poller, 1, client_wait_ms(deadline - now)) : 0;
        if (ready == 0)
            return false;
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t n = read(fd, text + len, size - 1 - len);
        if (n <= 0 || (len += (size_t)n) == size - 1)
            break;
    }
    text[len] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

static enum roost_status start_daemon(const struct roost_options *options, const struct sockaddr_un *address,
                                      uint64_t deadline, char *error, size_t error_size)
{
    char socket_option[sizeof address->sun_path + 16];
    char log_path[sizeof address->sun_path + 8];
    char idle_option[48];
    snprintf(socket_option, sizeof socket_option, "--socket=%s", address->sun_path);
    snprintf(log_path, sizeof log_path, "%s.log", address->sun_path);
    snprintf(idle_option, sizeof idle_option, "--idle-timeout=%u", options->idle_timeout_s);
    char program[] = "roostd";
    char ready_option[] = "--ready-fd=3";
    char installed[] = ROOSTD_PATH;
    char *const argv[] = { program, socket_option, ready_option, idle_option, NULL };
    char *const paths[2] = { options->daemon ? (char *)(uintptr_t)options->daemon : installed,
                             options->daemon ? (char *)(uintptr_t)options->daemon : program };
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        proto_fail(error, error_size, "cannot start roostd: %s", strerror(errno));
        return ROOST_UNREACHABLE;
    }
    pid_t child = fork();
    if (child == 0)
        exec_daemon(paths, argv, log_path, pipe_fds[1]);
    close(pipe_fds[1]);
    char verdict[512] = "";
    bool said = child > 0 && read_verdict(pipe_fds[0], deadline, verdict, sizeof verdict);
    close(pipe_fds[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && !said)
        return timed_out(address, "waiting for the daemon that was started", error, error_size);
    if (strcmp(verdict, "ready") == 0 || strstr(verdict, "another roostd is running"))
        return ROOST_OK;
    proto_fail(error, error_size, "roostd did not start: %s", verdict[0] ? verdict : "it ended without a word");
    return ROOST_UNREACHABLE;
}

/* The lock on the directory of the socket; -1 when the deadline passes first. */
static int lock_directory(const struct sockaddr_un *address, uint64_t deadline)
{
    char directory[sizeof address->sun_path];
    memcpy(directory, address->sun_path, sizeof directory);
    char *slash = strrchr(directory, '/');
    if (slash)
        slash[slash == directory] = '\0';
    int fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || client_now_ms() >= deadline) {
            close(fd);
            return -1;
        }
        pause_briefly();
    }
    return fd;
}

static enum roost_status start_and_connect(const struct roost_options *options, const struct proto_socket_path *path,
                                           uint64_t deadline, int *fd, char *error, size_t error_size)
{
    struct proto_socket_places places;
    proto_socket_places_init(&places, options->socket);
    if (path->address.sun_path[0] != '/') {
        proto_fail(error, error_size, "a daemon is only started at an absolute path, not at %s",
                   path->address.sun_path);
        return ROOST_UNREACHABLE;
    }
    if (!proto_socket_path_prepare(&places, path, error, error_size))
        return ROOST_UNREACHABLE;
    int lock = lock_directory(&path->address, deadline);
    if (lock < 0)
        return timed_out(&path->address, "waiting for another process to start the daemon", error, error_size);
    enum roost_status status = ROOST_OK;
    if (nobody_listens(try_connect(&path->address, fd)))
        status = start_daemon(options, &path->address, deadline, error, error_size);
    if (status == ROOST_OK && *fd < 0)
        status = connect_patiently(&path->address, true, deadline, fd, error, error_size);
    close(lock);
    return status;
}

enum roost_status client_connect(const struct roost_options *options, const struct proto_socket_path *path,
                                 uint64_t deadline, int *fd, char *error, size_t error_size)
{
    int failure = try_connect(&path->address, fd);
    if (failure == 0)
        return ROOST_OK;
    if (nobody_listens(failure) && options->start)
        return start_and_connect(options, path, deadline, fd, error, error_size);
    return connect_patiently(&path->address, false, deadline, fd, error, error_size);
}

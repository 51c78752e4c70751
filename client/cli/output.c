/*
 * A regular file is written under another name in its directory and renamed, so that who reads it meanwhile, or finds
 * it after a full disk or a signal, never sees half of it. Signals that end the program remove the other name first.
 */
#include "client/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTEMPTS 100u

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ };
#define N_SIGNALS (sizeof signals / sizeof signals[0])

struct output {
    const char *name;         /* for messages */
    char target[PATH_MAX];    /* without symbolic links */
    char temporary[PATH_MAX]; /* in the same directory; "" when there is none */
    struct stat old;
    bool exists;
    struct sigaction before[N_SIGNALS];
};

/* The temporary file that a signal removes, or NULL. */
static const char *volatile unfinished;

static void on_signal(int number)
{
    const char *path = unfinished;
    if (path)
        unlink(path);
    raise(number); /* SA_RESETHAND: the default action, once the handler is left */
}

static void guard(struct output *out)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    unfinished = out->temporary;
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaction(signals[i], NULL, &out->before[i]);
        if (out->before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

static void unguard(struct output *out)
{
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &out->before[i], NULL);
    unfinished = NULL;
}

static enum cli_exit cannot(const struct output *out, const char *do_what)
{
    return cli_fail(CLI_USAGE, "cannot %s %s: %s", do_what, out->name, strerror(errno));
}

static enum cli_exit write_in_place(const struct output *out, const void *bytes, size_t len)
{
    int fd = open(out->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return cannot(out, "open");
    enum cli_exit status = cli_write(fd, out->name, bytes, len);
    if (close(fd) != 0 && status == CLI_DONE)
        status = cannot(out, "write to");
    return status;
}

/* Finds out what the name stands for. False: not a file to be replaced. */
static bool is_replaced(struct output *out)
{
    struct stat link;
    if (strncmp(out->name, "/dev/", 5) == 0 || strncmp(out->name, "/proc/", 6) == 0)
        return false;
    out->exists = stat(out->name, &out->old) == 0;
    if (out->exists)
        return S_ISREG(out->old.st_mode) && access(out->name, W_OK) == 0 && realpath(out->name, out->target);
    if (errno != ENOENT || lstat(out->name, &link) == 0 || strlen(out->name) >= sizeof out->target)
        return false;
    strcpy(out->target, out->name);
    return true;
}

/* The descriptor of a new file beside the target, or -1. */
static int open_beside(struct output *out)
{
    const char *slash = strrchr(out->target, '/');
    int directory_len = slash ? (int)(slash - out->target + 1) : 0;
    int fd = -1;
    for (unsigned i = 0; i < ATTEMPTS && fd < 0; i++) {
        int n = snprintf(out->temporary, sizeof out->temporary, "%.*s.roost-%ld-%u.tmp", directory_len, out->target,
                         (long)getpid(), i);
        if (n < 0 || (size_t)n >= sizeof out->temporary) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

/* Mode and owner of the file that is replaced. */
static bool is_like_old(const struct output *out, int fd)
{
    struct stat st;
    if (!out->exists)
        return true;
    if (fstat(fd, &st) != 0)
        return false;
    if ((st.st_uid != out->old.st_uid || st.st_gid != out->old.st_gid) &&
        fchown(fd, out->old.st_uid, out->old.st_gid) != 0)
        return false;
    return fchmod(fd, out->old.st_mode & 0777) == 0;
}

static enum cli_exit replace(struct output *out, int fd, const void *bytes, size_t len)
{
    enum cli_exit status = cli_write(fd, out->name, bytes, len);
    if (close(fd) != 0 && status == CLI_DONE)
        status = cannot(out, "write to");
    if (status == CLI_DONE && rename(out->temporary, out->target) != 0)
        status = cannot(out, "replace");
    if (status != CLI_DONE)
        unlink(out->temporary);
    return status;
}

enum cli_exit output_write(const char *path, const void *bytes, size_t len)
{
    struct output out = { .name = path };
    if (!is_replaced(&out))
        return write_in_place(&out, bytes, len);
    guard(&out);
    int fd = open_beside(&out);
    bool fits = fd >= 0 && is_like_old(&out, fd);
    enum cli_exit status = fits ? replace(&out, fd, bytes, len) : CLI_DONE;
    if (fd >= 0 && !fits) {
        close(fd);
        unlink(out.temporary);
    }
    unguard(&out);
    return fits ? status : write_in_place(&out, bytes, len);
}

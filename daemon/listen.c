/*
 * A lock file beside the socket (PATH.lock) says who owns the path: whoever holds its lock may remove a leftover socket
 * and bind. The lock file itself stays, because removing it would let two daemons lock two files of one name. A daemon
 * started by the service manager holds no lock, so a socket that answers is never taken away either.
 */
#include "daemon/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/failure.h"
#include "proto/socket_path.h"

/* First descriptor passed by the service manager, see sd_listen_fds(3). */
#define LISTEN_FDS_START 3

static int socket_option(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

static bool adopt(struct listener *listener, int fd, char *error, size_t error_size)
{
    struct sockaddr_un address = { .sun_family = AF_UNSPEC };
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 || address.sun_family != AF_UNIX)
        return proto_fail(error, error_size, "the inherited descriptor %d is not a Unix socket", fd);
    if (socket_option(fd, SO_TYPE) != SOCK_STREAM || socket_option(fd, SO_ACCEPTCONN) != 1)
        return proto_fail(error, error_size, "the inherited descriptor %d is not a listening stream socket", fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return proto_fail(error, error_size, "the inherited descriptor %d: %s", fd, strerror(errno));
    listener->fd = fd;
    listener->inherited = true;
    /* The kernel gives a path of the full length without a NUL. */
    snprintf(listener->path, sizeof listener->path, "%.*s", (int)sizeof address.sun_path,
             address.sun_path[0] ? address.sun_path : "(abstract)");
    return true;
}

static bool inherited_count(long *count, char *error, size_t error_size)
{
    const char *pid = getenv("LISTEN_PID");
    const char *fds = getenv("LISTEN_FDS");
    *count = 0;
    if (pid && fds && strtol(pid, NULL, 10) == (long)getpid())
        *count = strtol(fds, NULL, 10);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return (*count >= 0 && *count <= 1) ||
           proto_fail(error, error_size, "LISTEN_FDS passes %ld sockets, roostd takes one", *count);
}

static bool lock(struct listener *listener, char *error, size_t error_size)
{
    char path[sizeof listener->path + 8];
    snprintf(path, sizeof path, "%s.lock", listener->path);
    listener->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (listener->lock_fd < 0)
        return proto_fail(error, error_size, "cannot open the lock file %s: %s", path, strerror(errno));
    if (flock(listener->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    return proto_fail(error, error_size, errno == EWOULDBLOCK ? "another roostd is running at %s" : "cannot lock %s",
                      listener->path);
}

/* Whether a socket of ours is at the path, in *found; an error when something else is. */
static bool look(const struct listener *listener, bool *found, char *error, size_t error_size)
{
    struct stat st;
    *found = lstat(listener->path, &st) == 0;
    if (!*found)
        return errno == ENOENT || proto_fail(error, error_size, "%s: %s", listener->path, strerror(errno));
    return (S_ISSOCK(st.st_mode) && st.st_uid == geteuid()) ||
           proto_fail(error, error_size,
                      "%s exists and is not a socket of user %u; remove it or choose another --socket", listener->path,
                      (unsigned)geteuid());
}

/* Removes a socket that nobody listens at. */
static bool remove_stale(const struct listener *listener, const struct sockaddr_un *address, char *error,
                         size_t error_size)
{
    bool found;
    if (!look(listener, &found, error, error_size))
        return false;
    if (!found)
        return true;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return proto_fail(error, error_size, "cannot make a socket: %s", strerror(errno));
    int refused = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 ? errno : 0;
    close(fd);
    if (refused != ECONNREFUSED)
        return proto_fail(error, error_size, "another process answers at %s", listener->path);
    return unlink(listener->path) == 0 || errno == ENOENT ||
           proto_fail(error, error_size, "cannot remove the leftover socket %s: %s", listener->path, strerror(errno));
}

static bool bind_here(struct listener *listener, const struct sockaddr_un *address, char *error, size_t error_size)
{
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return proto_fail(error, error_size, "cannot make a socket: %s", strerror(errno));
    mode_t mask = umask(0077);
    int bound = bind(listener->fd, (const struct sockaddr *)address, sizeof *address);
    umask(mask);
    struct stat st;
    if (bound != 0 || lstat(listener->path, &st) != 0)
        return proto_fail(error, error_size, "cannot bind %s: %s", listener->path, strerror(errno));
    listener->device = st.st_dev;
    listener->inode = st.st_ino;
    return true;
}

bool listener_open(struct listener *listener, const char *socket, char *error, size_t error_size)
{
    *listener = (struct listener){ .fd = -1, .lock_fd = -1 };
    long count;
    if (!inherited_count(&count, error, error_size))
        return false;
    if (count == 1)
        return adopt(listener, LISTEN_FDS_START, error, error_size);
    struct proto_socket_places places;
    struct proto_socket_path path;
    proto_socket_places_init(&places, socket);
    if (!proto_socket_path_resolve(&places, &path, error, error_size) ||
        !proto_socket_path_prepare(&places, &path, error, error_size))
        return false;
    memcpy(listener->path, path.address.sun_path, sizeof listener->path);
    /* Before the lock file is made: PATH.lock may mean something to others where PATH is no socket (/etc/passwd.lock).
     */
    bool found;
    if (look(listener, &found, error, error_size) && lock(listener, error, error_size) &&
        remove_stale(listener, &path.address, error, error_size) &&
        bind_here(listener, &path.address, error, error_size))
        return true;
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    listener_release(listener);
    return false;
}

void listener_release(struct listener *listener)
{
    struct stat st;
    if (!listener->inherited && listener->inode && lstat(listener->path, &st) == 0 && st.st_ino == listener->inode &&
        st.st_dev == listener->device)
        unlink(listener->path);
    listener->inode = 0;
    if (listener->lock_fd >= 0)
        close(listener->lock_fd);
    listener->lock_fd = -1;
}

/*
 * /tmp is writable by everyone, so its directory counts only when it is a real directory, ours, and closed to others;
 * anything else there is refused with the reason and never repaired: whoever made it may be listening.
 */
#include "proto/socket_path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/failure.h"

void proto_socket_places_init(struct proto_socket_places *places, const char *explicit_path)
{
    *places = (struct proto_socket_places){ .explicit_path = explicit_path,
                                            .environment = getenv("ROOST_SOCKET"),
                                            .runtime_dir = getenv("XDG_RUNTIME_DIR"),
                                            .run_user = "/run/user",
                                            .system_path = "/run/roost/sock",
                                            .tmp = "/tmp",
                                            .uid = geteuid() };
}

const char *proto_socket_origin_name(enum proto_socket_origin origin)
{
    static const char *const names[] = { "--socket",  "ROOST_SOCKET",  "XDG_RUNTIME_DIR",
                                         "/run/user", "system daemon", "/tmp" };
    return names[origin];
}

static bool put(struct proto_socket_path *out, enum proto_socket_origin origin, char *error, size_t error_size,
                const char *fmt, ...) BIR_PRINTF(5, 6);

static bool put(struct proto_socket_path *out, enum proto_socket_origin origin, char *error, size_t error_size,
                const char *fmt, ...)
{
    *out = (struct proto_socket_path){ .address.sun_family = AF_UNIX, .origin = origin };
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(out->address.sun_path, sizeof out->address.sun_path, fmt, args);
    va_end(args);
    if (len < 0 || (size_t)len > PROTO_SOCKET_PATH_CHARS)
        return proto_fail(
            error, error_size,
            "the socket path from %s has %d bytes, the limit of the system is %zu; name a shorter one with "
            "--socket or ROOST_SOCKET",
            proto_socket_origin_name(origin), len, PROTO_SOCKET_PATH_CHARS);
    return true;
}

/* A system daemon counts only while it answers: a leftover socket must not hide the user's own place. */
static bool answers(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t len = strlen(path);
    if (len > PROTO_SOCKET_PATH_CHARS)
        return false;
    memcpy(address.sun_path, path, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool connected = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
    close(fd);
    return connected;
}

static bool run_user_exists(const struct proto_socket_places *places)
{
    char path[128];
    struct stat st;
    int len = snprintf(path, sizeof path, "%s/%u", places->run_user, (unsigned)places->uid);
    return len > 0 && (size_t)len < sizeof path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == places->uid;
}

/* True when it is missing, too: prepare makes it. */
static bool check_tmp(const char *dir, uid_t uid, char *error, size_t error_size)
{
    struct stat st;
    if (lstat(dir, &st) != 0)
        return errno == ENOENT || proto_fail(error, error_size, "%s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return proto_fail(error, error_size, "%s is not a directory; remove it or name another place with --socket",
                          dir);
    if (st.st_uid != uid)
        return proto_fail(error, error_size, "%s belongs to user %u and not to %u; name another place with --socket",
                          dir, (unsigned)st.st_uid, (unsigned)uid);
    if (st.st_mode & 077)
        return proto_fail(error, error_size, "%s has mode %04o and must be closed to others (0700); run chmod 700 %s",
                          dir, (unsigned)st.st_mode & 07777u, dir);
    return true;
}

static bool tmp_dir(const struct proto_socket_places *places, char *dir, size_t size)
{
    int len = snprintf(dir, size, "%s/roost-%u", places->tmp, (unsigned)places->uid);
    return len > 0 && (size_t)len < size;
}

bool proto_socket_path_resolve(const struct proto_socket_places *places, struct proto_socket_path *out, char *error,
                               size_t error_size)
{
    if (places->explicit_path)
        return places->explicit_path[0]
                   ? put(out, PROTO_SOCKET_EXPLICIT, error, error_size, "%s", places->explicit_path)
                   : proto_fail(error, error_size, "the socket path is empty");
    if (places->environment && places->environment[0])
        return put(out, PROTO_SOCKET_ENVIRONMENT, error, error_size, "%s", places->environment);
    if (places->runtime_dir && places->runtime_dir[0] == '/')
        return put(out, PROTO_SOCKET_RUNTIME_DIR, error, error_size, "%s/roost/sock", places->runtime_dir);
    if (run_user_exists(places))
        return put(out, PROTO_SOCKET_RUN_USER, error, error_size, "%s/%u/roost/sock", places->run_user,
                   (unsigned)places->uid);
    if (answers(places->system_path))
        return put(out, PROTO_SOCKET_SYSTEM, error, error_size, "%s", places->system_path);
    char dir[PROTO_SOCKET_PATH_CHARS];
    if (!tmp_dir(places, dir, sizeof dir))
        return proto_fail(error, error_size, "%s is too long a name for a directory of temporary files", places->tmp);
    return check_tmp(dir, places->uid, error, error_size) &&
           put(out, PROTO_SOCKET_TMP, error, error_size, "%s/sock", dir);
}

bool proto_socket_path_prepare(const struct proto_socket_places *places, const struct proto_socket_path *path,
                               char *error, size_t error_size)
{
    char dir[sizeof path->address.sun_path];
    memcpy(dir, path->address.sun_path, sizeof dir);
    char *slash = strrchr(dir, '/');
    if (!slash || slash == dir)
        return true;
    *slash = '\0';
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return proto_fail(error, error_size, "cannot make the directory %s: %s", dir, strerror(errno));
    return path->origin != PROTO_SOCKET_TMP || check_tmp(dir, places->uid, error, error_size);
}

/*
 * Where the socket is: one answer for both sides.
 *
 * The first that applies: an explicit path, ROOST_SOCKET, $XDG_RUNTIME_DIR/roost/sock, /run/user/UID/roost/sock,
 * /run/roost/sock when a system daemon listens there, /tmp/roost-UID/sock. TMPDIR plays no part: it differs between
 * shells, and cleaners empty it.
 */
#ifndef PROTO_SOCKET_PATH_H
#define PROTO_SOCKET_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

/* Longest path that fits with its NUL (107 on Linux). */
#define PROTO_SOCKET_PATH_CHARS (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

enum proto_socket_origin {
    PROTO_SOCKET_EXPLICIT,
    PROTO_SOCKET_ENVIRONMENT,
    PROTO_SOCKET_RUNTIME_DIR,
    PROTO_SOCKET_RUN_USER,
    PROTO_SOCKET_SYSTEM,
    PROTO_SOCKET_TMP,
};

/* Everything the answer depends on, so that a test can put its own in. */
struct proto_socket_places {
    const char *explicit_path; /* --socket, or NULL */
    const char *environment;   /* ROOST_SOCKET */
    const char *runtime_dir;   /* XDG_RUNTIME_DIR */
    const char *run_user;      /* "/run/user" */
    const char *system_path;   /* "/run/roost/sock" */
    const char *tmp;           /* "/tmp" */
    uid_t uid;
};

struct proto_socket_path {
    struct sockaddr_un address;
    enum proto_socket_origin origin;
};

/* The places of this process: environment, standard directories, effective uid. */
void proto_socket_places_init(struct proto_socket_places *places, const char *explicit_path);

/* Finds the path. False with a message in error when it does not fit into an address or its directory is not safe. */
bool proto_socket_path_resolve(const struct proto_socket_places *places, struct proto_socket_path *out, char *error,
                               size_t error_size);

/* Makes the directory of the socket, mode 0700, when it is missing, and checks the one in /tmp. */
bool proto_socket_path_prepare(const struct proto_socket_places *places, const struct proto_socket_path *path,
                               char *error, size_t error_size);

/* "--socket", "ROOST_SOCKET", "XDG_RUNTIME_DIR" ...: why the path is what it is. */
const char *proto_socket_origin_name(enum proto_socket_origin origin);

#endif

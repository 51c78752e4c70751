/*
 * The listening socket: inherited from the service manager, or bound here under a lock.
 */
#ifndef DAEMON_LISTEN_H
#define DAEMON_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

struct listener {
    int fd;      /* listening, close-on-exec; -1 when closed */
    int lock_fd; /* held while we own the path, or -1 */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    bool inherited; /* the path is not ours to remove */
    dev_t device;   /* of the socket's file, when bound here */
    ino_t inode;
};

/* Takes the one socket of LISTEN_FDS when LISTEN_PID names this process, and removes the variables; binds at socket
 * (NULL: the default place) otherwise. False with a message in error. */
bool listener_open(struct listener *listener, const char *socket, char *error, size_t error_size);

/* Removes the socket's file when it is still the one that we made, and gives up the lock. The descriptor itself belongs
 * to whoever polls it. Idempotent. */
void listener_release(struct listener *listener);

#endif

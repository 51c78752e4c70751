/* Finding, starting and reaching the daemon: a connected socket or a reason. Internal to libroost. */
#ifndef CLIENT_CONNECT_H
#define CLIENT_CONNECT_H

#include <stdint.h>

#include "client/roost.h"
#include "proto/socket_path.h"

/* Milliseconds of the monotonic clock. */
uint64_t client_now_ms(void);
/* A difference of times, as poll takes it. */
int client_wait_ms(uint64_t ms);

/* A connected non-blocking socket, close-on-exec, in *fd. start: start `daemon` when nobody listens. deadline is a time
 * of client_now_ms. ROOST_UNREACHABLE or ROOST_TIMEOUT with a text in error. */
enum roost_status client_connect(const struct roost_options *options, const struct proto_socket_path *path,
                                 uint64_t deadline, int *fd, char *error, size_t error_size);

#endif

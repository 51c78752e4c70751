/* The requests of proto/protocol.md. */
#ifndef DAEMON_METHODS_H
#define DAEMON_METHODS_H

#include "daemon/session.h"

/* Handles one frame. payload_digest: digest of its payload, NULL when it has none. */
void methods_handle(struct session *session, const struct proto_frame *frame, const struct bir_digest *payload_digest);

/* Names of all methods as a JSON array: the capabilities of hello. */
void methods_put_names(struct bir_buf *out);

#endif

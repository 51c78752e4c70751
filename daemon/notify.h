/*
 * Messages to the service manager. notify.c uses libsystemd; notify_fallback.c, chosen by the build where that is
 * absent, speaks the same datagram protocol itself.
 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include "base/status.h"

/* "READY=1\nSTATUS=..." in the format of sd_notify(3). Without a service manager it does nothing. */
void notify_send(const char *fmt, ...) BIR_PRINTF(1, 2);

#endif

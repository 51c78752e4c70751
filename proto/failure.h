/* Failure texts: functions that can fail for many reasons return false and leave one line of text for the user. */
#ifndef PROTO_FAILURE_H
#define PROTO_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Always false, for `return proto_fail(...)`. */
bool proto_fail(char *error, size_t error_size, const char *fmt, ...) BIR_PRINTF(3, 4);

#endif

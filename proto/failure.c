#include "proto/failure.h"

#include <stdarg.h>
#include <stdio.h>

bool proto_fail(char *error, size_t error_size, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(error, error_size, fmt, args);
    va_end(args);
    return false;
}

/*
 * Growable output bytes on the heap, with a limit. Failure is sticky: after it every put is a no-op, so a writer checks
 * once at the end.
 */
#ifndef BIR_BASE_BUF_H
#define BIR_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

struct bir_buf {
    char *data;
    size_t len;
    size_t capacity;
    size_t limit_bytes; /* 0 = none */
    enum bir_status status; /* BIR_OK, BIR_LIMIT or BIR_NOMEM */
};

void bir_buf_init(struct bir_buf *buf, size_t limit_bytes);
void bir_buf_deinit(struct bir_buf *buf); /* accepts a zeroed one */

/* Room for n more bytes without a further check; false (and sticky) on failure. */
bool bir_buf_reserve(struct bir_buf *buf, size_t n);

/* Where the next n bytes go (n not 0), or NULL (and sticky) on failure. What was written there counts once it is added
 * to len. */
static inline char *bir_buf_room(struct bir_buf *buf, size_t n)
{
    bool fits = buf->status == BIR_OK && n <= buf->capacity - buf->len;
    return fits || bir_buf_reserve(buf, n) ? buf->data + buf->len : NULL;
}

/* The same as an attempt, for more bytes than will perhaps be needed: NULL leaves the buffer as it is. */
char *bir_buf_grow_window(struct bir_buf *buf, size_t n);

static inline char *bir_buf_window(struct bir_buf *buf, size_t n)
{
    bool fits = buf->status == BIR_OK && n <= buf->capacity - buf->len;
    return fits ? buf->data + buf->len : bir_buf_grow_window(buf, n);
}

static inline void bir_buf_put(struct bir_buf *buf, const void *bytes, size_t n)
{
    char *out = n > 0 ? bir_buf_room(buf, n) : NULL;
    if (!out)
        return;
    memcpy(out, bytes, n);
    buf->len += n;
}

static inline void bir_buf_putc(struct bir_buf *buf, char c)
{
    char *out = bir_buf_room(buf, 1);
    if (!out)
        return;
    *out = c;
    buf->len++;
}

void bir_buf_puts(struct bir_buf *buf, const char *text);
void bir_buf_put_i64(struct bir_buf *buf, int64_t value);
void bir_buf_put_u64(struct bir_buf *buf, uint64_t value);
void bir_buf_printf(struct bir_buf *buf, const char *fmt, ...) BIR_PRINTF(2, 3);
void bir_buf_put_hex(struct bir_buf *buf, const void *bytes, size_t n); /* lower case */

/* Takes the bytes out (NUL-terminated beyond *len); the caller frees with free(). NULL when buf failed. */
char *bir_buf_steal(struct bir_buf *buf, size_t *len);

#endif

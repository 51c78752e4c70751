/*
 * Capacity doubles up to the limit. `status` is the only failure state: once set, every put returns before it touches
 * the bytes, which therefore stay a prefix of the intended output.
 */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/pages.h"

#define FIRST_CAPACITY ((size_t)256)

void bir_buf_init(struct bir_buf *buf, size_t limit_bytes)
{
    *buf = (struct bir_buf){ .limit_bytes = limit_bytes };
}

void bir_buf_deinit(struct bir_buf *buf)
{
    free(buf->data);
    bir_buf_init(buf, buf->limit_bytes);
}

static bool fail(struct bir_buf *buf, enum bir_status status)
{
    buf->status = status;
    return false;
}

static bool grow(struct bir_buf *buf, size_t n)
{
    size_t needed;
    if (__builtin_add_overflow(buf->len, n, &needed) || needed > SIZE_MAX / 2 ||
        (buf->limit_bytes && needed > buf->limit_bytes))
        return fail(buf, BIR_LIMIT);
    size_t capacity = buf->capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : buf->capacity * 2;
    if (buf->limit_bytes && capacity > buf->limit_bytes)
        capacity = buf->limit_bytes;
    if (capacity < needed)
        capacity = needed;
    char *data = realloc(buf->data, capacity);
    if (!data)
        return fail(buf, BIR_NOMEM);
    buf->data = data;
    buf->capacity = capacity;
    bir_pages_advise_huge(data, capacity);
    return true;
}

bool bir_buf_reserve(struct bir_buf *buf, size_t n)
{
    if (buf->status != BIR_OK)
        return false;
    return n <= buf->capacity - buf->len || grow(buf, n);
}

char *bir_buf_grow_window(struct bir_buf *buf, size_t n)
{
    if (buf->status != BIR_OK)
        return NULL;
    if (n > buf->capacity - buf->len && !grow(buf, n)) {
        buf->status = BIR_OK; /* whoever needs the room in earnest fails */
        return NULL;
    }
    return buf->data + buf->len;
}

void bir_buf_puts(struct bir_buf *buf, const char *text)
{
    bir_buf_put(buf, text, strlen(text));
}

void bir_buf_put_u64(struct bir_buf *buf, uint64_t value)
{
    char digits[BIR_DECIMAL_MAX];
    bir_buf_put(buf, digits, (size_t)(bir_decimal_put(digits, value) - digits));
}

void bir_buf_put_i64(struct bir_buf *buf, int64_t value)
{
    char digits[BIR_DECIMAL_MAX];
    bir_buf_put(buf, digits, (size_t)(bir_decimal_put_signed(digits, value) - digits));
}

void bir_buf_printf(struct bir_buf *buf, const char *fmt, ...)
{
    if (!bir_buf_reserve(buf, 0))
        return;
    size_t room = buf->capacity - buf->len;
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(room ? buf->data + buf->len : NULL, room, fmt, args);
    va_end(args);
    if (len < 0) {
        buf->status = BIR_NOMEM;
        return;
    }
    if ((size_t)len >= room) {
        /* vsnprintf wants a byte for its NUL, which a buffer at its limit does not have. */
        char *text = malloc((size_t)len + 1);
        if (!text) {
            buf->status = BIR_NOMEM;
            return;
        }
        va_start(args, fmt);
        (void)vsnprintf(text, (size_t)len + 1, fmt, args);
        va_end(args);
        bir_buf_put(buf, text, (size_t)len);
        free(text);
        return;
    }
    buf->len += (size_t)len;
}

void bir_buf_put_hex(struct bir_buf *buf, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    if (n > SIZE_MAX / 2) {
        if (buf->status == BIR_OK)
            buf->status = BIR_LIMIT;
        return;
    }
    if (!bir_buf_reserve(buf, n * 2))
        return;
    const unsigned char *in = bytes;
    char *out = buf->data + buf->len;
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[in[i] >> 4];
        *out++ = digits[in[i] & 15];
    }
    buf->len += n * 2;
}

char *bir_buf_steal(struct bir_buf *buf, size_t *len)
{
    if (buf->status != BIR_OK)
        return NULL;
    char *data = realloc(buf->data, buf->len + 1);
    if (!data) {
        buf->status = BIR_NOMEM;
        return NULL;
    }
    data[buf->len] = '\0';
    *len = buf->len;
    bir_buf_init(buf, buf->limit_bytes);
    return data;
}

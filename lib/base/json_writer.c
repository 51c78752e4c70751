/*
 * Two flags carry the punctuation: `after_key` says that the next value stands behind its colon, `need_comma` that the
 * open container has an item already. A container that ends while need_comma is false was empty, which is what keeps
 * "[]" and "{}" on one line. No stack is needed, because behind a closed container a comma is always due.
 */
#include "base/json_writer.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "base/json_scan.h"

void bir_json_writer_init(struct bir_json_writer *w, struct bir_buf *buf, uint32_t indent)
{
    *w = (struct bir_json_writer){ .buf = buf, .indent = indent };
}

static void put_line_break(struct bir_json_writer *w)
{
    size_t spaces = (size_t)w->depth * w->indent;
    if (!bir_buf_reserve(w->buf, spaces + 1))
        return;
    char *out = w->buf->data + w->buf->len;
    out[0] = '\n';
    memset(out + 1, ' ', spaces);
    w->buf->len += spaces + 1;
}

char *bir_json_claim_indented(struct bir_json_writer *w, size_t len)
{
    if (!w->after_key && w->need_comma)
        bir_buf_putc(w->buf, ',');
    if (!w->after_key && w->depth > 0)
        put_line_break(w);
    char *out = bir_buf_room(w->buf, len);
    if (out)
        w->buf->len += len;
    return out;
}

void bir_json_put_begin_deep(struct bir_json_writer *w)
{
    if (w->buf->status == BIR_OK)
        w->buf->status = BIR_LIMIT;
}

void bir_json_put_end_indented(struct bir_json_writer *w)
{
    if (w->need_comma)
        put_line_break(w);
}

static void put_escape(struct bir_buf *buf, unsigned char byte)
{
    static const char special[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *known = byte != 0 ? strchr(special, byte) : NULL;
    if (known) {
        char escape[2] = { '\\', letters[known - special] };
        bir_buf_put(buf, escape, sizeof(escape));
        return;
    }
    bir_buf_puts(buf, "\\u00");
    bir_buf_put_hex(buf, &byte, 1);
}

static void put_escaped(struct bir_buf *buf, const char *text, size_t len)
{
    const char *p = len > 0 ? text : "";
    const char *end = p + len;
    bir_buf_putc(buf, '"');
    for (;;) {
        const char *stop = bir_json_scan_plain(p, end, false);
        bir_buf_put(buf, p, (size_t)(stop - p));
        if (stop == end)
            break;
        put_escape(buf, (unsigned char)*stop);
        p = stop + 1;
    }
    bir_buf_putc(buf, '"');
}

/* Copied in the hope that nothing needs an escape, which is then taken back. */
static void put_quoted(struct bir_json_writer *w, const char *text, size_t len)
{
    char *out = bir_json_claim(w, len < SIZE_MAX - 2 ? len + 2 : len);
    if (!out || bir_json_copy_plain(out, text, len))
        return;
    w->buf->len -= len + 2;
    put_escaped(w->buf, text, len);
}

static void put_key_end(struct bir_json_writer *w)
{
    bir_buf_put(w->buf, ": ", w->indent > 0 ? 2 : 1);
    w->after_key = true;
}

void bir_json_put_key(struct bir_json_writer *w, const char *key)
{
    size_t len = strlen(key);
    char *out = bir_json_claim(w, len + 2);
    if (out) {
        out[0] = '"';
        memcpy(out + 1, key, len);
        out[len + 1] = '"';
    }
    put_key_end(w);
}

void bir_json_put_key_n(struct bir_json_writer *w, const char *key, size_t len)
{
    put_quoted(w, key, len);
    put_key_end(w);
}

void bir_json_put_string(struct bir_json_writer *w, const char *text, size_t len)
{
    put_quoted(w, text, len);
    w->need_comma = true;
    w->after_key = false;
}

void bir_json_put_cstr(struct bir_json_writer *w, const char *text)
{
    bir_json_put_string(w, text, strlen(text));
}

void bir_json_put_i64(struct bir_json_writer *w, int64_t value)
{
    char digits[BIR_DECIMAL_MAX];
    bir_json_put_spelled(w, digits, (size_t)(bir_decimal_put_signed(digits, value) - digits));
}

void bir_json_put_u64(struct bir_json_writer *w, uint64_t value)
{
    char digits[BIR_DECIMAL_MAX];
    bir_json_put_spelled(w, digits, (size_t)(bir_decimal_put(digits, value) - digits));
}

void bir_json_put_double(struct bir_json_writer *w, double value)
{
    if (!isfinite(value)) {
        bir_json_put_cstr(w, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    char text[32];
    size_t len = bir_format_double(value, text);
    bir_json_put_spelled(w, text, len);
}

void bir_json_put_bool(struct bir_json_writer *w, bool value)
{
    bir_json_put_spelled(w, value ? "true" : "false", value ? 4 : 5);
}

void bir_json_put_null(struct bir_json_writer *w)
{
    bir_json_put_spelled(w, "null", 4);
}

/*
 * Two flags carry the punctuation: `after_key` says that the next value stands behind its colon, `need_comma` that the
 * open container has an item already. A container that ends while need_comma is false was empty, which is what keeps
 * "[]" and "{}" on one line. No stack is needed, because behind a closed container a comma is always due.
 */
#include "base/json_writer.h"

#include <math.h>
#include <string.h>

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

/* Comma and line break due before an item, a key or a value that has no key. */
static void put_item_start(struct bir_json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->need_comma)
        bir_buf_putc(w->buf, ',');
    if (w->indent > 0 && w->depth > 0)
        put_line_break(w);
}

static void put_begin(struct bir_json_writer *w, char open)
{
    put_item_start(w);
    bir_buf_putc(w->buf, open);
    w->need_comma = false;
    if (w->depth >= BIR_JSON_WRITER_MAX_DEPTH && w->buf->status == BIR_OK)
        w->buf->status = BIR_LIMIT;
    w->depth++;
}

static void put_end(struct bir_json_writer *w, char close)
{
    if (w->depth > 0)
        w->depth--;
    if (w->need_comma && w->indent > 0)
        put_line_break(w);
    bir_buf_putc(w->buf, close);
    w->need_comma = true;
}

void bir_json_put_spelled(struct bir_json_writer *w, const char *text, size_t len)
{
    put_item_start(w);
    bir_buf_put(w->buf, text, len);
    w->need_comma = true;
}

void bir_json_put_object_begin(struct bir_json_writer *w)
{
    put_begin(w, '{');
}

void bir_json_put_object_end(struct bir_json_writer *w)
{
    put_end(w, '}');
}

void bir_json_put_array_begin(struct bir_json_writer *w)
{
    put_begin(w, '[');
}

void bir_json_put_array_end(struct bir_json_writer *w)
{
    put_end(w, ']');
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

static void put_quoted(struct bir_buf *buf, const char *text, size_t len)
{
    const char *p = len > 0 ? text : "";
    const char *end = p + len;
    if (!bir_buf_reserve(buf, len < SIZE_MAX - 2 ? len + 2 : len))
        return;
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

static void put_key_end(struct bir_json_writer *w)
{
    bir_buf_put(w->buf, ": ", w->indent > 0 ? 2 : 1);
    w->after_key = true;
}

void bir_json_put_spelled_key(struct bir_json_writer *w, const char *text, size_t len)
{
    put_item_start(w);
    bir_buf_put(w->buf, text, len);
    put_key_end(w);
}

void bir_json_put_key(struct bir_json_writer *w, const char *key)
{
    put_item_start(w);
    size_t len = strlen(key);
    if (bir_buf_reserve(w->buf, len + 2)) {
        char *out = w->buf->data + w->buf->len;
        out[0] = '"';
        memcpy(out + 1, key, len);
        out[len + 1] = '"';
        w->buf->len += len + 2;
    }
    put_key_end(w);
}

void bir_json_put_key_n(struct bir_json_writer *w, const char *key, size_t len)
{
    put_item_start(w);
    put_quoted(w->buf, key, len);
    put_key_end(w);
}

void bir_json_put_string(struct bir_json_writer *w, const char *text, size_t len)
{
    put_item_start(w);
    put_quoted(w->buf, text, len);
    w->need_comma = true;
}

void bir_json_put_cstr(struct bir_json_writer *w, const char *text)
{
    bir_json_put_string(w, text, strlen(text));
}

void bir_json_put_i64(struct bir_json_writer *w, int64_t value)
{
    put_item_start(w);
    bir_buf_put_i64(w->buf, value);
    w->need_comma = true;
}

void bir_json_put_u64(struct bir_json_writer *w, uint64_t value)
{
    put_item_start(w);
    bir_buf_put_u64(w->buf, value);
    w->need_comma = true;
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

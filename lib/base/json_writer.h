/*
 * JSON output in the canonical layout: keys as the caller gives them, compact or indented, numbers independent of the locale.
 *
 * Doubles are written in shortest round-trip form as the C++ library of the vendor prints them: always with ".0" or an
 * exponent, fixed notation when the decimal exponent is in -4 < e <= 15, exponent with a sign and at least two digits.
 * Non-finite doubles are written as the strings "inf", "-inf", "nan" (choice, bir-json.md section 2).
 */
#ifndef BIR_BASE_JSON_WRITER_H
#define BIR_BASE_JSON_WRITER_H

#include "base/buf.h"

#define BIR_JSON_WRITER_MAX_DEPTH 1024

struct bir_json_writer {
    struct bir_buf *buf;
    uint32_t indent; /* spaces per level; 0 = compact */
    uint32_t depth;
    bool need_comma;
    bool after_key;
};

void bir_json_writer_init(struct bir_json_writer *w, struct bir_buf *buf, uint32_t indent);

void bir_json_put_key(struct bir_json_writer *w, const char *key); /* key needs no escaping */
/* Any key, escaped as needed. */
void bir_json_put_key_n(struct bir_json_writer *w, const char *key, size_t len);
void bir_json_put_string(struct bir_json_writer *w, const char *text, size_t len);
void bir_json_put_cstr(struct bir_json_writer *w, const char *text);
void bir_json_put_i64(struct bir_json_writer *w, int64_t value);
void bir_json_put_u64(struct bir_json_writer *w, uint64_t value);
void bir_json_put_double(struct bir_json_writer *w, double value);
void bir_json_put_bool(struct bir_json_writer *w, bool value);
void bir_json_put_null(struct bir_json_writer *w);
/* Room for one item of len bytes (not 0), its comma and line break written before it: the bytes are the caller's to
 * fill in. NULL when the buffer has failed. */
char *bir_json_claim_indented(struct bir_json_writer *w, size_t len);

static inline char *bir_json_claim(struct bir_json_writer *w, size_t len)
{
    if (w->indent > 0)
        return bir_json_claim_indented(w, len);
    size_t comma = w->need_comma && !w->after_key;
    char *out = bir_buf_room(w->buf, len + comma);
    if (!out)
        return NULL;
    *out = ',';
    w->buf->len += len + comma;
    return out + comma;
}

/* One scalar, or one key with its quotes, already in its JSON spelling. */
static inline void bir_json_put_spelled(struct bir_json_writer *w, const char *text, size_t len)
{
    char *out = bir_json_claim(w, len);
    if (out)
        memcpy(out, text, len);
    w->need_comma = true;
    w->after_key = false;
}

static inline void bir_json_put_spelled_key(struct bir_json_writer *w, const char *text, size_t len)
{
    size_t colon = w->indent > 0 ? 2 : 1;
    char *out = bir_json_claim(w, len + colon);
    w->after_key = true;
    if (!out)
        return;
    memcpy(out, text, len);
    out[len] = ':';
    out[len + colon - 1] = w->indent > 0 ? ' ' : ':';
}

/* Rare parts of the brackets below. */
void bir_json_put_begin_deep(struct bir_json_writer *w);
void bir_json_put_end_indented(struct bir_json_writer *w);

static inline void bir_json_put_begin(struct bir_json_writer *w, char bracket)
{
    char *out = bir_json_claim(w, 1);
    if (out)
        *out = bracket;
    w->need_comma = false;
    w->after_key = false;
    if (w->depth++ >= BIR_JSON_WRITER_MAX_DEPTH)
        bir_json_put_begin_deep(w);
}

static inline void bir_json_put_end(struct bir_json_writer *w, char bracket)
{
    if (w->depth > 0)
        w->depth--;
    if (w->indent > 0)
        bir_json_put_end_indented(w);
    bir_buf_putc(w->buf, bracket);
    w->need_comma = true;
}

static inline void bir_json_put_object_begin(struct bir_json_writer *w)
{
    bir_json_put_begin(w, '{');
}

static inline void bir_json_put_object_end(struct bir_json_writer *w)
{
    bir_json_put_end(w, '}');
}

static inline void bir_json_put_array_begin(struct bir_json_writer *w)
{
    bir_json_put_begin(w, '[');
}

static inline void bir_json_put_array_end(struct bir_json_writer *w)
{
    bir_json_put_end(w, ']');
}

/* A complete JSON value as text, known to be valid, re-laid out to the writer's indentation; or, canonical, as the writer
 * would write it: object keys sorted (by the bytes they mean; equal keys keep their order), strings with the escapes
 * they need, numbers with fraction or exponent in shortest form (those beyond a double, and integers of any size, as
 * they are spelled). Text that is not valid after all makes the buffer fail with BIR_INTERNAL, nesting beyond
 * BIR_JSON_WRITER_MAX_DEPTH with BIR_LIMIT. */
void bir_json_put_raw(struct bir_json_writer *w, const char *text, size_t len, bool canonical);

/* Shortest form as above, NUL-terminated, at most 31 characters; value must be finite. Returns the length. */
size_t bir_format_double(double value, char out[32]);
/* The double nearest to the decimal text (JSON number syntax), independent of the locale; infinite beyond the range of a
 * double, NaN when the text is no JSON number. */
double bir_parse_double(const char *text, size_t len);

#endif

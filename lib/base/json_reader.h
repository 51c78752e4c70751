/*
 * Pull reader for JSON text (RFC 8259, UTF-8): no DOM, no allocation but for strings with escapes.
 *
 * The caller drives: it asks for the value it expects, and gets it or a diagnostic with the byte offset of the value.
 * After a failure the reader stays failed: every call returns the same status, object_next and array_next return false.
 * So a loop reads
 *
 *     BIR_TRY(bir_json_object_begin(r));
 *     while (bir_json_object_next(r, &key)) { ... read exactly one value ... }
 *     BIR_TRY(r->status);
 *
 * Depth is bounded (objects and arrays together). Duplicate keys are reported by the caller, who knows its keys.
 * Integers keep 64 bits; a number with a fraction or exponent, or an integer beyond 64 bits, is a double. "-0" is the
 * integer 0, "-0.0" the double -0.0. A number beyond the range of a double is refused when it is read (bir_json_number
 * and those that build on it) and accepted when it is skipped. Unpaired surrogates, raw control characters,
 * invalid UTF-8, leading zeros and trailing text are errors.
 */
#ifndef BIR_BASE_JSON_READER_H
#define BIR_BASE_JSON_READER_H

#include <string.h>

#include "base/diag.h"

enum bir_json_type {
    BIR_JSON_OBJECT,
    BIR_JSON_ARRAY,
    BIR_JSON_STRING,
    BIR_JSON_NUMBER, /* look at bir_json_number to learn whether integral */
    BIR_JSON_TRUE,
    BIR_JSON_FALSE,
    BIR_JSON_NULL,
    BIR_JSON_END,     /* end of text */
    BIR_JSON_GARBAGE, /* a byte that starts no value */
};

struct bir_slice { /* borrowed bytes: of the source, or of the scratch arena when a string had escapes */
    const char *text;
    size_t len;
};

enum bir_number_kind { BIR_NUMBER_I64, BIR_NUMBER_U64 /* above INT64_MAX */, BIR_NUMBER_DOUBLE };

struct bir_number {
    enum bir_number_kind kind;
    int64_t i64;
    uint64_t u64;
    double f64; /* always set, rounded when the value is integral and large */
};

struct bir_json_reader {
    const char *text;
    size_t len;
    size_t pos;
    size_t value_start; /* offset of the value read last (of the key, right after object_next) */
    uint32_t depth;
    uint32_t max_depth;
    bool first_item; /* the container opened last has produced nothing yet */
    enum bir_status status;
    struct bir_arena *scratch; /* unescaped strings */
    struct bir_diags *diags;
};

/* diags may be NULL when only the outcome matters. max_depth is lowered to 4096. */
void bir_json_reader_init(struct bir_json_reader *r, const char *text, size_t len, uint32_t max_depth,
                          struct bir_arena *scratch, struct bir_diags *diags);

/* Type of the next value, without consuming anything but white space. */
enum bir_json_type bir_json_peek(struct bir_json_reader *r);
/* Offset of the next value. */
size_t bir_json_value_offset(struct bir_json_reader *r);

enum bir_status bir_json_object_begin(struct bir_json_reader *r) BIR_MUST_CHECK;
bool bir_json_object_next(struct bir_json_reader *r, struct bir_slice *key);

/* A key as compact text spells it, with quotes and colon, for readers who expect that one more than any other. */
#define BIR_JSON_SPELLED_WORDS 3
struct bir_json_spelled {
    uint64_t words[BIR_JSON_SPELLED_WORDS], masks[BIR_JSON_SPELLED_WORDS]; /* bytes, and which of them count */
    uint32_t len;                                                          /* 0: nothing that can be expected */
};
/* What object_next has just taken. len 0 when white space or an escape is in it, or it is longer than the words. */
void bir_json_spelled_last(const struct bir_json_reader *r, struct bir_slice key, struct bir_json_spelled *spelled);

/* object_next if the next key is spelled so; else false, with nothing taken and nothing wrong. */
static inline bool bir_json_object_next_is(struct bir_json_reader *r, const struct bir_json_spelled *spelled,
                                           struct bir_slice *key)
{
    const char *p = r->text + r->pos;
    uint64_t text[BIR_JSON_SPELLED_WORDS], differ = 0;
    if (r->len - r->pos <= sizeof text || r->status != BIR_OK || (!r->first_item && *p != ','))
        return false;
    p += r->first_item ? 0 : 1;
    memcpy(text, p, sizeof text);
    for (unsigned i = 0; i < BIR_JSON_SPELLED_WORDS; i++)
        differ |= (text[i] ^ spelled->words[i]) & spelled->masks[i];
    if (differ != 0 || spelled->len == 0)
        return false;
    r->first_item = false;
    r->value_start = (size_t)(p - r->text);
    r->pos = r->value_start + spelled->len;
    *key = (struct bir_slice){ .text = p + 1, .len = spelled->len - 3u };
    return true;
}
enum bir_status bir_json_array_begin(struct bir_json_reader *r) BIR_MUST_CHECK;
bool bir_json_array_next(struct bir_json_reader *r);

enum bir_status bir_json_string(struct bir_json_reader *r, struct bir_slice *out) BIR_MUST_CHECK;
enum bir_status bir_json_number(struct bir_json_reader *r, struct bir_number *out) BIR_MUST_CHECK;
enum bir_status bir_json_i64(struct bir_json_reader *r, int64_t *out) BIR_MUST_CHECK; /* refuses fractions */
/* Integer within [min, max]; the message names `what`, the value and both limits. */
enum bir_status bir_json_i64_in(struct bir_json_reader *r, const char *what, int64_t min, int64_t max,
                                int64_t *out) BIR_MUST_CHECK;
enum bir_status bir_json_double(struct bir_json_reader *r, double *out) BIR_MUST_CHECK; /* accepts integers */
enum bir_status bir_json_bool(struct bir_json_reader *r, bool *out) BIR_MUST_CHECK;
/* Checks and skips one value of any type; raw (may be NULL) receives its exact text. */
enum bir_status bir_json_skip(struct bir_json_reader *r, struct bir_slice *raw) BIR_MUST_CHECK;
/* Only white space may follow. */
enum bir_status bir_json_end(struct bir_json_reader *r) BIR_MUST_CHECK;

/* Error "expected <expected>, found <type>" at the next value; makes the reader failed. */
enum bir_status bir_json_mismatch(struct bir_json_reader *r, const char *expected);

const char *bir_json_type_name(enum bir_json_type type);

/* JSON pointer (RFC 6901) of the innermost value that contains the byte at offset, found by scanning text from the
 * start; the key's own bytes count as its value's. Text that is broken after offset is no obstacle. NULL on allocation
 * failure. */
const char *bir_json_pointer_at(const char *text, size_t len, size_t offset, struct bir_arena *arena);

/* The same for many offsets of one text, in one scan: each must be at or behind the one before. NULL on allocation
 * failure; the arena owns the locator and the pointers. */
struct bir_json_locator *bir_json_locator_new(const char *text, size_t len, struct bir_arena *arena);
const char *bir_json_locator_pointer(struct bir_json_locator *locator, size_t offset);

/* 1-based line and column (bytes) of an offset; an offset at or past the end gives the place after the last byte. */
void bir_text_line_column(const char *text, size_t len, size_t offset, uint32_t *line, uint32_t *column);

/* True when the bytes are valid UTF-8 (no overlong forms, surrogates or values above U+10FFFF). Else *bad is the offset
 * of the first byte of the first malformed sequence; bad may be NULL. */
bool bir_utf8_valid(const char *text, size_t len, size_t *bad);

#endif

/*
 * The reader holds a position and nothing about the enclosing containers: the caller knows what it is in, because it
 * asked for it. `first_item` is the one bit needed to tell "[" from "[1,": set by a begin, cleared by the next `next`.
 * When a nested container closes, the outer one has necessarily produced an item, so cleared is right there as well.
 *
 * Failure is sticky in `status`; every entry point looks at it first. All lexical work is in json_scan.
 */
#include "base/json_reader.h"

#include <inttypes.h>
#include <math.h>

#include "base/json_scan.h"

#define COLD __attribute__((cold, noinline))

#define SHOWN_CHARS 40 /* of an offending text in a message */

void bir_json_reader_init(struct bir_json_reader *r, const char *text, size_t len, uint32_t max_depth,
                          struct bir_arena *scratch, struct bir_diags *diags)
{
    *r = (struct bir_json_reader){
        .text = len > 0 ? text : "",
        .len = len,
        .max_depth = max_depth < BIR_JSON_DEPTH_BOUND ? max_depth : BIR_JSON_DEPTH_BOUND,
        .scratch = scratch,
        .diags = diags,
    };
}

const char *bir_json_type_name(enum bir_json_type type)
{
    static const char *const names[] = {
        [BIR_JSON_OBJECT] = "an object",
        [BIR_JSON_ARRAY] = "an array",
        [BIR_JSON_STRING] = "a string",
        [BIR_JSON_NUMBER] = "a number",
        [BIR_JSON_TRUE] = "true",
        [BIR_JSON_FALSE] = "false",
        [BIR_JSON_NULL] = "null",
        [BIR_JSON_END] = "the end of the text",
        [BIR_JSON_GARBAGE] = "a byte that starts no value",
    };
    return names[type];
}

/* Position and failure */

static inline const char *text_end(const struct bir_json_reader *r)
{
    return r->text + r->len;
}

static inline const char *skip_space(struct bir_json_reader *r)
{
    const char *p = bir_json_scan_space(r->text + r->pos, text_end(r));
    r->pos = (size_t)(p - r->text);
    return p;
}

static inline void advance_to(struct bir_json_reader *r, const char *p)
{
    r->pos = (size_t)(p - r->text);
}

COLD static enum bir_status fail_depth(struct bir_json_reader *r, size_t offset)
{
    r->status = BIR_LIMIT;
    if (r->diags)
        (void)bir_fail_limit(r->diags, "json-depth", (int64_t)offset, "flatten the document or raise the depth limit",
                             "objects and arrays are nested deeper than the limit of %" PRIu32, r->max_depth);
    return r->status;
}

COLD static enum bir_status fail_fault(struct bir_json_reader *r, const struct bir_json_fault *fault)
{
    size_t offset = (size_t)(fault->at - r->text);
    if (strcmp(fault->code, "json-depth") == 0)
        return fail_depth(r, offset);
    r->status = BIR_INVALID;
    if (!r->diags)
        return r->status;
    if (fault->at == text_end(r))
        return bir_fail(r->diags, fault->code, (int64_t)offset, "the text seems to be cut short",
                        "%s; the text ends here", fault->message);
    unsigned char byte = (unsigned char)*fault->at;
    if (byte > 0x20 && byte < 0x7F)
        return bir_fail(r->diags, fault->code, (int64_t)offset, NULL, "%s, at '%c'", fault->message, byte);
    return bir_fail(r->diags, fault->code, (int64_t)offset, NULL, "%s, at byte 0x%02X", fault->message, byte);
}

COLD static enum bir_status fail_syntax(struct bir_json_reader *r, const char *p, const char *message)
{
    return fail_fault(r, &(struct bir_json_fault){ .code = "json-syntax", .message = message, .at = p });
}

COLD static enum bir_status fail_memory(struct bir_json_reader *r)
{
    r->status = bir_arena_failure(r->scratch);
    if (r->status == BIR_LIMIT && r->diags)
        (void)bir_fail_limit(r->diags, "json-memory", (int64_t)r->value_start, "raise the memory limit",
                             "no room for an unescaped string within the memory limit of %zu bytes",
                             r->scratch->limit_bytes);
    return r->status;
}

/* Type of a value by its first byte, plus 1; 0 stands for garbage. */
#define STARTS(type) (unsigned char)((type) + 1)
static const unsigned char value_starts[256] = {
    ['{'] = STARTS(BIR_JSON_OBJECT), ['['] = STARTS(BIR_JSON_ARRAY),  ['"'] = STARTS(BIR_JSON_STRING),
    ['t'] = STARTS(BIR_JSON_TRUE),   ['f'] = STARTS(BIR_JSON_FALSE),  ['n'] = STARTS(BIR_JSON_NULL),
    ['-'] = STARTS(BIR_JSON_NUMBER), ['0'] = STARTS(BIR_JSON_NUMBER), ['1'] = STARTS(BIR_JSON_NUMBER),
    ['2'] = STARTS(BIR_JSON_NUMBER), ['3'] = STARTS(BIR_JSON_NUMBER), ['4'] = STARTS(BIR_JSON_NUMBER),
    ['5'] = STARTS(BIR_JSON_NUMBER), ['6'] = STARTS(BIR_JSON_NUMBER), ['7'] = STARTS(BIR_JSON_NUMBER),
    ['8'] = STARTS(BIR_JSON_NUMBER), ['9'] = STARTS(BIR_JSON_NUMBER),
};

static inline enum bir_json_type peek(struct bir_json_reader *r)
{
    if (r->status != BIR_OK)
        return BIR_JSON_GARBAGE;
    const char *p = skip_space(r);
    if (p == text_end(r))
        return BIR_JSON_END;
    unsigned char type = value_starts[(unsigned char)*p];
    return type ? (enum bir_json_type)(type - 1) : BIR_JSON_GARBAGE;
}

enum bir_json_type bir_json_peek(struct bir_json_reader *r)
{
    return peek(r);
}

size_t bir_json_value_offset(struct bir_json_reader *r)
{
    if (r->status == BIR_OK)
        (void)skip_space(r);
    return r->pos;
}

enum bir_status bir_json_mismatch(struct bir_json_reader *r, const char *expected)
{
    enum bir_json_type found = bir_json_peek(r);
    if (r->status != BIR_OK)
        return r->status;
    r->status = BIR_INVALID;
    const char *code = found == BIR_JSON_END || found == BIR_JSON_GARBAGE ? "json-syntax" : "json-type";
    if (r->diags)
        (void)bir_fail(r->diags, code, (int64_t)r->pos, NULL, "expected %s, found %s", expected,
                       bir_json_type_name(found));
    return r->status;
}

/* Start of the next value when it begins with `first`, else NULL with the mismatch reported. */
static const char *begin_value(struct bir_json_reader *r, char first, const char *expected)
{
    if (r->status != BIR_OK)
        return NULL;
    const char *p = skip_space(r);
    if (p == text_end(r) || *p != first) {
        (void)bir_json_mismatch(r, expected);
        return NULL;
    }
    r->value_start = r->pos;
    return p;
}

/* Containers */

static enum bir_status container_begin(struct bir_json_reader *r, char open, const char *expected)
{
    const char *p = begin_value(r, open, expected);
    if (!p)
        return r->status;
    if (r->depth >= r->max_depth)
        return fail_depth(r, r->pos);
    r->depth++;
    r->first_item = true;
    advance_to(r, p + 1);
    return BIR_OK;
}

/* Start of the next item (behind a comma where one is due), or NULL at the closing byte, which is consumed, or after a
 * failure. */
static const char *next_item(struct bir_json_reader *r, char close)
{
    if (r->status != BIR_OK)
        return NULL;
    const char *p = skip_space(r);
    const char *end = text_end(r);
    if (p == end) {
        (void)fail_syntax(r, p, close == '}' ? "object is not closed" : "array is not closed");
        return NULL;
    }
    if (*p == close) {
        if (r->depth > 0)
            r->depth--;
        r->first_item = false;
        advance_to(r, p + 1);
        return NULL;
    }
    if (r->first_item) {
        r->first_item = false;
        return p;
    }
    if (*p != ',') {
        (void)fail_syntax(r, p, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
        return NULL;
    }
    p = bir_json_scan_space(p + 1, end);
    advance_to(r, p);
    return p;
}

/* Compact text goes from item to item without white space: the next item directly here, or NULL when it takes next_item
 * to tell. */
static inline const char *next_item_here(struct bir_json_reader *r)
{
    const char *p = r->text + r->pos;
    if (r->status != BIR_OK || r->len - r->pos < 2 || (!r->first_item && *p != ','))
        return NULL;
    p += r->first_item ? 0 : 1;
    if ((unsigned char)*p <= ' ' || *p == '}' || *p == ']')
        return NULL;
    r->first_item = false;
    advance_to(r, p);
    return p;
}

/* Reads the string whose opening quote is at p; false after a failure. */
static inline bool take_string(struct bir_json_reader *r, const char *p, struct bir_slice *out)
{
    struct bir_json_fault fault;
    bool escaped;
    const char *close = bir_json_scan_string(p + 1, text_end(r), &escaped, &fault);
    if (!close) {
        (void)fail_fault(r, &fault);
        return false;
    }
    struct bir_slice raw = { .text = p + 1, .len = (size_t)(close - (p + 1)) };
    if (escaped) {
        char *copy = bir_arena_alloc(r->scratch, BIR_MEM_STRINGS, raw.len);
        if (!copy) {
            (void)fail_memory(r);
            return false;
        }
        raw.len = bir_json_unescape(raw.text, raw.len, copy);
        raw.text = copy;
    }
    *out = raw;
    advance_to(r, close + 1);
    return true;
}

enum bir_status bir_json_object_begin(struct bir_json_reader *r)
{
    return container_begin(r, '{', "an object");
}

bool bir_json_object_next(struct bir_json_reader *r, struct bir_slice *key)
{
    const char *p = next_item_here(r);
    if (!p)
        p = next_item(r, '}');
    if (!p)
        return false;
    if (p == text_end(r) || *p != '"') {
        (void)fail_syntax(r, p, "expected a key");
        return false;
    }
    r->value_start = r->pos;
    struct bir_slice name;
    if (!take_string(r, p, &name))
        return false;
    p = skip_space(r);
    if (p == text_end(r) || *p != ':') {
        (void)fail_syntax(r, p, "expected ':' after a key");
        return false;
    }
    advance_to(r, p + 1);
    *key = name;
    return true;
}

void bir_json_spelled_last(const struct bir_json_reader *r, struct bir_slice key, struct bir_json_spelled *spelled)
{
    size_t len = r->pos - r->value_start;
    memset(spelled, 0, sizeof *spelled);
    if (key.text != r->text + r->value_start + 1 || len != key.len + 3 || len > sizeof spelled->words)
        return;
    memcpy(spelled->words, r->text + r->value_start, len);
    memset(spelled->masks, 0xFF, len);
    spelled->len = (uint32_t)len;
}

enum bir_status bir_json_array_begin(struct bir_json_reader *r)
{
    return container_begin(r, '[', "an array");
}

bool bir_json_array_next(struct bir_json_reader *r)
{
    if (next_item_here(r))
        return true;
    const char *p = next_item(r, ']');
    if (!p)
        return false;
    if (p < text_end(r) && *p == ']') {
        (void)fail_syntax(r, p, "expected a value after ','");
        return false;
    }
    return true;
}

/* Scalars */

enum bir_status bir_json_string(struct bir_json_reader *r, struct bir_slice *out)
{
    const char *p = begin_value(r, '"', "a string");
    if (p)
        (void)take_string(r, p, out);
    return r->status;
}

/* What of a number's text a message shows. */
static int shown(const char *p, const char *stop)
{
    return stop - p > SHOWN_CHARS ? SHOWN_CHARS : (int)(stop - p);
}

static struct bir_number classify(const struct bir_json_decimal *d, const char *text, size_t len)
{
    struct bir_number number = { .kind = BIR_NUMBER_DOUBLE };
    bool fits_unsigned = d->integral && d->exact && d->exponent == 0;
    if (fits_unsigned && d->mantissa <= (uint64_t)INT64_MAX + d->negative) {
        number.kind = BIR_NUMBER_I64;
        number.i64 = (int64_t)(d->negative ? 0 - d->mantissa : d->mantissa);
        number.f64 = (double)number.i64;
        return number;
    }
    number.f64 = bir_json_decimal_to_double(d, text, len);
    if (fits_unsigned && !d->negative) {
        number.kind = BIR_NUMBER_U64;
        number.u64 = d->mantissa;
    }
    return number;
}

/* Reads a number without consuming it: *stop is its end. */
static enum bir_status look_at_number(struct bir_json_reader *r, const char *expected, struct bir_number *out,
                                      const char **stop)
{
    if (peek(r) != BIR_JSON_NUMBER)
        return bir_json_mismatch(r, expected);
    struct bir_json_decimal decimal;
    struct bir_json_fault fault;
    const char *p = r->text + r->pos;
    r->value_start = r->pos;
    int64_t integer;
    *stop = bir_json_scan_short_integer(p, text_end(r), &integer);
    if (*stop) {
        *out = (struct bir_number){ .kind = BIR_NUMBER_I64, .i64 = integer, .f64 = (double)integer };
        return BIR_OK;
    }
    *stop = bir_json_scan_number(p, text_end(r), &decimal, &fault);
    if (!*stop)
        return fail_fault(r, &fault);
    *out = classify(&decimal, p, (size_t)(*stop - p));
    if (!isinf(out->f64))
        return BIR_OK;
    r->status = BIR_INVALID;
    if (r->diags)
        (void)bir_fail(r->diags, "json-range", (int64_t)r->pos, NULL, "number %.*s is beyond the range of a double",
                       shown(p, *stop), p);
    return r->status;
}

enum bir_status bir_json_number(struct bir_json_reader *r, struct bir_number *out)
{
    struct bir_number number;
    const char *stop;
    BIR_TRY(look_at_number(r, "a number", &number, &stop));
    advance_to(r, stop);
    *out = number;
    return BIR_OK;
}

COLD static enum bir_status fail_integer(struct bir_json_reader *r, const char *what, const char *stop)
{
    const char *p = r->text + r->pos;
    r->status = BIR_INVALID;
    if (r->diags)
        (void)bir_fail(r->diags, "json-type", (int64_t)r->pos, "write it without fraction and exponent",
                       "%s must be an integer of 64 bits, found %.*s", what, shown(p, stop), p);
    return r->status;
}

enum bir_status bir_json_i64_in(struct bir_json_reader *r, const char *what, int64_t min, int64_t max, int64_t *out)
{
    struct bir_number number;
    const char *stop;
    BIR_TRY(look_at_number(r, "an integer", &number, &stop));
    if (number.kind == BIR_NUMBER_DOUBLE)
        return fail_integer(r, what, stop);
    if (number.kind == BIR_NUMBER_I64 && number.i64 >= min && number.i64 <= max) {
        advance_to(r, stop);
        *out = number.i64;
        return BIR_OK;
    }
    const char *p = r->text + r->pos;
    r->status = BIR_INVALID;
    if (r->diags)
        (void)bir_fail(r->diags, "json-range", (int64_t)r->pos, NULL,
                       "%s is %.*s, outside the range %" PRId64 " to %" PRId64, what, shown(p, stop), p, min, max);
    return r->status;
}

enum bir_status bir_json_i64(struct bir_json_reader *r, int64_t *out)
{
    return bir_json_i64_in(r, "the value", INT64_MIN, INT64_MAX, out);
}

enum bir_status bir_json_double(struct bir_json_reader *r, double *out)
{
    struct bir_number number;
    BIR_TRY(bir_json_number(r, &number));
    *out = number.f64;
    return BIR_OK;
}

enum bir_status bir_json_bool(struct bir_json_reader *r, bool *out)
{
    enum bir_json_type type = bir_json_peek(r);
    if (type != BIR_JSON_TRUE && type != BIR_JSON_FALSE)
        return bir_json_mismatch(r, "true or false");
    struct bir_json_fault fault;
    r->value_start = r->pos;
    const char *stop = bir_json_scan_literal(r->text + r->pos, text_end(r), &fault);
    if (!stop)
        return fail_fault(r, &fault);
    advance_to(r, stop);
    *out = type == BIR_JSON_TRUE;
    return BIR_OK;
}

enum bir_status bir_json_skip(struct bir_json_reader *r, struct bir_slice *raw)
{
    if (r->status != BIR_OK)
        return r->status;
    struct bir_json_fault fault;
    const char *p = skip_space(r);
    r->value_start = r->pos;
    const char *stop = bir_json_scan_value(p, text_end(r), r->max_depth - r->depth, &fault);
    if (!stop)
        return fail_fault(r, &fault);
    if (raw)
        *raw = (struct bir_slice){ .text = p, .len = (size_t)(stop - p) };
    advance_to(r, stop);
    return BIR_OK;
}

enum bir_status bir_json_end(struct bir_json_reader *r)
{
    if (r->status != BIR_OK)
        return r->status;
    const char *p = skip_space(r);
    return p == text_end(r) ? BIR_OK : fail_syntax(r, p, "expected the end of the text");
}

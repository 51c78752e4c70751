/*
 * Input: JSON text. Checked: the reader accepts what jansson accepts (by skipping and by pulling alike), a pointer is
 * found for any offset, and re-layout of an accepted text keeps it equal by jansson's comparison and is idempotent.
 * Left out are jansson's own limits and nothing else: numbers beyond a double, \u0000 in keys, depth above 2048, and of
 * the values (not of what is accepted) integers beyond int64. A text with a NUL byte is no JSON, whatever jansson says,
 * which overlooks some of them.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/json_writer.h"

#define MAX_DEPTH    2048u /* of jansson */
#define MEMORY_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static enum bir_status pull(struct bir_json_reader *r)
{
    struct bir_slice slice;
    struct bir_number number;
    bool truth;
    switch (bir_json_peek(r)) {
    case BIR_JSON_OBJECT:
        BIR_TRY(bir_json_object_begin(r));
        while (bir_json_object_next(r, &slice))
            BIR_TRY(pull(r));
        return r->status;
    case BIR_JSON_ARRAY:
        BIR_TRY(bir_json_array_begin(r));
        while (bir_json_array_next(r))
            BIR_TRY(pull(r));
        return r->status;
    case BIR_JSON_STRING: return bir_json_string(r, &slice);
    case BIR_JSON_NUMBER: return bir_json_number(r, &number);
    case BIR_JSON_TRUE:
    case BIR_JSON_FALSE: return bir_json_bool(r, &truth);
    case BIR_JSON_NULL: return bir_json_skip(r, NULL);
    default: return bir_json_mismatch(r, "a value");
    }
}

static enum bir_status read_text(const char *text, size_t len, bool by_skipping, uint32_t max_depth)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_json_reader r;
    bir_arena_init(&arena, MEMORY_BYTES);
    bir_diags_init(&diags, &arena, 4);
    bir_json_reader_init(&r, text, len, max_depth, &arena, &diags);
    enum bir_status status = by_skipping ? bir_json_skip(&r, NULL) : pull(&r);
    if (status == BIR_OK)
        status = bir_json_end(&r);
    require((diags.errors > 0) == (status != BIR_OK));
    for (const struct bir_diag *d = diags.first; d; d = d->next) {
        require(bir_utf8_valid(d->message, strlen(d->message), NULL));
        require(d->offset >= 0 && (size_t)d->offset <= len);
        const char *pointer = bir_json_pointer_at(text, len, (size_t)d->offset, &arena);
        require(pointer && bir_utf8_valid(pointer, strlen(pointer), NULL));
    }
    bir_arena_deinit(&arena);
    return status;
}

static void find_pointers(const char *text, size_t len)
{
    struct bir_arena arena;
    bir_arena_init(&arena, MEMORY_BYTES);
    size_t seed = len;
    for (size_t i = 0; i < len && i < 64; i++)
        seed = seed * 31 + (unsigned char)text[i];
    for (size_t i = 0; i < 4; i++) {
        const char *pointer = bir_json_pointer_at(text, len, (seed + i * 7919) % (len + 2), &arena);
        require(pointer && bir_utf8_valid(pointer, strlen(pointer), NULL));
        require(*pointer == '\0' || *pointer == '/');
    }
    bir_arena_deinit(&arena);
}

static void lay_out(const char *text, size_t len, uint32_t indent, bool sort, struct bir_buf *out)
{
    struct bir_json_writer w;
    bir_buf_init(out, 0);
    bir_json_writer_init(&w, out, indent);
    bir_json_put_raw(&w, text, len, sort);
    require(out->status == BIR_OK);
}

static void check_layouts(const char *text, size_t len, const json_t *value)
{
    for (unsigned form = 0; form < 4; form++) {
        uint32_t indent = form & 1 ? 2 : 0;
        struct bir_buf once, twice;
        lay_out(text, len, indent, form & 2, &once);
        lay_out(once.data, once.len, indent, form & 2, &twice);
        require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
        if (value) {
            json_t *again = json_loadb(once.data, once.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
            require(again && json_equal(value, again));
            json_decref(again);
        }
        bir_buf_deinit(&once);
        bir_buf_deinit(&twice);
    }
}

/* Does jansson accept the text? False in *known when one of its own limits keeps it from an answer. */
static bool jansson_accepts(const char *text, size_t len, bool *known)
{
    json_error_t error = { 0 };
    json_t *value = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    enum json_error_code code = json_error_code(&error);
    *known = value || (code != json_error_numeric_overflow && code != json_error_null_byte_in_key &&
                       code != json_error_stack_overflow);
    json_decref(value);
    return value;
}

static void compare(const char *text, size_t len, enum bir_status skipped, enum bir_status pulled)
{
    bool known, accepts = jansson_accepts(text, len, &known);
    require(skipped == BIR_OK || pulled == skipped || pulled == BIR_INVALID);
    if (memchr(text, 0, len)) {
        require(skipped != BIR_OK && pulled != BIR_OK);
    } else if (known) {
        require(accepts == (skipped == BIR_OK));
        require(accepts == (pulled == BIR_OK));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data;
    enum bir_status skipped = read_text(text, size, true, MAX_DEPTH);
    enum bir_status pulled = read_text(text, size, false, MAX_DEPTH);
    compare(text, size, skipped, pulled);
    if (skipped == BIR_OK && read_text(text, size, true, BIR_JSON_WRITER_MAX_DEPTH) == BIR_OK) {
        json_t *value = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        check_layouts(text, size, value);
        json_decref(value);
    }
    find_pointers(text, size);
    return 0;
}

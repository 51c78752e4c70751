/*
 * Input: JSON text. Checked: the reader accepts what jansson accepts (by skipping and by pulling alike), a pointer is
 * found for any offset, and re-layout of an accepted text keeps it equal by jansson's comparison and is idempotent.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/json_writer.h"

#define MAX_DEPTH    200
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

static enum bir_status read_text(const char *text, size_t len, bool by_skipping)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_json_reader r;
    bir_arena_init(&arena, MEMORY_BYTES);
    bir_diags_init(&diags, &arena, 4);
    bir_json_reader_init(&r, text, len, MAX_DEPTH, &arena, &diags);
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

/* Valid JSON that jansson refuses, by the codes it gives for it; and NUL bytes, some of which it overlooks. */
static bool exempt(const json_error_t *error, const char *text, size_t len)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           code == json_error_stack_overflow || memchr(text, 0, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data;
    json_error_t error = { 0 };
    json_t *value = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    enum bir_status skipped = read_text(text, size, true);
    enum bir_status pulled = read_text(text, size, false);
    require(skipped == BIR_OK || pulled == skipped || pulled == BIR_INVALID);
    if (skipped != BIR_LIMIT && !exempt(&error, text, size)) {
        require((value != NULL) == (skipped == BIR_OK));
        require((value != NULL) == (pulled == BIR_OK));
    }
    if (skipped == BIR_OK)
        check_layouts(text, size, value);
    find_pointers(text, size);
    json_decref(value);
    return 0;
}

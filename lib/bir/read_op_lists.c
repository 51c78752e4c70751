/*
 * Lists among the op keys whose elements are known: read by type, composed anew as text, so that equal lists are equal
 * texts whatever the input's spelling. Lenient reading takes a real number that is an integer for one, as the vendor's
 * library does.
 */
#include "base/json_writer.h"
#include "bir/read.h"

static enum bir_status put_float(struct read_context *ctx, struct bir_json_writer *w)
{
    struct bir_json_reader *r = &ctx->json;
    size_t offset = bir_json_value_offset(r);
    if (bir_json_peek(r) != BIR_JSON_STRING) {
        double value;
        BIR_TRY(bir_json_double(r, &value));
        bir_json_put_double(w, value);
        return BIR_OK;
    }
    const struct bir_str *text;
    BIR_TRY(read_text(ctx, &text));
    if (!bir_str_is(text, "inf") && !bir_str_is(text, "-inf") && !bir_str_is(text, "nan"))
        return read_fail(ctx, "json-type", NULL, offset, "write a number, \"inf\", \"-inf\" or \"nan\"",
                         "expected a number, found another string");
    bir_json_put_string(w, text->text, text->len);
    return BIR_OK;
}

static enum bir_status put_int(struct read_context *ctx, struct bir_json_writer *w)
{
    struct bir_json_reader *r = &ctx->json;
    if (bir_json_peek(r) == BIR_JSON_NUMBER) {
        struct bir_json_reader before = *r;
        struct bir_number number;
        BIR_TRY(bir_json_number(r, &number));
        if (number.kind == BIR_NUMBER_U64) {
            bir_json_put_u64(w, number.u64);
            return BIR_OK;
        }
        bool is_integral = number.kind == BIR_NUMBER_DOUBLE && number.f64 >= -0x1p53 && number.f64 <= 0x1p53 &&
                           (double)(int64_t)number.f64 == number.f64;
        if (is_integral && !ctx->strict) {
            bir_json_put_i64(w, (int64_t)number.f64);
            return BIR_OK;
        }
        *r = before;
    }
    int64_t value;
    BIR_TRY(bir_json_i64(r, &value));
    bir_json_put_i64(w, value);
    return BIR_OK;
}

static enum bir_status put_text(struct read_context *ctx, struct bir_json_writer *w)
{
    const struct bir_str *text;
    BIR_TRY(read_text(ctx, &text));
    bir_json_put_string(w, text->text, text->len);
    return BIR_OK;
}

typedef enum bir_status put_element(struct read_context *ctx, struct bir_json_writer *w);

static enum bir_status put_list(struct read_context *ctx, struct bir_json_writer *w, put_element *put, uint32_t *count)
{
    *count = 0;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    bir_json_put_array_begin(w);
    for (; bir_json_array_next(&ctx->json); ++*count)
        BIR_TRY(put(ctx, w));
    bir_json_put_array_end(w);
    return ctx->json.status;
}

static enum bir_status put_int_list(struct read_context *ctx, struct bir_json_writer *w)
{
    uint32_t count;
    return put_list(ctx, w, put_int, &count);
}

/* {"step": s, "num": n}, in any order of keys. */
static enum bir_status put_pair_object(struct read_context *ctx, struct bir_json_writer *w, uint32_t offset)
{
    struct bir_slice key;
    int64_t values[2] = { 0, 0 };
    bool seen[2] = { false, false };
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (bir_json_object_next(&ctx->json, &key)) {
        bool is_num = key.len == 3 && memcmp(key.text, "num", 3) == 0;
        if ((!is_num && (key.len != 4 || memcmp(key.text, "step", 4) != 0)) || seen[is_num])
            return read_fail(ctx, "bir-pattern", NULL, ctx->json.value_start, "write [step, num]",
                             "a pair has other keys than one step and one num");
        seen[is_num] = true;
        BIR_TRY(bir_json_i64(&ctx->json, &values[is_num]));
    }
    BIR_TRY(ctx->json.status);
    if (!seen[0] || !seen[1])
        return read_fail_missing(ctx, offset, "a pair", seen[0] ? "num" : "step");
    bir_json_put_array_begin(w);
    bir_json_put_i64(w, values[0]);
    bir_json_put_i64(w, values[1]);
    bir_json_put_array_end(w);
    return BIR_OK;
}

static enum bir_status put_pair(struct read_context *ctx, struct bir_json_writer *w)
{
    uint32_t count, offset = read_offset(ctx);
    if (bir_json_peek(&ctx->json) == BIR_JSON_OBJECT)
        return put_pair_object(ctx, w, offset);
    BIR_TRY(put_list(ctx, w, put_int, &count));
    if (count == 2)
        return BIR_OK;
    return read_fail(ctx, "bir-pattern", NULL, offset, "write [step, num]", "a pair has %u elements instead of 2",
                     (unsigned)count);
}

static put_element *element_of(enum bir_op_key_elements elements)
{
    switch (elements) {
    case BIR_ELEMENTS_FLOATS: return put_float;
    case BIR_ELEMENTS_INTS: return put_int;
    case BIR_ELEMENTS_INT_LISTS: return put_int_list;
    case BIR_ELEMENTS_TEXTS: return put_text;
    case BIR_ELEMENTS_PAIRS: return put_pair;
    case BIR_ELEMENTS_ANY: break; /* never asked for */
    }
    return NULL;
}

enum bir_status read_typed_list(struct read_context *ctx, enum bir_op_key_elements elements, const struct bir_str **out)
{
    struct bir_json_writer w;
    uint32_t count;
    ctx->text.len = 0;
    bir_json_writer_init(&w, &ctx->text, 0);
    BIR_TRY(put_list(ctx, &w, element_of(elements), &count));
    BIR_TRY(ctx->text.status);
    *out = bir_intern(&ctx->module->strings, ctx->text.data, ctx->text.len);
    return *out ? BIR_OK : read_fail_memory(ctx);
}

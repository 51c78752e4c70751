/* Each limit of a request at its value and one below what the document needs: accepted, then refused by name. */
#include "bir_vectors.h"
#include "compile.h"

struct outcome {
    enum bir_status status;
    char code[64];
    size_t output_len;
    uint32_t count, dropped, errors;
};

static struct outcome run(enum bir_method method, const char *text, size_t len, const struct bir_compile_limits *limits)
{
    struct bir_compile_request request = { .method = method, .input = text, .input_len = len };
    struct bir_compile_result result;
    bir_compile_options_init(&request.options);
    struct outcome o = { .status = bir_compile(&request, limits, NULL, &result) };
    snprintf(o.code, sizeof o.code, "%s", result.diags.first ? result.diags.first->code : "");
    o.output_len = result.output.len;
    o.count = result.diags.count;
    o.dropped = result.diags.dropped;
    o.errors = result.diags.errors;
    bir_compile_result_deinit(&result);
    return o;
}

static char *small(size_t *len, struct bir_compile_limits *limits)
{
    bir_compile_limits_init(limits);
    return unit_read_file(ROOST_VECTORS "/bir/good/small.json", len);
}

START_TEST(input_bytes)
{
    size_t len;
    struct bir_compile_limits limits;
    char *text = small(&len, &limits);
    limits.input_bytes = len;
    ck_assert_int_eq(run(BIR_METHOD_CONVERT, text, len, &limits).status, BIR_OK);
    limits.input_bytes = len - 1;
    struct outcome o = run(BIR_METHOD_CONVERT, text, len, &limits);
    ck_assert_int_eq(o.status, BIR_LIMIT);
    ck_assert_str_eq(o.code, "input-too-large");
    free(text);
}
END_TEST

START_TEST(output_bytes)
{
    size_t len;
    struct bir_compile_limits limits;
    char *text = small(&len, &limits);
    size_t needed = run(BIR_METHOD_CONVERT, text, len, &limits).output_len;
    ck_assert_uint_gt(needed, 0);
    limits.output_bytes = needed;
    ck_assert_int_eq(run(BIR_METHOD_CONVERT, text, len, &limits).status, BIR_OK);
    limits.output_bytes = needed - 1;
    struct outcome o = run(BIR_METHOD_CONVERT, text, len, &limits);
    ck_assert_int_eq(o.status, BIR_LIMIT);
    ck_assert_str_eq(o.code, "limit-output");
    ck_assert_uint_eq(o.output_len, 0);
    free(text);
}
END_TEST

static uint32_t depth_of(const char *text)
{
    uint32_t depth = 0, deepest = 0; /* the file's strings hold no brackets */
    for (; *text; text++) {
        depth += *text == '{' || *text == '[';
        deepest = depth > deepest ? depth : deepest;
        depth -= *text == '}' || *text == ']';
    }
    return deepest;
}

/* The least limit with which the document is read, found by halving; below it the limit is named, whichever of module
 * and scratch memory meets it. */
START_TEST(arena_bytes)
{
    size_t len;
    struct bir_compile_limits limits;
    char *text = small(&len, &limits);
    size_t low = 1, high = (size_t)1 << 24;
    while (low < high) {
        limits.arena_bytes = low + (high - low) / 2;
        struct outcome o = run(BIR_METHOD_CHECK, text, len, &limits);
        if (o.status == BIR_OK) {
            high = limits.arena_bytes;
            continue;
        }
        ck_assert_int_eq(o.status, BIR_LIMIT);
        ck_assert_msg(!o.code[0] || strcmp(o.code, "bir-memory-limit") == 0, "%s", o.code);
        low = limits.arena_bytes + 1;
    }
    ck_assert_uint_gt(low, 4096);
    limits.arena_bytes = low;
    ck_assert_int_eq(run(BIR_METHOD_CONVERT, text, len, &limits).status, BIR_OK);
    limits.arena_bytes = low - 1;
    struct outcome o = run(BIR_METHOD_CONVERT, text, len, &limits);
    ck_assert_int_eq(o.status, BIR_LIMIT);
    ck_assert_str_eq(o.code, "bir-memory-limit");
    free(text);
}
END_TEST

/* Names without an instruction: the module is small, the reader's tables are not. */
START_TEST(scratch_counts)
{
    struct bir_buf buf;
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    bir_buf_init(&buf, 0);
    bir_buf_puts(&buf, "{\"version\":2,\"arch\":\"gen3\",\"functions\":[{\"name\":\"f\",\"allocations\":[],\"blocks\":["
                       "{\"name\":\"b\","
                       "\"arguments\":[{\"name\":\"v\",\"incoming_values\":[");
    for (int i = 0; i < 20000; i++)
        bir_buf_printf(&buf, "%s{\"value\":\"v\",\"block\":\"b\"}", i ? "," : "");
    bir_buf_puts(&buf, "]}]}]}]}");
    ck_assert_int_eq(run(BIR_METHOD_CONVERT, buf.data, buf.len, &limits).status, BIR_OK);
    limits.arena_bytes = (size_t)800 << 10; /* the text, kept once, is smaller; forty thousand names to check are not */
    ck_assert_uint_lt(buf.len, limits.arena_bytes);
    struct outcome o = run(BIR_METHOD_CONVERT, buf.data, buf.len, &limits);
    ck_assert_int_eq(o.status, BIR_LIMIT);
    ck_assert_str_eq(o.code, "bir-memory-limit");
    bir_buf_deinit(&buf);
}
END_TEST

START_TEST(json_depth)
{
    size_t len;
    struct bir_compile_limits limits;
    char *text = small(&len, &limits);
    limits.json_depth = depth_of(text);
    ck_assert_int_eq(run(BIR_METHOD_CONVERT, text, len, &limits).status, BIR_OK);
    limits.json_depth--;
    struct outcome o = run(BIR_METHOD_CONVERT, text, len, &limits);
    ck_assert_int_ne(o.status, BIR_OK);
    ck_assert_str_eq(o.code, "json-depth");
    free(text);
}
END_TEST

START_TEST(instructions)
{
    size_t len;
    struct bir_compile_limits limits;
    char *text = small(&len, &limits); /* has two */
    limits.instructions = 2;
    ck_assert_int_eq(run(BIR_METHOD_CONVERT, text, len, &limits).status, BIR_OK);
    limits.instructions = 1;
    struct outcome o = run(BIR_METHOD_CONVERT, text, len, &limits);
    ck_assert_int_eq(o.status, BIR_LIMIT);
    ck_assert_str_eq(o.code, "bir-instruction-limit");
    free(text);
}
END_TEST

/* Accesses in accesses: a file that has any needs a level at least. */
START_TEST(klr_depth)
{
    size_t len;
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    char *bytes = unit_read_file(ROOST_VECTORS "/klr/flash_attention_2k.klr", &len);
    struct outcome o = { .status = BIR_LIMIT };
    for (limits.klr_depth = 0; o.status != BIR_OK; limits.klr_depth++) {
        o = run(BIR_METHOD_CONVERT, bytes, len, &limits);
        if (o.status == BIR_OK)
            break;
        ck_assert_int_eq(o.status, BIR_LIMIT);
        ck_assert_str_eq(o.code, "klr-nesting");
        ck_assert_uint_lt(limits.klr_depth, 4);
    }
    ck_assert_uint_gt(limits.klr_depth, 0);
    free(bytes);
}
END_TEST

/* A document with at least n findings: loops of stride 0. */
static void many_findings(struct bir_buf *buf, int n)
{
    bir_buf_init(buf, 0);
    bir_buf_puts(buf, "{\"version\":2,\"arch\":\"gen3\",\"functions\":[{\"name\":\"f\",\"allocations\":[],\"blocks\":[{"
                      "\"name\":\"b\",\"instructions\":[");
    for (int i = 0; i < n; i++)
        bir_buf_printf(buf,
                       "%s{\"name\":\"l%d\",\"opcode\":\"Loop\",\"LoopAxis\":{\"name\":\"i%d\",\"ub\":4},\"blocks\":[{"
                       "\"name\":\"c\",\"instructions\":[{\"name\":\"n%d\",\"opcode\":\"NoOp\"}]}]}",
                       i ? "," : "", i, i, i);
    bir_buf_puts(buf, "]}]}]}");
}

START_TEST(diagnostics)
{
    struct bir_compile_limits limits;
    struct bir_buf buf;
    bir_compile_limits_init(&limits);
    many_findings(&buf, 8);
    uint32_t all = run(BIR_METHOD_CHECK, buf.data, buf.len, &limits).count;
    ck_assert_uint_ge(all, 8);
    limits.diagnostics = all;
    ck_assert_uint_eq(run(BIR_METHOD_CHECK, buf.data, buf.len, &limits).dropped, 0);
    limits.diagnostics = all - 1;
    struct outcome o = run(BIR_METHOD_CHECK, buf.data, buf.len, &limits);
    ck_assert_uint_eq(o.dropped, 1);
    ck_assert_uint_eq(o.count, all); /* counted, not kept */
    bir_buf_deinit(&buf);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { input_bytes, output_bytes, arena_bytes,  scratch_counts,
                                   json_depth,  klr_depth,    instructions, diagnostics };
    return UNIT_RUN("bir_limits", tests);
}

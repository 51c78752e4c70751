/*
 * The canonical writer: documents of tests/vectors/bir/good come out as they went in, those of bir/change as their
 * .out.json says; compact and indented forms mean the same; memory grows with the number of instructions.
 */
#include "bir_vectors.h"

#include "base/json_writer.h"

static void check_good(const char *name, const char *text, size_t len)
{
    struct bir_read read;
    struct bir_module *module = bir_read_expect(&read, text, len, name);
    size_t written_len;
    char *written = bir_written(module, 2, &written_len);
    bir_expect_text(name, text, len, written, written_len);
    free(written);
    bir_read_done(&read);
}

START_TEST(good_vectors)
{
    ck_assert_int_ge(bir_each_vector("bir/good", ".json", check_good), 15);
}
END_TEST

/* The compact form has the bytes of the indented one without white space between tokens, and reads back alike. */
static void check_compact(const char *name, const char *text, size_t len)
{
    struct bir_read read, again;
    struct bir_module *module = bir_read_expect(&read, text, len, name);
    size_t compact_len, indented_len;
    char *compact = bir_written(module, 0, &compact_len);
    struct bir_buf buf;
    struct bir_json_writer w;
    bir_buf_init(&buf, 0);
    bir_json_writer_init(&w, &buf, 0);
    bir_json_put_raw(&w, text, len, false);
    bir_expect_text(name, buf.data, buf.len, compact, compact_len);
    bir_buf_deinit(&buf);
    char *indented = bir_written(bir_read_expect(&again, compact, compact_len, name), 2, &indented_len);
    bir_expect_text(name, text, len, indented, indented_len);
    free(indented);
    free(compact);
    bir_read_done(&again);
    bir_read_done(&read);
}

START_TEST(compact_form)
{
    ck_assert_int_ge(bir_each_vector("bir/good", ".json", check_compact), 15);
}
END_TEST

static void check_change(const char *name, const char *text, size_t len)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/bir/change/%.*s.out.json", ROOST_VECTORS, (int)(strlen(name) - strlen(".in.json")),
             name);
    size_t expected_len, written_len;
    char *expected = unit_read_file(path, &expected_len);
    struct bir_read read;
    char *written = bir_written(bir_read_expect(&read, text, len, name), 2, &written_len);
    bir_expect_text(name, expected, expected_len, written, written_len);
    free(written);
    free(expected);
    bir_read_done(&read);
}

START_TEST(changing_vectors)
{
    ck_assert_int_ge(bir_each_vector("bir/change", ".in.json", check_change), 10);
}
END_TEST

/* The text without the white space between its tokens. */
static size_t squeeze(char *text, size_t len)
{
    size_t kept = 0;
    bool inside = false;
    for (size_t i = 0; i < len; i++) {
        if (!inside && (text[i] == ' ' || text[i] == '\n'))
            continue;
        if (text[i] == '"')
            inside = !inside;
        text[kept++] = text[i];
        if (inside && text[i] == '\\')
            text[kept++] = text[++i];
    }
    return kept;
}

/* Faithful: nothing but white space changes, and a second time not even that. */
static void check_faithful(const char *name, const char *text, size_t len)
{
    struct bir_read read;
    bir_read_expect(&read, text, len, name);
    bir_read_done(&read);
    struct bir_buf once, twice;
    struct bir_write_options options = { .indent = 2 };
    bir_buf_init(&once, 0);
    bir_buf_init(&twice, 0);
    ck_assert_int_eq(bir_json_write_faithful(text, len, &options, &once), BIR_OK);
    ck_assert_int_eq(bir_json_write_faithful(once.data, once.len, &options, &twice), BIR_OK);
    bir_expect_text(name, once.data, once.len, twice.data, twice.len);
    char *squeezed = malloc(len);
    memcpy(squeezed, text, len);
    bir_buf_deinit(&twice);
    ck_assert_int_eq(bir_json_write_faithful(once.data, once.len, NULL, &twice), BIR_OK);
    bir_expect_text(name, squeezed, squeeze(squeezed, len), twice.data, twice.len);
    free(squeezed);
    bir_buf_deinit(&once);
    bir_buf_deinit(&twice);
}

START_TEST(faithful_form)
{
    ck_assert_int_ge(bir_each_vector("bir/good", ".json", check_faithful), 15);
    ck_assert_int_ge(bir_each_vector("bir/change", ".in.json", check_faithful), 10);
}
END_TEST

START_TEST(buffer_limit_and_cancel)
{
    size_t len;
    char *text = unit_read_file(ROOST_VECTORS "/bir/good/small.json", &len);
    struct bir_read read;
    struct bir_module *module = bir_read_expect(&read, text, len, "small.json");
    struct bir_buf buf;
    bir_buf_init(&buf, 100);
    ck_assert_int_eq(bir_module_write_json(module, NULL, &buf), BIR_LIMIT);
    bir_buf_deinit(&buf);
    struct bir_cancel cancel = { .set = true };
    struct bir_write_options options = { .cancel = &cancel };
    bir_buf_init(&buf, 0);
    ck_assert_int_eq(bir_module_write_json(module, &options, &buf), BIR_CANCELLED);
    bir_buf_deinit(&buf);
    bir_read_done(&read);
    free(text);
}
END_TEST

/* A document of n copies like those of a real dump: distinct names, one dependency on the instruction before. */
static void generate(struct bir_buf *buf, int n)
{
    bir_buf_init(buf, 0);
    bir_buf_puts(
        buf,
        "{\"arch\":\"gen3\",\"functions\":[{\"allocations\":[{\"Skind\":\"memory_location_set\",\"dtype\":\"bfloat16\","
        "\"kind\":\"Internal\",\"memorylocations\":[{\"Skind\":\"memory_location\",\"addr\":0,\"dims\":[128,4096],"
        "\"name\":\"tensor0\",\"type\":\"SB\"}],\"name\":\"tensor0_set\"}],\"attributes\":[],\"blocks\":[{"
        "\"instructions\":[");
    static const char operand[] =
        "{\"ap\":[[2048,128],[1,512]],\"dtype\":\"bfloat16\",\"kind\":\"physical_ap\",\"memref\":"
        "\"tensor0\",\"memsetref\":\"tensor0_set\",\"offset\":0}";
    for (int i = 0; i < n; i++) {
        bir_buf_puts(buf, i ? ",{" : "{");
        if (i > 0)
            bir_buf_printf(buf, "\"dependencies\":[[\"I-%d\",\"Flow\"]],", i - 1);
        bir_buf_printf(
            buf,
            "\"engine\":\"DVE\",\"engine_id\":0,\"ins\":[%s],\"name\":\"I-%d\",\"opcode\":\"TensorCopy\","
            "\"optin_passes\":[],\"origin\":\"Internal\",\"outs\":[%s],\"scheduled_end\":0,\"scheduled_start\":0}",
            operand, i, operand);
    }
    bir_buf_puts(buf, "],\"name\":\"Block1\"}],\"name\":\"sg0000\"}],\"revision\":\"v1\",\"version\":2}");
    ck_assert_int_eq(buf->status, BIR_OK);
}

static size_t bytes_held(int n, size_t *text_len)
{
    struct bir_buf buf;
    generate(&buf, n);
    struct bir_read read;
    struct bir_module *module = bir_read_expect(&read, buf.data, buf.len, "generated");
    ck_assert_uint_eq(module->n_instructions, (uint64_t)n);
    size_t written_len;
    char *written = bir_written(module, 0, &written_len);
    bir_expect_text("generated", buf.data, buf.len, written, written_len);
    free(written);
    *text_len = buf.len;
    size_t used = bir_arena_used(&module->arena);
    bir_read_done(&read);
    bir_buf_deinit(&buf);
    return used;
}

/* Tables grow by half: they are between half and three quarters full. */
START_TEST(memory_is_linear)
{
    size_t text_len;
    double small = (double)bytes_held(1 << 10, &text_len) / (1 << 10);
    double medium = (double)bytes_held(1 << 14, &text_len) / (1 << 14);
    double large = (double)bytes_held(1 << 17, &text_len) / (1 << 17);
    ck_assert_double_le(large, medium * 1.05);
    ck_assert_double_le(medium, small * 1.05);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        good_vectors, compact_form, changing_vectors, faithful_form, buffer_limit_and_cancel, memory_is_linear
    };
    return UNIT_RUN("bir_write", tests);
}

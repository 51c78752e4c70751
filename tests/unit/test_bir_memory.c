/*
 * Bytes that a module holds, against its canonical text: at most half of it, and the same for each instruction however
 * many there are. The modules are those of the measurements; counted is what the arena has reserved, so what is unused
 * in its chunks and what growing left behind counts too.
 */
#define _GNU_SOURCE /* open_memstream */
#include "bir/json.h"
#include "modules.h"
#include "unit.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#define HAS_RED_ZONES true /* they count as memory: nothing to measure */
#else
#define HAS_RED_ZONES false
#endif

struct held {
    double bytes, text_bytes; /* of an instruction */
};

static struct held held(const char *kind, long count)
{
    char *text;
    size_t len;
    FILE *stream = open_memstream(&text, &len);
    ck_assert(stream && bench_module(stream, kind, count) && fclose(stream) == 0);
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module = NULL;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    ck_assert_int_eq(bir_module_read_json(text, len, NULL, &diags, &module), BIR_OK);
    ck_assert_uint_ge(module->n_instructions, (uint64_t)count);
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    ck_assert_int_eq(bir_module_write_json(module, NULL, &buf), BIR_OK);
    ck_assert_uint_ge(buf.len + 1, len); /* the module was canonical, a line */
    double n = (double)module->n_instructions;
    struct held result = { (double)module->arena.reserved_bytes / n, (double)buf.len / n };
    bir_buf_deinit(&buf);
    bir_module_free(module);
    bir_arena_deinit(&arena);
    free(text);
    return result;
}

static void expect_half(const char *kind, long count)
{
    struct held h = held(kind, count);
    ck_assert_msg(h.bytes <= h.text_bytes / 2, "%s, %ld instructions: %.1f bytes held, %.1f bytes of text each", kind,
                  count, h.bytes, h.text_bytes);
}

START_TEST(half_of_the_text)
{
    expect_half("static", 5000);
    expect_half("static", 20000);
    expect_half("loops", 5000);
    expect_half("loops", 20000);
}
END_TEST

START_TEST(the_same_for_each)
{
    double least = held("static", 20000).bytes, most = least;
    for (long count = 30000; count < 120000; count = count * 3 / 2) {
        double bytes = held("static", count).bytes;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    ck_assert_double_le(most, least * 1.05); /* tables are between half and three quarters full */
}
END_TEST

START_TEST(a_million)
{
    if (getenv("ROOST_TEST_ALL"))
        expect_half("static", 1000000);
    else
        expect_half("static", 100000);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { half_of_the_text, the_same_for_each, a_million };
    /* a million instructions are 600 MB of text to make, read and write */
    return unit_run_within(240, "bir_memory", tests, HAS_RED_ZONES ? 0 : sizeof tests / sizeof *tests);
}

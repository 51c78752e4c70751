#include "base/buf.h"

#include <string.h>

#include "alloc_fail.h"
#include "unit.h"

static void put_one_of_each(struct bir_buf *buf)
{
    bir_buf_put(buf, "ab", 2);
    bir_buf_putc(buf, '|');
    bir_buf_puts(buf, "text|");
    bir_buf_put_i64(buf, INT64_MIN);
    bir_buf_putc(buf, '|');
    bir_buf_put_i64(buf, 0);
    bir_buf_put_i64(buf, 907);
    bir_buf_putc(buf, '|');
    bir_buf_put_u64(buf, UINT64_MAX);
    bir_buf_printf(buf, "|%s-%d|", "x", 5);
    bir_buf_put_hex(buf, "\x00\x9f\xff", 3);
}

static const char one_of_each[] = "ab|text|-9223372036854775808|0907|18446744073709551615|x-5|009fff";

START_TEST(puts_append_in_order)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    put_one_of_each(&buf);
    ck_assert_int_eq(buf.status, BIR_OK);
    size_t len = 0;
    char *text = bir_buf_steal(&buf, &len);
    ck_assert_str_eq(text, one_of_each);
    ck_assert_uint_eq(len, strlen(one_of_each));
    free(text);
    ck_assert_ptr_null(buf.data);
    bir_buf_puts(&buf, "again");
    ck_assert_uint_eq(buf.len, 5);
    bir_buf_deinit(&buf);
}
END_TEST

START_TEST(empty_buffer_is_stolen_as_empty_text)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    size_t len = 9;
    char *text = bir_buf_steal(&buf, &len);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(len, 0);
    free(text);
}
END_TEST

START_TEST(limit_is_exact_and_sticky)
{
    size_t full = strlen(one_of_each);
    for (size_t limit = 1; limit <= full + 1; limit++) {
        struct bir_buf buf;
        bir_buf_init(&buf, limit);
        put_one_of_each(&buf);
        ck_assert_int_eq(buf.status, limit < full ? BIR_LIMIT : BIR_OK);
        ck_assert_uint_le(buf.len, limit);
        ck_assert_int_eq(memcmp(buf.data ? buf.data : "", one_of_each, buf.len), 0);
        size_t len = 0;
        char *text = bir_buf_steal(&buf, &len);
        ck_assert_int_eq(text != NULL, limit >= full);
        free(text);
        bir_buf_deinit(&buf);
    }
}
END_TEST

START_TEST(absurd_sizes_are_limits)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    bir_buf_putc(&buf, 'x');
    ck_assert(!bir_buf_reserve(&buf, SIZE_MAX));
    ck_assert_int_eq(buf.status, BIR_LIMIT);
    bir_buf_putc(&buf, 'y');
    ck_assert_uint_eq(buf.len, 1);
    bir_buf_deinit(&buf);
    bir_buf_put_hex(&buf, "", SIZE_MAX);
    ck_assert_int_eq(buf.status, BIR_LIMIT);
    bir_buf_deinit(&buf);
}
END_TEST

START_TEST(long_printf_is_complete)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    for (int width = 1; width < 3000; width = width * 2 + 1)
        bir_buf_printf(&buf, "%*d", width, 1);
    size_t expected = 0;
    for (int width = 1; width < 3000; width = width * 2 + 1) {
        expected += (size_t)width;
        ck_assert_int_eq(buf.data[expected - 1], '1');
    }
    ck_assert_uint_eq(buf.len, expected);
    bir_buf_deinit(&buf);
}
END_TEST

START_TEST(every_failed_allocation_is_survived)
{
    bool fired = true;
    for (long n = 1; fired; n++) {
        ck_assert_int_lt(n, 1000);
        struct bir_buf buf;
        bir_buf_init(&buf, 0);
        long live = alloc_live();
        alloc_fail_at(n);
        for (int i = 0; i < 200; i++)
            put_one_of_each(&buf);
        bir_buf_printf(&buf, "%5000d", 1);
        size_t len = 0;
        char *text = bir_buf_steal(&buf, &len);
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        enum bir_status status = buf.status;
        bool whole = text && len == 200 * strlen(one_of_each) + 5000;
        free(text);
        bir_buf_deinit(&buf);
        long left = alloc_live();
        ck_assert_int_eq(left, live);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        ck_assert_int_eq(whole, !fired);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        puts_append_in_order,      empty_buffer_is_stolen_as_empty_text,
        limit_is_exact_and_sticky, absurd_sizes_are_limits,
        long_printf_is_complete,   every_failed_allocation_is_survived,
    };
    return UNIT_RUN("buf", tests);
}

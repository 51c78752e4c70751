#include "base/diag.h"

#include <string.h>

#include "base/cancel.h"
#include "unit.h"

START_TEST(diagnostics_keep_their_order_and_fields)
{
    struct bir_arena arena;
    struct bir_diags diags;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    bir_diag_add(&diags, BIR_WARNING, "bir-odd", 7, "value %d", 3)->vendor = "BIR227";
    ck_assert_int_eq(bir_fail(&diags, "json-syntax", 12, "look there", "broken %s", "thing"), BIR_INVALID);
    ck_assert_int_eq(bir_fail_limit(&diags, "json-depth", BIR_NO_OFFSET, NULL, "deep"), BIR_LIMIT);
    ck_assert_uint_eq(diags.count, 3);
    ck_assert_uint_eq(diags.errors, 2);
    const struct bir_diag *d = diags.first;
    ck_assert_int_eq(d->severity, BIR_WARNING);
    ck_assert_str_eq(d->code, "bir-odd");
    ck_assert_str_eq(d->vendor, "BIR227");
    ck_assert_str_eq(d->message, "value 3");
    ck_assert_ptr_null(d->hint);
    ck_assert_ptr_null(d->pointer);
    d = d->next;
    ck_assert_str_eq(d->message, "broken thing");
    ck_assert_str_eq(d->hint, "look there");
    ck_assert_int_eq(d->offset, 12);
    d = d->next;
    ck_assert_int_eq(d->offset, BIR_NO_OFFSET);
    ck_assert_ptr_null(d->next);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(an_error_can_name_a_member)
{
    struct bir_arena arena;
    struct bir_diags diags;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 1);
    ck_assert_int_eq(bir_fail_member(&diags, "x", 3, "/addrs/0", "hint", "%d", 7), BIR_INVALID);
    ck_assert_int_eq(bir_fail_member(&diags, "x", 4, "/ap", NULL, "dropped"), BIR_INVALID);
    ck_assert_uint_eq(diags.errors, 2);
    ck_assert_str_eq(diags.first->suffix, "/addrs/0");
    ck_assert_str_eq(diags.first->hint, "hint");
    ck_assert_str_eq(diags.first->message, "7");
    ck_assert_int_eq(diags.first->offset, 3);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(messages_are_utf8)
{
    struct bir_arena arena;
    struct bir_diags diags;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 2);
    bir_diag_add(&diags, BIR_ERROR, "x", 0, "name \"%.3s\"", "a\xE2\x82\xAC"); /* cut inside the euro sign */
    bir_diag_add(&diags, BIR_ERROR, "x", 0, "%s", "a\xE2\x82\xAC");
    ck_assert_str_eq(diags.first->message, "name \"a??\"");
    ck_assert_str_eq(diags.first->next->message, "a\xE2\x82\xAC");
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(diagnostics_beyond_the_limit_are_counted)
{
    struct bir_arena arena;
    struct bir_diags diags;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 2);
    for (int i = 0; i < 5; i++) {
        struct bir_diag *d = bir_diag_add(&diags, BIR_ERROR, "x", i, "number %d", i);
        ck_assert_ptr_nonnull(d);
        d->hint = "written by the caller in any case";
    }
    ck_assert_uint_eq(diags.count, 5);
    ck_assert_uint_eq(diags.errors, 5);
    ck_assert_uint_eq(diags.dropped, 3);
    ck_assert(!diags.failed);
    ck_assert_int_eq(diags.first->next->offset, 1);
    ck_assert_ptr_null(diags.first->next->next);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(errors_count_when_memory_is_out)
{
    struct bir_arena arena;
    struct bir_diags diags;
    bir_arena_init(&arena, 64);
    bir_diags_init(&diags, &arena, 10);
    ck_assert_int_eq(bir_fail(&diags, "x", 1, "hint", "%s", "does not fit"), BIR_INVALID);
    ck_assert_uint_eq(diags.errors, 1);
    ck_assert(diags.failed);
    ck_assert_ptr_null(diags.first);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(severities_have_names)
{
    ck_assert_str_eq(bir_severity_name(BIR_ERROR), "error");
    ck_assert_str_eq(bir_severity_name(BIR_WARNING), "warning");
    ck_assert_str_eq(bir_severity_name(BIR_NOTE), "note");
}
END_TEST

START_TEST(cancel_token_is_seen)
{
    struct bir_cancel token = { 0 };
    ck_assert(!bir_cancelled(NULL));
    ck_assert(!bir_cancelled(&token));
    bir_cancel_set(&token);
    ck_assert(bir_cancelled(&token));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        diagnostics_keep_their_order_and_fields,
        an_error_can_name_a_member,
        messages_are_utf8,
        diagnostics_beyond_the_limit_are_counted,
        errors_count_when_memory_is_out,
        severities_have_names,
        cancel_token_is_seen,
    };
    return UNIT_RUN("diag", tests);
}

/* Pipelines: parsing, order, observation, cancellation, and the induction registers' names. */
#include "pass_text.h"

struct fixture {
    struct bir_arena arena, scratch;
    struct bir_diags diags;
    struct bir_pass_stats stats;
    struct bir_pass_context context;
    struct bir_cancel cancel;
    struct bir_module *module;
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    bir_arena_init(&f->arena, 0);
    bir_arena_init(&f->scratch, 0);
    bir_diags_init(&f->diags, &f->arena, 10);
    f->context = (struct bir_pass_context){ .cancel = &f->cancel, .stats = &f->stats, .scratch = &f->scratch };
    f->module = bir_module_new(0);
    ck_assert_ptr_nonnull(f->module);
}

static void fixture_deinit(struct fixture *f)
{
    bir_module_free(f->module);
    bir_arena_deinit(&f->arena);
    bir_arena_deinit(&f->scratch);
}

static enum bir_status parse(struct fixture *f, const char *spec, struct bir_pipeline *pipeline)
{
    return bir_pipeline_parse(spec, &f->diags, pipeline);
}

START_TEST(default_pipeline_is_the_table_without_the_optional)
{
    struct fixture f;
    struct bir_pipeline p;
    fixture_init(&f);
    ck_assert_int_eq(parse(&f, NULL, &p), BIR_OK);
    uint32_t at = 0;
    for (size_t i = 0; i < bir_pass_count; i++) {
        if (bir_passes[i].in_default_pipeline)
            ck_assert_str_eq(p.passes[at++]->name, bir_passes[i].name);
    }
    ck_assert_uint_eq(p.count, at);
    ck_assert_str_eq(p.passes[0]->name, "klr_codegen");
    ck_assert_str_eq(p.passes[p.count - 1]->name, "color_registers");
    fixture_deinit(&f);
}
END_TEST

START_TEST(names_and_summaries_are_unique_and_present)
{
    for (size_t i = 0; i < bir_pass_count; i++) {
        ck_assert_ptr_eq(bir_pass_find(bir_passes[i].name, strlen(bir_passes[i].name)), &bir_passes[i]);
        ck_assert_uint_gt(strlen(bir_passes[i].summary), 10);
    }
    ck_assert_ptr_null(bir_pass_find("lower", 5));
    ck_assert_ptr_null(bir_pass_find("lower_apx", 9));
}
END_TEST

START_TEST(lists_are_parsed_in_their_order)
{
    struct fixture f;
    struct bir_pipeline p;
    fixture_init(&f);
    ck_assert_int_eq(parse(&f, "lower_ap,insert_address_tables,lower_ap", &p), BIR_OK);
    ck_assert_uint_eq(p.count, 3);
    ck_assert_str_eq(p.passes[0]->name, "lower_ap");
    ck_assert_str_eq(p.passes[1]->name, "insert_address_tables");
    ck_assert_int_eq(parse(&f, "", &p), BIR_OK);
    ck_assert_uint_eq(p.count, 0);
    ck_assert_int_eq(parse(&f, "klr_codegen,lower_ap,encode", &p), BIR_OK);
    ck_assert_uint_eq(p.count, 3);
    fixture_deinit(&f);
}
END_TEST

static const struct {
    const char *spec, *code;
    enum bir_status status;
} bad_lists[] = {
    { "lower_app", "pass-unknown", BIR_INVALID },     { "lower_ap,,color_registers", "pass-unknown", BIR_INVALID },
    { ",lower_ap", "pass-unknown", BIR_INVALID },     { "lower_ap,", "pass-unknown", BIR_INVALID },
    { " lower_ap", "pass-unknown", BIR_INVALID },     { "lower_ap,klr_codegen", "pass-order", BIR_INVALID },
    { "encode,lower_ap", "pass-order", BIR_INVALID }, { "encode,encode", "pass-order", BIR_INVALID },
};

START_TEST(bad_lists_are_refused)
{
    struct fixture f;
    struct bir_pipeline p = { .count = 99 };
    fixture_init(&f);
    ck_assert_int_eq(parse(&f, bad_lists[_i].spec, &p), bad_lists[_i].status);
    ck_assert_str_eq(f.diags.first->code, bad_lists[_i].code);
    ck_assert_uint_eq(p.count, 99);
    fixture_deinit(&f);
}
END_TEST

START_TEST(unknown_passes_are_answered_with_names)
{
    struct fixture f;
    struct bir_pipeline p;
    fixture_init(&f);
    ck_assert_int_eq(parse(&f, "split_engines,lower_app", &p), BIR_INVALID);
    ck_assert_str_eq(f.diags.first->message, "no pass is called \"lower_app\"");
    ck_assert_int_eq(strncmp(f.diags.first->hint, "did you mean lower_ap? passes: klr_codegen ", 43), 0);
    for (size_t i = 0; i < bir_pass_count; i++)
        ck_assert_ptr_nonnull(strstr(f.diags.first->hint, bir_passes[i].name));
    fixture_deinit(&f);
    fixture_init(&f);
    ck_assert_int_eq(parse(&f, "quicksort", &p), BIR_INVALID);
    ck_assert_int_eq(strncmp(f.diags.first->hint, "passes: klr_codegen ", 20), 0);
    fixture_deinit(&f);
}
END_TEST

START_TEST(too_many_passes_are_refused)
{
    struct fixture f;
    struct bir_pipeline p;
    char spec[16 * (BIR_PIPELINE_MAX + 1)] = "lower_ap";
    fixture_init(&f);
    for (int i = 1; i < BIR_PIPELINE_MAX; i++)
        strcat(spec, ",lower_ap");
    ck_assert_int_eq(parse(&f, spec, &p), BIR_OK);
    ck_assert_uint_eq(p.count, BIR_PIPELINE_MAX);
    strcat(spec, ",lower_ap");
    ck_assert_int_eq(parse(&f, spec, &p), BIR_LIMIT);
    ck_assert_str_eq(f.diags.first->code, "pass-too-many");
    fixture_deinit(&f);
}
END_TEST

struct observation {
    const char *names[8];
    unsigned count;
    enum bir_status answer;
};

static enum bir_status observe(void *user, const struct bir_pass *pass, struct bir_module *module)
{
    struct observation *o = user;
    ck_assert_ptr_nonnull(module);
    o->names[o->count++] = pass->name;
    return o->answer;
}

START_TEST(observer_sees_each_pass_that_ran)
{
    struct fixture f;
    struct bir_pipeline p;
    struct observation o = { .answer = BIR_OK };
    fixture_init(&f);
    ck_assert_int_eq(parse(&f, "klr_codegen,lower_ap,color_registers,encode", &p), BIR_OK);
    ck_assert_int_eq(bir_pipeline_run(f.module, &p, &f.context, observe, &o, &f.diags), BIR_OK);
    ck_assert_uint_eq(o.count, 2);
    ck_assert_str_eq(o.names[0], "lower_ap");
    ck_assert_str_eq(o.names[1], "color_registers");
    o = (struct observation){ .answer = BIR_INTERNAL };
    ck_assert_int_eq(bir_pipeline_run(f.module, &p, &f.context, observe, &o, &f.diags), BIR_INTERNAL);
    ck_assert_uint_eq(o.count, 1);
    fixture_deinit(&f);
}
END_TEST

START_TEST(cancelled_before_the_first_pass)
{
    struct fixture f;
    struct bir_pipeline p;
    struct observation o = { .answer = BIR_OK };
    fixture_init(&f);
    bir_cancel_set(&f.cancel);
    ck_assert_int_eq(parse(&f, "lower_ap", &p), BIR_OK);
    ck_assert_int_eq(bir_pipeline_run(f.module, &p, &f.context, observe, &o, &f.diags), BIR_CANCELLED);
    ck_assert_uint_eq(o.count, 0);
    fixture_deinit(&f);
}
END_TEST

/* Every pass polls: with a set token and one instruction, each that has a function stops. */
START_TEST(every_pass_polls)
{
    struct fixture f;
    fixture_init(&f);
    struct bir_strtab *strings = &f.module->strings;
    struct bir_function *function = bir_function_new(f.module, bir_intern_cstr(strings, "f"), false);
    struct bir_block *block = bir_block_new(f.module, &function->body, bir_intern_cstr(strings, "main"));
    bir_block_append(block, bir_instruction_new(f.module, BIR_OP_NOOP, BIR_ENGINE_DVE, bir_intern_cstr(strings, "n")));
    bir_cancel_set(&f.cancel);
    if (bir_passes[_i].run)
        ck_assert_int_eq(bir_passes[_i].run(f.module, &f.context, &f.diags), BIR_CANCELLED);
    fixture_deinit(&f);
}
END_TEST

START_TEST(counters_have_names)
{
    struct bir_pass_stats stats = { .lowered_operands = 7 };
    uint64_t value, seen = 0;
    size_t n = 0;
    for (const char *name; (name = bir_pass_stats_counter(&stats, n, &value)); n++) {
        ck_assert_uint_gt(strlen(name), 0);
        seen += value;
    }
    ck_assert_uint_eq(n, sizeof stats / sizeof(uint64_t));
    ck_assert_uint_eq(seen, 7);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pass_manager");
    tcase_add_test(tc, default_pipeline_is_the_table_without_the_optional);
    tcase_add_test(tc, names_and_summaries_are_unique_and_present);
    tcase_add_test(tc, lists_are_parsed_in_their_order);
    tcase_add_loop_test(tc, bad_lists_are_refused, 0, (int)(sizeof bad_lists / sizeof bad_lists[0]));
    tcase_add_test(tc, unknown_passes_are_answered_with_names);
    tcase_add_test(tc, too_many_passes_are_refused);
    tcase_add_test(tc, observer_sees_each_pass_that_ran);
    tcase_add_test(tc, cancelled_before_the_first_pass);
    tcase_add_loop_test(tc, every_pass_polls, 0, (int)bir_pass_count);
    tcase_add_test(tc, counters_have_names);
    Suite *suite = suite_create("pass_manager");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

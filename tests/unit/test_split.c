/* split_engines: vectors under tests/vectors/split (see pass_text.h), and rewiring of registers in runtime offsets
 * (lowering.md 10). */
#include "pass_text.h"

#include "alloc_fail.h"
#include "passes/rewire.h"

START_TEST(vectors)
{
    ck_assert_uint_ge(pass_text_check_area("split"), 8);
}
END_TEST

static const struct {
    const char *name, *token;
} tokens[] = {
    { "r0", "r0" },     { "  r0 ", "r0" }, { "*r0", "r0" },      { " * r0", "r0" },
    { "", "" },         { "  ", "" },      { "T<int>r0", "r0" }, { "RefPtr<bir::Register> *r0 ", "r0" },
    { "a<b>c<d>", "" }, { "r 0", "r 0" },
};

START_TEST(names_are_normalised)
{
    struct bir_register_token token = bir_register_token(tokens[_i].name, strlen(tokens[_i].name));
    ck_assert_uint_eq(token.len, strlen(tokens[_i].token));
    ck_assert_int_eq(memcmp(token.text, tokens[_i].token, token.len), 0);
}
END_TEST

struct rewired {
    struct pass_text_run run;
    struct bir_argument *arg;
    struct bir_map names;
    char *text;
};

/* The vector's last instruction reads its first operand through register r_off. */
static void rewired_init(struct rewired *r)
{
    char path[1024];
    size_t len;
    memset(r, 0, sizeof *r);
    snprintf(path, sizeof path, "%s/expand/scalar_register.json", ROOST_VECTORS);
    r->text = pass_text_read_file(path, &len);
    pass_text_run_init(&r->run, r->text, len, "");
    ck_assert_int_eq(r->run.status, BIR_OK);
    r->arg = bir_instruction_argument(r->run.module->functions->body.first->last, BIR_ROLE_IN, 0);
}

static void rewired_deinit(struct rewired *r)
{
    pass_text_run_deinit(&r->run);
    free(r->text);
}

static void map_name(struct rewired *r, const char *from, const char *to)
{
    struct bir_strtab *strings = &r->run.module->strings;
    ck_assert(bir_map_put(&r->names, &r->run.scratch, bir_intern_cstr(strings, from),
                          (void *)(uintptr_t)bir_intern_cstr(strings, to)));
}

static enum bir_status rewire(struct rewired *r)
{
    return bir_rewire_dynamic_registers(r->run.module, r->arg, r->run.module->functions, &r->names, &r->run.diags);
}

static const char *register_name(const struct rewired *r)
{
    return bir_argument_dynamic(r->arg)->terms[0].expr->u.reg->base.name->text;
}

START_TEST(rewiring_follows_the_map)
{
    struct rewired r;
    rewired_init(&r);
    struct bir_function *f = r.run.module->functions;
    ck_assert_ptr_nonnull(
        bir_function_add_register(f, bir_intern_cstr(&r.run.module->strings, "other"), BIR_ENGINE_SP, 1));
    map_name(&r, "r_off", "r_off");
    const struct pelican_expr *before = bir_argument_dynamic(r.arg)->terms[0].expr;
    ck_assert_int_eq(rewire(&r), BIR_OK);
    ck_assert_ptr_eq(bir_argument_dynamic(r.arg)->terms[0].expr, before);
    map_name(&r, "r_off", "nowhere"); /* not found in the function: unchanged */
    ck_assert_int_eq(rewire(&r), BIR_OK);
    ck_assert_str_eq(register_name(&r), "r_off");
    map_name(&r, "r_off", "other");
    ck_assert_int_eq(rewire(&r), BIR_OK);
    ck_assert_str_eq(register_name(&r), "other");
    ck_assert_int_eq(rewire(&r), BIR_INVALID); /* the map has no "other" */
    ck_assert_str_eq(r.run.diags.first->code, "split-unknown-register");
    ck_assert_str_eq(r.run.diags.first->vendor, "EAE032");
    rewired_deinit(&r);
}
END_TEST

START_TEST(allocation_failures)
{
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/split/two_engines.json", ROOST_VECTORS);
    char *text = pass_text_read_file(path, &len);
    for (long n = 1;; n++) {
        struct pass_text_run run;
        long live = alloc_live();
        alloc_fail_at(n);
        pass_text_run_init(&run, text, len, "split_engines");
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        enum bir_status status = run.status;
        pass_text_run_deinit(&run);
        live -= alloc_live();
        ck_assert_int_eq(live, 0);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        if (!fired)
            break;
    }
    free(text);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("split");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, vectors);
    tcase_add_loop_test(tc, names_are_normalised, 0, (int)(sizeof tokens / sizeof tokens[0]));
    tcase_add_test(tc, rewiring_follows_the_map);
    tcase_add_test(tc, allocation_failures);
    Suite *suite = suite_create("split");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

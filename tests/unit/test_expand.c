/* expand_inst_late: vectors under tests/vectors/expand (see pass_text.h), order against lower_ap, allocation failures.
 */
#include "pass_text.h"

#include "alloc_fail.h"

START_TEST(vectors)
{
    ck_assert_uint_ge(pass_text_check_area("expand"), 20);
}
END_TEST

/* A module without symbolic operands: lower_ap before or after changes nothing. */
START_TEST(order_does_not_matter)
{
    static const char *const names[] = { "scalar_register", "scalar_index", "dense_ids", "common_subexpression" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pass_text_check_vector("expand", names[i],
                               "assign_loop_registers,insert_address_tables,lower_ap,expand_inst_late");
        pass_text_check_vector("expand", names[i],
                               "assign_loop_registers,insert_address_tables,expand_inst_late,lower_ap");
        pass_text_check_vector("expand", names[i], "expand_inst_late,expand_inst_late");
    }
}
END_TEST

START_TEST(surviving_gather_has_dense_id)
{
    char path[1024];
    size_t len;
    struct pass_text_run run;
    snprintf(path, sizeof path, "%s/expand/dense_ids.json", ROOST_VECTORS);
    char *text = pass_text_read_file(path, &len);
    pass_text_run_init(&run, text, len, "expand_inst_late");
    ck_assert_int_eq(run.status, BIR_OK);
    const struct bir_instruction *inst = run.module->functions->body.first->last;
    const struct bir_argument *gather = bir_instruction_argument(inst, BIR_ROLE_IN, 1);
    ck_assert_int_eq(bir_argument_dynamic(gather)->terms[0].expr->u.arg_id, 1);
    ck_assert_uint_eq(run.stats.expanded_operands, 1);
    pass_text_run_deinit(&run);
    free(text);
}
END_TEST

START_TEST(allocation_failures)
{
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/expand/dense_ids.json", ROOST_VECTORS);
    char *text = pass_text_read_file(path, &len);
    for (long n = 1;; n++) {
        struct pass_text_run run;
        long live = alloc_live();
        alloc_fail_at(n);
        pass_text_run_init(&run, text, len, "expand_inst_late");
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
    TCase *tc = tcase_create("expand");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, vectors);
    tcase_add_test(tc, order_does_not_matter);
    tcase_add_test(tc, surviving_gather_has_dense_id);
    tcase_add_test(tc, allocation_failures);
    Suite *suite = suite_create("expand");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * lower_branch: vectors under tests/vectors/branch (see pass_text.h); and every lowered sample, with loops or with
 * branches, before and after colouring, executed over its whole domain by the checker.
 */
#include "pass_text.h"

#include "alloc_fail.h"
#include "check/validation.h"

START_TEST(vectors)
{
    ck_assert_uint_ge(pass_text_check_area("branch"), 10);
}
END_TEST

static const char *const samples[] = {
    "lower/loop_sb",
    "lower/loop_psum_matmult",
    "lower/loop_sb_matmult",
    "lower/loop_three_operands",
    "lower/two_loops",
    "lower/simplified",
    "lower/dead_loop",
    "lower/loop_sb_stationary",
    "expand/gather",
    "expand/scalar_register",
    "expand/scalar_index",
    "expand/scalar_register_64",
    "expand/dense_ids",
    "expand/sum_and_constants",
    "expand/wide_static_offset",
    "expand/common_subexpression",
    "branched/dynamic_for_two",
    "branched/dynamic_for_down",
    "branched/do_while_two",
    "branched/do_while_crossed",
    "branched/tail_tile",
    "branched/predicated_loops",
    "branched/register_predicate",
    "branched/predicated_register_code",
    "branched/break",
};

static const char *const tails[] = {
    "lower_ap,expand_inst_late",
    "expand_inst_late,lower_ap",
    "lower_ap,expand_inst_late,color_registers",
    "lower_ap,expand_inst_late,lower_branch",
    "lower_ap,expand_inst_late,color_registers,lower_branch",
    "lower_ap,expand_inst_late,lower_branch,color_registers",
};

static void run_passes(struct pass_text_run *run, const char *passes)
{
    struct bir_pipeline pipeline;
    struct bir_pass_context context = { .stats = &run->stats, .scratch = &run->scratch };
    ck_assert_int_eq(bir_pipeline_parse(passes, &run->diags, &pipeline), BIR_OK);
    run->status = bir_pipeline_run(run->module, &pipeline, &context, NULL, NULL, &run->diags);
}

static void validate(const char *sample, const char *tail)
{
    char path[1024];
    size_t len;
    struct pass_text_run run;
    struct bir_validation *validation;
    struct bir_validation_stats stats = { 0 };
    struct bir_validation_options options = { .mode = BIR_VALIDATION_FULL, .seed = 1 };
    snprintf(path, sizeof path, "%s/%s.json", ROOST_VECTORS, sample);
    char *text = pass_text_read_file(path, &len);
    pass_text_run_init(&run, text, len, "split_engines,assign_loop_registers,insert_address_tables");
    ck_assert_int_eq(run.status, BIR_OK);
    ck_assert_int_eq(bir_validation_record(run.module, &run.arena, &validation), BIR_OK);
    uint64_t recorded = bir_validation_operand_count(validation);
    run_passes(&run, tail);
    if (run.status == BIR_OK)
        run.status = bir_validation_run(validation, run.module, &options, &run.diags, &stats);
    bool dead = strcmp(sample, "lower/dead_loop") == 0; /* a point outside the set is the input's fault */
    if (run.status != BIR_OK && !(dead && run.status == BIR_INVALID))
        ck_abort_msg("%s with %s: %s", sample, tail, run.diags.first ? run.diags.first->message : "?");
    ck_assert_uint_eq(stats.not_lowered, 0);
    if (!dead)
        ck_assert_uint_eq(stats.operands, recorded);
    pass_text_run_deinit(&run);
    free(text);
}

START_TEST(every_point_of_the_samples)
{
    for (size_t t = 0; t < sizeof tails / sizeof tails[0]; t++)
        validate(samples[_i], tails[t]);
}
END_TEST

/* No structured loop is left, and the result reads back. */
START_TEST(branches_read_back)
{
    char path[1024];
    size_t len;
    struct pass_text_run run, again;
    struct bir_write_options options = { .indent = 0 };
    struct bir_buf out;
    snprintf(path, sizeof path, "%s/lower/two_loops.json", ROOST_VECTORS);
    char *text = pass_text_read_file(path, &len);
    pass_text_run_init(&run, text, len,
                       "assign_loop_registers,insert_address_tables,lower_ap,lower_branch,color_registers");
    ck_assert_int_eq(run.status, BIR_OK);
    ck_assert_uint_eq(run.stats.lowered_loops, 2);
    bir_buf_init(&out, 0);
    ck_assert_int_eq(bir_module_write_json(run.module, &options, &out), BIR_OK);
    pass_text_run_init(&again, out.data, out.len, "");
    if (again.status != BIR_OK)
        ck_abort_msg("%s", again.diags.first ? again.diags.first->message : "?");
    bir_buf_deinit(&out);
    pass_text_run_deinit(&run);
    pass_text_run_deinit(&again);
    free(text);
}
END_TEST

/* Everything from reading to the check of the branches, with each allocation failing in turn. */
static enum bir_status lower_and_check(const char *text, size_t len)
{
    struct pass_text_run run;
    struct bir_validation *validation;
    struct bir_validation_stats stats = { 0 };
    struct bir_validation_options options = { .mode = BIR_VALIDATION_SAMPLE, .seed = 1 };
    struct bir_pipeline pipeline;
    pass_text_run_init(&run, text, len, "split_engines,assign_loop_registers,insert_address_tables");
    struct bir_pass_context context = { .stats = &run.stats, .scratch = &run.scratch };
    if (run.status == BIR_OK)
        run.status = bir_validation_record(run.module, &run.arena, &validation);
    if (run.status == BIR_OK)
        run.status =
            bir_pipeline_parse("lower_ap,expand_inst_late,lower_branch,color_registers", &run.diags, &pipeline);
    if (run.status == BIR_OK)
        run.status = bir_pipeline_run(run.module, &pipeline, &context, NULL, NULL, &run.diags);
    if (run.status == BIR_OK)
        run.status = bir_validation_run(validation, run.module, &options, &run.diags, &stats);
    enum bir_status status = run.status;
    pass_text_run_deinit(&run);
    return status;
}

static const char *const failing[] = { "branched/do_while_two", "branched/register_predicate", "branched/break" };

START_TEST(allocation_failures)
{
    char path[1024];
    size_t len;
    bool fired = true;
    unsigned failures = 0, survived = 0;
    snprintf(path, sizeof path, "%s/%s.json", ROOST_VECTORS, failing[_i]);
    char *text = pass_text_read_file(path, &len);
    for (long n = 1; fired; n += 1 + n / 40) {
        long live = alloc_live();
        alloc_fail_at(n);
        enum bir_status status = lower_and_check(text, len);
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        failures += fired;
        ck_assert_int_eq(alloc_live(), live);
        ck_assert(status == BIR_OK || (fired && status == BIR_NOMEM));
        survived += fired && status == BIR_OK; /* names that cannot be learnt again are searched for in the code */
    }
    ck_assert_uint_ge(failures, 10);
    ck_assert_uint_le(survived, failures / 8);
    free(text);
}
END_TEST

/* A long row of loops, and of predicated instructions: taking them apart one by one must not move the rest each time.
 * Were it quadratic, the time of a test case would not suffice. */
#define MANY 40000

static void put_instruction(struct bir_buf *text, unsigned i, const char *more)
{
    bir_buf_printf(text, "%s{\"name\":\"n%u\",\"opcode\":\"NoOp\",\"engine\":\"SP\",\"ins\":[],\"outs\":[]%s}",
                   i ? "," : "", i, more);
}

static void put_loop(struct bir_buf *text, unsigned i)
{
    bir_buf_printf(text,
                   "%s{\"name\":\"l%u\",\"opcode\":\"Loop\",\"engine\":\"Unassigned\",\"ins\":[],\"outs\":[],"
                   "\"LoopAxis\":{\"name\":\"i%u\",\"lb\":0,\"ub\":4,\"stride\":1},\"blocks\":[{\"name\":\"b%u\","
                   "\"instructions\":[",
                   i ? "," : "", i, i, i);
}

static void put_row(struct bir_buf *text, bool loops)
{
    static const char predicate[] =
        ",\"predicates\":[{\"expr\":{\"kind\":\"AffExprKind\",\"c\":-2,\"terms\":[{\"coeff\":1,"
        "\"idx\":{\"kind\":\"AffIVKind\",\"axis\":\"i0\"}}]},\"ge\":true}]";
    if (!loops)
        put_loop(text, 0);
    for (unsigned i = 0; i < MANY; i++) {
        if (loops)
            put_loop(text, i);
        put_instruction(text, loops ? 0 : i, loops ? "" : predicate);
        bir_buf_puts(text, loops ? "]}]}" : "");
    }
    bir_buf_puts(text, loops ? "" : "]}]}");
}

START_TEST(long_rows)
{
    struct bir_buf text;
    struct pass_text_run run;
    unsigned noops = 0, branches = 0;
    bir_buf_init(&text, 0);
    bir_buf_puts(&text, "{\"arch\":\"gen3\",\"attributes\":{},\"functions\":[{\"name\":\"f\",\"attributes\":[],"
                        "\"allocations\":[],\"blocks\":[{\"name\":\"main\",\"instructions\":[");
    put_row(&text, _i == 0);
    bir_buf_puts(&text, "]}]}],\"queues\":[],\"revision\":\"v1\",\"version\":2}");
    ck_assert_int_eq(text.status, BIR_OK);
    pass_text_run_init(&run, text.data, text.len, "assign_loop_registers,lower_branch");
    ck_assert_msg(run.status == BIR_OK, "%s", run.diags.first ? run.diags.first->message : "?");
    BIR_EACH_BLOCK (block, &run.module->functions->body) {
        ck_assert_ptr_nonnull(block->first);
        BIR_EACH_INSTRUCTION (inst, block) {
            ck_assert_ptr_eq(inst->block, block);
            noops += inst->opcode == BIR_OP_NOOP && inst->name->text[0] == 'n';
            if (_i == 1 && inst->opcode == BIR_OP_NOOP && inst->name->text[0] == 'n' && !strchr(inst->name->text, '-'))
                ck_assert_uint_eq((unsigned)atoi(inst->name->text + 1), branches - 1); /* in the order they were in */
            branches += inst->opcode == BIR_OP_COMPARE_AND_BRANCH;
        }
    }
    ck_assert_uint_ge(noops, MANY);
    ck_assert_uint_ge(branches, MANY);
    pass_text_run_deinit(&run);
    bir_buf_deinit(&text);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("lower_branch");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, vectors);
    tcase_add_loop_test(tc, every_point_of_the_samples, 0, (int)(sizeof samples / sizeof samples[0]));
    tcase_add_test(tc, branches_read_back);
    tcase_add_loop_test(tc, allocation_failures, 0, (int)(sizeof failing / sizeof failing[0]));
    tcase_add_loop_test(tc, long_rows, 0, 2);
    Suite *suite = suite_create("lower_branch");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

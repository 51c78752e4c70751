/* Hazard analysis: the vectors, one planted fault a rule, the text form, hints, explanations, limits, failing
 * allocations. */
#include "alloc_fail.h"
#include "hazard_cases.h"

static struct hazard_case cases[HAZARD_CASES_MAX];

START_TEST(vectors_have_the_expected_report)
{
    size_t n = hazard_cases_load(cases), wrong = 0;
    ck_assert_uint_ge(n, 120);
    for (size_t i = 0; i < n; i++) {
        json_t *actual = hazard_report_json(cases[i].module, 0);
        if (!hazard_same_report(cases[i].expected, actual)) {
            char *text = json_dumps(actual, JSON_SORT_KEYS);
            fprintf(stderr, "hazards/%s: %s\n", cases[i].name, text);
            free(text);
            wrong++;
        }
        json_decref(actual);
    }
    hazard_cases_free(cases, n);
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* Without any one rule some vector comes out wrong. */
START_TEST(every_rule_is_needed)
{
    size_t n = hazard_cases_load(cases);
    for (unsigned rule = 0; rule < HAZARD_RULE_COUNT; rule++) {
        size_t caught = 0;
        for (size_t i = 0; i < n && caught == 0; i++) {
            json_t *actual = hazard_report_json(cases[i].module, UINT64_C(1) << rule);
            caught += !hazard_same_report(cases[i].expected, actual);
            json_decref(actual);
        }
        ck_assert_msg(caught > 0, "no vector needs rule %u", rule);
    }
    hazard_cases_free(cases, n);
}
END_TEST

/* --- text forms --- */

struct outcome {
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_hazard_report *report;
    struct bir_module *module;
    struct bir_buf text;
};

static void analyse_vector(struct outcome *o, const char *name, const struct bir_hazard_options *options)
{
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/hazards/%s.json", ROOST_VECTORS, name);
    char *text = unit_read_file(path, &len);
    o->module = hazard_read_module(text, len);
    free(text);
    bir_arena_init(&o->arena, 0);
    bir_diags_init(&o->diags, &o->arena, 1000);
    ck_assert_int_eq(bir_hazards_analyse(o->module, options, &o->arena, &o->diags, &o->report), BIR_OK);
    bir_buf_init(&o->text, 0);
    bir_hazards_write_text(o->report, &o->text);
    bir_buf_putc(&o->text, '\0');
    ck_assert_int_eq(o->text.status, BIR_OK);
}

static void outcome_free(struct outcome *o)
{
    bir_buf_deinit(&o->text);
    bir_arena_deinit(&o->arena);
    bir_module_free(o->module);
}

static void expect_text(const struct outcome *o, const char *part)
{
    ck_assert_msg(strstr(o->text.data, part) != NULL, "\"%s\" is not in:\n%s", part, o->text.data);
}

START_TEST(text_names_both_sides_and_the_bytes)
{
    struct outcome o;
    const struct bir_hazard_options options = { .fix_hints = true };
    analyse_vector(&o, "fp_last_column", &options);
    expect_text(&o, "a (set a_set)\n  RAW\n    writes: w  TensorCopy on DVE  (sg0000, Block1[0])\n    reads: r  "
                    "TensorCopy on Pool  (sg0000, "
                    "Block1[1])\n    in common: SB partitions 0..127 bytes 1024..1027\n");
    expect_text(&o, "missing: w updates no semaphore that r on Pool could see");
    expect_text(&o, "fix: let w update semaphore 0 by 1, and wait for 0 >= 1 in r\n");
    expect_text(&o, "findings: 1 pairs, 0 wrong waits, 0 reasons for doubt; 2 executions, 2 accesses\n");
    outcome_free(&o);
    analyse_vector(&o, "fp_psum_long", &options);
    expect_text(&o, "PSUM partitions 0..127 bytes 2048..4095  (the later access calls it b)");
    outcome_free(&o);
}
END_TEST

START_TEST(hints_name_the_smallest_wait)
{
    struct outcome o;
    const struct bir_hazard_options options = { .fix_hints = true };
    /* T = 33, nothing follows u2 on its queue: 33 */
    analyse_vector(&o, "several_updaters_prefix", &options);
    ck_assert_uint_eq(o.report->n_pairs, 1);
    ck_assert(o.report->pairs[0].fix.found && o.report->pairs[0].fix.on_update);
    ck_assert_int_eq(o.report->pairs[0].fix.semaphore, 5);
    ck_assert_int_eq(o.report->pairs[0].fix.value, 33);
    expect_text(&o, "no wait on semaphore 5 reaches 33 (update of u2) before r starts on PE");
    outcome_free(&o);
    /* the block updates 30 by 16; the trigger's 31 proves the issue only */
    analyse_vector(&o, "trigger_wait_orders_issue", &options);
    ck_assert_int_eq(o.report->pairs[0].fix.semaphore, 30);
    ck_assert_int_eq(o.report->pairs[0].fix.value, 16);
    outcome_free(&o);
    /* the wait for an earlier block of the queue is no help, a later one is */
    analyse_vector(&o, "copies_of_a_queue_overlap", &options);
    ck_assert_int_eq(o.report->pairs[0].fix.semaphore, 30);
    ck_assert_int_eq(o.report->pairs[0].fix.value, 16);
    outcome_free(&o);
    /* a DMABlock cannot wait, its trigger can */
    analyse_vector(&o, "trigger_too_early", &options);
    expect_text(&o, "wait for semaphore 7 >= 1 (update of old) in t");
    outcome_free(&o);
    /* the reader of one iteration against the load of the next: 7 is never reset, so no value serves every iteration */
    analyse_vector(&o, "loop_carried", &options);
    for (uint32_t i = 0; i < o.report->n_pairs; i++) {
        const struct bir_hazard_pair *pair = &o.report->pairs[i];
        bool is_load = strcmp(pair->earlier.inst->name->text, "ld") == 0;
        ck_assert(pair->carried && pair->fix.found);
        ck_assert(pair->fix.on_update == is_load);
        ck_assert_int_eq(pair->fix.semaphore, is_load ? 9 : 0);
    }
    outcome_free(&o);
    analyse_vector(&o, "in_place_gather", &options);
    expect_text(&o, "no wait helps: write to another place");
    outcome_free(&o);
}
END_TEST

START_TEST(wrong_waits_say_what_the_count_shows)
{
    struct outcome o;
    const struct bir_hazard_options options = { 0 };
    analyse_vector(&o, "wait_early", &options);
    expect_text(&o, "wrong wait (early): semaphore 9 >= 8, from ld");
    expect_text(&o, "semaphore 9 can show 8 before ld has finished; 16 would prove it");
    outcome_free(&o);
    analyse_vector(&o, "wait_never", &options);
    expect_text(&o, "semaphore 9 gets to 16 at most since its last reset, never to 17: the engine hangs");
    outcome_free(&o);
    analyse_vector(&o, "wait_no_update", &options);
    expect_text(&o, "w does not update semaphore 5");
    outcome_free(&o);
    analyse_vector(&o, "wait_unknown_name", &options);
    expect_text(&o, "nothing by the name of ghost runs where this wait could mean it");
    outcome_free(&o);
}
END_TEST

START_TEST(explanation_is_the_chain_of_waits)
{
    struct outcome o;
    struct bir_hazard_options options = { .explain_earlier = "w", .explain_later = "r" };
    analyse_vector(&o, "transitive", &options);
    expect_text(&o, "w has finished before r starts:\n"
                    "  w completes before m starts: wait for semaphore 1 >= 1\n"
                    "  m before m2: program order on PE\n"
                    "  m2 completes before st starts: wait for semaphore 2 >= 1\n"
                    "  st before its own completion: issued by it\n"
                    "  st completes before r starts: wait for semaphore 3 >= 16\n");
    outcome_free(&o);
    options = (struct bir_hazard_options){ .explain_earlier = "b1", .explain_later = "use" };
    analyse_vector(&o, "queue_covers_earlier", &options);
    expect_text(&o,
                "  b1 completes before b2: queue qT\n  b2 completes before use starts: wait for semaphore 33 >= 16\n");
    outcome_free(&o);
    analyse_vector(&o, "other_queue_covers_nothing", &options);
    expect_text(&o, "b1 need not have finished when use starts\n  no wait on semaphore 30 reaches 16 (update of b1) "
                    "before use starts on DVE\n");
    outcome_free(&o);
    options = (struct bir_hazard_options){ .explain_earlier = "p", .explain_later = "g" };
    analyse_vector(&o, "two_functions", &options);
    expect_text(&o, "no function has instructions of both names");
    outcome_free(&o);
    options = (struct bir_hazard_options){ .explain_earlier = "p", .explain_later = "s" };
    analyse_vector(&o, "cycle", &options);
    expect_text(&o, "nothing is known of the order in their function");
    outcome_free(&o);
}
END_TEST

START_TEST(explanation_of_a_name_that_nothing_has_fails)
{
    static const struct {
        const char *earlier, *later;
        unsigned errors;
        const char *hint; /* of the first */
    } rows[] = {
        { "b1", "usee", 1, "did you mean use?" },
        { "d1", "use", 1, "did you mean b1?" },
        { "nothing at all", "use", 1, "name two instructions or DMABlocks of the module" },
        { "", "ghost", 2, "did you mean" },
    };
    const struct bir_hazard_options none = { 0 };
    struct outcome o;
    analyse_vector(&o, "other_queue_covers_nothing", &none);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct bir_hazard_options options = { .explain_earlier = rows[i].earlier,
                                                    .explain_later = rows[i].later };
        struct bir_hazard_report *report = NULL;
        bir_diags_init(&o.diags, &o.arena, 1000);
        ck_assert_int_eq(bir_hazards_analyse(o.module, &options, &o.arena, &o.diags, &report), BIR_INVALID);
        ck_assert_uint_eq(o.diags.errors, rows[i].errors);
        ck_assert_str_eq(o.diags.first->code, "hazard-explain-name");
        ck_assert_msg(strncmp(o.diags.first->hint, rows[i].hint, strlen(rows[i].hint)) == 0, "%s", o.diags.first->hint);
    }
    outcome_free(&o);
}
END_TEST

START_TEST(doubt_is_a_diagnostic_at_the_operand)
{
    struct outcome o;
    const struct bir_hazard_options options = { 0 };
    analyse_vector(&o, "rt_dynamic_sb", &options);
    ck_assert_uint_eq(o.diags.count, 1);
    ck_assert_str_eq(o.diags.first->code, "hazard-undecided");
    ck_assert_int_eq(o.diags.first->severity, BIR_WARNING);
    ck_assert_int_gt(o.diags.first->offset, 0);
    outcome_free(&o);
}
END_TEST

START_TEST(modules_from_before_lower_sync_are_told)
{
    struct outcome o;
    const struct bir_hazard_options options = { 0 };
    analyse_vector(&o, "fp_last_column", &options);
    ck_assert_uint_eq(o.diags.count, 1);
    ck_assert_str_eq(o.diags.first->code, "hazard-no-semaphores");
    ck_assert_int_eq(o.diags.first->severity, BIR_WARNING);
    outcome_free(&o);
    static const char *const quiet[] = { "dma_without_wait", "both_only_read", "wait_never" };
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        analyse_vector(&o, quiet[i], &options);
        ck_assert_uint_eq(o.diags.count, 0);
        outcome_free(&o);
    }
}
END_TEST

START_TEST(lists_are_cut_with_a_reason)
{
    struct outcome o;
    const struct bir_hazard_options options = { .max_entries = 2 };
    analyse_vector(&o, "kinds", &options);
    ck_assert_uint_eq(o.report->n_pairs, 2);
    ck_assert_uint_eq(o.report->n_undecided, 1);
    ck_assert_int_eq(o.report->verdict, BIR_HAZARD_FINDINGS);
    expect_text(&o, "more than 2 pairs: the list is cut");
    outcome_free(&o);
}
END_TEST

/* Copies of the instructions of a vector, which[i] of them at position i modulo n, without order among them; what reads
 * does not write. */
static char *crowd(const char *vector, const size_t *which, size_t n, size_t count, size_t names)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/hazards/%s.json", ROOST_VECTORS, vector);
    json_t *root = json_load_file(path, 0, NULL);
    json_t *block = json_array_get(json_object_get(json_array_get(json_object_get(root, "functions"), 0), "blocks"), 0);
    json_t *list = json_object_get(block, "instructions"), *all = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *inst = json_deep_copy(json_array_get(list, which[i % n]));
        char name[32];
        snprintf(name, sizeof name, "i%zu", i % names);
        json_object_set_new(inst, "name", json_string(name));
        json_object_set_new(inst, "engine", json_string("Unassigned"));
        if (json_array_size(json_object_get(inst, "ins")) > 0)
            json_object_set_new(inst, "outs", json_array());
        json_object_del(inst, "sync_info");
        json_object_del(inst, "dependencies");
        json_array_append_new(all, inst);
    }
    json_object_set_new(block, "instructions", all);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

static void analyse_text(struct outcome *o, char *text, uint32_t max_entries)
{
    const struct bir_hazard_options options = { .max_entries = max_entries };
    o->module = hazard_read_module(text, strlen(text));
    free(text);
    bir_arena_init(&o->arena, 0);
    bir_diags_init(&o->diags, &o->arena, 1000);
    ck_assert_int_eq(bir_hazards_analyse(o->module, &options, &o->arena, &o->diags, &o->report), BIR_OK);
    bir_buf_init(&o->text, 0);
    bir_hazards_write_text(o->report, &o->text);
    bir_buf_putc(&o->text, '\0');
}

/* Forty thousand executions make eight hundred million pairs: only what ends early ends within the time of a test. */
START_TEST(a_crowd_without_order_is_not_met_pair_by_pair)
{
    const size_t writes[] = { 0 };
    struct outcome o;
    analyse_text(&o, crowd("fp_last_column", writes, 1, 40000, 40000), 50); /* every name once: the list is full */
    ck_assert_uint_eq(o.report->n_pairs, 50);
    ck_assert_int_eq(o.report->verdict, BIR_HAZARD_FINDINGS);
    expect_text(&o, "more than 50 pairs: the list is cut");
    expect_text(&o, "more than 1000 pairs of executions meet: the rest is not looked at");
    outcome_free(&o);
    analyse_text(&o, crowd("fp_last_column", writes, 1, 40000, 2), 50); /* two names: it never is */
    ck_assert_uint_lt(o.report->n_pairs, 50);
    ck_assert_int_eq(o.report->verdict, BIR_HAZARD_FINDINGS);
    expect_text(&o, "more than 1000 pairs of executions meet: the rest is not looked at");
    outcome_free(&o);
    analyse_text(&o, crowd("fp_last_column", writes, 1, 40, 40), 0); /* few enough: all of them */
    ck_assert_uint_eq(o.report->n_undecided, 0);
    ck_assert_uint_eq(o.report->n_pairs, 40 * 39 / 2);
    outcome_free(&o);
}
END_TEST

/* A crowd that reads at addresses known at run time only must not hide that its first and its last write race. */
START_TEST(doubts_do_not_use_up_the_findings)
{
    size_t which[100] = { [0] = 1, [99] = 1 };
    struct outcome o;
    analyse_text(&o, crowd("rt_findings_stand", which, 100, 100, 100), 2);
    expect_text(&o, "more than 2 reasons: the list is cut");
    ck_assert_int_eq(o.report->verdict, BIR_HAZARD_FINDINGS);
    ck_assert_uint_eq(o.report->n_pairs, 1);
    ck_assert_str_eq(o.report->pairs[0].earlier.inst->name->text, "i0");
    ck_assert_str_eq(o.report->pairs[0].later.inst->name->text, "i99");
    outcome_free(&o);
}
END_TEST

START_TEST(cancelling_stops)
{
    struct bir_cancel cancel = { false };
    const struct bir_hazard_options options = { .cancel = &cancel };
    struct outcome o;
    analyse_vector(&o, "kinds", &options);
    bir_cancel_set(&cancel);
    struct bir_hazard_report *report = NULL;
    ck_assert_int_eq(bir_hazards_analyse(o.module, &options, &o.arena, &o.diags, &report), BIR_CANCELLED);
    outcome_free(&o);
}
END_TEST

/* Every allocation of an analysis fails once; every memory limit up to the need is told as a limit. */
START_TEST(failures_are_clean)
{
    static const char *const rows[][3] = { { "loop_carried", "ld", "r" },          { "fp_alias", "w", "r" },
                                           { "reset_in_flight_twice", "l1", "r" }, { "two_functions", "p", "q" },
                                           { "rt_findings_stand", "w", "u" },      { "fp_alias", "w", "ghost" } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome o;
        bool known = strcmp(rows[i][2], "ghost") != 0;
        const struct bir_hazard_options none = { 0 };
        const struct bir_hazard_options options = { .fix_hints = true,
                                                    .explain_earlier = rows[i][1],
                                                    .explain_later = rows[i][2] };
        analyse_vector(&o, rows[i][0], known ? &options : &none);
        for (long n = 1;; n++) {
            struct bir_arena arena;
            struct bir_diags diags;
            struct bir_hazard_report *report = NULL;
            long live = alloc_live();
            alloc_fail_at(n);
            bir_arena_init(&arena, 0);
            bir_diags_init(&diags, &arena, 100);
            enum bir_status status = bir_hazards_analyse(o.module, &options, &arena, &diags, &report);
            bool fired = alloc_fail_fired();
            alloc_fail_at(0);
            bir_arena_deinit(&arena);
            ck_assert_int_eq(alloc_live(), live);
            ck_assert(status == (known ? BIR_OK : BIR_INVALID) || (fired && status == BIR_NOMEM));
            if (!fired)
                break;
        }
        for (size_t limit = 4096; limit < 400000; limit = limit * 5 / 4) {
            struct bir_arena arena;
            struct bir_diags diags;
            struct bir_hazard_report *report = NULL;
            bir_arena_init(&arena, limit);
            bir_diags_init(&diags, &arena, 100);
            enum bir_status status = bir_hazards_analyse(o.module, &options, &arena, &diags, &report);
            ck_assert(status == (known ? BIR_OK : BIR_INVALID) || (status == BIR_LIMIT && diags.errors > 0));
            bir_arena_deinit(&arena);
        }
        outcome_free(&o);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        vectors_have_the_expected_report,
        every_rule_is_needed,
        text_names_both_sides_and_the_bytes,
        hints_name_the_smallest_wait,
        wrong_waits_say_what_the_count_shows,
        explanation_is_the_chain_of_waits,
        doubt_is_a_diagnostic_at_the_operand,
        explanation_of_a_name_that_nothing_has_fails,
        modules_from_before_lower_sync_are_told,
        lists_are_cut_with_a_reason,
        a_crowd_without_order_is_not_met_pair_by_pair,
        doubts_do_not_use_up_the_findings,
        cancelling_stops,
        failures_are_clean,
    };
    return UNIT_RUN("hazards", tests);
}

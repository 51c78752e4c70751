/* Random modules through the default pipeline: every address at every point, before and after colouring. */
#include <inttypes.h>

#include "generate_module.h"
#include "lower_checked.h"
#include "unit.h"

#define DEFAULT_MODULES 2000
/* Registers an engine that are too few for many of the modules, and enough to go on with spilling. */
#define SPILL_REGISTERS 14

static uint64_t module_count(void)
{
    const char *text = getenv("ROOST_RANDOM_MODULES");
    return text ? strtoull(text, NULL, 10) : DEFAULT_MODULES;
}

struct run {
    const char *passes; /* NULL: the default pipeline */
    unsigned registers_per_engine;
    bool predicates;
};

struct totals {
    struct generate_counts counts;
    uint64_t modules, spilled, loops;
};

#define LOWERED                                                                                                        \
    "split_engines,build_flow_deps,build_anti_deps,assign_loop_registers,insert_address_tables,lower_ap,"              \
    "expand_inst_late"

/* As branches, loops without iterations are counted too: they are only never entered. */
static void check_stats(uint64_t seed, const char *when, const struct bir_validation_stats *stats,
                        const struct generate_counts *counts, bool branches)
{
    ck_assert_msg((branches ? stats->operands >= counts->operands : stats->operands == counts->operands) &&
                      stats->not_lowered == 0 && stats->points == counts->points,
                  "seed %" PRIu64 ", after %s: %" PRIu64 " operands at %" PRIu64 " points checked (%" PRIu64
                  " not lowered), %" PRIu64 " at %" PRIu64 " generated",
                  seed, when, stats->operands, stats->points, stats->not_lowered, counts->operands, counts->points);
}

static void check_one(uint64_t seed, const struct run *run, struct totals *total)
{
    struct generate_options options;
    struct generate_counts counts;
    struct bir_buf text;
    struct lower_checked l;
    generate_options_init(&options);
    options.predicates = options.mixed = run->predicates;
    bir_buf_init(&text, 0);
    ck_assert(generate_module(seed, &options, &text, &counts));
    lower_checked_run(&l, text.data, text.len, run->passes, run->registers_per_engine, BIR_VALIDATION_FULL, seed);
    ck_assert_msg(l.status == BIR_OK, "seed %" PRIu64 ": status %d: %s", seed, (int)l.status, lower_checked_error(&l));
    bool branches = run->passes && strstr(run->passes, "lower_branch");
    check_stats(seed, "address lowering", &l.symbolic, &counts, false);
    check_stats(seed, "colouring", &l.physical, &counts, branches && !strstr(run->passes, "color_registers,"));
    if (branches)
        check_stats(seed, "lower_branch", &l.branched, &counts, true);
    total->modules++;
    total->counts.consumers += counts.consumers;
    total->counts.operands += counts.operands;
    total->counts.points += counts.points;
    total->counts.predicates += counts.predicates;
    total->spilled += l.stats.spilled_registers;
    total->loops += l.stats.lowered_loops;
    lower_checked_deinit(&l);
    bir_buf_deinit(&text);
}

static struct totals check_many(const struct run *run, uint64_t n)
{
    struct totals total = { .modules = 0 };
    for (uint64_t seed = 1; seed <= n; seed++)
        check_one(seed, run, &total);
    return total;
}

START_TEST(random_modules)
{
    struct run run = { NULL, 0, false };
    struct totals total = check_many(&run, module_count());
    printf("random modules: %" PRIu64 " lowered and checked, %" PRIu64 " instructions, %" PRIu64 " operands, %" PRIu64
           " addresses, each before and after colouring\n",
           total.modules, total.counts.consumers, total.counts.operands, total.counts.points);
}
END_TEST

/* Few registers make the colourer spill; the spill code is executed and checked like the rest. */
START_TEST(random_modules_with_spills)
{
    struct run run = { NULL, SPILL_REGISTERS, false };
    struct totals total = check_many(&run, module_count() / 10);
    printf("random modules: %" PRIu64 " lowered with %d registers an engine, %" PRIu64 " registers spilled, %" PRIu64
           " addresses\n",
           total.modules, SPILL_REGISTERS, total.spilled, total.counts.points);
    ck_assert(total.modules < 100 || total.spilled > 0);
}
END_TEST

/* Loops and predicates as they are, as branches before colouring and as branches behind it. */
static const struct run branch_runs[] = {
    { NULL, 0, true },
    { LOWERED ",lower_branch,color_registers", 0, false },
    { LOWERED ",color_registers,lower_branch", 0, false },
    { LOWERED ",lower_branch,color_registers", 0, true },
    { LOWERED ",color_registers,lower_branch", 0, true },
    { LOWERED ",lower_branch,color_registers", SPILL_REGISTERS, true },
};

START_TEST(random_modules_with_branches)
{
    const struct run *run = &branch_runs[_i];
    struct totals total = check_many(run, module_count() / 10);
    bool branches = run->passes != NULL;
    printf("random modules: %" PRIu64 " with %" PRIu64 " predicates, %" PRIu64 " loops as branches%s, %" PRIu64
           " registers spilled, %" PRIu64 " operands, %" PRIu64 " addresses\n",
           total.modules, total.counts.predicates, total.loops,
           !branches                             ? ", structured"
           : strstr(run->passes, "branch,color") ? " before colouring"
                                                 : " behind colouring",
           total.spilled, total.counts.operands, total.counts.points);
    ck_assert(total.modules < 100 || !run->predicates || total.counts.predicates > 0);
    ck_assert(total.modules < 100 || !branches || total.loops > 0);
}
END_TEST

/* Same seed, same text. */
START_TEST(generator_is_deterministic)
{
    struct generate_options options;
    generate_options_init(&options);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct bir_buf a, b;
        struct generate_counts first, second;
        bir_buf_init(&a, 0);
        bir_buf_init(&b, 0);
        ck_assert(generate_module(seed, &options, &a, &first));
        ck_assert(generate_module(seed, &options, &b, &second));
        ck_assert_uint_eq(a.len, b.len);
        ck_assert_mem_eq(a.data, b.data, a.len);
        ck_assert_uint_eq(first.points, second.points);
        bir_buf_deinit(&a);
        bir_buf_deinit(&b);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("random_modules");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, random_modules);
    tcase_add_test(tc, random_modules_with_spills);
    tcase_add_loop_test(tc, random_modules_with_branches, 0, (int)(sizeof branch_runs / sizeof branch_runs[0]));
    tcase_add_test(tc, generator_is_deterministic);
    Suite *suite = suite_create("random_modules");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

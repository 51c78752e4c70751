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

static void check_one(uint64_t seed, unsigned registers_per_engine, struct generate_counts *total, uint64_t *spilled)
{
    struct generate_options options;
    struct generate_counts counts;
    struct bir_buf text;
    struct lower_checked l;
    generate_options_init(&options);
    bir_buf_init(&text, 0);
    ck_assert(generate_module(seed, &options, &text, &counts));
    lower_checked_run(&l, text.data, text.len, NULL, registers_per_engine, BIR_VALIDATION_FULL, seed);
    ck_assert_msg(l.status == BIR_OK, "seed %" PRIu64 ": status %d: %s", seed, (int)l.status, lower_checked_error(&l));
    ck_assert_msg(l.physical.operands == counts.operands && l.physical.not_lowered == 0 &&
                      l.physical.points == counts.points,
                  "seed %" PRIu64 ": %" PRIu64 " operands at %" PRIu64 " points checked (%" PRIu64
                  " not lowered), %" PRIu64 " at %" PRIu64 " generated",
                  seed, l.physical.operands, l.physical.points, l.physical.not_lowered, counts.operands, counts.points);
    ck_assert_uint_eq(l.symbolic.points, counts.points);
    total->consumers += counts.consumers;
    total->operands += counts.operands;
    total->points += counts.points;
    *spilled += l.stats.spilled_registers;
    lower_checked_deinit(&l);
    bir_buf_deinit(&text);
}

START_TEST(random_modules)
{
    struct generate_counts total = { 0 };
    uint64_t n = module_count(), spilled = 0;
    for (uint64_t seed = 1; seed <= n; seed++)
        check_one(seed, 0, &total, &spilled);
    printf("random modules: %" PRIu64 " lowered and checked, %" PRIu64 " instructions, %" PRIu64 " operands, %" PRIu64
           " addresses, each before and after colouring\n",
           n, total.consumers, total.operands, total.points);
}
END_TEST

/* Few registers make the colourer spill; the spill code is executed and checked like the rest. */
START_TEST(random_modules_with_spills)
{
    struct generate_counts total = { 0 };
    uint64_t n = module_count() / 10, spilled = 0;
    for (uint64_t seed = 1; seed <= n; seed++)
        check_one(seed, SPILL_REGISTERS, &total, &spilled);
    printf("random modules: %" PRIu64 " lowered with %d registers an engine, %" PRIu64 " registers spilled, %" PRIu64
           " addresses\n",
           n, SPILL_REGISTERS, spilled, total.points);
    ck_assert(n < 100 || spilled > 0);
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
    const TTest *const tests[] = { random_modules, random_modules_with_spills, generator_is_deterministic };
    return UNIT_RUN("random_modules", tests);
}

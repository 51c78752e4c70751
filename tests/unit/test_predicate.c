/* Predicates from the text that a module keeps of them (bir-json.md 9.5). */
#include "alloc_fail.h"
#include "bir/json.h"
#include "bir/predicate.h"
#include "unit.h"

/* Two loops whose axes have one name, and x in the inner one with the predicates in the place of %s. */
static const char module_text[] =
    "{\"arch\":\"gen3\",\"attributes\":{},\"functions\":[{\"name\":\"f\",\"attributes\":[],\"allocations\":["
    "{\"Skind\":\"register\",\"name\":\"n\",\"dtype\":\"int32\",\"engine\":\"PE\"}],\"blocks\":[{\"name\":\"main\","
    "\"instructions\":[{\"name\":\"o\",\"opcode\":\"Loop\",\"engine\":\"Unassigned\",\"ins\":[],\"outs\":[],"
    "\"LoopAxis\":"
    "{\"name\":\"i\",\"lb\":0,\"ub\":4,\"stride\":1},\"blocks\":[{\"name\":\"ob\",\"instructions\":[{\"name\":\"l\","
    "\"opcode\":\"Loop\",\"engine\":\"Unassigned\",\"ins\":[],\"outs\":[],\"LoopAxis\":{\"name\":\"i\",\"lb\":5,\"ub\":"
    "9,"
    "\"stride\":1},\"blocks\":[{\"name\":\"lb\",\"instructions\":[{\"name\":\"x\",\"opcode\":\"NoOp\",\"engine\":"
    "\"PE\","
    "\"ins\":[],\"outs\":[],\"predicates\":%s}]}]}]}]}]}]}],\"queues\":[],\"revision\":\"v1\",\"version\":2}";

#define AFFINE_I                                                                                                       \
    "{\"c\":-3,\"kind\":\"AffExprKind\",\"terms\":[{\"coeff\":2,\"idx\":{\"axis\":\"i\",\"kind\":\"AffIVKind\"}}]}"
#define RUNTIME "{\"kind\":\"IntRuntimeValueKind\",\"regref\":\"n\"}"

struct fixture {
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module;
    struct bir_instruction *inst;
};

static void fixture_init(struct fixture *f, const char *predicates)
{
    char text[4096];
    int len = snprintf(text, sizeof text, module_text, predicates);
    ck_assert_int_lt(len, (int)sizeof text);
    bir_arena_init(&f->arena, 0);
    bir_diags_init(&f->diags, &f->arena, 10);
    ck_assert_msg(bir_module_read_json(text, (size_t)len, NULL, &f->diags, &f->module) == BIR_OK, "%s: %s", predicates,
                  f->diags.first ? f->diags.first->message : "?");
    const struct bir_str *name = bir_intern_cstr(&f->module->strings, "x");
    f->inst = bir_map_get(&f->module->functions->instructions, name);
    ck_assert_ptr_nonnull(f->inst);
}

static void fixture_deinit(struct fixture *f)
{
    bir_module_free(f->module);
    bir_arena_deinit(&f->arena);
}

static struct bir_predicates parse(struct fixture *f)
{
    struct bir_predicates predicates;
    ck_assert(bir_instruction_is_predicated(f->inst));
    ck_assert_int_eq(bir_predicates_parse(f->module, f->inst, &f->arena, &predicates), BIR_OK);
    return predicates;
}

START_TEST(both_forms)
{
    struct fixture f;
    fixture_init(&f, "[{\"expr\":" AFFINE_I ",\"ge\":true},{\"ge\":false,\"expr\":" RUNTIME "}]");
    struct bir_predicates p = parse(&f);
    ck_assert(!p.foreign);
    ck_assert_uint_eq(p.count, 2);
    ck_assert(p.items[0].at_least && !p.items[1].at_least);
    const struct pelican_expr *e = p.items[0].expr;
    ck_assert_int_eq(e->kind, PELICAN_AFFINE);
    ck_assert_int_eq(e->u.affine.c, -3);
    /* the axis of the inner loop, which hides the outer one of that name */
    ck_assert_int_eq(e->u.affine.terms[0].index->u.axis->lb, 5);
    ck_assert_int_eq(p.items[1].expr->kind, PELICAN_RUNTIME_VALUE);
    ck_assert_str_eq(p.items[1].expr->u.reg->base.name->text, "n");
    ck_assert_ptr_eq(parse(&f).items[0].expr, e); /* interned */
    fixture_deinit(&f);
}
END_TEST

static const char *const foreign[] = {
    "[\"i < 3\"]",
    "[7]",
    "[null]",
    "[[]]",
    "[{}]",
    "[{\"expr\":" AFFINE_I "}]",
    "[{\"ge\":true}]",
    "[{\"expr\":" AFFINE_I ",\"ge\":1}]",
    "[{\"expr\":\"i\",\"ge\":true}]",
    "[{\"expr\":" AFFINE_I ",\"ge\":true,\"why\":0}]",
    "[{\"expr\":" AFFINE_I ",\"ge\":true},\"more\"]",
};

START_TEST(other_shapes_are_foreign)
{
    struct fixture f;
    fixture_init(&f, foreign[_i]);
    struct bir_predicates p = parse(&f);
    ck_assert(p.foreign);
    ck_assert_uint_eq(p.count, 0);
    ck_assert_uint_eq(f.diags.errors, 0);
    fixture_deinit(&f);
}
END_TEST

/* Out of its loops the axis means nothing. */
START_TEST(scope_is_where_the_instruction_stands)
{
    struct fixture f;
    fixture_init(&f, "[{\"expr\":" AFFINE_I ",\"ge\":true}]");
    ck_assert(bir_instruction_may_be_skipped(f.inst));
    bir_instruction_unlink(f.inst);
    bir_block_append(f.module->functions->body.first, f.inst);
    ck_assert(parse(&f).foreign);
    fixture_deinit(&f);
}
END_TEST

START_TEST(bodies_of_predicated_loops_may_be_skipped)
{
    struct fixture f;
    fixture_init(&f, "[]");
    ck_assert(!bir_instruction_may_be_skipped(f.inst));
    struct bir_instruction *outer = f.inst->block->region->owner->block->region->owner;
    struct bir_instruction_rare *rare = bir_instruction_need_rare(f.module, outer);
    ck_assert_ptr_nonnull(rare);
    rare->texts = BIR_NEW(&f.module->arena, BIR_MEM_INSTRUCTIONS, struct bir_instruction_texts);
    ck_assert_ptr_nonnull(rare->texts);
    rare->texts->predicates = bir_intern_cstr(&f.module->strings, "[{\"ge\":true,\"expr\":" RUNTIME "}]");
    ck_assert(bir_instruction_may_be_skipped(f.inst));
    fixture_deinit(&f);
}
END_TEST

START_TEST(allocation_failures)
{
    bool fired = true;
    unsigned failures = 0;
    for (long n = 1; fired; n++) {
        struct fixture f;
        struct bir_predicates p;
        fixture_init(&f, "[{\"expr\":" AFFINE_I ",\"ge\":true}]");
        alloc_fail_at(n);
        enum bir_status status = bir_predicates_parse(f.module, f.inst, &f.arena, &p);
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        failures += fired;
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        fixture_deinit(&f);
    }
    ck_assert_uint_ge(failures, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("predicate");
    tcase_add_test(tc, both_forms);
    tcase_add_loop_test(tc, other_shapes_are_foreign, 0, (int)(sizeof foreign / sizeof foreign[0]));
    tcase_add_test(tc, scope_is_where_the_instruction_stands);
    tcase_add_test(tc, bodies_of_predicated_loops_may_be_skipped);
    tcase_add_test(tc, allocation_failures);
    Suite *suite = suite_create("predicate");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

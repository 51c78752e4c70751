/*
 * Every instruction that lower_branch emits is changed in turn - removed, with another constant, with another operation
 * or comparison - and the checker must find each change when it executes the branches (counters, entry and back
 * branches, tests of predicates, copies of steering registers).
 */
#include "lower_checked.h"
#include "unit.h"

#define LOWERED "split_engines,assign_loop_registers,insert_address_tables,lower_ap,expand_inst_late"

/* Chosen so that no change leaves the meaning as it was. What runtime values decide is compared by
 * tests/integration/test_branches.py. */
static const char *const samples[] = {
    "lower/two_loops",    "branched/do_while_two",     "branched/do_while_crossed",
    "branched/tail_tile", "branched/predicated_loops",
};

enum mutation { REMOVED, CONSTANT, OPERATION, TARGETS, MUTATIONS };
static const char *const titles[MUTATIONS] = { "removed", "constant + 1", "another operation", "targets exchanged" };

static void run(struct lower_checked *l, const char *sample, const char *passes)
{
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/%s.json", ROOST_VECTORS, sample);
    char *text = unit_read_file(path, &len);
    lower_checked_run(l, text, len, passes, 0, BIR_VALIDATION_SAMPLE, 3);
    ck_assert_msg(l->status == BIR_OK, "%s: %s", sample, lower_checked_error(l));
    free(text);
}

/* --- mutations --- */

static bool set_key(struct bir_module *module, struct bir_instruction *inst, const char *key, const char *value)
{
    struct bir_prop prop = { .type = BIR_VALUE_TEXT, .u.s = bir_intern_cstr(&module->strings, value) };
    inst->props = bir_props_with(module, inst->props, key, &prop);
    ck_assert_ptr_nonnull(inst->props);
    return true;
}

/* The last of the operands, if it is an immediate. */
static struct bir_imm_value *immediate(struct bir_instruction *inst)
{
    struct bir_imm_value *found = NULL;
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_IN)
        found = arg->kind == BIR_ARG_IMM_VALUE ? (struct bir_imm_value *)arg : NULL;
    return found;
}

static bool change_operation(struct bir_module *module, struct bir_instruction *inst)
{
    static const char *const other[][2] = {
        { "add", "subtract" },      { "mult", "add" },          { "IS_LTIMM", "IS_GEIMM" }, { "IS_GEIMM", "IS_LTIMM" },
        { "IS_GTIMM", "IS_LEIMM" }, { "IS_EQIMM", "IS_NEIMM" }, { "IS_NEIMM", "IS_EQIMM" }, { "IS_LTREG", "IS_GEREG" },
        { "IS_GTREG", "IS_LEREG" }, { "IS_GEREG", "IS_LTREG" }, { "IS_LEREG", "IS_GTREG" }, { "IS_EQREG", "IS_NEREG" },
    };
    const char *key = inst->opcode == BIR_OP_COMPARE_AND_BRANCH ? "comp_op" : "op";
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    const struct bir_imm_value *imm = immediate(inst);
    if (!prop || (inst->opcode == BIR_OP_REGISTER_ALU && imm && imm->bits == 0))
        return false; /* + 0 and - 0 are the same */
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        if (bir_str_is(prop->u.s, other[i][0]))
            return set_key(module, inst, key, other[i][1]);
    }
    return false;
}

static bool exchange_targets(struct bir_module *module, struct bir_instruction *inst)
{
    if (inst->opcode != BIR_OP_COMPARE_AND_BRANCH)
        return false;
    const char *on_true = bir_props_find(inst->props, "on_true")->u.s->text;
    const char *on_false = bir_props_find(inst->props, "on_false")->u.s->text;
    return set_key(module, inst, "on_true", on_false) && set_key(module, inst, "on_false", on_true);
}

/* False when there is nothing of the kind to change. */
static bool mutate(struct bir_module *module, struct bir_instruction *inst, enum mutation mutation)
{
    struct bir_imm_value *imm = immediate(inst);
    switch (mutation) {
    case REMOVED: bir_instruction_unlink(inst); return true;
    case CONSTANT:
        if (imm)
            imm->bits++;
        return imm != NULL;
    case OPERATION: return change_operation(module, inst);
    case TARGETS: return exchange_targets(module, inst);
    default: return false;
    }
}

/* --- the emitted instructions --- */

/* A barrier that is gone everywhere is missed by nobody, and a NoOp does nothing. */
static bool is_code(const struct bir_instruction *inst)
{
    return inst->opcode != BIR_OP_ALL_ENGINE_BARRIER && inst->opcode != BIR_OP_NOOP;
}

/* The n-th instruction that is not in the module before lower_branch, NULL past the last. */
static struct bir_instruction *nth_emitted(struct lower_checked *before, struct lower_checked *after, unsigned n)
{
    BIR_EACH_BLOCK (block, &after->module->functions->body) {
        BIR_EACH_INSTRUCTION (inst, block) {
            const struct bir_str *name = bir_intern_find(&before->module->strings, inst->name->text, inst->name->len);
            bool old = name && bir_map_get(&before->module->functions->instructions, name);
            if (!old && is_code(inst) && n-- == 0)
                return inst;
        }
    }
    return NULL;
}

/* A branch that never comes to an end is no error to the checker, who cannot know how long a loop is that a register
 * steers; but it says that it has not seen the end. */
static bool is_caught(struct lower_checked *l)
{
    struct bir_validation_options options = { .mode = BIR_VALIDATION_SAMPLE, .seed = 3 };
    struct bir_validation_stats stats = { 0 };
    enum bir_status status = bir_validation_run(l->validation, l->module, &options, &l->diags, &stats);
    return status == BIR_INTERNAL || (l->branched.unfinished == 0 && stats.unfinished > 0);
}

START_TEST(mutants_are_caught)
{
    const char *sample = samples[_i];
    struct lower_checked before;
    unsigned caught = 0, survived = 0;
    bool more = true;
    run(&before, sample, LOWERED);
    for (unsigned n = 0; more; n++) {
        for (int mutation = 0; more && mutation < MUTATIONS; mutation++) {
            struct lower_checked l;
            run(&l, sample, LOWERED ",lower_branch");
            struct bir_instruction *inst = nth_emitted(&before, &l, n);
            more = inst != NULL;
            if (more && mutate(l.module, inst, (enum mutation)mutation)) {
                bool found = is_caught(&l);
                printf("%s: %s: %s %s %s: %s\n", found ? "caught" : "SURVIVES", sample, bir_opcode_name(inst->opcode),
                       inst->name->text, titles[mutation], lower_checked_error(&l));
                caught += found;
                survived += !found;
            }
            lower_checked_deinit(&l);
        }
    }
    printf("%s: %u of %u mutants of the branches caught\n", sample, caught, caught + survived);
    lower_checked_deinit(&before);
    ck_assert_uint_eq(survived, 0);
    ck_assert_uint_ge(caught, 10);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("branch_mutants");
    tcase_set_timeout(tc, 0);
    tcase_add_loop_test(tc, mutants_are_caught, 0, (int)(sizeof samples / sizeof samples[0]));
    Suite *suite = suite_create("branch_mutants");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

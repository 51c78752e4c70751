/*
 * Translation validation: hand-written lowerings of the worked examples with their mutants, then the passes' own
 * output.
 *
 * Every mutant changes one thing and must be refused.
 */
#include <string.h>

#include "alloc_fail.h"
#include "hand_lowered.h"
#include "unit.h"

static void check_hand_written(const char *name)
{
    json_t *vector = hand_load_vector(name);
    struct bir_validation_stats stats;
    struct hand h;
    hand_init(&h, vector, NULL);
    hand_check_addresses(vector, h.function);
    enum bir_status status = hand_run(&h, BIR_VALIDATION_FULL, &stats);
    ck_assert_msg(status == BIR_OK, "%s", h.diags.first ? h.diags.first->message : "?");
    ck_assert_uint_eq(stats.operands, 1);
    ck_assert_int_eq((int64_t)stats.points, json_integer_value(json_object_get(vector, "points")));
    ck_assert_int_eq(hand_run(&h, BIR_VALIDATION_SAMPLE, &stats), BIR_OK);
    ck_assert_uint_ge(stats.points, 12); /* corners and 8 seeded points */
    hand_deinit(&h);
    json_decref(vector);
}

START_TEST(worked_example_sb)
{
    check_hand_written("loop_sb.lowered.json");
}
END_TEST

START_TEST(worked_example_psum)
{
    check_hand_written("loop_psum_matmult.lowered.json");
}
END_TEST

/* --- mutants --- */

static void check_mutants(const char *name, size_t at_least)
{
    json_t *vector = hand_load_vector(name), *mutants = json_object_get(vector, "mutants");
    size_t n = json_array_size(mutants);
    ck_assert_uint_ge(n, at_least);
    for (size_t i = 0; i < n; i++) {
        const json_t *mutant = json_array_get(mutants, i);
        const char *title = json_string_value(json_object_get(mutant, "name"));
        for (int mode = BIR_VALIDATION_SAMPLE; mode <= BIR_VALIDATION_FULL; mode++) {
            struct hand h;
            struct bir_validation_stats stats;
            hand_init(&h, vector, mutant);
            enum bir_status status = hand_run(&h, (enum bir_validation_mode)mode, &stats);
            ck_assert_msg(status == BIR_INTERNAL && h.diags.errors == 1, "%s: mutant '%s' survives %s", name, title,
                          mode == BIR_VALIDATION_FULL ? "full" : "sample");
            if (mode == BIR_VALIDATION_FULL)
                printf("caught: %s: %s\n", title, h.diags.first->message);
            hand_deinit(&h);
        }
    }
    printf("%s: %zu of %zu mutants caught, sampled and in full\n", name, n, n);
    json_decref(vector);
}

START_TEST(mutants_sb)
{
    check_mutants("loop_sb.lowered.json", 60);
}
END_TEST

START_TEST(mutants_psum)
{
    check_mutants("loop_psum_matmult.lowered.json", 10);
}
END_TEST

/* The counter-example names everything that the reader of a bug report needs. */
START_TEST(counter_example)
{
    json_t *vector = hand_load_vector("loop_sb.lowered.json");
    json_t *mutant =
        json_pack("{s:s,s:i,s:[s,s,s,i]}", "name", "stride", "at", 14, "code", "mult", "R3", "R3", 0x20000);
    struct bir_validation_stats stats;
    struct hand h;
    hand_init(&h, vector, mutant);
    ck_assert_int_eq(hand_run(&h, BIR_VALIDATION_FULL, &stats), BIR_INTERNAL);
    /* First point in loop order where t / 512 is not 0: i=0, j=1, t = 16392, partition 32. */
    ck_assert_str_eq(h.diags.first->code, "check-address-mismatch");
    ck_assert_str_eq(
        h.diags.first->message,
        "instruction act0, ins[0] on xbuf_set at (i=0, j=1): expected address 0x801010, computed 0x401010; "
        "first wrong instruction hand-14 (RegisterAlu): partition part must be 8388608, is 4194304");
    hand_deinit(&h);
    json_decref(mutant);
    json_decref(vector);
}
END_TEST

/* --- the passes' output --- */

static const char *const loop_modules[] = { "loop_sb.json", "loop_psum_matmult.json", "loop_sb_matmult.json",
                                            "loop_three_operands.json" };

static void lower_file(struct lower_checked *l, const char *name, enum bir_validation_mode mode)
{
    size_t len;
    char *text = hand_read_vector("integration", name, &len);
    lower_checked_run(l, text, len, NULL, 0, mode, 5);
    ck_assert_msg(l->status == BIR_OK, "%s: %s", name, lower_checked_error(l));
    free(text);
}

START_TEST(lowered_loop_modules)
{
    static const struct {
        uint64_t operands, points;
    } expected[] = { { 1, 16 }, { 1, 4 }, { 1, 4 }, { 3, 12 } };
    for (unsigned i = 0; i < 4; i++) {
        struct lower_checked l;
        lower_file(&l, loop_modules[i], BIR_VALIDATION_FULL);
        ck_assert_uint_eq(l.symbolic.operands, expected[i].operands);
        ck_assert_uint_eq(l.symbolic.points, expected[i].points);
        ck_assert_uint_eq(l.physical.points, expected[i].points);
        ck_assert_uint_eq(l.physical.not_lowered, 0);
        lower_checked_deinit(&l);
        lower_file(&l, loop_modules[i], BIR_VALIDATION_SAMPLE);
        ck_assert_uint_ge(l.physical.points, 10 * expected[i].operands);
        lower_checked_deinit(&l);
    }
}
END_TEST

START_TEST(lowered_addresses)
{
    static const char *const vectors[] = { "loop_sb.lowered.json", "loop_psum_matmult.lowered.json" };
    for (unsigned i = 0; i < 2; i++) {
        json_t *vector = hand_load_vector(vectors[i]);
        struct lower_checked l;
        lower_file(&l, json_string_value(json_object_get(vector, "module")), BIR_VALIDATION_FULL);
        hand_check_addresses(vector, l.module->functions);
        lower_checked_deinit(&l);
        json_decref(vector);
    }
}
END_TEST

static enum bir_status validate_again(struct lower_checked *l, enum bir_validation_mode mode)
{
    struct bir_validation_options options = { .mode = mode, .seed = 3, .registers = BIR_VALIDATION_REGISTERS_PHYSICAL };
    struct bir_validation_stats stats = { 0 };
    return bir_validation_run(l->validation, l->module, &options, &l->diags, &stats);
}

static struct bir_register *find_register(struct lower_checked *l, const char *part)
{
    struct bir_function *f = l->module->functions;
    for (uint32_t i = 0; i < f->storages.count; i++) {
        if (f->storages.items[i]->tag == BIR_STORAGE_REGISTER && strstr(f->storages.items[i]->name->text, part))
            return (struct bir_register *)f->storages.items[i];
    }
    ck_abort_msg("no register %s", part);
    return NULL;
}

/* The instruction number `number` in front of the consumer, counted from the first of its block. */
static struct bir_instruction *nth_before(struct bir_instruction *consumer, unsigned number)
{
    struct bir_instruction *inst = consumer->block->first;
    while (inst != consumer && number-- > 0)
        inst = inst->next;
    return inst == consumer ? NULL : inst;
}

static bool add_one(struct bir_instruction *inst)
{
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_IN) {
        if (arg->kind == BIR_ARG_IMM_VALUE) {
            ((struct bir_imm_value *)arg)->bits++;
            return true;
        }
    }
    return false;
}

static bool change_op(struct bir_module *module, struct bir_instruction *inst)
{
    static const char *const other[][2] = {
        { "add", "subtract" }, { "mult", "add" }, { "divide", "mult" }, { "mod", "divide" }
    };
    const struct bir_prop *prop = bir_props_find(inst->props, "op");
    for (unsigned i = 0; prop && i < 4; i++) {
        if (!bir_str_is(prop->u.s, other[i][0]))
            continue;
        struct bir_prop changed = *prop;
        changed.u.s = bir_intern_cstr(&module->strings, other[i][1]);
        inst->props = bir_props_with(module, inst->props, "op", &changed);
        ck_assert_ptr_nonnull(inst->props);
        return true;
    }
    return false;
}

/* Changes one instruction of the passes' output; false when there is nothing of the kind to change. */
static bool mutate(struct bir_module *module, struct bir_instruction *inst, int kind)
{
    if (kind == 1)
        return add_one(inst);
    if (kind == 2)
        return change_op(module, inst);
    bir_instruction_unlink(inst);
    return true;
}

/* Every emitted instruction in turn: removed, with another constant, with another operation. `skip` instructions at the
 * start of the block are not the passes' work. */
static void check_output_mutants(const char *file, const char *consumer_name, unsigned skip, unsigned at_least)
{
    static const char *const kinds[] = { "removed", "constant + 1", "another operation" };
    unsigned n = 0;
    bool more = true;
    for (unsigned i = skip; more; i++) {
        for (int kind = 0; kind < 3 && more; kind++) {
            struct lower_checked l;
            lower_file(&l, file, BIR_VALIDATION_FULL);
            struct bir_instruction *inst = nth_before(hand_find_instruction(l.module->functions, consumer_name), i);
            more = inst != NULL;
            if (more && mutate(l.module, inst, kind)) {
                for (int mode = BIR_VALIDATION_SAMPLE; mode <= BIR_VALIDATION_FULL; mode++)
                    ck_assert_msg(validate_again(&l, (enum bir_validation_mode)mode) == BIR_INTERNAL,
                                  "%s: %s %s survives", file, inst->name->text, kinds[kind]);
                printf("caught: %s %s: %s\n", inst->name->text, kinds[kind], lower_checked_error(&l));
                n++;
            }
            lower_checked_deinit(&l);
        }
    }
    printf("%s: %u of %u mutants of the passes' output caught, sampled and in full\n", file, n, n);
    ck_assert_uint_ge(n, at_least);
}

START_TEST(mutants_of_lowered_sb)
{
    check_output_mutants("loop_sb.json", "act0", 0, 40);
}
END_TEST

START_TEST(mutants_of_lowered_fetch)
{
    check_output_mutants("dynamic_row_fetch.json", "fetch", 1, 6);
}
END_TEST

START_TEST(lowered_fetch)
{
    struct lower_checked l;
    lower_file(&l, "dynamic_row_fetch.json", BIR_VALIDATION_FULL);
    ck_assert_uint_eq(l.symbolic.operands, 1);
    ck_assert_uint_eq(l.physical.operands, 1);
    ck_assert_uint_eq(l.physical.points, 1);
    lower_checked_deinit(&l);
}
END_TEST

/* --- branches --- */

/* What a lowering of the loops can get wrong; 0 stands for right. */
enum branch_bug {
    BRANCH_RIGHT,
    BRANCH_START,
    BRANCH_STRIDE,
    BRANCH_LIMIT_LOW,
    BRANCH_LIMIT_HIGH,
    BRANCH_COMPARE,
    BRANCH_TARGETS,
    BRANCH_BUGS
};

struct branching {
    struct hand *h;
    enum branch_bug bug;
    const char *axis; /* of the loop with the bug */
    int number;
};

static struct bir_instruction *branch_inst(struct branching *b, struct bir_block *block, enum bir_opcode opcode)
{
    char name[32];
    snprintf(name, sizeof(name), "branch-%d", b->number++);
    struct bir_instruction *inst =
        bir_instruction_new(b->h->module, opcode, (enum bir_engine)b->h->consumer->engine, hand_name(b->h, name));
    ck_assert_ptr_nonnull(inst);
    bir_block_append(block, inst);
    return inst;
}

static void branch_prop(struct branching *b, struct bir_instruction *inst, const char *key, const char *text)
{
    struct bir_prop prop = { .type = BIR_VALUE_TEXT };
    prop.key = hand_name(b->h, key);
    prop.u.s = hand_name(b->h, text);
    inst->props = bir_props_with(b->h->module, inst->props, key, &prop);
    ck_assert_ptr_nonnull(inst->props);
}

static struct bir_block *branch_block(struct branching *b)
{
    char name[32];
    snprintf(name, sizeof(name), "block-%d", b->number++);
    struct bir_block *block = bir_block_new(b->h->module, &b->h->function->body, hand_name(b->h, name));
    ck_assert_ptr_nonnull(block);
    return block;
}

static void branch_operands(struct branching *b, struct bir_instruction *inst, struct bir_register *in, int64_t imm,
                            struct bir_register *out)
{
    if (in)
        ck_assert_ptr_nonnull(bir_add_register_access(b->h->module, inst, BIR_ROLE_IN, in, BIR_DTYPE_INT32));
    ck_assert_ptr_nonnull(bir_add_imm_int(b->h->module, inst, BIR_DTYPE_INT32, imm));
    if (out)
        ck_assert_ptr_nonnull(bir_add_register_access(b->h->module, inst, BIR_ROLE_OUT, out, BIR_DTYPE_INT32));
}

/* Turns the loop into blocks behind `block`; returns the block that goes on after it. Recursion is as deep as the
 * sample's two loops. */
static struct bir_block *branch_loop(struct branching *b, struct bir_block *block, struct bir_instruction *loop_inst)
{
    struct bir_loop *loop = loop_inst->rare->loop;
    const struct pelican_axis *axis = loop->axis;
    struct bir_register *counter = axis->registers[b->h->consumer->engine];
    enum branch_bug bug = strcmp(axis->name->text, b->axis) == 0 ? b->bug : BRANCH_RIGHT;
    branch_operands(b, branch_inst(b, block, BIR_OP_REGISTER_MOVE), NULL, axis->lb + (bug == BRANCH_START), counter);
    struct bir_block *body = branch_block(b), *at = body;
    BIR_EACH_INSTRUCTION (inst, loop->region.first) {
        bir_instruction_unlink(inst);
        if (inst->opcode == BIR_OP_LOOP)
            at = branch_loop(b, at, inst);
        else
            bir_block_append(at, inst);
    }
    struct bir_instruction *step = branch_inst(b, at, BIR_OP_REGISTER_ALU);
    branch_prop(b, step, "op", "add");
    branch_operands(b, step, counter, axis->stride + (bug == BRANCH_STRIDE), counter);
    struct bir_instruction *branch = branch_inst(b, at, BIR_OP_COMPARE_AND_BRANCH);
    int64_t limit = axis->ub + (bug == BRANCH_LIMIT_HIGH) - (bug == BRANCH_LIMIT_LOW);
    branch_operands(b, branch, counter, limit, NULL);
    struct bir_block *after = branch_block(b);
    branch_prop(b, branch, "comp_op", bug == BRANCH_COMPARE ? "IS_LEIMM" : "IS_LTIMM");
    branch_prop(b, branch, "on_true", (bug == BRANCH_TARGETS ? after : body)->name->text);
    branch_prop(b, branch, "on_false", (bug == BRANCH_TARGETS ? body : after)->name->text);
    return after;
}

static enum bir_status run_branches(const char *name, enum branch_bug bug, const char *axis,
                                    enum bir_validation_mode mode, struct bir_validation_stats *stats)
{
    json_t *vector = hand_load_vector(name);
    struct hand h;
    hand_init(&h, vector, NULL);
    struct branching b = { .h = &h, .bug = bug, .axis = axis };
    struct bir_block *block = h.function->body.first;
    struct bir_instruction *loop = block->first;
    bir_instruction_unlink(loop);
    branch_loop(&b, block, loop);
    enum bir_status status = hand_run(&h, mode, stats);
    if (bug != BRANCH_RIGHT && mode == BIR_VALIDATION_FULL)
        printf("caught: branch bug %d of loop %s: %s\n", (int)bug, axis,
               h.diags.first ? h.diags.first->message : "nothing");
    hand_deinit(&h);
    json_decref(vector);
    return status;
}

START_TEST(branches)
{
    struct bir_validation_stats stats;
    for (int mode = BIR_VALIDATION_SAMPLE; mode <= BIR_VALIDATION_FULL; mode++) {
        ck_assert_int_eq(run_branches("loop_sb.lowered.json", BRANCH_RIGHT, "", (enum bir_validation_mode)mode, &stats),
                         BIR_OK);
        ck_assert_uint_eq(stats.points, 16);
        ck_assert_int_eq(run_branches("loop_psum_matmult.lowered.json", BRANCH_RIGHT, "",
                                      (enum bir_validation_mode)mode, &stats),
                         BIR_OK);
        ck_assert_uint_eq(stats.points, 4);
        for (int bug = BRANCH_START; bug < BRANCH_BUGS; bug++) {
            static const char *const axes[] = { "i", "j" };
            for (int axis = 0; axis < 2; axis++)
                ck_assert_msg(run_branches("loop_sb.lowered.json", (enum branch_bug)bug, axes[axis],
                                           (enum bir_validation_mode)mode, &stats) == BIR_INTERNAL,
                              "bug %d of loop %s survives", bug, axes[axis]);
            ck_assert_int_eq(run_branches("loop_psum_matmult.lowered.json", (enum branch_bug)bug, "k",
                                          (enum bir_validation_mode)mode, &stats),
                             BIR_INTERNAL);
        }
    }
}
END_TEST

/* --- wrong results --- */

/* Gives one register the id of another, as a wrong colouring would. */
START_TEST(wrong_colours)
{
    static const struct {
        const char *name, *steals;
    } cases[] = {
        { "_RegAPOffset_", "_RegTemp_" },
        { "_RegSubTensorId_", "_RegTemp_" },
        { "_RegDramAddr0_", "_RegDramAddr1_" },
        { "_RegDramAddr1_", "_RegTemp_" },
        { "_RegTemp1_", "_RegDramAddr0_" },
        { "_RegAPAddr_", "_RegTemp_" },
        { "_RegAPAddr_", "_RegAPOffset_" },
        { "_RegAPAddr_", "_RegSubTensorId_" },
        { "_RegTemp_", "i-iv-" },
        { "_RegAPAddr_", "i-iv-" },
        { "_RegAPAddr_", "j-iv-" },
        { "_RegTemp1_", "j-iv-" },
        { "i-iv-", "j-iv-" },
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int mode = BIR_VALIDATION_SAMPLE; mode <= BIR_VALIDATION_FULL; mode++) {
            struct lower_checked l;
            lower_file(&l, "loop_sb.json", BIR_VALIDATION_FULL);
            ck_assert_int_eq(validate_again(&l, BIR_VALIDATION_FULL), BIR_OK);
            find_register(&l, cases[i].name)->physical_id = find_register(&l, cases[i].steals)->physical_id;
            enum bir_status status = validate_again(&l, (enum bir_validation_mode)mode);
            ck_assert_msg(status == BIR_INTERNAL, "%s with the id of %s survives", cases[i].name, cases[i].steals);
            if (mode == BIR_VALIDATION_FULL)
                printf("caught: %s takes the id of %s: %s\n", cases[i].name, cases[i].steals, lower_checked_error(&l));
            lower_checked_deinit(&l);
        }
    }
}
END_TEST

/* A register that no id was given, or a changed result operand. */
START_TEST(wrong_operands)
{
    for (int i = 0; i < 7; i++) {
        struct lower_checked l;
        lower_file(&l, "loop_sb.json", BIR_VALIDATION_FULL);
        struct bir_instruction *act = hand_find_instruction(l.module->functions, "act0");
        struct bir_register_ap *ap = (struct bir_register_ap *)bir_instruction_argument(act, BIR_ROLE_IN, 0);
        struct bir_pair pairs[] = { { 512, 32 }, { 1, 63 } };
        switch (i) {
        case 0: ap->address->physical_id = -1; break;
        case 1: ap->pattern = bir_pattern_get(l.module, pairs, 2); break;
        case 2: ap->base.dtype = BIR_DTYPE_FLOAT32; break;
        case 3: ap->address_is_offset = true; break;
        case 4: ap->const_offset_elems = 1; break;
        case 5: bir_argument_remove(&ap->base); break;
        default: bir_instruction_unlink(act); break;
        }
        ck_assert_msg(validate_again(&l, BIR_VALIDATION_SAMPLE) == BIR_INTERNAL, "case %d survives", i);
        ck_assert_uint_eq(l.diags.errors, 1);
        lower_checked_deinit(&l);
    }
}
END_TEST

/* An operand that leaves its set is the input's fault, also when the program traps before. */
START_TEST(operand_outside_its_set)
{
    json_t *vector = hand_load_vector("loop_sb.lowered.json");
    for (int table_short = 0; table_short < 2; table_short++) {
        json_t *mutant = json_pack("{s:i}", "blocks", 3);
        struct bir_validation_stats stats;
        struct hand h;
        if (table_short)
            json_object_set_new(mutant, "table", json_pack("[i,i,i]", 4096, 5120, 6144));
        hand_init(&h, vector, mutant);
        ck_assert_int_eq(hand_run(&h, BIR_VALIDATION_FULL, &stats), BIR_INVALID);
        ck_assert_str_eq(h.diags.first->code, "check-operand-domain");
        ck_assert_ptr_nonnull(
            strstr(h.diags.first->message, "act0, ins[0] on xbuf_set at (i=3, j=0): tile 200, block 3"));
        hand_deinit(&h);
        json_decref(mutant);
    }
    json_decref(vector);
}
END_TEST

/* Without address lowering there is nothing to check. */
START_TEST(not_lowered)
{
    size_t len;
    struct lower_checked l;
    char *text = hand_read_vector("integration", "loop_three_operands.json", &len);
    lower_checked_run(&l, text, len, "assign_loop_registers,insert_address_tables", 0, BIR_VALIDATION_FULL, 5);
    struct bir_validation_options options = { .mode = BIR_VALIDATION_FULL };
    struct bir_validation_stats stats = { 0 };
    ck_assert_int_eq(bir_validation_run(l.validation, l.module, &options, &l.diags, &stats), BIR_OK);
    ck_assert_uint_eq(stats.operands, 0);
    ck_assert_uint_eq(stats.not_lowered, 3);
    lower_checked_deinit(&l);
    free(text);
}
END_TEST

/* Every allocation of recording and of running may fail. */
START_TEST(allocation_failures)
{
    struct lower_checked l;
    lower_file(&l, "loop_three_operands.json", BIR_VALIDATION_FULL);
    struct bir_validation_options options = { .mode = BIR_VALIDATION_SAMPLE };
    for (long n = 1;; n++) {
        struct bir_validation_stats stats = { 0 };
        long live = alloc_live();
        alloc_fail_at(n);
        enum bir_status status = bir_validation_run(l.validation, l.module, &options, &l.diags, &stats);
        bool fired = alloc_fail_fired();
        long left = alloc_live();
        alloc_fail_at(0);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        ck_assert_int_eq(left, live);
        if (!fired) {
            ck_assert_int_gt(n, 1);
            break;
        }
    }
    for (long n = 1;; n++) {
        struct bir_arena arena;
        struct bir_validation *validation;
        long live = alloc_live();
        bir_arena_init(&arena, 0);
        alloc_fail_at(n);
        enum bir_status status = bir_validation_record(l.module, &arena, &validation);
        bool fired = alloc_fail_fired();
        bir_arena_deinit(&arena);
        long left = alloc_live();
        alloc_fail_at(0);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        ck_assert_int_eq(left, live);
        if (!fired)
            break;
    }
    lower_checked_deinit(&l);
}
END_TEST

START_TEST(cancelled)
{
    struct lower_checked l;
    struct bir_cancel cancel = { .set = true };
    struct bir_validation_options options = { .cancel = &cancel };
    struct bir_validation_stats stats = { 0 };
    lower_file(&l, "loop_sb.json", BIR_VALIDATION_FULL);
    ck_assert_int_eq(bir_validation_run(l.validation, l.module, &options, &l.diags, &stats), BIR_CANCELLED);
    lower_checked_deinit(&l);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        worked_example_sb,
        worked_example_psum,
        mutants_sb,
        mutants_psum,
        counter_example,
        lowered_loop_modules,
        lowered_addresses,
        mutants_of_lowered_sb,
        mutants_of_lowered_fetch,
        lowered_fetch,
        wrong_colours,
        wrong_operands,
        operand_outside_its_set,
        not_lowered,
        allocation_failures,
        branches,
        cancelled,
    };
    return UNIT_RUN("validation", tests);
}

/*
 * The module in memory: lists, use lists exact under insertion, removal, replacement, rebinding and cloning, all kinds
 * of operands, hash-consing, dependencies, walking.
 */
#include "alloc_fail.h"
#include "bir/json.h"
#include "bir/module.h"
#include "unit.h"

/* A function with two SBUF locations, a DRAM set and two registers, one block. */
struct fixture {
    struct bir_module *module;
    struct bir_function *function;
    struct bir_block *block;
    struct bir_set *set;
    struct bir_location *a, *b;
    struct bir_register *r, *wide;
    const struct bir_pattern *pattern;
};

static const struct bir_str *name_of(struct fixture *f, const char *text)
{
    return bir_intern_cstr(&f->module->strings, text);
}

static struct fixture make(void)
{
    struct fixture f = { .module = bir_module_new(0) };
    const struct bir_pair pairs[] = { { 512, 128 }, { 1, 512 } };
    f.function = bir_function_new(f.module, name_of(&f, "f"), false);
    f.block = bir_block_new(f.module, &f.function->body, name_of(&f, "Block1"));
    f.set = bir_set_new(f.function, name_of(&f, "a_set"));
    f.a = bir_location_new(f.set, name_of(&f, "a"));
    f.b = bir_location_new(f.set, name_of(&f, "b"));
    f.a->type = f.b->type = BIR_MEMORY_SB;
    f.r = bir_function_add_register(f.function, name_of(&f, "r"), BIR_ENGINE_SP, 1);
    f.wide = bir_function_add_register(f.function, name_of(&f, "wide"), BIR_ENGINE_SP, 2);
    f.pattern = bir_pattern_get(f.module, pairs, 2);
    return f;
}

static struct bir_instruction *add(struct fixture *f, const char *name)
{
    struct bir_instruction *inst =
        bir_instruction_new(f->module, BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, name ? name_of(f, name) : NULL);
    bir_block_append(f->block, inst);
    return inst;
}

static struct bir_argument *physical(struct fixture *f, struct bir_instruction *inst, enum bir_role role,
                                     struct bir_location *location)
{
    return &bir_add_physical_ap(f->module, inst, role, location, f->pattern, 0, BIR_DTYPE_FLOAT32)->base;
}

static void expect_sound(const struct fixture *f)
{
    const char *problem = "";
    ck_assert_msg(bir_module_check_uses(f->module, &problem), "%s", problem);
}

static unsigned uses(const struct bir_argument *head)
{
    unsigned count = 0;
    for (; head; head = bir_argument_next_use(head))
        count++;
    return count;
}

static void expect_uses(const struct bir_storage *storage, unsigned readers, unsigned writers)
{
    ck_assert_uint_eq(uses(storage->readers), readers);
    ck_assert_uint_eq(uses(storage->writers), writers);
}

START_TEST(kinds)
{
    static const struct {
        enum bir_argument_kind kind;
        const char *wire;
        uint8_t tag;
        bool is_immediate, has_pattern;
    } expected[] = {
        { BIR_ARG_PHYSICAL_AP, "physical_ap", BIR_STORAGE_LOCATION, false, true },
        { BIR_ARG_SYMBOLIC_AP, "symbolic_ap", BIR_STORAGE_SET, false, true },
        { BIR_ARG_SYMBOLIC_AP, "symbolic_pwap", BIR_STORAGE_SET, false, true },
        { BIR_ARG_REGISTER_AP, "register_ap", BIR_STORAGE_SET, false, true },
        { BIR_ARG_IMM_VALUE, "imm_value", 0, true, false },
        { BIR_ARG_SYMBOLIC_IMM_VALUE, "symbolic_imm_value", 0, true, false },
        { BIR_ARG_IMM_ARRAY, "imm_array", 0, true, false },
        { BIR_ARG_REGISTER_ACCESS, "register_access", BIR_STORAGE_REGISTER, false, false },
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct bir_argument_class *class = bir_argument_class_by_wire(expected[i].wire, strlen(expected[i].wire));
        ck_assert_ptr_nonnull(class);
        ck_assert_ptr_eq(class, bir_argument_class_of(expected[i].kind));
        ck_assert_int_eq(class->kind, expected[i].kind);
        ck_assert_uint_eq(class->location_tag, expected[i].tag);
        ck_assert(class->is_immediate == expected[i].is_immediate && class->has_pattern == expected[i].has_pattern);
    }
    static const int refused[] = { 0, 4, 5, 9, 10, BIR_ARG_REGISTER_SET, 13, 255, -1 };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ck_assert_ptr_null(bir_argument_class_of((enum bir_argument_kind)refused[i]));
    ck_assert_ptr_null(bir_argument_class_by_wire("register_set", 12));
    ck_assert_ptr_null(bir_argument_class_by_wire("physical_a", 10));
}
END_TEST

START_TEST(immediates_land_in_ins)
{
    struct fixture f = make();
    struct bir_instruction *inst = add(&f, "i");
    static const enum bir_argument_kind kinds_of_imm[] = { BIR_ARG_IMM_VALUE, BIR_ARG_SYMBOLIC_IMM_VALUE,
                                                           BIR_ARG_IMM_ARRAY };
    for (size_t i = 0; i < 3; i++) {
        struct bir_argument *arg = bir_argument_new(f.module, inst, kinds_of_imm[i], BIR_ROLE_OUT, BIR_DTYPE_INT32);
        ck_assert_uint_eq(arg->role, BIR_ROLE_IN);
        ck_assert_uint_eq(bir_argument_position(arg), i);
    }
    struct bir_argument *out = physical(&f, inst, BIR_ROLE_OUT, f.a);
    struct bir_argument *imm = bir_argument_new_before(f.module, out, BIR_ARG_IMM_VALUE, BIR_DTYPE_INT32);
    ck_assert_uint_eq(imm->role, BIR_ROLE_IN);
    ck_assert_uint_eq(bir_instruction_argument_count(inst, BIR_ROLE_IN), 4);
    ck_assert_uint_eq(bir_instruction_argument_count(inst, BIR_ROLE_OUT), 1);
    expect_sound(&f);
    bir_module_free(f.module);
}
END_TEST

START_TEST(immediate_bits)
{
    struct fixture f = make();
    static const struct {
        enum bir_dtype dtype;
        int64_t value;
        uint64_t bits;
    } cases[] = {
        { BIR_DTYPE_UINT8, 255, 255 },
        { BIR_DTYPE_INT8, -1, UINT64_MAX },
        { BIR_DTYPE_INT8, 127, 127 },
        { BIR_DTYPE_UINT16, 65535, 65535 },
        { BIR_DTYPE_INT16, -2, UINT64_MAX - 1 },
        { BIR_DTYPE_BFLOAT16, 0x3F80, 0x3F80 },
        { BIR_DTYPE_FLOAT16, 0xBC00, 0xBC00 },
        { BIR_DTYPE_UINT32, 0xFFFFFFFF, 0xFFFFFFFF },
        { BIR_DTYPE_INT32, -5, UINT64_MAX - 4 },
        { BIR_DTYPE_INT64, INT64_MIN, UINT64_C(1) << 63 },
        { BIR_DTYPE_UINT64, -1, UINT64_MAX },
    };
    struct bir_instruction *inst = add(&f, "i");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(bir_add_imm_int(f.module, inst, cases[i].dtype, cases[i].value)->bits == cases[i].bits,
                      "case %zu", i);
    bir_module_free(f.module);
}
END_TEST

START_TEST(lists_keep_order)
{
    struct fixture f = make();
    struct bir_instruction *inst = add(&f, "i");
    struct bir_argument *one = physical(&f, inst, BIR_ROLE_IN, f.a);
    struct bir_argument *three = physical(&f, inst, BIR_ROLE_IN, f.a);
    struct bir_argument *two = bir_argument_new_before(f.module, three, BIR_ARG_REGISTER_ACCESS, BIR_DTYPE_INT32);
    struct bir_argument *zero = bir_argument_new_before(f.module, one, BIR_ARG_IMM_VALUE, BIR_DTYPE_INT32);
    struct bir_argument *order[] = { zero, one, two, three };
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_ptr_eq(bir_instruction_argument(inst, BIR_ROLE_IN, i), order[i]);
        ck_assert_uint_eq(bir_argument_position(order[i]), i);
    }
    ck_assert_ptr_null(bir_instruction_argument(inst, BIR_ROLE_IN, 4));
    ck_assert_ptr_null(bir_instruction_argument(inst, BIR_ROLE_OUT, 0));
    bir_argument_remove(zero); /* the head moves */
    ck_assert_ptr_eq(bir_instruction_first(inst, BIR_ROLE_IN), one);
    bir_argument_remove(three); /* and the tail */
    ck_assert_uint_eq(bir_instruction_argument_count(inst, BIR_ROLE_IN), 2);
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_IN)
        bir_argument_remove(arg);
    ck_assert_ptr_null(bir_instruction_first(inst, BIR_ROLE_IN));
    expect_uses(&f.a->base, 0, 0);
    expect_sound(&f);
    bir_module_free(f.module);
}
END_TEST

/* Operands of the three lists are made in any order; each list keeps the order of its own. */
START_TEST(lists_share_a_ring)
{
    static const enum bir_role orders[][6] = {
        { BIR_ROLE_OUT, BIR_ROLE_IN, BIR_ROLE_INDIRECTION, BIR_ROLE_OUT, BIR_ROLE_IN, BIR_ROLE_INDIRECTION },
        { BIR_ROLE_IN, BIR_ROLE_IN, BIR_ROLE_OUT, BIR_ROLE_OUT, BIR_ROLE_IN, BIR_ROLE_OUT },
        { BIR_ROLE_INDIRECTION, BIR_ROLE_OUT, BIR_ROLE_OUT, BIR_ROLE_INDIRECTION, BIR_ROLE_IN, BIR_ROLE_IN },
    };
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        struct fixture f = make();
        struct bir_instruction *inst = add(&f, "i");
        struct bir_argument *made[BIR_ROLE_COUNT][6];
        uint32_t count[BIR_ROLE_COUNT] = { 0 };
        for (size_t i = 0; i < 6; i++)
            made[orders[k][i]][count[orders[k][i]]++] = physical(&f, inst, orders[k][i], f.a);
        for (int round = 0; round < 2; round++) {
            for (enum bir_role role = BIR_ROLE_IN; role < BIR_ROLE_COUNT; role++) {
                ck_assert_uint_eq(bir_instruction_argument_count(inst, role), count[role]);
                for (uint32_t i = 0; i < count[role]; i++) {
                    ck_assert_ptr_eq(bir_instruction_argument(inst, role, i), made[role][i]);
                    ck_assert_uint_eq(bir_argument_position(made[role][i]), i);
                    ck_assert_ptr_eq(bir_argument_prev(made[role][i]), i > 0 ? made[role][i - 1] : NULL);
                    ck_assert_ptr_eq(bir_argument_parent(made[role][i]), inst);
                }
                struct bir_argument *last = count[role] > 0 ? made[role][count[role] - 1] : NULL;
                ck_assert_ptr_eq(bir_instruction_last(inst, role), last);
            }
            expect_sound(&f);
            for (enum bir_role role = BIR_ROLE_IN; round == 0 && role < BIR_ROLE_COUNT; role++) {
                if (count[role] == 0)
                    continue;
                bir_argument_remove(made[role][0]);
                memmove(&made[role][0], &made[role][1], --count[role] * sizeof made[role][0]);
            }
        }
        bir_module_free(f.module);
    }
}
END_TEST

START_TEST(shared_records_are_copied_to_change)
{
    struct fixture f = make();
    struct bir_instruction *inst = add(&f, "i"), *loop = add(&f, NULL);
    struct bir_argument *in = physical(&f, inst, BIR_ROLE_IN, f.a);
    bir_argument_need_rare(f.module, in)->access_shape = bir_ints_get(f.module, (const int64_t[]){ 1, 2 }, 2);
    ck_assert_ptr_eq(bir_argument_need_rare(f.module, in), bir_argument_rare_of(in)); /* its own already */
    ck_assert_uint_eq(bir_instruction_engine_id(inst), 0);
    ck_assert(bir_instruction_set_engine_id(f.module, inst, 0));
    ck_assert_ptr_null(inst->rare);
    ck_assert(bir_instruction_set_engine_id(f.module, inst, 3));
    ck_assert_uint_eq(bir_instruction_engine_id(inst), 3);
    struct bir_loop *record = bir_instruction_need_loop(f.module, loop);
    for (int i = 0; i < BIR_LOOP_BOUNDS; i++)
        ck_assert_ptr_null(record->dynamic_bounds[i]);
    bir_module_free(f.module);
}
END_TEST

/* Two instructions with equal debug and shapes read from text share the records; changing one leaves the other. */
START_TEST(equal_records_are_shared_when_read)
{
    static const char text[] = "{\"arch\":\"gen3\",\"functions\":[{\"allocations\":[{\"Skind\":\"memory_location_set\","
                               "\"dtype\":\"int8\",\"kind\":"
                               "\"Internal\",\"memorylocations\":[{\"Skind\":\"memory_location\",\"dims\":[128,4],"
                               "\"name\":\"t\",\"type\":\"SB\"}],"
                               "\"name\":\"t_set\"}],\"attributes\":[],\"blocks\":[{\"instructions\":["
                               "{\"debug\":{\"lineno\":7},\"engine\":\"DVE\",\"engine_id\":1,\"ins\":[{\"access_"
                               "shape\":[4],\"ap\":[[4,128],[1,4]],"
                               "\"dtype\":\"int8\",\"kind\":\"physical_ap\",\"memref\":\"t\",\"offset\":0}],\"name\":"
                               "\"a\",\"opcode\":\"TensorCopy\","
                               "\"outs\":[]},"
                               "{\"debug\":{\"lineno\":7},\"engine\":\"DVE\",\"engine_id\":1,\"ins\":[{\"access_"
                               "shape\":[4],\"ap\":[[4,128],[1,4]],"
                               "\"dtype\":\"int8\",\"kind\":\"physical_ap\",\"memref\":\"t\",\"offset\":0}],\"name\":"
                               "\"b\",\"opcode\":\"TensorCopy\","
                               "\"outs\":[]}],\"name\":\"B\"}],\"name\":\"f\"}],\"version\":2}";
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module = NULL;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    ck_assert_int_eq(bir_module_read_json(text, sizeof text - 1, NULL, &diags, &module), BIR_OK);
    struct bir_instruction *a = module->functions->body.first->first, *b = a->next;
    struct bir_argument *in_a = bir_instruction_first(a, BIR_ROLE_IN), *in_b = bir_instruction_first(b, BIR_ROLE_IN);
    ck_assert(a->rare && a->rare == b->rare && in_a->rare && bir_argument_rare_of(in_a) == bir_argument_rare_of(in_b));
    bir_instruction_need_rare(module, a)->debug = NULL;
    ck_assert(bir_instruction_set_engine_id(module, a, 2));
    bir_argument_need_rare(module, in_a)->access_shape = NULL;
    ck_assert(b->rare->debug && !a->rare->debug);
    ck_assert(bir_instruction_engine_id(a) == 2 && bir_instruction_engine_id(b) == 1);
    ck_assert(bir_argument_shape(in_b) && !bir_argument_shape(in_a));
    struct bir_instruction *copy = bir_instruction_clone(module, b, bir_intern_cstr(&module->strings, "copy"));
    ck_assert(copy && copy->rare == b->rare);
    bir_module_free(module);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(rebinding_is_exact)
{
    struct fixture f = make();
    struct bir_instruction *inst = add(&f, "i");
    struct bir_argument *in = physical(&f, inst, BIR_ROLE_IN, f.a);
    struct bir_argument *out = physical(&f, inst, BIR_ROLE_OUT, f.a);
    expect_uses(&f.a->base, 1, 1);
    bir_argument_set_location(in, &f.b->base, false, true);
    expect_uses(&f.a->base, 0, 1);
    expect_uses(&f.b->base, 1, 0);
    bir_argument_set_location(in, &f.b->base, false, true); /* twice registers once */
    expect_uses(&f.b->base, 1, 0);
    bir_argument_set_location(out, NULL, true, false);
    expect_uses(&f.a->base, 0, 0);
    bir_argument_set_location(out, &f.b->base, true, true);
    expect_uses(&f.b->base, 1, 1);
    expect_sound(&f);
    for (int i = 0; i < 5; i++)
        physical(&f, inst, BIR_ROLE_IN, f.a);
    bir_argument_remove(bir_instruction_argument(inst, BIR_ROLE_IN, 3)); /* from the middle of the use list */
    expect_uses(&f.a->base, 4, 0);
    expect_sound(&f);
    bir_module_free(f.module);
}
END_TEST

START_TEST(replacement)
{
    struct fixture f = make();
    struct bir_instruction *inst = add(&f, "i");
    struct bir_argument *first = physical(&f, inst, BIR_ROLE_OUT, f.a);
    struct bir_argument *second = physical(&f, inst, BIR_ROLE_OUT, f.a);
    struct bir_argument *fresh = physical(&f, inst, BIR_ROLE_IN, f.b); /* on another list, as a reader */
    bir_argument_replace(first, fresh);
    ck_assert_ptr_eq(bir_instruction_argument(inst, BIR_ROLE_OUT, 0), fresh);
    ck_assert_ptr_eq(bir_instruction_argument(inst, BIR_ROLE_OUT, 1), second);
    ck_assert_ptr_null(bir_instruction_first(inst, BIR_ROLE_IN));
    expect_uses(&f.a->base, 0, 1);
    expect_uses(&f.b->base, 0, 1); /* a writer now */
    expect_sound(&f);
    struct bir_argument *last = physical(&f, inst, BIR_ROLE_OUT, f.b);
    bir_argument_replace(second, last);
    ck_assert_uint_eq(bir_instruction_argument_count(inst, BIR_ROLE_OUT), 2);
    ck_assert_uint_eq(bir_argument_position(last), 1);
    expect_sound(&f);
    bir_module_free(f.module);
}
END_TEST

START_TEST(cloning)
{
    struct fixture f = make();
    struct bir_instruction *before = add(&f, "before"), *inst = add(&f, "i");
    struct bir_argument *in = physical(&f, inst, BIR_ROLE_IN, f.a);
    ck_assert_ptr_nonnull(bir_add_imm_int(f.module, inst, BIR_DTYPE_INT32, 7));
    ck_assert_ptr_nonnull(bir_add_register_access(f.module, inst, BIR_ROLE_INDIRECTION, f.r, BIR_DTYPE_INT32));
    physical(&f, inst, BIR_ROLE_OUT, f.b);
    bir_argument_need_rare(f.module, in)->access_shape = bir_ints_get(f.module, (const int64_t[]){ 1, 2 }, 2);
    struct bir_instruction_rare *rare = bir_instruction_need_rare(f.module, inst);
    rare->scheduled_end = 9;
    rare->sync = BIR_NEW(&f.module->arena, BIR_MEM_OTHER, struct bir_sync);
    struct bir_wait wait = { .semaphore = 3, .value = 1 };
    ck_assert(bir_vec_push(&f.module->arena, &rare->sync->waits, wait));
    ck_assert(bir_instruction_add_dependency(f.module, inst, before, BIR_EDGE_ANTI, false));
    struct bir_instruction *copy = bir_instruction_clone(f.module, inst, name_of(&f, "copy"));
    expect_uses(&f.a->base, 2, 0); /* registered before it is in a block */
    bir_instruction_insert_after(inst, copy);
    expect_uses(&f.b->base, 0, 2);
    expect_uses(&f.r->base, 2, 0);
    expect_sound(&f);
    ck_assert_uint_eq(copy->opcode, inst->opcode);
    ck_assert_ptr_eq(copy->props, inst->props);
    ck_assert_int_eq(copy->rare->scheduled_end, 9);
    ck_assert_ptr_ne(copy->rare->sync, rare->sync);
    ck_assert_int_eq(copy->rare->sync->waits.items[0].semaphore, 3);
    ck_assert_uint_eq(bir_instruction_edge_count(copy, BIR_EDGES_NORMAL), 1);
    copy->rare->sync->waits.items[0].semaphore = 4; /* what is mutable is not shared */
    bir_instruction_edges(copy)->items[0].kind = BIR_EDGE_FLOW;
    ck_assert_int_eq(rare->sync->waits.items[0].semaphore, 3);
    ck_assert_uint_eq(bir_instruction_edges(inst)->items[0].kind, BIR_EDGE_ANTI);
    ck_assert_ptr_eq(bir_argument_shape(bir_instruction_first(copy, BIR_ROLE_IN)), bir_argument_shape(in));
    ck_assert_ptr_eq(bir_map_get(&f.function->instructions, copy->name), copy);
    bir_instruction_unlink(copy);
    bir_instruction_drop_uses(copy);
    expect_uses(&f.a->base, 1, 0);
    ck_assert_ptr_null(bir_map_get(&f.function->instructions, copy->name));
    expect_sound(&f);
    bir_module_free(f.module);
}
END_TEST

START_TEST(check_finds_breaches)
{
    struct fixture f = make();
    struct bir_instruction *inst = add(&f, "i");
    struct bir_argument *in = physical(&f, inst, BIR_ROLE_IN, f.a);
    const char *problem;
    expect_sound(&f);
    in->location = &f.b->base; /* rebound behind the model's back */
    ck_assert(!bir_module_check_uses(f.module, &problem));
    in->location = &f.a->base;
    in->flags &= (uint8_t)~BIR_ARGF_ACTIVE;
    ck_assert(!bir_module_check_uses(f.module, &problem));
    in->flags |= BIR_ARGF_ACTIVE | BIR_ARGF_OUTPUT;
    ck_assert(!bir_module_check_uses(f.module, &problem));
    in->flags &= (uint8_t)~BIR_ARGF_OUTPUT;
    in->role = BIR_ROLE_OUT;
    ck_assert(!bir_module_check_uses(f.module, &problem));
    in->role = BIR_ROLE_IN;
    in->location = &f.set->base; /* a set is no place for a physical pattern */
    ck_assert(!bir_module_check_uses(f.module, &problem));
    in->location = &f.a->base;
    f.a->base.readers = NULL;
    ck_assert(!bir_module_check_uses(f.module, &problem));
    f.a->base.readers = in;
    expect_sound(&f);
    bir_module_free(f.module);
}
END_TEST

START_TEST(hash_consing)
{
    struct fixture f = make();
    const struct bir_pair pairs[] = { { 512, 128 }, { 1, 512 }, { -1, 512 } };
    ck_assert_ptr_eq(bir_pattern_get(f.module, pairs, 2), f.pattern);
    ck_assert_ptr_ne(bir_pattern_get(f.module, pairs, 1), f.pattern);
    ck_assert_ptr_ne(bir_pattern_get(f.module, pairs, 3), f.pattern);
    ck_assert_ptr_eq(bir_ints_get(f.module, NULL, 0), bir_ints_get(f.module, (const int64_t[]){ 1 }, 0));
    struct bir_prop ab[40], ba[40];
    for (int i = 0; i < 40; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%02d", i);
        ab[i] = ba[39 - i] = (struct bir_prop){ .key = name_of(&f, key), .type = BIR_VALUE_INT, .u.i = i };
    }
    ck_assert_ptr_eq(bir_props_get(f.module, ab, 40), bir_props_get(f.module, ba, 40));
    struct bir_prop yes[2], no[2];
    memset(yes, 0xA5, sizeof yes); /* padding must not count */
    memset(no, 0x5A, sizeof no);
    for (int i = 0; i < 2; i++) {
        yes[i].key = no[i].key = name_of(&f, i ? "x" : "y");
        yes[i].type = no[i].type = BIR_VALUE_BOOL;
        yes[i].u.b = no[i].u.b = true;
    }
    const struct bir_props *props = bir_props_get(f.module, yes, 2);
    ck_assert_ptr_eq(props, bir_props_get(f.module, no, 2));
    ck_assert_str_eq(props->items[0].key->text, "x");
    struct bir_prop zero = { .key = name_of(&f, "z"), .type = BIR_VALUE_FLOAT, .u.f = 0.0 }, minus = zero;
    minus.u.f = -0.0;
    ck_assert_ptr_ne(bir_props_get(f.module, &zero, 1), bir_props_get(f.module, &minus, 1));
    bir_module_free(f.module);
}
END_TEST

START_TEST(changing_props)
{
    struct fixture f = make();
    struct bir_prop value = { .type = BIR_VALUE_INT, .u.i = 1 };
    const struct bir_props *one = bir_props_with(f.module, NULL, "b", &value);
    const struct bir_props *two = bir_props_with(f.module, one, "a", &value);
    ck_assert_uint_eq(two->count, 2);
    ck_assert_str_eq(two->items[0].key->text, "a");
    value.u.i = 5;
    const struct bir_props *changed = bir_props_with(f.module, two, "b", &value);
    ck_assert_uint_eq(changed->count, 2);
    ck_assert_int_eq(bir_props_find(changed, "b")->u.i, 5);
    ck_assert_ptr_eq(bir_props_with(f.module, two, "a", NULL), one);
    ck_assert_ptr_null(bir_props_find(NULL, "a"));
    ck_assert_ptr_null(bir_props_find(one, "a"));
    const struct bir_props *many = NULL;
    for (int i = 0; i < 50; i++) {
        char key[8];
        snprintf(key, sizeof key, "p%d", i);
        many = bir_props_with(f.module, many, key, &value);
    }
    ck_assert_uint_eq(many->count, 50);
    ck_assert_int_eq(bir_props_find(many, "p49")->u.i, 5);
    bir_module_free(f.module);
}
END_TEST

START_TEST(dependencies_merge)
{
    struct fixture f = make();
    struct bir_instruction *a = add(&f, "a"), *b = add(&f, "b");
    static const struct {
        enum bir_edge_kind kind, expected;
    } steps[] = { { BIR_EDGE_ORDERED, BIR_EDGE_ORDERED },
                  { BIR_EDGE_OUTPUT, BIR_EDGE_OUTPUT },
                  { BIR_EDGE_ANTI, BIR_EDGE_OUTPUT },
                  { BIR_EDGE_FLOW, BIR_EDGE_FLOW },
                  { BIR_EDGE_INVALID, BIR_EDGE_FLOW } };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        ck_assert(bir_instruction_add_dependency(f.module, b, a, steps[i].kind, false));
        ck_assert_uint_eq(bir_instruction_edge_count(b, BIR_EDGES_NORMAL), 1);
        ck_assert_uint_eq(bir_instruction_edges(b)->items[0].kind, steps[i].expected);
    }
    ck_assert(bir_instruction_add_dependency(f.module, b, a, BIR_EDGE_ANTI, true)); /* the lists are kept apart */
    ck_assert_uint_eq(bir_instruction_edges(b)->items[1].kind, BIR_EDGE_ANTI);
    ck_assert(bir_instruction_add_dependency(f.module, b, b, BIR_EDGE_FLOW, true));
    ck_assert_uint_eq(bir_instruction_edge_count(b, BIR_EDGES_LOOP_CARRIED), 2);
    bir_module_free(f.module);
}
END_TEST

START_TEST(walking)
{
    struct fixture f = make();
    struct bir_instruction *a = add(&f, "a"), *loop = add(&f, "loop"), *z = add(&f, "z");
    loop->opcode = BIR_OP_LOOP;
    struct bir_region *region = &bir_instruction_need_loop(f.module, loop)->region;
    ck_assert_uint_eq(region->depth, 1);
    ck_assert_ptr_eq(region->function, f.function);
    ck_assert_ptr_nonnull(bir_block_new(f.module, region, name_of(&f, "empty")));
    struct bir_block *body = bir_block_new(f.module, region, name_of(&f, "body"));
    struct bir_instruction *inner = bir_instruction_new(f.module, BIR_OP_LOOP, BIR_ENGINE_DVE, name_of(&f, "inner"));
    bir_block_append(body, inner);
    ck_assert_ptr_nonnull(bir_instruction_need_loop(f.module, inner)); /* a loop without blocks */
    struct bir_instruction *last = bir_instruction_new(f.module, BIR_OP_NOOP, BIR_ENGINE_DVE, name_of(&f, "last"));
    bir_block_append(body, last);
    ck_assert_ptr_nonnull(bir_block_new(f.module, &f.function->body, name_of(&f, "none")));
    struct bir_instruction *first = bir_instruction_new(f.module, BIR_OP_NOOP, BIR_ENGINE_DVE, name_of(&f, "first"));
    bir_instruction_insert_before(a, first);
    struct bir_instruction *order[] = { first, a, loop, inner, last, z };
    struct bir_walk walk;
    bir_walk_init(&walk, &f.function->body);
    for (size_t i = 0; i < 6; i++)
        ck_assert_ptr_eq(bir_walk_next(&walk), order[i]);
    ck_assert_ptr_null(bir_walk_next(&walk));
    ck_assert_ptr_null(bir_walk_next(&walk));
    bir_walk_init(&walk, region); /* a nested region alone */
    ck_assert_ptr_eq(bir_walk_next(&walk), inner);
    ck_assert_ptr_eq(bir_walk_next(&walk), last);
    ck_assert_ptr_null(bir_walk_next(&walk));
    ck_assert_uint_eq(bir_function_number(f.function), 6);
    ck_assert_uint_eq(last->index, 4);
    ck_assert_uint_eq(f.block->count, 4);
    expect_sound(&f);
    bir_module_free(f.module);
}
END_TEST

struct seen {
    struct bir_register *registers[8];
    unsigned count, slots;
    struct bir_register *replacement;
};

static bool see(void *user, struct bir_register *reg, struct bir_register **slot)
{
    struct seen *seen = user;
    seen->registers[seen->count++] = reg;
    seen->slots += slot != NULL;
    if (slot && seen->replacement)
        *slot = seen->replacement;
    return true;
}

START_TEST(registers_of_operands)
{
    struct fixture f = make();
    struct bir_instruction *inst = add(&f, "i");
    struct bir_argument *access = &bir_add_register_access(f.module, inst, BIR_ROLE_OUT, f.r, BIR_DTYPE_INT32)->base;
    struct seen seen = { .replacement = f.wide };
    ck_assert(bir_argument_each_register(access, see, &seen));
    ck_assert_uint_eq(seen.count, 1);
    expect_uses(&f.r->base, 0, 0); /* replaced through the slot: use lists follow */
    expect_uses(&f.wide->base, 0, 1);
    struct bir_argument *arg = bir_argument_new(f.module, inst, BIR_ARG_REGISTER_AP, BIR_ROLE_IN, BIR_DTYPE_INT32);
    struct bir_register_ap *ap = (struct bir_register_ap *)arg;
    ap->address = ap->offset = ap->sub_tensor = f.r;
    seen = (struct seen){ .replacement = f.wide };
    ck_assert(bir_argument_each_register(arg, see, &seen));
    ck_assert_uint_eq(seen.count, 3);
    ck_assert(ap->address == f.wide && ap->offset == f.wide && ap->sub_tensor == f.wide);
    struct pelican_context *p = &f.module->expressions;
    const struct pelican_expr *value = pelican_runtime_value(p, f.r);
    const struct pelican_term term = { .index = value, .coef = 2 };
    const struct pelican_expr *parts[] = { pelican_affine(p, 1, &term, 1), pelican_modulo(p, value, 3),
                                           pelican_mult(p, value, 2), pelican_constant(p, 4) };
    const struct pelican_expr *sum[] = { pelican_sum(p, parts, 4) };
    struct bir_symbolic_ap *sym = bir_symbolic_ap_new(f.module, inst, BIR_ROLE_IN, BIR_DTYPE_INT32, sum, 1);
    seen = (struct seen){ .count = 0 };
    ck_assert(bir_argument_each_register(&sym->base, see, &seen));
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_uint_eq(seen.slots, 0);
    bir_module_free(f.module);
}
END_TEST

START_TEST(names_and_memory)
{
    struct fixture f = make();
    struct bir_location *shadow = bir_location_new(f.set, name_of(&f, "a")); /* the first of a name is found */
    ck_assert_ptr_ne(shadow, f.a);
    ck_assert_ptr_eq(bir_function_find_location(f.function, name_of(&f, "a")), f.a);
    ck_assert_ptr_eq(bir_function_find_set(f.function, name_of(&f, "a_set")), f.set);
    ck_assert_ptr_null(bir_function_find_register(f.function, name_of(&f, "a")));
    ck_assert_int_eq(f.set->n_blocks, 3);
    ck_assert_ptr_eq(bir_function_add_register(f.function, name_of(&f, "r"), BIR_ENGINE_DVE, 2), f.r);
    ck_assert_uint_eq(f.r->num_physical, 2);
    ck_assert_uint_eq(f.r->base.dtype, BIR_DTYPE_INT64);
    ck_assert_int_eq(f.r->physical_id, -1);
    struct bir_instruction *inst = add(&f, "i");
    ck_assert_ptr_eq(bir_argument_set(physical(&f, inst, BIR_ROLE_IN, f.b)), f.set);
    ck_assert_int_eq(bir_argument_memory(bir_instruction_first(inst, BIR_ROLE_IN)), BIR_MEMORY_SB);
    ck_assert_int_eq(bir_set_memory(f.set), BIR_MEMORY_SB);
    ck_assert_int_eq(bir_pattern_elems_per_partition(f.pattern), 512);
    const struct bir_pair huge[] = { { 1, 1 }, { 1, INT64_MAX }, { 1, 2 } };
    ck_assert_int_eq(bir_pattern_elems_per_partition(bir_pattern_get(f.module, huge, 3)), -1);
    ck_assert_int_eq(bir_pattern_elems_per_partition(bir_pattern_get(f.module, huge, 1)), 1);
    bir_module_free(f.module);
}
END_TEST

/* Building the fixture and cloning under every failing allocation: NULL comes back, nothing leaks. */
START_TEST(failing_allocations)
{
    for (long n = 1, fired = 1; fired; n++) {
        long live = alloc_live();
        alloc_fail_at(n);
        struct bir_module *module = bir_module_new(0);
        if (module) {
            const struct bir_str *name = bir_intern_cstr(&module->strings, "x");
            struct bir_function *function = bir_function_new(module, name, false);
            struct bir_block *block = function ? bir_block_new(module, &function->body, name) : NULL;
            for (int i = 0; block && i < 60; i++) {
                struct bir_instruction *inst = bir_instruction_new(module, BIR_OP_NOOP, BIR_ENGINE_SP,
                                                                   bir_intern_printf(&module->strings, "i%d", i));
                if (!inst || !bir_add_imm_int(module, inst, BIR_DTYPE_INT32, i))
                    break;
                struct bir_instruction *copy = bir_instruction_clone(module, inst, name);
                if (copy)
                    bir_block_append(block, copy);
            }
        }
        bir_module_free(module);
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        long left = alloc_live();
        ck_assert_int_eq(left, live);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { kinds,
                                   immediates_land_in_ins,
                                   immediate_bits,
                                   lists_keep_order,
                                   lists_share_a_ring,
                                   shared_records_are_copied_to_change,
                                   equal_records_are_shared_when_read,
                                   rebinding_is_exact,
                                   replacement,
                                   cloning,
                                   check_finds_breaches,
                                   hash_consing,
                                   changing_props,
                                   dependencies_merge,
                                   walking,
                                   registers_of_operands,
                                   names_and_memory,
                                   failing_allocations };
    return UNIT_RUN("bir_model", tests);
}

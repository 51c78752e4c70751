/* Interpreter of register programs: every operation, traps, widths, loads, names, threads (lowering.md section 14). */
#include <string.h>

#include "check/address.h"
#include "check/machine.h"
#include "unit.h"

struct world {
    struct bir_module *module;
    struct bir_function *function;
    struct bir_block *block;
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_machine machine;
    int number;
};

static const struct bir_str *name_of(struct world *w, const char *text)
{
    const struct bir_str *name = bir_intern_cstr(&w->module->strings, text);
    ck_assert_ptr_nonnull(name);
    return name;
}

static void world_init_named(struct world *w, enum bir_machine_names names)
{
    memset(w, 0, sizeof(*w));
    w->module = bir_module_new(0);
    ck_assert_ptr_nonnull(w->module);
    w->function = bir_function_new(w->module, name_of(w, "f"), false);
    w->block = bir_block_new(w->module, &w->function->body, name_of(w, "Block1"));
    bir_arena_init(&w->arena, 0);
    bir_diags_init(&w->diags, &w->arena, 100);
    ck_assert_int_eq(bir_machine_init(&w->machine, &w->arena, &w->diags, names, 7, 1000), BIR_OK);
}

static void world_init(struct world *w)
{
    world_init_named(w, BIR_MACHINE_SYMBOLIC);
}

static void world_deinit(struct world *w)
{
    bir_arena_deinit(&w->arena);
    bir_module_free(w->module);
}

static struct bir_register *reg_of(struct world *w, const char *name, unsigned words)
{
    struct bir_register *reg = bir_function_add_register(w->function, name_of(w, name), BIR_ENGINE_SP, words);
    ck_assert_ptr_nonnull(reg);
    return reg;
}

static struct bir_instruction *inst_of(struct world *w, enum bir_opcode opcode)
{
    char name[32];
    snprintf(name, sizeof(name), "inst%d", w->number++);
    struct bir_instruction *inst = bir_instruction_new(w->module, opcode, BIR_ENGINE_SP, name_of(w, name));
    ck_assert_ptr_nonnull(inst);
    bir_block_append(w->block, inst);
    return inst;
}

static void add_reg(struct world *w, struct bir_instruction *inst, enum bir_role role, struct bir_register *reg,
                    enum bir_dtype dtype)
{
    ck_assert_ptr_nonnull(bir_add_register_access(w->module, inst, role, reg, dtype));
}

static void set_prop(struct world *w, struct bir_instruction *inst, const char *key, enum bir_value_type type,
                     const char *text)
{
    struct bir_prop prop = { .key = name_of(w, key), .type = type };
    if (type == BIR_VALUE_TEXT)
        prop.u.s = name_of(w, text);
    else
        prop.u.b = true;
    inst->props = bir_props_with(w->module, inst->props, key, &prop);
    ck_assert_ptr_nonnull(inst->props);
}

static struct bir_instruction *alu_of(struct world *w, const char *op, bool wide)
{
    struct bir_instruction *inst = inst_of(w, BIR_OP_REGISTER_ALU);
    set_prop(w, inst, "op", BIR_VALUE_TEXT, op);
    if (wide)
        set_prop(w, inst, "is_64bit", BIR_VALUE_BOOL, NULL);
    return inst;
}

static uint32_t slot_of(struct world *w, struct bir_register *reg)
{
    uint32_t slot;
    ck_assert_int_eq(bir_machine_slot(&w->machine, reg, &slot), BIR_OK);
    return slot;
}

static int64_t value_of(struct world *w, struct bir_register *reg, unsigned lane)
{
    uint32_t slot = slot_of(w, reg);
    int64_t low = w->machine.values[slot][lane];
    if (reg->num_physical == 1)
        return low;
    return (int64_t)((uint64_t)(uint32_t)low | (uint64_t)(uint32_t)w->machine.values[slot + 1][lane] << 32);
}

static void give(struct world *w, struct bir_register *reg, int64_t value)
{
    uint32_t slot = slot_of(w, reg);
    bir_machine_set(&w->machine, slot, (int32_t)(uint32_t)(uint64_t)value);
    if (reg->num_physical == 2)
        bir_machine_set(&w->machine, slot + 1, (int32_t)(uint32_t)((uint64_t)value >> 32));
}

static enum bir_status decode(struct world *w, struct bir_instruction *inst)
{
    return bir_machine_decode(&w->machine, inst, true);
}

/* Decodes what was appended since and runs it. */
static enum bir_trap run_one(struct world *w, struct bir_instruction *inst)
{
    struct bir_machine_fault fault;
    w->machine.ops.count = 0;
    w->machine.note.trap = BIR_TRAP_NONE;
    ck_assert_int_eq(decode(w, inst), BIR_OK);
    if (!bir_machine_run(&w->machine, 0, w->machine.ops.count, &fault))
        return fault.trap;
    return w->machine.note.trap;
}

/* --- ALU --- */

struct alu_case {
    char op[32], fault[32];
    int64_t a, b, result;
};

/* Next case of the vector file; false at the end. */
static bool next_case(FILE *file, struct alu_case *c)
{
    char line[256], a[64], b[64], result[64];
    while (fgets(line, sizeof(line), file)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        ck_assert_int_eq(sscanf(line, "%31[^\t]\t%63[^\t]\t%63[^\t]\t%63[^\t]\t%31[^\n]", c->op, a, b, result,
                                c->fault),
                         5);
        c->a = strtoll(a, NULL, 0);
        c->b = strtoll(b, NULL, 0);
        c->result = strtoll(result, NULL, 0);
        return true;
    }
    return false;
}

static FILE *open_cases(const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/check/%s", ROOST_VECTORS, name);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    return file;
}

/* One case, with the second source as a register or as an immediate. */
static void check_case(const struct alu_case *c, bool wide, bool immediate)
{
    struct world w;
    unsigned words = wide ? 2 : 1;
    enum bir_dtype dtype = wide ? BIR_DTYPE_UINT64 : BIR_DTYPE_INT32;
    world_init(&w);
    struct bir_register *x = reg_of(&w, "x", words), *y = reg_of(&w, "y", words), *z = reg_of(&w, "z", words);
    give(&w, x, c->a);
    give(&w, y, c->b);
    struct bir_instruction *inst = alu_of(&w, c->op, wide);
    add_reg(&w, inst, BIR_ROLE_IN, x, dtype);
    if (immediate)
        ck_assert_ptr_nonnull(bir_add_imm_int(w.module, inst, wide ? BIR_DTYPE_INT64 : BIR_DTYPE_INT32, c->b));
    else
        add_reg(&w, inst, BIR_ROLE_IN, y, dtype);
    add_reg(&w, inst, BIR_ROLE_OUT, z, dtype);
    if (strcmp(c->fault, "refused") == 0) {
        ck_assert_int_eq(decode(&w, inst), BIR_INTERNAL);
        ck_assert_uint_eq(w.diags.errors, 1);
    } else {
        enum bir_trap trap = run_one(&w, inst);
        ck_assert_str_eq(trap == BIR_TRAP_NONE ? "-" : bir_trap_name(trap), c->fault);
        bool stopped = trap == BIR_TRAP_DIVIDE_BY_ZERO || trap == BIR_TRAP_DIVIDE_OVERFLOW;
        int64_t result = wide ? c->result : (int32_t)(uint32_t)(uint64_t)c->result;
        for (unsigned l = 0; !stopped && l < BIR_MACHINE_LANES; l++)
            ck_assert_msg(value_of(&w, z, l) == result, "%s %lld %lld: %lld, expected %lld", c->op, (long long)c->a,
                          (long long)c->b, (long long)value_of(&w, z, l), (long long)result);
    }
    world_deinit(&w);
}

static void check_cases(const char *name, bool wide)
{
    struct alu_case c;
    FILE *file = open_cases(name);
    int n = 0;
    for (; next_case(file, &c); n++) {
        check_case(&c, wide, false);
        check_case(&c, wide, true);
    }
    fclose(file);
    ck_assert_int_gt(n, 10);
}

START_TEST(alu_32_bits)
{
    check_cases("alu32.tsv", false);
}
END_TEST

START_TEST(alu_64_bits)
{
    check_cases("alu64.tsv", true);
}
END_TEST

START_TEST(wide_operands_as_halves)
{
    struct world w;
    world_init(&w);
    struct bir_register *r[6];
    static const char *const names[] = { "alo", "ahi", "blo", "bhi", "dlo", "dhi" };
    static const int64_t values[] = { -4 /* 0xFFFFFFFC */, 1, 12, 0, 0, 0 };
    struct bir_instruction *inst = alu_of(&w, "add", true);
    for (int i = 0; i < 6; i++) {
        r[i] = reg_of(&w, names[i], 1);
        give(&w, r[i], values[i]);
        add_reg(&w, inst, i < 4 ? BIR_ROLE_IN : BIR_ROLE_OUT, r[i], BIR_DTYPE_UINT64);
    }
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, r[4], 0), 8); /* 0x1FFFFFFFC + 12 = 0x200000008 */
    ck_assert_int_eq(value_of(&w, r[5], 0), 2);
    world_deinit(&w);
}
END_TEST

START_TEST(in_place_and_single_source)
{
    struct world w;
    world_init(&w);
    struct bir_register *x = reg_of(&w, "x", 1);
    give(&w, x, 5);
    struct bir_instruction *inst = alu_of(&w, "mult", false);
    add_reg(&w, inst, BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, inst, BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, inst, BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, x, 3), 25);
    inst = alu_of(&w, "bitwise_not", false);
    add_reg(&w, inst, BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, inst, BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, x, 3), -26);
    world_deinit(&w);
}
END_TEST

/* --- moves --- */

START_TEST(moves)
{
    struct world w;
    world_init(&w);
    struct bir_register *x = reg_of(&w, "x", 1), *y = reg_of(&w, "y", 1), *p = reg_of(&w, "p", 2);
    struct bir_instruction *inst = inst_of(&w, BIR_OP_REGISTER_MOVE);
    ck_assert_ptr_nonnull(bir_add_imm_int(w.module, inst, BIR_DTYPE_INT32, -5));
    add_reg(&w, inst, BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, x, 0), -5);

    inst = inst_of(&w, BIR_OP_REGISTER_MOVE);
    add_reg(&w, inst, BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, inst, BIR_ROLE_OUT, y, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, y, 15), -5);

    inst = inst_of(&w, BIR_OP_REGISTER_MOVE);
    ck_assert_ptr_nonnull(bir_add_imm_int(w.module, inst, BIR_DTYPE_INT64, INT64_C(0x123456789ABC)));
    add_reg(&w, inst, BIR_ROLE_OUT, p, BIR_DTYPE_INT64);
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, p, 1), INT64_C(0x123456789ABC));

    /* a 4-byte move into a pair writes its low word (widening, lowering.md 9.3) */
    inst = inst_of(&w, BIR_OP_REGISTER_MOVE);
    add_reg(&w, inst, BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, inst, BIR_ROLE_OUT, p, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, p, 1), INT64_C(0x1234FFFFFFFB));
    world_deinit(&w);
}
END_TEST

/* --- malformed code --- */

START_TEST(refuses_malformed_code)
{
    struct world w;
    world_init(&w);
    struct bir_register *x = reg_of(&w, "x", 1), *p = reg_of(&w, "p", 2);
    give(&w, x, 1);
    give(&w, p, 1);
    struct bir_instruction *bad[6];
    bad[0] = alu_of(&w, "add", false); /* EBIR010: one 32-bit and one 64-bit source */
    add_reg(&w, bad[0], BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, bad[0], BIR_ROLE_IN, p, BIR_DTYPE_INT64);
    add_reg(&w, bad[0], BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    bad[1] = alu_of(&w, "add", true); /* 64-bit result of 32-bit registers */
    add_reg(&w, bad[1], BIR_ROLE_IN, x, BIR_DTYPE_INT64);
    add_reg(&w, bad[1], BIR_ROLE_IN, x, BIR_DTYPE_INT64);
    add_reg(&w, bad[1], BIR_ROLE_OUT, p, BIR_DTYPE_INT64);
    bad[2] = alu_of(&w, "add", false); /* no output */
    add_reg(&w, bad[2], BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, bad[2], BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    bad[3] = inst_of(&w, BIR_OP_REGISTER_MOVE); /* EBIR012 */
    add_reg(&w, bad[3], BIR_ROLE_IN, p, BIR_DTYPE_INT64);
    add_reg(&w, bad[3], BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    bad[4] = inst_of(&w, BIR_OP_TENSOR_LOAD); /* no source */
    add_reg(&w, bad[4], BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    bad[5] = inst_of(&w, BIR_OP_REGISTER_ALU); /* no op */
    add_reg(&w, bad[5], BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, bad[5], BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, bad[5], BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(bir_machine_decode(&w.machine, bad[i], true), BIR_INTERNAL);
        ck_assert_int_eq(bir_machine_decode(&w.machine, bad[i], false), BIR_INVALID);
        ck_assert_uint_eq(w.diags.errors, 2 * i + 2);
    }
    w.machine.forgiving = true; /* code that is not ours: its outputs become data */
    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(bir_machine_decode(&w.machine, bad[i], false), BIR_OK);
    ck_assert_int_eq(bir_machine_decode(&w.machine, bad[0], true), BIR_INTERNAL);
    world_deinit(&w);
}
END_TEST

START_TEST(unwritten_register_is_an_error)
{
    struct world w;
    world_init(&w);
    struct bir_register *x = reg_of(&w, "x", 1), *y = reg_of(&w, "y", 1);
    struct bir_instruction *use = inst_of(&w, BIR_OP_REGISTER_MOVE), *def = inst_of(&w, BIR_OP_REGISTER_MOVE);
    add_reg(&w, use, BIR_ROLE_IN, x, BIR_DTYPE_INT32);
    add_reg(&w, use, BIR_ROLE_OUT, y, BIR_DTYPE_INT32);
    ck_assert_ptr_nonnull(bir_add_imm_int(w.module, def, BIR_DTYPE_INT32, 1));
    add_reg(&w, def, BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    w.machine.check_order = true;
    ck_assert_int_eq(decode(&w, use), BIR_INTERNAL);
    ck_assert_str_eq(w.diags.first->code, "check-register-code");
    ck_assert_int_eq(decode(&w, def), BIR_OK);
    ck_assert_int_eq(decode(&w, use), BIR_OK);
    world_deinit(&w);
}
END_TEST

/* --- loads --- */

static struct bir_location *location_of(struct world *w, const char *set_name, const char *name,
                                        enum bir_memory_type type)
{
    struct bir_set *set = bir_set_new(w->function, name_of(w, set_name));
    ck_assert_ptr_nonnull(set);
    struct bir_location *location = bir_location_new(set, name_of(w, name));
    ck_assert_ptr_nonnull(location);
    location->type = (uint8_t)type;
    return location;
}

static struct bir_register_ap *table_load(struct world *w, struct bir_set *table, struct bir_register *low,
                                          struct bir_register *high, struct bir_register *out)
{
    struct bir_instruction *inst = inst_of(w, BIR_OP_TENSOR_LOAD);
    struct bir_register_ap *ap =
        (struct bir_register_ap *)bir_argument_new(w->module, inst, BIR_ARG_REGISTER_AP, BIR_ROLE_IN, BIR_DTYPE_INT32);
    ck_assert_ptr_nonnull(ap);
    bir_argument_set_location(&ap->base, &table->base, false, true);
    ap->address = low;
    add_reg(w, inst, BIR_ROLE_IN, high, BIR_DTYPE_INT32);
    add_reg(w, inst, BIR_ROLE_OUT, out, BIR_DTYPE_INT32);
    return ap;
}

START_TEST(pointer_and_table)
{
    struct world w;
    static const int64_t entries[] = { 0x1000, 0x1400, 0x1800 };
    struct bir_pair pair = { 1, 1 };
    world_init(&w);
    struct bir_location *table = location_of(&w, "x-addr-table", "x-addr", BIR_MEMORY_DRAM);
    struct bir_location *other = location_of(&w, "y-addr-table", "y-addr", BIR_MEMORY_DRAM);
    struct bir_location *pointer = location_of(&w, "x-ADDR_set", "x-ADDR", BIR_MEMORY_DRAM);
    table->set->table_entries = other->set->table_entries = bir_ints_get(w.module, entries, 3);
    pointer->pointer_target = table;
    struct bir_register *lo = reg_of(&w, "lo", 1), *hi = reg_of(&w, "hi", 1), *out = reg_of(&w, "out", 1);
    struct bir_instruction *load = inst_of(&w, BIR_OP_TENSOR_LOAD);
    ck_assert_ptr_nonnull(bir_add_physical_ap(w.module, load, BIR_ROLE_IN, pointer, bir_pattern_get(w.module, &pair, 1),
                                              0, BIR_DTYPE_INT64));
    add_reg(&w, load, BIR_ROLE_OUT, lo, BIR_DTYPE_INT32);
    add_reg(&w, load, BIR_ROLE_OUT, hi, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, load), BIR_TRAP_NONE);
    /* correction 10: the first table is at 0x1FFFFFFFC, so adding one entry carries */
    ck_assert_int_eq(value_of(&w, lo, 0), -4);
    ck_assert_int_eq(value_of(&w, hi, 0), 1);

    struct bir_instruction *entry = bir_argument_parent(&table_load(&w, table->set, lo, hi, out)->base);
    ck_assert_int_eq(run_one(&w, entry), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, out, 0), 0x1000);
    give(&w, lo, 4); /* 0x200000004 = table + 8 */
    give(&w, hi, 2);
    ck_assert_int_eq(run_one(&w, entry), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, out, 0), 0x1800);
    static const int64_t outside[] = { 8, 5, -8 };
    for (int i = 0; i < 3; i++) {
        give(&w, lo, outside[i]);
        ck_assert_int_eq(run_one(&w, entry), BIR_TRAP_TABLE_BOUNDS);
    }
    /* the right address in the wrong table */
    give(&w, lo, 4);
    ck_assert_int_eq(run_one(&w, bir_argument_parent(&table_load(&w, other->set, lo, hi, out)->base)),
                     BIR_TRAP_TABLE_BOUNDS);
    world_deinit(&w);
}
END_TEST

START_TEST(data_of_tensors)
{
    struct world w;
    struct bir_pair pair = { 1, 1 };
    static const int64_t dims[] = { 128, 64 };
    world_init(&w);
    struct bir_location *sb = location_of(&w, "t_set", "t", BIR_MEMORY_SB);
    sb->addr_bytes = 256;
    sb->base_partition = 1;
    sb->dims = bir_ints_get(w.module, dims, 2);
    struct bir_register *x = reg_of(&w, "x", 1), *y = reg_of(&w, "y", 1), *a = reg_of(&w, "a", 1),
                        *p = reg_of(&w, "p", 2);
    const struct bir_pattern *one = bir_pattern_get(w.module, &pair, 1);
    struct bir_instruction *load = inst_of(&w, BIR_OP_TENSOR_LOAD);
    ck_assert_ptr_nonnull(bir_add_physical_ap(w.module, load, BIR_ROLE_IN, sb, one, 19, BIR_DTYPE_INT32));
    add_reg(&w, load, BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, load), BIR_TRAP_NONE);
    bool differ = false;
    for (unsigned l = 0; l < BIR_MACHINE_LANES; l++) {
        ck_assert_int_ge(value_of(&w, x, l), 0);
        ck_assert_int_lt(value_of(&w, x, l), 1000);
        differ |= value_of(&w, x, l) != value_of(&w, x, 0);
    }
    ck_assert(differ);
    /* The same element by address: row of 16, so 19 is partition 2, column 3 (0x40000 bytes a partition). */
    give(&w, a, 256 + 2 * 0x40000 + 3 * 4);
    struct bir_instruction *by_address = inst_of(&w, BIR_OP_TENSOR_LOAD);
    struct bir_register_ap *ap = (struct bir_register_ap *)bir_argument_new(w.module, by_address, BIR_ARG_REGISTER_AP,
                                                                            BIR_ROLE_IN, BIR_DTYPE_INT32);
    bir_argument_set_location(&ap->base, &sb->set->base, false, true);
    ap->address = a;
    add_reg(&w, by_address, BIR_ROLE_OUT, y, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, by_address), BIR_TRAP_NONE);
    for (unsigned l = 0; l < BIR_MACHINE_LANES; l++)
        ck_assert_int_eq(value_of(&w, x, l), value_of(&w, y, l));
    /* A save is seen by the load that follows; 8 bytes need two words. */
    struct bir_instruction *save = inst_of(&w, BIR_OP_TENSOR_SAVE);
    give(&w, a, 77);
    add_reg(&w, save, BIR_ROLE_IN, a, BIR_DTYPE_INT32);
    ck_assert_ptr_nonnull(bir_add_physical_ap(w.module, save, BIR_ROLE_OUT, sb, one, 19, BIR_DTYPE_INT32));
    ck_assert_int_eq(run_one(&w, save), BIR_TRAP_NONE);
    ck_assert_int_eq(run_one(&w, load), BIR_TRAP_NONE);
    ck_assert_int_eq(value_of(&w, x, 2), 77);
    struct bir_instruction *wide = inst_of(&w, BIR_OP_TENSOR_LOAD);
    ck_assert_ptr_nonnull(bir_add_physical_ap(w.module, wide, BIR_ROLE_IN, sb, one, 4, BIR_DTYPE_INT32));
    add_reg(&w, wide, BIR_ROLE_OUT, p, BIR_DTYPE_INT64);
    ck_assert_int_eq(decode(&w, wide), BIR_INTERNAL); /* EBIR011 */
    world_deinit(&w);
}
END_TEST

START_TEST(element_addresses)
{
    struct world w;
    static const int64_t dims[] = { 128, 2048 };
    world_init(&w);
    struct bir_location *psum = location_of(&w, "acc_set", "acc", BIR_MEMORY_PSUM);
    psum->bank = -2;
    psum->base_partition = 32;
    psum->addr_bytes = 8;
    psum->dims = bir_ints_get(w.module, dims, 2);
    /* descriptors.md 1.2: 0x2000000 + partition * 0x8000 + bank * 0x800 + byte */
    ck_assert_int_eq(bir_check_location_entry(psum), 0x2000000 + 32 * 0x8000 + 2 * 0x800 + 8);
    ck_assert_uint_eq(bir_check_element_key(psum, 513, BIR_DTYPE_FLOAT32), 0x2000000 + 33 * 0x8000 + 2 * 0x800 + 8 + 4);
    ck_assert_int_eq(bir_check_location_entry(location_of(&w, "d_set", "d", BIR_MEMORY_DRAM)), -1);
    for (unsigned d = 0; d < BIR_DTYPE_COUNT; d++) /* two transcriptions of enums.md section 1 */
        ck_assert_int_eq(bir_check_dtype_bytes((uint8_t)d), bir_dtype_bytes((uint8_t)d));
    ck_assert_int_eq(bir_check_dtype_bytes(BIR_ENUM_UNKNOWN), 0);
    world_deinit(&w);
}
END_TEST

/* --- names --- */

START_TEST(physical_names_collide)
{
    struct world w;
    world_init_named(&w, BIR_MACHINE_PHYSICAL);
    struct bir_register *x = reg_of(&w, "x", 1), *y = reg_of(&w, "y", 1), *p = reg_of(&w, "p", 2),
                        *z = reg_of(&w, "z", 1);
    uint32_t slot;
    x->physical_id = 4;
    y->physical_id = 4; /* a wrong colouring */
    p->physical_id = 5;
    give(&w, x, 10);
    give(&w, y, 20);
    ck_assert_int_eq(value_of(&w, x, 0), 20);
    give(&w, p, INT64_C(0x300000002));
    z->physical_id = 6;
    ck_assert_int_eq(value_of(&w, z, 0), 3);
    z->engine = BIR_ENGINE_PE; /* another file */
    ck_assert_int_eq(value_of(&w, z, 0), BIR_MACHINE_RESET_VALUE);
    z->physical_id = -1;
    ck_assert_int_eq(bir_machine_slot(&w.machine, z, &slot), BIR_INTERNAL);
    p->physical_id = 63;
    ck_assert_int_eq(bir_machine_slot(&w.machine, p, &slot), BIR_INTERNAL);
    ck_assert_str_eq(w.diags.first->code, "check-register-id");
    world_deinit(&w);
}
END_TEST

START_TEST(consumers_write_data)
{
    struct world w;
    world_init(&w);
    struct bir_register *x = reg_of(&w, "x", 1);
    struct bir_instruction *inst = inst_of(&w, BIR_OP_GET_SEQUENCE_BOUNDS);
    add_reg(&w, inst, BIR_ROLE_OUT, x, BIR_DTYPE_INT32);
    ck_assert_int_eq(run_one(&w, inst), BIR_TRAP_NONE);
    ck_assert_uint_eq(w.machine.ops.count, 1);
    ck_assert_int_ge(value_of(&w, x, 0), 0);
    ck_assert_int_lt(value_of(&w, x, 0), 1000);
    w.machine.ops.count = 0;
    ck_assert_int_eq(decode(&w, inst_of(&w, BIR_OP_ACTIVATION)), BIR_OK);
    ck_assert_uint_eq(w.machine.ops.count, 0);
    world_deinit(&w);
}
END_TEST

/* --- threads --- */

static enum bir_status count_visit(void *user, int64_t number)
{
    int64_t *visits = user;
    visits[number]++;
    return visits[number] == 1000 ? BIR_CANCELLED : BIR_OK;
}

/* 0: x := from; 1: consume 0; 2: x := x + 1; 3: if x `compare` limit goto 1 else 4; 4: end */
static enum bir_status count_loop(struct world *w, enum bir_branch_compare compare, enum bir_dtype dtype, int32_t from,
                                  int32_t limit, uint64_t max_steps, int64_t *visits, struct bir_machine_fault *fault)
{
    uint32_t x;
    w->machine.ops.count = 0;
    ck_assert_int_eq(bir_machine_new_slots(&w->machine, 1, &x), BIR_OK);
    const struct bir_machine_op ops[] = {
        { .code = BIR_MACHINE_MOVE, .flags = BIR_MACHINE_IMM, .out = x, .imm = from },
        { .code = BIR_MACHINE_CONSUME, .imm = 0 },
        { .code = BIR_ALU_ADD, .flags = BIR_MACHINE_IMM, .a = x, .out = x, .imm = 1 },
        { .code = BIR_MACHINE_BRANCH,
          .flags = BIR_MACHINE_IMM,
          .a = x,
          .imm = limit,
          .compare = (uint8_t)compare,
          .dtype = (uint8_t)dtype,
          .target = { 1, 4 } },
        { .code = BIR_MACHINE_END },
    };
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(bir_machine_append(&w->machine, &ops[i]), BIR_OK);
    *visits = 0;
    return bir_machine_run_thread(&w->machine, 0, max_steps, count_visit, visits, fault);
}

START_TEST(threads)
{
    static const struct {
        enum bir_branch_compare compare;
        enum bir_dtype dtype;
        int32_t from, limit;
        int64_t visits;
    } cases[] = {
        { BIR_BRANCH_IS_LTIMM, BIR_DTYPE_INT32, 0, 5, 5 },
        { BIR_BRANCH_IS_LEIMM, BIR_DTYPE_INT32, 0, 5, 6 },
        { BIR_BRANCH_IS_EQIMM, BIR_DTYPE_INT32, 0, 1, 2 },
        { BIR_BRANCH_IS_NEIMM, BIR_DTYPE_INT32, 0, 5, 5 },
        { BIR_BRANCH_IS_GEIMM, BIR_DTYPE_INT32, 0, 5, 1 },
        { BIR_BRANCH_IS_GTIMM, BIR_DTYPE_INT32, 0, 1, 1 },
        { BIR_BRANCH_IS_LTREG, BIR_DTYPE_INT32, -3, 2, 5 },
        { BIR_BRANCH_IS_LTIMM, BIR_DTYPE_UINT32, -3, 2, 1 },
        { BIR_BRANCH_IS_GTIMM, BIR_DTYPE_UINT32, -3, 2, 3 },
        { BIR_BRANCH_IS_LTIMM, BIR_DTYPE_FLOAT32, 0, 0x3F800000, 1000 },
    };
    struct world w;
    struct bir_machine_fault fault;
    int64_t visits;
    world_init(&w);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum bir_status status =
            count_loop(&w, cases[i].compare, cases[i].dtype, cases[i].from, cases[i].limit, 10000, &visits, &fault);
        ck_assert_int_eq(status, cases[i].visits == 1000 ? BIR_CANCELLED : BIR_OK);
        ck_assert_msg(visits == cases[i].visits, "case %u: %lld visits", i, (long long)visits);
    }
    ck_assert_int_eq(count_loop(&w, BIR_BRANCH_IS_LTIMM, BIR_DTYPE_INT32, 0, 500, 100, &visits, &fault), BIR_OK);
    ck_assert_int_eq(fault.trap, BIR_TRAP_STEPS);
    ck_assert_int_eq(count_loop(&w, BIR_BRANCH_IS_LTIMM, BIR_DTYPE_INT32, 0, 5, 100, &visits, &fault), BIR_OK);
    ck_assert_int_eq(fault.trap, BIR_TRAP_NONE);
    world_deinit(&w);
}
END_TEST

START_TEST(threads_see_unwritten_registers)
{
    struct world w;
    struct bir_machine_fault fault;
    uint32_t slots;
    int64_t visits = 0;
    world_init(&w);
    ck_assert_int_eq(bir_machine_new_slots(&w.machine, 2, &slots), BIR_OK);
    struct bir_machine_op op = {
        .code = BIR_ALU_ADD, .flags = BIR_MACHINE_IMM, .a = slots, .out = slots + 1, .imm = 1
    };
    struct bir_machine_op end = { .code = BIR_MACHINE_END };
    ck_assert_int_eq(bir_machine_append(&w.machine, &op), BIR_OK);
    ck_assert_int_eq(bir_machine_append(&w.machine, &end), BIR_OK);
    ck_assert_int_eq(bir_machine_run_thread(&w.machine, 0, 100, count_visit, &visits, &fault), BIR_OK);
    ck_assert_int_eq(fault.trap, BIR_TRAP_UNWRITTEN);
    bir_machine_set(&w.machine, slots, 41);
    ck_assert_int_eq(bir_machine_run_thread(&w.machine, 0, 100, count_visit, &visits, &fault), BIR_OK);
    ck_assert_int_eq(fault.trap, BIR_TRAP_NONE);
    ck_assert_int_eq(w.machine.values[slots + 1][0], 42);
    world_deinit(&w);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        alu_32_bits,
        alu_64_bits,
        wide_operands_as_halves,
        in_place_and_single_source,
        moves,
        refuses_malformed_code,
        unwritten_register_is_an_error,
        pointer_and_table,
        data_of_tensors,
        element_addresses,
        physical_names_collide,
        consumers_write_data,
        threads,
        threads_see_unwritten_registers,
    };
    return UNIT_RUN("machine", tests);
}

/* A hand-written program as instructions, with the tables and counters that it names. */
#include "hand_lowered.h"

#include <string.h>

#include "check/machine.h"
#include "unit.h"

char *hand_read_vector(const char *area, const char *name, size_t *len)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s/%s", ROOST_VECTORS, area, name);
    return unit_read_file(path, len);
}

const struct bir_str *hand_name(struct hand *h, const char *text)
{
    const struct bir_str *name = bir_intern_cstr(&h->module->strings, text);
    ck_assert_ptr_nonnull(name);
    return name;
}

static struct bir_register *hand_register(struct hand *h, const char *name)
{
    ck_assert_ptr_nonnull(name);
    struct bir_register *reg =
        bir_function_add_register(h->function, hand_name(h, name), (enum bir_engine)h->consumer->engine, 1);
    ck_assert_ptr_nonnull(reg);
    return reg;
}

static struct bir_location *hand_location(struct hand *h, const char *name, enum bir_tensor_kind kind,
                                          enum bir_dtype dtype)
{
    char set_name[64];
    snprintf(set_name, sizeof(set_name), "%s_set", name);
    struct bir_set *set = bir_set_new(h->function, hand_name(h, set_name));
    ck_assert_ptr_nonnull(set);
    set->kind = (uint8_t)kind;
    set->base.dtype = (uint8_t)dtype;
    struct bir_location *location = bir_location_new(set, hand_name(h, name));
    ck_assert_ptr_nonnull(location);
    location->type = BIR_MEMORY_DRAM;
    return location;
}

/* The value of a key, from the mutant when it has one. */
static json_t *hand_get(const struct hand *h, const json_t *mutant, const char *key)
{
    json_t *value = json_object_get(mutant, key);
    return value ? value : json_object_get(h->vector, key);
}

static void hand_tables(struct hand *h, const json_t *mutant, struct bir_set *set)
{
    int64_t entries[16];
    json_t *table = hand_get(h, mutant, "table");
    size_t n = json_array_size(table);
    ck_assert_uint_le(n, 16);
    for (size_t i = 0; i < n; i++)
        entries[i] = json_integer_value(json_array_get(table, i));
    struct bir_location *location = hand_location(h, "hand-addr-table", BIR_TENSOR_CONST, BIR_DTYPE_INT32);
    h->table = location->set;
    h->table->table_entries = bir_ints_get(h->module, entries, (uint32_t)n);
    set->addr_table = h->table;
    h->pointer = hand_location(h, "hand-ADDR", BIR_TENSOR_POINTER, BIR_DTYPE_INT64);
    h->pointer->pointer_target = location;
}

struct bir_instruction *hand_find_instruction(struct bir_function *function, const char *name)
{
    struct bir_walk walk;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        if (bir_str_is(inst->name, name))
            return inst;
    }
    ck_abort_msg("no instruction %s", name);
    return NULL;
}

static void hand_counters(struct hand *h)
{
    for (struct bir_instruction *owner = h->consumer->block->region->owner; owner;
         owner = owner->block->region->owner) {
        struct bir_loop *loop = owner->rare->loop;
        json_t *name = json_object_get(json_object_get(h->vector, "counters"), loop->axis->name->text);
        struct bir_register *reg = hand_register(h, json_string_value(name));
        ck_assert(pelican_axis_set_register(&h->module->expressions, loop->axis, h->consumer->engine, reg));
        ck_assert(bir_vec_push(&h->module->arena, &loop->registers, reg));
    }
}

static void hand_access(struct hand *h, struct bir_instruction *inst, enum bir_role role, const json_t *operand,
                        enum bir_dtype dtype)
{
    if (json_is_integer(operand))
        ck_assert_ptr_nonnull(bir_add_imm_int(h->module, inst,
                                              dtype == BIR_DTYPE_UINT64 ? BIR_DTYPE_INT64 : BIR_DTYPE_INT32,
                                              json_integer_value(operand)));
    else
        ck_assert_ptr_nonnull(
            bir_add_register_access(h->module, inst, role, hand_register(h, json_string_value(operand)), dtype));
}

static void hand_prop(struct hand *h, struct bir_instruction *inst, const char *op, bool wide)
{
    struct bir_prop text = { .type = BIR_VALUE_TEXT, .u.s = hand_name(h, op) },
                    yes = { .type = BIR_VALUE_BOOL, .u.b = true };
    text.key = hand_name(h, "op");
    yes.key = hand_name(h, "is_64bit");
    inst->props = bir_props_with(h->module, inst->props, "op", &text);
    if (wide)
        inst->props = bir_props_with(h->module, inst->props, "is_64bit", &yes);
    ck_assert_ptr_nonnull(inst->props);
}

static void hand_load(struct hand *h, struct bir_instruction *inst, const json_t *line, bool entry)
{
    struct bir_pair one = { 1, 1 };
    const struct bir_pattern *pattern = bir_pattern_get(h->module, &one, 1);
    if (!entry) {
        ck_assert_ptr_nonnull(
            bir_add_physical_ap(h->module, inst, BIR_ROLE_IN, h->pointer, pattern, 0, BIR_DTYPE_INT64));
        hand_access(h, inst, BIR_ROLE_OUT, json_array_get(line, 1), BIR_DTYPE_INT32);
        hand_access(h, inst, BIR_ROLE_OUT, json_array_get(line, 2), BIR_DTYPE_INT32);
        return;
    }
    struct bir_register_ap *ap =
        (struct bir_register_ap *)bir_argument_new(h->module, inst, BIR_ARG_REGISTER_AP, BIR_ROLE_IN, BIR_DTYPE_INT32);
    ck_assert_ptr_nonnull(ap);
    bir_argument_set_location(&ap->base, &h->table->base, false, true);
    ap->pattern = pattern;
    ap->address = hand_register(h, json_string_value(json_array_get(line, 2)));
    hand_access(h, inst, BIR_ROLE_IN, json_array_get(line, 3), BIR_DTYPE_INT32);
    hand_access(h, inst, BIR_ROLE_OUT, json_array_get(line, 1), BIR_DTYPE_INT32);
}

static void hand_instruction(struct hand *h, const json_t *line)
{
    const char *op = json_string_value(json_array_get(line, 0));
    char name[64], alu[32];
    snprintf(name, sizeof(name), "hand-%d", h->n_code++);
    bool move = strcmp(op, "move") == 0, pointer = strcmp(op, "pointer") == 0, entry = strcmp(op, "entry") == 0;
    bool wide = strstr(op, "64") != NULL;
    enum bir_opcode opcode = move ? BIR_OP_REGISTER_MOVE : pointer || entry ? BIR_OP_TENSOR_LOAD : BIR_OP_REGISTER_ALU;
    struct bir_instruction *inst =
        bir_instruction_new(h->module, opcode, (enum bir_engine)h->consumer->engine, hand_name(h, name));
    ck_assert_ptr_nonnull(inst);
    if (pointer || entry) {
        hand_load(h, inst, line, entry);
    } else {
        enum bir_dtype dtype = wide ? BIR_DTYPE_UINT64 : BIR_DTYPE_INT32;
        size_t outs = wide ? 2 : 1;
        for (size_t i = 1; i < json_array_size(line); i++)
            hand_access(h, inst, i <= outs ? BIR_ROLE_OUT : BIR_ROLE_IN, json_array_get(line, i), dtype);
        snprintf(alu, sizeof(alu), "%.*s", (int)(strlen(op) - (wide ? 2 : 0)), op);
        if (!move)
            hand_prop(h, inst, alu, wide);
    }
    bir_instruction_insert_before(h->consumer, inst);
}

static void hand_replace(struct hand *h, const json_t *mutant)
{
    uint32_t position = (uint32_t)json_integer_value(json_object_get(h->vector, "position"));
    struct bir_argument *old = bir_instruction_argument(h->consumer, BIR_ROLE_IN, position);
    ck_assert_int_eq(old->kind, BIR_ARG_SYMBOLIC_AP);
    struct bir_register_ap *ap = (struct bir_register_ap *)bir_argument_new_before(h->module, old, BIR_ARG_REGISTER_AP,
                                                                                   (enum bir_dtype)old->dtype);
    ck_assert_ptr_nonnull(ap);
    ap->pattern = bir_argument_pattern(old);
    ap->const_sub_tensor_id = -1;
    ap->address = hand_register(h, json_string_value(hand_get(h, mutant, "regref")));
    ap->offset = hand_register(h, json_string_value(hand_get(h, mutant, "reg_ap_offset")));
    ap->sub_tensor = hand_register(h, json_string_value(hand_get(h, mutant, "reg_sub_tensor_id")));
    bir_argument_set_location(&ap->base, old->location, false, true);
    bir_argument_remove(old);
}

/* A mutant may take blocks away from every set before the record is made. */
static void hand_blocks(struct hand *h, const json_t *mutant)
{
    json_t *blocks = json_object_get(mutant, "blocks");
    for (uint32_t i = 0; blocks && i < h->function->storages.count; i++) {
        struct bir_set *set = (struct bir_set *)h->function->storages.items[i];
        if (set->base.tag == BIR_STORAGE_SET && set->locations.count > (uint32_t)json_integer_value(blocks)) {
            set->locations.count = (uint32_t)json_integer_value(blocks);
            set->n_blocks = json_integer_value(blocks);
        }
    }
}

/* Reads the module, records it, and lowers it by the vector's code, with the mutant's change if there is one. */
void hand_init(struct hand *h, json_t *vector, const json_t *mutant)
{
    size_t len;
    memset(h, 0, sizeof(*h));
    h->vector = vector;
    bir_arena_init(&h->arena, 0);
    bir_diags_init(&h->diags, &h->arena, 20);
    char *text = hand_read_vector("integration", json_string_value(json_object_get(vector, "module")), &len);
    struct bir_read_options options = { .strict = false };
    ck_assert_int_eq(bir_module_read_json(text, len, &options, &h->diags, &h->module), BIR_OK);
    free(text);
    h->function = h->module->functions;
    hand_blocks(h, mutant);
    h->consumer = hand_find_instruction(h->function, json_string_value(json_object_get(vector, "instruction")));
    hand_counters(h);
    ck_assert_int_eq(bir_validation_record(h->module, &h->arena, &h->validation), BIR_OK);
    ck_assert_uint_eq(bir_validation_operand_count(h->validation), 1);
    uint32_t position = (uint32_t)json_integer_value(json_object_get(vector, "position"));
    hand_tables(h, mutant, bir_argument_set(bir_instruction_argument(h->consumer, BIR_ROLE_IN, position)));
    json_t *code = json_object_get(vector, "code"), *at = json_object_get(mutant, "at");
    for (size_t i = 0; i < json_array_size(code); i++) {
        json_t *line = json_array_get(code, i);
        if (at && (size_t)json_integer_value(at) == i)
            line = json_object_get(mutant, "code");
        if (!json_is_null(line))
            hand_instruction(h, line);
    }
    hand_replace(h, mutant);
}

void hand_deinit(struct hand *h)
{
    bir_module_free(h->module);
    bir_arena_deinit(&h->arena);
}

enum bir_status hand_run(struct hand *h, enum bir_validation_mode mode, struct bir_validation_stats *stats)
{
    struct bir_validation_options options = { .mode = mode, .seed = 11 };
    memset(stats, 0, sizeof(*stats));
    return bir_validation_run(h->validation, h->module, &options, &h->diags, stats);
}

/* The address that the program in front of `consumer` computes at one iteration. */
static int64_t execute_address(struct bir_instruction *consumer, const struct bir_register_ap *ap, const json_t *at)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_machine m;
    struct bir_machine_fault fault;
    uint32_t slot;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    ck_assert_int_eq(bir_machine_init(&m, &arena, &diags, BIR_MACHINE_SYMBOLIC, 1, 100), BIR_OK);
    for (struct bir_instruction *owner = consumer->block->region->owner; owner; owner = owner->block->region->owner) {
        const struct pelican_axis *axis = owner->rare->loop->axis;
        ck_assert_int_eq(bir_machine_slot(&m, axis->registers[consumer->engine], &slot), BIR_OK);
        bir_machine_set(&m, slot, (int32_t)json_integer_value(json_object_get(at, axis->name->text)));
    }
    for (struct bir_instruction *inst = consumer->block->first; inst != consumer; inst = inst->next)
        ck_assert_int_eq(bir_machine_decode(&m, inst, true), BIR_OK);
    ck_assert(bir_machine_run(&m, 0, m.ops.count, &fault));
    ck_assert_int_eq(bir_machine_slot(&m, ap->address, &slot), BIR_OK);
    int64_t address = m.values[slot][0];
    bir_arena_deinit(&arena);
    return address;
}

void hand_check_addresses(const json_t *vector, struct bir_function *function)
{
    struct bir_instruction *consumer =
        hand_find_instruction(function, json_string_value(json_object_get(vector, "instruction")));
    uint32_t position = (uint32_t)json_integer_value(json_object_get(vector, "position"));
    const struct bir_argument *arg = bir_instruction_argument(consumer, BIR_ROLE_IN, position);
    json_t *addresses = json_object_get(vector, "addresses");
    ck_assert_int_eq(arg->kind, BIR_ARG_REGISTER_AP);
    for (size_t i = 0; i < json_array_size(addresses); i++) {
        const json_t *at = json_array_get(addresses, i);
        ck_assert_int_eq(execute_address(consumer, (const struct bir_register_ap *)arg, at),
                         json_integer_value(json_object_get(at, "address")));
    }
}

json_t *hand_load_vector(const char *name)
{
    size_t len;
    char *text = hand_read_vector("check", name, &len);
    json_error_t error;
    json_t *vector = json_loadb(text, len, 0, &error);
    ck_assert_msg(vector != NULL, "%s:%d: %s", name, error.line, error.text);
    free(text);
    return vector;
}

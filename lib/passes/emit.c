/*
 * Emission of register code. Everything a lowering emits goes through here, so that operand order, dtypes and names
 * have one place.
 *
 * Names are put together by hand in a buffer of the emitter: millions are made, and formatted output would be a good
 * part of the time of a lowering. A name that an input took already gets a further "-" and number, so names stay
 * unique.
 *
 * Looking for each name would take longer than all the rest, since tables of a hundred thousand names are in no cache.
 * When no string of the module contains the marker, say "-lap", `<instruction>-lap<k>-<number>` is new if instructions
 * have different names: the text before the last marker tells the instruction, what follows it the operand and the
 * number. When none begins with "Reg_", a register's number, which counts up, makes `Reg_<number>_...` new. That holds
 * for one function: in another an instruction may have the same name.
 */
#define _GNU_SOURCE /* memmem */

#include "passes/emit.h"

#define NUMBER_MAX 11 /* "-" and ten digits */

void bir_emitter_init(struct bir_emitter *e, struct bir_module *module, const struct bir_pass_context *context)
{
    *e = (struct bir_emitter){ .module = module, .context = context };
}

/* --- names --- */

static bool need_room(struct bir_emitter *e, size_t room)
{
    if (room <= e->name_capacity)
        return true;
    size_t capacity = room + room / 2 + 64;
    char *name = capacity < UINT32_MAX
                     ? bir_arena_grow(e->context->scratch, BIR_MEM_OTHER, e->name, e->name_capacity, capacity)
                     : NULL;
    if (!name) {
        e->failed = true;
        return false;
    }
    e->name = name;
    e->name_capacity = (uint32_t)capacity;
    return true;
}

static uint32_t put_text(struct bir_emitter *e, uint32_t at, const char *text, size_t len)
{
    if (!need_room(e, at + len + 2 * NUMBER_MAX))
        return at;
    memcpy(e->name + at, text, len);
    return at + (uint32_t)len;
}

/* After put_text there is room for two numbers. */
static uint32_t put_number(struct bir_emitter *e, uint32_t at, uint32_t value)
{
    char digits[NUMBER_MAX];
    uint32_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n > 0)
        e->name[at++] = digits[--n];
    return at;
}

static const struct bir_str *intern_name(struct bir_emitter *e, uint32_t len)
{
    const struct bir_str *name = e->failed ? NULL : bir_intern(&e->module->strings, e->name, len);
    e->failed = !name;
    return name;
}

static const struct bir_str *new_name(struct bir_emitter *e, uint32_t at, uint32_t len)
{
    const struct bir_str *name = e->failed ? NULL : bir_intern_new(&e->module->strings, e->name + at, len);
    e->failed = !name;
    return name;
}

/* The first len bytes of the buffer, with a number where the map has that name. */
static const struct bir_str *free_name(struct bir_emitter *e, struct bir_free_names *names, const struct bir_map *taken,
                                       uint32_t len)
{
    const struct bir_str *name =
        bir_free_name(names, &e->module->strings, e->context->scratch, taken, intern_name(e, len));
    e->failed = !name;
    return name;
}

static uint32_t put_position_name(struct bir_emitter *e, uint32_t at)
{
    const struct bir_str *name = e->position->name;
    return name ? put_text(e, at, name->text, name->len) : put_text(e, at, "unnamed", 7);
}

void bir_emitter_suffix(struct bir_emitter *e, const char *suffix)
{
    e->prefix_len = put_text(e, put_position_name(e, 0), suffix, strlen(suffix));
}

void bir_emitter_place(struct bir_emitter *e, struct bir_instruction *position, const char *suffix)
{
    struct bir_function *function = position->block->region->function;
    if (function != e->function) {
        e->instruction_names = e->register_names = (struct bir_free_names){ .last = { 0 } };
        e->names_are_new = false;
    }
    e->position = position;
    e->function = function;
    e->last = NULL;
    e->next = 0;
    bir_emitter_suffix(e, suffix);
}

static bool is_in_the_way(const struct bir_str *s, void *marker)
{
    return (s->len > 4 && memcmp(s->text, "Reg_", 4) == 0) || memmem(s->text, s->len, marker, strlen(marker));
}

static uint32_t bounded(uint64_t n)
{
    return n < UINT32_MAX / 4 ? (uint32_t)n : UINT32_MAX / 4;
}

void bir_emitter_claim(struct bir_emitter *e, struct bir_function *function, const char *marker, uint64_t instructions,
                       uint64_t registers)
{
    struct bir_arena *arena = &e->module->arena;
    if (bir_strtab_any(&e->module->strings, is_in_the_way, (void *)(uintptr_t)marker) ||
        !bir_function_has_unique_names(function))
        return;
    /* without room now, the tables grow as they fill */
    bool reserved = bir_strtab_expect_new(&e->module->strings, bounded(instructions + registers)) &&
                    bir_map_expect(&function->registers, arena, bounded(registers));
    if (!reserved)
        arena->failure = BIR_OK;
    bir_function_forget_names(function);
    e->function = function;
    e->names_are_new = true;
}

static struct bir_register *add_register(struct bir_emitter *e, const struct bir_str *name, unsigned num_physical)
{
    struct bir_register *reg = NULL;
    enum bir_engine engine = (enum bir_engine)e->position->engine;
    if (name)
        reg = (e->names_are_new ? bir_function_new_register : bir_function_add_register)(e->function, name, engine,
                                                                                         num_physical);
    if (!reg) {
        e->failed = true;
        return NULL;
    }
    reg->physical_id = -1;
    e->context->stats->minted_registers++;
    return reg;
}

/* Registers are minted between two instructions; their names use the tail of the buffer, behind the prefix. */
struct bir_register *bir_emit_mint_numbered(struct bir_emitter *e, const char *role, const char *location,
                                            uint32_t location_len)
{
    const struct bir_str *name;
    do {
        uint32_t at = put_text(e, e->prefix_len, "Reg_", 4);
        if (e->failed)
            return NULL;
        at = put_number(e, at, e->function->next_register_number++);
        at = put_position_name(e, put_text(e, at, "_", 1));
        at = put_text(e, put_text(e, at, role, strlen(role)), location, location_len);
        if (e->names_are_new)
            return add_register(e, new_name(e, e->prefix_len, at - e->prefix_len), 1);
        name = e->failed ? NULL : bir_intern(&e->module->strings, e->name + e->prefix_len, at - e->prefix_len);
    } while (name && bir_function_find_register(e->function, name));
    return add_register(e, name, 1);
}

struct bir_register *bir_emit_mint(struct bir_emitter *e, const char *suffix, uint32_t number, unsigned num_physical)
{
    bir_emitter_suffix(e, suffix);
    if (e->failed)
        return NULL;
    return add_register(e,
                        free_name(e, &e->register_names, &e->function->registers, put_number(e, e->prefix_len, number)),
                        num_physical);
}

struct bir_register *bir_emit_mint_like(struct bir_emitter *e, const struct bir_register *old, uint32_t number)
{
    uint32_t at = put_text(e, 0, old->base.name->text, old->base.name->len);
    at = put_text(e, at, "-r", 2);
    if (e->failed)
        return NULL;
    struct bir_register *reg =
        add_register(e, free_name(e, &e->register_names, &e->function->registers, put_number(e, at, number)),
                     old->num_physical);
    if (reg)
        reg->engine = old->engine;
    return reg;
}

/* --- instructions --- */

/* An instruction with the next name, not yet in the block. NULL after a failure. */
static struct bir_instruction *begin(struct bir_emitter *e, enum bir_opcode opcode)
{
    if (e->failed)
        return NULL;
    uint32_t len = put_number(e, e->prefix_len, e->next);
    const struct bir_str *name =
        e->names_are_new ? new_name(e, 0, len) : free_name(e, &e->instruction_names, &e->function->instructions, len);
    struct bir_instruction *inst =
        name ? bir_instruction_new(e->module, opcode, (enum bir_engine)e->position->engine, name) : NULL;
    if (!inst || !bir_instruction_set_engine_id(e->module, inst, bir_instruction_engine_id(e->position))) {
        e->failed = true;
        return NULL;
    }
    inst->source_offset = e->position->source_offset;
    e->next++;
    return inst;
}

static void finish(struct bir_emitter *e, struct bir_instruction *inst)
{
    if (!inst || e->failed)
        return;
    (e->names_are_new ? bir_instruction_insert_new_before : bir_instruction_insert_before)(e->position, inst);
    e->failed = e->module->arena.failure != BIR_OK; /* the name map grows at insertion */
    e->last = inst;
    e->context->stats->emitted_instructions++;
}

static bool is_wide(const struct bir_register *reg)
{
    return reg->num_physical == 2;
}

static void add_register_operand(struct bir_emitter *e, struct bir_instruction *inst, enum bir_role role,
                                 struct bir_register *reg, enum bir_dtype dtype)
{
    if (inst && !bir_add_register_access(e->module, inst, role, reg, dtype))
        e->failed = true;
}

static void add_immediate(struct bir_emitter *e, struct bir_instruction *inst, bool wide, int64_t imm)
{
    enum bir_dtype dtype = wide ? BIR_EMIT_DTYPE_64BIT_IMMEDIATE : BIR_EMIT_DTYPE;
    if (inst && !bir_add_imm_int(e->module, inst, dtype, imm))
        e->failed = true;
}

/* The op keys of a RegisterAlu: op always, is_64bit when true (bir-json.md 13.3). */
static void set_alu_keys(struct bir_emitter *e, struct bir_instruction *inst, enum bir_alu_op op, bool wide)
{
    if (!inst)
        return;
    if (!e->alu[wide][op]) {
        struct bir_prop text = { .type = BIR_VALUE_TEXT };
        struct bir_prop yes = { .type = BIR_VALUE_BOOL, .u.b = true };
        text.u.s = bir_intern_cstr(&e->module->strings, bir_enum_name(BIR_ENUM_ALU_OP, (int)op));
        const struct bir_props *props = text.u.s ? bir_props_with(e->module, inst->props, "op", &text) : NULL;
        if (props && wide)
            props = bir_props_with(e->module, props, "is_64bit", &yes);
        e->alu[wide][op] = props;
        e->failed = !props;
    }
    inst->props = e->alu[wide][op];
}

static enum bir_dtype move_dtype(const struct bir_register *reg)
{
    return is_wide(reg) ? BIR_EMIT_DTYPE_64BIT_IMMEDIATE
                        : BIR_EMIT_DTYPE; /* lowering.md 1.11: int64 for a 64-bit move */
}

static enum bir_dtype alu_dtype(const struct bir_register *reg)
{
    return is_wide(reg) ? BIR_EMIT_DTYPE_64BIT : BIR_EMIT_DTYPE;
}

void bir_emit_move_imm(struct bir_emitter *e, struct bir_register *dst, int64_t imm)
{
    struct bir_instruction *inst = begin(e, BIR_OP_REGISTER_MOVE);
    if (!inst)
        return;
    add_immediate(e, inst, is_wide(dst), imm);
    add_register_operand(e, inst, BIR_ROLE_OUT, dst, move_dtype(dst));
    finish(e, inst);
}

void bir_emit_move_low(struct bir_emitter *e, struct bir_register *pair, struct bir_register *src)
{
    struct bir_instruction *inst = begin(e, BIR_OP_REGISTER_MOVE);
    if (!inst)
        return;
    add_register_operand(e, inst, BIR_ROLE_IN, src, BIR_EMIT_DTYPE);
    add_register_operand(e, inst, BIR_ROLE_OUT, pair, BIR_EMIT_DTYPE);
    finish(e, inst);
}

void bir_emit_alu_reg_imm(struct bir_emitter *e, enum bir_alu_op op, struct bir_register *dst, struct bir_register *src,
                          int64_t imm)
{
    struct bir_instruction *inst = begin(e, BIR_OP_REGISTER_ALU);
    if (!inst)
        return;
    set_alu_keys(e, inst, op, is_wide(dst));
    add_register_operand(e, inst, BIR_ROLE_IN, src, alu_dtype(src));
    add_immediate(e, inst, is_wide(dst), imm);
    add_register_operand(e, inst, BIR_ROLE_OUT, dst, alu_dtype(dst));
    finish(e, inst);
}

void bir_emit_alu_reg_reg(struct bir_emitter *e, enum bir_alu_op op, struct bir_register *dst, struct bir_register *a,
                          struct bir_register *b)
{
    struct bir_instruction *inst = begin(e, BIR_OP_REGISTER_ALU);
    if (!inst)
        return;
    set_alu_keys(e, inst, op, is_wide(dst));
    add_register_operand(e, inst, BIR_ROLE_IN, a, alu_dtype(a));
    add_register_operand(e, inst, BIR_ROLE_IN, b, alu_dtype(b));
    add_register_operand(e, inst, BIR_ROLE_OUT, dst, alu_dtype(dst));
    finish(e, inst);
}

void bir_emit_alu64(struct bir_emitter *e, enum bir_alu_op op, struct bir_register_pair dst, struct bir_register_pair a,
                    struct bir_register_pair b)
{
    struct bir_instruction *inst = begin(e, BIR_OP_REGISTER_ALU);
    if (!inst)
        return;
    set_alu_keys(e, inst, op, true);
    add_register_operand(e, inst, BIR_ROLE_IN, a.lo, BIR_EMIT_DTYPE_64BIT);
    add_register_operand(e, inst, BIR_ROLE_IN, a.hi, BIR_EMIT_DTYPE_64BIT);
    add_register_operand(e, inst, BIR_ROLE_IN, b.lo, BIR_EMIT_DTYPE_64BIT);
    add_register_operand(e, inst, BIR_ROLE_IN, b.hi, BIR_EMIT_DTYPE_64BIT);
    add_register_operand(e, inst, BIR_ROLE_OUT, dst.lo, BIR_EMIT_DTYPE_64BIT);
    add_register_operand(e, inst, BIR_ROLE_OUT, dst.hi, BIR_EMIT_DTYPE_64BIT);
    finish(e, inst);
}

/* [[1, 1], [1, 1]]: one element (the shape of the vendor's scalar accesses, bir-json.md 16.3). */
static const struct bir_pattern *one_element(struct bir_emitter *e)
{
    struct bir_pair pairs[] = { { 1, 1 }, { 1, 1 } };
    const struct bir_pattern *pattern = bir_pattern_get(e->module, pairs, 2);
    e->failed = e->failed || !pattern;
    return pattern;
}

static void add_element(struct bir_emitter *e, struct bir_instruction *inst, enum bir_role role,
                        struct bir_location *location, int64_t offset_elems, enum bir_dtype dtype)
{
    const struct bir_pattern *pattern = one_element(e);
    if (!pattern || !bir_add_physical_ap(e->module, inst, role, location, pattern, offset_elems, dtype))
        e->failed = true;
}

void bir_emit_tensor_load(struct bir_emitter *e, struct bir_register *lo, struct bir_register *hi,
                          struct bir_location *location, int64_t offset_elems, enum bir_dtype dtype)
{
    struct bir_instruction *inst = begin(e, BIR_OP_TENSOR_LOAD);
    if (!inst)
        return;
    add_element(e, inst, BIR_ROLE_IN, location, offset_elems, dtype);
    add_register_operand(e, inst, BIR_ROLE_OUT, lo, move_dtype(lo));
    if (hi)
        add_register_operand(e, inst, BIR_ROLE_OUT, hi, move_dtype(hi));
    finish(e, inst);
}

void bir_emit_table_load(struct bir_emitter *e, struct bir_register *dst, struct bir_set *table,
                         struct bir_register_pair address)
{
    struct bir_instruction *inst = begin(e, BIR_OP_TENSOR_LOAD);
    if (!inst)
        return;
    struct bir_argument *arg = bir_argument_new(e->module, inst, BIR_ARG_REGISTER_AP, BIR_ROLE_IN, BIR_EMIT_DTYPE);
    if (!arg) {
        e->failed = true;
        return;
    }
    struct bir_register_ap *ap = (struct bir_register_ap *)arg;
    ap->pattern = one_element(e);
    ap->address = address.lo;
    ap->const_sub_tensor_id = -1;
    bir_argument_set_location(arg, &table->base, false, true);
    add_register_operand(e, inst, BIR_ROLE_IN, address.hi, BIR_EMIT_DTYPE);
    add_register_operand(e, inst, BIR_ROLE_OUT, dst, BIR_EMIT_DTYPE);
    finish(e, inst);
}

struct bir_instruction *bir_emit_tensor_save_behind(struct bir_emitter *e, struct bir_location *location,
                                                    struct bir_register *src)
{
    struct bir_instruction *inst = begin(e, BIR_OP_TENSOR_SAVE);
    if (!inst)
        return NULL;
    add_register_operand(e, inst, BIR_ROLE_IN, src, move_dtype(src));
    add_element(e, inst, BIR_ROLE_OUT, location, 0, (enum bir_dtype)location->set->base.dtype);
    if (e->failed)
        return NULL;
    bir_instruction_insert_after(e->position, inst);
    e->failed = e->module->arena.failure != BIR_OK;
    e->context->stats->emitted_instructions++;
    return inst;
}

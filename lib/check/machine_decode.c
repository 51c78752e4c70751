/*
 * From an instruction to operations of the machine.
 *
 * Operands are flattened into words: a 32-bit register is one word, a 64-bit register two, a pair of accesses (low,
 * then high) two as well, so both ways of writing a 64-bit operand read alike. What a word list must look like is the
 * opcode's business (lowering.md 1.11):
 *
 *   RegisterAlu          out := src0 op src1; src1 may be an immediate; 64 bits: add, subtract, mult (EBIR013)
 *   RegisterMove         out := immediate or register; a 4-byte move into a 64-bit register writes its low word
 *   TensorLoad           a pointer location: the table's address; register_ap on a table: the entry; else data of the
 * element TensorSave           the element := register anything else        its register outputs := data
 */
#include "check/address.h"
#include "check/machine.h"

#define MAX_WORDS 4

struct words {
    uint32_t slot[MAX_WORDS];
    unsigned n;
    bool has_imm; /* the last operand was an immediate, and no other was */
    int64_t imm;
    uint8_t dtype; /* of the first operand */
    const char *problem;
};

struct decoder {
    struct bir_machine *machine;
    struct bir_instruction *inst;
    bool strict;
    uint8_t flags; /* BIR_MACHINE_STRICT or 0 */
};

/* A malformed instruction: an error, or nothing at all when the machine forgives what is not address code. */
static enum bir_status malformed(const struct decoder *d, const char *problem)
{
    if (!d->strict && d->machine->forgiving)
        return BIR_OK;
    bir_diag_add(d->machine->diags, BIR_ERROR, "check-register-code",
                 d->inst->source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)d->inst->source_offset, "%s %s: %s",
                 bir_opcode_name(d->inst->opcode), d->inst->name ? d->inst->name->text : "?", problem);
    return d->strict ? BIR_INTERNAL : BIR_INVALID;
}

static enum bir_status add_register(const struct decoder *d, const struct bir_argument *arg, struct words *words)
{
    struct bir_register *reg = (struct bir_register *)arg->location;
    unsigned width = reg->num_physical == 2 ? 2 : 1;
    uint32_t slot;
    BIR_TRY(bir_machine_slot(d->machine, reg, &slot));
    if (words->n + width > MAX_WORDS) {
        words->problem = "more register words than an operation has";
        return BIR_OK;
    }
    for (unsigned i = 0; i < width; i++)
        words->slot[words->n++] = slot + i;
    return BIR_OK;
}

static inline enum bir_status add_operand(const struct decoder *d, const struct bir_argument *arg, struct words *words)
{
    if (words->has_imm)
        words->problem = "an operand follows the immediate";
    if (words->dtype == BIR_ENUM_UNKNOWN)
        words->dtype = arg->dtype;
    if (arg->kind == BIR_ARG_REGISTER_ACCESS && arg->location && arg->location->tag == BIR_STORAGE_REGISTER)
        return add_register(d, arg, words);
    if (arg->kind == BIR_ARG_IMM_VALUE) {
        words->has_imm = true;
        words->imm = (int64_t)((const struct bir_imm_value *)arg)->bits;
    } else {
        words->problem = "an operand is neither a register nor an immediate";
    }
    return BIR_OK;
}

/* Register words and the immediate of one list, from the operand number `skip` on. */
static enum bir_status flatten(const struct decoder *d, enum bir_role role, unsigned skip, struct words *words)
{
    *words = (struct words){ .dtype = BIR_ENUM_UNKNOWN };
    BIR_EACH_OPERAND(arg, d->inst)
    {
        if (arg->role != role)
            continue;
        if (skip > 0)
            skip--;
        else
            BIR_TRY(add_operand(d, arg, words));
    }
    return BIR_OK;
}

/* Of inputs and outputs. */
static enum bir_status flatten_both(const struct decoder *d, struct words *in, struct words *out)
{
    *in = *out = (struct words){ .dtype = BIR_ENUM_UNKNOWN };
    BIR_EACH_OPERAND(arg, d->inst)
    {
        if (arg->role != BIR_ROLE_INDIRECTION)
            BIR_TRY(add_operand(d, arg, arg->role == BIR_ROLE_IN ? in : out));
    }
    return BIR_OK;
}

unsigned bir_machine_op_reads(const struct bir_machine_op *op, uint32_t reads[4])
{
    unsigned n = 0;
    bool pair = op->code == BIR_MACHINE_ADD64 || op->code == BIR_MACHINE_SUBTRACT64 || op->code == BIR_MACHINE_MULT64;
    bool imm = (op->flags & BIR_MACHINE_IMM) != 0;
    switch (op->code) {
    case BIR_MACHINE_OPAQUE:
    case BIR_MACHINE_CONSUME:
    case BIR_MACHINE_JUMP:
    case BIR_MACHINE_END: return 0;
    case BIR_MACHINE_MOVE:
    case BIR_MACHINE_MOVE64:
        if (imm)
            return 0;
        reads[n++] = op->a;
        if (op->code == BIR_MACHINE_MOVE64)
            reads[n++] = op->a_high;
        return n;
    default: break;
    }
    reads[n++] = op->a;
    if (pair || op->code == BIR_MACHINE_LOAD_ENTRY)
        reads[n++] = op->a_high;
    if (imm || (op->flags & BIR_MACHINE_UNARY))
        return n;
    reads[n++] = op->b;
    if (pair)
        reads[n++] = op->b_high;
    return n;
}

static enum bir_status emit(const struct decoder *d, struct bir_machine_op op)
{
    struct bir_machine *m = d->machine;
    op.inst = d->inst;
    op.flags |= d->flags;
    if (m->check_order) {
        uint32_t reads[MAX_WORDS];
        unsigned n = bir_machine_op_reads(&op, reads);
        for (unsigned i = 0; i < n; i++) {
            if (!m->written[reads[i]] && (d->strict || !m->forgiving))
                return malformed(d, "reads a register that nothing wrote");
        }
        m->written[op.out] = 1;
        if (op.flags & BIR_MACHINE_WIDE)
            m->written[op.out_high] = 1;
    }
    return bir_machine_append(m, &op);
}

/* --- RegisterAlu --- */

static bool alu_is_unary(int op)
{
    return op == BIR_ALU_BYPASS || op == BIR_ALU_BITWISE_NOT || op == BIR_ALU_ABS;
}

/* Section 14: 0..29 without average and elemwise_mul (24, 25); pow and rsqrt are rejected. */
static bool alu_is_supported(int op)
{
    return op >= 0 && op <= BIR_ALU_ABS && op != BIR_ALU_AVERAGE && op != BIR_ALU_ELEMWISE_MUL && op != BIR_ALU_POW &&
           op != BIR_ALU_RSQRT;
}

static int alu_op_of(const struct bir_props *props)
{
    const struct bir_prop *prop = bir_props_find(props, "op");
    if (!prop || prop->type != BIR_VALUE_TEXT)
        return -1;
    return bir_enum_value(BIR_ENUM_ALU_OP, prop->u.s->text, prop->u.s->len);
}

static bool is_64bit(const struct bir_props *props)
{
    const struct bir_prop *prop = bir_props_find(props, "is_64bit");
    return prop && ((prop->type == BIR_VALUE_BOOL && prop->u.b) || (prop->type == BIR_VALUE_INT && prop->u.i != 0));
}

/* Property lists are shared by equal instructions, so few occur in a module. */
static int alu_properties(struct bir_machine *m, const struct bir_props *props, bool *wide)
{
    size_t i = (size_t)((uint64_t)(uintptr_t)props * UINT64_C(0x9E3779B97F4A7C15) >> 32) % BIR_MACHINE_ALU_CACHE;
    if (m->alu[i].props != props || !props) {
        m->alu[i].props = props;
        m->alu[i].op = alu_op_of(props);
        m->alu[i].wide = is_64bit(props);
    }
    *wide = m->alu[i].wide;
    return m->alu[i].op;
}

/* Data in the outputs of an operation that is not understood and need not be. */
static enum bir_status opaque_outputs(const struct decoder *d)
{
    struct words out;
    BIR_TRY(flatten(d, BIR_ROLE_OUT, 0, &out));
    uint64_t key = d->inst->name ? bir_str_hash(d->inst->name) : 0;
    for (unsigned i = 0; i < out.n; i++) {
        struct bir_machine_op op = { .code = BIR_MACHINE_OPAQUE, .out = out.slot[i], .imm = (int64_t)(key + i) };
        BIR_TRY(emit(d, op));
    }
    return BIR_OK;
}

static enum bir_status decode_alu64(const struct decoder *d, int alu, const struct words *in, const struct words *out)
{
    struct bir_machine_op op = { .flags = BIR_MACHINE_WIDE };
    if (alu == BIR_ALU_ADD)
        op.code = BIR_MACHINE_ADD64;
    else if (alu == BIR_ALU_SUBTRACT)
        op.code = BIR_MACHINE_SUBTRACT64;
    else if (alu == BIR_ALU_MULT)
        op.code = BIR_MACHINE_MULT64;
    else
        return malformed(d, "64-bit operations are add, subtract and mult (EBIR013)");
    if (out->n != 2 || in->n != (in->has_imm ? 2u : 4u))
        return malformed(d, "a 64-bit operation needs pairs of registers (EBIR010)");
    op.a = in->slot[0];
    op.a_high = in->slot[1];
    if (in->has_imm) {
        op.flags |= BIR_MACHINE_IMM;
        op.imm = in->imm;
    } else {
        op.b = in->slot[2];
        op.b_high = in->slot[3];
    }
    op.out = out->slot[0];
    op.out_high = out->slot[1];
    return emit(d, op);
}

static enum bir_status decode_alu(const struct decoder *d)
{
    struct words in, out;
    BIR_TRY(flatten_both(d, &in, &out));
    bool wide;
    int alu = alu_properties(d->machine, d->inst->props, &wide);
    if (in.problem || out.problem)
        return malformed(d, in.problem ? in.problem : out.problem);
    if (!alu_is_supported(alu))
        return !d->strict && d->machine->forgiving ? opaque_outputs(d)
                                                   : malformed(d, "no ALU operation the machine knows");
    if (wide)
        return decode_alu64(d, alu, &in, &out);
    struct bir_machine_op op = { .code = (uint8_t)alu };
    bool unary = alu_is_unary(alu) && in.n == 1 && !in.has_imm;
    if (out.n != 1 || (!unary && in.n != (in.has_imm ? 1u : 2u)))
        return malformed(d, "a 32-bit operation needs 32-bit registers (EBIR010)");
    op.a = in.slot[0];
    op.out = out.slot[0];
    if (alu_is_unary(alu)) {
        op.flags |= BIR_MACHINE_UNARY;
    } else if (in.has_imm) {
        op.flags |= BIR_MACHINE_IMM;
        op.imm = (int32_t)(uint32_t)(uint64_t)in.imm;
    } else {
        op.b = in.slot[1];
    }
    return emit(d, op);
}

/* --- moves, loads, saves, the rest --- */

static enum bir_status decode_move(const struct decoder *d)
{
    struct words in, out;
    BIR_TRY(flatten_both(d, &in, &out));
    if (in.problem || out.problem)
        return malformed(d, in.problem ? in.problem : out.problem);
    bool wide = out.n == 2 && bir_check_dtype_bytes(out.dtype) != 4;
    unsigned width = wide ? 2 : 1;
    if (out.n == 0 || out.n > 2 || (in.has_imm ? in.n != 0 : in.n != width))
        return malformed(d, "source and destination of a move must have the same width (EBIR012)");
    struct bir_machine_op op = { .code = wide ? BIR_MACHINE_MOVE64 : BIR_MACHINE_MOVE, .out = out.slot[0] };
    if (wide) {
        op.flags |= BIR_MACHINE_WIDE;
        op.out_high = out.slot[1];
    }
    if (in.has_imm) {
        op.flags |= BIR_MACHINE_IMM;
        op.imm = wide ? in.imm : (int32_t)(uint32_t)(uint64_t)in.imm;
    } else {
        op.a = in.slot[0];
        op.a_high = in.slot[width - 1];
    }
    return emit(d, op);
}

static const struct bir_set *argument_set(const struct bir_argument *arg)
{
    return arg->location && arg->location->tag == BIR_STORAGE_SET ? (const struct bir_set *)arg->location : NULL;
}

/* A load or save of one element of a location: a copy from or to its cell. */
static enum bir_status decode_element(const struct decoder *d, const struct bir_physical_ap *ap,
                                      const struct words *reg, bool save)
{
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    struct bir_machine *m = d->machine;
    if (reg->n == 0 || reg->n > 2 || bir_check_dtype_bytes(ap->base.dtype) != 4 * (int64_t)reg->n)
        return malformed(d, "register and tensor element must have the same number of bytes (EBIR011)");
    struct bir_machine_op op = { .code = reg->n == 2 ? BIR_MACHINE_MOVE64 : BIR_MACHINE_MOVE };
    uint32_t cell;
    if (!save && location->pointer_target && location->pointer_target->set) {
        uint32_t index;
        if (reg->n != 2)
            return malformed(d, "a pointer has 8 bytes (EBIR011)");
        BIR_TRY(bir_machine_table_index(m, location->pointer_target->set, &index));
        op.flags = BIR_MACHINE_IMM | BIR_MACHINE_WIDE;
        op.imm = m->tables.items[index].address;
        op.out = reg->slot[0];
        op.out_high = reg->slot[1];
        return emit(d, op);
    }
    BIR_TRY(bir_machine_cell(m, location, ap->offset_elems, ap->base.dtype, &cell));
    op.a = save ? reg->slot[0] : cell;
    op.out = save ? cell : reg->slot[0];
    if (reg->n == 2) {
        op.flags = BIR_MACHINE_WIDE;
        op.a_high = save ? reg->slot[1] : cell + 1;
        op.out_high = save ? cell + 1 : reg->slot[1];
    }
    return emit(d, op);
}

/* A load through an address register: of a table's entry, or of data. */
static enum bir_status decode_indirect_load(const struct decoder *d, const struct bir_register_ap *ap,
                                            const struct words *out)
{
    const struct bir_set *set = argument_set(&ap->base);
    struct bir_machine *m = d->machine;
    if (!ap->address || !set)
        return malformed(d, "register_ap without address register or set");
    struct bir_machine_op op = { .code = BIR_MACHINE_LOAD_DATA, .flags = BIR_MACHINE_UNARY };
    BIR_TRY(bir_machine_slot(m, ap->address, &op.a));
    if (!set->table_entries) {
        /* Without an offset the register is the engine address, and so the key of the place. */
        op.imm = ap->address_is_offset ? (int64_t)((uint64_t)bir_str_hash(set->base.name) << 32) : 0;
        for (unsigned i = 0; i < out->n; i++) {
            op.out = out->slot[i];
            BIR_TRY(emit(d, op));
        }
        return BIR_OK;
    }
    struct words high;
    BIR_TRY(flatten(d, BIR_ROLE_IN, 1, &high));
    if (ap->address->num_physical == 2 && high.n == 0)
        op.a_high = op.a + 1;
    else if (ap->address->num_physical != 2 && high.n == 1 && !high.has_imm && !high.problem)
        op.a_high = high.slot[0];
    else
        return malformed(d, "a table is addressed by a low and a high register word");
    if (out->n != 1 || bir_check_dtype_bytes(ap->base.dtype) != 4)
        return malformed(d, "a table entry has 4 bytes (EBIR011)");
    uint32_t index;
    BIR_TRY(bir_machine_table_index(m, set, &index));
    op.code = BIR_MACHINE_LOAD_ENTRY;
    op.imm = index;
    op.out = out->slot[0];
    return emit(d, op);
}

static enum bir_status decode_load(const struct decoder *d)
{
    const struct bir_argument *source = bir_instruction_first(d->inst, BIR_ROLE_IN);
    struct words out;
    BIR_TRY(flatten(d, BIR_ROLE_OUT, 0, &out));
    if (!source || out.n == 0 || out.problem || out.has_imm)
        return malformed(d, "needs one source and register outputs");
    if (source->kind == BIR_ARG_PHYSICAL_AP && source->location)
        return decode_element(d, (const struct bir_physical_ap *)source, &out, false);
    if (source->kind == BIR_ARG_REGISTER_AP)
        return decode_indirect_load(d, (const struct bir_register_ap *)source, &out);
    return d->strict ? malformed(d, "source must be physical_ap or register_ap") : opaque_outputs(d);
}

static enum bir_status decode_save(const struct decoder *d)
{
    const struct bir_argument *target = bir_instruction_first(d->inst, BIR_ROLE_OUT);
    struct words in;
    BIR_TRY(flatten(d, BIR_ROLE_IN, 0, &in));
    if (!target || in.n == 0 || in.problem || in.has_imm)
        return malformed(d, "needs register inputs and one target");
    if (target->kind != BIR_ARG_PHYSICAL_AP || !target->location)
        return BIR_OK; /* a place that no load of register code reads back by name */
    return decode_element(d, (const struct bir_physical_ap *)target, &in, true);
}

static bool writes_register(const struct bir_instruction *inst)
{
    BIR_EACH_OPERAND(arg, inst)
    {
        if (arg->role == BIR_ROLE_OUT && arg->kind == BIR_ARG_REGISTER_ACCESS)
            return true;
    }
    return false;
}

enum bir_status bir_machine_decode(struct bir_machine *machine, struct bir_instruction *inst, bool strict)
{
    struct decoder d = { .machine = machine, .inst = inst, .strict = strict, .flags = strict ? BIR_MACHINE_STRICT : 0 };
    switch (inst->opcode) {
    case BIR_OP_REGISTER_ALU: return decode_alu(&d);
    case BIR_OP_REGISTER_MOVE: return decode_move(&d);
    case BIR_OP_TENSOR_LOAD: return decode_load(&d);
    case BIR_OP_TENSOR_SAVE: return decode_save(&d);
    default: return writes_register(inst) ? opaque_outputs(&d) : BIR_OK;
    }
}

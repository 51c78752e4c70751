/*
 * One statement: finds its operator's row and executes it.
 *
 * The instruction is made first, its operands are appended in the row's order, then the keys are collected, the row's
 * `finish` function adds what the data cannot say, and only then does the instruction enter its block. A statement that
 * fails leaves an instruction behind that is in no block; the module is thrown away in that case.
 */
#include "codegen/operators.h"

#include <stdio.h>

#include "codegen/maps.h"

enum bir_status codegen_alu_op(struct codegen *cg, const struct klr_node *op, uint32_t wire, int *alu)
{
    *alu = codegen_map_alu_op(wire);
    return *alu >= 0 ? BIR_OK
                     : codegen_fail(cg, "klr-alu-op", op, NULL, "Unsupported ALU operation (number %u in %s)", wire,
                                    cg->operator_name);
}

/* --- operands --- */

static enum bir_status add_operand(struct codegen *cg, struct bir_instruction *inst, const struct operand_spec *spec,
                                   const struct klr_node *op)
{
    enum klr_slot_index slot = (enum klr_slot_index)spec->slot;
    enum bir_role role = (enum bir_role)spec->role;
    switch ((enum operand_kind)spec->kind) {
    case OPERAND_TENSORS: return codegen_add_refs(cg, inst, role, klr_list_at(op, slot));
    case OPERAND_REGISTER: return codegen_add_register(cg, inst, role, klr_string_at(op, slot), op);
    default: break;
    }
    const struct klr_node *value = klr_node_at(op, slot);
    if (!value)
        return spec->kind == OPERAND_TENSOR_OR_ZERO ? codegen_add_float(cg, inst, 0) : BIR_OK;
    switch ((enum operand_kind)spec->kind) {
    case OPERAND_DYNAMIC: return codegen_add_dynamic_ref(cg, inst, role, value);
    case OPERAND_ANY:
    case OPERAND_ANY_OPTIONAL: return codegen_add_operand(cg, inst, value);
    case OPERAND_IMMEDIATE:
    case OPERAND_IMMEDIATE_OPTIONAL: return codegen_add_immediate(cg, inst, value);
    default: return codegen_add_ref(cg, inst, role, value);
    }
}

/* --- keys --- */

static enum bir_status key_accumulation(struct codegen_keys *keys, const struct key_spec *spec,
                                        const struct klr_node *op, uint32_t wire)
{
    int value = codegen_map_accumulation(wire);
    if (value < 0)
        return codegen_fail(keys->cg, "klr-accumulation", op, "use another accumulation command",
                            "%s is not supported (in %s)",
                            wire == KLR_AccumCmd_LoadAccumulate ? "LoadAccumulate" : "the accumulation command",
                            keys->cg->operator_name);
    codegen_key_enum(keys, spec->key, BIR_ENUM_ACCUMULATION, value);
    return BIR_OK;
}

static enum bir_status key_alu(struct codegen_keys *keys, const struct key_spec *spec, const struct klr_node *op)
{
    uint32_t wire = KLR_AluOp_bypass;
    int alu = 0;
    if (spec->kind == KEY_ALU)
        wire = klr_enum_at(op, (enum klr_slot_index)spec->slot);
    else
        (void)klr_option_enum(op, (enum klr_slot_index)spec->slot, &wire);
    BIR_TRY(codegen_alu_op(keys->cg, op, wire, &alu));
    codegen_key_enum(keys, spec->key, BIR_ENUM_ALU_OP, alu);
    return BIR_OK;
}

static enum bir_status key_tile(struct codegen_keys *keys, const struct key_spec *spec, const struct klr_node *op)
{
    const struct klr_list *tile = klr_list_at(op, (enum klr_slot_index)spec->slot);
    if (!tile || tile->count == 0)
        codegen_key_json(keys, spec->key, "[-1,-1]", 7);
    else if (tile->count == 2)
        codegen_key_ints(keys, spec->key, tile, true);
    else
        return codegen_fail(keys->cg, "klr-tile", op, "give two numbers, or none",
                            "%s has %llu numbers, two are needed", spec->key, (unsigned long long)tile->count);
    return BIR_OK;
}

static void key_pattern(struct codegen_keys *keys, const struct klr_node *pattern)
{
    codegen_key_int(keys, "base", klr_int_at(pattern, KLR_DataPattern_offset));
    codegen_key_int(keys, "channel_multiplier", klr_int_at(pattern, KLR_DataPattern_channelMultiplier));
    codegen_key_pairs(keys, "pattern", klr_list_at(pattern, KLR_DataPattern_pattern));
}

/* A dtype that differs from the destination's has no place in BIR, where every operand has its own. */
static void check_dtype(struct codegen *cg, const struct klr_node *op, enum klr_slot_index slot,
                        const struct bir_instruction *inst)
{
    uint32_t wire;
    const struct bir_argument *out = bir_instruction_argument(inst, BIR_ROLE_OUT, 0);
    if (!out || !klr_option_enum(op, slot, &wire))
        return;
    int dtype = codegen_map_dtype(wire);
    if (dtype == out->dtype)
        return;
    struct bir_diag *diag =
        bir_diag_add(cg->diags, BIR_WARNING, "klr-dtype-ignored", (int64_t)klr_offset(op),
                     "dtype %s of %s is ignored, its destination is %s",
                     dtype < 0 ? "?" : bir_dtype_name((uint8_t)dtype), cg->operator_name, bir_dtype_name(out->dtype));
    diag->hint = "the destination's element type decides; use dtypeOverride to reinterpret it";
}

static enum bir_status key_immediate(struct codegen_keys *keys, const struct key_spec *spec,
                                     const struct klr_node *value)
{
    double number = 0;
    int64_t integer = 0;
    bool is_float;
    if (spec->kind == KEY_IMM_FLOAT) {
        BIR_TRY(codegen_immediate_value(keys->cg, value, &is_float, &number));
        codegen_key_float(keys, spec->key, number);
        return BIR_OK;
    }
    BIR_TRY(codegen_immediate_int(keys->cg, value, &integer));
    if (spec->kind == KEY_IMM_INT)
        codegen_key_int(keys, spec->key, integer);
    else
        codegen_key_expr(keys, spec->key, pelican_constant(&keys->cg->module->expressions, integer));
    return BIR_OK;
}

static void key_reverse(struct codegen_keys *keys, uint32_t reverse)
{
    codegen_key_bool(keys, "reverse0",
                     reverse == KLR_TensorScalarReverseOps_first || reverse == KLR_TensorScalarReverseOps_both);
    codegen_key_bool(keys, "reverse1",
                     reverse == KLR_TensorScalarReverseOps_second || reverse == KLR_TensorScalarReverseOps_both);
}

static enum bir_status add_key(struct codegen_keys *keys, const struct key_spec *spec, const struct klr_node *op,
                               const struct bir_instruction *inst)
{
    enum klr_slot_index slot = (enum klr_slot_index)spec->slot;
    switch ((enum key_kind)spec->kind) {
    case KEY_END: break;
    case KEY_ALU:
    case KEY_ALU_OPTIONAL: return key_alu(keys, spec, op);
    case KEY_ACCUMULATION: return key_accumulation(keys, spec, op, klr_enum_at(op, slot));
    case KEY_TILE: return key_tile(keys, spec, op);
    case KEY_IMM_INT:
    case KEY_IMM_FLOAT:
    case KEY_IMM_EXPR: return key_immediate(keys, spec, klr_node_at(op, slot));
    case KEY_FUNCTION:
        codegen_key_enum(keys, spec->key, BIR_ENUM_ACTIVATION_FUNCTION, codegen_map_activation(klr_enum_at(op, slot)));
        break;
    case KEY_AXIS: codegen_key_text(keys, spec->key, codegen_map_axis(klr_enum_at(op, slot))); break;
    case KEY_TRANSPOSE: codegen_key_text(keys, spec->key, codegen_map_transpose(klr_enum_at(op, slot))); break;
    case KEY_PERF_MODE: codegen_key_text(keys, spec->key, codegen_map_perf_mode(klr_enum_at(op, slot))); break;
    case KEY_PRINT_BUFFER: codegen_key_text(keys, spec->key, codegen_map_print_buffer(klr_enum_at(op, slot))); break;
    /* A two-valued enumeration (DropoutThresholdType) reads like a Bool. */
    case KEY_BOOL:
        codegen_key_bool(keys, spec->key,
                         op->type == KLR_TYPE_Dropout ? klr_enum_at(op, slot) != 0 : klr_bool_at(op, slot));
        break;
    case KEY_REVERSE: key_reverse(keys, klr_enum_at(op, slot)); break;
    case KEY_STRING: codegen_key_str(keys, spec->key, codegen_text(keys->cg, klr_string_at(op, slot))); break;
    case KEY_INT: codegen_key_int(keys, spec->key, klr_int_at(op, slot)); break;
    case KEY_PATTERN: key_pattern(keys, klr_node_at(op, slot)); break;
    case KEY_INTS: codegen_key_ints(keys, spec->key, klr_list_at(op, slot), false); break;
    case KEY_INT_LISTS: codegen_key_int_lists(keys, spec->key, klr_list_at(op, slot)); break;
    case KEY_DTYPE: check_dtype(keys->cg, op, slot, inst); break;
    case KEY_FIXED_TEXT: codegen_key_text(keys, spec->key, spec->text); break;
    case KEY_FIXED_FALSE: codegen_key_bool(keys, spec->key, false); break;
    case KEY_FIXED_TRUE: codegen_key_bool(keys, spec->key, true); break;
    case KEY_FIXED_ZERO: codegen_key_int(keys, spec->key, 0); break;
    case KEY_FIXED_FLOAT0: codegen_key_float(keys, spec->key, 0); break;
    case KEY_FIXED_FLOAT1: codegen_key_float(keys, spec->key, 1); break;
    }
    return BIR_OK;
}

/* --- statements --- */

/* The operator's own engine, else the one of its kind. A DMA operator on the `dma` engine goes to SP, choice: the
 * queues execute descriptors, not instructions, so the instruction that triggers them needs an engine with a program.
 */
static enum bir_engine engine_of(const struct operator_row *row, const struct klr_node *op)
{
    enum bir_engine engine = BIR_ENGINE_UNASSIGNED;
    if (row->engine_slot >= 0)
        engine = (enum bir_engine)codegen_map_engine(klr_enum_at(op, (enum klr_slot_index)row->engine_slot));
    if (engine == BIR_ENGINE_UNASSIGNED || (engine == BIR_ENGINE_DMA && (bir_opcode_flags(row->opcode) & BIR_OPF_DMA)))
        return (enum bir_engine)row->engine;
    return engine;
}

/* Two members of `debug` from the statement's position. */
static const struct bir_props *debug_members(struct codegen *cg, uint64_t line)
{
    struct codegen_debug_memo *memo = &cg->debug_memos[line % CODEGEN_DEBUG_MEMOS];
    if (memo->props && memo->path == cg->path && memo->line == line)
        return memo->props;
    struct bir_prop members[2];
    uint32_t count = 0;
    members[count++] =
        (struct bir_prop){ .key = codegen_literal(cg, "filename"), .type = BIR_VALUE_TEXT, .u.s = cg->path };
    if (line <= INT64_MAX)
        members[count++] =
            (struct bir_prop){ .key = codegen_literal(cg, "lineno"), .type = BIR_VALUE_INT, .u.i = (int64_t)line };
    if (!members[0].key || !members[count - 1].key)
        return NULL;
    const struct bir_props *props = bir_props_get(cg->module, members, count);
    *memo = (struct codegen_debug_memo){ .path = cg->path, .line = line, .props = props };
    return props;
}

static enum bir_status set_debug(struct codegen *cg, struct bir_instruction *inst)
{
    const struct klr_node *pos = klr_node_at(cg->statement, KLR_Stmt_oper_pos);
    const struct bir_str *file = klr_string_at(pos, KLR_Pos_filename);
    if (!file)
        return BIR_OK;
    if (file != cg->path_seen) {
        cg->path = codegen_text(cg, file);
        cg->path_seen = cg->path ? file : NULL;
    }
    struct bir_instruction_rare *rare = cg->path ? bir_instruction_need_rare(cg->module, inst) : NULL;
    if (!rare)
        return codegen_nomem(cg);
    rare->debug = debug_members(cg, klr_nat_at(pos, KLR_Pos_line));
    return rare->debug ? BIR_OK : codegen_nomem(cg);
}

const struct bir_str *codegen_fresh_name(struct codegen *cg, const struct bir_str *stem)
{
    for (;;) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, "-%u", cg->next_name++);
        const struct bir_str *name = codegen_text_with(cg, stem, suffix);
        if (!name || !bir_map_get(&cg->function->instructions, name))
            return name;
    }
}

/* The statement's own name, unless it is taken: names are keys within a body (klr-format.md 9.6), and a second bearer
 * is renamed with a warning; an edge that uses the name is an error later (edges.c). */
static enum bir_status instruction_name(struct codegen *cg, const struct bir_str **out)
{
    const struct bir_str *own = klr_string_at(cg->statement, KLR_Stmt_oper_name);
    const struct bir_str *name = own ? codegen_text(cg, own) : bir_intern_cstr(&cg->module->strings, cg->operator_name);
    if (!name)
        return codegen_nomem(cg);
    if (!own || own->len == 0) {
        *out = codegen_fresh_name(cg, own ? bir_intern_cstr(&cg->module->strings, cg->operator_name) : name);
        return *out ? BIR_OK : codegen_nomem(cg);
    }
    struct bir_instruction *first = bir_map_get(&cg->function->instructions, name);
    *out = name;
    if (!first)
        return BIR_OK;
    *out = codegen_fresh_name(cg, name);
    if (!*out || !bir_map_put(&cg->duplicates, &cg->scratch, name, first))
        return codegen_nomem(cg);
    struct bir_diag *diag =
        bir_diag_add(cg->diags, BIR_WARNING, "klr-duplicate-name", (int64_t)klr_offset(cg->statement),
                     "a second statement is called '%.80s'; here it becomes '%.80s'", name->text, (*out)->text);
    diag->hint = "give every statement of a core its own name";
    return BIR_OK;
}

enum bir_status codegen_instruction(struct codegen *cg, enum bir_opcode opcode, enum bir_engine engine,
                                    struct bir_instruction **out)
{
    const struct bir_str *name = NULL;
    BIR_TRY(instruction_name(cg, &name));
    struct bir_instruction *inst = bir_instruction_new(cg->module, opcode, engine, name);
    if (!inst)
        return codegen_nomem(cg);
    inst->source_offset = codegen_source(cg->statement);
    *out = inst;
    return set_debug(cg, inst);
}

static enum bir_status execute(struct codegen *cg, const struct operator_row *row, const struct klr_node *op)
{
    struct codegen_keys keys = { .cg = cg };
    struct bir_instruction *inst = NULL;
    if (row->opcode == BIR_OP_UNKNOWN) {
        return codegen_fail(cg, "klr-unsupported-operator", cg->statement, "trace the kernel with a current front end",
                            "operator %s cannot be converted: %s", cg->operator_name, row->note);
    }
    BIR_TRY(codegen_instruction(cg, (enum bir_opcode)row->opcode, engine_of(row, op), &inst));
    for (const struct operand_spec *spec = row->operands; spec && spec->kind != OPERAND_END; spec++)
        BIR_TRY(add_operand(cg, inst, spec, op));
    for (const struct key_spec *spec = row->keys; spec && spec->kind != KEY_END; spec++)
        BIR_TRY(add_key(&keys, spec, op, inst));
    if (row->finish)
        BIR_TRY(row->finish(cg, op, inst, &keys));
    BIR_TRY(codegen_keys_set(&keys, inst));
    bir_block_append(cg->block, inst);
    return bir_map_get(&cg->function->instructions, inst->name) ||
                   bir_map_put(&cg->function->instructions, &cg->module->arena, inst->name, inst)
               ? BIR_OK
               : codegen_nomem(cg);
}

enum bir_status codegen_statement(struct codegen *cg, const struct klr_node *statement)
{
    const struct klr_node *op = klr_node_at(statement, KLR_Stmt_oper_op);
    cg->statement = statement;
    cg->operator_name = klr_ctor_name(KLR_TYPE_Operator, op->ctor);
    if (op->ctor >= codegen_operator_count)
        return codegen_fail(cg, "klr-unsupported-operator", op, NULL, "operator number %u is not known", op->ctor);
    return execute(cg, &codegen_operators[op->ctor], klr_node_at(op, KLR_Operator_op));
}

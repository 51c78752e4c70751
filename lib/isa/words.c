/*
 * A word is built in two steps: a function of the op's family turns operands and properties into named values, and one
 * generic writer puts the values where the layout table says. Operations without a row in `families` have no known
 * word.
 *
 * Nothing here was compared with a captured binary (descriptors.md section 10): words are derived.
 */
#include "isa/words.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "isa/word_values.h"

#define INST_WORD_DWORDS 0x10

/* --- header: sync_info to wait and update fields (7.1) --- */

enum {
    WAIT_GE_IMMEDIATE = 5,
    /* "On completion" forms of increment and add (choice: bir-json.md 11, an engine's update happens when it is done).
     */
    UPDATE_INCREMENT = 3 + 16,
    UPDATE_ADD = 5 + 16,
};

static bool semaphore_fits(int64_t id, int64_t value)
{
    return id >= 0 && id <= UINT8_MAX && value >= 0 && value <= UINT32_MAX;
}

static void header_update(struct isa_word_builder *b, const struct bir_sync *sync)
{
    uint64_t *v = b->values.value;
    const struct bir_update *update = &sync->updates.items[0];
    if (sync->updates.count > 1)
        isa_word_unknown(b, "further updates of sync_info");
    if (update->props || !semaphore_fits(update->semaphore, update->value)) {
        isa_word_unknown(b, "update_mode");
        return;
    }
    v[ISA_VAL_UPDATE_IDX] = (uint64_t)update->semaphore;
    v[ISA_VAL_UPDATE_MODE] = update->value == 1 ? UPDATE_INCREMENT : UPDATE_ADD;
    if (update->value == 1)
        return;
    /* The word has one immediate; an update that adds another number than the wait compares has no place. */
    if (v[ISA_VAL_WAIT_MODE] != 0 && v[ISA_VAL_SEMAPHORE_VALUE] != (uint64_t)update->value) {
        v[ISA_VAL_UPDATE_IDX] = v[ISA_VAL_UPDATE_MODE] = 0;
        isa_word_unknown(b, "update_mode");
    } else {
        v[ISA_VAL_SEMAPHORE_VALUE] = (uint64_t)update->value;
    }
}

static void header_sync(struct isa_word_builder *b)
{
    const struct bir_sync *sync = b->inst->rare ? b->inst->rare->sync : NULL;
    uint64_t *v = b->values.value;
    if (!sync)
        return;
    if (sync->waits.count > 0) {
        const struct bir_wait *wait = &sync->waits.items[0];
        if (sync->waits.count > 1)
            isa_word_unknown(b, "further waits of sync_info");
        if (wait->props || !semaphore_fits(wait->semaphore, wait->value)) {
            isa_word_unknown(b, "wait_mode");
        } else {
            v[ISA_VAL_WAIT_MODE] = WAIT_GE_IMMEDIATE;
            v[ISA_VAL_WAIT_IDX] = (uint64_t)wait->semaphore;
            v[ISA_VAL_SEMAPHORE_VALUE] = (uint64_t)wait->value;
        }
    }
    if (sync->updates.count > 0 && !(bir_opcode_flags(b->inst->opcode) & BIR_OPF_DMA))
        header_update(b, sync);
}

/* --- writer --- */

bool isa_word_fail(struct isa_word_builder *b, const char *reason)
{
    b->words->reason = reason;
    return false;
}

void isa_word_unknown(struct isa_word_builder *b, const char *field)
{
    struct isa_words *words = b->words;
    for (uint32_t i = 0; i < words->n_unknown; i++)
        if (strcmp(words->unknown[i], field) == 0)
            return;
    if (words->n_unknown < ISA_MAX_UNKNOWN)
        words->unknown[words->n_unknown++] = field;
}

static void write_fields(const struct isa_word_builder *b, const struct isa_word_field *field, uint8_t *word)
{
    for (; field->kind != ISA_FIELD_END; field++) {
        if (field->kind == ISA_FIELD_VALUE)
            isa_store_le(word + field->offset, field->width, b->values.value[field->ref]);
        else if (field->kind == ISA_FIELD_CONST)
            isa_store_le(word + field->offset, field->width, field->ref);
        else if (b->values.operand[field->ref])
            memcpy(word + field->offset, b->values.operand[field->ref]->bytes,
                   b->values.operand[field->ref]->size_bytes);
    }
}

bool isa_word_emit(struct isa_word_builder *b, uint8_t opcode)
{
    const struct isa_word_layout *layout = isa_layout_of(opcode, b->generation);
    if (!layout)
        return isa_word_fail(b, "no layout is known on this generation");
    if (b->words->count >= ISA_MAX_WORDS)
        return isa_word_fail(b, "the instruction takes more words than expected");
    uint8_t *word = b->words->bytes + (size_t)b->words->count++ * ISA_WORD_BYTES;
    memset(word, 0, ISA_WORD_BYTES);
    b->values.value[ISA_VAL_OPCODE] = opcode;
    b->values.value[ISA_VAL_LENGTH] = INST_WORD_DWORDS;
    write_fields(b, isa_header_fields, word);
    write_fields(b, layout->fields, word);
    return true;
}

/* --- properties --- */

/* The key is a name of the compiler's; the value may be anything and is not repeated. */
void isa_word_unreadable(struct isa_word_builder *b, const char *key, const struct bir_prop *prop)
{
    if (b->is_unreadable)
        return;
    b->is_unreadable = true;
    snprintf(b->words->text, sizeof b->words->text, "%s %s", key,
             prop->type == BIR_VALUE_EXPR   ? "is an expression that changes or is known at run time only"
             : prop->type == BIR_VALUE_TEXT ? "has a name that is not known"
                                            : "has a value that no field of the word holds");
}

int64_t isa_word_int(struct isa_word_builder *b, const char *key, int64_t def)
{
    const struct bir_prop *prop = bir_props_find(b->inst->props, key);
    int64_t value = def;
    if (prop && !isa_prop_number(prop, &value)) {
        isa_word_unreadable(b, key, prop);
        value = def;
    }
    return value;
}

bool isa_word_bool(struct isa_word_builder *b, const char *key)
{
    return isa_word_int(b, key, 0) != 0;
}

int isa_word_enum(struct isa_word_builder *b, const char *key, enum bir_enum_id id, int def)
{
    const struct bir_prop *prop = bir_props_find(b->inst->props, key);
    int value = isa_prop_enum(b->inst, key, id, INT_MIN);
    if (prop && value == INT_MIN)
        isa_word_unreadable(b, key, prop);
    return value == INT_MIN ? def : value;
}

uint32_t isa_word_float_bits(struct isa_word_builder *b, const char *key, double def)
{
    const struct bir_prop *prop = bir_props_find(b->inst->props, key);
    bool is_float = prop && prop->type == BIR_VALUE_FLOAT;
    float narrow = (float)(is_float ? prop->u.f : prop ? (double)isa_word_int(b, key, 0) : def);
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

/* --- helpers of the families --- */

const struct isa_operand *isa_word_operand(const struct isa_word_builder *b, enum bir_role role, uint32_t i)
{
    if (i >= ISA_WORD_OPERANDS || i >= b->operands->count[role])
        return NULL;
    const struct isa_operand *operand = &b->operands->items[role][i];
    return operand->outcome == ISA_ENCODED ? operand : NULL;
}

const struct bir_argument *isa_word_argument(const struct isa_word_builder *b, enum bir_role role, uint32_t i)
{
    return i < ISA_WORD_OPERANDS && i < b->operands->count[role] ? b->operands->items[role][i].argument : NULL;
}

bool isa_word_source_and_destination(struct isa_word_builder *b)
{
    const struct isa_operand *src = isa_word_operand(b, BIR_ROLE_IN, 0), *dst = isa_word_operand(b, BIR_ROLE_OUT, 0);
    if (!src || !dst)
        return isa_word_fail(b, "a source or destination has no descriptor");
    b->values.operand[ISA_VAL_SRC0] = src;
    b->values.operand[ISA_VAL_DST] = dst;
    b->values.value[ISA_VAL_IN_TAG] = src->tag;
    b->values.value[ISA_VAL_OUT_TAG] = dst->tag;
    b->values.value[ISA_VAL_CHANNELS] = dst->partitions;
    return true;
}

int isa_alu_byte(int alu_op, enum isa_generation generation)
{
    /* 7.9 up to abs; the last three exist on v4 only (enums.md section 5). */
    static const int16_t bytes[BIR_ALU_COUNT] = {
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10,
        0x11, 0x12, 0x18, 0x13, 0x14, 0x16, 0x15, -1,   -1,   0x1A, 0x1B, 0x1D, 0x19, 0x20, 0x21, 0xC8,
    };
    if (alu_op < 0 || alu_op >= BIR_ALU_COUNT || (alu_op >= BIR_ALU_ABS_MAX && generation != ISA_V4))
        return -1;
    return bytes[alu_op];
}

bool isa_alu_is_bitwise(int alu_op)
{
    switch (alu_op) {
    case BIR_ALU_BITWISE_NOT:
    case BIR_ALU_ARITH_SHIFT_LEFT:
    case BIR_ALU_ARITH_SHIFT_RIGHT:
    case BIR_ALU_BITWISE_AND:
    case BIR_ALU_BITWISE_OR:
    case BIR_ALU_BITWISE_XOR:
    case BIR_ALU_LOGICAL_SHIFT_LEFT:
    case BIR_ALU_LOGICAL_SHIFT_RIGHT: return true;
    default: return false;
    }
}

bool isa_word_alu(struct isa_word_builder *b, const char *key, enum isa_value value)
{
    int byte = isa_alu_byte(isa_word_enum(b, key, BIR_ENUM_ALU_OP, BIR_ALU_BYPASS), b->generation);
    if (byte < 0)
        return isa_word_fail(b, "the ALU op has no byte in the word");
    b->values.value[value] = (uint64_t)byte;
    return true;
}

/* --- which family --- */

static bool words_header_only(struct isa_word_builder *b)
{
    static const struct {
        uint16_t op;
        uint8_t opcode;
    } rows[] = {
        { BIR_OP_NOOP, ISA_OP_NOOP },
        { BIR_OP_HALT, ISA_OP_HALT },
        { BIR_OP_DRAIN, ISA_OP_DRAIN },
        { BIR_OP_EVENT_SEMAPHORE, ISA_OP_EVENT_SEMAPHORE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == b->inst->opcode)
            return isa_word_emit(b, rows[i].opcode);
    return isa_word_fail(b, "no layout is known");
}

typedef bool family_fn(struct isa_word_builder *b);

static family_fn *family_of(uint16_t opcode)
{
    switch (opcode) {
    case BIR_OP_REGISTER_MOVE:
    case BIR_OP_REGISTER_ALU:
    case BIR_OP_TENSOR_LOAD:
    case BIR_OP_TENSOR_SAVE:
    case BIR_OP_COMPARE_AND_BRANCH:
    case BIR_OP_UNCONDITIONAL_BRANCH: return isa_words_registers;
    case BIR_OP_TENSOR_TENSOR:
    case BIR_OP_COPY_PREDICATED:
    case BIR_OP_TENSOR_COPY:
    case BIR_OP_GENERIC_COPY:
    case BIR_OP_RECIPROCAL:
    case BIR_OP_TENSOR_REDUCE:
    case BIR_OP_STREAM_SHUFFLE:
    case BIR_OP_STREAM_TRANSPOSE:
    case BIR_OP_TENSOR_SCALAR:
    case BIR_OP_TENSOR_SCALAR_PTR:
    case BIR_OP_ACTIVATION:
    case BIR_OP_MEMSET:
    case BIR_OP_INDIRECT_COPY: return isa_words_tensor;
    case BIR_OP_MATMULT:
    case BIR_OP_MATMULT_MX:
    case BIR_OP_QUANTIZE_MX: return isa_words_matrix;
    case BIR_OP_DMA_COPY:
    case BIR_OP_LOAD:
    case BIR_OP_SAVE: return isa_words_dma;
    case BIR_OP_NOOP:
    case BIR_OP_HALT:
    case BIR_OP_DRAIN:
    case BIR_OP_EVENT_SEMAPHORE: return words_header_only;
    default: return NULL;
    }
}

void isa_words_build(const struct isa_operands *operands, enum isa_generation generation, struct isa_words *out)
{
    out->count = out->n_unknown = 0;
    out->reason = NULL;
    out->needs_none = false;
    family_fn *family = family_of(operands->inst->opcode);
    if (!family) {
        out->needs_none = (bir_opcode_flags(operands->inst->opcode) & BIR_OPF_REGION) != 0;
        out->reason = out->needs_none ? "structured region: its body follows" : "no layout is known";
        return;
    }
    struct isa_word_builder b = {
        .operands = operands, .inst = operands->inst, .generation = generation, .words = out
    };
    header_sync(&b);
    if (family(&b) && !b.is_unreadable)
        return;
    out->count = out->n_unknown = 0;
    if (b.is_unreadable)
        out->reason = out->text;
}

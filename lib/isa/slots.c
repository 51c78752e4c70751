/*
 * One table: a row says, for an opcode, a list and a range of positions, the slot on each generation and what the
 * operand may be. Rows are searched in order, the first that matches wins; an opcode's rows are contiguous. Rows marked
 * CHOICE have no documented counterpart and follow the op's family: one source and one destination without immediates
 * as the copy family (4D), two sources or immediates in the word as TensorTensor (3D), three sources as SelectReduce
 * (2D).
 */
#include "isa/slots.h"

#include <limits.h>

#define ANY    ISA_SLOTF_SBUF | ISA_SLOTF_PSUM
#define SB     ISA_SLOTF_SBUF
#define PS     ISA_SLOTF_PSUM
#define GUESS  ISA_SLOTF_CHOICE
#define MOVE64 ISA_SLOTF_INT64 | ISA_SLOTF_FLOAT32R_IN
#define REST   UINT8_MAX

/* Slot of the three generations. */
#define ALL_OF(slot)                                                                                                   \
    {                                                                                                                  \
        ISA_SLOT_##slot, ISA_SLOT_##slot, ISA_SLOT_##slot                                                              \
    }
#define PATTERN(rank)                                                                                                  \
    {                                                                                                                  \
        ISA_SLOT_TENSOR##rank, ISA_SLOT_TENSOR##rank, ISA_SLOT_MEM_PATTERN##rank                                       \
    }
#define ONLY_V4(slot)                                                                                                  \
    {                                                                                                                  \
        ISA_SLOT_NONE, ISA_SLOT_NONE, ISA_SLOT_##slot                                                                  \
    }

/* Condition on the instruction for a row to apply. */
enum when {
    ALWAYS,
    IF_SCALAR_TENSOR_TENSOR,
    IF_TENSOR_SCAN,
    IF_CROSS_LANE,    /* a reduction over partitions */
    IF_SELECT_REDUCE, /* three inputs: SelectReduce under the name CopyPredicated */
};

enum { AXIS_XYZWC = 4 /* and 5, C: axes that include the partitions */ };

struct row {
    uint8_t role;
    uint8_t first, last; /* positions */
    uint8_t slot[ISA_GENERATIONS];
    uint16_t flags;
    uint8_t when;
};

#define IN  BIR_ROLE_IN
#define OUT BIR_ROLE_OUT
/* Rows of an opcode; the last one has no flags. */
#define ROWS(op, ...)                                                                                                  \
    [BIR_OP_##op] = (const struct row[])                                                                               \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

/* clang-format off */
static const struct row *const rows_of[] = {
    /* Copy family (S4D4_TR): documented. */
    ROWS(TENSOR_COPY,
        { IN, 0, 0, PATTERN(4D), ANY | MOVE64, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64, 0 }),
    ROWS(GENERIC_COPY,
        { IN, 0, 0, PATTERN(4D), ANY | MOVE64, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64, 0 }),
    ROWS(ABSTRACT_COPY,
        { IN, 0, 0, PATTERN(4D), ANY | MOVE64 | GUESS, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64 | GUESS, 0 }),
    ROWS(TENSOR_COPY_DYNAMIC_SRC,
        { IN, 0, 0, PATTERN(4D), ANY | MOVE64 | GUESS, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64 | GUESS, 0 }),
    ROWS(TENSOR_COPY_DYNAMIC_DST,
        { IN, 0, 0, PATTERN(4D), ANY | MOVE64 | GUESS, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64 | GUESS, 0 }),
    ROWS(RECIPROCAL,
        { IN, 0, 0, PATTERN(4D), ANY, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY, 0 }),
    ROWS(TENSOR_REDUCE,
        { IN, 0, 0, ALL_OF(TENSOR4D), ANY | ISA_SLOTF_KEEP_UNITS, IF_CROSS_LANE },
        { OUT, 0, 0, ALL_OF(TENSOR4D), ANY, IF_CROSS_LANE },
        { IN, 0, 0, PATTERN(4D), ANY | ISA_SLOTF_KEEP_UNITS, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY, 0 }),
    ROWS(STREAM_SHUFFLE,
        { IN, 0, 0, PATTERN(4D), ANY | MOVE64, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64, 0 }),
    ROWS(STREAM_TRANSPOSE,
        { IN, 0, 0, PATTERN(4D), ANY | MOVE64, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64, 0 }),
    ROWS(POOL,
        { IN, 0, 0, ALL_OF(TENSOR4D), ANY, 0 },
        { OUT, 0, 0, ALL_OF(TENSOR4D), ANY, 0 }),
    ROWS(INDIRECT_COPY,
        { IN, 0, 0, { ISA_SLOT_INDIRECT20B, ISA_SLOT_INDIRECT20B, ISA_SLOT_MEM_PATTERN4D }, SB | MOVE64, 0 },
        { IN, 1, 1, ALL_OF(NONE), SB | ISA_SLOTF_INDEX | ISA_SLOTF_NO_QUADRANT, 0 },
        { OUT, 0, 0, PATTERN(4D), SB | MOVE64, 0 }),
    ROWS(MEMSET,
        { OUT, 0, 0, PATTERN(4D), ANY | MOVE64, 0 }),
    /* Matmult family. Stationary and moving are read from SBUF, the result goes to PSUM. */
    ROWS(MATMULT,
        { IN, ISA_MATMULT_STATIONARY, ISA_MATMULT_MOVING, PATTERN(3D), SB | ISA_SLOTF_FLOAT32R_IN, 0 },
        { OUT, 0, 0, PATTERN(3D), PS | ISA_SLOTF_MATMUL_DST, 0 }),
    ROWS(MATMULT_SPARSE,
        { IN, 0, 0, { ISA_SLOT_NONE, ISA_SLOT_TENSOR3D, ISA_SLOT_NONE }, SB | GUESS, 0 },
        { IN, 1, 1, { ISA_SLOT_NONE, ISA_SLOT_TENSOR4D, ISA_SLOT_NONE }, SB, 0 },
        { IN, 2, REST, { ISA_SLOT_NONE, ISA_SLOT_TENSOR3D, ISA_SLOT_NONE }, SB | GUESS, 0 },
        { OUT, 0, 0, { ISA_SLOT_NONE, ISA_SLOT_TENSOR3D, ISA_SLOT_NONE }, PS | ISA_SLOTF_MATMUL_DST | GUESS, 0 }),
    ROWS(MATMULT_MX,
        { IN, 0, 1, ONLY_V4(MXMEM_PATTERN1D), SB, 0 },
        { IN, ISA_MATMULT_MX_STATIONARY_SCALE, ISA_MATMULT_MX_MOVING_SCALE, ALL_OF(NONE), SB | ISA_SLOTF_SCALE, 0 },
        { OUT, 0, 0, ONLY_V4(MEM_PATTERN3D), PS | ISA_SLOTF_MATMUL_DST, 0 }),
    ROWS(QUANTIZE_MX,
        { IN, 0, 0, ONLY_V4(MEM_PATTERN3D), ANY, 0 },
        { OUT, 0, 0, ONLY_V4(MXMEM_PATTERN1D), SB, 0 },
        { OUT, ISA_QUANTIZE_MX_SCALE, ISA_QUANTIZE_MX_SCALE, ALL_OF(NONE), SB | ISA_SLOTF_SCALE, 0 }),
    /* Two sources, or a source and scalars. */
    ROWS(TENSOR_TENSOR,
        { IN, 0, 1, PATTERN(3D), ANY, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY, 0 }),
    ROWS(TENSOR_SCALAR,
        { IN, 0, 0, PATTERN(3D), ANY, 0 },
        { IN, 1, REST, ALL_OF(ADDR4), ANY, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY, 0 }),
    ROWS(TENSOR_SCALAR_PTR,
        { IN, 0, 0, ALL_OF(TENSOR2D), ANY, IF_SCALAR_TENSOR_TENSOR },
        { IN, 1, 1, ALL_OF(ADDR4), ANY, IF_SCALAR_TENSOR_TENSOR },
        { IN, 2, 2, ALL_OF(TENSOR2D), ANY, IF_SCALAR_TENSOR_TENSOR },
        { OUT, 0, REST, ALL_OF(TENSOR2D), ANY, IF_SCALAR_TENSOR_TENSOR },
        { IN, 0, 1, ALL_OF(TENSOR2D), ANY | GUESS, IF_TENSOR_SCAN },
        { IN, 2, REST, ALL_OF(ADDR4), ANY | GUESS, IF_TENSOR_SCAN },
        { OUT, 0, REST, ALL_OF(TENSOR2D), ANY | GUESS, IF_TENSOR_SCAN },
        { IN, 0, 0, PATTERN(3D), ANY, 0 },
        { IN, 1, REST, ALL_OF(ADDR4), ANY, 0 },
        { OUT, 0, REST, PATTERN(3D), ANY, 0 }),
    ROWS(TENSOR_SCALAR_CACHE,
        { IN, 0, 0, PATTERN(3D), ANY | GUESS | ISA_SLOTF_KEEP_UNITS, 0 },
        { IN, 1, REST, ALL_OF(ADDR4), ANY | GUESS, 0 },
        { OUT, 0, REST, PATTERN(3D), ANY | GUESS | ISA_SLOTF_KEEP_UNITS, 0 }),
    ROWS(ACTIVATION,
        { IN, 0, 0, { ISA_SLOT_TENSOR3D, ISA_SLOT_TENSOR3D, ISA_SLOT_MEM_PATTERN2D }, ANY, 0 },
        { IN, 1, REST, ALL_OF(ADDR4), ANY, 0 },
        { OUT, 0, 0, { ISA_SLOT_TENSOR3D, ISA_SLOT_TENSOR3D, ISA_SLOT_MEM_PATTERN2D }, ANY, 0 },
        { OUT, 1, REST, { ISA_SLOT_TENSOR3D, ISA_SLOT_TENSOR3D, ISA_SLOT_MEM_PATTERN2D }, ANY | GUESS, 0 }),
    ROWS(GENERIC_RELU,
        { IN, 0, 0, PATTERN(3D), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY | GUESS, 0 }),
    ROWS(EXPONENTIAL,
        { IN, 0, 0, ONLY_V4(MEM_PATTERN2D), ANY | GUESS, 0 },
        { IN, 1, REST, ONLY_V4(ADDR4), ANY | GUESS, 0 },
        { OUT, 0, REST, ONLY_V4(MEM_PATTERN2D), ANY | GUESS, 0 }),
    ROWS(COPY_PREDICATED,
        { IN, 0, 2, ALL_OF(TENSOR2D), ANY, IF_SELECT_REDUCE },
        { OUT, 0, REST, ALL_OF(TENSOR2D), ANY, IF_SELECT_REDUCE },
        { IN, 0, 1, PATTERN(3D), ANY, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY, 0 }),
    ROWS(SELECT,
        { IN, 0, 2, ALL_OF(TENSOR2D), ANY, 0 },
        { OUT, 0, 0, ALL_OF(TENSOR2D), ANY, 0 }),
    ROWS(DROPOUT,
        { IN, 0, 0, PATTERN(3D), ANY | GUESS, 0 },
        { IN, 1, REST, ALL_OF(ADDR4), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY | GUESS, 0 }),
    ROWS(TENSOR_SCALAR_AFFINE_SELECT,
        { IN, 0, REST, PATTERN(3D), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY | GUESS, 0 }),
    ROWS(RANGE_SELECT,
        { IN, 0, 0, PATTERN(3D), ANY | GUESS, 0 },
        { IN, 1, REST, ALL_OF(ADDR4), ANY | GUESS, 0 },
        { OUT, 0, REST, PATTERN(3D), ANY | GUESS, 0 }),
    /* Batch normalisation. */
    ROWS(BN_STATS,
        { IN, 0, 0, ALL_OF(TENSOR4D), ANY, 0 },
        { OUT, 0, 0, ALL_OF(TENSOR2D), ANY, 0 }),
    ROWS(BN_STATS_AGGREGATE,
        { IN, 0, REST, ALL_OF(TENSOR4D), ANY | GUESS, 0 },
        { OUT, 0, 0, ALL_OF(TENSOR2D), ANY | GUESS, 0 }),
    ROWS(BN_GRADIENTS,
        { IN, 0, REST, ALL_OF(TENSOR2D), ANY | GUESS, 0 },
        { OUT, 0, 0, ALL_OF(TENSOR2D), ANY | GUESS, 0 }),
    ROWS(BN_BACKPROP,
        { IN, 0, REST, ALL_OF(TENSOR2D), ANY | GUESS, 0 },
        { OUT, 0, 0, ALL_OF(TENSOR2D), ANY | GUESS, 0 }),
    ROWS(BN_BACKPROP2,
        { IN, 0, REST, ALL_OF(TENSOR2D), ANY | GUESS, 0 },
        { OUT, 0, 0, ALL_OF(TENSOR2D), ANY | GUESS, 0 }),
    /* One source or none, chosen by family. */
    ROWS(IOTA,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(RAND,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(RAND2,
        { IN, 0, REST, ALL_OF(ADDR4), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(RNG,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(RAND_GET_STATE,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(RAND_SET_STATE,
        { IN, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(GET_RAND_STATE,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(SET_RAND_STATE,
        { IN, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(READ_ACTIVATION_ACCUMULATOR,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(ACTIVATION_READ_ACCUMULATOR,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(DVE_READ_ACCUMULATOR,
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(MAX,
        { IN, 0, 0, PATTERN(4D), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(MAX_INDEX,
        { IN, 0, 1, PATTERN(3D), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY | GUESS, 0 }),
    ROWS(MATCH_REPLACE,
        { IN, 0, 1, PATTERN(3D), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY | GUESS, 0 }),
    ROWS(MAX_INDEX_AND_MATCH_REPLACE,
        { IN, 0, 1, ALL_OF(TENSOR2D), ANY | GUESS, 0 },
        { OUT, 0, 1, ALL_OF(TENSOR2D), ANY | GUESS, 0 }),
    ROWS(GATHER,
        { IN, 0, 1, PATTERN(3D), ANY | GUESS | ISA_SLOTF_INT64, 0 },
        { OUT, 0, 0, PATTERN(3D), ANY | GUESS | ISA_SLOTF_INT64, 0 }),
    ROWS(NONZERO_WITH_COUNT,
        { IN, 0, REST, PATTERN(3D), ANY | GUESS, 0 },
        { OUT, 0, REST, PATTERN(3D), ANY | GUESS, 0 }),
    ROWS(GET_SEQUENCE_BOUNDS,
        { IN, 0, 0, PATTERN(4D), ANY | GUESS, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS, 0 }),
    ROWS(SHUFFLE,
        { IN, 0, 0, PATTERN(4D), ANY | GUESS | MOVE64, 0 },
        { OUT, 0, 0, PATTERN(4D), ANY | GUESS | MOVE64, 0 }),
    /* Register code: the SBUF or DRAM side of a register load or save. */
    ROWS(TENSOR_LOAD,
        { IN, 0, REST, ALL_OF(ADDR4), ANY | MOVE64 | GUESS | ISA_SLOTF_NO_QUADRANT | ISA_SLOTF_DRAM, 0 }),
    ROWS(TENSOR_SAVE,
        { OUT, 0, REST, ALL_OF(ADDR4), SB | MOVE64 | GUESS | ISA_SLOTF_NO_QUADRANT | ISA_SLOTF_DRAM, 0 }),
};
/* clang-format on */

#define N_OPCODES (sizeof rows_of / sizeof rows_of[0])

bool isa_prop_number(const struct bir_prop *prop, int64_t *value)
{
    switch ((enum bir_value_type)prop->type) {
    case BIR_VALUE_BOOL: *value = prop->u.b; return true;
    case BIR_VALUE_INT: *value = prop->u.i; return true;
    case BIR_VALUE_EXPR: *value = prop->u.e->u.affine.c; return pelican_is_constant(prop->u.e);
    default: return false;
    }
}

bool isa_prop_bool(const struct bir_instruction *inst, const char *key)
{
    return isa_prop_int(inst, key, 0) != 0;
}

int64_t isa_prop_int(const struct bir_instruction *inst, const char *key, int64_t def)
{
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    int64_t value;
    return prop && isa_prop_number(prop, &value) ? value : def;
}

int isa_prop_enum(const struct bir_instruction *inst, const char *key, enum bir_enum_id id, int def)
{
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    if (!prop)
        return def;
    if (prop->type == BIR_VALUE_INT)
        return prop->u.i >= 0 && prop->u.i <= INT_MAX && bir_enum_name(id, (int)prop->u.i) ? (int)prop->u.i : def;
    if (prop->type != BIR_VALUE_TEXT)
        return def;
    int value = bir_enum_value(id, prop->u.s->text, prop->u.s->len);
    return value < 0 ? def : value;
}

int isa_mx_scale_position(uint16_t opcode, enum bir_role role, uint32_t position)
{
    if (opcode == BIR_OP_MATMULT_MX && role == BIR_ROLE_IN && position <= 1)
        return position == ISA_MATMULT_STATIONARY ? ISA_MATMULT_MX_STATIONARY_SCALE : ISA_MATMULT_MX_MOVING_SCALE;
    if (opcode == BIR_OP_QUANTIZE_MX && role == BIR_ROLE_OUT && position == 0)
        return ISA_QUANTIZE_MX_SCALE;
    return -1;
}

static bool row_applies(const struct row *row, const struct bir_instruction *inst)
{
    switch (row->when) {
    case IF_SCALAR_TENSOR_TENSOR: return isa_prop_bool(inst, "is_scalar_tensor_tensor");
    case IF_TENSOR_SCAN: return isa_prop_bool(inst, "is_tensor_tensor_scan");
    case IF_CROSS_LANE: return isa_prop_enum(inst, "axis", BIR_ENUM_AXIS_LIST, 0) >= AXIS_XYZWC;
    case IF_SELECT_REDUCE: return bir_instruction_argument_count(inst, BIR_ROLE_IN) > 2;
    default: return true;
    }
}

static const struct row *row_of(const struct bir_instruction *inst, enum bir_role role, uint32_t position)
{
    if (inst->opcode >= N_OPCODES || !rows_of[inst->opcode])
        return NULL;
    for (const struct row *row = rows_of[inst->opcode]; row->flags; row++)
        if (row->role == role && position >= row->first && (row->last == REST || position <= row->last) &&
            row_applies(row, inst))
            return row;
    return NULL;
}

static struct isa_route no_bytes(const char *reason)
{
    return (struct isa_route){ ISA_SLOT_NONE, 0, reason };
}

static struct isa_route route_without_row(const struct bir_instruction *inst, enum bir_role role)
{
    unsigned op_flags = bir_opcode_flags(inst->opcode);
    if (role == BIR_ROLE_INDIRECTION)
        return (struct isa_route){ ISA_SLOT_NONE, ISA_SLOTF_SBUF | ISA_SLOTF_INDEX,
                                   "index vector: its address travels in the descriptor of the operand it drives" };
    if (inst->opcode == BIR_OP_DMA_TRIGGER || inst->opcode == BIR_OP_UNKNOWN || (op_flags & BIR_OPF_COLLECTIVE))
        return no_bytes("no operand layout is known for this instruction");
    if ((op_flags & BIR_OPF_DMA) ||
        (inst->opcode >= BIR_OP_DMA_DESCRIPTOR && inst->opcode <= BIR_OP_DMA_DESCRIPTOR_REPLICATE))
        return (struct isa_route){ ISA_SLOT_ADDR8,
                                   ISA_SLOTF_SBUF | ISA_SLOTF_PSUM | ISA_SLOTF_INT64 | ISA_SLOTF_FLOAT32R_IN |
                                       ISA_SLOTF_NO_QUADRANT,
                                   NULL };
    return no_bytes("no operand layout is known for this instruction");
}

struct isa_route isa_route_operand(const struct bir_instruction *inst, enum bir_role role, uint32_t position,
                                   enum isa_generation generation)
{
    const struct row *row = row_of(inst, role, position);
    if (!row)
        return route_without_row(inst, role);
    struct isa_route route = { (enum isa_slot)row->slot[generation], row->flags, NULL };
    /* Operands of the GPSIMD cores (engine Pool) stay in SBUF (descriptors.md section 5). */
    if (inst->engine == BIR_ENGINE_POOL && (route.flags & ISA_SLOTF_SBUF))
        route.flags &= ~(unsigned)ISA_SLOTF_PSUM;
    if (row->flags & ISA_SLOTF_SCALE)
        route.reason = "scale: its address travels in the descriptor of the data operand";
    else if (row->flags & ISA_SLOTF_INDEX)
        route.reason = "index vector: its address travels in the descriptor of the operand it drives";
    else if (route.slot == ISA_SLOT_NONE) {
        route.flags |= ISA_SLOTF_UNSUPPORTED;
        route.reason = "this operand has no known layout on this generation";
    }
    return route;
}

/*
 * Layouts of 64-byte instruction words as data (descriptors.md section 7): the encoder fills them, the decoder reads
 * them.
 */
#ifndef BIR_ISA_LAYOUT_H
#define BIR_ISA_LAYOUT_H

#include "isa/descriptor.h"

enum isa_field_kind {
    ISA_FIELD_END,
    ISA_FIELD_VALUE, /* ref: enum isa_value */
    ISA_FIELD_SLOT,  /* ref: enum isa_value of a descriptor; slot of the generation */
    ISA_FIELD_CONST, /* ref: the value itself */
};

/* What a field holds. A name of the word's own vocabulary; the same value may stand at different offsets in different
 * words. */
enum isa_value {
    /* The common header. */
    ISA_VAL_OPCODE,
    ISA_VAL_LENGTH,
    ISA_VAL_WAIT_MODE,
    ISA_VAL_WAIT_IDX,
    ISA_VAL_UPDATE_MODE,
    ISA_VAL_UPDATE_IDX,
    ISA_VAL_SEMAPHORE_VALUE,
    /* Descriptors. */
    ISA_VAL_SRC0,
    ISA_VAL_SRC1,
    ISA_VAL_DST,
    /* Types and shape. */
    ISA_VAL_TAGS, /* low nibble first source, high nibble second */
    ISA_VAL_IN_TAG,
    ISA_VAL_OUT_TAG,
    ISA_VAL_CHANNELS,
    ISA_VAL_ELEMS,
    ISA_VAL_ROWS,
    ISA_VAL_COLS,
    /* Operations. */
    ISA_VAL_OP0,
    ISA_VAL_OP1,
    ISA_VAL_REVERSE,
    ISA_VAL_NEGATED,
    ISA_VAL_SUBDIM,
    ISA_VAL_FUNCTION,
    ISA_VAL_ACCUMULATE,
    ISA_VAL_FILL,
    /* Scalars: where they come from, and they themselves (value or address word). */
    ISA_VAL_IMM0_SRC,
    ISA_VAL_IMM1_SRC,
    ISA_VAL_IMM0,
    ISA_VAL_IMM1,
    ISA_VAL_BIAS_SRC,
    ISA_VAL_BIAS,
    /* Matrix engine. */
    ISA_VAL_FP32_MODE,
    ISA_VAL_QUANT_OFFSET,
    ISA_VAL_ROW_GROUP,
    ISA_VAL_COL_GROUP,
    ISA_VAL_XBUS,
    ISA_VAL_ZERO_REGION,
    ISA_VAL_TRANSPOSE,
    ISA_VAL_PERF,
    ISA_VAL_FLAGS,
    /* Registers and branches. */
    ISA_VAL_REG_COUNT,
    ISA_VAL_SRC_MODE,
    ISA_VAL_SRC0_LOW,
    ISA_VAL_SRC0_HIGH,
    ISA_VAL_SRC1_LOW,
    ISA_VAL_SRC1_HIGH,
    ISA_VAL_DST_LOW,
    ISA_VAL_DST_HIGH,
    ISA_VAL_IMMEDIATE,
    ISA_VAL_COMPARE,
    ISA_VAL_TARGET,
    /* Memory through registers and DMA. */
    ISA_VAL_VARIABLE,
    ISA_VAL_OFFSET,
    ISA_VAL_BASE_REGISTER,
    ISA_VAL_COUNT0,
    ISA_VAL_COUNT1,
    ISA_VAL_STEP0,
    ISA_VAL_STEP1,
    ISA_VAL_PRIORITY,
    ISA_VAL_SEMAPHORE,
    ISA_VAL_INCREMENT,
    ISA_VAL_COMMAND,
    ISA_VAL_SRC_SIZE,
    ISA_VAL_DST_SIZE,
    ISA_VAL_DST_COUNT0,
    ISA_VAL_DST_COUNT1,
    ISA_VAL_DST_STEP0,
    ISA_VAL_DST_STEP1,
    ISA_VAL_PER_INDEX,
    ISA_VALUES
};

struct isa_word_field {
    const char *name;
    uint8_t offset, width;
    uint8_t kind; /* enum isa_field_kind */
    uint8_t ref;
    uint8_t slot[ISA_GENERATIONS]; /* ISA_FIELD_SLOT: enum isa_slot */
};

#define ISA_ON_V2  (1u << ISA_V2)
#define ISA_ON_V3  (1u << ISA_V3)
#define ISA_ON_V4  (1u << ISA_V4)
#define ISA_ON_ALL (ISA_ON_V2 | ISA_ON_V3 | ISA_ON_V4)

struct isa_word_layout {
    const char *name;
    uint8_t opcode;
    uint8_t generations;                 /* ISA_ON_* */
    const struct isa_word_field *fields; /* after the header; ends with ISA_FIELD_END */
};

/* The header's fields, bytes 0..11. */
extern const struct isa_word_field isa_header_fields[];

/* Layout of an opcode byte on a generation, or NULL. */
const struct isa_word_layout *isa_layout_of(uint8_t opcode, enum isa_generation generation);
/* Name of an opcode byte for a disassembler, "?" when unknown. Several BIR ops share some bytes. */
const char *isa_opcode_byte_name(uint8_t opcode);

/* Opcode bytes that the encoder emits. */
enum {
    ISA_OP_LOAD_STATIONARY = 0x01,
    ISA_OP_MATMULT = 0x02,
    ISA_OP_LD_WEIGHT_MX = 0x09,
    ISA_OP_MATMULT_MX = 0x0A,
    ISA_OP_ACTIVATION = 0x21,
    ISA_OP_TENSOR_TENSOR = 0x41,
    ISA_OP_TENSOR_TENSOR_BITWISE = 0x51,
    ISA_OP_REDUCE = 0x42,
    ISA_OP_REDUCE_BITWISE = 0x52,
    ISA_OP_TENSOR_SCALAR = 0x43,
    ISA_OP_TENSOR_SCALAR_BITWISE = 0x53,
    ISA_OP_COPY = 0x46,
    ISA_OP_CAST = 0x47,
    ISA_OP_RECIPROCAL = 0x48,
    ISA_OP_MEMSET = 0x49,
    ISA_OP_STREAM_SHUFFLE = 0x6A,
    ISA_OP_STREAM_TRANSPOSE = 0x6B,
    ISA_OP_COPY_PREDICATED = 0x72,
    ISA_OP_CAST_PREDICATED = 0x99,
    ISA_OP_EVENT_SEMAPHORE = 0xA0,
    ISA_OP_HALT = 0xA1,
    ISA_OP_DRAIN = 0xA2,
    ISA_OP_NOOP = 0xA4,
    ISA_OP_REGISTER_MOVE = 0xA7,
    ISA_OP_REGISTER_ALU = 0xA8,
    ISA_OP_BRANCH = 0xA9,
    ISA_OP_TENSOR_LOAD_REG = 0xAA,
    ISA_OP_TENSOR_SAVE_REG = 0xAB,
    ISA_OP_TENSOR_SAVE_IMM = 0xCD,
    ISA_OP_TENSOR_LOAD_IMM = 0xCE,
    ISA_OP_DMA_DIRECT_2D = 0xD4,
    ISA_OP_QUANTIZE_MX = 0xE3,
    ISA_OP_INDIRECT_COPY = 0xE7,
};

#endif

/*
 * The enumerations of BIR: ordinals of build 2.24, wire spellings, and the facts hung on them (enums.md).
 *
 * The wire carries names only. A name that no table knows is an error in strict mode; lenient readers keep it as text
 * (struct bir_enum_text below).
 */
#ifndef BIR_BIR_ENUMS_H
#define BIR_BIR_ENUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bir_dtype {
    BIR_DTYPE_UINT8, BIR_DTYPE_INT8, BIR_DTYPE_FLOAT4_E2M1FN_X4, BIR_DTYPE_FLOAT8E3, BIR_DTYPE_FLOAT8E4,
    BIR_DTYPE_FLOAT8_E4M3FN, BIR_DTYPE_FLOAT8_E8M0FNU, BIR_DTYPE_FLOAT8E5, BIR_DTYPE_FLOAT8_E4M3FN_X4,
    BIR_DTYPE_FLOAT8_E5M2_X4, BIR_DTYPE_UINT16, BIR_DTYPE_INT16, BIR_DTYPE_BFLOAT16, BIR_DTYPE_FLOAT16,
    BIR_DTYPE_UINT32, BIR_DTYPE_INT32, BIR_DTYPE_FLOAT32, BIR_DTYPE_FLOAT32R, BIR_DTYPE_UINT64, BIR_DTYPE_INT64,
    BIR_DTYPE_COUNT
};

enum bir_engine {
    BIR_ENGINE_UNASSIGNED, BIR_ENGINE_POOL, BIR_ENGINE_ACTIVATION, BIR_ENGINE_PE, BIR_ENGINE_DMA, BIR_ENGINE_DVE,
    BIR_ENGINE_SP, BIR_ENGINE_ALL, BIR_ENGINE_COUNT
};

/* Values of ArchLevel, not indices. */
enum bir_arch { BIR_ARCH_NONE = 0, BIR_ARCH_INFERENTIA = 10, BIR_ARCH_SUNDA = 20, BIR_ARCH_GEN3 = 30, BIR_ARCH_CORE_V4 = 40, BIR_ARCH_CORE_V5 = 50 };

enum bir_memory_type {
    BIR_MEMORY_NONE = 0, BIR_MEMORY_UNALLOCATED = 1, BIR_MEMORY_INPUT = 2, BIR_MEMORY_OUTPUT = 4, BIR_MEMORY_DRAM = 8,
    BIR_MEMORY_SB = 16, BIR_MEMORY_PSUM = 32, BIR_MEMORY_RNGSTATE = 64, BIR_MEMORY_REG = 128
};

enum bir_tensor_kind {
    BIR_TENSOR_EXTERNAL_INPUT, BIR_TENSOR_EXTERNAL_INPUT_PARAMETER, BIR_TENSOR_INPUT, BIR_TENSOR_EXTERNAL_OUTPUT,
    BIR_TENSOR_EXTERNAL_OUTPUT_PARAMETER, BIR_TENSOR_OUTPUT, BIR_TENSOR_CONST, BIR_TENSOR_INTERNAL, BIR_TENSOR_POINTER,
    BIR_TENSOR_INTERNAL_INTERFACE, BIR_TENSOR_KIND_COUNT
};

enum bir_edge_kind { BIR_EDGE_INVALID, BIR_EDGE_ORDERED, BIR_EDGE_ANTI, BIR_EDGE_OUTPUT, BIR_EDGE_FLOW, BIR_EDGE_COUNT };

enum bir_alu_op {
    BIR_ALU_BYPASS, BIR_ALU_BITWISE_NOT, BIR_ALU_ARITH_SHIFT_LEFT, BIR_ALU_ARITH_SHIFT_RIGHT, BIR_ALU_ADD, BIR_ALU_SUBTRACT,
    BIR_ALU_MULT, BIR_ALU_DIVIDE, BIR_ALU_MAX, BIR_ALU_MIN, BIR_ALU_BITWISE_AND, BIR_ALU_BITWISE_OR, BIR_ALU_BITWISE_XOR,
    BIR_ALU_LOGICAL_AND, BIR_ALU_LOGICAL_OR, BIR_ALU_LOGICAL_XOR, BIR_ALU_LOGICAL_SHIFT_LEFT, BIR_ALU_LOGICAL_SHIFT_RIGHT,
    BIR_ALU_IS_EQUAL, BIR_ALU_NOT_EQUAL, BIR_ALU_IS_GT, BIR_ALU_IS_GE, BIR_ALU_IS_LT, BIR_ALU_IS_LE, BIR_ALU_AVERAGE,
    BIR_ALU_ELEMWISE_MUL, BIR_ALU_POW, BIR_ALU_MOD, BIR_ALU_RSQRT, BIR_ALU_ABS, BIR_ALU_ABS_MAX, BIR_ALU_ABS_MIN,
    BIR_ALU_MOD_INT, BIR_ALU_COUNT
};

enum bir_branch_compare {
    BIR_BRANCH_IS_LTIMM, BIR_BRANCH_IS_LEIMM, BIR_BRANCH_IS_EQIMM, BIR_BRANCH_IS_NEIMM, BIR_BRANCH_IS_GEIMM, BIR_BRANCH_IS_GTIMM,
    BIR_BRANCH_IS_LTREG, BIR_BRANCH_IS_LEREG, BIR_BRANCH_IS_EQREG, BIR_BRANCH_IS_NEREG, BIR_BRANCH_IS_GEREG, BIR_BRANCH_IS_GTREG,
    BIR_BRANCH_UNSUPPORTED, BIR_BRANCH_COUNT
};

enum bir_origin { BIR_ORIGIN_INTERNAL, BIR_ORIGIN_PENGUIN, BIR_ORIGIN_NKI, BIR_ORIGIN_COUNT };

/* Every enumeration that occurs on the wire has one row in a table (enums.c), found by this id. The value of a member is its
 * ordinal, but for ArchLevel and MemoryType, where it is the value above. */
enum bir_enum_id {
    BIR_ENUM_DTYPE, BIR_ENUM_ENGINE, BIR_ENUM_ARCH_LEVEL, BIR_ENUM_ARCH_REVISION, BIR_ENUM_OPCODE, BIR_ENUM_ALU_OP, BIR_ENUM_EDGE_KIND,
    BIR_ENUM_MEMORY_TYPE, BIR_ENUM_TENSOR_KIND, BIR_ENUM_TENSOR_CLASS, BIR_ENUM_ADDRESS_SPACE, BIR_ENUM_DGE_TYPE,
    BIR_ENUM_COPY_MODE, BIR_ENUM_DMA_QOS, BIR_ENUM_INDIRECT_DIM, BIR_ENUM_TRANSPOSE_OPS, BIR_ENUM_ACTIVATION_FUNCTION,
    BIR_ENUM_ACCUMULATION, BIR_ENUM_AXIS_LIST, BIR_ENUM_MATMULT_PERF_MODE, BIR_ENUM_POOL_FUNCTION, BIR_ENUM_TSC_MODE,
    BIR_ENUM_MEMSET_MODE, BIR_ENUM_RANDOM_ALGORITHM, BIR_ENUM_RANDOM_DISTRIBUTION, BIR_ENUM_BRANCH_COMPARE,
    BIR_ENUM_BRANCH_HINT, BIR_ENUM_COLLECTIVE_KIND, BIR_ENUM_COLLECTIVE_DIMENSION, BIR_ENUM_COLLECTIVE_TYPE_HINT,
    BIR_ENUM_EVENT_CLEAR_MODE, BIR_ENUM_SYNC_TYPE, BIR_ENUM_UNIQUE_TENSORS, BIR_ENUM_ADDRESS_ROTATION, BIR_ENUM_KERNEL_SOURCE,
    BIR_ENUM_DEBUG_BUFFER, BIR_ENUM_TENSOR_COMPLETION, BIR_ENUM_ORIGIN, BIR_ENUM_COUNT
};

/* Name of a member, or NULL when value is none. */
const char *bir_enum_name(enum bir_enum_id id, int value);
/* Value of a name, or -1. Exact and case-sensitive. Constant time (perfect or open-addressed hash built at compile time or
 * binary search over a sorted table). */
int bir_enum_value(enum bir_enum_id id, const char *name, size_t len);
/* "EngineType", "Dtype", ... for messages. */
const char *bir_enum_title(enum bir_enum_id id);
/* Number of members, and the value of the i-th: for listing and for tests. */
size_t bir_enum_member_count(enum bir_enum_id id);
int bir_enum_member(enum bir_enum_id id, size_t i);

#define BIR_ENUM_UNKNOWN 0xFF /* dtype, engine, ... whose text no table knows; the text is kept beside */

/* Bytes of one element (container) by enums.md section 1; 0 for BIR_ENUM_UNKNOWN. */
uint32_t bir_dtype_bytes(uint8_t dtype);
/* Legal in an immediate (bir-json.md section 8: integers and bf16, fp16, fp32). */
bool bir_dtype_is_immediate(uint8_t dtype);
const char *bir_dtype_name(uint8_t dtype);   /* "?" when unknown */
const char *bir_engine_name(uint8_t engine); /* the same */
/* gen3 for "gen3", "cayman", "trn2" and so on (enums.md section 3); BIR_ARCH_NONE when unknown. */
enum bir_arch bir_arch_from_name(const char *name, size_t len);
const char *bir_arch_name(enum bir_arch arch);

#endif

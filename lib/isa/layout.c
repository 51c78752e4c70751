/*
 * Offsets and widths are those of descriptors.md section 7, one table a word. A byte that no row covers is zero. The
 * same rows drive the encoder and the decoder, so what one writes the other names.
 */
#include "isa/layout.h"

#define V(field, offset, width, value)                                                                                 \
    {                                                                                                                  \
        field, offset, width, ISA_FIELD_VALUE, ISA_VAL_##value,                                                        \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define K(field, offset, width, constant)                                                                              \
    {                                                                                                                  \
        field, offset, width, ISA_FIELD_CONST, constant,                                                               \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define S(field, offset, value, a, b, c)                                                                               \
    {                                                                                                                  \
        field, offset, 0, ISA_FIELD_SLOT, ISA_VAL_##value,                                                             \
        {                                                                                                              \
            ISA_SLOT_##a, ISA_SLOT_##b, ISA_SLOT_##c                                                                   \
        }                                                                                                              \
    }
#define S3D(field, offset, value)        S(field, offset, value, TENSOR3D, TENSOR3D, MEM_PATTERN3D)
#define S4D(field, offset, value)        S(field, offset, value, TENSOR4D, TENSOR4D, MEM_PATTERN4D)
#define SAME(field, offset, value, slot) S(field, offset, value, slot, slot, slot)
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, 0, ISA_FIELD_END, 0,                                                                                  \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

/* clang-format off */
const struct isa_word_field isa_header_fields[] = {
    V("opcode", 0, 1, OPCODE), V("inst_word_len", 1, 1, LENGTH), K("debug_cmd", 2, 1, 0), K("debug_hint", 3, 1, 0),
    V("wait_mode", 4, 1, WAIT_MODE), V("wait_idx", 5, 1, WAIT_IDX), V("update_mode", 6, 1, UPDATE_MODE),
    V("update_idx", 7, 1, UPDATE_IDX), V("semaphore_value", 8, 4, SEMAPHORE_VALUE), END
};

static const struct isa_word_field header_only[] = { END };

static const struct isa_word_field register_move[] = { /* 7.2 */
    V("num_registers", 12, 1, REG_COUNT), V("dtype", 13, 1, IN_TAG), V("source_mode", 14, 1, SRC_MODE),
    V("src_register", 16, 1, SRC0_LOW), V("dst_register_low", 24, 1, DST_LOW), V("dst_register_high", 25, 1, DST_HIGH),
    V("immediate", 32, 8, IMMEDIATE), END
};

static const struct isa_word_field register_alu[] = { /* 7.3 */
    V("op", 12, 1, OP0), V("dtype", 13, 1, IN_TAG), V("source_mode", 14, 1, SRC_MODE), V("dst_dtype", 15, 1, OUT_TAG),
    V("src0_low", 16, 1, SRC0_LOW), V("src0_high", 17, 1, SRC0_HIGH), V("src1_low", 18, 1, SRC1_LOW),
    V("src1_high", 19, 1, SRC1_HIGH), V("dst_low", 20, 1, DST_LOW), V("dst_high", 21, 1, DST_HIGH),
    V("immediate", 24, 8, IMMEDIATE), END
};

static const struct isa_word_field branch[] = { /* 7.4 */
    V("compare", 12, 1, COMPARE), V("dtype", 13, 1, IN_TAG), K("branch_mode", 14, 1, 3), V("immediate", 16, 4, IMMEDIATE),
    V("lhs_register", 32, 1, SRC0_LOW), V("rhs_register", 33, 1, SRC1_LOW), V("target", 48, 8, TARGET), END
};

static const struct isa_word_field tensor_tensor[] = { /* 7.5 */
    V("in_dtypes", 12, 1, TAGS), V("out_dtype", 13, 1, OUT_TAG), V("op", 14, 1, OP0), V("num_active_channels", 15, 1, CHANNELS),
    S3D("src0", 16, SRC0), S3D("src1", 32, SRC1), S3D("dst", 48, DST), END
};

static const struct isa_word_field copy_family[] = { /* 7.6 */
    S4D("src", 12, SRC0), V("in_dtype", 32, 1, IN_TAG), V("out_dtype", 33, 1, OUT_TAG), V("num_active_channels", 34, 1, CHANNELS),
    V("negated", 35, 1, NEGATED), V("op", 36, 1, OP0), V("sub_dim", 37, 1, SUBDIM), K("mask_enable", 38, 1, 0),
    S4D("dst", 44, DST), END
};

static const struct isa_word_field load_stationary_v2[] = { /* 7.7 */
    S3D("src", 16, SRC0), V("in_dtype", 32, 1, IN_TAG), V("fp32_mode", 33, 1, FP32_MODE), V("perf_opt", 35, 1, PERF),
    V("num_active_rows", 38, 1, ROWS), V("num_active_cols", 39, 1, COLS), V("row_grp", 44, 1, ROW_GROUP),
    V("col_grp", 45, 1, COL_GROUP), V("xbus_sel", 46, 1, XBUS), END
};

static const struct isa_word_field load_stationary_v3[] = {
    S3D("src", 16, SRC0), V("in_dtype", 32, 1, IN_TAG), V("fp32_mode", 33, 1, FP32_MODE), V("perf_opt", 35, 1, PERF),
    V("num_active_rows", 38, 1, ROWS), V("num_active_cols", 39, 1, COLS), V("row_grp", 44, 1, ROW_GROUP),
    V("col_grp", 45, 1, COL_GROUP), END
};

static const struct isa_word_field load_stationary_v4[] = {
    V("background_transpose", 12, 1, TRANSPOSE), S3D("src", 16, SRC0), V("in_dtype", 32, 1, IN_TAG),
    V("fp32_mode", 33, 1, FP32_MODE), V("perf_opt", 35, 1, PERF), V("num_active_rows", 38, 1, ROWS),
    V("num_active_cols", 39, 1, COLS), V("row_grp", 44, 1, ROW_GROUP), V("col_grp", 45, 1, COL_GROUP), V("flags", 47, 1, FLAGS), END
};

static const struct isa_word_field matmult_v2[] = {
    S3D("src", 16, SRC0), V("in_dtype", 32, 1, IN_TAG), V("fp32_mode", 33, 1, FP32_MODE), V("perf_opt", 35, 1, PERF),
    V("quant_offset", 36, 2, QUANT_OFFSET), V("num_active_rows", 38, 1, ROWS), V("num_active_cols", 39, 1, COLS),
    V("psum_accumulate_flags", 43, 1, ACCUMULATE), V("row_grp", 44, 1, ROW_GROUP), V("col_grp", 45, 1, COL_GROUP),
    V("xbus_sel", 46, 1, XBUS), V("psum_zero_region", 47, 1, ZERO_REGION), S3D("dst", 48, DST), END
};

static const struct isa_word_field matmult_v3[] = {
    S3D("src", 16, SRC0), V("in_dtype", 32, 1, IN_TAG), V("fp32_mode", 33, 1, FP32_MODE), V("transpose_mode", 34, 1, TRANSPOSE),
    V("perf_opt", 35, 1, PERF), V("num_active_rows", 38, 1, ROWS), V("num_active_cols", 39, 1, COLS),
    V("out_dtype", 40, 1, OUT_TAG), V("psum_accumulate_flags", 43, 1, ACCUMULATE), V("row_grp", 44, 1, ROW_GROUP),
    V("col_grp", 45, 1, COL_GROUP), V("psum_zero_region", 47, 1, ZERO_REGION), S3D("dst", 48, DST), END
};

static const struct isa_word_field matmult_v4[] = {
    S3D("src", 16, SRC0), V("in_dtype", 32, 1, IN_TAG), V("fp32_mode", 33, 1, FP32_MODE), V("transpose_mode", 34, 1, TRANSPOSE),
    V("perf_opt", 35, 1, PERF), V("num_active_rows", 38, 1, ROWS), V("num_active_cols", 39, 1, COLS),
    V("out_dtype", 40, 1, OUT_TAG), V("flags", 42, 1, FLAGS), V("psum_accumulate_flags", 43, 1, ACCUMULATE),
    V("row_grp", 44, 1, ROW_GROUP), V("col_grp", 45, 1, COL_GROUP), V("psum_zero_region", 47, 1, ZERO_REGION),
    S3D("dst", 48, DST), END
};

static const struct isa_word_field ld_weight_mx[] = {
    SAME("src", 16, SRC0, MXMEM_PATTERN1D), V("in_dtype", 32, 1, IN_TAG), V("num_active_rows", 38, 1, ROWS),
    V("num_active_cols", 39, 1, COLS), V("row_grp", 44, 1, ROW_GROUP), V("col_grp", 45, 1, COL_GROUP), END
};

static const struct isa_word_field matmult_mx[] = {
    SAME("src", 16, SRC0, MXMEM_PATTERN1D), V("in_dtype", 32, 1, IN_TAG), V("num_active_rows", 38, 1, ROWS),
    V("num_active_cols", 39, 1, COLS), V("out_dtype", 40, 1, OUT_TAG), V("psum_accumulate_flags", 43, 1, ACCUMULATE),
    V("row_grp", 44, 1, ROW_GROUP), V("col_grp", 45, 1, COL_GROUP), V("psum_zero_region", 47, 1, ZERO_REGION),
    S3D("dst", 48, DST), END
};

static const struct isa_word_field quantize_mx[] = {
    S3D("src", 16, SRC0), V("num_active_channels", 33, 1, CHANNELS), V("in_dtype", 34, 1, IN_TAG),
    V("out_dtype", 35, 1, OUT_TAG), SAME("dst", 48, DST, MXMEM_PATTERN1D), END
};

static const struct isa_word_field activation[] = { /* 7.8 */
    V("imm_src", 12, 1, IMM1_SRC), V("scale_src", 13, 1, IMM0_SRC), V("accumulator_cmd", 14, 1, ACCUMULATE),
    V("bias_src_n", 15, 1, BIAS_SRC), S3D("src", 16, SRC0), V("in_dtypes", 32, 1, TAGS), V("out_dtype", 33, 1, OUT_TAG),
    V("num_active_channels", 34, 1, CHANNELS), V("function", 35, 1, FUNCTION), V("scale", 36, 4, IMM0), V("bias", 40, 4, BIAS),
    V("imm", 44, 4, IMM1), S3D("dst", 48, DST), END
};

static const struct isa_word_field tensor_scalar[] = {
    V("accumulator_cmd", 12, 1, ACCUMULATE), S3D("src", 16, SRC0), V("in_dtype", 32, 1, IN_TAG), V("out_dtype", 33, 1, OUT_TAG),
    V("num_active_channels", 34, 1, CHANNELS), V("imm0_src", 35, 1, IMM0_SRC), V("op0", 36, 1, OP0), V("op1", 37, 1, OP1),
    V("reverse", 38, 1, REVERSE), V("imm1_src", 39, 1, IMM1_SRC), V("imm0", 40, 4, IMM0), V("imm1", 44, 4, IMM1),
    S3D("dst", 48, DST), END
};

static const struct isa_word_field memset_word[] = {
    V("num_elem", 28, 4, ELEMS), V("dtype", 32, 1, OUT_TAG), V("num_active_channels", 34, 1, CHANNELS), V("fill", 40, 4, FILL),
    S4D("dst", 44, DST), END
};

static const struct isa_word_field indirect_copy[] = {
    SAME("src", 12, SRC0, INDIRECT20B), V("in_dtype", 32, 1, IN_TAG), V("out_dtype", 33, 1, OUT_TAG),
    V("num_active_channels", 34, 1, CHANNELS), V("elems_per_index", 35, 1, PER_INDEX), V("source_size", 38, 2, SRC_SIZE),
    S4D("dst", 44, DST), END
};

static const struct isa_word_field tensor_access[] = { /* section 8; the offset is four bytes (choice) */
    V("count0", 14, 1, COUNT0), V("count1", 15, 1, COUNT1), V("variable", 16, 4, VARIABLE), V("offset", 20, 4, OFFSET),
    V("step0", 24, 4, STEP0), V("step1", 28, 4, STEP1), V("base_register", 32, 1, BASE_REGISTER), END
};

static const struct isa_word_field dma_direct_2d[] = { /* section 8 */
    V("priority_class", 12, 1, PRIORITY), V("semaphore", 13, 1, SEMAPHORE), V("increment", 14, 1, INCREMENT),
    V("command", 15, 1, COMMAND), SAME("src", 16, SRC0, ADDR8), V("src_step0", 24, 4, STEP0), V("src_step1", 28, 4, STEP1),
    V("src_count0", 32, 2, COUNT0), V("src_count1", 34, 2, COUNT1), V("src_elem_bytes", 36, 2, SRC_SIZE),
    SAME("dst", 40, DST, ADDR8), V("dst_step0", 48, 4, DST_STEP0), V("dst_step1", 52, 4, DST_STEP1),
    V("dst_count0", 56, 2, DST_COUNT0), V("dst_count1", 58, 2, DST_COUNT1), V("dst_elem_bytes", 60, 2, DST_SIZE),
    V("src_dtype", 62, 1, IN_TAG), V("dst_dtype", 63, 1, OUT_TAG), END
};

static const struct isa_word_layout layouts[] = {
    { "LoadStationary", 0x01, ISA_ON_V2, load_stationary_v2 },
    { "LoadStationary", 0x01, ISA_ON_V3, load_stationary_v3 },
    { "LoadStationary", 0x01, ISA_ON_V4, load_stationary_v4 },
    { "Matmult", 0x02, ISA_ON_V2, matmult_v2 },
    { "Matmult", 0x02, ISA_ON_V3, matmult_v3 },
    { "Matmult", 0x02, ISA_ON_V4, matmult_v4 },
    { "LdWeightMx", 0x09, ISA_ON_V4, ld_weight_mx },
    { "MatmultMx", 0x0A, ISA_ON_V4, matmult_mx },
    { "Activation", 0x21, ISA_ON_V2 | ISA_ON_V3, activation },
    { "TensorTensor", 0x41, ISA_ON_ALL, tensor_tensor },
    { "TensorTensor", 0x51, ISA_ON_ALL, tensor_tensor },
    { "TensorReduce", 0x42, ISA_ON_ALL, copy_family },
    { "TensorReduce", 0x52, ISA_ON_ALL, copy_family },
    { "TensorScalar", 0x43, ISA_ON_ALL, tensor_scalar },
    { "TensorScalar", 0x53, ISA_ON_ALL, tensor_scalar },
    { "Copy", 0x46, ISA_ON_ALL, copy_family },
    { "Cast", 0x47, ISA_ON_ALL, copy_family },
    { "Reciprocal", 0x48, ISA_ON_ALL, copy_family },
    { "Memset", 0x49, ISA_ON_ALL, memset_word },
    { "StreamShuffle", 0x6A, ISA_ON_ALL, copy_family },
    { "StreamTranspose", 0x6B, ISA_ON_ALL, copy_family },
    { "CopyPredicated", 0x72, ISA_ON_ALL, tensor_tensor },
    { "CastPredicated", 0x99, ISA_ON_ALL, tensor_tensor },
    { "EventSemaphore", 0xA0, ISA_ON_ALL, header_only },
    { "Halt", 0xA1, ISA_ON_ALL, header_only },
    { "Drain", 0xA2, ISA_ON_ALL, header_only },
    { "NoOp", 0xA4, ISA_ON_ALL, header_only },
    { "RegisterMove", 0xA7, ISA_ON_ALL, register_move },
    { "RegisterAlu", 0xA8, ISA_ON_ALL, register_alu },
    { "Branch", 0xA9, ISA_ON_ALL, branch },
    { "TensorLoad", 0xAA, ISA_ON_ALL, tensor_access },
    { "TensorSave", 0xAB, ISA_ON_ALL, tensor_access },
    { "TensorSave", 0xCD, ISA_ON_ALL, tensor_access },
    { "TensorLoad", 0xCE, ISA_ON_ALL, tensor_access },
    { "DMADirect2D", 0xD4, ISA_ON_ALL, dma_direct_2d },
    { "QuantizeMx", 0xE3, ISA_ON_V4, quantize_mx },
    { "IndirectCopy", 0xE7, ISA_ON_V2 | ISA_ON_V3, indirect_copy },
};

/* Names beyond the layouts above (descriptors.md 7.8). */
static const struct {
    uint8_t opcode;
    const char *name;
} opcode_names[] = {
    { 0x06, "LoadTags" }, { 0x07, "MatmultSparse" }, { 0x23, "LoadActFuncSet" }, { 0x24, "ReadActAccumulator" },
    { 0x25, "Activation(v4)" }, { 0x30, "Exponential(v4)" }, { 0x45, "Pool" }, { 0x4D, "Rng" }, { 0x61, "BNStats" },
    { 0x62, "BNAggregate" }, { 0x63, "BNGradients" }, { 0x64, "BNBackprop" }, { 0x67, "PoolBufferLoad" }, { 0x68, "Gather" },
    { 0x69, "MaskLoad" }, { 0x6C, "Max8" }, { 0x6D, "MaxIndex" }, { 0x6E, "MaxIndex" }, { 0x6F, "MatchReplace" },
    { 0x77, "RandGetState" }, { 0x78, "RandSetState" }, { 0x7E, "Iota" }, { 0x7F, "Dropout" }, { 0x82, "BNStats" },
    { 0x8A, "TensorTensor(int32)" }, { 0x8E, "TensorTensor(int32)" }, { 0x92, "AffineSelect" }, { 0x93, "TensorScalar" },
    { 0x94, "BNGradients" }, { 0x9A, "TensorScalarCacheReduce" }, { 0x9B, "ReadAccumulator" }, { 0xB0, "SemaphoreRangeClear" },
    { 0xB2, "MoveShape" }, { 0xBC, "RangeSelect" }, { 0xBF, "SB2SB" }, { 0xC1, "DMATrigger" }, { 0xC2, "QueueRearm" },
    { 0xC4, "IndirectLoad" }, { 0xCA, "EmbeddingUpdate" }, { 0xCF, "QueueSwap" }, { 0xD2, "Return" }, { 0xD3, "Call" },
    { 0xD5, "Barrier" }, { 0xD6, "IndirectSave" }, { 0xD8, "CoreBarrier" }, { 0xDA, "DMADynamic" }, { 0xDD, "BranchHint" },
    { 0xDF, "Exit" }, { 0xE2, "Rand2" }, { 0xE8, "CopyPredicatedScalar" }, { 0xEA, "SelectReduce" }, { 0xF2, "NonzeroWithCount" },
};
/* clang-format on */

const struct isa_word_layout *isa_layout_of(uint8_t opcode, enum isa_generation generation)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].opcode == opcode && (layouts[i].generations & (1u << generation)))
            return &layouts[i];
    return NULL;
}

const char *isa_opcode_byte_name(uint8_t opcode)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].opcode == opcode)
            return layouts[i].name;
    for (size_t i = 0; i < sizeof opcode_names / sizeof opcode_names[0]; i++)
        if (opcode_names[i].opcode == opcode)
            return opcode_names[i].name;
    return "?";
}

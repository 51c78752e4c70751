/*
 * Translation of the enumerations (enums.md 1, 2, 5, 10, 11, 14 and lowering.md 2).
 *
 * One array a pair, indexed by the KLR wire number, with the names of both sides in it, so that a row can be checked
 * against the fact sheet without counting. KLR's in-memory ordinals are one higher than its wire numbers; only the
 * latter occur here.
 */
#include "codegen/maps.h"

#include <stddef.h>

#include "bir/enums.h"
#include "klr/klr.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static const int8_t dtypes[] = {
    [KLR_Dtype_bfloat16] = BIR_DTYPE_BFLOAT16,
    [KLR_Dtype_float8e3] = BIR_DTYPE_FLOAT8E3,
    [KLR_Dtype_float8e4] = BIR_DTYPE_FLOAT8E4,
    [KLR_Dtype_float8e5] = BIR_DTYPE_FLOAT8E5,
    [KLR_Dtype_float16] = BIR_DTYPE_FLOAT16,
    [KLR_Dtype_float32] = BIR_DTYPE_FLOAT32,
    [KLR_Dtype_float32r] = BIR_DTYPE_FLOAT32R,
    [KLR_Dtype_int8] = BIR_DTYPE_INT8,
    [KLR_Dtype_int16] = BIR_DTYPE_INT16,
    [KLR_Dtype_int64] = BIR_DTYPE_INT64,
    [KLR_Dtype_int32] = BIR_DTYPE_INT32,
    [KLR_Dtype_uint8] = BIR_DTYPE_UINT8,
    [KLR_Dtype_uint16] = BIR_DTYPE_UINT16,
    [KLR_Dtype_uint32] = BIR_DTYPE_UINT32,
    [KLR_Dtype_uint64] = BIR_DTYPE_UINT64,
    [KLR_Dtype_float8_e4m3] = BIR_DTYPE_FLOAT8E4, /* the same type under a second name */
    [KLR_Dtype_float8_e4m3fn] = BIR_DTYPE_FLOAT8_E4M3FN,
    [KLR_Dtype_float8_e5m2_x4] = BIR_DTYPE_FLOAT8_E5M2_X4,
    [KLR_Dtype_float8_e4m3fn_x4] = BIR_DTYPE_FLOAT8_E4M3FN_X4,
    [KLR_Dtype_float4_e2m1fn_x4] = BIR_DTYPE_FLOAT4_E2M1FN_X4,
};

static const int8_t alu_ops[] = {
    [KLR_AluOp_abs] = BIR_ALU_ABS,
    [KLR_AluOp_add] = BIR_ALU_ADD,
    [KLR_AluOp_arith_shift_left] = BIR_ALU_ARITH_SHIFT_LEFT,
    [KLR_AluOp_arith_shift_right] = BIR_ALU_ARITH_SHIFT_RIGHT,
    [KLR_AluOp_average] = BIR_ALU_AVERAGE,
    [KLR_AluOp_bitwise_and] = BIR_ALU_BITWISE_AND,
    [KLR_AluOp_bitwise_not] = BIR_ALU_BITWISE_NOT,
    [KLR_AluOp_bitwise_or] = BIR_ALU_BITWISE_OR,
    [KLR_AluOp_bitwise_xor] = BIR_ALU_BITWISE_XOR,
    [KLR_AluOp_bypass] = BIR_ALU_BYPASS,
    [KLR_AluOp_divide] = BIR_ALU_DIVIDE,
    [KLR_AluOp_is_equal] = BIR_ALU_IS_EQUAL,
    [KLR_AluOp_is_ge] = BIR_ALU_IS_GE,
    [KLR_AluOp_is_gt] = BIR_ALU_IS_GT,
    [KLR_AluOp_is_le] = BIR_ALU_IS_LE,
    [KLR_AluOp_is_lt] = BIR_ALU_IS_LT,
    [KLR_AluOp_logical_and] = BIR_ALU_LOGICAL_AND,
    [KLR_AluOp_logical_or] = BIR_ALU_LOGICAL_OR,
    [KLR_AluOp_logical_shift_left] = BIR_ALU_LOGICAL_SHIFT_LEFT,
    [KLR_AluOp_logical_shift_right] = BIR_ALU_LOGICAL_SHIFT_RIGHT,
    [KLR_AluOp_logical_xor] = BIR_ALU_LOGICAL_XOR,
    [KLR_AluOp_max] = BIR_ALU_MAX,
    [KLR_AluOp_min] = BIR_ALU_MIN,
    [KLR_AluOp_mod] = BIR_ALU_MOD,
    [KLR_AluOp_mult] = BIR_ALU_MULT,
    [KLR_AluOp_not_equal] = BIR_ALU_NOT_EQUAL,
    [KLR_AluOp_pow] = BIR_ALU_POW,
    [KLR_AluOp_rsqrt] = BIR_ALU_RSQRT,
    [KLR_AluOp_subtract] = BIR_ALU_SUBTRACT,
};

/* EngineAccumulationType: Idle 0, Zero 1, ZeroAccumulate 3, AddAccumulate 4. Accumulate really is 4, not 2. */
static const int8_t accumulations[] = {
    [KLR_AccumCmd_Idle] = 0,
    [KLR_AccumCmd_Zero] = 1,
    [KLR_AccumCmd_Accumulate] = 4,
    [KLR_AccumCmd_ZeroAccumulate] = 3,
    [KLR_AccumCmd_LoadAccumulate] = -1, /* "LoadAccumulate is not supported" */
};

static const int8_t branches[] = {
    [KLR_BrCmpOp_always] = -1,
    [KLR_BrCmpOp_lt_imm] = BIR_BRANCH_IS_LTIMM,
    [KLR_BrCmpOp_le_imm] = BIR_BRANCH_IS_LEIMM,
    [KLR_BrCmpOp_eq_imm] = BIR_BRANCH_IS_EQIMM,
    [KLR_BrCmpOp_ne_imm] = BIR_BRANCH_IS_NEIMM,
    [KLR_BrCmpOp_ge_imm] = BIR_BRANCH_IS_GEIMM,
    [KLR_BrCmpOp_gt_imm] = BIR_BRANCH_IS_GTIMM,
    [KLR_BrCmpOp_lt_reg] = BIR_BRANCH_IS_LTREG,
    [KLR_BrCmpOp_le_reg] = BIR_BRANCH_IS_LEREG,
    [KLR_BrCmpOp_eq_reg] = BIR_BRANCH_IS_EQREG,
    [KLR_BrCmpOp_ne_reg] = BIR_BRANCH_IS_NEREG,
    [KLR_BrCmpOp_ge_reg] = BIR_BRANCH_IS_GEREG,
    [KLR_BrCmpOp_gt_reg] = BIR_BRANCH_IS_GTREG,
};

/* dgeMode 0 unknown, 1 software, 2 hardware, 3 none -> DGEType Unassigned 3, SWDGE 1, HWDGE 2, None 0. */
static const int8_t dge_modes[] = { 3, 1, 2, 0 };

static const int8_t engines[] = {
    [KLR_Engine_unassigned] = BIR_ENGINE_UNASSIGNED,
    [KLR_Engine_act] = BIR_ENGINE_ACTIVATION,
    [KLR_Engine_dma] = BIR_ENGINE_DMA,
    [KLR_Engine_dve] = BIR_ENGINE_DVE,
    [KLR_Engine_pe] = BIR_ENGINE_PE,
    [KLR_Engine_pool] = BIR_ENGINE_POOL,
    [KLR_Engine_sp] = BIR_ENGINE_SP,
};

/* Ordinals of ActivationFunctionType (enums.md 10). */
enum { ACTIVATION_UNKNOWN = 30 };
static const int8_t activations[] = {
    [KLR_ActivationFunc_abs] = 24,
    [KLR_ActivationFunc_arctan] = 14,
    [KLR_ActivationFunc_copy] = 23,
    [KLR_ActivationFunc_erf] = 12,
    [KLR_ActivationFunc_erf_dx] = 22,
    [KLR_ActivationFunc_exp] = 7,
    [KLR_ActivationFunc_gelu] = 16,
    [KLR_ActivationFunc_gelu_apprx_tanh] = 18,
    [KLR_ActivationFunc_gelu_dx] = 21,
    [KLR_ActivationFunc_log] = 11,
    [KLR_ActivationFunc_mish] = 17,
    [KLR_ActivationFunc_reciprocal] = 25,
    [KLR_ActivationFunc_relu] = 2,
    [KLR_ActivationFunc_rsqrt] = 10,
    [KLR_ActivationFunc_sigmoid] = 5,
    [KLR_ActivationFunc_sign] = 15,
    [KLR_ActivationFunc_silu] = 27,
    [KLR_ActivationFunc_silu_dx] = 28,
    [KLR_ActivationFunc_sin] = 13,
    [KLR_ActivationFunc_softplus] = 8,
    [KLR_ActivationFunc_sqrt] = 9,
    [KLR_ActivationFunc_square] = 1,
    [KLR_ActivationFunc_tanh] = 6,
    [KLR_ActivationFunc_gelu_apprx_sigmoid] = 19,
    [KLR_ActivationFunc_gelu_apprx_sigmoid_dx] = 20,
};

static const char *const axes[] = {
    [KLR_TensorSubDim_X] = "X",
    [KLR_TensorSubDim_XY] = "XY",
    [KLR_TensorSubDim_XYZ] = "XYZ",
    [KLR_TensorSubDim_XYZW] = "XYZW",
};

static const char *const perf_modes[] = {
    [KLR_MatmulPerfMode_None] = "None",
    [KLR_MatmulPerfMode_DoubleRow] = "DoubleRow",
    [KLR_MatmulPerfMode_DoubleRowSwInterleave] = "DoubleRowSwInterleave",
};

static const char *const print_buffers[] = {
    [KLR_PrintOutputBuffer_stdout] = "stdout",
    [KLR_PrintOutputBuffer_stderr] = "stderr",
};

#define LOOK_UP(table, value, otherwise) ((value) < LENGTH(table) ? (table)[value] : (otherwise))

int codegen_map_dtype(uint32_t klr_dtype)
{
    return LOOK_UP(dtypes, klr_dtype, -1);
}

int codegen_map_alu_op(uint32_t klr_alu_op)
{
    return LOOK_UP(alu_ops, klr_alu_op, -1);
}

int codegen_map_accumulation(uint32_t klr_accum_cmd)
{
    return LOOK_UP(accumulations, klr_accum_cmd, -1);
}

int codegen_map_branch(uint32_t klr_br_cmp_op)
{
    return LOOK_UP(branches, klr_br_cmp_op, -1);
}

int codegen_map_dge_mode(uint64_t dge_mode)
{
    return LOOK_UP(dge_modes, dge_mode, -1);
}

int codegen_map_engine(uint32_t klr_engine)
{
    return LOOK_UP(engines, klr_engine, BIR_ENGINE_UNASSIGNED);
}

int codegen_map_activation(uint32_t klr_function)
{
    return LOOK_UP(activations, klr_function, ACTIVATION_UNKNOWN);
}

const char *codegen_map_axis(uint32_t klr_tensor_sub_dim)
{
    return LOOK_UP(axes, klr_tensor_sub_dim, NULL);
}

/* Both enumerations have the same members in the same order (enums.md 9, klr-format.md 6.3). */
const char *codegen_map_transpose(uint32_t klr_transpose_ops)
{
    return klr_ctor_name(KLR_TYPE_TransposeOps, klr_transpose_ops);
}

const char *codegen_map_perf_mode(uint32_t klr_matmul_perf_mode)
{
    return LOOK_UP(perf_modes, klr_matmul_perf_mode, NULL);
}

const char *codegen_map_print_buffer(uint32_t klr_print_output_buffer)
{
    return LOOK_UP(print_buffers, klr_print_output_buffer, NULL);
}

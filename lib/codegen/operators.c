/*
 * One row an operator, and the machine that executes a row.
 *
 * A row names the BIR opcode, the engine by kind, the operands in list order and the op keys with their sources; what
 * does not fit that scheme (keys computed from several fields, an opcode that depends on the operands) is a `finish`
 * function of ops_*.c. Sources: operand order and keys bir-json.md 13, engines klr-format.md 9.6 and design of the
 * pass, remaps enums.md 14. Where the sheets give no operand order, it is the order in which the operator's fields
 * stand on the wire, destinations aside, choice.
 *
 * Refused are the twelve operators that the tracer never writes and for which no BIR form is documented, and
 * extendedInst, whose instruction bytes are not documented.
 */
#include "codegen/operators.h"

#define OPERANDS(...)                                                                                                  \
    .operands = (const struct operand_spec[])                                                                          \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            OPERAND_END, 0, 0                                                                                          \
        }                                                                                                              \
    }
#define KEYS(...)                                                                                                      \
    .keys = (const struct key_spec[])                                                                                  \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            KEY_END, 0, NULL, NULL                                                                                     \
        }                                                                                                              \
    }
#define OUT(slot)                                                                                                      \
    {                                                                                                                  \
        OPERAND_TENSOR, BIR_ROLE_OUT, (slot)                                                                           \
    }
#define OUT_OPTIONAL(slot)                                                                                             \
    {                                                                                                                  \
        OPERAND_TENSOR_OPTIONAL, BIR_ROLE_OUT, (slot)                                                                  \
    }
#define OUTS(slot)                                                                                                     \
    {                                                                                                                  \
        OPERAND_TENSORS, BIR_ROLE_OUT, (slot)                                                                          \
    }
#define IN(slot)                                                                                                       \
    {                                                                                                                  \
        OPERAND_TENSOR, BIR_ROLE_IN, (slot)                                                                            \
    }
#define INS(slot)                                                                                                      \
    {                                                                                                                  \
        OPERAND_TENSORS, BIR_ROLE_IN, (slot)                                                                           \
    }
#define ANY(slot)                                                                                                      \
    {                                                                                                                  \
        OPERAND_ANY, BIR_ROLE_IN, (slot)                                                                               \
    }
#define ANY_OPTIONAL(slot)                                                                                             \
    {                                                                                                                  \
        OPERAND_ANY_OPTIONAL, BIR_ROLE_IN, (slot)                                                                      \
    }
#define IMM(slot)                                                                                                      \
    {                                                                                                                  \
        OPERAND_IMMEDIATE, BIR_ROLE_IN, (slot)                                                                         \
    }
#define REG_OUT(slot)                                                                                                  \
    {                                                                                                                  \
        OPERAND_REGISTER, BIR_ROLE_OUT, (slot)                                                                         \
    }
#define REG_IN(slot)                                                                                                   \
    {                                                                                                                  \
        OPERAND_REGISTER, BIR_ROLE_IN, (slot)                                                                          \
    }
#define KEY(kind, key, slot)                                                                                           \
    {                                                                                                                  \
        KEY_##kind, (slot), (key), NULL                                                                                \
    }
#define FIXED(key, value)                                                                                              \
    {                                                                                                                  \
        KEY_FIXED_TEXT, 0, (key), (value)                                                                              \
    }
#define CONST(kind, key)                                                                                               \
    {                                                                                                                  \
        KEY_FIXED_##kind, 0, (key), NULL                                                                               \
    }
#define DTYPE(slot)                                                                                                    \
    {                                                                                                                  \
        KEY_DTYPE, (slot), NULL, NULL                                                                                  \
    }
#define OWN_ENGINE(slot, kind) .engine_slot = (slot), .engine = BIR_ENGINE_##kind
#define ENGINE(kind)           .engine_slot = -1, .engine = BIR_ENGINE_##kind
#define REFUSED(name, reason)                                                                                          \
    {                                                                                                                  \
        .op = KLR_Operator_##name, .opcode = BIR_OP_UNKNOWN, .engine_slot = -1, .note = (reason)                       \
    }
#define NEVER_TRACED "the tracer never writes it and no BIR form of it is documented"

/* Both constructors of NcActivate: ins = src, bias (0.0 when absent), scale when it is a tensor; the key scale is 1.0
 * then. */
#define ACTIVATION_ROW(name)                                                                                           \
    {                                                                                                                  \
        .op = KLR_Operator_##name, .opcode = BIR_OP_ACTIVATION, ENGINE(ACTIVATION),                                    \
        OPERANDS(IN(KLR_NcActivate_src), { OPERAND_TENSOR_OR_ZERO, BIR_ROLE_IN, KLR_NcActivate_bias },                 \
                 OUT(KLR_NcActivate_dst), OUT_OPTIONAL(KLR_NcActivate_reduceRes)),                                     \
        KEYS(KEY(FUNCTION, "func", KLR_NcActivate_activationFunc),                                                     \
             KEY(ACCUMULATION, "acc", KLR_NcActivate_accumulatorCmd),                                                  \
             KEY(ALU_OPTIONAL, "reduce_op", KLR_NcActivate_reduceOp), CONST(FLOAT0, "alpha"), FIXED("op0", "bypass"),  \
             FIXED("op1", "bypass"), DTYPE(KLR_NcActivate_dtype)),                                                     \
        .finish = codegen_activation_scale, .note = "scale: the key, or a third input when it is a tensor"             \
    }

#define COLLECTIVE_ROW(name, kind_name)                                                                                \
    {                                                                                                                  \
        .op = KLR_Operator_##name, .opcode = BIR_OP_COLLECTIVE_COMPUTE, ENGINE(DVE),                                   \
        OPERANDS(INS(KLR_CollectiveOp_srcs), OUTS(KLR_CollectiveOp_dsts)),                                             \
        KEYS(FIXED("kind", kind_name), KEY(ALU_OPTIONAL, "op", KLR_CollectiveOp_op)), .finish = codegen_collective,    \
        .note = "replica_groups, src_target_pairs, stream_id, cc_dim, dma_qos"                                         \
    }

const struct operator_row codegen_operators[] = {
    REFUSED(activate, NEVER_TRACED),
    ACTIVATION_ROW(ncActivate),
    ACTIVATION_ROW(activationReduce),
    REFUSED(affineSelect, NEVER_TRACED),
    { .op = KLR_Operator_ncAffineSelect,
      .opcode = BIR_OP_TENSOR_SCALAR_AFFINE_SELECT,
      ENGINE(POOL),
      OPERANDS(IN(KLR_NcAffineSelect_onTrueTile), OUT(KLR_NcAffineSelect_dst)),
      KEYS(KEY(PATTERN, "base", KLR_NcAffineSelect_pred), KEY(ALU, "compare_op", KLR_NcAffineSelect_cmpOp),
           KEY(IMM_FLOAT, "fill_value", KLR_NcAffineSelect_onFalseValue), DTYPE(KLR_NcAffineSelect_dtype)) },
    { .op = KLR_Operator_batchNormAggregate,
      .opcode = BIR_OP_BN_STATS_AGGREGATE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_BatchNormAggregate_src), OUT(KLR_BatchNormAggregate_dst)),
      KEYS(DTYPE(KLR_BatchNormAggregate_dtype)) },
    { .op = KLR_Operator_batchNormStats,
      .opcode = BIR_OP_BN_STATS,
      ENGINE(DVE),
      OPERANDS(IN(KLR_BatchNormStats_src), OUT(KLR_BatchNormStats_dst)),
      KEYS(DTYPE(KLR_BatchNormStats_dtype)) },
    REFUSED(copy, NEVER_TRACED),
    { .op = KLR_Operator_ncCopy,
      .opcode = BIR_OP_TENSOR_COPY,
      OWN_ENGINE(KLR_NcCopy_engine, DVE),
      OPERANDS({ OPERAND_DYNAMIC, BIR_ROLE_IN, KLR_NcCopy_src }, { OPERAND_DYNAMIC, BIR_ROLE_OUT, KLR_NcCopy_dst }),
      KEYS(DTYPE(KLR_NcCopy_dtype)),
      .finish = codegen_copy,
      .note = "TensorCopyDynamicSrc or TensorCopyDynamicDst when one side has a scalar offset" },
    { .op = KLR_Operator_copyPredicated,
      .opcode = BIR_OP_COPY_PREDICATED,
      ENGINE(DVE),
      OPERANDS(IN(KLR_CopyPredicated_src), IN(KLR_CopyPredicated_predicate), OUT(KLR_CopyPredicated_dst)),
      KEYS(KEY(BOOL, "reverse_pred", KLR_CopyPredicated_reversePred), DTYPE(KLR_CopyPredicated_dtype)) },
    REFUSED(dmaCopy, NEVER_TRACED),
    { .op = KLR_Operator_ncDmaCopy,
      .opcode = BIR_OP_DMA_COPY,
      OWN_ENGINE(KLR_NcDmaCopy_engine, SP),
      .finish = codegen_dma_copy,
      .note = "ins: src; outs: dst; both may be dynamic, not at once. GenericIndirectSave for add through a vector "
              "offset" },
    { .op = KLR_Operator_dmaTranspose,
      .opcode = BIR_OP_DMA_COPY,
      ENGINE(SP),
      OPERANDS({ OPERAND_DYNAMIC, BIR_ROLE_IN, KLR_DmaTranspose_src }, OUT(KLR_DmaTranspose_dst)),
      KEYS(FIXED("mode", "Transpose"), KEY(TRANSPOSE, "transpose_op", KLR_DmaTranspose_axes),
           DTYPE(KLR_DmaTranspose_dtype)),
      .finish = codegen_dma_transpose,
      .note = "dge_type, oob_is_err, dma_qos" },
    { .op = KLR_Operator_dropout,
      .opcode = BIR_OP_DROPOUT,
      ENGINE(DVE),
      OPERANDS(IN(KLR_Dropout_src), ANY(KLR_Dropout_threshold), OUT(KLR_Dropout_dst)),
      KEYS(KEY(BOOL, "is_keep_threshold", KLR_Dropout_thresholdType), DTYPE(KLR_Dropout_dtype)) },
    { .op = KLR_Operator_findIndex8,
      .opcode = BIR_OP_MAX_INDEX,
      ENGINE(DVE),
      OPERANDS(IN(KLR_FindIndex8_src), IN(KLR_FindIndex8_vals), OUT(KLR_FindIndex8_dst)),
      KEYS(DTYPE(KLR_FindIndex8_dtype)) },
    { .op = KLR_Operator_iota,
      .opcode = BIR_OP_IOTA,
      ENGINE(POOL),
      OPERANDS(OUT(KLR_Iota_dst)),
      KEYS(KEY(PATTERN, "base", KLR_Iota_pattern), DTYPE(KLR_Iota_dtype)) },
    REFUSED(loadMaskRegister, NEVER_TRACED),
    REFUSED(loadStationary, NEVER_TRACED),
    REFUSED(localGather, NEVER_TRACED),
    { .op = KLR_Operator_ncLocalGather,
      .opcode = BIR_OP_INDIRECT_COPY,
      ENGINE(POOL),
      OPERANDS(IN(KLR_NcLocalGather_src), IN(KLR_NcLocalGather_index), OUT(KLR_NcLocalGather_dst)),
      .finish = codegen_local_gather,
      .note = "num_valid_indices, num_elem_per_idx" },
    REFUSED(matMul, NEVER_TRACED),
    { .op = KLR_Operator_ncMatMul,
      .opcode = BIR_OP_MATMULT,
      ENGINE(PE),
      OPERANDS(IN(KLR_NcMatMul_stationary), IN(KLR_NcMatMul_moving), OUT(KLR_NcMatMul_dst)),
      KEYS(CONST(ZERO, "accumulation_flag"), CONST(ZERO, "psum_zero_region"), CONST(ZERO, "replication_resolution"),
           CONST(ZERO, "replication_shift_amnt"), CONST(ZERO, "replication_num_rows"),
           KEY(BOOL, "is_transpose", KLR_NcMatMul_isTranspose), KEY(BOOL, "is_fmap_onezero", KLR_NcMatMul_isMovingZero),
           KEY(BOOL, "is_weight_onezero", KLR_NcMatMul_isStationaryOneZero),
           KEY(TILE, "tile_size", KLR_NcMatMul_tileSize), KEY(TILE, "tile_position", KLR_NcMatMul_tilePosition),
           KEY(PERF_MODE, "perf_mode", KLR_NcMatMul_perfMode), CONST(ZERO, "ifmap_quant_offset"),
           CONST(ZERO, "weights_quant_offset")),
      .note = "accumulation_flag: from the sequence of writes to the PSUM region" },
    { .op = KLR_Operator_matchReplace8,
      .opcode = BIR_OP_MATCH_REPLACE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_MatchReplace8_src), IN(KLR_MatchReplace8_vals), OUT(KLR_MatchReplace8_dst),
               OUT_OPTIONAL(KLR_MatchReplace8_dstIdx)),
      KEYS(KEY(IMM_FLOAT, "imm_value", KLR_MatchReplace8_replaceValue), DTYPE(KLR_MatchReplace8_dtype)),
      .finish = codegen_match_replace,
      .note = "MaxIndexAndMatchReplace when dstIdx is present" },
    REFUSED(matchValueLoad, NEVER_TRACED),
    { .op = KLR_Operator_max8,
      .opcode = BIR_OP_MAX,
      ENGINE(DVE),
      OPERANDS(IN(KLR_Max8_src), OUT(KLR_Max8_dst)),
      KEYS(DTYPE(KLR_Max8_dtype)) },
    { .op = KLR_Operator_memSet,
      .opcode = BIR_OP_MEMSET,
      OWN_ENGINE(KLR_MemSet_engine, DVE),
      OPERANDS(OUT(KLR_MemSet_dst)),
      KEYS(FIXED("mode", "Const")),
      .finish = codegen_memset,
      .note = "constant: the bits in the destination's dtype" },
    REFUSED(rangeSelect, NEVER_TRACED),
    { .op = KLR_Operator_ncRangeSelect,
      .opcode = BIR_OP_RANGE_SELECT,
      ENGINE(DVE),
      OPERANDS(IN(KLR_NcRangeSelect_onTrueTile), IN(KLR_NcRangeSelect_bound0), IN(KLR_NcRangeSelect_bound1),
               OUT(KLR_NcRangeSelect_dst), OUT_OPTIONAL(KLR_NcRangeSelect_reduceRes)),
      KEYS(KEY(IMM_INT, "base", KLR_NcRangeSelect_rangeStart), KEY(ALU, "compare_op0", KLR_NcRangeSelect_compOp0),
           KEY(ALU, "compare_op1", KLR_NcRangeSelect_compOp1),
           KEY(ALU_OPTIONAL, "reduce_op", KLR_NcRangeSelect_reduceOp),
           KEY(ACCUMULATION, "reduce_cmd", KLR_NcRangeSelect_reduceCommand),
           KEY(IMM_FLOAT, "fill_value", KLR_NcRangeSelect_onFalseValue), DTYPE(KLR_NcRangeSelect_dtype)) },
    { .op = KLR_Operator_reciprocal,
      .opcode = BIR_OP_RECIPROCAL,
      ENGINE(DVE),
      OPERANDS(IN(KLR_Reciprocal_src), OUT(KLR_Reciprocal_dst)),
      KEYS(DTYPE(KLR_Reciprocal_dtype)) },
    REFUSED(scalarTensorTensor, NEVER_TRACED),
    { .op = KLR_Operator_ncScalarTensorTensor,
      .opcode = BIR_OP_TENSOR_SCALAR_PTR,
      ENGINE(DVE),
      OPERANDS(IN(KLR_NcScalarTensorTensor_data), ANY(KLR_NcScalarTensorTensor_src0),
               ANY(KLR_NcScalarTensorTensor_src1), OUT(KLR_NcScalarTensorTensor_dst)),
      KEYS(KEY(ALU, "op0", KLR_NcScalarTensorTensor_op0), KEY(ALU, "op1", KLR_NcScalarTensorTensor_op1),
           KEY(REVERSE, "reverse0", KLR_NcScalarTensorTensor_reverseOperands), CONST(TRUE, "is_scalar_tensor_tensor"),
           DTYPE(KLR_NcScalarTensorTensor_dtype)) },
    { .op = KLR_Operator_shuffle,
      .opcode = BIR_OP_STREAM_SHUFFLE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_Shuffle_src), OUT(KLR_Shuffle_dst)),
      KEYS(DTYPE(KLR_Shuffle_dtype)),
      .finish = codegen_shuffle,
      .note = "mask" },
    { .op = KLR_Operator_tensorReduce,
      .opcode = BIR_OP_TENSOR_REDUCE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_TensorReduce_src), OUT(KLR_TensorReduce_dst)),
      KEYS(KEY(ALU, "op", KLR_TensorReduce_op), KEY(AXIS, "axis", KLR_TensorReduce_opDim),
           KEY(BOOL, "negate", KLR_TensorReduce_negated), DTYPE(KLR_TensorReduce_dtype)) },
    { .op = KLR_Operator_tensorScalar,
      .opcode = BIR_OP_TENSOR_SCALAR,
      OWN_ENGINE(KLR_TensorScalar_engine, DVE),
      OPERANDS(IN(KLR_TensorScalar_src), OUT(KLR_TensorScalar_dst)),
      KEYS(KEY(ALU, "op0", KLR_TensorScalar_op0), KEY(ALU_OPTIONAL, "op1", KLR_TensorScalar_op1),
           KEY(REVERSE, "reverse0", KLR_TensorScalar_reverse), DTYPE(KLR_TensorScalar_dtype)),
      .finish = codegen_tensor_scalar,
      .note = "const0, const1; with a tensor among the scalars TensorScalarPtr with both as inputs instead" },
    { .op = KLR_Operator_tensorTensor,
      .opcode = BIR_OP_TENSOR_TENSOR,
      OWN_ENGINE(KLR_TensorTensor_engine, DVE),
      OPERANDS(IN(KLR_TensorTensor_src0), IN(KLR_TensorTensor_src1), OUT(KLR_TensorTensor_dst)),
      KEYS(KEY(ALU, "op", KLR_TensorTensor_op), FIXED("acc", "Idle"), DTYPE(KLR_TensorTensor_dtype)) },
    { .op = KLR_Operator_tensorTensorScan,
      .opcode = BIR_OP_TENSOR_SCALAR_PTR,
      ENGINE(DVE),
      OPERANDS(IN(KLR_TensorTensorScan_src0), IN(KLR_TensorTensorScan_src1), ANY(KLR_TensorTensorScan_imm0),
               OUT(KLR_TensorTensorScan_dst)),
      KEYS(KEY(ALU, "op0", KLR_TensorTensorScan_op0), KEY(ALU, "op1", KLR_TensorTensorScan_op1),
           KEY(REVERSE, "reverse0", KLR_TensorTensorScan_reverseOperands),
           KEY(ACCUMULATION, "acc", KLR_TensorTensorScan_accumulatorCmd), CONST(TRUE, "is_tensor_tensor_scan"),
           DTYPE(KLR_TensorTensorScan_dtype)) },
    { .op = KLR_Operator_tensorPartitionReduce,
      .opcode = BIR_OP_TENSOR_REDUCE,
      ENGINE(POOL),
      OPERANDS(IN(KLR_TensorPartitionReduce_data), OUT(KLR_TensorPartitionReduce_dst)),
      KEYS(KEY(ALU, "op", KLR_TensorPartitionReduce_op), FIXED("axis", "C"), DTYPE(KLR_TensorPartitionReduce_dtype)) },
    { .op = KLR_Operator_tensorScalarReduce,
      .opcode = BIR_OP_TENSOR_SCALAR_CACHE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_TensorScalarReduce_src), ANY(KLR_TensorScalarReduce_operand0),
               { OPERAND_IMMEDIATE_OPTIONAL, BIR_ROLE_IN, KLR_TensorScalarReduce_reduceInit },
               OUT(KLR_TensorScalarReduce_dst), OUT(KLR_TensorScalarReduce_reduceRes)),
      KEYS(KEY(ALU, "op0", KLR_TensorScalarReduce_op0), KEY(ALU_OPTIONAL, "op1", KLR_TensorScalarReduce_reduceOp),
           KEY(BOOL, "reverse0", KLR_TensorScalarReduce_reverse0), CONST(FALSE, "reverse1"), FIXED("mode", "Reduce"),
           KEY(ACCUMULATION, "acc", KLR_TensorScalarReduce_reduceCmd), DTYPE(KLR_TensorScalarReduce_dtype)) },
    { .op = KLR_Operator_transpose,
      .opcode = BIR_OP_STREAM_TRANSPOSE,
      OWN_ENGINE(KLR_Transpose_engine, DVE),
      OPERANDS(IN(KLR_Transpose_src), OUT(KLR_Transpose_dst)),
      KEYS(DTYPE(KLR_Transpose_dtype)),
      .finish = codegen_transpose,
      .note = "on DVE only; the tensor engine transposes by ncMatMul with isTranspose" },
    { .op = KLR_Operator_selectReduce,
      .opcode = BIR_OP_COPY_PREDICATED,
      ENGINE(DVE),
      OPERANDS(IN(KLR_SelectReduce_onTrue), IN(KLR_SelectReduce_predicate), ANY(KLR_SelectReduce_onFalse),
               OUT(KLR_SelectReduce_dst), OUT_OPTIONAL(KLR_SelectReduce_reduceRes)),
      KEYS(KEY(BOOL, "reverse_pred", KLR_SelectReduce_reversePred), KEY(ALU, "reduce_op", KLR_SelectReduce_reduceOp),
           KEY(ACCUMULATION, "accumulator_cmd", KLR_SelectReduce_reduceCmd), DTYPE(KLR_SelectReduce_dtype)) },
    { .op = KLR_Operator_sequenceBounds,
      .opcode = BIR_OP_GET_SEQUENCE_BOUNDS,
      ENGINE(POOL),
      OPERANDS(IN(KLR_SequenceBounds_segmentIds), OUT(KLR_SequenceBounds_dst)),
      KEYS(DTYPE(KLR_SequenceBounds_dtype)) },
    { .op = KLR_Operator_sendRecv,
      .opcode = BIR_OP_COLLECTIVE_COMPUTE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_SendRecv_src), OUT(KLR_SendRecv_dst)),
      KEYS(FIXED("kind", "SendRecv"), KEY(IMM_EXPR, "send_to_rank", KLR_SendRecv_sendToRank),
           KEY(IMM_INT, "pipe_id", KLR_SendRecv_pipeId), KEY(BOOL, "use_gpsimd_dma", KLR_SendRecv_useGpsimdDma)),
      .finish = codegen_send_recv,
      .note = "recv_from_rank" },
    { .op = KLR_Operator_sendRecvCompute,
      .opcode = BIR_OP_COLLECTIVE_COMPUTE,
      ENGINE(DVE),
      OPERANDS(INS(KLR_SendRecvCompute_srcs), OUTS(KLR_SendRecvCompute_dsts)),
      KEYS(FIXED("kind", "SendRecvCCE"), KEY(ALU, "op", KLR_SendRecvCompute_op),
           KEY(IMM_INT, "pipe_id", KLR_SendRecvCompute_pipeId)),
      .finish = codegen_send_recv_compute,
      .note = "send_to_rank (one rank only), recv_from_rank" },
    { .op = KLR_Operator_tensorLoad,
      .opcode = BIR_OP_TENSOR_LOAD,
      ENGINE(ALL),
      OPERANDS(IN(KLR_TensorLoad_src), REG_OUT(KLR_TensorLoad_dst)) },
    { .op = KLR_Operator_tensorStore,
      .opcode = BIR_OP_TENSOR_SAVE,
      ENGINE(ALL),
      OPERANDS(REG_IN(KLR_TensorStore_src), OUT(KLR_TensorStore_dst)) },
    { .op = KLR_Operator_registerMove,
      .opcode = BIR_OP_REGISTER_MOVE,
      ENGINE(ALL),
      OPERANDS(REG_OUT(KLR_RegisterMove_dst)),
      .finish = codegen_register_move,
      .note = "ins: the immediate" },
    { .op = KLR_Operator_cmpBranch,
      .opcode = BIR_OP_COMPARE_AND_BRANCH,
      ENGINE(ALL),
      .finish = codegen_branch,
      .note = "UnconditionalBranch with target for always; else comp_op, on_true, on_false, ins: two registers or "
              "register and immediate" },
    { .op = KLR_Operator_registerAluOp,
      .opcode = BIR_OP_REGISTER_ALU,
      ENGINE(ALL),
      OPERANDS(REG_IN(KLR_RegisterAluOp_src), REG_OUT(KLR_RegisterAluOp_dst)),
      KEYS(KEY(ALU, "op", KLR_RegisterAluOp_op), CONST(FALSE, "is_64bit")),
      .finish = codegen_register_alu,
      .note = "ins[1]: the immediate" },
    { .op = KLR_Operator_quantizeMX,
      .opcode = BIR_OP_QUANTIZE_MX,
      ENGINE(DVE),
      OPERANDS(IN(KLR_QuantizeMX_src), OUT(KLR_QuantizeMX_dst), OUT(KLR_QuantizeMX_dstScale)) },
    { .op = KLR_Operator_ncMatMulMX,
      .opcode = BIR_OP_MATMULT_MX,
      ENGINE(PE),
      OPERANDS(IN(KLR_MatMulMX_stationary), IN(KLR_MatMulMX_moving), IN(KLR_MatMulMX_stationaryScale),
               IN(KLR_MatMulMX_movingScale), OUT(KLR_MatMulMX_dst)),
      KEYS(CONST(ZERO, "accumulation_flag"), CONST(ZERO, "psum_zero_region"), CONST(ZERO, "replication_resolution"),
           CONST(ZERO, "replication_shift_amnt"), CONST(ZERO, "replication_num_rows"), CONST(FALSE, "is_transpose"),
           CONST(FALSE, "is_fmap_onezero"), CONST(FALSE, "is_weight_onezero"),
           KEY(TILE, "tile_size", KLR_MatMulMX_tileSize), KEY(TILE, "tile_position", KLR_MatMulMX_tilePosition),
           FIXED("perf_mode", "None"), CONST(ZERO, "ifmap_quant_offset"), CONST(ZERO, "weights_quant_offset")),
      .note = "accumulation_flag: from the sequence of writes to the PSUM region" },
    { .op = KLR_Operator_dmaCompute,
      .opcode = BIR_OP_DMA_COPY,
      ENGINE(SP),
      OPERANDS(INS(KLR_DmaCompute_srcs), OUT(KLR_DmaCompute_dst)),
      KEYS(FIXED("mode", "CCE"), KEY(ALU, "cce_op", KLR_DmaCompute_reduceOp)),
      .finish = codegen_dma_compute,
      .note = "constants: the scales" },
    COLLECTIVE_ROW(allReduce, "AllReduce"),
    COLLECTIVE_ROW(allGather, "AllGather"),
    COLLECTIVE_ROW(reduceScatter, "ReduceScatter"),
    COLLECTIVE_ROW(collectivePermute, "Permute"),
    COLLECTIVE_ROW(collectivePermuteImplicit, "PermuteImplicit"),
    COLLECTIVE_ROW(collectivePermuteImplicitReduce, "PermuteReduceImplicit"),
    REFUSED(broadcast, "CollectiveKind has no broadcast, and the tracer never writes it"),
    COLLECTIVE_ROW(allToAll, "AllToAll"),
    { .op = KLR_Operator_rankId, .opcode = BIR_OP_GET_GLOBAL_RANK_ID, ENGINE(ALL), OPERANDS(REG_OUT(KLR_RankId_dst)) },
    { .op = KLR_Operator_currentProcessingRankId,
      .opcode = BIR_OP_GET_CUR_PROCESSING_RANK_ID,
      ENGINE(ALL),
      OPERANDS(REG_OUT(KLR_CurrentProcessingRankId_dst)),
      KEYS(KEY(INT_LISTS, "replica_groups", KLR_CurrentProcessingRankId_replicaGroup)),
      .finish = codegen_current_rank,
      .note = "iter_id, channel_id, num_channels when it is not 1" },
    { .op = KLR_Operator_send,
      .opcode = BIR_OP_COLLECTIVE_SEND,
      ENGINE(DVE),
      OPERANDS(INS(KLR_Send_srcs)),
      KEYS(KEY(INT, "peer_id", KLR_Send_peerId)),
      .finish = codegen_peer,
      .note = "op when it is not bypass" },
    { .op = KLR_Operator_recv,
      .opcode = BIR_OP_COLLECTIVE_RECV,
      ENGINE(DVE),
      OPERANDS(OUTS(KLR_Recv_dsts)),
      KEYS(KEY(INT, "peer_id", KLR_Recv_peerId), KEY(INTS, "replica_groups", KLR_Recv_replicaGroups)),
      .finish = codegen_peer,
      .note = "op when it is not bypass" },
    { .op = KLR_Operator_coreBarrier,
      .opcode = BIR_OP_CORE_BARRIER,
      OWN_ENGINE(KLR_CoreBarrier_engine, DVE),
      OPERANDS(IN(KLR_CoreBarrier_data)),
      KEYS(KEY(INTS, "cores", KLR_CoreBarrier_cores)),
      .finish = codegen_core_barrier,
      .note = "id: the barrier's number in its core" },
    { .op = KLR_Operator_rng, .opcode = BIR_OP_RNG, OWN_ENGINE(KLR_Rng_engine, DVE), OPERANDS(OUT(KLR_Rng_dst)) },
    { .op = KLR_Operator_rand2,
      .opcode = BIR_OP_RAND2,
      ENGINE(DVE),
      OPERANDS(ANY(KLR_Rand2_min), ANY(KLR_Rand2_max), OUT(KLR_Rand2_dst)) },
    { .op = KLR_Operator_randGetState,
      .opcode = BIR_OP_RAND_GET_STATE,
      OWN_ENGINE(KLR_RandGetState_engine, DVE),
      OPERANDS(OUT(KLR_RandGetState_dst)) },
    { .op = KLR_Operator_setRngSeed,
      .opcode = BIR_OP_SET_RAND_STATE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_SetRngSeed_src)),
      .finish = codegen_set_rng_seed,
      .note = "rng_engine: the instruction's engine" },
    { .op = KLR_Operator_randSetState,
      .opcode = BIR_OP_RAND_SET_STATE,
      OWN_ENGINE(KLR_RandSetState_engine, DVE),
      OPERANDS(IN(KLR_RandSetState_src)) },
    REFUSED(extendedInst, "how its fields become instruction bytes is not documented"),
    { .op = KLR_Operator_tensorScalarCumulative,
      .opcode = BIR_OP_TENSOR_SCALAR_CACHE,
      ENGINE(DVE),
      OPERANDS(IN(KLR_TensorScalarCumulative_src), ANY(KLR_TensorScalarCumulative_imm0),
               ANY_OPTIONAL(KLR_TensorScalarCumulative_imm1), OUT(KLR_TensorScalarCumulative_dst)),
      KEYS(KEY(ALU, "op0", KLR_TensorScalarCumulative_op0), KEY(ALU, "op1", KLR_TensorScalarCumulative_op1),
           KEY(REVERSE, "reverse0", KLR_TensorScalarCumulative_reverse), FIXED("mode", "Cumulative"),
           KEY(ACCUMULATION, "acc", KLR_TensorScalarCumulative_reduceCmd), DTYPE(KLR_TensorScalarCumulative_dtype)) },
    { .op = KLR_Operator_ncNGather,
      .opcode = BIR_OP_GATHER,
      ENGINE(POOL),
      OPERANDS(IN(KLR_NcNGather_data), IN(KLR_NcNGather_indices), OUT(KLR_NcNGather_dst)),
      KEYS(DTYPE(KLR_NcNGather_dtype)) },
    { .op = KLR_Operator_nonzeroWithCount,
      .opcode = BIR_OP_NONZERO_WITH_COUNT,
      ENGINE(DVE),
      OPERANDS(IN(KLR_NonzeroWithCount_src), IMM(KLR_NonzeroWithCount_indexOffset),
               IMM(KLR_NonzeroWithCount_paddingVal), OUT(KLR_NonzeroWithCount_dst)) },
    { .op = KLR_Operator_devicePrint,
      .opcode = BIR_OP_DEVICE_PRINT,
      ENGINE(DVE),
      OPERANDS(IN(KLR_DevicePrint_src)),
      KEYS(KEY(STRING, "prefix", KLR_DevicePrint_printPrefix),
           KEY(PRINT_BUFFER, "output_buffer", KLR_DevicePrint_buffer)) },
    { .op = KLR_Operator_exponential,
      .opcode = BIR_OP_EXPONENTIAL,
      ENGINE(DVE),
      OPERANDS(IN(KLR_Exponential_src), ANY(KLR_Exponential_maxValue), ANY(KLR_Exponential_reduceInit),
               OUT(KLR_Exponential_dst), OUT_OPTIONAL(KLR_Exponential_reduceRes)),
      KEYS(KEY(ACCUMULATION, "reduce_cmd", KLR_Exponential_reducecmd)) },
    { .op = KLR_Operator_activate2,
      .opcode = BIR_OP_ACTIVATION,
      ENGINE(ACTIVATION),
      OPERANDS(IN(KLR_Activate2_src), ANY(KLR_Activate2_imm0), ANY(KLR_Activate2_imm1), ANY(KLR_Activate2_reluParam),
               OUT(KLR_Activate2_dst), OUT_OPTIONAL(KLR_Activate2_reduceRes)),
      KEYS(KEY(FUNCTION, "func", KLR_Activate2_activationFunc), KEY(ACCUMULATION, "acc", KLR_Activate2_reduceCmd),
           KEY(ALU, "op0", KLR_Activate2_op0), KEY(ALU, "op1", KLR_Activate2_op1),
           KEY(ALU, "reduce_op", KLR_Activate2_reduceOp), KEY(BOOL, "reverse0", KLR_Activate2_reverse0),
           KEY(BOOL, "reverse1", KLR_Activate2_reverse1), CONST(TRUE, "is_activate2"), CONST(FLOAT1, "scale"),
           DTYPE(KLR_Activate2_dtype)),
      .finish = codegen_activate2,
      .note = "alpha: the relu parameter when it is an immediate" },
};
const uint32_t codegen_operator_count = sizeof codegen_operators / sizeof *codegen_operators;

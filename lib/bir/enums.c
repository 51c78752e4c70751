/*
 * Tables of the enumerations (enums.md).
 *
 * Names stand in ordinal order, so a value finds its name by index; the two enumerations whose values are not ordinals
 * (ArchLevel, MemoryType) carry a list of values beside. A name is found by a scan when there are at most eight
 * members, else by binary search through a permutation sorted by length, then bytes. test_enums.c proves each
 * permutation sorted, so a member added in one place only is noticed at once. Opcodes live in ops.c; the row here only
 * forwards.
 */
#include "bir/enums.h"

#include <string.h>

#include "bir/ops.h"

/* clang-format off */
static const char *const dtype_names[] = {
    "uint8", "int8", "float4_e2m1fn_x4", "float8e3", "float8e4", "float8_e4m3fn", "float8_e8m0fnu", "float8e5",
    "float8_e4m3fn_x4", "float8_e5m2_x4", "uint16", "int16", "bfloat16", "float16", "uint32", "int32", "float32",
    "float32r", "uint64", "int64",
};
static const uint8_t dtype_order[] = {
    1, 11, 15, 19, 0, 10, 14, 18, 13, 16, 12, 17, 3, 4, 7, 5, 9, 6, 2, 8,
};
static const char *const engine_names[] = {
    "Unassigned", "Pool", "Activation", "PE", "DMA", "DVE", "SP", "ALL",
};
static const char *const arch_level_names[] = {
    "inferentia", "sunda", "gen3", "core_v4", "core_v5",
};
static const uint8_t arch_level_values[] = {
    10, 20, 30, 40, 50,
};
static const char *const arch_revision_names[] = {
    "v1", "v2",
};
static const char *const alu_op_names[] = {
    "bypass", "bitwise_not", "arith_shift_left", "arith_shift_right", "add", "subtract", "mult", "divide", "max",
    "min", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor",
    "logical_shift_left", "logical_shift_right", "is_equal", "not_equal", "is_gt", "is_ge", "is_lt", "is_le",
    "average", "elemwise_mul", "pow", "mod", "rsqrt", "abs", "abs_max", "abs_min", "mod_int",
};
static const uint8_t alu_op_order[] = {
    29, 4, 8, 9, 27, 26, 6, 21, 20, 23, 22, 28, 0, 7, 30, 31, 24, 32, 18, 5, 19, 11, 14, 10, 1, 12, 13, 15, 25, 2, 3,
    16, 17,
};
static const char *const edge_kind_names[] = {
    "Invalid", "Ordered", "Anti", "Output", "Flow",
};
static const char *const memory_type_names[] = {
    "Unallocated", "Input", "Output", "DRAM", "SB", "PSUM", "RNGSTATE", "REG",
};
static const uint8_t memory_type_values[] = {
    1, 2, 4, 8, 16, 32, 64, 128,
};
static const char *const tensor_kind_names[] = {
    "ExternalInput", "ExternalInputParameter", "Input", "ExternalOutput", "ExternalOutputParameter", "Output",
    "Const", "Internal", "Pointer", "InternalInterface",
};
static const uint8_t tensor_kind_order[] = {
    6, 2, 5, 8, 7, 0, 3, 9, 1, 4,
};
static const char *const tensor_class_names[] = {
    "Tensor", "LoopTensor", "SingleValueTensor", "NeuronTensor", "NeuronWeightTensor", "IdentityWeightTensor",
    "NeuronBlockTensor", "DRAM2DBlockTensor", "Neuron3DBlockTensor", "DRAM3DBlockTensor", "NeuronLocalTensor",
    "NeuronSBTensor", "NeuronPSUMTensor",
};
static const uint8_t tensor_class_order[] = {
    0, 1, 3, 11, 12, 7, 9, 6, 10, 2, 4, 8, 5,
};
static const char *const address_space_names[] = {
    "Local", "Shared", "Debug",
};
static const char *const dge_type_names[] = {
    "None", "SWDGE", "HWDGE", "Unassigned",
};
static const char *const copy_mode_names[] = {
    "Copy", "Transpose", "CCE", "Replicate",
};
static const char *const dma_qos_names[] = {
    "Unassigned", "Default", "P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13",
    "P14",
};
static const uint8_t dma_qos_order[] = {
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 0,
};
static const char *const indirect_dim_names[] = {
    "W", "Z", "Y", "X",
};
static const char *const transpose_ops_names[] = {
    "None", "WZXY", "WXZY", "WYXZ", "ZWYX", "ZYWX", "ZYXW", "YXWZ", "YXZW", "YWZX", "XWZY", "XZYW", "XYZW", "XYWZ",
};
static const uint8_t transpose_ops_order[] = {
    0, 2, 3, 1, 10, 13, 12, 11, 9, 7, 8, 4, 5, 6,
};
static const char *const activation_function_names[] = {
    "Identity", "Square", "Relu", "Lrelu", "Prelu", "Sigmoid", "Tanh", "Exp", "Softplus", "Sqrt", "Rsqrt", "Ln",
    "Erf", "Sin", "Arctan", "Sign", "Gelu", "Mish", "Gelu_apprx_tanh", "Gelu_apprx_sigmoid",
    "Derivative_Gelu_apprx_sigmoid", "Derivative_Gelu", "Derivative_Erf", "Copy", "Abs", "Reciprocal",
    "Abs_reciprocal_sqrt", "Silu", "Derivative_silu", "Is_finite", "Unknown",
};
static const uint8_t activation_function_order[] = {
    11, 24, 12, 7, 13, 23, 16, 17, 2, 15, 27, 9, 6, 3, 4, 10, 14, 1, 5, 30, 0, 8, 29, 25, 22, 21, 28, 18, 19, 26, 20,
};
static const char *const accumulation_names[] = {
    "Idle", "Zero", "Accumulate", "ZeroAccumulate", "AddAccumulate", "LoadAccumulate",
};
static const char *const axis_list_names[] = {
    "X", "XY", "XYZ", "XYZW", "XYZWC", "C",
};
static const char *const matmult_perf_mode_names[] = {
    "None", "DoubleRow", "DoubleColumn", "DoublePixel", "DoubleRowSwInterleave",
};
static const char *const pool_function_names[] = {
    "Max", "Avg",
};
static const char *const tsc_mode_names[] = {
    "Reduce", "Cumulative", "TensorScan",
};
static const char *const memset_mode_names[] = {
    "Const", "Random",
};
static const char *const random_algorithm_names[] = {
    "LFSR", "PCG32", "PHILOX_1",
};
static const char *const random_distribution_names[] = {
    "Raw", "Uniform", "Normal", "Binomial",
};
static const char *const branch_compare_names[] = {
    "IS_LTIMM", "IS_LEIMM", "IS_EQIMM", "IS_NEIMM", "IS_GEIMM", "IS_GTIMM", "IS_LTREG", "IS_LEREG", "IS_EQREG",
    "IS_NEREG", "IS_GEREG", "IS_GTREG", "Unsupported",
};
static const uint8_t branch_compare_order[] = {
    2, 8, 4, 10, 5, 11, 1, 7, 0, 6, 3, 9, 12,
};
static const char *const branch_hint_names[] = {
    "LikelyTaken", "LikelyNotTaken",
};
static const char *const collective_kind_names[] = {
    "SendRecv", "SendRecvCCE", "AllReduce", "ReduceScatter", "AllGather", "AllToAll", "AllToAllV", "Permute",
    "PermuteReduce", "PermuteImplicit", "PermuteReduceImplicit",
};
static const uint8_t collective_kind_order[] = {
    7, 5, 0, 4, 2, 6, 1, 8, 3, 9, 10,
};
static const char *const collective_dimension_names[] = {
    "Partition", "Free",
};
static const char *const collective_type_hint_names[] = {
    "TP", "FSDP", "None",
};
static const char *const event_clear_mode_names[] = {
    "SemaphoreZero", "SemaphoreZeroBitmask",
};
static const char *const sync_type_names[] = {
    "datapath", "sequencer", "dma",
};
static const char *const unique_tensors_names[] = {
    "Unknown", "No", "Yes",
};
static const char *const address_rotation_names[] = {
    "None", "Kernel", "Global",
};
static const char *const kernel_source_names[] = {
    "Beta1", "Beta2", "Beta3",
};
static const char *const debug_buffer_names[] = {
    "stdout", "stderr",
};
static const char *const tensor_completion_names[] = {
    "Default", "DebugTensorRead",
};
static const char *const origin_names[] = {
    "Internal", "Penguin", "NKI",
};
/* clang-format on */

struct enum_table {
    const char *title;
    const char *const *names;
    const uint8_t *order;  /* member numbers sorted by length, then bytes; NULL = scan */
    const uint8_t *values; /* NULL = ordinals */
    uint8_t count;
};

/* clang-format off */
static const struct enum_table tables[BIR_ENUM_COUNT] = {
    [BIR_ENUM_DTYPE] = { "Dtype", dtype_names, dtype_order, NULL, 20 },
    [BIR_ENUM_ENGINE] = { "EngineType", engine_names, NULL, NULL, 8 },
    [BIR_ENUM_ARCH_LEVEL] = { "ArchLevel", arch_level_names, NULL, arch_level_values, 5 },
    [BIR_ENUM_ARCH_REVISION] = { "ArchRevision", arch_revision_names, NULL, NULL, 2 },
    [BIR_ENUM_ALU_OP] = { "AluOpType", alu_op_names, alu_op_order, NULL, 33 },
    [BIR_ENUM_EDGE_KIND] = { "EdgeKind", edge_kind_names, NULL, NULL, 5 },
    [BIR_ENUM_MEMORY_TYPE] = { "MemoryType", memory_type_names, NULL, memory_type_values, 8 },
    [BIR_ENUM_TENSOR_KIND] = { "TensorKind", tensor_kind_names, tensor_kind_order, NULL, 10 },
    [BIR_ENUM_TENSOR_CLASS] = { "TensorClass", tensor_class_names, tensor_class_order, NULL, 13 },
    [BIR_ENUM_ADDRESS_SPACE] = { "MemoryAddressSpace", address_space_names, NULL, NULL, 3 },
    [BIR_ENUM_DGE_TYPE] = { "DGEType", dge_type_names, NULL, NULL, 4 },
    [BIR_ENUM_COPY_MODE] = { "CopyMode", copy_mode_names, NULL, NULL, 4 },
    [BIR_ENUM_DMA_QOS] = { "DMAQoSClass", dma_qos_names, dma_qos_order, NULL, 17 },
    [BIR_ENUM_INDIRECT_DIM] = { "IndirectDim", indirect_dim_names, NULL, NULL, 4 },
    [BIR_ENUM_TRANSPOSE_OPS] = { "TransposeOps", transpose_ops_names, transpose_ops_order, NULL, 14 },
    [BIR_ENUM_ACTIVATION_FUNCTION] = { "ActivationFunctionType", activation_function_names, activation_function_order, NULL, 31 },
    [BIR_ENUM_ACCUMULATION] = { "EngineAccumulationType", accumulation_names, NULL, NULL, 6 },
    [BIR_ENUM_AXIS_LIST] = { "AxisListType", axis_list_names, NULL, NULL, 6 },
    [BIR_ENUM_MATMULT_PERF_MODE] = { "MatmultPerfMode", matmult_perf_mode_names, NULL, NULL, 5 },
    [BIR_ENUM_POOL_FUNCTION] = { "PoolFunctionType", pool_function_names, NULL, NULL, 2 },
    [BIR_ENUM_TSC_MODE] = { "TSCMode", tsc_mode_names, NULL, NULL, 3 },
    [BIR_ENUM_MEMSET_MODE] = { "MemsetMode", memset_mode_names, NULL, NULL, 2 },
    [BIR_ENUM_RANDOM_ALGORITHM] = { "RandomAlgorithmKind", random_algorithm_names, NULL, NULL, 3 },
    [BIR_ENUM_RANDOM_DISTRIBUTION] = { "RandomDistributionKind", random_distribution_names, NULL, NULL, 4 },
    [BIR_ENUM_BRANCH_COMPARE] = { "BranchCompareOp", branch_compare_names, branch_compare_order, NULL, 13 },
    [BIR_ENUM_BRANCH_HINT] = { "BranchOutcomeHint", branch_hint_names, NULL, NULL, 2 },
    [BIR_ENUM_COLLECTIVE_KIND] = { "CollectiveKind", collective_kind_names, collective_kind_order, NULL, 11 },
    [BIR_ENUM_COLLECTIVE_DIMENSION] = { "CollectiveDimension", collective_dimension_names, NULL, NULL, 2 },
    [BIR_ENUM_COLLECTIVE_TYPE_HINT] = { "CollectiveComputeTypeHint", collective_type_hint_names, NULL, NULL, 3 },
    [BIR_ENUM_EVENT_CLEAR_MODE] = { "EventSemaphoreClearMode", event_clear_mode_names, NULL, NULL, 2 },
    [BIR_ENUM_SYNC_TYPE] = { "InstSyncType", sync_type_names, NULL, NULL, 3 },
    [BIR_ENUM_UNIQUE_TENSORS] = { "UniqueTensorsType", unique_tensors_names, NULL, NULL, 3 },
    [BIR_ENUM_ADDRESS_ROTATION] = { "AddressRotationScope", address_rotation_names, NULL, NULL, 3 },
    [BIR_ENUM_KERNEL_SOURCE] = { "KernelSource", kernel_source_names, NULL, NULL, 3 },
    [BIR_ENUM_DEBUG_BUFFER] = { "DebugDeviceBuffer", debug_buffer_names, NULL, NULL, 2 },
    [BIR_ENUM_TENSOR_COMPLETION] = { "TensorCompletionMode", tensor_completion_names, NULL, NULL, 2 },
    [BIR_ENUM_ORIGIN] = { "NamedObjectOrigin", origin_names, NULL, NULL, 3 },
    [BIR_ENUM_OPCODE] = { "InstructionType", NULL, NULL, NULL, 0 },
};
/* clang-format on */

static int member_value(const struct enum_table *table, size_t i)
{
    return table->values ? table->values[i] : (int)i;
}

static const char *name_of_listed_value(const struct enum_table *table, int value)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->values[i] == value)
            return table->names[i];
    return NULL;
}

const char *bir_enum_name(enum bir_enum_id id, int value)
{
    if (id == BIR_ENUM_OPCODE) {
        if (value < 0 || value >= BIR_OP_UNKNOWN || bir_opcode_index((uint16_t)value) < 0)
            return NULL;
        return bir_opcode_name((uint16_t)value);
    }
    const struct enum_table *table = &tables[id];
    if (table->values)
        return name_of_listed_value(table, value);
    return value >= 0 && value < table->count ? table->names[value] : NULL;
}

static int compare_name(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return memcmp(a, b, a_len);
}

static int scan_names(const struct enum_table *table, const char *name, size_t len)
{
    for (size_t i = 0; i < table->count; i++)
        if (strlen(table->names[i]) == len && memcmp(table->names[i], name, len) == 0)
            return member_value(table, i);
    return -1;
}

int bir_enum_value(enum bir_enum_id id, const char *name, size_t len)
{
    if (id == BIR_ENUM_OPCODE) {
        uint16_t opcode = bir_opcode_from_name(name, len);
        return opcode == BIR_OP_UNKNOWN ? -1 : opcode;
    }
    const struct enum_table *table = &tables[id];
    if (!table->order)
        return scan_names(table, name, len);
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const char *candidate = table->names[table->order[mid]];
        int c = compare_name(name, len, candidate, strlen(candidate));
        if (c == 0)
            return member_value(table, table->order[mid]);
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return -1;
}

const char *bir_enum_title(enum bir_enum_id id)
{
    return tables[id].title;
}

size_t bir_enum_member_count(enum bir_enum_id id)
{
    return id == BIR_ENUM_OPCODE ? bir_opcode_count() : tables[id].count;
}

int bir_enum_member(enum bir_enum_id id, size_t i)
{
    return id == BIR_ENUM_OPCODE ? bir_opcode_at(i) : member_value(&tables[id], i);
}

uint32_t bir_dtype_bytes(uint8_t dtype)
{
    /* container sizes of enums.md section 1 */
    static const uint8_t bytes[BIR_DTYPE_COUNT] = { 1, 1, 2, 1, 1, 1, 1, 1, 4, 4, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8 };
    return dtype < BIR_DTYPE_COUNT ? bytes[dtype] : 0;
}

bool bir_dtype_is_immediate(uint8_t dtype)
{
    if (dtype >= BIR_DTYPE_COUNT || dtype == BIR_DTYPE_FLOAT32R)
        return false;
    return dtype <= BIR_DTYPE_INT8 || dtype >= BIR_DTYPE_UINT16;
}

const char *bir_dtype_name(uint8_t dtype)
{
    return dtype < BIR_DTYPE_COUNT ? dtype_names[dtype] : "?";
}

const char *bir_engine_name(uint8_t engine)
{
    return engine < BIR_ENGINE_COUNT ? engine_names[engine] : "?";
}

enum bir_arch bir_arch_from_name(const char *name, size_t len)
{
    static const struct {
        const char *name;
        enum bir_arch arch;
    } aliases[] = {
        { "tonga", BIR_ARCH_INFERENTIA }, { "inf1", BIR_ARCH_INFERENTIA }, { "trn1", BIR_ARCH_SUNDA },
        { "inf2", BIR_ARCH_SUNDA },       { "trainium", BIR_ARCH_SUNDA },  { "cayman", BIR_ARCH_GEN3 },
        { "trn2", BIR_ARCH_GEN3 },        { "trn3", BIR_ARCH_CORE_V4 },
    };
    int value = bir_enum_value(BIR_ENUM_ARCH_LEVEL, name, len);
    if (value >= 0)
        return (enum bir_arch)value;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].name) == len && memcmp(aliases[i].name, name, len) == 0)
            return aliases[i].arch;
    return BIR_ARCH_NONE;
}

const char *bir_arch_name(enum bir_arch arch)
{
    const char *name = bir_enum_name(BIR_ENUM_ARCH_LEVEL, (int)arch);
    return name ? name : "?";
}

/*
 * DMA direct 2D, opcode 0xD4 (descriptors.md section 8): both sides static, the innermost contiguous run is the
 * element, two more dimensions stand outside it. Steps are bytes. A side in SBUF or PSUM has its partitions a fixed
 * stride apart; the two windows are one linear space for the DMA engine (choice: the address arithmetic of 1.2).
 */
#include "isa/word_values.h"

enum { COMMAND_COPY = 3, MAX_DIMS = BIR_PATTERN_MAX_RANK };

struct side {
    const struct bir_physical_ap *access;
    uint64_t elem_bytes; /* contiguous run */
    int64_t step[2];     /* bytes; innermost first */
    int64_t count[2];
};

struct dim {
    int64_t step_bytes, count;
};

/* The pattern as byte steps, outermost first, without dimensions of one element. */
static bool byte_dims(struct isa_word_builder *b, const struct bir_physical_ap *access, struct dim *dims, uint32_t *n)
{
    int64_t es = bir_dtype_bytes(access->base.dtype);
    enum bir_memory_type memory = bir_argument_memory(&access->base);
    *n = 0;
    if (es == 0)
        return isa_word_fail(b, "the type of a side is not known");
    if (access->pattern->rank > MAX_DIMS)
        return isa_word_fail(b, "the pattern has too many dimensions");
    for (uint32_t i = 0; i < access->pattern->rank; i++) {
        const struct bir_pair *pair = &access->pattern->pairs[i];
        if (pair->num == 1)
            continue;
        struct dim *dim = &dims[(*n)++];
        dim->count = pair->num;
        if (i == 0 && memory == BIR_MEMORY_SB)
            dim->step_bytes = ISA_SBUF_STRIDE_BYTES;
        else if (i == 0 && memory == BIR_MEMORY_PSUM)
            dim->step_bytes = ISA_PSUM_STRIDE_BYTES;
        else if (__builtin_mul_overflow(pair->step_elems, es, &dim->step_bytes))
            return isa_word_fail(b, "a step does not fit 32 bits");
        if (dim->count < 1 || dim->step_bytes < INT32_MIN || dim->step_bytes > INT32_MAX)
            return isa_word_fail(b, "a step or count does not fit the word");
    }
    return true;
}

static bool describe_side(struct isa_word_builder *b, struct side *side)
{
    struct dim dims[MAX_DIMS];
    uint32_t n;
    if (!byte_dims(b, side->access, dims, &n))
        return false;
    /* Grow the element while the next dimension continues it; more than 64 KiB has no encoding. */
    side->elem_bytes = bir_dtype_bytes(side->access->base.dtype);
    while (n > 0 && dims[n - 1].step_bytes == (int64_t)side->elem_bytes &&
           dims[n - 1].count <= 65536 / (int64_t)side->elem_bytes)
        side->elem_bytes *= (uint64_t)dims[--n].count;
    if (n > 2)
        return isa_word_fail(b, "the access has more than two dimensions outside its contiguous run");
    for (uint32_t i = 0; i < 2; i++) {
        side->step[i] = i < n ? dims[n - 1 - i].step_bytes : 0;
        side->count[i] = i < n ? dims[n - 1 - i].count : 1;
        if (side->count[i] > UINT16_MAX)
            return isa_word_fail(b, "a count does not fit 16 bits");
    }
    return true;
}

static bool side_of(struct isa_word_builder *b, enum bir_role role, struct side *side)
{
    const struct bir_argument *argument = isa_word_argument(b, role, 0);
    if (!argument || argument->kind != BIR_ARG_PHYSICAL_AP || bir_argument_dynamic(argument))
        return isa_word_fail(b, "a side with a runtime address has no known layout");
    side->access = (const struct bir_physical_ap *)argument;
    if (!describe_side(b, side))
        return false;
    const struct isa_operand *operand = isa_word_operand(b, role, 0);
    b->values.operand[role == BIR_ROLE_IN ? ISA_VAL_SRC0 : ISA_VAL_DST] = operand;
    if (!operand)
        isa_word_unknown(b,
                         role == BIR_ROLE_IN ? "src (the runtime resolves DRAM)" : "dst (the runtime resolves DRAM)");
    return true;
}

static void put_side(struct isa_word_builder *b, const struct side *side, enum isa_value step0, enum isa_value step1,
                     enum isa_value count0, enum isa_value count1, enum isa_value size)
{
    uint64_t *v = b->values.value;
    v[step0] = (uint32_t)side->step[0];
    v[step1] = (uint32_t)side->step[1];
    v[count0] = (uint64_t)side->count[0];
    v[count1] = (uint64_t)side->count[1];
    v[size] = side->elem_bytes & 0xFFFF; /* 0 means 65536 */
}

/* A transfer signals through the word's own semaphore fields, not through the header (choice: their names say so). */
static void completion(struct isa_word_builder *b)
{
    const struct bir_sync *sync = b->inst->rare ? b->inst->rare->sync : NULL;
    uint64_t *v = b->values.value;
    if (!sync || sync->updates.count == 0)
        return;
    const struct bir_update *update = &sync->updates.items[0];
    if (sync->updates.count > 1)
        isa_word_unknown(b, "further updates of sync_info");
    if (update->props || update->semaphore < 0 || update->semaphore > UINT8_MAX || update->value < 0 ||
        update->value > UINT8_MAX) {
        isa_word_unknown(b, "semaphore and increment");
        return;
    }
    v[ISA_VAL_SEMAPHORE] = (uint64_t)update->semaphore;
    v[ISA_VAL_INCREMENT] = (uint64_t)update->value;
}

bool isa_words_dma(struct isa_word_builder *b)
{
    struct side src, dst;
    if (isa_word_enum(b, "mode", BIR_ENUM_COPY_MODE, 0) != bir_enum_value(BIR_ENUM_COPY_MODE, "Copy", 4) &&
        bir_props_find(b->inst->props, "mode"))
        return isa_word_fail(b, "only plain copies have a known layout");
    if (isa_word_enum(b, "transpose_op", BIR_ENUM_TRANSPOSE_OPS, 0) != 0 ||
        isa_word_enum(b, "cce_op", BIR_ENUM_ALU_OP, BIR_ALU_BYPASS) != BIR_ALU_BYPASS ||
        bir_props_find(b->inst->props, "constants"))
        return isa_word_fail(b, "a copy that computes or transposes has no known layout");
    if (b->operands->count[BIR_ROLE_IN] != 1 || b->operands->count[BIR_ROLE_OUT] != 1)
        return isa_word_fail(b, "only copies of one source to one destination have a known layout");
    if (!side_of(b, BIR_ROLE_IN, &src) || !side_of(b, BIR_ROLE_OUT, &dst))
        return false;
    put_side(b, &src, ISA_VAL_STEP0, ISA_VAL_STEP1, ISA_VAL_COUNT0, ISA_VAL_COUNT1, ISA_VAL_SRC_SIZE);
    put_side(b, &dst, ISA_VAL_DST_STEP0, ISA_VAL_DST_STEP1, ISA_VAL_DST_COUNT0, ISA_VAL_DST_COUNT1, ISA_VAL_DST_SIZE);
    b->values.value[ISA_VAL_COMMAND] = COMMAND_COPY;
    b->values.value[ISA_VAL_IN_TAG] = isa_dtype_tag(src.access->base.dtype, b->generation);
    b->values.value[ISA_VAL_OUT_TAG] = isa_dtype_tag(dst.access->base.dtype, b->generation);
    isa_word_unknown(b, "priority_class");
    completion(b);
    return isa_word_emit(b, ISA_OP_DMA_DIRECT_2D);
}

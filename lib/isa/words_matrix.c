/*
 * Matrix engine: Matmult as LoadStationary then Matmult, the MX pair, QuantizeMx (descriptors.md 7.7).
 *
 * A float32 product takes two passes over the same operands, so four words; the first zeroes the accumulator, the last
 * ends it.
 */
#include "base/json_reader.h"
#include "isa/word_values.h"

enum { FLAG_BEGIN = 1, FLAG_END = 2 };
enum { FP32_NONE, FP32_LOW, FP32_HIGH };
enum { WHOLE_ARRAY = 0xF, TAG_FLOAT32 = 0x0A, TAG_FLOAT32R = 0x0B };

/* Row or column group that starts at a partition and is wide enough; 0 when there is none. */
static uint8_t group_code(uint32_t start, uint32_t width)
{
    switch (start) {
    case 0: return width <= 32 ? 1 : width <= 64 ? 3 : width <= 128 ? WHOLE_ARRAY : 0;
    case 32: return width <= 32 ? 2 : 0;
    case 64: return width <= 32 ? 4 : width <= 64 ? 0xC : 0;
    case 96: return width <= 32 ? 8 : 0;
    default: return 0;
    }
}

/* v2 only; 0 = the group fails the check of the word. */
static uint8_t xbus_of(uint8_t group)
{
    static const uint8_t codes[16] = { [0xF] = 0x10, [0x3] = 1, [0xC] = 4, [1] = 1, [2] = 2, [4] = 4 };
    return codes[group & 15];
}

/* A pair of integers of a JSON array property such as "[0,32]", as the text of the input has it. */
static bool parse_pair(const struct bir_str *text, int64_t pair[2])
{
    struct bir_json_reader r;
    struct bir_arena unused; /* numbers need none */
    bir_arena_init(&unused, 0);
    bir_json_reader_init(&r, text->text, text->len, 2, &unused, NULL);
    bool good = bir_json_array_begin(&r) == BIR_OK;
    for (int i = 0; good && i < 2; i++)
        good = bir_json_array_next(&r) && bir_json_i64(&r, &pair[i]) == BIR_OK && pair[i] >= -1 &&
               pair[i] <= (int64_t)ISA_PARTITIONS;
    good = good && !bir_json_array_next(&r) && r.status == BIR_OK;
    bir_arena_deinit(&unused);
    return good;
}

/* False when the property is absent. */
static bool word_pair(struct isa_word_builder *b, const char *key, int64_t pair[2])
{
    const struct bir_prop *prop = bir_props_find(b->inst->props, key);
    if (prop && (prop->type != BIR_VALUE_JSON || !parse_pair(prop->u.s, pair)))
        isa_word_unreadable(b, key, prop);
    return prop != NULL;
}

/* Groups from tile_position and tile_size; unset ones ([-1,-1]) from where the operands start: the whole array at 0. */
static bool groups(struct isa_word_builder *b, const struct isa_operand *moving, const struct isa_operand *dst)
{
    int64_t at[2] = { -1, -1 }, size[2] = { -1, -1 };
    const struct isa_operand *operand[2] = { moving, dst };
    uint8_t code[2];
    bool placed = word_pair(b, "tile_position", at) && word_pair(b, "tile_size", size);
    for (int i = 0; i < 2; i++) {
        if (placed && at[i] >= 0 && size[i] > 0)
            code[i] = group_code((uint32_t)at[i], (uint32_t)size[i]);
        else if (operand[i]->is_register || operand[i]->partition == 0)
            code[i] = WHOLE_ARRAY;
        else
            code[i] = group_code(operand[i]->partition, operand[i]->partitions);
        if (code[i] == 0)
            return isa_word_fail(b, "no row or column group starts and ends there");
    }
    b->values.value[ISA_VAL_ROW_GROUP] = code[0];
    b->values.value[ISA_VAL_COL_GROUP] = code[1];
    if (b->generation != ISA_V2)
        return true;
    b->values.value[ISA_VAL_XBUS] = xbus_of(code[1]);
    return b->values.value[ISA_VAL_XBUS] != 0 || isa_word_fail(b, "column group 8 has no crossbar code on v2");
}

/* psum_accumulate_flags: the key of 2.24, or the two it replaced. */
static bool accumulate_flags(struct isa_word_builder *b, unsigned *flags)
{
    int64_t value = isa_word_int(b, "accumulation_flag", -1);
    if (value < 0)
        value = (isa_word_bool(b, "start_tensor_calc") ? FLAG_BEGIN : 0) |
                (isa_word_bool(b, "stop_tensor_calc") ? FLAG_END : 0);
    bool legal = b->generation == ISA_V4 ? value <= 4 || value == 6 : value <= 3;
    if (!legal)
        return isa_word_fail(b, "accumulation_flag has a value the generation does not define");
    *flags = (unsigned)value;
    return true;
}

static bool zero_region(struct isa_word_builder *b)
{
    int64_t region = isa_word_int(b, "psum_zero_region", 0);
    if (region < 0 || region > (b->generation == ISA_V4 ? 3 : 0))
        return isa_word_fail(b, "psum_zero_region has a value the generation does not define");
    b->values.value[ISA_VAL_ZERO_REGION] = (uint64_t)region;
    return true;
}

static void name_unmapped(struct isa_word_builder *b)
{
    static const char *const numbers[] = { "replication_resolution", "replication_shift_amnt", "replication_num_rows" };
    static const char *const switches[] = { "is_transpose", "is_fmap_onezero", "is_weight_onezero" };
    for (size_t i = 0; i < 3; i++) {
        if (isa_word_int(b, numbers[i], 0) != 0)
            isa_word_unknown(b, numbers[i]);
        if (isa_word_bool(b, switches[i]))
            isa_word_unknown(b, switches[i]);
    }
    if (isa_word_enum(b, "perf_mode", BIR_ENUM_MATMULT_PERF_MODE, 0) != 0)
        isa_word_unknown(b, "perf_mode");
}

struct matmul {
    const struct isa_operand *stationary, *moving, *dst;
    unsigned flags;
};

static bool operands_of(struct isa_word_builder *b, struct matmul *m)
{
    m->stationary = isa_word_operand(b, BIR_ROLE_IN, ISA_MATMULT_STATIONARY);
    m->moving = isa_word_operand(b, BIR_ROLE_IN, ISA_MATMULT_MOVING);
    m->dst = isa_word_operand(b, BIR_ROLE_OUT, 0);
    if (!m->stationary || !m->moving || !m->dst)
        return isa_word_fail(b, "a source or destination has no descriptor");
    return groups(b, m->moving, m->dst) && accumulate_flags(b, &m->flags) && zero_region(b);
}

static uint8_t matmul_tag(uint8_t tag)
{
    return tag == TAG_FLOAT32R ? TAG_FLOAT32 : tag;
}

static bool load_stationary(struct isa_word_builder *b, const struct matmul *m, uint8_t opcode)
{
    uint64_t cols = m->stationary->elems;
    if (cols < 1 || cols > ISA_PARTITIONS)
        return isa_word_fail(b, "the stationary operand has more columns than the array");
    b->values.operand[ISA_VAL_SRC0] = m->stationary;
    b->values.value[ISA_VAL_IN_TAG] = matmul_tag(m->stationary->tag);
    b->values.value[ISA_VAL_ROWS] = m->stationary->partitions;
    b->values.value[ISA_VAL_COLS] = cols;
    return isa_word_emit(b, opcode);
}

static bool multiply(struct isa_word_builder *b, const struct matmul *m, uint8_t opcode, unsigned flags)
{
    b->values.operand[ISA_VAL_SRC0] = m->moving;
    b->values.operand[ISA_VAL_DST] = m->dst;
    b->values.value[ISA_VAL_IN_TAG] = matmul_tag(m->moving->tag);
    b->values.value[ISA_VAL_OUT_TAG] = m->dst->tag;
    b->values.value[ISA_VAL_ROWS] = m->moving->partitions;
    b->values.value[ISA_VAL_COLS] = m->dst->partitions;
    b->values.value[ISA_VAL_ACCUMULATE] = flags;
    return isa_word_emit(b, opcode);
}

/* Waits stand in the instruction's first word, updates in its last (choice). */
struct header_values {
    uint64_t wait_mode, wait_idx, update_mode, update_idx;
};

static struct header_values take_header(struct isa_word_builder *b)
{
    uint64_t *v = b->values.value;
    return (struct header_values){ v[ISA_VAL_WAIT_MODE], v[ISA_VAL_WAIT_IDX], v[ISA_VAL_UPDATE_MODE],
                                   v[ISA_VAL_UPDATE_IDX] };
}

static void put_header(struct isa_word_builder *b, const struct header_values *header, bool first, bool last)
{
    uint64_t *v = b->values.value;
    v[ISA_VAL_WAIT_MODE] = first ? header->wait_mode : 0;
    v[ISA_VAL_WAIT_IDX] = first ? header->wait_idx : 0;
    v[ISA_VAL_UPDATE_MODE] = last ? header->update_mode : 0;
    v[ISA_VAL_UPDATE_IDX] = last ? header->update_idx : 0;
}

/* Two bytes on v2; later generations have no place for it. */
static bool quant_offset(struct isa_word_builder *b)
{
    int64_t offset = isa_word_int(b, "ifmap_quant_offset", 0);
    if (offset < 0 || offset > UINT16_MAX)
        return isa_word_fail(b, "ifmap_quant_offset does not fit 16 bits");
    if (offset != 0 && b->generation != ISA_V2)
        isa_word_unknown(b, "ifmap_quant_offset");
    b->values.value[ISA_VAL_QUANT_OFFSET] = (uint64_t)offset;
    return true;
}

static bool pass(struct isa_word_builder *b, const struct matmul *m, const struct header_values *header, bool first,
                 bool last)
{
    unsigned flags = m->flags & ~(unsigned)((first ? 0 : FLAG_BEGIN) | (last ? 0 : FLAG_END));
    put_header(b, header, first, false);
    b->values.value[ISA_VAL_QUANT_OFFSET] = 0;
    if (!load_stationary(b, m, ISA_OP_LOAD_STATIONARY))
        return false;
    put_header(b, header, false, last);
    if (!quant_offset(b))
        return false;
    return multiply(b, m, ISA_OP_MATMULT, flags);
}

static bool matmult(struct isa_word_builder *b)
{
    struct matmul m;
    if (!operands_of(b, &m))
        return false;
    name_unmapped(b);
    if (isa_word_int(b, "weights_quant_offset", 0) != 0)
        isa_word_unknown(b, "weights_quant_offset");
    struct header_values header = take_header(b);
    if (m.moving->tag == TAG_FLOAT32R)
        b->values.value[ISA_VAL_FP32_MODE] = FP32_HIGH;
    if (m.moving->tag != TAG_FLOAT32)
        return pass(b, &m, &header, true, true);
    b->values.value[ISA_VAL_FP32_MODE] = FP32_LOW; /* low half first (choice) */
    if (!pass(b, &m, &header, true, false))
        return false;
    b->values.value[ISA_VAL_FP32_MODE] = FP32_HIGH;
    return pass(b, &m, &header, false, true);
}

static bool matmult_mx(struct isa_word_builder *b)
{
    struct matmul m;
    if (!operands_of(b, &m))
        return false;
    name_unmapped(b);
    b->values.value[ISA_VAL_COL_GROUP] = WHOLE_ARRAY;
    struct header_values header = take_header(b);
    put_header(b, &header, true, false);
    if (!load_stationary(b, &m, ISA_OP_LD_WEIGHT_MX))
        return false;
    put_header(b, &header, false, true);
    return multiply(b, &m, ISA_OP_MATMULT_MX, m.flags);
}

static bool quantize_mx(struct isa_word_builder *b)
{
    if (!isa_word_source_and_destination(b))
        return false;
    uint32_t channels = b->values.operand[ISA_VAL_DST]->partitions;
    if (channels % 32 != 0)
        return isa_word_fail(b, "QuantizeMx works on 32, 64, 96 or 128 partitions");
    return isa_word_emit(b, ISA_OP_QUANTIZE_MX);
}

bool isa_words_matrix(struct isa_word_builder *b)
{
    switch (b->inst->opcode) {
    case BIR_OP_MATMULT: return matmult(b);
    case BIR_OP_MATMULT_MX: return matmult_mx(b);
    default: return quantize_mx(b);
    }
}

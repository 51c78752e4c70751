/*
 * One function a descriptor form, one rule id a refusal. The wire validators' rules come first and in their order, so
 * that a word which breaks several is reported as they would report it; our own choices (V09, V11..V13) follow.
 * Rules about a register word stop at V07: its address is not known before run time.
 */
#include "isa/validate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const struct isa_rule_info rule_table[ISA_RULES] = {
    [ISA_RULE_NONE] = { "isa-ok", NULL },
    [ISA_V01] = { "isa-v01-address-range", "addresses have 29 bits; check addr, base and bank of the location" },
    [ISA_V02] = { "isa-v02-alignment",
                  "move the start to a multiple of the element size, or use a type this generation has" },
    [ISA_V03] = { "isa-v03-address-window", "an address below 0x2000000 is in SBUF, one below 0x2400000 in PSUM" },
    [ISA_V04] = { "isa-v04-memory", "copy the tensor to a memory this operand may name" },
    [ISA_V05] = { "isa-v05-psum-write-type",
                  "write int32, uint32, float32 or float32r to PSUM and convert when reading" },
    [ISA_V06] = { "isa-v06-matmul-destination",
                  "a matmul result goes to PSUM as a 4-byte type, from core_v4 on also as a 2-byte type" },
    [ISA_V07] = { "isa-v07-register-word", "a register operand is 0x80000000 plus a register id below 64" },
    [ISA_V08] = { "isa-v08-zero-count", "every dimension has at least one element; drop the operand if it is empty" },
    [ISA_V09] = { "isa-v09-step-count-range", "split the access so that steps fit 16 bits signed and counts 1..65535" },
    [ISA_V10] = { "isa-v10-rank",
                  "merge contiguous dimensions or split the instruction; the slot's rank is fixed by the op" },
    [ISA_V11] = { "isa-v11-address-mode", "use an address mode that this slot and generation know" },
    [ISA_V12] = { "isa-v12-partition-bounds",
                  "every byte of the access has to lie in the backed part of its partition" },
    [ISA_V13] = { "isa-v13-start-partition",
                  "start at partition 0 (up to 128 partitions), 32 (32), 64 (64) or 96 (32)" },
    [ISA_V14] = { "isa-v14-partition-count", "an instruction works on 1 to 128 partitions" },
    [ISA_V15] = { "isa-v15-indirect",
                  "index and data are immediate addresses, the index vector is 4-byte aligned in SBUF" },
    [ISA_V16] = { "isa-v16-mx", "MX data is one contiguous run in SBUF with its scales in the same quadrant" },
    [ISA_V17] = { "isa-v17-mx-indirect", "MX gathers need immediate index, data and scale addresses in SBUF" },
    [ISA_V18] = { "isa-v18-fp4-generation", "packed FP4 and MX operands exist from core_v4 on" },
    [ISA_V19] = { "isa-v19-header", "the first twelve bytes follow the common header" },
    [ISA_V20] = { "isa-v20-dtype", "choose a dtype that the instruction reads or writes" },
    [ISA_RULE_KIND] = { "isa-operand-kind", "run lower_ap and expand_inst_late before encode" },
    [ISA_RULE_NOT_ALLOCATED] = { "isa-register-not-allocated", "run color_registers before encode" },
    [ISA_RULE_OFFSET_REGISTER] = { "isa-register-offset", "fold the offset into the address register before encode" },
    [ISA_RULE_UNEXPANDED] = { "isa-dynamic-operand", "run expand_inst_late before encode" },
    [ISA_RULE_NO_LOCATION] = { "isa-no-location", "run allocate_memory, or give the location an address" },
    [ISA_RULE_PARTITION_STEP] = { "isa-partition-step", "the hardware walks consecutive partitions: the first step has "
                                                        "to be the row pitch" },
    [ISA_RULE_UNSUPPORTED] = { "isa-unsupported-operand",
                               "choose another generation with --arch, or another instruction" },
    [ISA_RULE_OPERANDS] = { "isa-operand-mismatch", "make shapes and memories of the operands agree" },
};

const struct isa_rule_info *isa_rule_info_of(enum isa_rule rule)
{
    return &rule_table[rule < ISA_RULES ? rule : ISA_RULE_NONE];
}

const char *isa_rule_name(enum isa_rule rule)
{
    static const char names[][4] = { "",    "V01", "V02", "V03", "V04", "V05", "V06", "V07", "V08", "V09", "V10",
                                     "V11", "V12", "V13", "V14", "V15", "V16", "V17", "V18", "V19", "V20" };
    return rule <= ISA_V20 ? names[rule] : "";
}

bool isa_refuse(struct isa_problem *problem, enum isa_rule rule, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    problem->rule = rule;
    vsnprintf(problem->message, sizeof problem->message, fmt, args);
    va_end(args);
    return false;
}

/* --- dtypes --- */

static const uint8_t dtype_tags[BIR_DTYPE_COUNT][ISA_GENERATIONS] = {
    [BIR_DTYPE_UINT8] = { 0x03, 0x03, 0x03 },          [BIR_DTYPE_INT8] = { 0x02, 0x02, 0x02 },
    [BIR_DTYPE_FLOAT4_E2M1FN_X4] = { 0x05, 0, 0x10 },  [BIR_DTYPE_FLOAT8E3] = { 0x0D, 0x0D, 0x0D },
    [BIR_DTYPE_FLOAT8E4] = { 0x0E, 0x0E, 0x0E },       [BIR_DTYPE_FLOAT8_E4M3FN] = { 0x0E, 0x0E, 0x0E },
    [BIR_DTYPE_FLOAT8_E8M0FNU] = { 0x03, 0x03, 0x03 }, [BIR_DTYPE_FLOAT8E5] = { 0x0F, 0x0F, 0x0F },
    [BIR_DTYPE_FLOAT8_E4M3FN_X4] = { 0x0E, 0, 0x0E },  [BIR_DTYPE_FLOAT8_E5M2_X4] = { 0x0F, 0, 0x0F },
    [BIR_DTYPE_UINT16] = { 0x05, 0x05, 0x05 },         [BIR_DTYPE_INT16] = { 0x04, 0x04, 0x04 },
    [BIR_DTYPE_BFLOAT16] = { 0x06, 0x06, 0x06 },       [BIR_DTYPE_FLOAT16] = { 0x07, 0x07, 0x07 },
    [BIR_DTYPE_UINT32] = { 0x09, 0x09, 0x09 },         [BIR_DTYPE_INT32] = { 0x08, 0x08, 0x08 },
    [BIR_DTYPE_FLOAT32] = { 0x0A, 0x0A, 0x0A },        [BIR_DTYPE_FLOAT32R] = { 0x0B, 0x0B, 0x0B },
    [BIR_DTYPE_UINT64] = { 0x01, 0x01, 0x01 },         [BIR_DTYPE_INT64] = { 0x0C, 0x0C, 0x0C },
};

/* Generic names: several dtypes share a tag, so a tag names a class. */
static const struct {
    const char *name;
    uint8_t bytes;
    uint8_t alignment;
} tag_table[] = {
    { "invalid", 0, 0 },  { "uint64", 8, 8 },   { "int8", 1, 1 },    { "uint8", 1, 1 },    { "int16", 2, 2 },
    { "uint16", 2, 2 },   { "bfloat16", 2, 2 }, { "float16", 2, 2 }, { "int32", 4, 4 },    { "uint32", 4, 4 },
    { "float32", 4, 4 },  { "float32r", 4, 4 }, { "int64", 8, 8 },   { "fp8_exp3", 1, 1 }, { "fp8_exp4", 1, 1 },
    { "fp8_exp5", 1, 1 }, { "fp4_exp2", 2, 1 },
};
#define N_TAGS (sizeof tag_table / sizeof tag_table[0])
enum { TAG_FP4 = 0x10 };

uint8_t isa_dtype_tag(uint8_t dtype, enum isa_generation generation)
{
    return dtype < BIR_DTYPE_COUNT ? dtype_tags[dtype][generation] : 0;
}

const char *isa_tag_name(uint8_t tag)
{
    return tag < N_TAGS ? tag_table[tag].name : "?";
}

uint32_t isa_tag_alignment(uint8_t tag, enum isa_generation generation)
{
    if (tag >= N_TAGS || (tag == TAG_FP4 && generation < ISA_V4))
        return 0;
    return tag_table[tag].alignment;
}

uint32_t isa_tag_bytes(uint8_t tag)
{
    return tag < N_TAGS ? tag_table[tag].bytes : 0;
}

/* --- addresses --- */

static bool check_alignment(uint32_t address, uint8_t tag, enum isa_generation generation, struct isa_problem *problem)
{
    uint32_t alignment = isa_tag_alignment(tag, generation);
    if (alignment == 0)
        return isa_refuse(problem, ISA_V02, "dtype tag 0x%02x (%s) has no alignment class on %s", tag,
                          isa_tag_name(tag), isa_generation_name(generation));
    if (address % alignment != 0)
        return isa_refuse(problem, ISA_V02, "%s start 0x%" PRIx32 " is not %" PRIu32 "-byte aligned", isa_tag_name(tag),
                          address, alignment);
    return true;
}

static bool check_register_word(uint32_t word, const struct isa_check *check, struct isa_problem *problem)
{
    uint32_t must_be_zero = check->generation == ISA_V2 ? UINT32_C(0x7FFFFF00) : UINT32_C(0x00FFFF00);
    if (word & must_be_zero)
        return isa_refuse(problem, ISA_V07,
                          "register word 0x%08" PRIx32 " has bits 0x%08" PRIx32 " set, which %s reserves", word,
                          word & must_be_zero, isa_generation_name(check->generation));
    if ((word & 0xFF) >= ISA_REGISTERS)
        return isa_refuse(problem, ISA_V07, "register %" PRIu32 " is out of range 0..%u", word & 0xFF,
                          ISA_REGISTERS - 1);
    return true;
}

static bool is_four_byte_tag(uint8_t tag)
{
    return tag >= 8 && tag <= 11;
}

static bool is_two_byte_tag(uint8_t tag)
{
    return tag >= 4 && tag <= 7;
}

static bool check_region(uint32_t address, const struct isa_check *check, struct isa_problem *problem)
{
    enum isa_space space = isa_region_of(address);
    if (space == ISA_SPACE_NONE)
        return isa_refuse(problem, ISA_V03,
                          "address 0x%" PRIx32 " is neither SBUF (below 0x%" PRIx32 ") nor PSUM (below 0x%" PRIx32 ")",
                          address, ISA_PSUM_BASE, ISA_PSUM_END);
    if (check->matmul_dst && space != ISA_SPACE_PSUM)
        return isa_refuse(problem, ISA_V06, "matmul destination 0x%" PRIx32 " is in SBUF, it must be in PSUM", address);
    if (space == ISA_SPACE_PSUM ? !check->psum_ok : !check->sbuf_ok)
        return isa_refuse(problem, ISA_V04, "operand at 0x%" PRIx32 " may not be in %s", address,
                          isa_space_name(space));
    if (!check->write || space != ISA_SPACE_PSUM || is_four_byte_tag(check->tag))
        return true;
    if (!check->matmul_dst)
        return isa_refuse(problem, ISA_V05, "write of %s (tag 0x%02x) to PSUM needs a 4-byte type (tags 8..11)",
                          isa_tag_name(check->tag), check->tag);
    if (check->generation == ISA_V4 && is_two_byte_tag(check->tag))
        return true;
    return isa_refuse(problem, ISA_V06, "matmul destination of type %s (tag 0x%02x): %s", isa_tag_name(check->tag),
                      check->tag,
                      check->generation == ISA_V4 ? "needs a 2- or 4-byte type" : "needs a 4-byte type before v4");
}

bool isa_check_address(uint32_t word, const struct isa_check *check, struct isa_problem *problem)
{
    enum isa_marker marker = isa_marker_of(word);
    if (marker == ISA_MARKER_UNKNOWN)
        return isa_refuse(problem, ISA_V11, "unknown address mode 0x%02x", word >> 24);
    if (isa_word_is_indirect(word))
        return isa_refuse(problem, ISA_V11, "address mode 0x%02x: static slot but has indirect field", word >> 24);
    if (word & ISA_ADDR4_REGISTER)
        return check_register_word(word, check, problem);
    if (marker == ISA_MARKER_SHAPE && check->generation == ISA_V2)
        return isa_refuse(problem, ISA_V11, "address mode 0x%02x: v2 has no shape registers", word >> 24);
    uint32_t address = word & ISA_ADDRESS_BITS_MASK;
    return check_alignment(address, check->tag, check->generation, problem) && check_region(address, check, problem);
}

/* --- partitions, walk, packing --- */

bool isa_check_channels(int64_t count, struct isa_problem *problem)
{
    if (count < 1 || count > (int64_t)ISA_PARTITIONS)
        return isa_refuse(problem, ISA_V14, "partition count %" PRId64 " is out of range 1..%u", count, ISA_PARTITIONS);
    return true;
}

bool isa_check_partitions(uint32_t start, uint32_t count, struct isa_problem *problem)
{
    static const uint32_t limits[4] = { 128, 32, 64, 32 };
    if (!isa_check_channels(count, problem))
        return false;
    if (start % ISA_QUADRANT_PARTITIONS != 0 || start >= ISA_PARTITIONS)
        return isa_refuse(problem, ISA_V13,
                          "%" PRIu32 " partitions starting at %" PRIu32
                          " not allowed: the start must be 0, 32, 64 or 96",
                          count, start);
    uint32_t limit = limits[start / ISA_QUADRANT_PARTITIONS];
    if (count > limit)
        return isa_refuse(problem, ISA_V13,
                          "%" PRIu32 " partitions starting at %" PRIu32 " not allowed: at most %" PRIu32 " there",
                          count, start, limit);
    return true;
}

bool isa_check_walk(const struct isa_static *fixed, int64_t first_byte, uint32_t elem_bytes, enum isa_space space,
                    enum isa_generation generation, struct isa_problem *problem)
{
    int64_t low = 0, high = 0; /* elements; at most 4 * 32768 * 65535 in size */
    for (uint32_t i = 0; i < fixed->rank; i++) {
        int64_t span = (int64_t)fixed->step_elems[i] * ((int64_t)fixed->count[i] - 1);
        if (span < 0)
            low += span;
        else
            high += span;
    }
    int64_t backed = isa_backed_bytes(generation, space);
    int64_t from = first_byte + low * elem_bytes, to = first_byte + (high + 1) * elem_bytes;
    if (from < 0 || to > backed)
        return isa_refuse(problem, ISA_V12,
                          "access leaves the partition: it touches bytes %" PRId64 "..%" PRId64 ", %s has 0..%" PRId64
                          " on %s",
                          from, to - 1, isa_space_name(space), backed - 1, isa_generation_name(generation));
    return true;
}

bool isa_check_pack(const struct isa_pack_result *pack, uint32_t rank, struct isa_problem *problem)
{
    switch (pack->error) {
    case ISA_PACK_OK: return true;
    case ISA_PACK_STEP:
        return isa_refuse(problem, ISA_V09, "step %" PRId64 " of dim %" PRIu32 " does not fit -32768..32767",
                          pack->value, pack->dim + 1);
    case ISA_PACK_COUNT:
        if (pack->value == 0)
            return isa_refuse(problem, ISA_V08, "count of dim %" PRIu32 " is 0, it must be 1..65535", pack->dim + 1);
        return isa_refuse(problem, ISA_V09, "count %" PRId64 " of dim %" PRIu32 " does not fit 1..65535", pack->value,
                          pack->dim + 1);
    default:
        return isa_refuse(problem, ISA_V10,
                          "%" PRId64 " free dimensions, slot holds %" PRIu32 " (allowed range \"1..%" PRIu32 "\")",
                          pack->value, rank, rank);
    }
}

/* Backed bytes, walk and partitions of an immediate address. */
static bool check_extent(const struct isa_static *fixed, const struct isa_check *check, struct isa_problem *problem)
{
    struct isa_addr4 addr;
    isa_addr4_decode(fixed->addr, &addr);
    uint32_t elem_bytes = check->elem_bytes ? check->elem_bytes : isa_tag_bytes(check->tag);
    uint32_t in_partition = addr.address - isa_partition_base(addr.place.space, addr.place.partition);
    if (!isa_check_walk(fixed, in_partition, elem_bytes, addr.place.space, check->generation, problem))
        return false;
    if (check->partitions == 0)
        return true;
    return check->any_partition ? isa_check_channels(check->partitions, problem)
                                : isa_check_partitions(addr.place.partition, check->partitions, problem);
}

bool isa_check_static(const struct isa_static *fixed, const struct isa_check *check, struct isa_problem *problem)
{
    if (!isa_check_address(fixed->addr, check, problem))
        return false;
    bool waived = check->generation != ISA_V2 && isa_word_waives_counts(fixed->addr);
    for (uint32_t i = 0; i < fixed->rank; i++)
        if (fixed->count[i] == 0 && !waived)
            return isa_refuse(problem, ISA_V08, "count of dim %" PRIu32 " (slot order) is 0", i);
    if (isa_marker_of(fixed->addr) != ISA_MARKER_IMMEDIATE)
        return check->partitions == 0 || isa_check_channels(check->partitions, problem);
    return check_extent(fixed, check, problem);
}

/* --- indirect and MX forms --- */

static uint32_t start_partition(uint32_t word)
{
    struct isa_addr4 addr;
    isa_addr4_decode(word & ISA_ADDRESS_BITS_MASK, &addr);
    return addr.place.partition;
}

/* The index word of a gather: immediate, SBUF, valid as uint32. */
static bool check_index(uint32_t word, enum isa_rule rule, struct isa_problem *problem)
{
    if ((word & ISA_ADDR4_MARKER_MASK) != ISA_ADDR4_INDIRECT)
        return isa_refuse(problem, rule, "index word 0x%08" PRIx32 " must have bit 29 alone of the mode bits", word);
    uint32_t address = word & ISA_ADDRESS_BITS_MASK;
    if (isa_region_of(address) != ISA_SPACE_SBUF)
        return isa_refuse(problem, rule, "index vector at 0x%" PRIx32 " must be in SBUF", address);
    if (address % 4 != 0)
        return isa_refuse(problem, rule, "index vector at 0x%" PRIx32 " is not 4-byte aligned", address);
    return true;
}

/* 3.1: unless the data is in PSUM, both start in the same one of the partitions 0, 32, 64, 96. */
static bool check_quadrants(uint32_t index, uint32_t data, enum isa_rule rule, struct isa_problem *problem)
{
    if (isa_region_of(data & ISA_ADDRESS_BITS_MASK) == ISA_SPACE_PSUM)
        return true;
    uint32_t a = start_partition(index), b = start_partition(data);
    if (a != b || a % ISA_QUADRANT_PARTITIONS != 0)
        return isa_refuse(problem, rule,
                          "index starts at partition %" PRIu32 " and data at %" PRIu32
                          ": both must start in the same one of 0, 32, 64, 96",
                          a, b);
    return true;
}

bool isa_check_indirect(const struct isa_indirect *indirect, const struct isa_check *check, struct isa_problem *problem)
{
    if (!check_index(indirect->index_addr, ISA_V15, problem))
        return false;
    if (indirect->data_addr & ISA_ADDR4_MARKER_MASK)
        return isa_refuse(problem, ISA_V15, "dynamic offset not supported for the data AP: data word 0x%08" PRIx32,
                          indirect->data_addr);
    if (!isa_check_address(indirect->data_addr, check, problem))
        return false;
    if (indirect->num_elem == 0)
        return isa_refuse(problem, ISA_V15, "number of indirect elements is 0, it must be 1..65535");
    if (indirect->reserved || indirect->padding)
        return isa_refuse(problem, ISA_V15, "reserved bytes of the indirect descriptor are not 0");
    return check_quadrants(indirect->index_addr, indirect->data_addr, ISA_V15, problem) &&
           (check->partitions == 0 || isa_check_channels(check->partitions, problem));
}

static bool check_mx_generation(const struct isa_check *check, struct isa_problem *problem)
{
    if (check->generation != ISA_V4)
        return isa_refuse(problem, ISA_V18, "MX operands are not available on %s",
                          isa_generation_name(check->generation));
    return true;
}

/* Scale rules shared by both MX forms: SBUF, quadrant base + byte, sub-partition 0, 4, 8 or 12. */
static bool check_scale(uint32_t scale, uint8_t pidx, uint32_t data, bool pidx_waived, enum isa_rule rule,
                        struct isa_problem *problem)
{
    if (scale & ISA_ADDR4_MARKER_MASK)
        return isa_refuse(problem, rule, "scale word 0x%08" PRIx32 " must be an immediate address", scale);
    if (isa_region_of(scale) != ISA_SPACE_SBUF)
        return isa_refuse(problem, rule, "scale at 0x%" PRIx32 " must be in SBUF", scale);
    uint32_t partition = start_partition(scale);
    if (partition % ISA_QUADRANT_PARTITIONS != 0)
        return isa_refuse(problem, rule,
                          "scale address is at partition %" PRIu32 ", it must name a quadrant base (0, 32, 64, 96)",
                          partition);
    if (!pidx_waived && pidx != 0 && pidx != 4 && pidx != 8 && pidx != 12)
        return isa_refuse(problem, rule, "scale starts %u partitions into its quadrant, it must be 0, 4, 8 or 12",
                          pidx);
    if (!isa_word_is_register(data) &&
        start_partition(data) / ISA_QUADRANT_PARTITIONS != partition / ISA_QUADRANT_PARTITIONS)
        return isa_refuse(problem, rule,
                          "data starts at partition %" PRIu32 ", its scale is in the quadrant at %" PRIu32,
                          start_partition(data), partition);
    return true;
}

bool isa_check_mx(const struct isa_mx *mx, const struct isa_check *check, struct isa_problem *problem)
{
    if (!check_mx_generation(check, problem))
        return false;
    bool is_register = isa_word_is_register(mx->start_addr);
    bool shaped = (mx->start_addr & ISA_ADDR4_SHAPE_REGISTER) != 0;
    if (!isa_check_address(mx->start_addr, check, problem))
        return false;
    uint32_t alignment = check->tag == TAG_FP4 ? 2 : 4;
    if (!is_register && (mx->start_addr & ISA_ADDRESS_BITS_MASK) % alignment != 0)
        return isa_refuse(problem, ISA_V16, "MX data start 0x%" PRIx32 " is not %" PRIu32 "-byte aligned",
                          mx->start_addr & ISA_ADDRESS_BITS_MASK, alignment);
    if (!is_register && isa_region_of(mx->start_addr & ISA_ADDRESS_BITS_MASK) != ISA_SPACE_SBUF)
        return isa_refuse(problem, ISA_V16, "MX data at 0x%" PRIx32 " must be in SBUF",
                          mx->start_addr & ISA_ADDRESS_BITS_MASK);
    if (!shaped && mx->num_elem == 0)
        return isa_refuse(problem, ISA_V16, "number of elements is 0, it must be 1..65535");
    if (!shaped && mx->step_elem != 1 && mx->step_elem != -1)
        return isa_refuse(problem, ISA_V16, "step %d must be 1 or -1", mx->step_elem);
    if (mx->reserved)
        return isa_refuse(problem, ISA_V16, "reserved bytes of the MX descriptor are not 0");
    return check_scale(mx->scale_addr, mx->scale_pidx, mx->start_addr, is_register, ISA_V16, problem);
}

bool isa_check_mx_indirect(const struct isa_mx_indirect *mx, const struct isa_check *check, struct isa_problem *problem)
{
    if (!check_mx_generation(check, problem) || !check_index(mx->index_addr, ISA_V17, problem))
        return false;
    if (mx->data_addr & ISA_ADDR4_MARKER_MASK)
        return isa_refuse(problem, ISA_V17, "data word 0x%08" PRIx32 " must be an immediate address", mx->data_addr);
    if (!isa_check_address(mx->data_addr, check, problem))
        return false;
    if (mx->data_addr % 4 != 0)
        return isa_refuse(problem, ISA_V17, "MX data start 0x%" PRIx32 " is not 4-byte aligned", mx->data_addr);
    if (mx->num_elem == 0)
        return isa_refuse(problem, ISA_V17, "number of indirect elements is 0, it must be 1..65535");
    if (mx->spare)
        return isa_refuse(problem, ISA_V17, "spare byte of the MX descriptor is 0x%02x, it must be 0", mx->spare);
    return check_scale(mx->scale_addr, mx->scale_pidx, mx->data_addr, false, ISA_V17, problem) &&
           check_quadrants(mx->index_addr, mx->data_addr, ISA_V17, problem);
}

bool isa_check_descriptor(const struct isa_descriptor *descriptor, const struct isa_check *check,
                          struct isa_problem *problem)
{
    switch (isa_slot_info_of(descriptor->slot)->form) {
    case ISA_FORM_ADDR4: return isa_check_address(descriptor->u.addr4, check, problem);
    case ISA_FORM_STATIC: return isa_check_static(&descriptor->u.fixed, check, problem);
    case ISA_FORM_INDIRECT: return isa_check_indirect(&descriptor->u.indirect, check, problem);
    case ISA_FORM_MX: return isa_check_mx(&descriptor->u.mx, check, problem);
    case ISA_FORM_MX_INDIRECT: return isa_check_mx_indirect(&descriptor->u.mx_indirect, check, problem);
    default: return true;
    }
}

bool isa_check_dtype(uint8_t dtype, unsigned slot_flags, bool write, enum isa_generation generation,
                     struct isa_problem *problem)
{
    if (dtype >= BIR_DTYPE_COUNT)
        return isa_refuse(problem, ISA_V20, "unknown dtype");
    bool is_packed =
        dtype == BIR_DTYPE_FLOAT4_E2M1FN_X4 || dtype == BIR_DTYPE_FLOAT8_E4M3FN_X4 || dtype == BIR_DTYPE_FLOAT8_E5M2_X4;
    if (is_packed && isa_dtype_tag(dtype, generation) == 0)
        return isa_refuse(problem, ISA_V18, "dtype %s is not available on %s", bir_dtype_name(dtype),
                          isa_generation_name(generation));
    if ((dtype == BIR_DTYPE_UINT64 || dtype == BIR_DTYPE_INT64) && !(slot_flags & ISA_SLOTF_INT64))
        return isa_refuse(problem, ISA_V20, "dtype %s not allowed for this operand", bir_dtype_name(dtype));
    if (dtype == BIR_DTYPE_FLOAT32R && !write && !(slot_flags & ISA_SLOTF_FLOAT32R_IN))
        return isa_refuse(problem, ISA_V20, "dtype float32r not allowed as an input of this instruction");
    return true;
}

#include "isa/descriptor.h"

#include "base/random.h"
#include "isa/validate.h"
#include "isa_tsv.h"

/* --- examples of the fact sheet --- */

static uint32_t parse_address(const char *text)
{
    char *end;
    uint32_t word = 0;
    if (strncmp(text, "reg:", 4) == 0) {
        ck_assert(isa_addr4_register((uint32_t)strtoul(text + 4, NULL, 0), &word));
        return word;
    }
    bool psum = strncmp(text, "psum:", 5) == 0;
    ck_assert_msg(psum || strncmp(text, "sb:", 3) == 0, "bad address %s", text);
    struct isa_place place = { .space = psum ? ISA_SPACE_PSUM : ISA_SPACE_SBUF };
    place.partition = (uint32_t)strtoul(text + (psum ? 5 : 3), &end, 0);
    if (psum)
        place.bank = (uint32_t)strtoul(end + 1, &end, 0);
    place.byte = (uint32_t)strtoul(end + 1, &end, 0);
    ck_assert(isa_addr4_immediate(&place, &word));
    return word;
}

static uint32_t parse_dims(const char *text, struct isa_dim *dims)
{
    uint32_t n = 0;
    char *end;
    for (const char *at = text; *at && *at != ' '; at = *end == ',' ? end + 1 : end) {
        /* Base 10: "0x16" is step 0, count 16. */
        dims[n].step_elems = strtol(at, &end, 10);
        ck_assert_int_eq(*end, 'x');
        dims[n++].count = strtol(end + 1, &end, 10);
    }
    return n;
}

/* Text after "key=", or NULL. */
static const char *find_key(const char *inputs, const char *key)
{
    size_t len = strlen(key);
    for (const char *at = inputs; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (strncmp(at, key, len) == 0 && at[len] == '=')
            return at + len + 1;
    return NULL;
}

static uint32_t key_address(const char *inputs, const char *key)
{
    const char *text = find_key(inputs, key);
    return text ? parse_address(text) : 0;
}

static long key_number(const char *inputs, const char *key)
{
    const char *text = find_key(inputs, key);
    return text ? strtol(text, NULL, 0) : 0;
}

static void build(enum isa_slot slot, const char *inputs, struct isa_descriptor *d)
{
    struct isa_dim dims[8];
    memset(d, 0, sizeof *d);
    d->slot = slot;
    switch (isa_slot_info_of(slot)->form) {
    case ISA_FORM_STATIC: {
        uint32_t n = parse_dims(find_key(inputs, "dims"), dims);
        struct isa_pack_result pack = isa_encode_ap(dims, n, isa_slot_info_of(slot)->rank, false, &d->u.fixed);
        ck_assert_int_eq(pack.error, ISA_PACK_OK);
        d->u.fixed.addr = key_address(inputs, "addr");
        break;
    }
    case ISA_FORM_INDIRECT:
        d->u.indirect.index_addr = key_address(inputs, "index") | ISA_ADDR4_INDIRECT;
        d->u.indirect.data_addr = key_address(inputs, "data");
        d->u.indirect.num_elem = (uint16_t)key_number(inputs, "num");
        break;
    case ISA_FORM_MX:
        d->u.mx.start_addr = key_address(inputs, "data");
        d->u.mx.scale_addr = key_address(inputs, "scale");
        d->u.mx.num_elem = (uint16_t)key_number(inputs, "num");
        d->u.mx.step_elem = (int8_t)key_number(inputs, "step");
        d->u.mx.scale_pidx = (uint8_t)key_number(inputs, "pidx");
        break;
    default:
        d->u.mx_indirect.index_addr = key_address(inputs, "index") | ISA_ADDR4_INDIRECT;
        d->u.mx_indirect.data_addr = key_address(inputs, "data");
        d->u.mx_indirect.scale_addr = key_address(inputs, "scale");
        d->u.mx_indirect.num_elem = (uint16_t)key_number(inputs, "num");
        d->u.mx_indirect.scale_pidx = (uint8_t)key_number(inputs, "pidx");
        break;
    }
}

START_TEST(examples_of_the_sheet_encode_and_decode)
{
    struct tsv tsv;
    tsv_open(&tsv, "isa/examples.tsv");
    while (tsv_next(&tsv)) {
        uint8_t expected[20], bytes[20], again[20];
        struct isa_descriptor d, back;
        size_t n = tsv_hex(tsv.column[4], expected, sizeof expected);
        enum isa_slot slot = isa_slot_from_name(tsv.column[1], strlen(tsv.column[1]));
        ck_assert_int_ne(slot, ISA_SLOT_NONE);
        build(slot, tsv.column[3], &d);
        ck_assert_uint_eq(isa_encode_raw(&d, bytes), n);
        ck_assert_msg(memcmp(bytes, expected, n) == 0, "%s differs", tsv.column[0]);
        ck_assert(isa_descriptor_decode(slot, tsv_generation(tsv.column[2]), bytes, n, &back));
        ck_assert_int_eq(back.slot, slot);
        ck_assert_uint_eq(isa_encode_raw(&back, again), n);
        ck_assert_mem_eq(again, expected, n);
    }
    ck_assert_int_ge(tsv.rows, 16);
    tsv_close(&tsv);
}
END_TEST

START_TEST(words_that_rules_refuse)
{
    struct tsv tsv;
    tsv_open(&tsv, "isa/rejects.tsv");
    while (tsv_next(&tsv)) {
        const char *role = tsv.column[4];
        bool matmul = strcmp(role, "matmul") == 0;
        struct isa_check check = { .generation = tsv_generation(tsv.column[1]),
                                   .tag = (uint8_t)strtoul(tsv.column[3], NULL, 0),
                                   .write = matmul || strcmp(role, "write") == 0,
                                   .psum_ok = true,
                                   .sbuf_ok = !matmul,
                                   .matmul_dst = matmul };
        struct isa_problem problem = { 0 };
        bool ok = isa_check_address((uint32_t)strtoul(tsv.column[2], NULL, 0), &check, &problem);
        const char *rule = ok ? "ok" : isa_rule_name(problem.rule);
        ck_assert_msg(strcmp(rule, tsv.column[5]) == 0, "%s: %s, expected %s", tsv.column[0], rule, tsv.column[5]);
        ck_assert(ok || strlen(problem.message) > 10);
    }
    ck_assert_int_ge(tsv.rows, 20);
    tsv_close(&tsv);
}
END_TEST

/* --- an independent packer: bits of the tables of descriptors.md, written down again --- */

struct layout_bits {
    enum isa_slot slot;
    int bits;
    int step_at[4], count_at[4];
};
static const struct layout_bits layouts[] = {
    { ISA_SLOT_TENSOR1D, 64, { 32 }, { 48 } },
    { ISA_SLOT_TENSOR2D, 96, { 32, 48 }, { 64, 80 } },
    { ISA_SLOT_TENSOR3D, 128, { 32, 48, 64 }, { 80, 96, 112 } },
    { ISA_SLOT_TENSOR4D, 160, { 32, 48, 64, 80 }, { 96, 112, 128, 144 } },
    { ISA_SLOT_MEM_PATTERN2D, 96, { 32, 48 }, { 64, 80 } },
    { ISA_SLOT_MEM_PATTERN3D, 128, { 32, 48, 64 }, { 80, 96, 112 } },
    { ISA_SLOT_MEM_PATTERN4D, 160, { 32, 48, 64, 80 }, { 96, 112, 128, 144 } },
};
#define N_LAYOUTS (sizeof layouts / sizeof layouts[0])

static void put_bits(uint8_t *bytes, int at, int width, uint64_t value)
{
    for (int i = 0; i < width; i++)
        if (value >> i & 1)
            bytes[(at + i) / 8] |= (uint8_t)(1u << ((at + i) % 8));
}

/* Reference for encode_ap: the free dimensions that hold more than one element, last first, then (1, 1). */
static void reference_pack(const struct layout_bits *layout, int rank, uint32_t addr, const struct isa_dim *dims,
                           uint32_t n, uint8_t *bytes)
{
    int slot = 0;
    memset(bytes, 0, 20);
    put_bits(bytes, 0, 32, addr);
    for (uint32_t i = n; i > 0; i--) {
        if (dims[i - 1].count == 1)
            continue;
        put_bits(bytes, layout->step_at[slot], 16, (uint64_t)dims[i - 1].step_elems & 0xFFFF);
        put_bits(bytes, layout->count_at[slot++], 16, (uint64_t)dims[i - 1].count);
    }
    for (; slot < rank; slot++) {
        put_bits(bytes, layout->step_at[slot], 16, 1);
        put_bits(bytes, layout->count_at[slot], 16, 1);
    }
}

START_TEST(packing_agrees_with_the_bit_tables)
{
    uint64_t seed = 0x15A;
    const int rounds = getenv("ROOST_TEST_ALL") ? 1000000 : 100000;
    printf("random operands compared with the bit tables: %d\n", rounds);
    for (int round = 0; round < rounds; round++) {
        const struct layout_bits *layout = &layouts[bir_random_below(&seed, N_LAYOUTS)];
        const struct isa_slot_info *info = isa_slot_info_of(layout->slot);
        uint32_t n = (uint32_t)bir_random_below(&seed, 7), used = 0;
        struct isa_dim dims[8];
        for (uint32_t i = 0; i < n; i++) {
            dims[i].step_elems = (int64_t)bir_random_below(&seed, 65536) - 32768;
            dims[i].count = bir_random_below(&seed, 3) == 0 ? 1 : 1 + (int64_t)bir_random_below(&seed, 65535);
            used += dims[i].count != 1;
        }
        struct isa_descriptor d = { .slot = layout->slot }, back;
        struct isa_pack_result pack = isa_encode_ap(dims, n, info->rank, false, &d.u.fixed);
        if (used > info->rank) {
            ck_assert_int_eq(pack.error, ISA_PACK_RANK);
            ck_assert_int_eq(pack.value, used);
            continue;
        }
        ck_assert_int_eq(pack.error, ISA_PACK_OK);
        d.u.fixed.addr = (uint32_t)bir_random_next(&seed) & 0xDFFFFFFF; /* no indirect mark */
        uint8_t expected[20], bytes[20], again[20];
        reference_pack(layout, info->rank, d.u.fixed.addr, dims, n, expected);
        ck_assert_uint_eq(isa_encode_raw(&d, bytes) * 8, (unsigned)layout->bits);
        ck_assert_mem_eq(bytes, expected, 20);
        ck_assert(isa_descriptor_decode(layout->slot, ISA_V4, bytes, info->size_bytes, &back));
        ck_assert_uint_eq(isa_encode_raw(&back, again), info->size_bytes);
        ck_assert_mem_eq(again, bytes, 20);
    }
}
END_TEST

START_TEST(any_bytes_survive_decode_and_encode)
{
    uint64_t seed = 99;
    const int rounds = getenv("ROOST_TEST_ALL") ? 500000 : 50000;
    printf("random descriptors decoded and encoded again: %d\n", rounds);
    for (int round = 0; round < rounds; round++) {
        enum isa_slot slot = (enum isa_slot)(1 + bir_random_below(&seed, ISA_SLOTS - 1));
        enum isa_generation generation = (enum isa_generation)bir_random_below(&seed, ISA_GENERATIONS);
        size_t n = isa_slot_info_of(slot)->size_bytes;
        uint8_t bytes[20], again[20];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)bir_random_next(&seed);
        struct isa_descriptor d;
        ck_assert(isa_descriptor_decode(slot, generation, bytes, n, &d));
        ck_assert_uint_eq(isa_encode_raw(&d, again), n);
        ck_assert_mem_eq(again, bytes, n);
        ck_assert(!isa_descriptor_decode(slot, generation, bytes, n + 1, &d));
        ck_assert(!isa_descriptor_decode(slot, generation, bytes, n - 1, &d));
    }
}
END_TEST

START_TEST(pattern_slots_are_unions_on_v4_alone)
{
    static const struct {
        enum isa_slot slot, indirect;
    } rows[] = {
        { ISA_SLOT_MEM_PATTERN2D, ISA_SLOT_INDIRECT12B },
        { ISA_SLOT_MEM_PATTERN3D, ISA_SLOT_INDIRECT16B },
        { ISA_SLOT_MEM_PATTERN4D, ISA_SLOT_INDIRECT20B },
        { ISA_SLOT_TENSOR3D, ISA_SLOT_TENSOR3D },
    };
    uint8_t bytes[20] = { 0, 4, 0x80, 0x20, 0, 0x20, 0x80, 0, 0x60 };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct isa_descriptor d;
        size_t n = isa_slot_info_of(rows[i].slot)->size_bytes;
        ck_assert(isa_descriptor_decode(rows[i].slot, ISA_V4, bytes, n, &d));
        ck_assert_int_eq(d.slot, rows[i].indirect);
        ck_assert(isa_descriptor_decode(rows[i].slot, ISA_V3, bytes, n, &d));
        ck_assert_int_eq(d.slot, rows[i].slot);
    }
}
END_TEST

START_TEST(limits_of_steps_and_counts)
{
    static const struct {
        int64_t step, count;
        enum isa_pack_error error;
    } rows[] = {
        { 32767, 2, ISA_PACK_OK },       { -32768, 2, ISA_PACK_OK },       { 32768, 2, ISA_PACK_STEP },
        { -32769, 2, ISA_PACK_STEP },    { 65541, 2, ISA_PACK_STEP },      { 40000, 2, ISA_PACK_STEP },
        { 1, 65535, ISA_PACK_OK },       { 1, 65536, ISA_PACK_COUNT },     { 1, 0, ISA_PACK_COUNT },
        { 1, -5, ISA_PACK_COUNT },       { 40000, 1, ISA_PACK_OK },        { INT64_MAX, 1, ISA_PACK_OK },
        { INT64_MIN, 2, ISA_PACK_STEP }, { 0, INT64_MAX, ISA_PACK_COUNT }, { 0, 2, ISA_PACK_OK },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct isa_dim dims[2] = { { rows[i].step, rows[i].count }, { 1, 3 } };
        struct isa_static fixed;
        struct isa_pack_result pack = isa_encode_ap(dims, 2, 3, false, &fixed);
        ck_assert_int_eq(pack.error, rows[i].error);
        struct isa_problem problem;
        bool ok = isa_check_pack(&pack, 3, &problem);
        ck_assert_int_eq(ok, rows[i].error == ISA_PACK_OK);
        if (!ok)
            ck_assert_int_eq(problem.rule, rows[i].count == 0 ? ISA_V08 : ISA_V09);
    }
    struct isa_dim four[4] = { { 64, 2 }, { 16, 2 }, { 4, 2 }, { 1, 2 } };
    struct isa_static fixed;
    struct isa_problem problem;
    struct isa_pack_result pack = isa_encode_ap(four, 4, 3, false, &fixed);
    ck_assert(!isa_check_pack(&pack, 3, &problem));
    ck_assert_int_eq(problem.rule, ISA_V10);
}
END_TEST

START_TEST(reductions_keep_inner_unit_dimensions)
{
    struct isa_dim dims[4] = { { 9, 1 }, { 64, 4 }, { 77, 1 }, { 1, 16 } };
    struct isa_static fixed;
    ck_assert_int_eq(isa_encode_ap(dims, 4, 4, true, &fixed).error, ISA_PACK_OK);
    static const uint16_t counts[4] = { 16, 1, 4, 1 };
    static const int16_t steps[4] = { 1, 1, 64, 1 };
    ck_assert_mem_eq(fixed.count, counts, sizeof counts);
    ck_assert_mem_eq(fixed.step_elems, steps, sizeof steps);
}
END_TEST

START_TEST(start_partitions_and_their_widths)
{
    for (uint32_t start = 0; start < 140; start++) {
        for (uint32_t count = 0; count < 140; count++) {
            struct isa_problem problem;
            bool legal = count >= 1 && ((start == 0 && count <= 128) || (start == 32 && count <= 32) ||
                                        (start == 64 && count <= 64) || (start == 96 && count <= 32));
            ck_assert_int_eq(isa_check_partitions(start, count, &problem), legal);
            if (!legal)
                ck_assert_int_eq(problem.rule, count < 1 || count > 128 ? ISA_V14 : ISA_V13);
        }
    }
}
END_TEST

/* Every byte an access touches, one by one, against the rule's two extremes. */
START_TEST(walk_bounds_agree_with_a_walk)
{
    uint64_t seed = 5;
    for (int round = 0; round < 3000; round++) {
        struct isa_static fixed = { .rank = 3 };
        for (int i = 0; i < 3; i++) {
            fixed.step_elems[i] = (int16_t)((int64_t)bir_random_below(&seed, 401) - 200);
            fixed.count[i] = (uint16_t)(1 + bir_random_below(&seed, 6));
        }
        const uint32_t es = 1u << bir_random_below(&seed, 3);
        int64_t start = (int64_t)bir_random_below(&seed, 16384), lowest = INT64_MAX, highest = INT64_MIN;
        for (int x = 0; x < fixed.count[0]; x++)
            for (int y = 0; y < fixed.count[1]; y++)
                for (int z = 0; z < fixed.count[2]; z++) {
                    int64_t at = start + (int64_t)es * (x * fixed.step_elems[0] + y * fixed.step_elems[1] +
                                                        z * fixed.step_elems[2]);
                    lowest = at < lowest ? at : lowest;
                    highest = at + es - 1 > highest ? at + es - 1 : highest;
                }
        struct isa_problem problem;
        ck_assert_int_eq(isa_check_walk(&fixed, start, es, ISA_SPACE_PSUM, ISA_V3, &problem),
                         lowest >= 0 && highest < 16384);
    }
}
END_TEST

START_TEST(gather_and_mx_rules)
{
    struct isa_check check = { .generation = ISA_V4, .tag = 0x0E, .psum_ok = false, .sbuf_ok = true };
    struct isa_problem problem;
    const struct isa_mx good = { 0x801000, 0x800080, 512, 1, 4, 0 };
    struct isa_mx mx = good;
    ck_assert(isa_check_mx(&mx, &check, &problem));
    mx.scale_pidx = 5; /* scale base partition 37 */
    ck_assert(!isa_check_mx(&mx, &check, &problem));
    ck_assert_int_eq(problem.rule, ISA_V16);
    mx = good;
    mx.num_elem = 0;
    ck_assert(!isa_check_mx(&mx, &check, &problem));
    mx = good;
    mx.step_elem = 2;
    ck_assert(!isa_check_mx(&mx, &check, &problem));
    mx = good;
    mx.start_addr += 2; /* 2-byte aligned is enough for FP4 alone */
    ck_assert(!isa_check_mx(&mx, &check, &problem));
    check.tag = 0x10;
    ck_assert(isa_check_mx(&mx, &check, &problem));
    check.tag = 0x0E;
    mx = good;
    mx.scale_addr = 0x80; /* quadrant 0, data in quadrant 1 */
    ck_assert(!isa_check_mx(&mx, &check, &problem));
    check.generation = ISA_V3;
    ck_assert(!isa_check_mx(&good, &check, &problem));
    ck_assert_int_eq(problem.rule, ISA_V18);
    check.generation = ISA_V4;

    struct isa_indirect gather = { 0x20800400, 0x802000, 96, 0, 0 };
    check.tag = 0x0A;
    ck_assert(isa_check_indirect(&gather, &check, &problem));
    gather.index_addr = 0x20000400; /* index at partition 0, data at 32 */
    ck_assert(!isa_check_indirect(&gather, &check, &problem));
    ck_assert_int_eq(problem.rule, ISA_V15);
    gather.index_addr = 0x20800402;
    ck_assert(!isa_check_indirect(&gather, &check, &problem));
    gather = (struct isa_indirect){ 0x20800400, 0x80000005, 96, 0, 0 };
    ck_assert(!isa_check_indirect(&gather, &check, &problem));
    gather = (struct isa_indirect){ 0x20800400, 0x802000, 0, 0, 0 };
    ck_assert(!isa_check_indirect(&gather, &check, &problem));
    gather = (struct isa_indirect){ 0x20800400, 0x802000, 9, 0, 1 };
    ck_assert(!isa_check_indirect(&gather, &check, &problem));

    struct isa_mx_indirect both = { 0x20000100, 0x4000, 0x20, 64, 0, 8 };
    check.tag = 0x0E;
    ck_assert(isa_check_mx_indirect(&both, &check, &problem));
    both.scale_pidx = 3;
    ck_assert(!isa_check_mx_indirect(&both, &check, &problem));
    ck_assert_int_eq(problem.rule, ISA_V17);
}
END_TEST

START_TEST(zero_counts_are_refused_unless_a_shape_register_waives_them)
{
    struct isa_check check = { .generation = ISA_V3, .tag = 0x0A, .psum_ok = true, .sbuf_ok = true };
    struct isa_static fixed = { .addr = 0x1000, .rank = 2, .step_elems = { 1, 1 }, .count = { 4, 0 } };
    struct isa_problem problem;
    ck_assert(!isa_check_static(&fixed, &check, &problem));
    ck_assert_int_eq(problem.rule, ISA_V08);
    fixed.addr = 0x40001000;
    ck_assert(isa_check_static(&fixed, &check, &problem));
}
END_TEST

START_TEST(every_rule_has_its_own_code_and_a_hint)
{
    for (int a = ISA_V01; a < ISA_RULES; a++) {
        const struct isa_rule_info *info = isa_rule_info_of((enum isa_rule)a);
        ck_assert(strncmp(info->code, "isa-", 4) == 0);
        ck_assert_ptr_nonnull(info->hint);
        for (int b = ISA_V01; b < a; b++)
            ck_assert_str_ne(info->code, isa_rule_info_of((enum isa_rule)b)->code);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        examples_of_the_sheet_encode_and_decode,
        words_that_rules_refuse,
        packing_agrees_with_the_bit_tables,
        any_bytes_survive_decode_and_encode,
        pattern_slots_are_unions_on_v4_alone,
        limits_of_steps_and_counts,
        reductions_keep_inner_unit_dimensions,
        start_partitions_and_their_widths,
        walk_bounds_agree_with_a_walk,
        gather_and_mx_rules,
        zero_counts_are_refused_unless_a_shape_register_waives_them,
        every_rule_has_its_own_code_and_a_hint,
    };
    return UNIT_RUN("isa_descriptor", tests);
}

#include "isa/addr4.h"

#include "unit.h"

/* The rows of descriptors.md 1.1, by the high three bits of byte 3. */
static const struct {
    uint32_t byte3;
    enum isa_marker marker;
    bool is_register, is_indirect, waives;
} marker_rows[] = {
    { 0x00, ISA_MARKER_IMMEDIATE, false, false, false },    { 0x20, ISA_MARKER_INDIRECT, false, true, false },
    { 0x40, ISA_MARKER_SHAPE, false, false, true },         { 0x60, ISA_MARKER_UNKNOWN, false, false, false },
    { 0x80, ISA_MARKER_REGISTER, true, false, false },      { 0xA0, ISA_MARKER_INDIRECT_REGISTER, false, true, false },
    { 0xC0, ISA_MARKER_REGISTER_SHAPE, true, false, true }, { 0xE0, ISA_MARKER_UNKNOWN, false, false, false },
};

START_TEST(every_byte3_classifies_by_its_high_bits)
{
    for (uint32_t byte3 = 0; byte3 < 256; byte3++) {
        for (uint32_t low = 0; low < 0x1000000; low += 0x10101) {
            uint32_t word = byte3 << 24 | low;
            const size_t row = byte3 >> 5;
            ck_assert_uint_eq(isa_marker_of(word), marker_rows[row].marker);
            ck_assert_int_eq(isa_word_is_register(word), (byte3 & 0xA0) == 0x80);
            ck_assert_int_eq(isa_word_is_indirect(word), (byte3 & 0x60) == 0x20);
            ck_assert_int_eq(isa_word_waives_counts(word), (byte3 & 0x70) == 0x40);
        }
        if ((byte3 & 0x1F) == 0) {
            ck_assert_int_eq(isa_word_is_register(byte3 << 24), marker_rows[byte3 >> 5].is_register);
            ck_assert_int_eq(isa_word_waives_counts(byte3 << 24), marker_rows[byte3 >> 5].waives);
        }
        ck_assert_int_eq(isa_word_is_indirect(byte3 << 24), marker_rows[byte3 >> 5].is_indirect);
    }
}
END_TEST

START_TEST(sbuf_addresses_are_partition_shifted_by_18)
{
    static const uint32_t bytes[] = { 0, 1, 0x1000, 0x2FFFF, 0x30000, 0x37FFF, 0x38000, 0x3FFFF };
    for (uint32_t p = 0; p < 128; p++) {
        for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
            struct isa_place place = { ISA_SPACE_SBUF, p, 0, bytes[i] };
            struct isa_addr4 back;
            uint32_t word = 0;
            ck_assert(isa_addr4_immediate(&place, &word));
            ck_assert_uint_eq(word, (p << 18) | bytes[i]);
            isa_addr4_decode(word, &back);
            ck_assert_uint_eq(back.place.space, ISA_SPACE_SBUF);
            ck_assert_uint_eq(back.place.partition, p);
            ck_assert_uint_eq(back.place.byte, bytes[i]);
            ck_assert(!back.is_register);
        }
    }
}
END_TEST

START_TEST(psum_addresses_cover_every_bank)
{
    for (uint32_t p = 0; p < 128; p++) {
        for (uint32_t bank = 0; bank < 8; bank++) {
            for (uint32_t byte = 0; byte < 0x800; byte += 0x1FF) {
                struct isa_place place = { ISA_SPACE_PSUM, p, bank, byte };
                struct isa_addr4 back;
                uint32_t word = 0;
                ck_assert(isa_addr4_immediate(&place, &word));
                ck_assert_uint_eq(word, 0x2000000 | p << 15 | bank << 11 | byte);
                isa_addr4_decode(word, &back);
                ck_assert_uint_eq(back.place.space, ISA_SPACE_PSUM);
                ck_assert_uint_eq(back.place.partition, p);
                ck_assert_uint_eq(back.place.bank, bank);
                ck_assert_uint_eq(back.place.byte, byte);
            }
        }
    }
}
END_TEST

START_TEST(places_outside_the_arithmetic_are_refused)
{
    static const struct isa_place bad[] = {
        { ISA_SPACE_SBUF, 128, 0, 0 }, { ISA_SPACE_SBUF, 0, 0, 0x40000 },    { ISA_SPACE_SBUF, 0, 1, 0 },
        { ISA_SPACE_PSUM, 128, 0, 0 }, { ISA_SPACE_PSUM, 0, 8, 0 },          { ISA_SPACE_PSUM, 0, 0, 0x800 },
        { ISA_SPACE_NONE, 0, 0, 0 },   { ISA_SPACE_SBUF, UINT32_MAX, 0, 0 },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t word = 77;
        ck_assert(!isa_addr4_immediate(&bad[i], &word));
        ck_assert_uint_eq(word, 77);
    }
}
END_TEST

START_TEST(quadrant_bases_are_the_documented_ones)
{
    static const uint32_t sbuf[] = { 0x0, 0x800000, 0x1000000, 0x1800000 };
    static const uint32_t psum[] = { 0x2000000, 0x2100000, 0x2200000, 0x2300000 };
    for (uint32_t q = 0; q < 4; q++) {
        ck_assert_uint_eq(isa_partition_base(ISA_SPACE_SBUF, q * 32), sbuf[q]);
        ck_assert_uint_eq(isa_partition_base(ISA_SPACE_PSUM, q * 32), psum[q]);
    }
}
END_TEST

START_TEST(windows_end_where_they_should)
{
    static const struct {
        uint32_t address;
        enum isa_space space;
    } rows[] = {
        { 0, ISA_SPACE_SBUF },          { 0x1FFFFFF, ISA_SPACE_SBUF }, { 0x2000000, ISA_SPACE_PSUM },
        { 0x23FBFFF, ISA_SPACE_PSUM },  { 0x23FFFFF, ISA_SPACE_PSUM }, { 0x2400000, ISA_SPACE_NONE },
        { 0x1FFFFFFF, ISA_SPACE_NONE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct isa_addr4 addr;
        isa_addr4_decode(rows[i].address, &addr);
        ck_assert_uint_eq(addr.place.space, rows[i].space);
    }
}
END_TEST

START_TEST(backed_bytes_depend_on_the_generation)
{
    static const uint32_t sbuf[ISA_GENERATIONS] = { 192 * 1024, 224 * 1024, 256 * 1024 };
    for (int g = 0; g < ISA_GENERATIONS; g++) {
        ck_assert_uint_eq(isa_backed_bytes((enum isa_generation)g, ISA_SPACE_SBUF), sbuf[g]);
        ck_assert_uint_eq(isa_backed_bytes((enum isa_generation)g, ISA_SPACE_PSUM), 16 * 1024);
    }
}
END_TEST

START_TEST(register_words_have_the_id_in_byte_zero)
{
    for (uint32_t id = 0; id < 300; id++) {
        uint32_t word = 0;
        ck_assert_int_eq(isa_addr4_register(id, &word), id < 64);
        ck_assert_uint_eq(word, id < 64 ? 0x80000000u + id : 0);
    }
    struct isa_addr4 addr;
    isa_addr4_decode(0xC0123411, &addr);
    ck_assert(addr.is_register);
    ck_assert_uint_eq(addr.register_id, 0x11);
    ck_assert_uint_eq(addr.reserved, 0x1234);
}
END_TEST

START_TEST(generations_are_those_with_an_encoder)
{
    enum isa_generation g;
    ck_assert(isa_generation_of(BIR_ARCH_SUNDA, &g) && g == ISA_V2);
    ck_assert(isa_generation_of(BIR_ARCH_GEN3, &g) && g == ISA_V3);
    ck_assert(isa_generation_of(BIR_ARCH_CORE_V4, &g) && g == ISA_V4);
    ck_assert(!isa_generation_of(BIR_ARCH_CORE_V5, &g));
    ck_assert(!isa_generation_of(BIR_ARCH_INFERENTIA, &g));
    ck_assert(!isa_generation_of(BIR_ARCH_NONE, &g));
}
END_TEST

START_TEST(little_endian_access_is_bytewise)
{
    const uint8_t bytes[9] = { 0xFF, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x88 };
    uint8_t out[9] = { 0 };
    ck_assert_uint_eq(isa_load_le(bytes + 1, 1), 0x01);
    ck_assert_uint_eq(isa_load_le(bytes + 1, 2), 0x0201);
    ck_assert_uint_eq(isa_load_le(bytes + 1, 4), 0x04030201);
    ck_assert_uint_eq(isa_load_le(bytes + 1, 8), UINT64_C(0x8807060504030201));
    isa_store_le(out + 1, 8, UINT64_C(0x8807060504030201));
    ck_assert_mem_eq(out + 1, bytes + 1, 8);
    ck_assert_uint_eq(out[0], 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_byte3_classifies_by_its_high_bits, sbuf_addresses_are_partition_shifted_by_18,
        psum_addresses_cover_every_bank,         places_outside_the_arithmetic_are_refused,
        quadrant_bases_are_the_documented_ones,  windows_end_where_they_should,
        backed_bytes_depend_on_the_generation,   register_words_have_the_id_in_byte_zero,
        generations_are_those_with_an_encoder,   little_endian_access_is_bytewise,
    };
    return UNIT_RUN("isa_addr4", tests);
}

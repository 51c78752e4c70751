#include "isa/decode.h"

#include <jansson.h>

#include "base/random.h"
#include "isa/layout.h"
#include "isa_tsv.h"

static struct bir_arena arena;
static struct bir_diags diags;
static struct bir_buf out;

static void setup(void)
{
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    bir_buf_init(&out, 0);
}

static void teardown(void)
{
    bir_buf_deinit(&out);
    bir_arena_deinit(&arena);
}

static json_t *decode_json(const uint8_t *bytes, size_t len, enum bir_arch arch, enum isa_slot slot)
{
    struct isa_decode_options options = { .arch = arch, .slot = slot, .json = true };
    out.len = 0;
    ck_assert_int_eq(isa_decode(bytes, len, &options, &diags, &out), BIR_OK);
    json_t *root = json_loadb(out.data, out.len, 0, NULL);
    ck_assert_ptr_nonnull(root);
    return root;
}

START_TEST(static_descriptor_as_json)
{
    setup();
    uint8_t bytes[20];
    size_t n = tsv_hex("00028000010040000002400008000400", bytes, sizeof bytes); /* E2 */
    json_t *root = decode_json(bytes, n, BIR_ARCH_GEN3, ISA_SLOT_TENSOR3D);
    const char *form, *mode, *space, *word;
    int partition, byte, s0, s1, s2, c0, c1, c2, canonical;
    ck_assert_int_eq(json_unpack(root, "{s:s,s:{s:s,s:s,s:s,s:i,s:i},s:[iii],s:[iii],s:b}", "form", &form, "addr",
                                 "word", &word, "mode", &mode, "space", &space, "partition", &partition, "byte", &byte,
                                 "step", &s0, &s1, &s2, "count", &c0, &c1, &c2, "canonical", &canonical),
                     0);
    ck_assert_str_eq(form, "TENSOR3D");
    ck_assert_str_eq(word, "0x00800200");
    ck_assert_str_eq(mode, "immediate");
    ck_assert_str_eq(space, "SBUF");
    ck_assert(partition == 32 && byte == 0x200 && s0 == 1 && s1 == 64 && s2 == 512 && c0 == 64 && c1 == 8 && c2 == 4 &&
              canonical);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "problems")), 0);
    json_decref(root);
    teardown();
}
END_TEST

START_TEST(mx_and_gather_fields_have_the_names_of_the_sheet)
{
    setup();
    uint8_t bytes[20];
    int num, step, pidx;
    size_t n = tsv_hex("00108000800080000002010400000000", bytes, sizeof bytes); /* E14 */
    json_t *root = decode_json(bytes, n, BIR_ARCH_CORE_V4, ISA_SLOT_MXMEM_PATTERN1D);
    ck_assert_int_eq(json_unpack(root, "{s:{s:i},s:{s:i},s:i,s:i,s:i}", "start_addr", "partition", &pidx, "scale_addr",
                                 "byte", &step, "num_elem", &num, "step_elem", &step, "scale_pidx", &pidx),
                     0);
    ck_assert(num == 512 && step == 1 && pidx == 4);
    json_decref(root);
    n = tsv_hex("0004002000200000000100000000000000000000", bytes, sizeof bytes); /* E13 */
    root = decode_json(bytes, n, BIR_ARCH_CORE_V4, ISA_SLOT_MEM_PATTERN4D);
    ck_assert_str_eq(json_string_value(json_object_get(root, "form")), "INDIRECT20B");
    ck_assert_int_eq(json_integer_value(json_object_get(root, "num_elem")), 256);
    json_decref(root);
    teardown();
}
END_TEST

START_TEST(words_of_the_sheet_decode_without_problems)
{
    struct tsv tsv;
    tsv_open(&tsv, "isa/words.tsv");
    while (tsv_next(&tsv)) {
        uint8_t bytes[64];
        struct isa_decoded_word word;
        enum isa_generation generation;
        enum bir_arch arch = bir_arch_from_name(tsv.column[2], strlen(tsv.column[2]));
        ck_assert(isa_generation_of(arch, &generation));
        ck_assert_uint_eq(tsv_hex(tsv.column[4], bytes, sizeof bytes), 64);
        isa_decode_word(bytes, generation, &word);
        ck_assert_ptr_nonnull(word.layout);
        ck_assert_msg(word.n_problems == 0, "%s %s: %s", tsv.column[0], tsv.column[1], word.problems[0].message);
    }
    ck_assert_int_ge(tsv.rows, 5);
    tsv_close(&tsv);
}
END_TEST

START_TEST(tensor_tensor_word_as_json)
{
    setup();
    uint8_t bytes[64];
    tsv_hex("41100000000000000000000000aa0a0480"
            "0010000001000100010000020100010000180002010001000100000201000100"
            "003000000100010001000002010001",
            bytes, sizeof bytes); /* shifted by one byte: everything is still printed */
    json_t *root = decode_json(bytes, 64, BIR_ARCH_GEN3, ISA_SLOT_NONE);
    ck_assert_uint_gt(json_array_size(json_object_get(root, "problems")), 0);
    json_decref(root);
    tsv_hex("411000000000000000000000aa0a0480"
            "00100000010001000100000201000100"
            "00180002010001000100000201000100"
            "00300000010001000100000201000100",
            bytes, sizeof bytes); /* W1 */
    root = decode_json(bytes, 64, BIR_ARCH_GEN3, ISA_SLOT_NONE);
    const char *opcode, *in0, *op;
    int channels, bank;
    ck_assert_int_eq(json_unpack(root, "{s:s,s:s,s:s,s:i,s:{s:{s:i}}}", "opcode_name", &opcode, "in0_dtype_name", &in0,
                                 "op_name", &op, "num_active_channels", &channels, "src1", "addr", "bank", &bank),
                     0);
    ck_assert_str_eq(opcode, "TensorTensor");
    ck_assert_str_eq(in0, "float32");
    ck_assert_str_eq(op, "add");
    ck_assert(channels == 128 && bank == 3);
    json_decref(root);
    teardown();
}
END_TEST

START_TEST(malformed_headers_and_reserved_bytes_are_named)
{
    uint8_t bytes[64] = { 0xA4, 0x10 };
    struct isa_decoded_word word;
    isa_decode_word(bytes, ISA_V3, &word);
    ck_assert_uint_eq(word.n_problems, 0);
    bytes[40] = 9;
    isa_decode_word(bytes, ISA_V3, &word);
    ck_assert_uint_eq(word.n_problems, 1);
    ck_assert_int_eq(word.problems[0].rule, ISA_V19);
    ck_assert_ptr_nonnull(strstr(word.problems[0].message, "@40"));
    bytes[40] = 0;
    bytes[1] = 0x11;
    isa_decode_word(bytes, ISA_V3, &word);
    ck_assert_int_eq(word.problems[0].rule, ISA_V19);
    bytes[0] = 0xE3; /* QuantizeMx may saturate */
    isa_decode_word(bytes, ISA_V4, &word);
    for (uint32_t i = 0; i < word.n_problems; i++)
        ck_assert_ptr_null(strstr(word.problems[i].message, "inst_word_len"));
    bytes[0] = 0x05;
    isa_decode_word(bytes, ISA_V4, &word);
    ck_assert_ptr_null(word.layout);
    ck_assert_int_eq(word.problems[0].rule, ISA_V19);
}
END_TEST

START_TEST(no_layout_overlaps_itself)
{
    for (int g = 0; g < ISA_GENERATIONS; g++) {
        for (unsigned opcode = 0; opcode < 256; opcode++) {
            const struct isa_word_layout *layout = isa_layout_of((uint8_t)opcode, (enum isa_generation)g);
            if (!layout)
                continue;
            bool used[64] = { false };
            memset(used, 1, 12 * sizeof used[0]);
            uint32_t n = 0;
            for (const struct isa_word_field *f = layout->fields; f->kind != ISA_FIELD_END; f++, n++) {
                unsigned width =
                    f->kind == ISA_FIELD_SLOT ? isa_slot_info_of((enum isa_slot)f->slot[g])->size_bytes : f->width;
                ck_assert_uint_gt(width, 0);
                ck_assert_uint_le(f->offset + width, 64);
                for (unsigned i = 0; i < width; i++) {
                    ck_assert_msg(!used[f->offset + i], "%s: %s overlaps at %u", layout->name, f->name, f->offset + i);
                    used[f->offset + i] = true;
                }
            }
            ck_assert_uint_le(n + 9, ISA_MAX_FIELDS);
        }
    }
}
END_TEST

START_TEST(any_bytes_decode)
{
    uint64_t seed = 7;
    setup();
    for (int round = 0; round < 3000; round++) {
        uint8_t bytes[128];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)bir_random_next(&seed);
        static const enum bir_arch archs[] = { BIR_ARCH_SUNDA, BIR_ARCH_GEN3, BIR_ARCH_CORE_V4 };
        enum bir_arch arch = archs[bir_random_below(&seed, 3)];
        json_decref(decode_json(bytes, 64 * (1 + (size_t)bir_random_below(&seed, 2)), arch, ISA_SLOT_NONE));
        enum isa_slot slot = (enum isa_slot)(1 + bir_random_below(&seed, ISA_SLOTS - 1));
        json_decref(decode_json(bytes, isa_slot_info_of(slot)->size_bytes, arch, slot));
        struct isa_decode_options options = { .arch = arch, .slot = ISA_SLOT_NONE };
        ck_assert_int_eq(isa_decode(bytes, 64, &options, &diags, &out), BIR_OK);
    }
    teardown();
}
END_TEST

START_TEST(lengths_that_fit_nothing_are_refused)
{
    setup();
    uint8_t bytes[200] = { 0 };
    struct isa_decode_options options = { .slot = ISA_SLOT_NONE };
    for (size_t len = 0; len < 200; len++)
        if (len == 0 || len % 64 != 0)
            ck_assert_int_eq(isa_decode(bytes, len, &options, &diags, &out), BIR_INVALID);
    options.slot = ISA_SLOT_TENSOR3D;
    ck_assert_int_eq(isa_decode(bytes, 15, &options, &diags, &out), BIR_INVALID);
    options.arch = BIR_ARCH_CORE_V5;
    ck_assert_int_eq(isa_decode(bytes, 16, &options, &diags, &out), BIR_INVALID);
    ck_assert_str_eq(diags.first->code, "isa-decode-length");
    teardown();
}
END_TEST

START_TEST(hex_text)
{
    static const struct {
        const char *text;
        enum bir_status status;
        size_t n;
    } rows[] = {
        { "0x00 10", BIR_OK, 2 }, { "00:1f\nA0", BIR_OK, 3 },     { "", BIR_OK, 0 },
        { "  \n", BIR_OK, 0 },    { "123", BIR_INVALID, 0 },      { "0g", BIR_INVALID, 0 },
        { "1 2", BIR_OK, 1 },     { "0102030405", BIR_LIMIT, 0 }, { "0x", BIR_OK, 0 },
    };
    setup();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[4];
        size_t n = 0;
        ck_assert_int_eq(isa_parse_hex(rows[i].text, strlen(rows[i].text), bytes, sizeof bytes, &n, &diags),
                         rows[i].status);
        if (rows[i].status == BIR_OK)
            ck_assert_uint_eq(n, rows[i].n);
    }
    teardown();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        static_descriptor_as_json,
        mx_and_gather_fields_have_the_names_of_the_sheet,
        words_of_the_sheet_decode_without_problems,
        tensor_tensor_word_as_json,
        malformed_headers_and_reserved_bytes_are_named,
        no_layout_overlaps_itself,
        any_bytes_decode,
        lengths_that_fit_nothing_are_refused,
        hex_text,
    };
    return UNIT_RUN("isa_decode", tests);
}

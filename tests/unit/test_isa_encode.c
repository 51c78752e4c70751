#include "isa/encode.h"

#include <jansson.h>

#include "alloc_fail.h"
#include "bir/json.h"
#include "isa/decode.h"
#include "isa/explain.h"
#include "isa_module.h"

/* --- whole modules --- */

static struct bir_instruction *scale_instruction(const char *name, struct bir_location *t)
{
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, name);
    add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    add(inst, BIR_ROLE_OUT, t, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    return inst;
}

START_TEST(json_names_every_operand)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048),
                        *x = new_location("x", BIR_MEMORY_DRAM, 128, 2048);
    struct bir_instruction *ld = new_instruction(BIR_OP_DMA_COPY, BIR_ENGINE_SP, "ld");
    add(ld, BIR_ROLE_IN, x, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    add(ld, BIR_ROLE_OUT, t, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    struct bir_instruction *s = scale_instruction("s", t);
    ck_assert_ptr_nonnull(bir_add_imm_int(module, s, BIR_DTYPE_INT32, 7));
    struct isa_encode_options options = { .format = ISA_FORMAT_JSON };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    json_error_t error;
    json_t *root = json_loadb(out.data, out.len, 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    const char *arch, *fname, *iname, *opcode, *engine, *list, *slot, *bytes, *word;
    json_t *insts, *operands;
    ck_assert_int_eq(json_unpack(root, "{s:s,s:[{s:s,s:o}]}", "arch", &arch, "functions", "name", &fname,
                                 "instructions", &insts),
                     0);
    ck_assert_str_eq(arch, "gen3");
    ck_assert_str_eq(fname, "f");
    ck_assert_uint_eq(json_array_size(insts), 2);
    operands = json_object_get(json_array_get(insts, 0), "operands");
    ck_assert(json_is_null(json_object_get(json_array_get(operands, 0), "bytes")));
    ck_assert(json_is_string(json_object_get(json_array_get(operands, 0), "reason")));
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(operands, 1), "slot")), "ADDR8");
    ck_assert_int_eq(json_unpack(json_array_get(insts, 1), "{s:s,s:s,s:s,s:s,s:o}", "name", &iname, "opcode", &opcode,
                                 "engine", &engine, "word", &word, "operands", &operands),
                     0);
    ck_assert_str_eq(iname, "s");
    ck_assert_str_eq(opcode, "TensorScalar");
    ck_assert_str_eq(engine, "DVE");
    ck_assert_uint_eq(strlen(word), 128);
    ck_assert_uint_eq(json_array_size(operands), 3);
    int index;
    ck_assert_int_eq(json_unpack(json_array_get(operands, 2), "{s:s,s:i,s:s,s:s}", "list", &list, "index", &index,
                                 "slot", &slot, "bytes", &bytes),
                     0);
    ck_assert_str_eq(list, "outs");
    ck_assert_int_eq(index, 0);
    ck_assert_str_eq(slot, "TENSOR3D");
    ck_assert_str_eq(bytes, "00000000010001000100000201000100");
    ck_assert(json_is_null(json_object_get(json_array_get(operands, 1), "bytes")));
    json_decref(root);
    teardown();
}
END_TEST

START_TEST(every_refused_operand_is_reported)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    t->addr_bytes = 0x37FFC;
    scale_instruction("a", t);
    scale_instruction("b", t);
    struct isa_encode_options options = { .format = ISA_FORMAT_JSON };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_INVALID);
    ck_assert_uint_eq(diags.errors, 4);
    ck_assert_str_eq(diags.first->code, "isa-v12-partition-bounds");
    ck_assert_ptr_nonnull(diags.first->hint);
    ck_assert_ptr_nonnull(strstr(diags.first->message, "TensorScalar a, ins[0]"));
    bir_diags_init(&diags, &diag_arena, 100);
    options.keep_going = true;
    out.len = 0;
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    ck_assert_uint_eq(diags.errors, 0);
    ck_assert_uint_eq(diags.count, 4);
    bir_buf_putc(&out, '\0');
    ck_assert_ptr_nonnull(strstr(out.data, "\"bytes\":null,\"reason\":\"access leaves the partition"));
    ck_assert_ptr_nonnull(strstr(out.data, "\"word_reason\""));
    teardown();
}
END_TEST

START_TEST(rules_over_two_sources)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *p = new_location("p", BIR_MEMORY_PSUM, 128, 2048),
                        *s = new_location("s", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_TENSOR, BIR_ENGINE_DVE, "tt");
    const struct bir_pattern *pat = PATTERN({ 512, 128 }, { 1, 512 });
    add(inst, BIR_ROLE_IN, p, pat, 0, BIR_DTYPE_FLOAT32);
    struct bir_argument *second = add(inst, BIR_ROLE_IN, p, pat, 0, BIR_DTYPE_FLOAT32);
    add(inst, BIR_ROLE_OUT, s, pat, 0, BIR_DTYPE_FLOAT32);
    struct isa_encode_options options = { .format = ISA_FORMAT_TEXT };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_INVALID);
    ck_assert_str_eq(diags.first->code, "isa-operand-mismatch");
    bir_argument_set_location(second, &s->base, false, true);
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    ((struct bir_physical_ap *)second)->pattern = PATTERN({ 512, 128 }, { 1, 256 });
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_INVALID);
    teardown();
}
END_TEST

START_TEST(text_reads_without_a_manual)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 32, 8192);
    t->base_partition = 32;
    t->addr_bytes = 0x200;
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    add(inst, BIR_ROLE_IN, t, PATTERN({ 4096, 32 }, { 512, 4 }, { 64, 8 }, { 1, 64 }), 0, BIR_DTYPE_BFLOAT16);
    new_instruction(BIR_OP_POOL, BIR_ENGINE_POOL, "p");
    struct isa_encode_options options = { .format = ISA_FORMAT_TEXT };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    bir_buf_putc(&out, '\0');
    ck_assert_ptr_nonnull(strstr(out.data, "sb[p32+32, 0x200] 4x8x64 step 512,64,1 bf16"));
    ck_assert_ptr_nonnull(strstr(out.data, "TENSOR3D 00028000010040000002400008000400"));
    ck_assert_ptr_nonnull(strstr(out.data, "2 instructions, 1 operands encoded, 0 without bytes, 0 words encoded; "
                                           "without a known word: Pool 1, TensorScalar 1"));
    teardown();
}
END_TEST

START_TEST(binary_output_is_framed)
{
    setup(BIR_ARCH_GEN3);
    scale_instruction("a", new_location("t", BIR_MEMORY_SB, 128, 2048));
    struct isa_encode_options options = { .format = ISA_FORMAT_BIN };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    const uint8_t *b = (const uint8_t *)out.data;
    ck_assert_mem_eq(b, "RISA\x01\x00\x1e\x00", 8);
    ck_assert_mem_eq(b + 8,
                     "\x01\x01\x00\x00\x00"
                     "f",
                     6);
    b += 14;
    ck_assert_uint_eq(b[0], 2);
    ck_assert_uint_eq(isa_load_le(b + 1, 2), BIR_OP_TENSOR_SCALAR);
    ck_assert_uint_eq(b[3], BIR_ENGINE_DVE);
    ck_assert_uint_eq(b[4], 1);
    ck_assert_uint_eq(isa_load_le(b + 5, 2), 2);
    ck_assert_uint_eq(isa_load_le(b + 7, 4), 2 * (3 + 16) + 64);
    ck_assert_mem_eq(b + 11, "\x00\x04\x10", 3);
    ck_assert_uint_eq(b[11 + 2 * 19], 0x43);
    b += 11 + 2 * 19 + 64;
    ck_assert_mem_eq(b, "\x00\x01\x00\x00\x00\x00\x00\x00\x00", 9);
    ck_assert_ptr_eq(b + 9, out.data + out.len);
    teardown();
}
END_TEST

/* What encode --format bin wrote, decode reads: the bytes are those of the JSON output. */
START_TEST(binary_output_decodes)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    scale_instruction("a", t);
    ck_assert_ptr_nonnull(bir_add_imm_int(module, scale_instruction("b", t), BIR_DTYPE_INT32, 7));
    struct isa_encode_options options = { .format = ISA_FORMAT_BIN };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    for (int json = 0; json < 2; json++) {
        struct isa_decode_options decode = { .slot = ISA_SLOT_NONE, .json = json };
        struct bir_buf text;
        bir_buf_init(&text, 0);
        ck_assert_int_eq(isa_decode((const uint8_t *)out.data, out.len, &decode, &diags, &text), BIR_OK);
        if (json) {
            json_t *root = json_loadb(text.data, text.len, 0, NULL), *records, *operands, *words;
            ck_assert_ptr_nonnull(root);
            records = json_object_get(root, "records");
            ck_assert_uint_eq(json_array_size(records), 3);
            operands = json_object_get(json_array_get(records, 2), "operands");
            ck_assert_uint_eq(json_array_size(operands), 3);
            ck_assert_str_eq(json_string_value(json_object_get(json_array_get(operands, 2), "list")), "outs");
            words = json_object_get(json_array_get(records, 1), "words");
            ck_assert_str_eq(json_string_value(json_object_get(json_array_get(words, 0), "opcode_name")),
                             "TensorScalar");
            ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(words, 0), "problems")), 0);
            json_decref(root);
        }
        bir_buf_deinit(&text);
    }
    /* Cut anywhere, it is refused. */
    for (size_t len = 8; len < out.len; len++) {
        struct isa_decode_options decode = { .slot = ISA_SLOT_NONE, .json = true };
        struct bir_buf text;
        bir_buf_init(&text, 0);
        ck_assert_int_eq(isa_decode((const uint8_t *)out.data, len, &decode, &diags, &text), BIR_INVALID);
        bir_buf_deinit(&text);
    }
    teardown();
}
END_TEST

START_TEST(every_format_is_deterministic_and_cancels)
{
    for (int format = ISA_FORMAT_JSON; format <= ISA_FORMAT_BIN; format++) {
        setup(BIR_ARCH_GEN3);
        struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
        for (int i = 0; i < 1500; i++) {
            char name[16];
            snprintf(name, sizeof name, "i%d", i);
            scale_instruction(name, t);
        }
        struct bir_cancel cancel = { false };
        struct isa_encode_options options = { .format = (enum isa_format)format, .cancel = &cancel };
        ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
        size_t half = out.len;
        ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
        ck_assert_uint_eq(out.len, 2 * half);
        ck_assert_mem_eq(out.data, out.data + half, half);
        bir_cancel_set(&cancel);
        ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_CANCELLED);
        struct bir_buf small;
        bir_buf_init(&small, 1000);
        options.cancel = NULL;
        ck_assert_int_eq(isa_encode_module(module, &options, &diags, &small), BIR_LIMIT);
        bir_buf_deinit(&small);
        teardown();
    }
}
END_TEST

START_TEST(architectures_without_encoder_are_named)
{
    setup(BIR_ARCH_CORE_V5);
    struct isa_encode_options options = { .format = ISA_FORMAT_JSON };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_INVALID);
    ck_assert_str_eq(diags.first->code, "isa-unsupported-arch");
    options.arch = BIR_ARCH_SUNDA;
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    teardown();
}
END_TEST

START_TEST(explanations_tell_every_step)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 8192);
    t->addr_bytes = 0x200;
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, "i");
    struct bir_argument *in = add(inst, BIR_ROLE_IN, t, PATTERN({ 4096, 32 }, { 512, 4 }, { 64, 8 }, { 1, 64 }),
                                  32 * 4096, BIR_DTYPE_BFLOAT16);
    add(inst, BIR_ROLE_OUT, t, PATTERN({ 4096, 32 }, { 512, 4 }, { 64, 8 }, { 1, 64 }), 32 * 4096, BIR_DTYPE_BFLOAT16);
    isa_explain_instruction(&out, inst, ISA_V3);
    bir_buf_putc(&out, '\0');
    static const char *const expected[] = {
        "offset 131072 elements, pattern [4096,32][512,4][64,8][1,64]",
        "partition 0 + 32 rows of the offset = 32, byte 0x200",
        "address: 32 * 0x40000 + 0x200 = 0x800200",
        "slot: TENSOR4D (20 bytes) by TensorCopy ins[0] on v3; may be in SBUF or PSUM",
        "step 0 @4, step 1 @6",
        "word 1: Copy",
        "@12 src",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        ck_assert_msg(strstr(out.data, expected[i]) != NULL, "no \"%s\" in\n%s", expected[i], out.data);
    out.len = 0;
    t->addr_bytes = 0x38000;
    isa_explain_operand(&out, in, 0, ISA_V3);
    bir_buf_putc(&out, '\0');
    ck_assert_ptr_nonnull(strstr(out.data, "refused: access leaves the partition"));
    ck_assert_ptr_nonnull(strstr(out.data, "hint: "));
    teardown();
}
END_TEST

/* Every allocation of an encode fails once: the status says so, nothing is lost. */
START_TEST(running_out_of_memory_is_an_ordinary_error)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "i%d", i);
        scale_instruction(name, t);
    }
    t->addr_bytes = 0x37FFC; /* refused: diagnostics allocate too */
    for (int format = ISA_FORMAT_JSON; format <= ISA_FORMAT_BIN; format++) {
        bool fired = true;
        for (long n = 1; fired; n++) {
            struct bir_arena arena;
            struct bir_diags lost;
            struct bir_buf buf;
            long live = alloc_live();
            bir_arena_init(&arena, 0);
            bir_diags_init(&lost, &arena, 100);
            bir_buf_init(&buf, 0);
            struct isa_encode_options options = { .format = (enum isa_format)format, .keep_going = true };
            alloc_fail_at(n);
            enum bir_status status = isa_encode_module(module, &options, &lost, &buf);
            fired = alloc_fail_fired();
            alloc_fail_at(0);
            bir_buf_deinit(&buf);
            bir_arena_deinit(&arena);
            long left = alloc_live();
            ck_assert_int_eq(left, live);
            ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        }
    }
    teardown();
}
END_TEST

/* --- words of the fact sheet --- */

static json_t *find_named(json_t *array, const char *name)
{
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
            return item;
    }
    return NULL;
}

static void check_word_row(const struct tsv *row)
{
    char path[512];
    size_t len;
    snprintf(path, sizeof path, "%s/isa/words/%s", ROOST_VECTORS, row->column[0]);
    char *text = unit_read_file(path, &len);
    struct bir_module *read = NULL;
    bir_arena_init(&diag_arena, 0);
    bir_diags_init(&diags, &diag_arena, 10);
    bir_buf_init(&out, 0);
    struct bir_read_options read_options = { .strict = true };
    enum bir_status status = bir_module_read_json(text, len, &read_options, &diags, &read);
    ck_assert_msg(status == BIR_OK, "%s: %s", path, diags.first ? diags.first->message : "");
    struct isa_encode_options options = { .format = ISA_FORMAT_JSON,
                                          .arch = bir_arch_from_name(row->column[2], strlen(row->column[2])) };
    status = isa_encode_module(read, &options, &diags, &out);
    ck_assert_msg(status == BIR_OK, "%s: %s", path, diags.first ? diags.first->message : "");
    json_t *root = json_loadb(out.data, out.len, 0, NULL), *inst;
    ck_assert_ptr_nonnull(root);
    inst = find_named(json_object_get(json_array_get(json_object_get(root, "functions"), 0), "instructions"),
                      row->column[1]);
    ck_assert_msg(inst != NULL, "%s: no instruction %s", path, row->column[1]);
    const char *word = json_string_value(json_object_get(inst, "word"));
    ck_assert_msg(word != NULL, "%s %s: no word: %s", path, row->column[1],
                  json_string_value(json_object_get(inst, "word_reason")));
    size_t at = 128 * strtoul(row->column[3], NULL, 10);
    ck_assert_uint_ge(strlen(word), at + 128);
    ck_assert_msg(strncmp(word + at, row->column[4], 128) == 0, "%s %s %s: word is\n%.128s, expected\n%s",
                  row->column[0], row->column[1], row->column[2], word + at, row->column[4]);
    json_decref(root);
    bir_module_free(read);
    free(text);
    bir_buf_deinit(&out);
    bir_arena_deinit(&diag_arena);
}

START_TEST(words_have_the_bytes_of_the_sheet)
{
    struct tsv tsv;
    tsv_open(&tsv, "isa/words.tsv");
    while (tsv_next(&tsv))
        check_word_row(&tsv);
    ck_assert_int_ge(tsv.rows, 5);
    tsv_close(&tsv);
}
END_TEST

/* --- properties that no word can hold --- */

static void set_property(struct bir_instruction *inst, const char *key, struct bir_prop value)
{
    inst->props = bir_props_with(module, inst->props, key, &value);
    ck_assert_ptr_nonnull(inst->props);
}

static struct bir_prop json_property(const char *text)
{
    return (struct bir_prop){ .type = BIR_VALUE_JSON, .u.s = name_of(text) };
}

static struct bir_prop expression(const struct pelican_expr *e)
{
    ck_assert_ptr_nonnull(e);
    return (struct bir_prop){ .type = BIR_VALUE_EXPR, .u.e = e };
}

static struct bir_instruction *matmult(void)
{
    struct bir_location *s = new_location("s", BIR_MEMORY_SB, 128, 2048),
                        *p = new_location("p", BIR_MEMORY_PSUM, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_MATMULT, BIR_ENGINE_PE, "m");
    add(inst, BIR_ROLE_IN, s, PATTERN({ 1024, 128 }, { 1, 128 }), 0, BIR_DTYPE_BFLOAT16);
    add(inst, BIR_ROLE_IN, s, PATTERN({ 1024, 128 }, { 1, 512 }), 0, BIR_DTYPE_BFLOAT16);
    add(inst, BIR_ROLE_OUT, p, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    return inst;
}

static struct bir_instruction *copy_of_dram(void)
{
    struct bir_location *s = new_location("s", BIR_MEMORY_SB, 128, 2048),
                        *d = new_location("d", BIR_MEMORY_DRAM, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_DMA_COPY, BIR_ENGINE_SP, "c");
    add(inst, BIR_ROLE_IN, d, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    add(inst, BIR_ROLE_OUT, s, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    return inst;
}

/* The text form of the one instruction; borrowed until the next call. */
static const char *encoded(void)
{
    struct isa_encode_options options = { .format = ISA_FORMAT_TEXT };
    out.len = 0;
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
    bir_buf_putc(&out, '\0');
    return out.data;
}

static void expect_encoded(const char *text)
{
    ck_assert_msg(strstr(encoded(), text) != NULL, "\"%s\" is not in:\n%s", text, out.data);
}

/* A property that cannot be read must not count as absent: the word would be another instruction's. */
START_TEST(words_are_refused_for_what_they_cannot_say)
{
    static const struct {
        const char *key, *text, *reason;
        enum bir_value_type type;
    } rows[] = {
        { "accumulation_flag", "9223372036854775808", "accumulation_flag has a value", BIR_VALUE_JSON },
        { "psum_zero_region", "[0]", "psum_zero_region has a value", BIR_VALUE_JSON },
        { "perf_mode", "Turbo", "perf_mode has a name that is not known", BIR_VALUE_TEXT },
        { "tile_position", "[0]", "tile_position has a value", BIR_VALUE_JSON },
        { "tile_position", "[0,4294967296]", "tile_position has a value", BIR_VALUE_JSON },
        { "tile_position", "[{\"c\":32},0]", "tile_position has a value", BIR_VALUE_JSON },
        { "tile_position", "[0,32,64]", "tile_position has a value", BIR_VALUE_JSON },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setup(BIR_ARCH_GEN3);
        struct bir_instruction *inst = matmult();
        struct bir_prop value = json_property(rows[i].text);
        value.type = rows[i].type;
        set_property(inst, rows[i].key, value);
        char reason[160];
        snprintf(reason, sizeof reason, "word     none: %s", rows[i].reason);
        expect_encoded(reason);
        teardown();
    }
    setup(BIR_ARCH_GEN3);
    struct bir_instruction *inst = matmult();
    struct pelican_axis *axis = pelican_axis_new(&module->expressions, name_of("k"), 0, 4, 1);
    set_property(inst, "accumulation_flag", expression(pelican_affine_iv(&module->expressions, axis)));
    expect_encoded("word     none: accumulation_flag is an expression");
    set_property(inst, "accumulation_flag", expression(pelican_constant(&module->expressions, 3)));
    struct bir_buf by_expression;
    bir_buf_init(&by_expression, 0);
    bir_buf_puts(&by_expression, encoded());
    bir_buf_putc(&by_expression, '\0');
    set_property(inst, "accumulation_flag", (struct bir_prop){ .type = BIR_VALUE_INT, .u.i = 3 });
    ck_assert_str_eq(encoded(), by_expression.data);
    bir_buf_deinit(&by_expression);
    set_property(inst, "ifmap_quant_offset", (struct bir_prop){ .type = BIR_VALUE_INT, .u.i = 65536 });
    expect_encoded("word     none: ifmap_quant_offset does not fit 16 bits");
    set_property(inst, "ifmap_quant_offset", (struct bir_prop){ .type = BIR_VALUE_INT, .u.i = 1 });
    expect_encoded("zero because no source says: ifmap_quant_offset");
    teardown();
}
END_TEST

/* Lenient reading keeps types of other releases, whose size nobody knows. */
START_TEST(copies_of_an_unknown_type_have_no_word)
{
    for (int role = 0; role < 2; role++) {
        setup(BIR_ARCH_GEN3);
        struct bir_instruction *inst = copy_of_dram();
        bir_instruction_argument(inst, role ? BIR_ROLE_OUT : BIR_ROLE_IN, 0)->dtype = BIR_ENUM_UNKNOWN;
        struct isa_encode_options options = { .format = ISA_FORMAT_TEXT, .keep_going = true };
        ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_OK);
        bir_buf_putc(&out, '\0');
        ck_assert_msg(strstr(out.data, "word     none: ") != NULL, "%s", out.data);
        teardown();
    }
}
END_TEST

START_TEST(copies_that_compute_have_no_word)
{
    static const struct {
        const char *key, *value;
    } rows[] = { { "cce_op", "add" }, { "transpose_op", "WZXY" }, { "constants", NULL } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setup(BIR_ARCH_GEN3);
        struct bir_instruction *inst = copy_of_dram();
        ck_assert_ptr_null(strstr(encoded(), "word     none"));
        set_property(inst, rows[i].key,
                     rows[i].value ? (struct bir_prop){ .type = BIR_VALUE_TEXT, .u.s = name_of(rows[i].value) }
                                   : json_property("[1.0]"));
        expect_encoded("word     none: a copy that computes or transposes has no known layout");
        teardown();
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        json_names_every_operand,
        every_refused_operand_is_reported,
        rules_over_two_sources,
        text_reads_without_a_manual,
        binary_output_is_framed,
        binary_output_decodes,
        every_format_is_deterministic_and_cancels,
        architectures_without_encoder_are_named,
        explanations_tell_every_step,
        running_out_of_memory_is_an_ordinary_error,
        words_have_the_bytes_of_the_sheet,
        words_are_refused_for_what_they_cannot_say,
        copies_of_an_unknown_type_have_no_word,
        copies_that_compute_have_no_word,
    };
    return UNIT_RUN("isa_encode", tests);
}

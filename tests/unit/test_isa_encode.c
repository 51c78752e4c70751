#include "isa/encode.h"

#include <jansson.h>

#include "base/random.h"
#include "bir/json.h"
#include "isa/explain.h"
#include "isa/operand.h"
#include "isa/words.h"
#include "isa_tsv.h"

/* --- a module with one block --- */

static struct bir_module *module;
static struct bir_function *function;
static struct bir_block *block;
static struct bir_arena diag_arena;
static struct bir_diags diags;
static struct bir_buf out;

static const struct bir_str *name_of(const char *text)
{
    const struct bir_str *name = bir_intern_cstr(&module->strings, text);
    ck_assert_ptr_nonnull(name);
    return name;
}

static void setup(enum bir_arch arch)
{
    module = bir_module_new(0);
    ck_assert_ptr_nonnull(module);
    module->arch = arch;
    function = bir_function_new(module, name_of("f"), false);
    ck_assert_ptr_nonnull(function);
    block = bir_block_new(module, &function->body, name_of("b"));
    ck_assert_ptr_nonnull(block);
    bir_arena_init(&diag_arena, 0);
    bir_diags_init(&diags, &diag_arena, 100);
    bir_buf_init(&out, 0);
}

static void teardown(void)
{
    bir_buf_deinit(&out);
    bir_arena_deinit(&diag_arena);
    bir_module_free(module);
}

static struct bir_location *new_location(const char *name, enum bir_memory_type type, int64_t partitions,
                                         int64_t row_bytes)
{
    char set_name[64];
    snprintf(set_name, sizeof set_name, "%s_set", name);
    struct bir_set *set = bir_set_new(function, name_of(set_name));
    ck_assert_ptr_nonnull(set);
    struct bir_location *location = bir_location_new(set, name_of(name));
    ck_assert_ptr_nonnull(location);
    int64_t dims[2] = { partitions, row_bytes };
    location->type = (uint8_t)type;
    location->allocated = true;
    location->dims = bir_ints_get(module, dims, 2);
    ck_assert_ptr_nonnull(location->dims);
    return location;
}

static struct bir_instruction *new_instruction(enum bir_opcode opcode, enum bir_engine engine, const char *name)
{
    struct bir_instruction *inst = bir_instruction_new(module, opcode, engine, name_of(name));
    ck_assert_ptr_nonnull(inst);
    bir_block_append(block, inst);
    return inst;
}

static const struct bir_pattern *pattern(const struct bir_pair *pairs, uint32_t rank)
{
    const struct bir_pattern *p = bir_pattern_get(module, pairs, rank);
    ck_assert_ptr_nonnull(p);
    return p;
}
#define PATTERN(...)                                                                                                   \
    pattern((struct bir_pair[]){ __VA_ARGS__ }, sizeof((struct bir_pair[]){ __VA_ARGS__ }) / sizeof(struct bir_pair))

static struct bir_argument *add(struct bir_instruction *inst, enum bir_role role, struct bir_location *location,
                                const struct bir_pattern *p, int64_t offset, enum bir_dtype dtype)
{
    struct bir_physical_ap *ap = bir_add_physical_ap(module, inst, role, location, p, offset, dtype);
    ck_assert_ptr_nonnull(ap);
    return &ap->base;
}

static struct bir_register *new_register(const char *name, int id)
{
    struct bir_register *reg = bir_function_add_register(function, name_of(name), BIR_ENGINE_DVE, 1);
    ck_assert_ptr_nonnull(reg);
    reg->physical_id = (int16_t)id;
    return reg;
}

static struct bir_register_ap *add_register_ap(struct bir_instruction *inst, enum bir_role role,
                                               struct bir_location *location, const struct bir_pattern *p,
                                               struct bir_register *reg, enum bir_dtype dtype)
{
    struct bir_register_ap *ap =
        (struct bir_register_ap *)bir_argument_new(module, inst, BIR_ARG_REGISTER_AP, role, dtype);
    ck_assert_ptr_nonnull(ap);
    bir_argument_set_location(&ap->base, &location->set->base, role == BIR_ROLE_OUT, true);
    ap->pattern = p;
    ap->address = reg;
    return ap;
}

/* Encodes one operand and expects these bytes. */
static void expect_bytes(const struct bir_argument *argument, enum isa_generation generation, enum isa_slot slot,
                         const char *hex)
{
    struct isa_operand operand;
    struct isa_problem problem = { 0 };
    uint8_t expected[20];
    size_t n = tsv_hex(hex, expected, sizeof expected);
    enum isa_outcome outcome =
        isa_operand_encode(argument, bir_argument_position(argument), generation, &operand, &problem);
    ck_assert_msg(outcome == ISA_ENCODED, "refused: %s %s", problem.message, operand.reason ? operand.reason : "");
    ck_assert_int_eq(operand.slot, slot);
    ck_assert_uint_eq(operand.size_bytes, n);
    ck_assert_msg(memcmp(operand.bytes, expected, n) == 0, "bytes differ from %s", hex);
}

static void expect_refused(const struct bir_argument *argument, enum isa_generation generation, enum isa_rule rule)
{
    struct isa_operand operand;
    struct isa_problem problem = { 0 };
    enum isa_outcome outcome =
        isa_operand_encode(argument, bir_argument_position(argument), generation, &operand, &problem);
    ck_assert_int_eq(outcome, ISA_REFUSED);
    ck_assert_msg(problem.rule == rule, "rule %s (%s), expected %s", isa_rule_info_of(problem.rule)->code,
                  problem.message, isa_rule_info_of(rule)->code);
}

/* --- addresses --- */

START_TEST(example_e2_comes_from_a_module)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 32, 8192);
    t->base_partition = 32;
    t->addr_bytes = 0x200;
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    expect_bytes(add(inst, BIR_ROLE_IN, t, PATTERN({ 4096, 32 }, { 512, 4 }, { 64, 8 }, { 1, 64 }), 0,
                     BIR_DTYPE_BFLOAT16),
                 ISA_V3, ISA_SLOT_TENSOR3D, "00028000010040000002400008000400");
    teardown();
}
END_TEST

START_TEST(offset_moves_rows_then_bytes)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    t->addr_bytes = 0x1000;
    /* 32 rows of 512 float32 and 5 elements: partition 32, byte 0x1000 + 20. */
    expect_bytes(add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 32 }, { 1, 7 }), 32 * 512 + 5, BIR_DTYPE_FLOAT32), ISA_V3,
                 ISA_SLOT_TENSOR3D, "14108000010001000100070001000100");
    /* The row is in bytes of the location: a bfloat16 view has 1024 elements a row. */
    inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "j");
    expect_bytes(add(inst, BIR_ROLE_IN, t, PATTERN({ 1024, 64 }, { 1, 7 }), 64 * 1024 + 3, BIR_DTYPE_BFLOAT16), ISA_V3,
                 ISA_SLOT_TENSOR3D, "06100001010001000100070001000100");
    teardown();
}
END_TEST

START_TEST(psum_uses_the_magnitude_of_the_bank)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_PSUM, 64, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    t->base_partition = 64;
    t->bank = -7;
    t->addr_bytes = 0x100;
    expect_bytes(add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 64 }, { 1, 64 }), 0, BIR_DTYPE_FLOAT32), ISA_V3,
                 ISA_SLOT_TENSOR3D, "00392002010001000100400001000100");
    t->bank = INT32_MIN;
    expect_refused(bir_instruction_argument(inst, BIR_ROLE_IN, 0), ISA_V3, ISA_V01);
    t->bank = 8;
    expect_refused(bir_instruction_argument(inst, BIR_ROLE_IN, 0), ISA_V3, ISA_V01);
    teardown();
}
END_TEST

START_TEST(backwards_access_starts_at_its_first_element)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 1024);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    t->addr_bytes = 0x40;
    struct bir_argument *a =
        add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 64 }, { -1, 128 }), 64 * 512 + 127, BIR_DTYPE_BFLOAT16);
    expect_bytes(a, ISA_V3, ISA_SLOT_TENSOR3D, "3e010001ffff01000100800001000100");
    /* One element further back than the partition's first byte. */
    ((struct bir_physical_ap *)a)->offset_elems = 64 * 512 + 94;
    expect_refused(a, ISA_V3, ISA_V12);
    teardown();
}
END_TEST

START_TEST(partition_pair_is_the_row_pitch)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    struct bir_physical_ap *ap =
        (struct bir_physical_ap *)add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 128 }, { 1, 4 }), 0, BIR_DTYPE_FLOAT32);
    expect_bytes(&ap->base, ISA_V3, ISA_SLOT_TENSOR3D, "00000000010001000100040001000100");
    ap->pattern = PATTERN({ 1024, 64 }, { 1, 4 });
    expect_refused(&ap->base, ISA_V3, ISA_RULE_PARTITION_STEP);
    ap->pattern = PATTERN({ 0, 64 }, { 1, 4 });
    expect_refused(&ap->base, ISA_V3, ISA_RULE_PARTITION_STEP);
    ap->pattern = PATTERN({ -512, 1 }, { 1, 4 });
    expect_refused(&ap->base, ISA_V3, ISA_RULE_PARTITION_STEP);
    ap->pattern = PATTERN({ 0, 1 }, { 1, 4 }); /* one partition: the step says nothing */
    expect_bytes(&ap->base, ISA_V3, ISA_SLOT_TENSOR3D, "00000000010001000100040001000100");
    ap->pattern = PATTERN({ 512, 128 }); /* rank 1: one element a partition */
    expect_bytes(&ap->base, ISA_V3, ISA_SLOT_TENSOR3D, "00000000010001000100010001000100");
    ap->pattern = PATTERN({ 512, 129 }, { 1, 4 });
    expect_refused(&ap->base, ISA_V3, ISA_V14);
    ap->pattern = PATTERN({ 512, 0 }, { 1, 4 });
    expect_refused(&ap->base, ISA_V3, ISA_V14);
    teardown();
}
END_TEST

START_TEST(a_location_without_shape_takes_the_row_from_the_pattern)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    t->dims = NULL;
    expect_bytes(add(inst, BIR_ROLE_IN, t, PATTERN({ 100, 32 }, { 1, 4 }), 3201, BIR_DTYPE_FLOAT32), ISA_V3,
                 ISA_SLOT_TENSOR3D, "04008000010001000100040001000100");
    expect_bytes(add(inst, BIR_ROLE_OUT, t, PATTERN({ 0, 1 }, { 1, 4 }), 3201, BIR_DTYPE_FLOAT32), ISA_V3,
                 ISA_SLOT_TENSOR3D, "04320000010001000100040001000100");
    teardown();
}
END_TEST

START_TEST(backed_bytes_bound_the_walk_by_generation)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    struct bir_argument *a = add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    static const uint32_t backed[ISA_GENERATIONS] = { 0x30000, 0x38000, 0x40000 };
    for (int g = 0; g < ISA_GENERATIONS; g++) {
        struct isa_operand operand;
        struct isa_problem problem;
        t->addr_bytes = backed[g] - 2048;
        ck_assert_int_eq(isa_operand_encode(a, 0, (enum isa_generation)g, &operand, &problem), ISA_ENCODED);
        t->addr_bytes = backed[g] - 2044;
        expect_refused(a, (enum isa_generation)g, ISA_V12);
        t->addr_bytes = backed[g];
        expect_refused(a, (enum isa_generation)g, ISA_V12);
    }
    t->addr_bytes = UINT64_MAX;
    expect_refused(a, ISA_V3, ISA_V12);
    t->addr_bytes = 0;
    ((struct bir_physical_ap *)a)->offset_elems = INT64_MAX;
    expect_refused(a, ISA_V3, ISA_V01);
    ((struct bir_physical_ap *)a)->offset_elems = -1;
    expect_refused(a, ISA_V3, ISA_V01);
    ((struct bir_physical_ap *)a)->offset_elems = 128 * 512;
    expect_refused(a, ISA_V3, ISA_V01);
    teardown();
}
END_TEST

START_TEST(unallocated_locations_are_refused)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    struct bir_argument *a = add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    t->allocated = false;
    t->present = BIR_LOCF_ALLOCATED;
    expect_refused(a, ISA_V3, ISA_RULE_NO_LOCATION);
    bir_argument_set_location(a, NULL, false, false);
    expect_refused(a, ISA_V3, ISA_RULE_NO_LOCATION);
    teardown();
}
END_TEST

/* --- registers --- */

START_TEST(register_operands)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    struct bir_register *reg = new_register("r", 17);
    struct bir_register_ap *ap =
        add_register_ap(inst, BIR_ROLE_IN, t, PATTERN({ 512, 128 }, { 64, 16 }, { 1, 32 }), reg, BIR_DTYPE_FLOAT32);
    expect_bytes(&ap->base, ISA_V3, ISA_SLOT_TENSOR3D, "11000080010040000100200010000100");
    reg->physical_id = -1;
    expect_refused(&ap->base, ISA_V3, ISA_RULE_NOT_ALLOCATED);
    reg->physical_id = 64;
    expect_refused(&ap->base, ISA_V3, ISA_V07);
    struct isa_operand operand;
    struct isa_problem problem;
    reg->physical_id = 61;
    ck_assert_int_eq(isa_operand_encode(&ap->base, 0, ISA_V3, &operand, &problem), ISA_ENCODED);
    ck_assert_ptr_null(operand.warning);
    reg->physical_id = 62;
    ck_assert_int_eq(isa_operand_encode(&ap->base, 0, ISA_V3, &operand, &problem), ISA_ENCODED);
    ck_assert_ptr_nonnull(operand.warning);
    ap->const_offset_elems = 8;
    expect_refused(&ap->base, ISA_V3, ISA_RULE_OFFSET_REGISTER);
    ap->const_offset_elems = 0;
    ap->address_is_offset = true;
    expect_refused(&ap->base, ISA_V3, ISA_RULE_OFFSET_REGISTER);
    ap->address_is_offset = false;
    ap->address = NULL;
    expect_refused(&ap->base, ISA_V3, ISA_RULE_NOT_ALLOCATED);
    ap->address = reg;
    ap->pattern = PATTERN({ 512, 128 }, { 32767, 30000 }); /* spreads over more than any partition has */
    expect_refused(&ap->base, ISA_V3, ISA_V12);
    teardown();
}
END_TEST

START_TEST(matmult_operands_know_their_memories)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *s = new_location("s", BIR_MEMORY_SB, 128, 512),
                        *p = new_location("p", BIR_MEMORY_PSUM, 128, 2048);
    struct bir_register *reg = new_register("r", 3);
    struct bir_instruction *inst = new_instruction(BIR_OP_MATMULT, BIR_ENGINE_PE, "mm");
    const struct bir_pattern *pat = PATTERN({ 512, 128 }, { 1, 128 });
    add(inst, BIR_ROLE_IN, s, PATTERN({ 128, 128 }, { 1, 128 }), 0, BIR_DTYPE_FLOAT32);
    struct bir_argument *moving = add(inst, BIR_ROLE_IN, p, pat, 0, BIR_DTYPE_FLOAT32);
    expect_refused(moving, ISA_V3, ISA_V04);
    bir_argument_remove(moving);
    struct bir_register_ap *dynamic = add_register_ap(inst, BIR_ROLE_IN, p, pat, reg, BIR_DTYPE_FLOAT32);
    expect_refused(&dynamic->base, ISA_V3, ISA_V04);
    bir_argument_remove(&dynamic->base);
    struct bir_argument *dst = add(inst, BIR_ROLE_OUT, p, pat, 0, BIR_DTYPE_BFLOAT16);
    ((struct bir_physical_ap *)dst)->pattern = PATTERN({ 1024, 128 }, { 1, 128 });
    expect_refused(dst, ISA_V3, ISA_V06);
    expect_bytes(dst, ISA_V4, ISA_SLOT_MEM_PATTERN3D, "00000002010001000100800001000100");
    bir_argument_remove(dst);
    dst = add(inst, BIR_ROLE_OUT, s, PATTERN({ 128, 128 }, { 1, 128 }), 0, BIR_DTYPE_FLOAT32);
    expect_refused(dst, ISA_V3, ISA_V06);
    teardown();
}
END_TEST

START_TEST(rules_about_types_and_memories)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *s = new_location("s", BIR_MEMORY_SB, 128, 2048),
                        *p = new_location("p", BIR_MEMORY_PSUM, 128, 2048),
                        *d = new_location("d", BIR_MEMORY_DRAM, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    const struct bir_pattern *f32 = PATTERN({ 512, 128 }, { 1, 16 }), *bf16 = PATTERN({ 1024, 128 }, { 1, 16 }),
                             *i64 = PATTERN({ 256, 128 }, { 1, 16 });
    expect_refused(add(inst, BIR_ROLE_OUT, p, bf16, 0, BIR_DTYPE_BFLOAT16), ISA_V3, ISA_V05);
    inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "j");
    expect_refused(add(inst, BIR_ROLE_OUT, d, f32, 0, BIR_DTYPE_FLOAT32), ISA_V3, ISA_V04);
    expect_refused(add(inst, BIR_ROLE_IN, s, i64, 0, BIR_DTYPE_INT64), ISA_V3, ISA_V20);
    inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "k");
    expect_refused(add(inst, BIR_ROLE_IN, s, f32, 0, BIR_DTYPE_FLOAT32R), ISA_V3, ISA_V20);
    inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "l");
    expect_refused(add(inst, BIR_ROLE_IN, s, bf16, 0, BIR_DTYPE_FLOAT4_E2M1FN_X4), ISA_V3, ISA_V18);
    inst = new_instruction(BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, "m");
    expect_bytes(add(inst, BIR_ROLE_IN, s, i64, 0, BIR_DTYPE_INT64), ISA_V3, ISA_SLOT_TENSOR4D,
                 "0000000001000100010001001000010001000100");
    /* Operands of the GPSIMD engine stay in SBUF. */
    inst = new_instruction(BIR_OP_TENSOR_COPY, BIR_ENGINE_POOL, "n");
    expect_refused(add(inst, BIR_ROLE_IN, p, f32, 0, BIR_DTYPE_FLOAT32), ISA_V3, ISA_V04);
    /* A start in the middle of a quadrant. */
    inst = new_instruction(BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, "o");
    s->base_partition = 16;
    expect_refused(add(inst, BIR_ROLE_IN, s, PATTERN({ 512, 16 }, { 1, 16 }), 0, BIR_DTYPE_FLOAT32), ISA_V3, ISA_V13);
    /* Misaligned start. */
    inst = new_instruction(BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, "q");
    s->base_partition = 0;
    s->addr_bytes = 2;
    expect_refused(add(inst, BIR_ROLE_IN, s, f32, 0, BIR_DTYPE_FLOAT32), ISA_V3, ISA_V02);
    teardown();
}
END_TEST

START_TEST(symbolic_operands_do_not_reach_the_encoder)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    struct bir_symbolic_ap *ap =
        (struct bir_symbolic_ap *)bir_argument_new(module, inst, BIR_ARG_SYMBOLIC_AP, BIR_ROLE_IN, BIR_DTYPE_FLOAT32);
    ck_assert_ptr_nonnull(ap);
    bir_argument_set_location(&ap->base, &t->set->base, false, true);
    ap->pattern = PATTERN({ 512, 128 }, { 1, 512 });
    expect_refused(&ap->base, ISA_V3, ISA_RULE_KIND);
    struct isa_encode_options options = { .format = ISA_FORMAT_JSON };
    ck_assert_int_eq(isa_encode_module(module, &options, &diags, &out), BIR_INVALID);
    ck_assert_uint_eq(diags.errors, 1);
    ck_assert_str_eq(diags.first->code, "isa-operand-kind");
    ck_assert_ptr_nonnull(strstr(diags.first->message, "codegen stage can only have PhysicalAP or RegisterAP"));
    teardown();
}
END_TEST

START_TEST(scalar_pointers_are_bare_addresses)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048), *s = new_location("s", BIR_MEMORY_SB, 128, 4);
    struct bir_instruction *inst = new_instruction(BIR_OP_ACTIVATION, BIR_ENGINE_ACTIVATION, "i");
    s->addr_bytes = 0x1238;
    add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    struct bir_argument *bias = add(inst, BIR_ROLE_IN, s, PATTERN({ 1, 128 }, { 1, 1 }), 0, BIR_DTYPE_FLOAT32);
    expect_bytes(bias, ISA_V3, ISA_SLOT_ADDR4, "38120000");
    ((struct bir_physical_ap *)bias)->pattern = PATTERN({ 1, 128 }, { 1, 2 });
    expect_refused(bias, ISA_V3, ISA_V10);
    teardown();
}
END_TEST

/* --- MX and gathers on v4 --- */

START_TEST(mx_operands_take_their_scale_along)
{
    setup(BIR_ARCH_CORE_V4);
    struct bir_location *data = new_location("data", BIR_MEMORY_SB, 32, 512),
                        *scale = new_location("scale", BIR_MEMORY_SB, 4, 128),
                        *dst = new_location("dst", BIR_MEMORY_PSUM, 128, 2048);
    data->base_partition = 32;
    data->addr_bytes = 0x1000;
    scale->base_partition = 36;
    scale->addr_bytes = 0x80;
    struct bir_instruction *inst = new_instruction(BIR_OP_MATMULT_MX, BIR_ENGINE_PE, "mm");
    const struct bir_pattern *p = PATTERN({ 128, 32 }, { 1, 128 }), *sp = PATTERN({ 128, 4 }, { 1, 128 });
    struct bir_argument *stationary = add(inst, BIR_ROLE_IN, data, p, 0, BIR_DTYPE_FLOAT8_E4M3FN_X4);
    struct bir_argument *moving = add(inst, BIR_ROLE_IN, data, p, 0, BIR_DTYPE_FLOAT8_E4M3FN_X4);
    expect_refused(stationary, ISA_V4, ISA_V16); /* no scale operand yet */
    struct bir_argument *s0 = add(inst, BIR_ROLE_IN, scale, sp, 0, BIR_DTYPE_FLOAT8_E8M0FNU);
    add(inst, BIR_ROLE_IN, scale, sp, 0, BIR_DTYPE_FLOAT8_E8M0FNU);
    add(inst, BIR_ROLE_OUT, dst, PATTERN({ 512, 128 }, { 1, 128 }), 0, BIR_DTYPE_FLOAT32);
    expect_bytes(stationary, ISA_V4, ISA_SLOT_MXMEM_PATTERN1D, "00108000800080000002010400000000"); /* E14 */
    expect_bytes(moving, ISA_V4, ISA_SLOT_MXMEM_PATTERN1D, "00108000800080000002010400000000");
    struct isa_operand operand;
    struct isa_problem problem;
    ck_assert_int_eq(isa_operand_encode(s0, 2, ISA_V4, &operand, &problem), ISA_NO_BYTES);
    expect_refused(stationary, ISA_V3, ISA_RULE_UNSUPPORTED);
    scale->base_partition = 37;
    expect_refused(stationary, ISA_V4, ISA_V16);
    scale->base_partition = 36;
    ((struct bir_physical_ap *)stationary)->pattern = PATTERN({ 128, 32 }, { 64, 2 }, { 1, 32 });
    expect_refused(stationary, ISA_V4, ISA_V16); /* not one run */
    ((struct bir_physical_ap *)stationary)->pattern = PATTERN({ 128, 32 }, { 32, 2 }, { 1, 32 });
    expect_bytes(stationary, ISA_V4, ISA_SLOT_MXMEM_PATTERN1D, "00108000800080000001010400000000");
    teardown();
}
END_TEST

static void make_gather(struct bir_argument *argument, int64_t arg_id)
{
    struct bir_argument_rare *rare = bir_argument_need_rare(module, argument);
    ck_assert_ptr_nonnull(rare);
    struct bir_dynamic_info *info = BIR_NEW(&module->arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_info);
    struct bir_dynamic_term *term = BIR_NEW(&module->arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_term);
    ck_assert(info && term);
    term->expr = pelican_indirect_arg(&module->expressions, arg_id);
    ck_assert_ptr_nonnull(term->expr);
    term->coef = 1;
    info->terms = term;
    info->n_terms = 1;
    info->actual = bir_argument_pattern(argument);
    rare->dynamic = info;
}

START_TEST(gathers_use_the_indirect_forms)
{
    setup(BIR_ARCH_CORE_V4);
    struct bir_location *data = new_location("data", BIR_MEMORY_SB, 32, 4096),
                        *index = new_location("index", BIR_MEMORY_SB, 32, 512);
    data->base_partition = index->base_partition = 32;
    data->addr_bytes = 0x2000;
    index->addr_bytes = 0x400;
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    struct bir_argument *a = add(inst, BIR_ROLE_IN, data, PATTERN({ 1024, 32 }, { 1, 96 }), 0, BIR_DTYPE_FLOAT32);
    make_gather(a, 1);
    expect_refused(a, ISA_V4, ISA_V15); /* no index vector */
    struct bir_argument *i =
        add(inst, BIR_ROLE_INDIRECTION, index, PATTERN({ 128, 32 }, { 1, 96 }), 0, BIR_DTYPE_UINT32);
    expect_bytes(a, ISA_V4, ISA_SLOT_MEM_PATTERN3D, "00048020002080006000000000000000"); /* E12 */
    expect_refused(a, ISA_V3, ISA_V11);
    index->addr_bytes = 0x402; /* the index vector is 4-byte aligned */
    i->dtype = BIR_DTYPE_UINT16;
    expect_refused(a, ISA_V4, ISA_V15);
    teardown();
}
END_TEST

START_TEST(unexpanded_runtime_offsets_are_refused)
{
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_SCALAR, BIR_ENGINE_DVE, "i");
    struct bir_argument *a = add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 128 }, { 1, 512 }), 0, BIR_DTYPE_FLOAT32);
    make_gather(a, 1);
    struct bir_dynamic_term *term = (struct bir_dynamic_term *)a->rare->dynamic->terms;
    term->expr = pelican_constant(&module->expressions, 5);
    expect_refused(a, ISA_V3, ISA_RULE_UNEXPANDED);
    teardown();
}
END_TEST

/* --- random operands against a model of 1.3 written down again --- */

START_TEST(random_operands_agree_with_the_arithmetic)
{
    static const enum bir_dtype dtypes[] = { BIR_DTYPE_UINT8, BIR_DTYPE_BFLOAT16, BIR_DTYPE_FLOAT32 };
    static const uint32_t sizes[] = { 1, 2, 4 };
    setup(BIR_ARCH_GEN3);
    struct bir_location *t = new_location("t", BIR_MEMORY_SB, 128, 2048);
    struct bir_instruction *inst = new_instruction(BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, "i");
    struct bir_physical_ap *ap =
        (struct bir_physical_ap *)add(inst, BIR_ROLE_IN, t, PATTERN({ 512, 1 }), 0, BIR_DTYPE_FLOAT32);
    uint64_t seed = 4242;
    uint32_t encoded = 0;
    for (int round = 0; round < 20000; round++) {
        size_t k = bir_random_below(&seed, 3);
        int64_t pitch = 64 * (1 + (int64_t)bir_random_below(&seed, 64)), dims[2] = { 128, pitch };
        int64_t row = pitch / sizes[k], rows = (int64_t)bir_random_below(&seed, 4) * 32,
                column = (int64_t)bir_random_below(&seed, (uint64_t)row);
        bool psum = bir_random_below(&seed, 2) == 1;
        t->type = psum ? BIR_MEMORY_PSUM : BIR_MEMORY_SB;
        t->bank = (int32_t)bir_random_below(&seed, 8);
        t->addr_bytes = 64 * bir_random_below(&seed, psum ? 32 : 3000);
        t->dims = bir_ints_get(module, dims, 2);
        struct bir_pair pairs[3] = { { row, 1 + (int64_t)bir_random_below(&seed, 32) },
                                     { (int64_t)bir_random_below(&seed, 400) - 100,
                                       1 + (int64_t)bir_random_below(&seed, 4) },
                                     { 1, 1 + (int64_t)bir_random_below(&seed, 20) } };
        ap->pattern = pattern(pairs, 3);
        ap->offset_elems = rows * row + column;
        ap->base.dtype = (uint8_t)dtypes[k];
        ck_assert_ptr_nonnull(t->dims);

        int64_t in_partition = (int64_t)t->addr_bytes + column * sizes[k] + (psum ? t->bank * 2048 : 0);
        int64_t far = pairs[1].step_elems * (pairs[1].num - 1), low = far < 0 ? far : 0,
                high = (far > 0 ? far : 0) + pairs[2].num - 1;
        bool fits =
            in_partition + low * sizes[k] >= 0 && in_partition + (high + 1) * sizes[k] <= (psum ? 16384 : 0x38000);
        struct isa_operand operand;
        struct isa_problem problem;
        enum isa_outcome outcome = isa_operand_encode(&ap->base, 0, ISA_V3, &operand, &problem);
        ck_assert_int_eq(outcome, fits ? ISA_ENCODED : ISA_REFUSED);
        if (!fits)
            continue;
        encoded++;
        uint32_t address = psum ? 0x2000000 + (uint32_t)rows * 0x8000 + (uint32_t)in_partition
                                : (uint32_t)rows * 0x40000 + (uint32_t)in_partition;
        ck_assert_uint_eq(isa_load_le(operand.bytes, 4), address);
        ck_assert_uint_eq(operand.partitions, (uint32_t)pairs[0].num);
    }
    ck_assert_uint_gt(encoded, 5000);
    teardown();
}
END_TEST

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

int main(void)
{
    const TTest *const tests[] = {
        example_e2_comes_from_a_module,
        offset_moves_rows_then_bytes,
        psum_uses_the_magnitude_of_the_bank,
        backwards_access_starts_at_its_first_element,
        partition_pair_is_the_row_pitch,
        a_location_without_shape_takes_the_row_from_the_pattern,
        backed_bytes_bound_the_walk_by_generation,
        unallocated_locations_are_refused,
        register_operands,
        matmult_operands_know_their_memories,
        rules_about_types_and_memories,
        symbolic_operands_do_not_reach_the_encoder,
        scalar_pointers_are_bare_addresses,
        mx_operands_take_their_scale_along,
        gathers_use_the_indirect_forms,
        unexpanded_runtime_offsets_are_refused,
        random_operands_agree_with_the_arithmetic,
        json_names_every_operand,
        every_refused_operand_is_reported,
        rules_over_two_sources,
        text_reads_without_a_manual,
        binary_output_is_framed,
        every_format_is_deterministic_and_cancels,
        architectures_without_encoder_are_named,
        explanations_tell_every_step,
        words_have_the_bytes_of_the_sheet,
    };
    return UNIT_RUN("isa_encode", tests);
}

#include "isa/operand.h"

#include "base/random.h"
#include "isa/encode.h"
#include "isa_module.h"

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
    struct bir_dynamic_term *term = (struct bir_dynamic_term *)bir_argument_dynamic(a)->terms;
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
    };
    return UNIT_RUN("isa_operand", tests);
}

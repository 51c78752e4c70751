/*
 * Object images: the layout tables against the copied ones, images of random operands against the documented offsets,
 * the round trip, refusals, hostile files, failing allocations. Offsets in this file are literals from the tables, not
 * taken from our structs.
 */
#include <stdbool.h>
#include <string.h>

#include "abi_random.h"
#include "alloc_fail.h"
#include "bir/abi_operand.h"
#include "bir/abi_print.h"
#include "isa_tsv.h"
#include "unit.h"

/* --- layouts --- */

static const struct bir_abi_layout *layout_called(const char *name)
{
    for (int i = 0; i < BIR_ABI_LAYOUT_COUNT; i++) {
        const struct bir_abi_layout *layout = bir_abi_layout_of((enum bir_abi_layout_id)i);
        if (strcmp(layout->name, name) == 0)
            return layout;
    }
    ck_abort_msg("no layout %s", name);
    return NULL;
}

static const struct bir_abi_row *row_called(const struct bir_abi_layout *layout, const char *member)
{
    for (uint32_t i = 0; i < layout->n_rows; i++)
        if (strcmp(layout->rows[i].member, member) == 0)
            return &layout->rows[i];
    ck_abort_msg("%s has no member %s", layout->name, member);
    return NULL;
}

/* Bytes of a type as the tables spell it; "..1CF" is a range from the offset on. */
static uint32_t bytes_of_type(const char *type, uint32_t offset)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = { { "ptr", 8 }, { "i32", 4 },        { "u32", 4 },     { "u8", 1 },      { "i64", 8 },
                  { "u64", 8 }, { "APPair[4]", 64 }, { "u64[4]", 32 }, { "i64[8]", 64 }, { "u64[1]", 8 } };
    if (strncmp(type, "..", 2) == 0)
        return (uint32_t)strtoul(type + 2, NULL, 16) + 1 - offset;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].bytes;
    ck_abort_msg("unknown type %s", type);
    return 0;
}

static bool is_signed_type(enum bir_abi_type type)
{
    return type == BIR_ABI_I32 || type == BIR_ABI_I64 || type == BIR_ABI_KIND || type == BIR_ABI_DTYPE ||
           type == BIR_ABI_ENGINE || type == BIR_ABI_DIM || type == BIR_ABI_TAG;
}

START_TEST(rows_are_those_of_the_tables)
{
    struct tsv tsv;
    bool listed[BIR_ABI_LAYOUT_COUNT][24] = { { false } };
    tsv_open(&tsv, "abi/layouts.tsv");
    while (tsv_next(&tsv)) {
        ck_assert_int_eq(tsv.columns, 5);
        const struct bir_abi_layout *layout = layout_called(tsv.column[0]);
        const struct bir_abi_row *row = row_called(layout, tsv.column[4]);
        uint32_t offset = (uint32_t)strtoul(tsv.column[1], NULL, 16);
        const char *type = tsv.column[2];
        ck_assert_msg(row->offset == offset, "%s.%s is at 0x%x, the table has 0x%x", layout->name, row->member,
                      row->offset, offset);
        ck_assert_msg(row->size_bytes == bytes_of_type(type, offset), "%s.%s has %u bytes, the table has a %s",
                      layout->name, row->member, row->size_bytes, type);
        ck_assert_msg((strcmp(type, "ptr") == 0) == (row->type == BIR_ABI_PTR || row->type == BIR_ABI_PARENT),
                      "%s.%s: a %s", layout->name, row->member, type);
        if (type[0] == 'i' && strchr(type, '[') == NULL)
            ck_assert_msg(is_signed_type(row->type), "%s.%s is signed", layout->name, row->member);
        ck_assert(!listed[layout->id][row - layout->rows]);
        listed[layout->id][row - layout->rows] = true;
    }
    ck_assert_int_gt(tsv.rows, 80);
    tsv_close(&tsv);
    for (int id = 0; id < BIR_ABI_LAYOUT_COUNT; id++) {
        const struct bir_abi_layout *layout = bir_abi_layout_of((enum bir_abi_layout_id)id);
        for (uint32_t i = 0; i < layout->n_rows; i++)
            ck_assert_msg(listed[id][i] || layout->rows[i].type == BIR_ABI_GAP, "no table has %s.%s", layout->name,
                          layout->rows[i].member);
    }
}
END_TEST

START_TEST(rows_leave_no_hole)
{
    for (int id = 0; id < BIR_ABI_LAYOUT_COUNT; id++) {
        const struct bir_abi_layout *layout = bir_abi_layout_of((enum bir_abi_layout_id)id);
        const struct bir_abi_layout *base = bir_abi_layout_of(layout->base);
        uint32_t at = base ? base->size_bytes : 0;
        for (uint32_t i = 0; i < layout->n_rows; i++) {
            ck_assert_msg(layout->rows[i].offset == at, "%s.%s", layout->name, layout->rows[i].member);
            at += layout->rows[i].size_bytes;
        }
        ck_assert_uint_eq(at, layout->size_bytes);
    }
}
END_TEST

START_TEST(sizes_are_those_of_the_tables)
{
    struct tsv tsv;
    tsv_open(&tsv, "abi/sizes.tsv");
    while (tsv_next(&tsv))
        ck_assert_uint_eq(layout_called(tsv.column[0])->size_bytes, strtoul(tsv.column[1], NULL, 16));
    ck_assert_int_gt(tsv.rows, 12);
    tsv_close(&tsv);
}
END_TEST

static void expect_spellings(char *names, const struct bir_abi_layout *layout)
{
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
        ck_assert_ptr_eq(bir_abi_layout_by_name(name, strlen(name), NULL), layout);
}

START_TEST(kinds_have_their_class_or_are_refused)
{
    struct tsv tsv;
    tsv_open(&tsv, "abi/kinds.tsv");
    while (tsv_next(&tsv)) {
        long ordinal = strtol(tsv.column[0], NULL, 10);
        const char *problem = NULL, *problem_by_name = NULL;
        const struct bir_abi_layout *layout = bir_abi_layout_by_ordinal(ordinal, &problem);
        ck_assert_ptr_eq(bir_abi_layout_by_name(tsv.column[0], strlen(tsv.column[0]), &problem_by_name), layout);
        if (strcmp(tsv.column[3], "-") != 0) {
            ck_assert_ptr_nonnull(layout);
            ck_assert_int_eq(layout->ordinal, ordinal);
            ck_assert_uint_eq(layout->size_bytes, strtoul(tsv.column[3], NULL, 16));
            ck_assert_str_eq(strrchr(layout->class_name, ':') + 1, tsv.column[1]);
            expect_spellings(tsv.column[2], layout);
            continue;
        }
        ck_assert_ptr_null(layout);
        ck_assert_str_eq(problem, ordinal == 12 ? "RegisterSet cannot be constructed" : "Unhandled argument kind");
        ck_assert_str_eq(problem_by_name, problem);
    }
    ck_assert_int_eq(tsv.rows, 13);
    tsv_close(&tsv);
    static const char *const unknown[] = { "", "physical", "physical_ap ", "appair", "register_sets", "-1", "0x1" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const char *problem = NULL;
        ck_assert_ptr_null(bir_abi_layout_by_name(unknown[i], strlen(unknown[i]), &problem));
        ck_assert_str_eq(problem, "Unsupported argument kind");
    }
    const char *problem = NULL;
    ck_assert_ptr_null(bir_abi_layout_by_name("register_set", 12, &problem));
    ck_assert_str_eq(problem, "RegisterSet cannot be constructed");
    ck_assert_ptr_null(bir_abi_layout_by_ordinal(13, NULL));
    ck_assert_ptr_null(bir_abi_layout_by_ordinal(-1, NULL));
    ck_assert_ptr_null(bir_abi_layout_of(BIR_ABI_NONE));
}
END_TEST

/* --- images --- */

/* Arena, diagnostics, and the images of one operand: composed, and read back and composed again. */
struct bench {
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_abi_space space;
    struct bir_abi_operand operand, again;
    struct bir_abi_image image, copy, second;
    struct bir_buf first_file, second_file;
};

static void bench_init(struct bench *b)
{
    memset(b, 0, sizeof *b);
    bir_arena_init(&b->arena, 0);
    bir_diags_init(&b->diags, &b->arena, 20);
    bir_buf_init(&b->first_file, 0);
    bir_buf_init(&b->second_file, 0);
}

static void bench_done(struct bench *b)
{
    bir_buf_deinit(&b->first_file);
    bir_buf_deinit(&b->second_file);
    bir_arena_deinit(&b->arena);
}

static enum bir_status write_again(struct bench *b)
{
    size_t at = 0;
    BIR_TRY(bir_abi_compose(&b->operand, &b->arena, &b->diags, &b->image));
    bir_abi_image_put(&b->image, &b->first_file);
    BIR_TRY(b->first_file.status);
    BIR_TRY(bir_abi_image_get((const uint8_t *)b->first_file.data, b->first_file.len, &at, b->operand.layout, &b->arena,
                              &b->diags, &b->copy));
    BIR_TRY(bir_abi_read(&b->copy, &b->arena, &b->diags, &b->again));
    BIR_TRY(bir_abi_compose(&b->again, &b->arena, &b->diags, &b->second));
    bir_abi_image_put(&b->second, &b->second_file);
    return b->second_file.status;
}

static enum bir_status round_trip(struct bench *b, uint64_t base, const struct bir_argument *arg)
{
    BIR_TRY(bir_abi_space_init(&b->space, base, &b->arena, &b->diags));
    BIR_TRY(bir_abi_describe(&b->space, arg, bir_argument_position(arg), &b->arena, &b->operand));
    return write_again(b);
}

static const char *message(const struct bir_diags *diags)
{
    return diags->first ? diags->first->message : "(no diagnostic)";
}

static uint64_t get(const struct bir_abi_segment *segment, uint32_t offset, uint32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, segment->bytes + offset, bytes);
    return value;
}

/* The vector whose data pointer stands at an offset: its bytes, in the object or in the part that holds them. */
static const uint8_t *items_of(const struct bir_abi_image *image, const struct bir_abi_segment *from,
                               uint32_t data_offset)
{
    uint64_t data = get(from, data_offset, 8);
    const struct bir_abi_segment *segment = bir_abi_segment_at(image, data);
    ck_assert_ptr_nonnull(segment);
    return segment->bytes + (data - segment->address);
}

static void expect_pattern(const struct bir_abi_image *image, const struct bir_abi_segment *from, uint32_t data_offset,
                           const struct bir_pattern *pattern)
{
    ck_assert_uint_eq(get(from, data_offset + 8, 4), pattern->rank);
    ck_assert_uint_eq(get(from, data_offset + 12, 4), pattern->rank > 4 ? pattern->rank : 4);
    const uint8_t *items = items_of(image, from, data_offset);
    if (pattern->rank <= 4)
        ck_assert_ptr_eq(items, from->bytes + data_offset + 0x10);
    ck_assert_mem_eq(items, pattern->pairs, pattern->rank * 16); /* step i64, num i64 */
}

static void expect_symbol(const struct bir_abi_image *image, uint64_t address, const char *class, const char *name,
                          uint64_t displacement)
{
    const struct bir_abi_symbol *symbol = bir_abi_symbol_at(image, address);
    ck_assert_ptr_nonnull(symbol);
    ck_assert_str_eq(bir_abi_symbol_class_name(symbol->class), class);
    ck_assert_msg(symbol->name_len == strlen(name) && memcmp(symbol->name, name, symbol->name_len) == 0, "%.*s",
                  (int)symbol->name_len, symbol->name);
    ck_assert_uint_eq(address - symbol->address, displacement);
}

static void expect_base(const struct bir_abi_image *image, const struct bir_argument *arg)
{
    const struct bir_abi_segment *object = image->segments;
    static const uint64_t heads[] = { 0xA0, 0xB0, 0xC0 };
    ck_assert_uint_eq(get(object, 0x18, 4), arg->kind);
    ck_assert_uint_eq(get(object, 0x28, 4), bir_argument_parent(arg)->index);
    ck_assert_uint_eq(get(object, 0x2C, 1), arg->role == BIR_ROLE_OUT && arg->location);
    ck_assert_uint_eq(get(object, 0x30, 4), arg->dtype);
    ck_assert_uint_eq(get(object, 0x40, 1), arg->location != NULL);
    expect_symbol(image, get(object, 0x20, 8), "instruction", "copy", 0);
    if (!bir_argument_next(arg))
        expect_symbol(image, get(object, 0x08, 8), "instruction", "copy", heads[arg->role]);
    if (!bir_argument_prev(arg))
        expect_symbol(image, get(object, 0x10, 8), "instruction", "copy", heads[arg->role]);
    else
        ck_assert_int_eq(bir_abi_symbol_at(image, get(object, 0x10, 8))->class, BIR_ABI_SYMBOL_OPERAND);
    if (!arg->location)
        ck_assert_uint_eq(get(object, 0x38, 8), 0);
    else
        expect_symbol(image, get(object, 0x38, 8),
                      arg->location->tag == BIR_STORAGE_SET        ? "location set"
                      : arg->location->tag == BIR_STORAGE_REGISTER ? "register"
                                                                   : "location",
                      arg->location->name->text, 0);
}

static void expect_shape(const struct bir_abi_image *image, const struct bir_argument *arg)
{
    const struct bir_ints *shape = bir_argument_shape(arg);
    ck_assert_uint_eq(get(image->segments, 0xA8, 4), shape ? shape->count : 0);
    if (shape && shape->count > 0)
        ck_assert_mem_eq(items_of(image, image->segments, 0xA0), shape->items, shape->count * 8);
}

/* Both lists of an expression's axes ascend by creation, which is outermost first here. */
static void expect_axes(const struct bir_abi_image *image, const struct bir_abi_segment *from, uint32_t offset)
{
    uint64_t count = get(from, offset + 0x10, 4);
    const uint8_t *items = count > 0 ? items_of(image, from, offset + 8) : NULL;
    char previous = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t address;
        memcpy(&address, items + i * 8, 8);
        const struct bir_abi_symbol *symbol = bir_abi_symbol_at(image, address);
        ck_assert_int_eq(symbol->class, BIR_ABI_SYMBOL_AXIS);
        ck_assert_int_gt(symbol->name[1], previous);
        previous = symbol->name[1];
    }
}

static void expect_dynamic(const struct bir_abi_image *image, const struct bir_dynamic_info *info)
{
    uint64_t address = get(image->segments, 0x1D8, 8);
    if (!info) {
        ck_assert_uint_eq(address, 0);
        return;
    }
    const struct bir_abi_segment *companion = bir_abi_segment_at(image, address);
    ck_assert_uint_eq(companion->address, address);
    expect_pattern(image, companion, 0, info->actual);
    ck_assert_int_eq((int64_t)get(companion, 0x68, 8), info->c_elems);
    ck_assert_int_eq((int32_t)get(companion, 0x70, 4), info->indirect_dim_max_index);
    ck_assert_uint_eq(get(companion, 0x74, 4), info->indirect_dim);
    ck_assert_int_eq((int32_t)get(companion, 0xF0, 4), -1);
    ck_assert_uint_eq(get(companion, 0x58, 8) - get(companion, 0x50, 8), info->n_terms * UINT64_C(0x28));
    const struct bir_abi_segment *terms = info->n_terms ? bir_abi_segment_at(image, get(companion, 0x50, 8)) : NULL;
    for (uint32_t i = 0; i < info->n_terms; i++) {
        ck_assert_int_eq((int64_t)get(terms, i * 0x28 + 0x20, 8), info->terms[i].coef);
        expect_axes(image, terms, i * 0x28);
    }
}

static void expect_register(const struct bir_abi_image *image, uint32_t offset, const struct bir_register *reg)
{
    if (reg)
        expect_symbol(image, get(image->segments, offset, 8), "register", reg->base.name->text, 0);
    else
        ck_assert_uint_eq(get(image->segments, offset, 8), 0);
}

static void expect_access(const struct bir_abi_image *image, const struct bir_argument *arg)
{
    const struct bir_abi_segment *object = image->segments;
    expect_pattern(image, object, 0x50, bir_argument_pattern(arg));
    expect_shape(image, arg);
    if (arg->kind == BIR_ARG_PHYSICAL_AP) {
        ck_assert_uint_eq(get(object, 0xD0, 8), (uint64_t)((const struct bir_physical_ap *)arg)->offset_elems);
        expect_dynamic(image, bir_argument_dynamic(arg));
    } else if (arg->kind == BIR_ARG_SYMBOLIC_AP) {
        const struct bir_symbolic_ap *ap = (const struct bir_symbolic_ap *)arg;
        ck_assert_int_eq((int32_t)get(object, 0xD0, 4), ap->tensor_indirect_arg_id);
        ck_assert_int_eq((int32_t)get(object, 0xD4, 4), bir_argument_rare_of(arg)->num_tensor_indirect_indices);
        ck_assert_uint_eq(get(object, 0xE8, 8) - get(object, 0xE0, 8), ap->n_addrs * UINT64_C(0x20));
        for (uint32_t i = 0; i < ap->n_addrs; i++)
            expect_axes(image, bir_abi_segment_at(image, get(object, 0xE0, 8)), i * 0x20);
    } else {
        const struct bir_register_ap *ap = (const struct bir_register_ap *)arg;
        expect_register(image, 0xE8, ap->address);
        expect_register(image, 0xF0, ap->offset);
        expect_register(image, 0xF8, ap->sub_tensor);
        ck_assert_int_eq((int64_t)get(object, 0x100, 8), ap->const_offset_elems);
        ck_assert_int_eq((int32_t)get(object, 0x108, 4), ap->const_sub_tensor_id);
        ck_assert_uint_eq(get(object, 0x114, 1), ap->address_is_offset);
    }
}

static void expect_immediate(const struct bir_abi_image *image, const struct bir_argument *arg)
{
    const struct bir_abi_segment *object = image->segments;
    if (arg->kind == BIR_ARG_IMM_VALUE) {
        uint64_t bits = ((const struct bir_imm_value *)arg)->bits;
        uint32_t width = bir_dtype_bytes(arg->dtype);
        ck_assert_mem_eq(object->bytes + 0x48, &bits, width);
        for (uint32_t i = width; i < 8; i++)
            ck_assert_uint_eq(object->bytes[0x48 + i], 0);
    } else if (arg->kind == BIR_ARG_SYMBOLIC_IMM_VALUE) {
        ck_assert_int_eq(bir_abi_symbol_at(image, get(object, 0x68, 8))->class, BIR_ABI_SYMBOL_EXPRESSION);
        expect_axes(image, object, 0x68);
        ck_assert_uint_eq(get(object, 0xB8, 8), object->address + 0xA8);
        ck_assert_uint_eq(get(object, 0xC0, 8), object->address + 0xA8);
    } else {
        const struct bir_imm_array *array = (const struct bir_imm_array *)arg;
        ck_assert_uint_eq(get(object, 0x50, 4), array->count);
        ck_assert_uint_eq(get(object, 0x54, 4), array->count > 8 ? array->count : 8);
        if (array->count > 0)
            ck_assert_mem_eq(items_of(image, object, 0x48), array->bits, array->count * 8);
    }
}

#define ROUNDS 200

/* One spelling a loop of the test: what is written stands where the tables say, and reading and writing again gives the
 * same bytes. */
START_TEST(images_hold_operands_and_round_trip)
{
    const char *spelling = abi_spellings[_i];
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        struct abi_fixture f;
        struct bench b;
        struct bir_argument *arg = NULL;
        ck_assert(abi_fixture_make(&f, seed * 64 + (uint64_t)_i));
        f.inst->index = (uint32_t)abi_below(&f, 100000);
        for (uint64_t i = abi_below(&f, 4) + 1, at = abi_below(&f, i); i > 0; i--) {
            struct bir_argument *made = abi_add(&f, spelling);
            arg = i - 1 == at ? made : arg;
        }
        bench_init(&b);
        uint64_t base = (abi_below(&f, UINT64_C(1) << 40) + 1) * 16;
        enum bir_status status = round_trip(&b, base, arg);
        ck_assert_msg(status == BIR_OK, "seed %d: %s", (int)seed, message(&b.diags));
        ck_assert_uint_eq(b.image.segments[0].address, base);
        ck_assert_uint_eq(b.first_file.len, b.second_file.len);
        ck_assert_mem_eq(b.first_file.data, b.second_file.data, b.first_file.len);
        expect_base(&b.image, arg);
        if (bir_argument_class_of((enum bir_argument_kind)arg->kind)->has_pattern)
            expect_access(&b.image, arg);
        else if (arg->kind != BIR_ARG_REGISTER_ACCESS)
            expect_immediate(&b.image, arg);
        bench_done(&b);
        bir_module_free(f.module);
    }
}
END_TEST

START_TEST(codegen_operands_and_companions_round_trip)
{
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        struct abi_fixture f;
        struct bench b;
        ck_assert(abi_fixture_make(&f, seed));
        struct bir_physical_ap *ap = (struct bir_physical_ap *)abi_add(&f, "physical_ap");
        bench_init(&b);
        ck_assert_int_eq(bir_abi_space_init(&b.space, 0x1000, &b.arena, &b.diags), BIR_OK);
        ck_assert_int_eq(bir_abi_describe_inst_arg(&b.space, ap, &b.arena, &b.operand), BIR_OK);
        ck_assert_msg(write_again(&b) == BIR_OK, "%s", message(&b.diags));
        ck_assert_mem_eq(b.first_file.data, b.second_file.data, b.first_file.len);
        const struct bir_abi_segment *object = b.image.segments;
        expect_symbol(&b.image, get(object, 0, 8), "location", "a", 0);
        expect_pattern(&b.image, object, 0x08, ap->pattern);
        ck_assert_uint_eq(get(object, 0x58, 4), (uint64_t)ap->offset_elems);
        ck_assert_uint_eq(get(object, 0x5C, 4), ap->base.dtype);
        ck_assert_uint_eq(get(object, 0x60, 1), 1);
        bench_done(&b);
        bir_module_free(f.module);
    }
    struct bir_abi_appair pairs[] = { { 512, 128 }, { 1, 4 } };
    struct bench b;
    bench_init(&b);
    b.operand = (struct bir_abi_operand){ .layout = bir_abi_layout_of(BIR_ABI_DYNAMIC_AP_INFO), .address = 0x4000 };
    b.operand.u.dynamic = (struct bir_abi_dynamic){ .actual = { .items = pairs, .count = 2 }, .c_elems = -7 };
    ck_assert_int_eq(write_again(&b), BIR_OK);
    ck_assert_int_eq((int64_t)get(b.second.segments, 0x68, 8), -7);
    ck_assert_mem_eq(b.first_file.data, b.second_file.data, b.first_file.len);
    bench_done(&b);
}
END_TEST

/* The bytes of the object alone: its address comes from the pointers into itself. */
START_TEST(bare_bytes_know_their_address)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct abi_fixture f;
        struct bench b;
        struct bir_abi_image bare;
        ck_assert(abi_fixture_make(&f, seed * 64 + (uint64_t)_i));
        struct bir_argument *arg = abi_add(&f, abi_spellings[_i]);
        bench_init(&b);
        ck_assert_int_eq(round_trip(&b, 0x7000, arg), BIR_OK);
        const struct bir_abi_segment *object = b.image.segments;
        ck_assert_int_eq(bir_abi_image_bare(object->bytes, object->layout->size_bytes, seed % 2 ? object->layout : NULL,
                                            &b.arena, &b.diags, &bare),
                         BIR_OK);
        ck_assert_ptr_eq(bare.segments[0].layout, object->layout);
        bool has_inline = object->layout->base == BIR_ABI_ACCESS_PATTERN
                              ? get(object, 0x5C, 4) == 4 || get(object, 0xAC, 4) == 4
                              : (arg->kind == BIR_ARG_IMM_ARRAY && get(object, 0x54, 4) == 8) ||
                                    (arg->kind == BIR_ARG_SYMBOLIC_IMM_VALUE && get(object, 0x7C, 4) == 1);
        ck_assert_uint_eq(bare.segments[0].address, has_inline ? 0x7000 : 0);
        if (b.image.n_segments == 1)
            ck_assert_msg(bir_abi_read(&bare, &b.arena, &b.diags, &b.again) == BIR_OK, "%s", message(&b.diags));
        bench_done(&b);
        bir_module_free(f.module);
    }
}
END_TEST

/* --- refusals --- */

static void expect_refused(const struct bench *b, enum bir_status status, const char *code, const char *text)
{
    ck_assert_int_eq(status, BIR_INVALID);
    ck_assert_str_eq(b->diags.first->code, code);
    ck_assert_msg(strstr(b->diags.first->message, text) != NULL, "%s", b->diags.first->message);
}

/* What is wrong with an operand, and what the refusal says. */
static const struct {
    const char *spelling;
    int kind, dtype;
    bool orphan;
    const char *code, *text;
} bad_operands[] = {
    { "imm_value", 12, -1, false, "abi-kind", "RegisterSet cannot be constructed" },
    { "imm_value", 0, -1, false, "abi-kind", "Unhandled argument kind 0" },
    { "imm_value", 4, -1, false, "abi-kind", "Unhandled argument kind 4" },
    { "imm_value", 5, -1, false, "abi-kind", "Unhandled argument kind 5" },
    { "imm_value", 9, -1, false, "abi-kind", "Unhandled argument kind 9" },
    { "imm_value", 10, -1, false, "abi-kind", "Unhandled argument kind 10" },
    { "imm_value", 13, -1, false, "abi-kind", "Unhandled argument kind 13" },
    { "physical_ap", -1, BIR_ENUM_UNKNOWN, false, "abi-dtype", "Unknown dtype" },
    { "imm_value", -1, BIR_DTYPE_FLOAT8E4, false, "abi-dtype", "unsupported dtype" },
    { "imm_array", -1, BIR_DTYPE_FLOAT32R, false, "abi-dtype", "unsupported dtype" },
    { "register_access", -1, -1, true, "abi-parent", "NULL Parent Instruction for Argument!" },
};

START_TEST(operands_without_object_are_refused)
{
    struct abi_fixture f;
    struct bench b;
    ck_assert(abi_fixture_make(&f, 1));
    struct bir_argument *arg = abi_add(&f, bad_operands[_i].spelling);
    arg->kind = bad_operands[_i].kind >= 0 ? (uint8_t)bad_operands[_i].kind : arg->kind;
    arg->dtype = bad_operands[_i].dtype >= 0 ? (uint8_t)bad_operands[_i].dtype : arg->dtype;
    arg->parent = bad_operands[_i].orphan ? 0 : arg->parent;
    arg->source_offset = 17;
    bench_init(&b);
    ck_assert_int_eq(bir_abi_space_init(&b.space, 16, &b.arena, &b.diags), BIR_OK);
    enum bir_status status = bir_abi_describe(&b.space, arg, 0, &b.arena, &b.operand);
    expect_refused(&b, status, bad_operands[_i].code, bad_operands[_i].text);
    ck_assert_int_eq(b.diags.first->offset, 17);
    bench_done(&b);
    bir_module_free(f.module);
}
END_TEST

START_TEST(numbers_that_fit_no_field_are_refused)
{
    struct abi_fixture f;
    struct bench b;
    const struct bir_pair pair = { 1, 1 };
    ck_assert(abi_fixture_make(&f, 1));
    struct bir_physical_ap *ap =
        bir_add_physical_ap(f.module, f.inst, BIR_ROLE_IN, f.location, bir_pattern_get(f.module, &pair, 1),
                            INT64_C(1) << 31, BIR_DTYPE_INT8);
    struct bir_dynamic_info info = { .actual = ap->pattern, .indirect_dim_max_index = INT64_C(1) << 31 };
    bench_init(&b);
    ck_assert_int_eq(bir_abi_space_init(&b.space, 16, &b.arena, &b.diags), BIR_OK);
    ck_assert_int_eq(bir_abi_describe(&b.space, &ap->base, 0, &b.arena, &b.operand), BIR_OK);
    expect_refused(&b, bir_abi_describe_inst_arg(&b.space, ap, &b.arena, &b.operand), "abi-range", "2147483648");
    bir_argument_need_rare(f.module, &ap->base)->dynamic = &info;
    ck_assert_int_eq(bir_abi_describe(&b.space, &ap->base, 0, &b.arena, &b.operand), BIR_INVALID);
    info.indirect_dim_max_index--;
    ck_assert_int_eq(bir_abi_describe(&b.space, &ap->base, 0, &b.arena, &b.operand), BIR_OK);
    f.inst->index = UINT32_C(1) << 31;
    ck_assert_int_eq(bir_abi_describe(&b.space, &ap->base, 0, &b.arena, &b.operand), BIR_INVALID);
    bench_done(&b);
    bir_module_free(f.module);
}
END_TEST

START_TEST(addresses_are_bounded)
{
    struct abi_fixture f;
    struct bench b;
    ck_assert(abi_fixture_make(&f, 1));
    struct bir_argument *arg = abi_add(&f, "register_access");
    bench_init(&b);
    ck_assert_int_eq(bir_abi_space_init(&b.space, 0, &b.arena, &b.diags), BIR_INVALID);
    ck_assert_int_eq(bir_abi_space_init(&b.space, 8, &b.arena, &b.diags), BIR_INVALID);
    ck_assert_int_eq(bir_abi_space_init(&b.space, UINT64_MAX - 0xFF, &b.arena, &b.diags), BIR_OK);
    ck_assert_int_eq(bir_abi_describe(&b.space, arg, 0, &b.arena, &b.operand), BIR_LIMIT);
    bench_done(&b);
    bir_module_free(f.module);
}
END_TEST

/* One byte string of the object changed after composing. */
static const struct {
    const char *spelling;
    uint32_t offset, size;
    uint64_t value;
    const char *code, *text;
} bad_objects[] = {
    { "register_access", 0x18, 4, 12, "abi-kind", "RegisterSet cannot be constructed" },
    { "register_access", 0x18, 4, 4, "abi-kind", "Unhandled argument kind 4" },
    { "register_access", 0x18, 4, 0, "abi-kind", "Unhandled argument kind 0" },
    { "register_access", 0x18, 4, 1, "abi-kind", "kind 1 (physical_ap)" },
    { "register_access", 0x20, 8, 0, "abi-parent", "NULL Parent Instruction for Argument!" },
    { "register_access", 0x2C, 1, 2, "abi-range", "is_output is 2" },
    { "register_access", 0x40, 1, 255, "abi-range", "active is 255" },
    { "register_access", 0x30, 4, 20, "abi-dtype", "Unknown dtype 20" },
    { "register_access", 0x30, 4, UINT32_MAX, "abi-dtype", "Unknown dtype -1" },
    { "imm_value", 0x30, 4, BIR_DTYPE_FLOAT8E5, "abi-dtype", "unsupported dtype float8e5" },
    { "physical_ap", 0x58, 4, 99, "abi-vector", "size 99 and capacity" },
    { "physical_ap", 0x50, 8, 0x999, "abi-vector", "does not hold" },
    { "physical_ap", 0x1D8, 8, 0x999, "abi-vector", "dynamic_ap_info" },
    { "symbolic_ap", 0xE8, 8, 0, "abi-vector", "not a whole number" },
    { "symbolic_ap", 0xE0, 8, 1, "abi-vector", "not a whole number" },
    { "register_ap", 0x114, 1, 3, "abi-range", "is_regloc_offset is 3" },
    { "imm_array", 0x50, 4, 1000, "abi-vector", "value_array" },
};

START_TEST(objects_that_contradict_the_tables_are_refused)
{
    struct abi_fixture f;
    struct bench b;
    size_t at = 0;
    uint64_t seed = 3; /* both have items */
    ck_assert(abi_fixture_make(&f, seed));
    struct bir_argument *arg;
    do
        arg = abi_add(&f, bad_objects[_i].spelling);
    while (arg->kind == BIR_ARG_SYMBOLIC_AP && ((struct bir_symbolic_ap *)arg)->n_addrs == 0);
    bench_init(&b);
    ck_assert_int_eq(round_trip(&b, 0x1000, arg), BIR_OK);
    /* The object's bytes follow the headers of the file and of its segment. */
    memcpy(b.first_file.data + 32 + bad_objects[_i].offset, &bad_objects[_i].value, bad_objects[_i].size);
    enum bir_status status =
        bir_abi_image_get((const uint8_t *)b.first_file.data, b.first_file.len, &at, NULL, &b.arena, &b.diags, &b.copy);
    if (status == BIR_OK)
        status = bir_abi_read(&b.copy, &b.arena, &b.diags, &b.again);
    expect_refused(&b, status, bad_objects[_i].code, bad_objects[_i].text);
    bench_done(&b);
    bir_module_free(f.module);
}
END_TEST

START_TEST(a_part_belongs_to_one_vector)
{
    struct bench b;
    struct bir_abi_ref axis[2] = { { NULL, 64 }, { NULL, 80 } };
    struct bir_abi_symbol parent = { 0x100000, 16, BIR_ABI_SYMBOL_INSTRUCTION, "i", 1 };
    struct bir_abi_expr exprs[2] = { { .axes = { 0x9000, axis, 2 } }, { .axes = { 0x9100, axis, 2 } } };
    bench_init(&b);
    b.operand = (struct bir_abi_operand){ .layout = bir_abi_layout_of(BIR_ABI_SYMBOLIC_AP), .address = 0x1000 };
    b.operand.parent.symbol = &parent;
    b.operand.u.symbolic.addrs = (struct bir_abi_expr_list){ 0x8000, exprs, 2 };
    ck_assert_msg(write_again(&b) == BIR_OK, "%s", message(&b.diags));
    uint64_t first = 0x9000;
    memcpy((uint8_t *)b.copy.segments[1].bytes + 0x20 + 8, &first, 8); /* data of the second list of axes */
    expect_refused(&b, bir_abi_read(&b.copy, &b.arena, &b.diags, &b.again), "abi-vector", "another vector");
    exprs[1].axes.address = 0x9008;
    ck_assert_int_eq(bir_abi_compose(&b.operand, &b.arena, &b.diags, &b.image), BIR_INVALID);
    exprs[1].axes.address = 0x10;
    ck_assert_int_eq(bir_abi_compose(&b.operand, &b.arena, &b.diags, &b.image), BIR_INVALID);
    bench_done(&b);
}
END_TEST

/* --- hostile files --- */

static void look_at(const uint8_t *bytes, size_t len)
{
    struct bench b;
    struct bir_buf text;
    struct bir_json_writer w;
    size_t at = 0;
    bench_init(&b);
    bir_buf_init(&text, 0);
    if (bir_abi_image_get(bytes, len, &at, NULL, &b.arena, &b.diags, &b.copy) == BIR_OK) {
        ck_assert_uint_le(at, len);
        bir_abi_image_text(&b.copy, &text);
        bir_json_writer_init(&w, &text, 0);
        bir_abi_image_json(&b.copy, &w);
        ck_assert_int_eq(text.status, BIR_OK);
        if (bir_abi_read(&b.copy, &b.arena, &b.diags, &b.again) == BIR_OK)
            (void)!bir_abi_compose(&b.again, &b.arena, &b.diags, &b.second);
    } else {
        ck_assert_uint_ge(b.diags.errors, 1);
    }
    bir_buf_deinit(&text);
    bench_done(&b);
}

START_TEST(no_cut_or_changed_file_does_harm)
{
    struct abi_fixture f;
    struct bench b;
    ck_assert(abi_fixture_make(&f, 11 + (uint64_t)_i));
    struct bir_argument *arg = abi_add(&f, abi_spellings[_i]);
    bench_init(&b);
    ck_assert_int_eq(round_trip(&b, 0x1000, arg), BIR_OK);
    uint8_t *bytes = (uint8_t *)b.first_file.data;
    size_t len = b.first_file.len;
    for (size_t cut = 0; cut < len; cut++) {
        size_t at = 0;
        uint8_t *shorter = malloc(cut + 1); /* so that a sanitizer sees a byte too far */
        memcpy(shorter, bytes, cut);
        bir_arena_deinit(&b.arena);
        bir_diags_init(&b.diags, &b.arena, 20);
        ck_assert_int_eq(bir_abi_image_get(shorter, cut, &at, NULL, &b.arena, &b.diags, &b.copy), BIR_INVALID);
        free(shorter);
    }
    for (size_t i = 0; i < len; i++) {
        static const uint8_t masks[] = { 0x01, 0x80, 0xFF };
        for (size_t m = 0; m < sizeof masks; m++) {
            bytes[i] ^= masks[m];
            look_at(bytes, len);
            bytes[i] ^= masks[m];
        }
    }
    bench_done(&b);
    bir_module_free(f.module);
}
END_TEST

START_TEST(bare_bytes_of_the_wrong_length_are_refused)
{
    uint8_t bytes[0x200] = { 0 };
    struct bench b;
    bench_init(&b);
    bytes[0x18] = 6; /* imm_value: 0x50 bytes */
    for (size_t len = 0; len <= sizeof bytes; len++) {
        enum bir_status status = bir_abi_image_bare(bytes, len, NULL, &b.arena, &b.diags, &b.image);
        ck_assert_int_eq(status, len == 0x50 ? BIR_OK : BIR_INVALID);
    }
    ck_assert_str_eq(b.diags.first->code, "abi-size");
    bytes[0x18] = 12;
    ck_assert_int_eq(bir_abi_image_bare(bytes, 0x48, NULL, &b.arena, &b.diags, &b.image), BIR_INVALID);
    bench_done(&b);
}
END_TEST

/* --- printing --- */

struct counted {
    uint32_t next;
    uint32_t fields;
};

static void count_field(void *user, const struct bir_abi_segment *segment, const struct bir_abi_field *field)
{
    struct counted *counted = user;
    ck_assert_uint_eq(field->offset, counted->next);
    ck_assert_ptr_eq(field->bytes, segment->bytes + field->offset);
    counted->next += field->size_bytes;
    counted->fields++;
}

START_TEST(fields_cover_every_byte)
{
    static const uint8_t bytes[3 * 0x1E0] = { 0 };
    for (int id = 0; id < BIR_ABI_LAYOUT_COUNT; id++)
        for (uint32_t count = 1; count <= 3; count += 2) {
            struct bir_abi_segment segment = { 0, bir_abi_layout_of((enum bir_abi_layout_id)id), count, bytes };
            struct counted counted = { 0, 0 };
            bir_abi_each_field(&segment, count_field, &counted);
            ck_assert_uint_eq(counted.next, count * segment.layout->size_bytes);
            ck_assert_uint_gt(counted.fields, 0);
        }
}
END_TEST

/* --- memory --- */

static enum bir_status whole_way(const char *spelling, struct bir_buf *out)
{
    struct abi_fixture f;
    struct bench b;
    struct bir_json_writer w;
    enum bir_status status = BIR_NOMEM;
    bench_init(&b);
    if (abi_fixture_make(&f, 5)) {
        struct bir_argument *arg = abi_add(&f, spelling);
        status = arg && abi_add(&f, spelling) ? round_trip(&b, 0x1000, arg) : BIR_NOMEM;
    }
    if (status == BIR_OK) {
        bir_abi_image_text(&b.second, out);
        bir_json_writer_init(&w, out, 2);
        bir_abi_image_json(&b.second, &w);
        status = out->status;
    }
    bench_done(&b);
    bir_module_free(f.module);
    return status;
}

START_TEST(every_allocation_may_fail)
{
    for (long n = 1;; n++) {
        struct bir_buf out;
        bir_buf_init(&out, 0);
        long live = alloc_live();
        alloc_fail_at(n);
        enum bir_status status = whole_way(abi_spellings[_i], &out);
        bir_buf_deinit(&out);
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        long left = alloc_live() - live;
        ck_assert_msg(left == 0, "allocation %ld: %ld blocks leaked", n, left);
        ck_assert_msg(status == (fired ? BIR_NOMEM : BIR_OK), "allocation %ld: status %d", n, (int)status);
        if (!fired)
            break;
    }
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("abi");
    TCase *tests = tcase_create("abi");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, rows_are_those_of_the_tables);
    tcase_add_test(tests, rows_leave_no_hole);
    tcase_add_test(tests, sizes_are_those_of_the_tables);
    tcase_add_test(tests, kinds_have_their_class_or_are_refused);
    tcase_add_loop_test(tests, images_hold_operands_and_round_trip, 0, ABI_SPELLINGS);
    tcase_add_test(tests, codegen_operands_and_companions_round_trip);
    tcase_add_loop_test(tests, bare_bytes_know_their_address, 0, ABI_SPELLINGS);
    tcase_add_loop_test(tests, operands_without_object_are_refused, 0, COUNT(bad_operands));
    tcase_add_test(tests, numbers_that_fit_no_field_are_refused);
    tcase_add_test(tests, addresses_are_bounded);
    tcase_add_loop_test(tests, objects_that_contradict_the_tables_are_refused, 0, COUNT(bad_objects));
    tcase_add_test(tests, a_part_belongs_to_one_vector);
    tcase_add_loop_test(tests, no_cut_or_changed_file_does_harm, 0, ABI_SPELLINGS);
    tcase_add_test(tests, bare_bytes_of_the_wrong_length_are_refused);
    tcase_add_test(tests, fields_cover_every_byte);
    tcase_add_loop_test(tests, every_allocation_may_fail, 0, ABI_SPELLINGS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

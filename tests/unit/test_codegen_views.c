/*
 * Views: the bytes that random TensorSram and TensorHbm operands touch, counted once from the view's fields and once
 * from the BIR operand and its location's address; which views share a location; joining placed tensors; refusals.
 */
#include "base/random.h"
#include "codegen_text.h"

enum { ROW_BYTES = 0x4000, ROWS = 128, HBM_BYTES = 0x8000 };

/* --- trees --- */

static struct klr_node *node_new(struct codegen_case *c, enum klr_type type, unsigned ctor)
{
    uint32_t fields = klr_field_count(type, ctor);
    struct klr_node *node =
        bir_arena_alloc(&c->arena, BIR_MEM_OTHER, sizeof *node + (size_t)fields * sizeof(union klr_slot));
    ck_assert_ptr_nonnull(node);
    node->type = (uint8_t)type;
    node->ctor = (uint8_t)ctor;
    return node;
}

static struct klr_list *list_new(struct codegen_case *c, uint64_t count)
{
    struct klr_list *list = bir_arena_alloc(&c->arena, BIR_MEM_OTHER, sizeof *list + count * sizeof(union klr_slot));
    ck_assert_ptr_nonnull(list);
    list->count = count;
    return list;
}

/* What a test says of a view; of an HBM view `start` is the address and `partitions` are not used. */
struct view {
    unsigned arm; /* KLR_TensorRef_sbuf, _psum or _hbm */
    const char *name;
    uint32_t dtype;
    uint64_t first_partition, partitions, start;
    uint32_t rank; /* of the pairs, so without partitions */
    struct bir_pair pairs[3];
};

static struct klr_node *view_ref(struct codegen_case *c, const struct view *v)
{
    bool hbm = v->arm == KLR_TensorRef_hbm;
    struct klr_node *ref = node_new(c, KLR_TYPE_TensorRef, v->arm);
    struct klr_node *node = node_new(c, hbm ? KLR_TYPE_TensorHbm : KLR_TYPE_TensorSram, 0);
    struct klr_list *pairs = list_new(c, v->rank);
    for (uint32_t k = 0; k < v->rank; k++) {
        struct klr_node *pair = node_new(c, KLR_TYPE_APPair, 0);
        pair->fields[KLR_APPair_step].integer = v->pairs[k].step_elems;
        pair->fields[KLR_APPair_num].nat = (uint64_t)v->pairs[k].num;
        pair->fields[KLR_APPair_offset].nat = 7; /* already in the start */
        pairs->items[k].node = pair;
    }
    const struct bir_str *name = bir_intern_cstr(&c->strings, v->name);
    if (hbm) {
        node->fields[KLR_TensorHbm_name].string = name;
        node->fields[KLR_TensorHbm_dtype].enumerator = v->dtype;
        node->fields[KLR_TensorHbm_address].nat = v->start;
        node->fields[KLR_TensorHbm_dims].list = pairs;
    } else {
        node->fields[KLR_TensorSram_name].string = name;
        node->fields[KLR_TensorSram_dtype].enumerator = v->dtype;
        node->fields[KLR_TensorSram_parNum].nat = v->partitions;
        node->fields[KLR_TensorSram_pattern].list = pairs;
        node->fields[KLR_TensorSram_parOffset].nat = v->first_partition;
        node->fields[KLR_TensorSram_freeOffset].nat = v->start;
    }
    ref->fields[KLR_TensorRef_sbuf_view].node = node;
    return ref;
}

/* The TensorName that the statement, a copy, reads. */
static const struct klr_node *source_tensor(const struct klr_node *statement)
{
    const struct klr_node *op = klr_node_at(klr_node_at(statement, KLR_Stmt_oper_op), KLR_Operator_op);
    const struct klr_node *access = klr_node_at(klr_node_at(op, KLR_NcCopy_src), KLR_TensorRef_abstract_access);
    const struct klr_node *node = access->fields[0].node;
    return node->type == KLR_TYPE_TensorName ? node : node->fields[0].node; /* the first field of every kind */
}

enum { DECLARE_NOTHING = -1, DECLARE_X = 4, DECLARE_AL = 10 }; /* statements of lowering_extra_in */

/* A kernel of copies, each from one view to the next. The statement and the rest of the kernel are those of
 * lowering_extra_in's inst.5; `declare` is a statement whose source becomes an input. */
static void build(struct codegen_case *c, const struct view *views, uint32_t count, int declare)
{
    ck_assert_int_eq(codegen_case_open(c, "klr/lowering_extra_in.klr"), BIR_OK);
    const struct klr_node *kernel = c->file.kernel;
    const struct klr_list *blocks = klr_list_at(kernel, KLR_LncKernel_bodies)->items[0].list;
    const struct klr_node *block = blocks->items[0].node;
    const struct klr_node *model = klr_list_at(block, KLR_Block_body)->items[4].node;
    ck_assert(bir_str_is(klr_string_at(model, KLR_Stmt_oper_name), "inst.5"));
    struct klr_list *body = list_new(c, count / 2);
    for (uint32_t i = 0; i < count / 2; i++) {
        struct klr_node *statement = codegen_node_copy(c, model);
        struct klr_node *op = codegen_node_copy(c, klr_node_at(model, KLR_Stmt_oper_op));
        struct klr_node *copy = codegen_node_copy(c, klr_node_at(op, KLR_Operator_op));
        char name[16];
        snprintf(name, sizeof name, "copy%u", i);
        statement->fields[KLR_Stmt_oper_name].string = bir_intern_cstr(&c->strings, name);
        statement->fields[KLR_Stmt_oper_op].node = op;
        op->fields[KLR_Operator_op].node = copy;
        copy->fields[KLR_NcCopy_src].node = view_ref(c, &views[2 * i]);
        copy->fields[KLR_NcCopy_dst].node = view_ref(c, &views[2 * i + 1]);
        body->items[i].node = statement;
    }
    codegen_case_isolate(c, kernel, block, model);
    struct klr_node *only =
        (struct klr_node *)(uintptr_t)klr_list_at(c->file.kernel, KLR_LncKernel_bodies)->items[0].list->items[0].node;
    only->fields[KLR_Block_body].list = body;
    if (declare == DECLARE_NOTHING)
        return;
    union klr_slot tensor = { .node = source_tensor(klr_list_at(block, KLR_Block_body)->items[declare].node) };
    ((struct klr_node *)(uintptr_t)c->file.kernel)->fields[KLR_LncKernel_inputs].list = codegen_list_of(c, tensor);
}

static const struct bir_physical_ap *operand(const struct codegen_case *c, uint32_t view)
{
    char name[16];
    snprintf(name, sizeof name, "copy%u", view / 2);
    const struct bir_instruction *inst = codegen_find(c->module, 0, name);
    return (const struct bir_physical_ap *)bir_instruction_argument(inst, view % 2 ? BIR_ROLE_OUT : BIR_ROLE_IN, 0);
}

static const struct bir_location *location(const struct codegen_case *c, uint32_t view)
{
    return (const struct bir_location *)operand(c, view)->base.location;
}

/* --- footprints --- */

struct bytes {
    unsigned char bits[ROWS * ROW_BYTES / 8];
    uint64_t count;
};

static void mark(struct bytes *b, int64_t row, int64_t byte, int64_t length)
{
    ck_assert(row >= 0 && row < ROWS && byte >= 0 && byte + length <= ROW_BYTES);
    for (int64_t at = row * ROW_BYTES + byte; length-- > 0; at++)
        b->bits[at / 8] |= (unsigned char)(1u << (at % 8));
    b->count++;
}

/* HBM is one row of bytes here, cut at ROW_BYTES. */
static void mark_hbm(struct bytes *b, int64_t byte, int64_t length)
{
    ck_assert(byte >= 0 && byte + length <= HBM_BYTES);
    for (int64_t i = 0; i < length; i++)
        mark(b, (byte + i) / ROW_BYTES, (byte + i) % ROW_BYTES, 1);
}

static void mark_view(struct bytes *b, const struct view *v, uint32_t k, int64_t partition, int64_t elems)
{
    int64_t elem = klr_dtype_bytes(v->dtype);
    if (k < v->rank) {
        for (int64_t i = 0; i < v->pairs[k].num; i++)
            mark_view(b, v, k + 1, partition, elems + i * v->pairs[k].step_elems);
    } else if (v->arm == KLR_TensorRef_hbm) {
        mark_hbm(b, (int64_t)v->start + elems * elem, elem);
    } else {
        mark(b, partition, (int64_t)v->start + elems * elem, elem);
    }
}

/* bir-json.md 8.4: the first pair walks partitions, the others a row; HBM is flat. */
static void mark_operand(struct bytes *b, const struct bir_physical_ap *ap, uint32_t k, int64_t first, int64_t column)
{
    const struct bir_location *place = (const struct bir_location *)ap->base.location;
    int64_t elem = bir_dtype_bytes(ap->base.dtype), start = (int64_t)place->addr_bytes + place->bank * 0x800;
    if (k < ap->pattern->rank) {
        for (int64_t i = 0; i < ap->pattern->pairs[k].num; i++) {
            int64_t step = i * ap->pattern->pairs[k].step_elems;
            mark_operand(b, ap, k + 1, k ? first : first + step, k ? column + step : column);
        }
        return;
    }
    if (place->type == BIR_MEMORY_DRAM) {
        mark_hbm(b, start + (first + column) * elem, elem);
        return;
    }
    int64_t pitch = place->dims->items[1] / elem;
    ck_assert_int_eq(place->dims->items[1] % elem, 0);
    ck_assert(first % pitch + column >= 0 && first % pitch + column < pitch);
    mark(b, place->base_partition + first / pitch, start + (first % pitch + column) * elem, elem);
}

static void check_bytes(const struct codegen_case *c, const struct view *views, uint32_t at)
{
    static struct bytes expected, got; /* 256 KiB each */
    const struct view *v = &views[at];
    const struct bir_physical_ap *ap = operand(c, at);
    memset(&expected, 0, sizeof expected);
    memset(&got, 0, sizeof got);
    for (uint64_t p = 0; p < (v->arm == KLR_TensorRef_hbm ? 1 : v->partitions); p++)
        mark_view(&expected, v, 0, (int64_t)(v->first_partition + p), 0);
    mark_operand(&got, ap, 0, ap->offset_elems, 0);
    ck_assert_msg(expected.count == got.count && memcmp(expected.bits, got.bits, sizeof got.bits) == 0,
                  "view %u ('%s', arm %u, start %llu) touches other bytes", at, v->name, v->arm,
                  (unsigned long long)v->start);
}

/* A view that fits; few starts and names, so that many share them. */
static struct view random_view(uint64_t *random)
{
    static const char *const names[] = { "one", "two", "three", "" };
    static const uint32_t dtypes[] = { KLR_Dtype_int8, KLR_Dtype_bfloat16, KLR_Dtype_float32, KLR_Dtype_int64 };
    struct view v = { .arm = KLR_TensorRef_sbuf + (unsigned)bir_random_below(random, 3),
                      .name = names[bir_random_below(random, 4)],
                      .dtype = dtypes[bir_random_below(random, 4)],
                      .partitions = 1 + bir_random_below(random, 32),
                      .first_partition = 32 * bir_random_below(random, 4),
                      .rank = 1 + (uint32_t)bir_random_below(random, 3) };
    int64_t low = 0;
    for (uint32_t k = 0; k < v.rank; k++) {
        bool down = bir_random_below(random, 4) == 0 && !(v.arm == KLR_TensorRef_hbm && k == 0);
        int64_t step = (int64_t)bir_random_below(random, 40);
        v.pairs[k] = (struct bir_pair){ down ? -step : step, 1 + (int64_t)bir_random_below(random, 6) };
        low += down ? -step * (v.pairs[k].num - 1) : 0;
    }
    /* The lowest byte is one of three places, on which every element size divides. */
    v.start = 512 * bir_random_below(random, 3) + (uint64_t)(-low * (int64_t)klr_dtype_bytes(v.dtype));
    return v;
}

START_TEST(random_views_touch_their_bytes)
{
    uint64_t random = 4;
    for (int round = 0; round < 40; round++) {
        enum { VIEWS = 16 };
        struct view views[VIEWS];
        struct codegen_case c;
        const char *problem;
        for (int i = 0; i < VIEWS; i++)
            views[i] = random_view(&random);
        build(&c, views, VIEWS, DECLARE_NOTHING);
        enum bir_status status = codegen_case_convert(&c, NULL);
        ck_assert_msg(status == BIR_OK, "%s", c.diags.first ? c.diags.first->message : "no diagnostic");
        ck_assert_msg(bir_module_check_uses(c.module, &problem), "%s", problem);
        for (uint32_t i = 0; i < VIEWS; i++) {
            check_bytes(&c, views, i);
            ck_assert(location(&c, i)->allocated && location(&c, i)->pinned);
        }
        codegen_case_close(&c);
    }
}
END_TEST

/* --- locations --- */

START_TEST(views_that_share_an_address_share_a_location)
{
    enum { F32 = KLR_Dtype_float32, SB = KLR_TensorRef_sbuf, PS = KLR_TensorRef_psum, HBM = KLR_TensorRef_hbm };
    static const struct view views[] = {
        { SB, "A", F32, 32, 32, 4096, 1, { { 1, 16 } } }, /* 0 */
        { SB, "A", F32, 32, 64, 4096, 1, { { 1, 64 } } }, /* 1: the same start, larger */
        { SB, "B", F32, 32, 1, 4096, 1, { { 1, 4 } } },   /* 2: the same start under another name */
        { SB, "A", F32, 64, 1, 4096, 1, { { 1, 4 } } },   /* 3: another partition */
        { SB, "A", F32, 32, 1, 4100, 1, { { 1, 4 } } },   /* 4: another byte */
        { PS, "A", F32, 32, 1, 4096, 1, { { 1, 4 } } },   /* 5: another memory */
        { SB, "A", F32, 32, 1, 4156, 1, { { -1, 16 } } }, /* 6: as 0, backwards */
        { HBM, "x", F32, 0, 0, 4096, 2, { { 16, 4 }, { 1, 16 } } },
        { HBM, "y", F32, 0, 0, 4096, 1, { { 1, 100 } } }, /* 8: the start of 7 */
        { HBM, "x", F32, 0, 0, 8192, 1, { { 1, 4 } } },   /* 9 */
    };
    struct codegen_case c;
    build(&c, views, 10, DECLARE_NOTHING);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    const struct bir_location *a = location(&c, 0);
    ck_assert_str_eq(a->base.name->text, "A");
    ck_assert_int_eq(a->type, BIR_MEMORY_SB);
    ck_assert_uint_eq(a->base_partition, 32);
    ck_assert_uint_eq(a->addr_bytes, 4096);
    ck_assert_int_eq(a->dims->items[0], 64);
    ck_assert_int_eq(a->dims->items[1], 256);
    ck_assert_int_eq(a->set->kind, BIR_TENSOR_INTERNAL);
    ck_assert_str_eq(a->set->tensor_class->text, "NeuronSBTensor");
    ck_assert_ptr_eq(location(&c, 1), a);
    ck_assert_ptr_eq(location(&c, 2), a);
    ck_assert_ptr_eq(location(&c, 6), a);
    for (uint32_t i = 3; i < 6; i++)
        ck_assert_ptr_ne(location(&c, i), a);
    ck_assert_str_eq(location(&c, 3)->base.name->text, "A@SB:64,4096");
    ck_assert_int_eq(location(&c, 5)->type, BIR_MEMORY_PSUM);
    ck_assert_int_eq(location(&c, 5)->bank, 2);
    ck_assert_uint_eq(location(&c, 5)->addr_bytes, 0);
    ck_assert_ptr_eq(location(&c, 7), location(&c, 8));
    ck_assert_int_eq(location(&c, 8)->dims->items[0] * location(&c, 8)->dims->items[1], 400);
    ck_assert_ptr_ne(location(&c, 9), location(&c, 7));
    ck_assert_uint_eq(location(&c, 9)->addr_bytes, 8192);
    codegen_case_close(&c);
}
END_TEST

/* AL of lowering_extra_in is placed: 64 partitions at 32, 512 bytes at 4096. Copies between it and views of its name.
 */
START_TEST(views_of_a_placed_tensor_are_part_of_it)
{
    static const struct view views[] = {
        { KLR_TensorRef_sbuf, "AL", KLR_Dtype_float32, 40, 8, 4096 + 64, 1, { { 2, 8 } } },
        { KLR_TensorRef_sbuf, "AL", KLR_Dtype_float32, 32, 8, 4096 + 500, 1, { { 1, 8 } } }, /* leaves it */
    };
    struct codegen_case c;
    build(&c, views, 2, DECLARE_AL);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    ck_assert_str_eq(location(&c, 0)->base.name->text, "AL");
    ck_assert_int_eq(location(&c, 0)->set->kind, BIR_TENSOR_EXTERNAL_INPUT);
    check_bytes(&c, views, 0);
    ck_assert_ptr_ne(location(&c, 1), location(&c, 0));
    ck_assert_str_eq(location(&c, 1)->base.name->text, "AL@SB:32,4596");
    check_bytes(&c, views, 1);
    codegen_case_close(&c);
}
END_TEST

START_TEST(refused_views)
{
    static const struct {
        struct view view;
        const char *code, *part;
    } cases[] = {
        { { KLR_TensorRef_sbuf, "v", KLR_Dtype_float32, 32, 97, 0, 1, { { 1, 4 } } },
          "klr-partitions",
          "view 'v' (97 partitions at 32, first byte 0): the memory has 128 partitions" },
        { { KLR_TensorRef_psum, "v", KLR_Dtype_float32, UINT64_MAX, 1, 0, 1, { { 1, 4 } } }, "klr-partitions", "" },
        { { KLR_TensorRef_sbuf, "v", KLR_Dtype_float32, 0, 1, 8, 1, { { -1, 4 } } },
          "klr-bounds",
          "reaches below byte 0" },
        { { KLR_TensorRef_sbuf, "v", KLR_Dtype_float32, 0, 1, UINT64_MAX, 1, { { 1, 4 } } }, "klr-bounds", "" },
        { { KLR_TensorRef_hbm, "v", KLR_Dtype_float32, 0, 0, INT64_MAX, 1, { { 1, 4 } } }, "klr-bounds", "" },
        { { KLR_TensorRef_hbm, "v", KLR_Dtype_float32, 0, 0, 0, 1, { { INT64_MAX, 4 } } }, "klr-bounds", "" },
        { { KLR_TensorRef_hbm, "v", KLR_Dtype_float32, 0, 0, 0, 0, { { 0, 0 } } }, "klr-rank", "no dimensions" },
        { { KLR_TensorRef_hbm, "v", KLR_Dtype_float32, 0, 0, 64, 1, { { -1, 4 } } },
          "klr-negative-partition-step",
          "4 steps of -1 elements" },
        /* X is a tensor in SBUF without an address. */
        { { KLR_TensorRef_hbm, "X", KLR_Dtype_float32, 0, 0, 64, 1, { { 1, 4 } } },
          "klr-address-conflict",
          "'X' is a view into DRAM of a tensor in SB" },
        { { KLR_TensorRef_sbuf, "X", KLR_Dtype_float32, 0, 1, 64, 1, { { 1, 4 } } },
          "klr-address-conflict",
          "of a tensor that has no address yet" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct view views[2] = { cases[i].view,
                                 { KLR_TensorRef_sbuf, "out", KLR_Dtype_float32, 0, 1, 0, 1, { { 1, 4 } } } };
        struct codegen_case c;
        build(&c, views, 2, DECLARE_X);
        ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
        ck_assert_uint_eq(c.diags.errors, 1);
        ck_assert_msg(strcmp(codegen_case_diag(&c, BIR_ERROR)->code, cases[i].code) == 0, "%zu: %s", i,
                      codegen_case_diag(&c, BIR_ERROR)->code);
        ck_assert_msg(strstr(codegen_case_diag(&c, BIR_ERROR)->message, cases[i].part) != NULL, "%zu: %s", i,
                      codegen_case_diag(&c, BIR_ERROR)->message);
        codegen_case_close(&c);
    }
}
END_TEST

START_TEST(a_register_operand_is_refused)
{
    static const struct view views[2] = { { KLR_TensorRef_sbuf, "v", KLR_Dtype_float32, 0, 1, 0, 1, { { 1, 4 } } },
                                          { KLR_TensorRef_sbuf, "w", KLR_Dtype_float32, 0, 1, 0, 1, { { 1, 4 } } } };
    struct codegen_case c;
    build(&c, views, 2, DECLARE_NOTHING);
    const struct klr_list *body =
        klr_list_at(klr_list_at(c.file.kernel, KLR_LncKernel_bodies)->items[0].list->items[0].node, KLR_Block_body);
    struct klr_node *op =
        (struct klr_node *)(uintptr_t)klr_node_at(klr_node_at(body->items[0].node, KLR_Stmt_oper_op), KLR_Operator_op);
    op->fields[KLR_NcCopy_src].node = node_new(&c, KLR_TYPE_TensorRef, KLR_TensorRef_register);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->code, "klr-tensor-ref");
    codegen_case_close(&c);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        random_views_touch_their_bytes,          views_that_share_an_address_share_a_location,
        views_of_a_placed_tensor_are_part_of_it, refused_views,
        a_register_operand_is_refused,
    };
    return UNIT_RUN("codegen_views", tests);
}

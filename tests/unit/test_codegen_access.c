/*
 * Accesses: the indexing facts of access.tsv, and the bytes every static operand of the samples touches, counted twice:
 * once from the KLR access by walking its indexes, once from the BIR pattern. Then geometry no sample has, made by
 * editing a sample's tree.
 */
#include "codegen_text.h"

static const struct klr_list *first_blocks(const struct klr_file *file)
{
    return klr_list_at(file->kernel, KLR_LncKernel_bodies)->items[0].list;
}

static const struct klr_node *statement_named(const struct klr_node *block, const char *name)
{
    const struct klr_list *body = klr_list_at(block, KLR_Block_body);
    for (uint64_t i = 0; i < body->count; i++)
        if (bir_str_is(klr_string_at(body->items[i].node, KLR_Stmt_oper_name), name))
            return body->items[i].node;
    ck_abort_msg("no statement %s", name);
}

/* Converts the one statement and gives its first source. */
static const struct bir_physical_ap *convert_source(struct codegen_case *c, const struct klr_node *statement)
{
    codegen_case_isolate(c, c->file.kernel, first_blocks(&c->file)->items[0].node, statement);
    bir_diags_init(&c->diags, &c->arena, 100);
    if (codegen_case_convert(c, NULL) != BIR_OK)
        return NULL;
    return (const struct bir_physical_ap *)bir_instruction_argument(c->module->functions->body.first->first,
                                                                    BIR_ROLE_IN, 0);
}

static void assert_source(struct codegen_case *c, const struct klr_node *statement, const char *pairs, long long offset)
{
    struct bir_buf text;
    const struct bir_physical_ap *ap = convert_source(c, statement);
    ck_assert_msg(ap != NULL, "%s", c->diags.first ? c->diags.first->message : "no diagnostic");
    bir_buf_init(&text, 0);
    codegen_text_pairs(&text, ap->pattern);
    bir_buf_putc(&text, '\0');
    ck_assert_str_eq(text.data, pairs);
    ck_assert_int_eq(ap->offset_elems, offset);
    bir_buf_deinit(&text);
}

START_TEST(indexing_facts)
{
    size_t len;
    char *text = unit_read_file(ROOST_VECTORS "/codegen/access.tsv", &len);
    uint32_t rows = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        char file[64], statement[64], pairs[128], path[96];
        long long offset;
        struct codegen_case c;
        *end = '\0';
        if (line[0] == '#' || sscanf(line, "%63s %63s %127s %lld", file, statement, pairs, &offset) != 4)
            continue;
        snprintf(path, sizeof path, "klr/%s.klr", file);
        ck_assert_int_eq(codegen_case_open(&c, path), BIR_OK);
        assert_source(&c, statement_named(first_blocks(&c.file)->items[0].node, statement), pairs, offset);
        codegen_case_close(&c);
        rows++;
    }
    ck_assert_uint_eq(rows, 30);
    free(text);
}
END_TEST

/* --- footprints --- */

/* Bytes of a location, row by row, as bits. */
struct bytes {
    unsigned char *bits;
    uint64_t size;
    uint64_t count; /* elements marked, repetitions included */
};

static void bytes_mark(struct bytes *bytes, int64_t first, int64_t count)
{
    if (first < 0 || (uint64_t)(first + count) > bytes->size)
        ck_abort_msg("byte %lld of %llu", (long long)first, (unsigned long long)bytes->size);
    for (int64_t b = first; b < first + count; b++)
        bytes->bits[b / 8] |= (unsigned char)(1u << (b % 8));
    bytes->count++;
}

static struct bytes bytes_new(uint64_t size)
{
    return (struct bytes){ .bits = calloc((size_t)(size / 8 + 1), 1), .size = size };
}

/* What the BIR operand touches: element e of the location, whose rows are `pitch` elements. */
static void mark_pattern(struct bytes *bytes, const struct bir_physical_ap *ap, uint32_t k, int64_t at, int64_t elem)
{
    if (k == ap->pattern->rank) {
        bytes_mark(bytes, at * elem, elem);
        return;
    }
    for (int64_t i = 0; i < ap->pattern->pairs[k].num; i++)
        mark_pattern(bytes, ap, k + 1, at + i * ap->pattern->pairs[k].step_elems, elem);
}

/* What the KLR access touches. Element e of the tensor lies in row e / row, column e % row; rows of the location are
 * `pitch` bytes apart on chip, and follow one another in HBM. */
struct walk {
    struct bytes *bytes;
    int64_t row, elem, pitch;
};

static void mark_element(const struct walk *w, int64_t e)
{
    bytes_mark(w->bytes, w->pitch ? e / w->row * w->pitch + e % w->row * w->elem : e * w->elem, w->elem);
}

/* Row-major strides of the dimensions behind k. */
static int64_t stride_behind(const struct klr_node *shape, uint64_t k)
{
    const struct klr_list *dims = klr_list_at(shape, KLR_Shape_freeDims);
    int64_t stride = 1;
    for (uint64_t i = k; i < dims->count; i++)
        stride *= (int64_t)dims->items[i].nat;
    return stride;
}

static void mark_indexes(const struct walk *w, const struct klr_node *shape, const struct klr_list *indexes, uint64_t k,
                         int64_t at)
{
    if (k == indexes->count) {
        mark_element(w, at);
        return;
    }
    const struct klr_node *index = indexes->items[k].node;
    int64_t stride = stride_behind(shape, k);
    if (index->ctor == KLR_Index_coord) {
        mark_indexes(w, shape, indexes, k + 1, at + stride * (int64_t)klr_nat_at(index, KLR_Index_coord_e));
        return;
    }
    const struct klr_node *slice = klr_node_at(index, KLR_Index_slice_slice);
    int64_t l = (int64_t)klr_nat_at(slice, KLR_Slice_l), u = (int64_t)klr_nat_at(slice, KLR_Slice_u);
    int64_t step = klr_int_at(slice, KLR_Slice_step);
    for (int64_t i = l; step > 0 ? i < u : i > u; i += step)
        mark_indexes(w, shape, indexes, k + 1, at + stride * i);
}

static void mark_all(const struct walk *w, const struct klr_node *shape)
{
    int64_t size = (int64_t)klr_nat_at(shape, KLR_Shape_parDim) * stride_behind(shape, 0);
    for (int64_t e = 0; e < size; e++)
        mark_element(w, e);
}

static void mark_pairs(const struct walk *w, const struct klr_list *pairs, uint64_t k, int64_t at)
{
    if (k == pairs->count) {
        mark_element(w, at);
        return;
    }
    for (uint64_t i = 0; i < klr_nat_at(pairs->items[k].node, KLR_APPair_num); i++)
        mark_pairs(w, pairs, k + 1, at + (int64_t)i * klr_int_at(pairs->items[k].node, KLR_APPair_step));
}

static void mark_access(struct bytes *bytes, const struct klr_node *access, int64_t pitch, int64_t elem)
{
    const struct klr_node *payload = access->fields[0].node;
    const struct klr_node *tensor = access->ctor == KLR_Access_simple
                                        ? payload
                                        : klr_node_at(payload, KLR_AccessBasic_tensor); /* first field of all three */
    const struct klr_node *shape = klr_node_at(tensor, KLR_TensorName_shape);
    struct walk w = { bytes,
                      stride_behind(shape, 0) * klr_dtype_bytes(klr_enum_at(tensor, KLR_TensorName_dtype)) / elem, elem,
                      pitch };
    if (access->ctor == KLR_Access_simple) {
        mark_all(&w, shape);
    } else if (access->ctor == KLR_Access_basic) {
        mark_indexes(&w, shape, klr_list_at(payload, KLR_AccessBasic_indexes), 0, 0);
    } else if (access->ctor == KLR_Access_pattern) {
        const struct klr_list *pairs = klr_list_at(payload, KLR_AccessPattern_pattern);
        int64_t start = 0;
        for (uint64_t i = 0; i < pairs->count; i++)
            start += klr_int_at(pairs->items[i].node, KLR_APPair_step) *
                     (int64_t)klr_nat_at(pairs->items[i].node, KLR_APPair_offset);
        mark_pairs(&w, pairs, 0, start);
    } else {
        mark_pairs(&w, klr_list_at(payload, KLR_BirAccessPattern_pattern), 0,
                   (int64_t)klr_nat_at(payload, KLR_BirAccessPattern_offset));
    }
}

/* Every field that holds nodes or lists of them. */
struct tree_field {
    uint8_t type, ctor, base;
    int8_t slot;
    bool list;
};

enum { NOT_A_LIST, PLAIN = NOT_A_LIST, OPTION = NOT_A_LIST, LIST, LIST_LIST, OPTION_LIST, OPTION_LIST_LIST };

static const struct tree_field tree_fields[] = {
#define KLR_FIELD(type, field, wrap, base)                                                                             \
    { KLR_TYPE_##type, 0, KLR_TYPE_##base, KLR_##type##_##field, (wrap) != NOT_A_LIST },
#define KLR_ARM_FIELD(type, arm, field, wrap, base)                                                                    \
    { KLR_TYPE_##type, KLR_##type##_##arm, KLR_TYPE_##base, KLR_##type##_##arm##_##field, (wrap) != NOT_A_LIST },
#include "klr/schema.def"
};

/* Types on the way from a statement to an access. */
static bool leads_to_access(enum klr_type base)
{
    return base == KLR_TYPE_Operator || base == KLR_TYPE_TensorRef || base == KLR_TYPE_Operand ||
           base == KLR_TYPE_Access || base == KLR_TYPE_BirAccessPattern || base == KLR_TYPE_ScalarOffset ||
           (base >= KLR_TYPE_Dropout && base <= KLR_TYPE_Activate2);
}

/* Finds the Access node at a file offset. Every operand's source offset is that of its Access. */
static const struct klr_node *find_in_node(const struct klr_node *node, uint64_t offset)
{
    if (node->type == KLR_TYPE_Access && klr_offset(node) == offset)
        return node;
    for (size_t i = 0; i < sizeof tree_fields / sizeof *tree_fields; i++) {
        const struct tree_field *field = &tree_fields[i];
        if (field->type != node->type || field->ctor != node->ctor || !leads_to_access((enum klr_type)field->base))
            continue;
        union klr_slot slot = node->fields[field->slot];
        /* Enumerations lie between the operators' structures and hold numbers, not nodes. */
        if (klr_field_count((enum klr_type)field->base, 0) == 0 && field->base != KLR_TYPE_Operator)
            continue;
        for (uint64_t k = 0; slot.node && k < (field->list ? slot.list->count : 1); k++) {
            const struct klr_node *found = find_in_node(field->list ? slot.list->items[k].node : slot.node, offset);
            if (found)
                return found;
        }
    }
    return NULL;
}

/* True when the operand was compared. */
static bool check_footprint(const struct klr_node *statement, const struct bir_argument *arg, const char *name)
{
    if (arg->kind != BIR_ARG_PHYSICAL_AP || bir_argument_dynamic(arg))
        return false;
    const struct klr_node *access = find_in_node(statement, arg->source_offset);
    if (!access)
        return false; /* a TensorHbm */
    const struct bir_location *location = (const struct bir_location *)arg->location;
    int64_t elem = bir_dtype_bytes(arg->dtype);
    int64_t pitch = location->type == BIR_MEMORY_DRAM ? 0 : location->dims->items[1];
    uint64_t size = (uint64_t)(location->dims->items[0] * location->dims->items[1]);
    struct bytes a = bytes_new(size), b = bytes_new(size);
    mark_access(&a, access, pitch, elem);
    mark_pattern(&b, (const struct bir_physical_ap *)arg, 0, ((const struct bir_physical_ap *)arg)->offset_elems, elem);
    ck_assert_msg(a.count == b.count && memcmp(a.bits, b.bits, (size_t)(size / 8 + 1)) == 0,
                  "%s: operand %s touches other bytes", name, location->base.name->text);
    free(a.bits);
    free(b.bits);
    return true;
}

START_TEST(footprints_match)
{
    static const char *const samples[] = { "tensor_add",
                                           "tensor_add_unlowered",
                                           "tensor_add_lnc2",
                                           "matmul_tiled",
                                           "rmsnorm",
                                           "softmax",
                                           "transpose2d",
                                           "dynamic_offset",
                                           "gather",
                                           "edges",
                                           "lowering_guards_in",
                                           "lowering_guards_out",
                                           "lowering_extra_in" };
    uint32_t compared = 0;
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        struct codegen_case c;
        char path[96];
        snprintf(path, sizeof path, "klr/%s.klr", samples[s]);
        ck_assert_int_eq(codegen_case_open(&c, path), BIR_OK);
        if (strcmp(samples[s], "transpose2d") == 0)
            codegen_case_drop(&c, "inst.4"); /* walks partitions downwards, refused */
        ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
        const struct klr_list *bodies = klr_list_at(c.file.kernel, KLR_LncKernel_bodies);
        struct bir_function *function = c.module->functions;
        for (uint64_t core = 0; core < bodies->count; core++, function = function->next) {
            struct bir_walk walk;
            bir_walk_init(&walk, &function->body);
            struct bir_instruction *inst = bir_walk_next(&walk);
            for (uint64_t b = 0; b < bodies->items[core].list->count; b++) {
                const struct klr_list *body = klr_list_at(bodies->items[core].list->items[b].node, KLR_Block_body);
                for (uint64_t i = 0; i < body->count; i++, inst = bir_walk_next(&walk))
                    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
                        BIR_EACH_ARGUMENT (arg, inst, role) {
                            compared += check_footprint(body->items[i].node, arg, inst->name->text);
                        }
                    }
            }
        }
        codegen_case_close(&c);
    }
    ck_assert_uint_ge(compared, 300);
}
END_TEST

/* --- edited trees --- */

/* A copy of the statement of lowering_extra_in whose source is this access kind; the nodes on the way may be changed.
 */
struct edited {
    struct klr_node *statement, *access, *payload, *tensor, *shape, *address;
};

static struct edited edit(struct codegen_case *c, const char *file, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "klr/%s.klr", file);
    ck_assert_int_eq(codegen_case_open(c, path), BIR_OK);
    struct edited e;
    e.statement = codegen_node_copy(c, statement_named(first_blocks(&c->file)->items[0].node, name));
    struct klr_node *op = codegen_node_copy(c, klr_node_at(e.statement, KLR_Stmt_oper_op));
    struct klr_node *copy = codegen_node_copy(c, klr_node_at(op, KLR_Operator_op));
    ck_assert_int_eq(copy->type, KLR_TYPE_NcCopy);
    struct klr_node *ref = codegen_node_copy(c, klr_node_at(copy, KLR_NcCopy_src));
    e.access = codegen_node_copy(c, klr_node_at(ref, KLR_TensorRef_abstract_access));
    e.statement->fields[KLR_Stmt_oper_op].node = op;
    op->fields[KLR_Operator_op].node = copy;
    copy->fields[KLR_NcCopy_src].node = ref;
    ref->fields[KLR_TensorRef_abstract_access].node = e.access;
    e.payload = codegen_node_copy(c, e.access->fields[0].node);
    e.access->fields[0].node = e.payload;
    e.tensor = e.payload;
    if (e.access->ctor != KLR_Access_simple) {
        e.tensor = codegen_node_copy(c, e.payload->fields[0].node);
        e.payload->fields[0].node = e.tensor;
    }
    e.shape = codegen_node_copy(c, klr_node_at(e.tensor, KLR_TensorName_shape));
    e.address = codegen_node_copy(c, klr_node_at(e.tensor, KLR_TensorName_address));
    e.tensor->fields[KLR_TensorName_shape].node = e.shape;
    e.tensor->fields[KLR_TensorName_address].node = e.address;
    return e;
}

static const struct klr_list *nats(struct codegen_case *c, const uint64_t *values, uint64_t count)
{
    struct klr_list *list = bir_arena_alloc(&c->arena, BIR_MEM_OTHER, sizeof *list + count * sizeof(union klr_slot));
    ck_assert_ptr_nonnull(list);
    list->count = count;
    for (uint64_t i = 0; i < count; i++)
        list->items[i].nat = values[i];
    return list;
}

static void assert_refused(struct codegen_case *c, const struct edited *e, const char *code, const char *part)
{
    ck_assert_ptr_null(convert_source(c, e->statement));
    const struct bir_diag *diag = codegen_case_diag(c, BIR_ERROR);
    ck_assert_str_eq(diag->code, code);
    ck_assert_msg(strstr(diag->message, part) != NULL, "'%s' lacks '%s'", diag->message, part);
}

/* An index node of a basic access that may be changed: inst.5 of lowering_extra_in is X[32:64, 511:512]. */
static struct klr_node *edit_slice(struct codegen_case *c, struct edited *e, uint64_t k)
{
    struct klr_list *indexes = (struct klr_list *)(uintptr_t)klr_list_at(e->payload, KLR_AccessBasic_indexes);
    struct klr_node *index = codegen_node_copy(c, indexes->items[k].node);
    struct klr_node *slice = codegen_node_copy(c, klr_node_at(index, KLR_Index_slice_slice));
    index->fields[KLR_Index_slice_slice].node = slice;
    indexes->items[k].node = index;
    return slice;
}

START_TEST(slices_count_down)
{
    /* l, u, step of X[:, .]; step and count of the free pair, start in the row */
    static const struct {
        uint64_t l, u;
        int64_t step, pair_step, num, start;
    } cases[] = {
        { 10, 0, -1, -1, 10, 10 },      { 10, 0, -3, -3, 4, 10 },   { 0, 10, -1, -1, 0, 0 },    { 10, 0, 1, 1, 0, 0 },
        { 511, 0, -511, -511, 1, 511 }, { 0, 512, 511, 511, 2, 0 }, { 1, 512, 511, 511, 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct codegen_case c;
        struct edited e = edit(&c, "lowering_extra_in", "inst.5");
        struct klr_node *slice = edit_slice(&c, &e, 1);
        slice->fields[KLR_Slice_l].nat = cases[i].l;
        slice->fields[KLR_Slice_u].nat = cases[i].u;
        slice->fields[KLR_Slice_step].integer = cases[i].step;
        char pairs[96];
        snprintf(pairs, sizeof pairs, "(512,32)(%lld,%lld)", (long long)cases[i].pair_step, (long long)cases[i].num);
        /* An empty slice adds nothing to the start. */
        assert_source(&c, e.statement, pairs, 32 * 512 + cases[i].start);
        codegen_case_close(&c);
    }
}
END_TEST

START_TEST(slices_out_of_bounds)
{
    static const struct {
        uint64_t l, u;
        int64_t step;
        const char *code, *part;
    } cases[] = {
        { 0, 513, 1, "klr-bounds", "index 512 of dimension 1 is outside 0..511 of tensor 'X'" },
        { 512, 513, 1, "klr-bounds", "index 512 of dimension 1" },
        { 512, 0, -1, "klr-bounds", "index 512 of dimension 1" },
        { 0, 512, 0, "klr-slice-step", "step 0" },
        { 0, 512, INT64_MIN, "klr-slice-step", "step -9223372036854775808" },
        { 0, UINT64_MAX, 1, "klr-bounds", "beyond 2^63" },
        { 0, INT64_MAX, INT64_MAX, NULL, NULL }, /* one element, at 0 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct codegen_case c;
        struct edited e = edit(&c, "lowering_extra_in", "inst.5");
        struct klr_node *slice = edit_slice(&c, &e, 1);
        slice->fields[KLR_Slice_l].nat = cases[i].l;
        slice->fields[KLR_Slice_u].nat = cases[i].u;
        slice->fields[KLR_Slice_step].integer = cases[i].step;
        if (cases[i].code)
            assert_refused(&c, &e, cases[i].code, cases[i].part);
        else
            assert_source(&c, e.statement, "(512,32)(9223372036854775807,1)", 32 * 512);
        codegen_case_close(&c);
    }
}
END_TEST

START_TEST(index_count_must_be_the_rank)
{
    struct codegen_case c;
    struct edited e = edit(&c, "lowering_extra_in", "inst.5");
    e.payload->fields[KLR_AccessBasic_indexes].list =
        codegen_list_of(&c, klr_list_at(e.payload, KLR_AccessBasic_indexes)->items[0]);
    assert_refused(&c, &e, "klr-index-count", "1 indexes for a tensor of 2 dimensions");
    codegen_case_close(&c);
}
END_TEST

/* birPattern: transpose2d's inst.7 is tensor1 [128,512] float32, (512,128)(2,256) at 0. */
static struct klr_node *edit_pair(struct codegen_case *c, struct edited *e, uint64_t k)
{
    const struct klr_list *pairs = klr_list_at(e->payload, KLR_BirAccessPattern_pattern);
    struct klr_list *own =
        bir_arena_alloc(&c->arena, BIR_MEM_OTHER, sizeof *own + pairs->count * sizeof(union klr_slot));
    ck_assert_ptr_nonnull(own);
    memcpy(own, pairs, sizeof *own + pairs->count * sizeof(union klr_slot));
    struct klr_node *pair = codegen_node_copy(c, pairs->items[k].node);
    own->items[k].node = pair;
    e->payload->fields[KLR_BirAccessPattern_pattern].list = own;
    return pair;
}

START_TEST(patterns_out_of_bounds)
{
    static const struct {
        uint64_t start;
        int64_t step;
        uint64_t num;
        const char *part;
    } cases[] = {
        { 0, 2, 256, NULL },
        { 2, 2, 256, "elements 2 to 65536, tensor 'tensor1' has elements 0 to 65535" },
        { 0, -1, 2, "elements -1 to 65024" },
        { 65536, 0, 1, "elements 65536 to 130560" },
        { 0, INT64_MAX, 3, "reaches beyond 2^63" },
        { 0, INT64_MIN, 3, "reaches beyond 2^63" },
        { UINT64_MAX, 1, 1, "start offset 18446744073709551615 beyond 2^63" },
        { 0, 1, UINT64_MAX, "pair 1 counts 18446744073709551615 elements" },
        { 0, 1, INT64_MAX, "reaches beyond 2^63" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct codegen_case c;
        struct edited e = edit(&c, "transpose2d", "inst.7");
        struct klr_node *pair = edit_pair(&c, &e, 1);
        e.payload->fields[KLR_BirAccessPattern_offset].nat = cases[i].start;
        pair->fields[KLR_APPair_step].integer = cases[i].step;
        pair->fields[KLR_APPair_num].nat = cases[i].num;
        if (cases[i].part)
            assert_refused(&c, &e, "klr-bounds", cases[i].part);
        else
            ck_assert_ptr_nonnull(convert_source(&c, e.statement));
        codegen_case_close(&c);
    }
}
END_TEST

/* No first pair steps downwards. One of a single element walks nowhere and gets the row's step. The place is the pair's
 * or the index's. */
START_TEST(partition_step_must_not_be_negative)
{
    struct codegen_case c;
    struct edited e = edit(&c, "transpose2d", "inst.7");
    struct klr_node *pair = edit_pair(&c, &e, 0);
    pair->fields[KLR_APPair_step].integer = -512;
    e.payload->fields[KLR_BirAccessPattern_offset].nat = 127 * 512;
    assert_refused(&c, &e, "klr-negative-partition-step", "128 steps of -512 elements");
    ck_assert_int_eq(codegen_case_diag(&c, BIR_ERROR)->offset, (int64_t)klr_offset(pair));
    pair->fields[KLR_APPair_num].nat = 1;
    assert_source(&c, e.statement, "(512,1)(2,256)", 127 * 512);
    pair->fields[KLR_APPair_step].integer = INT64_MIN;
    assert_source(&c, e.statement, "(512,1)(2,256)", 127 * 512);
    pair->fields[KLR_APPair_num].nat = 0;
    assert_source(&c, e.statement, "(512,0)(2,256)", 127 * 512);
    codegen_case_close(&c);

    e = edit(&c, "lowering_extra_in", "inst.5");
    struct klr_node *slice = edit_slice(&c, &e, 0);
    slice->fields[KLR_Slice_l].nat = 127;
    slice->fields[KLR_Slice_u].nat = 0;
    slice->fields[KLR_Slice_step].integer = -1;
    assert_refused(&c, &e, "klr-negative-partition-step", "127 steps of -512 elements");
    ck_assert_int_eq(codegen_case_diag(&c, BIR_ERROR)->offset,
                     (int64_t)klr_offset(klr_list_at(e.payload, KLR_AccessBasic_indexes)->items[0].node));
    codegen_case_close(&c);
}
END_TEST

/* The third word of a pair is already in the offset of a birPattern. */
START_TEST(pair_offset_is_not_added_again)
{
    struct codegen_case c;
    struct edited e = edit(&c, "transpose2d", "inst.7");
    edit_pair(&c, &e, 1)->fields[KLR_APPair_offset].nat = 7;
    assert_source(&c, e.statement, "(512,128)(2,256)", 0);
    codegen_case_close(&c);
}
END_TEST

START_TEST(dtype_override_counts_in_its_own_elements)
{
    static const struct {
        uint32_t dtype;
        uint64_t num;
        int64_t row;
        const char *pairs, *part;
    } cases[] = {
        { KLR_Dtype_bfloat16, 1024, 1024, "(1024,128)(1,1024)", NULL },
        { KLR_Dtype_int8, 2048, 2048, "(2048,128)(1,2048)", NULL },
        { KLR_Dtype_int64, 256, 256, "(256,128)(1,256)", NULL },
        { KLR_Dtype_int64, 257, 256, NULL, "tensor 'tensor1' has elements 0 to 32767" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct codegen_case c;
        struct edited e = edit(&c, "transpose2d", "inst.7");
        struct klr_node *inner = edit_pair(&c, &e, 1), *outer = edit_pair(&c, &e, 0);
        union klr_slot dtype = { .enumerator = cases[i].dtype };
        e.payload->fields[KLR_BirAccessPattern_dtypeOverride].boxed = &dtype;
        outer->fields[KLR_APPair_step].integer = cases[i].row;
        inner->fields[KLR_APPair_step].integer = 1;
        inner->fields[KLR_APPair_num].nat = cases[i].num;
        if (cases[i].part)
            assert_refused(&c, &e, "klr-bounds", cases[i].part);
        else
            assert_source(&c, e.statement, cases[i].pairs, 0);
        codegen_case_close(&c);
    }
}
END_TEST

/* V1, one-dimensional, made [128,3] int8 and read as int16: rows of 3 bytes hold no whole elements. */
START_TEST(rows_must_hold_whole_elements)
{
    struct codegen_case c;
    struct edited e = edit(&c, "transpose2d", "inst.7");
    static const uint64_t dims[] = { 3 };
    union klr_slot dtype = { .enumerator = KLR_Dtype_int16 };
    e.shape->fields[KLR_Shape_freeDims].list = nats(&c, dims, 1);
    e.tensor->fields[KLR_TensorName_dtype].enumerator = KLR_Dtype_int8;
    e.payload->fields[KLR_BirAccessPattern_dtypeOverride].boxed = &dtype;
    edit_pair(&c, &e, 0)->fields[KLR_APPair_step].integer = 1;
    edit_pair(&c, &e, 1)->fields[KLR_APPair_num].nat = 1;
    assert_refused(&c, &e, "klr-row-bytes", "rows of 3 bytes");
    codegen_case_close(&c);
}
END_TEST

/* Six dimensions join to five when two neighbours make one run; unit dimensions go first; otherwise it is an error. */
START_TEST(rank_is_folded)
{
    static const struct {
        uint64_t dims[5];
        const char *pairs;
    } cases[] = {
        { { 2, 4, 8, 2, 4 }, "(512,128)(256,2)(64,4)(8,8)(1,8)" },
        { { 2, 1, 8, 1, 32 }, "(512,128)(256,2)(512,1)(32,8)(1,32)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct codegen_case c;
        struct edited e = edit(&c, "lowering_extra_in", "inst.9");
        e.shape->fields[KLR_Shape_freeDims].list = nats(&c, cases[i].dims, 5);
        e.address->fields[KLR_Address_freeSize].nat = 2048;
        const struct bir_physical_ap *ap = convert_source(&c, e.statement);
        ck_assert_ptr_nonnull(ap);
        ck_assert_uint_eq(ap->pattern->rank, 5);
        struct bytes a = bytes_new(128 * 2048), b = bytes_new(128 * 2048);
        mark_access(&a, e.access, 2048, 4);
        mark_pattern(&b, ap, 0, ap->offset_elems, 4);
        ck_assert_uint_eq(a.count, b.count);
        ck_assert_mem_eq(a.bits, b.bits, 128 * 2048 / 8);
        free(a.bits);
        free(b.bits);
        if (i == 0)
            assert_source(&c, e.statement, cases[i].pairs, 0);
        codegen_case_close(&c);
    }
}
END_TEST

START_TEST(rank_that_cannot_be_folded)
{
    struct codegen_case c;
    struct edited e = edit(&c, "transpose2d", "inst.7");
    struct klr_list *pairs = bir_arena_alloc(&c.arena, BIR_MEM_OTHER, sizeof *pairs + 6 * sizeof(union klr_slot));
    static const int64_t steps[] = { 512, 100, 30, 9, 4, 1 };
    pairs->count = 6;
    for (int k = 0; k < 6; k++) {
        struct klr_node *pair =
            codegen_node_copy(&c, klr_list_at(e.payload, KLR_BirAccessPattern_pattern)->items[0].node);
        pair->fields[KLR_APPair_step].integer = steps[k];
        pair->fields[KLR_APPair_num].nat = 2;
        pairs->items[k].node = pair;
    }
    e.payload->fields[KLR_BirAccessPattern_pattern].list = pairs;
    assert_refused(&c, &e, "klr-rank", "6 dimensions that cannot be joined");
    pairs->count = 0;
    assert_refused(&c, &e, "klr-rank", "access pattern of 0 pairs");
    codegen_case_close(&c);
}
END_TEST

/* --- addresses --- */

START_TEST(placed_address)
{
    struct codegen_case c;
    struct edited e = edit(&c, "lowering_extra_in", "inst.11"); /* AL: 64 partitions at 32, 512 bytes at 4096 */
    const struct bir_physical_ap *ap = convert_source(&c, e.statement);
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    ck_assert(location->allocated && location->pinned);
    ck_assert_uint_eq(location->base_partition, 32);
    ck_assert_uint_eq(location->addr_bytes, 4096);
    ck_assert_int_eq(location->dims->items[0], 64);
    ck_assert_int_eq(location->dims->items[1], 512);
    /* The same in PSUM: 4096 is bank 2, byte 0; 4100 is bank 2, byte 4. */
    union klr_slot offset = { .nat = 4100 };
    e.address->fields[KLR_Address_memory].enumerator = KLR_Memory_psum;
    e.address->fields[KLR_Address_freeOffset].boxed = &offset;
    ap = convert_source(&c, e.statement);
    location = (const struct bir_location *)ap->base.location;
    ck_assert_int_eq(location->bank, 2);
    ck_assert_uint_eq(location->addr_bytes, 4);
    ck_assert_uint_eq(location->base_partition, 32);
    /* Partitions 65 to 128. */
    union klr_slot row = { .nat = 65 };
    e.address->fields[KLR_Address_parOffset].boxed = &row;
    assert_refused(&c, &e, "klr-partitions", "takes partitions 65 to 128, the memory has 128");
    codegen_case_close(&c);
}
END_TEST

/* Two views of one address: the pitch is the longer row, and the shorter one's pattern moves to it. */
START_TEST(views_of_one_address_share_a_location)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/lowering_guards_in.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    const struct bir_physical_ap *wide =
        (const struct bir_physical_ap *)bir_instruction_argument(codegen_find(c.module, 0, "inst.1"), BIR_ROLE_IN, 0);
    const struct bir_physical_ap *narrow =
        (const struct bir_physical_ap *)bir_instruction_argument(codegen_find(c.module, 0, "inst.2"), BIR_ROLE_IN, 0);
    ck_assert_ptr_eq(wide->base.location, narrow->base.location);
    ck_assert_int_eq(((const struct bir_location *)wide->base.location)->dims->items[1], 6);
    ck_assert_int_eq(narrow->pattern->pairs[0].step_elems, 6);
    codegen_case_close(&c);
}
END_TEST

/* A pattern of the narrow view that runs through its rows cannot be moved. */
START_TEST(a_run_through_moved_rows_is_refused)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/lowering_guards_out.klr"), BIR_OK);
    /* inst.2: A [4,3], (3,4)(1,3); one pair (1,12) touches the same elements, but the location's rows are 6 long. */
    const struct klr_node *statement = statement_named(first_blocks(&c.file)->items[0].node, "inst.2");
    const struct klr_node *op = klr_node_at(klr_node_at(statement, KLR_Stmt_oper_op), KLR_Operator_op);
    const struct klr_node *access = klr_node_at(klr_node_at(op, KLR_NcCopy_src), KLR_TensorRef_abstract_access);
    struct klr_node *pattern = (struct klr_node *)(uintptr_t)klr_node_at(access, KLR_Access_birPattern_access);
    const struct klr_list *pairs = klr_list_at(pattern, KLR_BirAccessPattern_pattern);
    struct klr_node *pair = codegen_node_copy(&c, pairs->items[1].node);
    pair->fields[KLR_APPair_num].nat = 12;
    pattern->fields[KLR_BirAccessPattern_pattern].list = codegen_list_of(&c, (union klr_slot){ .node = pair });
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->code, "klr-access-wraps");
    codegen_case_close(&c);
}
END_TEST

START_TEST(address_faults)
{
    struct codegen_case c;
    struct edited e = edit(&c, "lowering_extra_in", "inst.5");
    e.address->fields[KLR_Address_memory].enumerator = KLR_Memory_reg;
    assert_refused(&c, &e, "klr-memory", "lives in memory reg");
    e.address->fields[KLR_Address_memory].enumerator = KLR_Memory_sbuf;
    e.address->fields[KLR_Address_parSize].nat = 64;
    assert_refused(&c, &e, "klr-tensor-size",
                   "of 128 rows of 2048 bytes does not fit its address of 64 rows of 2048 bytes");
    e.address->fields[KLR_Address_parSize].nat = UINT64_MAX;
    assert_refused(&c, &e, "klr-size", "18446744073709551615 rows");
    codegen_case_close(&c);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        indexing_facts,
        footprints_match,
        slices_count_down,
        slices_out_of_bounds,
        index_count_must_be_the_rank,
        patterns_out_of_bounds,
        partition_step_must_not_be_negative,
        pair_offset_is_not_added_again,
        dtype_override_counts_in_its_own_elements,
        rows_must_hold_whole_elements,
        rank_is_folded,
        rank_that_cannot_be_folded,
        placed_address,
        views_of_one_address_share_a_location,
        a_run_through_moved_rows_is_refused,
        address_faults,
    };
    return UNIT_RUN("codegen_access", tests);
}

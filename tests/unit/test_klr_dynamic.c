/*
 * Runtime offsets from the file to the register program: for each dynamic operand of the samples, and for random ones,
 * the element that the lowered code addresses at 1,000 random register or index values, against the element that
 * klr-format.md 9.4 and lowering.md 5 say, computed here from the KLR tree alone.
 *
 * The register program is executed by an interpreter of this file's own.
 */
#include "base/random.h"
#include "bir/json.h"
#include "codegen_text.h"
#include "compile.h"

enum { VALUES = 1000, OFFSETS_MAX = 64 };

/* --- reference --- */

static const struct klr_node *pattern_tensor(const struct klr_node *pattern)
{
    return klr_node_at(pattern, KLR_BirAccessPattern_tensor);
}

/* Product of the extents behind dimension `dim`. */
static int64_t behind(const struct klr_node *tensor, uint64_t dim)
{
    const struct klr_list *dims = klr_list_at(klr_node_at(tensor, KLR_TensorName_shape), KLR_Shape_freeDims);
    int64_t product = 1;
    for (uint64_t i = dim; i < dims->count; i++)
        product *= (int64_t)dims->items[i].nat;
    return product;
}

static int64_t tensor_elem(const struct klr_node *tensor)
{
    return klr_dtype_bytes(klr_enum_at(tensor, KLR_TensorName_dtype));
}

/* Bytes of the view's elements. */
static int64_t view_elem(const struct klr_node *pattern)
{
    uint32_t dtype;
    return klr_option_enum(pattern, KLR_BirAccessPattern_dtypeOverride, &dtype) ? (int64_t)klr_dtype_bytes(dtype)
                                                                                : tensor_elem(pattern_tensor(pattern));
}

/* The byte, counted row-major over the tensor, at which the access starts when the offset's value is v: `offset`
 * elements of the view and v steps along indirectDim, of vector offsets along dimension 0. */
static int64_t reference_byte(const struct klr_node *pattern, int64_t v)
{
    const struct klr_node *tensor = pattern_tensor(pattern);
    bool vector = klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset) != NULL;
    uint64_t dim = vector ? 0 : (uint64_t)klr_int_at(pattern, KLR_BirAccessPattern_indirectDim);
    return (int64_t)klr_nat_at(pattern, KLR_BirAccessPattern_offset) * view_elem(pattern) +
           v * behind(tensor, dim) * tensor_elem(tensor);
}

/* Start of an access that has no runtime offset, in elements of its tensor. */
static int64_t static_start(const struct klr_node *access)
{
    const struct klr_node *payload = access->fields[0].node;
    int64_t start = 0;
    if (access->ctor == KLR_Access_birPattern)
        return (int64_t)klr_nat_at(payload, KLR_BirAccessPattern_offset);
    if (access->ctor == KLR_Access_simple)
        return 0;
    if (access->ctor == KLR_Access_pattern) {
        const struct klr_list *pairs = klr_list_at(payload, KLR_AccessPattern_pattern);
        for (uint64_t i = 0; i < pairs->count; i++)
            start += klr_int_at(pairs->items[i].node, KLR_APPair_step) *
                     (int64_t)klr_nat_at(pairs->items[i].node, KLR_APPair_offset);
        return start;
    }
    const struct klr_list *indexes = klr_list_at(payload, KLR_AccessBasic_indexes);
    for (uint64_t i = 0; i < indexes->count; i++) {
        const struct klr_node *index = indexes->items[i].node;
        uint64_t first = index->ctor == KLR_Index_coord
                             ? klr_nat_at(index, KLR_Index_coord_e)
                             : klr_nat_at(klr_node_at(index, KLR_Index_slice_slice), KLR_Slice_l);
        start += (int64_t)first * behind(klr_node_at(payload, KLR_AccessBasic_tensor), i);
    }
    return start;
}

/* The index access of a dynamic pattern, NULL when the offset is a register, whose name is *reg then. */
static const struct klr_node *index_of(const struct klr_node *pattern, const struct bir_str **reg)
{
    const struct klr_node *scalar = klr_node_at(pattern, KLR_BirAccessPattern_scalarOffset);
    *reg = NULL;
    if (!scalar)
        return klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset);
    if (scalar->ctor == KLR_ScalarOffset_acc)
        return klr_node_at(scalar, KLR_ScalarOffset_acc_a);
    *reg = klr_string_at(scalar, KLR_ScalarOffset_reg_r);
    return NULL;
}

/* The operand of the lowered code that holds the index is what the file says. */
static void check_index_operand(const struct bir_argument *arg, const struct klr_node *access)
{
    const struct klr_node *tensor = access->fields[0].node;
    if (tensor->type != KLR_TYPE_TensorName)
        tensor = tensor->fields[0].node; /* the first field of every kind of access */
    ck_assert_int_eq(arg->kind, BIR_ARG_PHYSICAL_AP);
    ck_assert_str_eq(arg->location->name->text,
                     klr_string_at(klr_node_at(tensor, KLR_TensorName_address), KLR_Address_name)->text);
    ck_assert_int_eq(((const struct bir_physical_ap *)arg)->offset_elems, static_start(access));
}

/* --- interpreter --- */

struct value {
    const struct bir_storage *reg;
    int64_t value;
};

struct program {
    struct value values[OFFSETS_MAX];
    uint32_t count;
    const struct bir_str *input;  /* the register that may be read without having been written, or NULL */
    const struct klr_node *index; /* what a TensorLoad must read, or NULL */
    int64_t v;
    uint32_t loads, reads;
};

static void put(struct program *p, const struct bir_argument *arg, int64_t value)
{
    ck_assert_int_eq(arg->kind, BIR_ARG_REGISTER_ACCESS);
    uint32_t i = 0;
    while (i < p->count && p->values[i].reg != arg->location)
        i++;
    ck_assert_uint_lt(i, OFFSETS_MAX);
    p->values[i] = (struct value){ arg->location, value };
    p->count += i == p->count;
}

static int64_t get(struct program *p, const struct bir_argument *arg)
{
    if (arg->kind == BIR_ARG_IMM_VALUE)
        return (int64_t)((const struct bir_imm_value *)arg)->bits;
    ck_assert_int_eq(arg->kind, BIR_ARG_REGISTER_ACCESS);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->values[i].reg == arg->location)
            return p->values[i].value;
    /* The engine split may have given the engine a register of its own, called `<name>.<engine>`. */
    ck_assert_msg(p->input && strncmp(arg->location->name->text, p->input->text, p->input->len) == 0 &&
                      strchr(".", arg->location->name->text[p->input->len]) != NULL,
                  "register %s is read before it is written", arg->location->name->text);
    p->reads++;
    return p->v;
}

static void execute(struct program *p, const struct bir_instruction *inst)
{
    const struct bir_argument *a = bir_instruction_argument(inst, BIR_ROLE_IN, 0),
                              *b = bir_instruction_argument(inst, BIR_ROLE_IN, 1),
                              *out = bir_instruction_argument(inst, BIR_ROLE_OUT, 0);
    switch (inst->opcode) {
    case BIR_OP_REGISTER_MOVE: put(p, out, get(p, a)); break;
    case BIR_OP_TENSOR_LOAD:
        ck_assert_ptr_nonnull(p->index);
        check_index_operand(a, p->index);
        p->loads++;
        put(p, out, p->v);
        break;
    case BIR_OP_REGISTER_ALU: {
        const char *op = bir_props_find(inst->props, "op")->u.s->text;
        bool add = strcmp(op, "add") == 0;
        ck_assert_msg(add || strcmp(op, "mult") == 0, "%s computes %s", inst->name->text, op);
        int64_t x = get(p, a), y = get(p, b);
        put(p, out, add ? x + y : x * y);
        break;
    }
    default: ck_abort_msg("%s in a register program", bir_opcode_name(inst->opcode));
    }
}

/* What the instructions `<consumer>-...` in front of the consumer leave in the register. */
static int64_t run(struct program *p, const struct bir_instruction *consumer, const struct bir_storage *result)
{
    p->count = p->loads = p->reads = 0;
    BIR_EACH_INSTRUCTION (inst, consumer->block) {
        if (inst == consumer)
            break;
        if (strncmp(inst->name->text, consumer->name->text, consumer->name->len) == 0 &&
            inst->name->text[consumer->name->len] == '-')
            execute(p, inst);
    }
    for (uint32_t i = 0; i < p->count; i++)
        if (p->values[i].reg == result)
            return p->values[i].value;
    ck_abort_msg("%s: its offset register is not computed", consumer->name->text);
}

/* --- samples --- */

static struct bir_module *lower(const struct codegen_case *c)
{
    struct bir_compile_request request = { .method = BIR_METHOD_LOWER, .input = c->bytes, .input_len = c->len };
    struct bir_compile_limits limits;
    struct bir_compile_result result;
    struct bir_module *module = NULL;
    struct bir_arena arena;
    struct bir_diags diags;
    const struct bir_read_options strict = { .strict = true };
    bir_compile_limits_init(&limits);
    bir_compile_options_init(&request.options);
    request.options.check = BIR_CHECK_FULL;
    enum bir_status status = bir_compile(&request, &limits, NULL, &result);
    ck_assert_msg(status == BIR_OK, "%s", result.diags.first ? result.diags.first->message : "no diagnostic");
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    status = bir_module_read_json(result.output.data, result.output.len, &strict, &diags, &module);
    ck_assert_msg(status == BIR_OK, "%s", diags.first ? diags.first->message : "no diagnostic");
    bir_arena_deinit(&arena);
    bir_compile_result_deinit(&result);
    return module;
}

static int64_t any_value(uint64_t *random, bool is_register)
{
    int64_t value = (int64_t)bir_random_below(random, 1 << 20);
    return is_register && bir_random_below(random, 4) == 0 ? -value : value;
}

/* Expanded to a register program: its result is the element. */
static void check_program(const struct bir_instruction *inst, const struct bir_register_ap *ap,
                          const struct klr_node *pattern, uint64_t *random)
{
    struct program p = { 0 };
    p.index = index_of(pattern, &p.input);
    int64_t elem = bir_dtype_bytes(ap->base.dtype);
    ck_assert(ap->address_is_offset);
    for (int i = 0; i < VALUES; i++) {
        p.v = any_value(random, p.input != NULL);
        int64_t got = run(&p, inst, &ap->address->base);
        ck_assert_uint_eq(p.loads, p.index ? 1 : 0);
        ck_assert_uint_eq(p.reads, p.index ? 0 : 1);
        ck_assert_msg(got * elem == reference_byte(pattern, p.v), "%s at %lld: element %lld", inst->name->text,
                      (long long)p.v, (long long)got);
    }
}

/* Still a companion: the engine computes c + sum coef * index. */
static void check_companion(const struct bir_instruction *inst, const struct bir_argument *arg,
                            const struct klr_node *pattern, uint64_t *random)
{
    const struct bir_str *reg;
    const struct bir_dynamic_info *info = bir_argument_dynamic(arg);
    const struct klr_node *shape = klr_node_at(pattern_tensor(pattern), KLR_TensorName_shape);
    check_index_operand(bir_instruction_argument(inst, BIR_ROLE_INDIRECTION, 0), index_of(pattern, &reg));
    ck_assert_uint_eq(info->n_terms, 1);
    ck_assert_int_eq(info->terms[0].expr->kind, PELICAN_INDIRECT_ARG);
    ck_assert_int_eq(info->terms[0].expr->u.arg_id, 1);
    ck_assert_uint_eq(info->indirect_dim, 0);
    ck_assert_int_eq(info->indirect_dim_max_index, (int64_t)klr_nat_at(shape, KLR_Shape_parDim));
    for (int i = 0; i < VALUES; i++) {
        int64_t v = (int64_t)bir_random_below(random, klr_nat_at(shape, KLR_Shape_parDim));
        ck_assert_int_eq((info->c_elems + info->terms[0].coef * v) * (int64_t)bir_dtype_bytes(arg->dtype),
                         reference_byte(pattern, v));
    }
}

static const struct klr_node *dynamic_pattern(const struct klr_node *ref)
{
    if (ref->ctor != KLR_TensorRef_abstract)
        return NULL;
    const struct klr_node *access = klr_node_at(ref, KLR_TensorRef_abstract_access);
    if (access->ctor != KLR_Access_birPattern)
        return NULL;
    const struct klr_node *pattern = klr_node_at(access, KLR_Access_birPattern_access);
    return klr_node_at(pattern, KLR_BirAccessPattern_scalarOffset) ||
                   klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset)
               ? pattern
               : NULL;
}

/* Compares the DMA copy's dynamic operand when it has one. */
static bool check_statement(const struct bir_module *module, const struct klr_node *statement, uint64_t *random)
{
    const struct klr_node *op = klr_node_at(klr_node_at(statement, KLR_Stmt_oper_op), KLR_Operator_op);
    if (op->type != KLR_TYPE_NcDmaCopy)
        return false;
    const struct klr_node *src = dynamic_pattern(klr_node_at(op, KLR_NcDmaCopy_src)),
                          *dst = dynamic_pattern(klr_node_at(op, KLR_NcDmaCopy_dst));
    if (!src && !dst)
        return false;
    const struct bir_instruction *inst = codegen_find(module, 0, klr_string_at(statement, KLR_Stmt_oper_name)->text);
    const struct bir_argument *arg = bir_instruction_argument(inst, src ? BIR_ROLE_IN : BIR_ROLE_OUT, 0);
    if (arg->kind == BIR_ARG_REGISTER_AP)
        check_program(inst, (const struct bir_register_ap *)arg, src ? src : dst, random);
    else
        check_companion(inst, arg, src ? src : dst, random);
    return true;
}

START_TEST(samples_address_the_right_elements)
{
    static const struct {
        const char *path;
        uint32_t operands;
    } samples[] = { { "klr/dynamic_offset.klr", 4 }, { "klr/gather.klr", 3 } };
    for (size_t s = 0; s < 2; s++) {
        struct codegen_case c;
        uint32_t compared = 0;
        uint64_t random = 7;
        ck_assert_int_eq(codegen_case_open(&c, samples[s].path), BIR_OK);
        struct bir_module *module = lower(&c);
        const struct klr_list *blocks = klr_list_at(c.file.kernel, KLR_LncKernel_bodies)->items[0].list;
        for (uint64_t b = 0; b < blocks->count; b++) {
            const struct klr_list *body = klr_list_at(blocks->items[b].node, KLR_Block_body);
            for (uint64_t i = 0; i < body->count; i++)
                compared += check_statement(module, body->items[i].node, &random);
        }
        ck_assert_uint_eq(compared, samples[s].operands);
        bir_module_free(module);
        codegen_case_close(&c);
    }
}
END_TEST

/* --- random operands --- */

/* inst.4 of dynamic_offset.klr alone, its source given a random shape, memory, start, dimension and view. */
struct subject {
    struct codegen_case c;
    struct klr_node *pattern, *tensor, *shape, *address;
    bool on_chip;
    int64_t rows, row_bytes;
};

static void subject_open(struct subject *s)
{
    ck_assert_int_eq(codegen_case_open(&s->c, "klr/dynamic_offset.klr"), BIR_OK);
    struct codegen_case *c = &s->c;
    const struct klr_node *block = klr_list_at(c->file.kernel, KLR_LncKernel_bodies)->items[0].list->items[0].node;
    struct klr_list *body = (struct klr_list *)(uintptr_t)klr_list_at(block, KLR_Block_body);
    struct klr_node *statement = codegen_node_copy(c, body->items[2].node);
    ck_assert(bir_str_is(klr_string_at(statement, KLR_Stmt_oper_name), "inst.4"));
    struct klr_node *op = codegen_node_copy(c, klr_node_at(statement, KLR_Stmt_oper_op));
    struct klr_node *copy = codegen_node_copy(c, klr_node_at(op, KLR_Operator_op));
    struct klr_node *ref = codegen_node_copy(c, klr_node_at(copy, KLR_NcDmaCopy_src));
    struct klr_node *access = codegen_node_copy(c, klr_node_at(ref, KLR_TensorRef_abstract_access));
    s->pattern = codegen_node_copy(c, klr_node_at(access, KLR_Access_birPattern_access));
    s->tensor = codegen_node_copy(c, pattern_tensor(s->pattern));
    s->shape = codegen_node_copy(c, klr_node_at(s->tensor, KLR_TensorName_shape));
    s->address = codegen_node_copy(c, klr_node_at(s->tensor, KLR_TensorName_address));
    body->items[2].node = statement; /* the load of its register, statement 1, stays in front of it */
    statement->fields[KLR_Stmt_oper_op].node = op;
    op->fields[KLR_Operator_op].node = copy;
    copy->fields[KLR_NcDmaCopy_src].node = ref;
    ref->fields[KLR_TensorRef_abstract_access].node = access;
    access->fields[KLR_Access_birPattern_access].node = s->pattern;
    s->pattern->fields[KLR_BirAccessPattern_tensor].node = s->tensor;
    s->tensor->fields[KLR_TensorName_shape].node = s->shape;
    s->tensor->fields[KLR_TensorName_address].node = s->address;
    s->address->fields[KLR_Address_name].string = bir_intern_cstr(&c->strings, "subject");
}

/* Another tensor at the subject's address, with rows of `more` elements more: it makes the location's rows longer. */
static void add_wider_view(struct subject *s, uint64_t more)
{
    struct codegen_case *c = &s->c;
    struct klr_node *tensor = codegen_node_copy(c, s->tensor), *shape = codegen_node_copy(c, s->shape);
    union klr_slot wide = { .nat = (uint64_t)behind(s->tensor, 0) + more };
    shape->fields[KLR_Shape_freeDims].list = codegen_list_of(c, wide);
    tensor->fields[KLR_TensorName_shape].node = shape;
    struct klr_node *kernel = codegen_node_copy(c, c->file.kernel);
    kernel->fields[KLR_LncKernel_sharedBuffers].list = codegen_list_of(c, (union klr_slot){ .node = tensor });
    c->file.kernel = kernel;
}

static void subject_randomise(struct subject *s, uint64_t *random, union klr_slot *override)
{
    static const uint32_t dtypes[] = { KLR_Dtype_int8, KLR_Dtype_bfloat16, KLR_Dtype_float32, KLR_Dtype_int64 };
    struct klr_list *dims = bir_arena_alloc(&s->c.arena, BIR_MEM_OTHER, sizeof *dims + 2 * sizeof(union klr_slot));
    ck_assert_ptr_nonnull(dims);
    dims->count = 2;
    dims->items[0].nat = 2 + bir_random_below(random, 6);
    dims->items[1].nat = 8 * (1 + bir_random_below(random, 8)); /* so that every element size divides every step */
    s->rows = 8 + (int64_t)bir_random_below(random, 100);
    s->on_chip = bir_random_below(random, 2);
    s->shape->fields[KLR_Shape_parDim].nat = (uint64_t)s->rows;
    s->shape->fields[KLR_Shape_freeDims].list = dims;
    s->tensor->fields[KLR_TensorName_dtype].enumerator = dtypes[bir_random_below(random, 4)];
    override->enumerator = dtypes[bir_random_below(random, 4)];
    s->pattern->fields[KLR_BirAccessPattern_dtypeOverride].boxed = bir_random_below(random, 2) ? override : NULL;
    s->row_bytes = behind(s->tensor, 0) * tensor_elem(s->tensor);
    s->address->fields[KLR_Address_memory].enumerator = s->on_chip ? KLR_Memory_sbuf : KLR_Memory_hbm;
    s->address->fields[KLR_Address_parSize].nat = (uint64_t)s->rows;
    s->address->fields[KLR_Address_freeSize].nat = (uint64_t)(4 * s->row_bytes);
    s->pattern->fields[KLR_BirAccessPattern_indirectDim].integer = (int64_t)bir_random_below(random, 2);
    /* One element, at the start of the first or second row; v counts rows, or steps inside a row. */
    struct klr_list *pairs = bir_arena_alloc(&s->c.arena, BIR_MEM_OTHER, sizeof *pairs + sizeof(union klr_slot));
    ck_assert_ptr_nonnull(pairs);
    struct klr_node *pair =
        codegen_node_copy(&s->c, klr_list_at(s->pattern, KLR_BirAccessPattern_pattern)->items[0].node);
    pair->fields[KLR_APPair_num].nat = 1;
    pair->fields[KLR_APPair_step].integer = s->row_bytes / view_elem(s->pattern);
    pairs->count = 1;
    pairs->items[0].node = pair;
    s->pattern->fields[KLR_BirAccessPattern_pattern].list = pairs;
    s->pattern->fields[KLR_BirAccessPattern_offset].nat =
        bir_random_below(random, 2) * (uint64_t)(s->row_bytes / view_elem(s->pattern));
    if (s->on_chip && bir_random_below(random, 2))
        add_wider_view(s, 8 * (1 + bir_random_below(random, 4)));
}

/* Where the byte lies physically: row and byte of it. */
static void check_place(const struct subject *s, const struct bir_physical_ap *ap, int64_t v)
{
    const struct bir_dynamic_info *info = bir_argument_dynamic(&ap->base);
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    int64_t expected = reference_byte(s->pattern, v),
            got = (info->c_elems + info->terms[0].coef * v) * (int64_t)bir_dtype_bytes(ap->base.dtype);
    if (!s->on_chip) {
        ck_assert_int_eq(got, expected);
        return;
    }
    int64_t pitch = location->dims->items[1];
    ck_assert_int_eq(got / pitch, expected / s->row_bytes);
    ck_assert_int_eq(got % pitch, expected % s->row_bytes);
}

START_TEST(random_operands_address_the_right_elements)
{
    uint64_t random = 11;
    uint32_t wider = 0;
    for (int round = 0; round < 60; round++) {
        struct subject s;
        union klr_slot override;
        subject_open(&s);
        subject_randomise(&s, &random, &override);
        ck_assert_msg(codegen_case_convert(&s.c, NULL) == BIR_OK, "round %d: %s", round,
                      s.c.diags.first ? s.c.diags.first->message : "");
        const struct bir_physical_ap *ap =
            (const struct bir_physical_ap *)bir_instruction_argument(codegen_find(s.c.module, 0, "inst.4"), BIR_ROLE_IN,
                                                                     0);
        ck_assert_int_eq(ap->base.kind, BIR_ARG_PHYSICAL_AP);
        ck_assert_int_eq(ap->offset_elems, 0); /* c holds the start */
        bool by_row = klr_int_at(s.pattern, KLR_BirAccessPattern_indirectDim) == 0;
        uint64_t limit = by_row ? (uint64_t)s.rows - 1 : klr_list_at(s.shape, KLR_Shape_freeDims)->items[0].nat;
        for (int i = 0; i < VALUES; i++)
            check_place(&s, ap, (int64_t)bir_random_below(&random, limit));
        wider += s.on_chip && ((const struct bir_location *)ap->base.location)->dims->items[1] > s.row_bytes;
        codegen_case_close(&s.c);
    }
    ck_assert_uint_ge(wider, 5);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { samples_address_the_right_elements, random_operands_address_the_right_elements };
    return UNIT_RUN("klr_dynamic", tests);
}

/*
 * From operands of a module to descriptions.
 *
 * A space is a bump allocator of addresses with a map from objects to symbols. An object takes as many bytes as its
 * documented layout has, or reaches as far as its last documented member, so that pointers into it (the heads of an
 * instruction's lists, the links of a neighbour) fall inside. An operand's outlying vectors take their addresses while
 * it is described, after the operand itself, so that segments ascend.
 */
#include "bir/abi_operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bir/write.h"

/* Heads of the three role lists (lowering.md 1.2); next and prev of a list lead to links, not to the objects around
 * them. */
#define LIST_HEADS_OFFSET 0xA0
#define LIST_HEAD_BYTES   0x10
#define LINK_OFFSET       offsetof(struct bir_abi_argument, list)

/* Longest text of an expression that names one; shared subtrees are spelled out wherever they occur. */
#define EXPRESSION_NAME_BYTES 65536

/* Bytes of the objects behind symbols (lowering.md 1.9, 1.10, 1.12, 1.16); sizes of vtables are not known, any will do.
 */
static const uint32_t object_bytes[BIR_ABI_SYMBOL_COUNT] = {
    [BIR_ABI_SYMBOL_VTABLE] = 0x100,      [BIR_ABI_SYMBOL_INSTRUCTION] = 0xD0 + 0xA98,
    [BIR_ABI_SYMBOL_LOCATION] = 0x248,    [BIR_ABI_SYMBOL_SET] = 0x428 + 8,
    [BIR_ABI_SYMBOL_REGISTER] = 0x190,    [BIR_ABI_SYMBOL_EXPRESSION] = 0x78,
    [BIR_ABI_SYMBOL_AXIS] = 0x168 + 0x30,
};

struct describer {
    struct bir_abi_space *space;
    struct bir_arena *arena; /* of the description */
    int64_t source_offset;   /* of the operand, for diagnostics */
};

enum bir_status bir_abi_space_init(struct bir_abi_space *space, uint64_t base, struct bir_arena *arena,
                                   struct bir_diags *diags)
{
    if (base == 0 || base % BIR_ABI_ALIGN_BYTES != 0)
        return bir_fail(diags, "abi-base", BIR_NO_OFFSET, "give a multiple of 16 above 0",
                        "0x%" PRIx64 " cannot be the address of an object", base);
    *space = (struct bir_abi_space){ .arena = arena, .diags = diags, .next = base };
    return BIR_OK;
}

static enum bir_status take_address(struct bir_abi_space *space, uint64_t size, uint64_t *address)
{
    uint64_t end;
    if (__builtin_add_overflow(space->next, size + BIR_ABI_ALIGN_BYTES - 1, &end))
        return bir_fail_limit(space->diags, "abi-address-space", BIR_NO_OFFSET, "start from a lower base address",
                              "no %" PRIu64 " bytes are left above 0x%" PRIx64, size, space->next);
    *address = space->next;
    space->next = end / BIR_ABI_ALIGN_BYTES * BIR_ABI_ALIGN_BYTES;
    return BIR_OK;
}

/* Symbols */

/* A symbol of an object that has none yet; name NULL: allocation failed. */
static enum bir_status add_symbol(struct bir_abi_space *space, const void *object, enum bir_abi_symbol_class class,
                                  uint32_t size, const char *name, size_t len, const struct bir_abi_symbol **out)
{
    struct bir_abi_symbol *symbol = name ? BIR_NEW(space->arena, BIR_MEM_TABLES, struct bir_abi_symbol) : NULL;
    if (!symbol)
        return bir_arena_failure(space->arena);
    *symbol = (struct bir_abi_symbol){ .size_bytes = size, .class = class, .name = name, .name_len = (uint32_t)len };
    BIR_TRY(take_address(space, size, &symbol->address));
    if (!bir_map_put(&space->symbols, space->arena, object, symbol))
        return bir_arena_failure(space->arena);
    *out = symbol;
    return BIR_OK;
}

/* A pointer to an object with an interned name, or none. */
static enum bir_status refer(struct bir_abi_space *space, const void *object, enum bir_abi_symbol_class class,
                             const struct bir_str *name, uint64_t offset, struct bir_abi_ref *ref)
{
    *ref = (struct bir_abi_ref){ .symbol = object ? bir_map_get(&space->symbols, object) : NULL, .offset = offset };
    if (!object || ref->symbol)
        return BIR_OK;
    return add_symbol(space, object, class, object_bytes[class], name ? name->text : "", name ? name->len : 0,
                      &ref->symbol);
}

static enum bir_status refer_storage(struct bir_abi_space *space, const struct bir_storage *storage,
                                     struct bir_abi_ref *ref)
{
    enum bir_abi_symbol_class class = BIR_ABI_SYMBOL_REGISTER;
    if (storage && storage->tag != BIR_STORAGE_REGISTER)
        class = storage->tag == BIR_STORAGE_SET ? BIR_ABI_SYMBOL_SET : BIR_ABI_SYMBOL_LOCATION;
    return refer(space, storage, class, storage ? storage->name : NULL, 0, ref);
}

static enum bir_status refer_register(struct bir_abi_space *space, const struct bir_register *reg,
                                      struct bir_abi_ref *ref)
{
    return refer_storage(space, reg ? &reg->base : NULL, ref);
}

/* A vtable has its class's name; `part` tells the second one of an access pattern from the first. */
static enum bir_status refer_vtable(struct bir_abi_space *space, const void *key, const char *class_name,
                                    const char *part, struct bir_abi_ref *ref)
{
    *ref = (struct bir_abi_ref){ .symbol = bir_map_get(&space->symbols, key) };
    if (ref->symbol)
        return BIR_OK;
    const char *name = bir_arena_printf(space->arena, "%s%s", class_name, part);
    return add_symbol(space, key, BIR_ABI_SYMBOL_VTABLE, object_bytes[BIR_ABI_SYMBOL_VTABLE], name,
                      name ? strlen(name) : 0, &ref->symbol);
}

static enum bir_status operand_symbol(struct bir_abi_space *space, const struct bir_argument *arg, uint32_t position,
                                      const struct bir_abi_symbol **out)
{
    const char *problem = NULL;
    *out = bir_map_get(&space->symbols, arg);
    if (*out)
        return BIR_OK;
    int64_t source = arg->source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)arg->source_offset;
    const struct bir_abi_layout *layout = bir_abi_layout_by_ordinal(arg->kind, &problem);
    if (!layout)
        return bir_fail(space->diags, "abi-kind", source, "kinds with a class are 1, 2, 3, 6, 7, 8 and 11", "%s %d",
                        problem, arg->kind);
    if (!bir_argument_parent(arg))
        return bir_fail(space->diags, "abi-parent", source, NULL, "NULL Parent Instruction for Argument!");
    const struct bir_str *name = bir_argument_parent(arg)->name;
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_buf_put(&text, name ? name->text : "", name ? name->len : 0);
    bir_buf_printf(&text, "/%s/%" PRIu32, bir_role_name((enum bir_role)arg->role), position);
    enum bir_status status = text.status;
    if (status == BIR_OK)
        status = add_symbol(space, arg, BIR_ABI_SYMBOL_OPERAND, layout->size_bytes,
                            bir_arena_strndup(space->arena, text.data, text.len), text.len, out);
    bir_buf_deinit(&text);
    return status;
}

/* Links: to the neighbour, or at the ends of the circle to the list's head in the instruction. */

static enum bir_status refer_head(struct bir_abi_space *space, const struct bir_argument *arg, struct bir_abi_ref *ref)
{
    return refer(space, bir_argument_parent(arg), BIR_ABI_SYMBOL_INSTRUCTION, bir_argument_parent(arg)->name,
                 LIST_HEADS_OFFSET + (uint64_t)LIST_HEAD_BYTES * arg->role, ref);
}

static enum bir_status refer_neighbour(struct bir_abi_space *space, const struct bir_argument *arg, uint32_t position,
                                       struct bir_abi_ref *ref)
{
    ref->offset = LINK_OFFSET;
    return operand_symbol(space, arg, position, &ref->symbol);
}

static enum bir_status describe_links(struct bir_abi_space *space, const struct bir_argument *arg, uint32_t position,
                                      struct bir_abi_operand *out)
{
    const struct bir_argument *next = bir_argument_next(arg), *prev = bir_argument_prev(arg);
    BIR_TRY(next ? refer_neighbour(space, next, position + 1, &out->next) : refer_head(space, arg, &out->next));
    return prev ? refer_neighbour(space, prev, position - 1, &out->prev) : refer_head(space, arg, &out->prev);
}

/* Vectors */

/* Address of `count` items that do not fit inline; inline ones get none. */
static enum bir_status place(struct describer *d, uint32_t count, uint32_t inline_cap, size_t item_size,
                             uint64_t *address)
{
    *address = 0;
    return count > inline_cap ? take_address(d->space, (uint64_t)count * item_size, address) : BIR_OK;
}

static enum bir_status describe_pattern(struct describer *d, const struct bir_pattern *pattern,
                                        struct bir_abi_pair_list *out)
{
    uint32_t rank = pattern ? pattern->rank : 0;
    struct bir_abi_appair *items = bir_arena_alloc_array(d->arena, BIR_MEM_OTHER, rank, sizeof *items);
    if (!items)
        return bir_arena_failure(d->arena);
    for (uint32_t i = 0; i < rank; i++)
        items[i] = (struct bir_abi_appair){ pattern->pairs[i].step_elems, pattern->pairs[i].num };
    *out = (struct bir_abi_pair_list){ .items = items, .count = rank };
    return place(d, rank, BIR_ABI_PAIRS_INLINE, sizeof *items, &out->address);
}

static enum bir_status describe_words(struct describer *d, const void *words, uint32_t count, uint32_t inline_cap,
                                      struct bir_abi_word_list *out)
{
    uint64_t *items = bir_arena_alloc_array(d->arena, BIR_MEM_OTHER, count, sizeof *items);
    if (!items)
        return bir_arena_failure(d->arena);
    if (count > 0)
        memcpy(items, words, count * sizeof *items);
    *out = (struct bir_abi_word_list){ .items = items, .count = count };
    return place(d, count, inline_cap, sizeof *items, &out->address);
}

/* Expressions */

struct axis_walk {
    struct bir_arena *arena;
    struct bir_map seen; /* nodes and axes */
    BIR_VEC(const struct pelican_axis *) axes;
};

/* True for the first visit; status becomes a failure when that cannot be remembered. */
static bool visit(struct axis_walk *walk, const void *object, enum bir_status *status)
{
    if (*status != BIR_OK || bir_map_get(&walk->seen, object))
        return false;
    if (!bir_map_put(&walk->seen, walk->arena, object, walk))
        *status = bir_arena_failure(walk->arena);
    return *status == BIR_OK;
}

static enum bir_status collect_axes(struct axis_walk *walk, const struct pelican_expr *e)
{
    enum bir_status status = BIR_OK;
    if (!visit(walk, e, &status))
        return status;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE_IV:
        if (visit(walk, e->u.axis, &status) && !bir_vec_push(walk->arena, &walk->axes, e->u.axis))
            return bir_arena_failure(walk->arena);
        return status;
    case PELICAN_AFFINE:
        for (uint32_t i = 0; i < e->u.affine.n_terms; i++)
            BIR_TRY(collect_axes(walk, e->u.affine.terms[i].index));
        return BIR_OK;
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++)
            BIR_TRY(collect_axes(walk, e->u.sum.terms[i]));
        return BIR_OK;
    case PELICAN_MULT: return collect_axes(walk, e->u.mult.operand);
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: return collect_axes(walk, e->u.div.numer);
    default: return BIR_OK;
    }
}

static uint32_t axis_depth(const struct pelican_axis *axis)
{
    return axis->loop && axis->loop->block ? axis->loop->block->region->depth : 0;
}

/* Outermost first; axes of one depth in the order of their creation. */
static int compare_axes(const void *a, const void *b)
{
    const struct pelican_axis *x = *(const struct pelican_axis *const *)a, *y = *(const struct pelican_axis *const *)b;
    uint32_t dx = axis_depth(x), dy = axis_depth(y);
    return dx != dy ? (dx > dy) - (dx < dy) : (x->id > y->id) - (x->id < y->id);
}

static enum bir_status describe_axes(struct describer *d, const struct pelican_expr *e, struct bir_abi_ref_list *out)
{
    struct axis_walk walk = { .arena = d->arena };
    BIR_TRY(collect_axes(&walk, e));
    uint32_t count = walk.axes.count;
    if (count > 1)
        qsort(walk.axes.items, count, sizeof *walk.axes.items, compare_axes);
    struct bir_abi_ref *items = bir_arena_alloc_array(d->arena, BIR_MEM_OTHER, count, sizeof *items);
    if (!items)
        return bir_arena_failure(d->arena);
    for (uint32_t i = 0; i < count; i++)
        BIR_TRY(refer(d->space, walk.axes.items[i], BIR_ABI_SYMBOL_AXIS, walk.axes.items[i]->name, 0, &items[i]));
    *out = (struct bir_abi_ref_list){ .items = items, .count = count };
    return place(d, count, BIR_ABI_AXES_INLINE, sizeof(struct bir_abi_pointer), &out->address);
}

/* An expression is named by its JSON text. */
static enum bir_status expression_symbol(struct describer *d, const struct pelican_expr *e,
                                         const struct bir_abi_symbol **out)
{
    *out = bir_map_get(&d->space->symbols, e);
    if (*out)
        return BIR_OK;
    struct bir_buf text;
    struct bir_json_writer w;
    bir_buf_init(&text, EXPRESSION_NAME_BYTES);
    bir_json_writer_init(&w, &text, 0);
    bir_write_expr(&w, e);
    enum bir_status status = text.status;
    if (status == BIR_OK)
        status = add_symbol(d->space, e, BIR_ABI_SYMBOL_EXPRESSION, object_bytes[BIR_ABI_SYMBOL_EXPRESSION],
                            bir_arena_strndup(d->space->arena, text.data, text.len), text.len, out);
    else if (status == BIR_LIMIT)
        (void)bir_fail_limit(d->space->diags, "abi-expression", d->source_offset, "simplify the expression",
                             "the text of an expression has more than %d bytes", EXPRESSION_NAME_BYTES);
    bir_buf_deinit(&text);
    return status;
}

static enum bir_status describe_expr(struct describer *d, const struct pelican_expr *e, struct bir_abi_expr *out)
{
    if (!e)
        return BIR_OK;
    BIR_TRY(expression_symbol(d, e, &out->expr.symbol));
    return describe_axes(d, e, &out->axes);
}

static struct bir_abi_expr *new_exprs(struct describer *d, uint32_t count)
{
    return bir_arena_alloc_array(d->arena, BIR_MEM_OTHER, count, sizeof(struct bir_abi_expr));
}

/* Kinds */

static enum bir_status fail_range(struct describer *d, const char *member, int64_t value)
{
    return bir_fail(d->space->diags, "abi-range", d->source_offset, NULL, "%s is %" PRId64 ", its field holds %d to %d",
                    member, value, INT32_MIN, INT32_MAX);
}

/* A member of dynamic_ap_info without field in our own objects. */
static int32_t prop_or(const struct bir_props *props, const char *key, int32_t otherwise)
{
    const struct bir_prop *prop = bir_props_find(props, key);
    bool fits = prop && prop->type == BIR_VALUE_INT && prop->u.i >= INT32_MIN && prop->u.i <= INT32_MAX;
    return fits ? (int32_t)prop->u.i : otherwise;
}

static enum bir_status describe_dynamic(struct describer *d, const struct bir_dynamic_info *info,
                                        struct bir_abi_dynamic *out)
{
    if (info->indirect_dim_max_index > INT32_MAX || info->indirect_dim_max_index < INT32_MIN)
        return fail_range(d, "indirect_dim_max_index", info->indirect_dim_max_index);
    BIR_TRY(take_address(d->space, sizeof(struct bir_abi_dynamic_ap_info), &out->address));
    BIR_TRY(describe_pattern(d, info->actual, &out->actual));
    struct bir_abi_expr *terms = new_exprs(d, info->n_terms);
    if (!terms)
        return bir_arena_failure(d->arena);
    out->terms = (struct bir_abi_expr_list){ .items = terms, .count = info->n_terms };
    BIR_TRY(place(d, info->n_terms, 0, sizeof(struct bir_abi_dynamic_term), &out->terms.address));
    for (uint32_t i = 0; i < info->n_terms; i++) {
        BIR_TRY(describe_expr(d, info->terms[i].expr, &terms[i]));
        terms[i].coef = info->terms[i].coef;
    }
    out->c_elems = info->c_elems;
    out->indirect_dim = info->indirect_dim;
    out->indirect_dim_max_index = (int32_t)info->indirect_dim_max_index;
    out->tensor_indirect_arg_id = prop_or(info->props, "tensor_indirect_arg_id", -1);
    out->num_tensor_indirect_indices = prop_or(info->props, "num_tensor_indirect_indices", 0);
    return BIR_OK;
}

static enum bir_status describe_physical(struct describer *d, const struct bir_physical_ap *ap,
                                         struct bir_abi_operand *out)
{
    out->u.physical.offset_elems = (uint64_t)ap->offset_elems;
    if (!bir_argument_dynamic(&ap->base))
        return BIR_OK;
    struct bir_abi_dynamic *dynamic = BIR_NEW(d->arena, BIR_MEM_OTHER, struct bir_abi_dynamic);
    if (!dynamic)
        return bir_arena_failure(d->arena);
    out->u.physical.dynamic = dynamic;
    return describe_dynamic(d, bir_argument_dynamic(&ap->base), dynamic);
}

static enum bir_status describe_symbolic(struct describer *d, const struct bir_symbolic_ap *ap,
                                         struct bir_abi_operand *out)
{
    out->u.symbolic.tensor_indirect_arg_id = ap->tensor_indirect_arg_id;
    const struct bir_argument_rare *rare = bir_argument_rare_of(&ap->base);
    out->u.symbolic.num_tensor_indirect_indices = rare ? rare->num_tensor_indirect_indices : 0;
    struct bir_abi_expr *items = new_exprs(d, ap->n_addrs);
    if (!items)
        return bir_arena_failure(d->arena);
    out->u.symbolic.addrs = (struct bir_abi_expr_list){ .items = items, .count = ap->n_addrs };
    BIR_TRY(place(d, ap->n_addrs, 0, sizeof(struct bir_abi_quasi_affine), &out->u.symbolic.addrs.address));
    for (uint32_t i = 0; i < ap->n_addrs; i++)
        BIR_TRY(describe_expr(d, ap->addrs[i], &items[i]));
    return BIR_OK;
}

static enum bir_status describe_register_ap(struct describer *d, const struct bir_register_ap *ap,
                                            struct bir_abi_operand *out)
{
    out->u.reg.const_offset_elems = ap->const_offset_elems;
    out->u.reg.const_sub_tensor_id = ap->const_sub_tensor_id;
    out->u.reg.address_is_offset = ap->address_is_offset;
    BIR_TRY(refer_register(d->space, ap->address, &out->u.reg.address));
    BIR_TRY(refer_register(d->space, ap->offset, &out->u.reg.offset));
    return refer_register(d->space, ap->sub_tensor, &out->u.reg.sub_tensor);
}

static enum bir_status describe_kind(struct describer *d, const struct bir_argument *arg, struct bir_abi_operand *out)
{
    switch ((enum bir_argument_kind)arg->kind) {
    case BIR_ARG_PHYSICAL_AP: return describe_physical(d, (const struct bir_physical_ap *)arg, out);
    case BIR_ARG_SYMBOLIC_AP: return describe_symbolic(d, (const struct bir_symbolic_ap *)arg, out);
    case BIR_ARG_REGISTER_AP: return describe_register_ap(d, (const struct bir_register_ap *)arg, out);
    case BIR_ARG_IMM_VALUE: {
        uint32_t width = 8 * bir_dtype_bytes(arg->dtype);
        uint64_t bits = ((const struct bir_imm_value *)arg)->bits;
        out->u.imm.value = width < 64 ? bits & ((UINT64_C(1) << width) - 1) : bits;
        return BIR_OK;
    }
    case BIR_ARG_SYMBOLIC_IMM_VALUE: /* the value folded from the expression is the vendor's to know: 0 */
        return describe_expr(d, ((const struct bir_symbolic_imm_value *)arg)->expr, &out->u.imm.expr);
    case BIR_ARG_IMM_ARRAY: {
        const struct bir_imm_array *array = (const struct bir_imm_array *)arg;
        return describe_words(d, array->bits, array->count, BIR_ABI_ARRAY_INLINE, &out->u.values);
    }
    case BIR_ARG_REGISTER_ACCESS:
    case BIR_ARG_REGISTER_SET: break; /* nothing of its own; has no layout and is refused before */
    }
    return BIR_OK;
}

static enum bir_status check_dtype(struct describer *d, const struct bir_argument *arg)
{
    bool immediate = bir_argument_class_of((enum bir_argument_kind)arg->kind)->is_immediate;
    if (arg->dtype < BIR_DTYPE_COUNT && (!immediate || bir_dtype_is_immediate(arg->dtype)))
        return BIR_OK;
    return bir_fail(d->space->diags, "abi-dtype", d->source_offset, "the image holds the ordinal of the dtype",
                    "%s: %s%s", arg->dtype < BIR_DTYPE_COUNT ? "unsupported dtype" : "Unknown dtype",
                    bir_dtype_name(arg->dtype), immediate ? " in an immediate" : "");
}

static enum bir_status describe_base(struct describer *d, const struct bir_argument *arg, uint32_t position,
                                     struct bir_abi_operand *out)
{
    struct bir_abi_space *space = d->space;
    if (bir_argument_parent(arg)->index > INT32_MAX)
        return fail_range(d, "the index of the instruction", bir_argument_parent(arg)->index);
    out->unique_id = (int32_t)bir_argument_parent(arg)->index;
    out->dtype = arg->dtype;
    out->is_output = arg->flags & BIR_ARGF_OUTPUT;
    out->active = arg->flags & BIR_ARGF_ACTIVE;
    BIR_TRY(refer_vtable(space, out->layout, out->layout->class_name, "", &out->vtable));
    BIR_TRY(describe_links(space, arg, position, out));
    BIR_TRY(refer(space, bir_argument_parent(arg), BIR_ABI_SYMBOL_INSTRUCTION, bir_argument_parent(arg)->name, 0,
                  &out->parent));
    return refer_storage(space, arg->location, &out->location);
}

static enum bir_status describe_access(struct describer *d, const struct bir_argument *arg, struct bir_abi_operand *out)
{
    const struct bir_ints *shape = bir_argument_shape(arg);
    BIR_TRY(refer_vtable(d->space, out->layout->class_name, out->layout->class_name, " (logging::SrcHandle)",
                         &out->src_handle));
    BIR_TRY(describe_pattern(d, bir_argument_pattern(arg), &out->pattern));
    return describe_words(d, shape ? shape->items : NULL, shape ? shape->count : 0, BIR_ABI_SHAPE_INLINE,
                          &out->access_shape);
}

static struct describer describer_of(struct bir_abi_space *space, const struct bir_argument *arg,
                                     struct bir_arena *arena)
{
    int64_t source = arg->source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)arg->source_offset;
    return (struct describer){ .space = space, .arena = arena, .source_offset = source };
}

enum bir_status bir_abi_describe(struct bir_abi_space *space, const struct bir_argument *arg, uint32_t position,
                                 struct bir_arena *arena, struct bir_abi_operand *out)
{
    struct describer d = describer_of(space, arg, arena);
    struct bir_abi_operand operand = { 0 };
    BIR_TRY(operand_symbol(space, arg, position, &operand.self));
    BIR_TRY(check_dtype(&d, arg));
    operand.layout = bir_abi_layout_by_ordinal(arg->kind, NULL);
    operand.address = operand.self->address;
    BIR_TRY(describe_base(&d, arg, position, &operand));
    if (bir_argument_class_of((enum bir_argument_kind)arg->kind)->has_pattern)
        BIR_TRY(describe_access(&d, arg, &operand));
    BIR_TRY(describe_kind(&d, arg, &operand));
    *out = operand;
    return BIR_OK;
}

enum bir_status bir_abi_describe_inst_arg(struct bir_abi_space *space, const struct bir_physical_ap *ap,
                                          struct bir_arena *arena, struct bir_abi_operand *out)
{
    struct describer d = describer_of(space, &ap->base, arena);
    struct bir_abi_operand operand = { .layout = bir_abi_layout_of(BIR_ABI_INST_ARG), .dtype = ap->base.dtype };
    BIR_TRY(check_dtype(&d, &ap->base));
    if (ap->offset_elems > INT32_MAX || ap->offset_elems < INT32_MIN)
        return fail_range(&d, "the offset in elements", ap->offset_elems);
    BIR_TRY(take_address(space, sizeof(struct bir_abi_inst_arg), &operand.address));
    BIR_TRY(refer_storage(space, ap->base.location, &operand.location));
    BIR_TRY(describe_pattern(&d, ap->pattern, &operand.pattern));
    operand.u.inst_arg.offset_elems = (int32_t)ap->offset_elems;
    operand.u.inst_arg.valid = true;
    *out = operand;
    return BIR_OK;
}

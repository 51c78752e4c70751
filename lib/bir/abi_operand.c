/*
 * Descriptions to images and back.
 *
 * Composing fills the structs of abi.h and appends one segment for each thing outside the object, then sorts by
 * address. Reading does the reverse: a pointer becomes a reference to the symbol that holds it, a vector is taken from
 * its inline items when data points to them and else from the segment that starts at data, which must have the right
 * layout and length. A segment belongs to one vector only, so a hostile file costs no more than its own size.
 */
#include "bir/abi_operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

union object {
    struct bir_abi_argument argument;
    struct bir_abi_access_pattern access;
    struct bir_abi_physical_ap physical;
    struct bir_abi_symbolic_ap symbolic;
    struct bir_abi_register_ap reg;
    struct bir_abi_imm_value imm;
    struct bir_abi_symbolic_imm_value symbolic_imm;
    struct bir_abi_imm_array array;
    struct bir_abi_inst_arg inst_arg;
    struct bir_abi_dynamic_ap_info dynamic;
};

/* --- composing --- */

struct composer {
    struct bir_arena *arena;
    struct bir_diags *diags;
    BIR_VEC(struct bir_abi_segment) segments;
    BIR_VEC(const struct bir_abi_symbol *) symbols; /* with repetitions */
    bool failed;                                    /* an allocation did */
};

static uint64_t address_of(struct composer *c, struct bir_abi_ref ref)
{
    if (!ref.symbol)
        return ref.offset;
    if (!bir_vec_push(c->arena, &c->symbols, ref.symbol))
        c->failed = true;
    return ref.symbol->address + ref.offset;
}

/* A new segment, zeroed; NULL when memory is out. */
static void *put_segment(struct composer *c, enum bir_abi_layout_id id, uint64_t address, uint32_t count)
{
    const struct bir_abi_layout *layout = bir_abi_layout_of(id);
    uint8_t *bytes = bir_arena_alloc_array(c->arena, BIR_MEM_OTHER, count, layout->size_bytes);
    struct bir_abi_segment segment = { address, layout, count, bytes };
    if (bytes && bir_vec_push(c->arena, &c->segments, segment))
        return bytes;
    c->failed = true;
    return NULL;
}

/* The head of a small vector: inline items when they fit, else a segment. Choice: what has grown has no spare capacity.
 */
static void put_small(struct composer *c, enum bir_abi_layout_id item, const void *items, uint32_t count,
                      uint64_t address, uint32_t inline_cap, uint64_t inline_address, void *inline_items,
                      uint64_t *data, uint32_t *size, uint32_t *cap)
{
    bool fits = count <= inline_cap;
    void *to = fits ? inline_items : put_segment(c, item, address, count);
    *data = fits ? inline_address : address;
    *size = count;
    *cap = fits ? inline_cap : count;
    if (to && count > 0)
        memcpy(to, items, (size_t)count * bir_abi_layout_of(item)->size_bytes);
}

static void put_pairs(struct composer *c, const struct bir_abi_pair_list *list, uint64_t address,
                      struct bir_abi_pairs *out)
{
    put_small(c, BIR_ABI_APPAIR, list->items, list->count, list->address, BIR_ABI_PAIRS_INLINE,
              address + offsetof(struct bir_abi_pairs, items), out->items, &out->data, &out->size, &out->cap);
}

static void put_expr(struct composer *c, const struct bir_abi_expr *expr, uint64_t address,
                     struct bir_abi_quasi_affine *out)
{
    uint64_t *axes = bir_arena_alloc_array(c->arena, BIR_MEM_OTHER, expr->axes.count, sizeof *axes);
    out->expr = address_of(c, expr->expr);
    for (uint32_t i = 0; axes && i < expr->axes.count; i++)
        axes[i] = address_of(c, expr->axes.items[i]);
    if (!axes)
        c->failed = true;
    else
        put_small(c, BIR_ABI_POINTER, axes, expr->axes.count, expr->axes.address, BIR_ABI_AXES_INLINE,
                  address + offsetof(struct bir_abi_quasi_affine, axes.items), out->axes.items, &out->axes.data,
                  &out->axes.count, &out->axes.cap);
}

/* A std::vector without spare capacity; all zero when empty. */
static void put_vector(const struct bir_abi_expr_list *list, size_t item_size, struct bir_abi_vector *out)
{
    if (list->count == 0)
        return;
    out->begin = list->address;
    out->end = out->cap_end = list->address + (uint64_t)list->count * item_size;
}

static void put_addrs(struct composer *c, const struct bir_abi_expr_list *list, struct bir_abi_vector *out)
{
    put_vector(list, sizeof(struct bir_abi_quasi_affine), out);
    struct bir_abi_quasi_affine *items =
        list->count > 0 ? put_segment(c, BIR_ABI_QUASI_AFFINE, list->address, list->count) : NULL;
    for (uint32_t i = 0; items && i < list->count; i++)
        put_expr(c, &list->items[i], list->address + i * sizeof *items, &items[i]);
}

static void put_terms(struct composer *c, const struct bir_abi_expr_list *list, struct bir_abi_vector *out)
{
    put_vector(list, sizeof(struct bir_abi_dynamic_term), out);
    struct bir_abi_dynamic_term *items =
        list->count > 0 ? put_segment(c, BIR_ABI_DYNAMIC_TERM, list->address, list->count) : NULL;
    for (uint32_t i = 0; items && i < list->count; i++) {
        put_expr(c, &list->items[i], list->address + i * sizeof *items, &items[i].expr);
        items[i].coef = list->items[i].coef;
    }
}

static void put_dynamic(struct composer *c, const struct bir_abi_dynamic *dynamic, uint64_t address,
                        struct bir_abi_dynamic_ap_info *out)
{
    put_pairs(c, &dynamic->actual, address + offsetof(struct bir_abi_dynamic_ap_info, actual), &out->actual);
    put_terms(c, &dynamic->terms, &out->terms);
    out->c = dynamic->c_elems;
    out->indirect_dim_max_index = dynamic->indirect_dim_max_index;
    out->indirect_dim = dynamic->indirect_dim;
    out->tensor_indirect_arg_id = dynamic->tensor_indirect_arg_id;
    out->num_tensor_indirect_indices = dynamic->num_tensor_indirect_indices;
}

static void put_companion(struct composer *c, const struct bir_abi_dynamic *dynamic, uint64_t *pointer)
{
    if (!dynamic)
        return;
    *pointer = dynamic->address;
    struct bir_abi_dynamic_ap_info *out = put_segment(c, BIR_ABI_DYNAMIC_AP_INFO, dynamic->address, 1);
    if (out)
        put_dynamic(c, dynamic, dynamic->address, out);
}

static void put_argument(struct composer *c, const struct bir_abi_operand *operand, struct bir_abi_argument *out)
{
    *out = (struct bir_abi_argument){
        .vtable = address_of(c, operand->vtable),
        .list = { address_of(c, operand->next), address_of(c, operand->prev) },
        .kind = operand->layout->ordinal,
        .parent = address_of(c, operand->parent),
        .unique_id = operand->unique_id,
        .is_output = operand->is_output,
        .dtype = operand->dtype,
        .location = address_of(c, operand->location),
        .active = operand->active,
    };
}

static void put_access(struct composer *c, const struct bir_abi_operand *operand, struct bir_abi_access_pattern *out)
{
    const struct bir_abi_word_list *shape = &operand->access_shape;
    uint64_t address = operand->address;
    out->src_handle = address_of(c, operand->src_handle);
    put_pairs(c, &operand->pattern, address + offsetof(struct bir_abi_access_pattern, pattern), &out->pattern);
    put_small(c, BIR_ABI_EXTENT, shape->items, shape->count, shape->address, BIR_ABI_SHAPE_INLINE,
              address + offsetof(struct bir_abi_access_pattern, access_shape.items), out->access_shape.items,
              &out->access_shape.data, &out->access_shape.size, &out->access_shape.cap);
}

static void put_register_ap(struct composer *c, const struct bir_abi_operand *operand, struct bir_abi_register_ap *out)
{
    out->reg_loc = address_of(c, operand->u.reg.address);
    out->reg_ap_offset = address_of(c, operand->u.reg.offset);
    out->reg_sub_tensor_id = address_of(c, operand->u.reg.sub_tensor);
    out->const_ap_offset = operand->u.reg.const_offset_elems;
    out->const_sub_tensor_id = operand->u.reg.const_sub_tensor_id;
    out->is_regloc_offset = operand->u.reg.address_is_offset;
}

static void put_symbolic_imm(struct composer *c, const struct bir_abi_operand *operand,
                             struct bir_abi_symbolic_imm_value *out)
{
    out->base.value = operand->u.imm.value;
    put_expr(c, &operand->u.imm.expr, operand->address + offsetof(struct bir_abi_symbolic_imm_value, expr), &out->expr);
    out->coef_map.leftmost = out->coef_map.rightmost = operand->address + BIR_ABI_COEF_MAP_HEAD;
}

static void put_inst_arg(struct composer *c, const struct bir_abi_operand *operand, struct bir_abi_inst_arg *out)
{
    out->location = address_of(c, operand->location);
    put_pairs(c, &operand->pattern, operand->address + offsetof(struct bir_abi_inst_arg, pattern), &out->pattern);
    out->offset_elems = operand->u.inst_arg.offset_elems;
    out->dtype = operand->dtype;
    out->valid = operand->u.inst_arg.valid;
}

static void put_object(struct composer *c, const struct bir_abi_operand *operand, union object *out)
{
    bool access = operand->layout->base == BIR_ABI_ACCESS_PATTERN;
    if (bir_abi_layout_is_argument(operand->layout))
        put_argument(c, operand, &out->argument);
    if (access)
        put_access(c, operand, &out->access);
    switch (operand->layout->id) {
    case BIR_ABI_PHYSICAL_AP:
        out->physical.offset = operand->u.physical.offset_elems;
        put_companion(c, operand->u.physical.dynamic, &out->physical.dynamic_ap_info);
        break;
    case BIR_ABI_SYMBOLIC_AP:
        out->symbolic.tensor_indirect_arg_id = operand->u.symbolic.tensor_indirect_arg_id;
        out->symbolic.num_tensor_indirect_indices = operand->u.symbolic.num_tensor_indirect_indices;
        put_addrs(c, &operand->u.symbolic.addrs, &out->symbolic.addrs);
        break;
    case BIR_ABI_REGISTER_AP: put_register_ap(c, operand, &out->reg); break;
    case BIR_ABI_IMM_VALUE: out->imm.value = operand->u.imm.value; break;
    case BIR_ABI_SYMBOLIC_IMM_VALUE: put_symbolic_imm(c, operand, &out->symbolic_imm); break;
    case BIR_ABI_IMM_ARRAY:
        put_small(c, BIR_ABI_LITERAL, operand->u.values.items, operand->u.values.count, operand->u.values.address,
                  BIR_ABI_ARRAY_INLINE, operand->address + offsetof(struct bir_abi_imm_array, values.items),
                  out->array.values.items, &out->array.values.data, &out->array.values.size, &out->array.values.cap);
        break;
    case BIR_ABI_INST_ARG: put_inst_arg(c, operand, &out->inst_arg); break;
    case BIR_ABI_DYNAMIC_AP_INFO: put_dynamic(c, &operand->u.dynamic, operand->address, &out->dynamic); break;
    default: break;
    }
}

static int compare_segments(const void *a, const void *b)
{
    const struct bir_abi_segment *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static int compare_symbols(const void *a, const void *b)
{
    const struct bir_abi_symbol *const *x = a, *const *y = b;
    return ((*x)->address > (*y)->address) - ((*x)->address < (*y)->address);
}

static enum bir_status fail_overlap(struct composer *c, const char *what, uint64_t address)
{
    return bir_fail(c->diags, "abi-overlap", BIR_NO_OFFSET,
                    "give every object its own addresses, the operand the least",
                    "the %s at 0x%" PRIx64 " overlaps the one before it", what, address);
}

static enum bir_status sort_segments(struct composer *c, uint64_t object)
{
    qsort(c->segments.items, c->segments.count, sizeof *c->segments.items, compare_segments);
    uint64_t end = object;
    for (uint32_t i = 0; i < c->segments.count; i++) {
        const struct bir_abi_segment *segment = &c->segments.items[i];
        if (segment->address < end || (i == 0 && segment->address != object) ||
            __builtin_add_overflow(segment->address, (uint64_t)segment->count * segment->layout->size_bytes, &end))
            return fail_overlap(c, "part", segment->address);
    }
    return BIR_OK;
}

/* Each symbol once, ascending. */
static enum bir_status sort_symbols(struct composer *c, struct bir_abi_image *image)
{
    struct bir_abi_symbol *out = bir_arena_alloc_array(c->arena, BIR_MEM_OTHER, c->symbols.count, sizeof *out);
    if (!out)
        return bir_arena_failure(c->arena);
    if (c->symbols.count > 0)
        qsort(c->symbols.items, c->symbols.count, sizeof *c->symbols.items, compare_symbols);
    uint32_t n = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < c->symbols.count; i++) {
        const struct bir_abi_symbol *symbol = c->symbols.items[i];
        if (i > 0 && symbol == c->symbols.items[i - 1])
            continue;
        if (symbol->address < end || __builtin_add_overflow(symbol->address, (uint64_t)symbol->size_bytes, &end))
            return fail_overlap(c, "symbol", symbol->address);
        out[n++] = *symbol;
    }
    image->symbols = out;
    image->n_symbols = n;
    return BIR_OK;
}

enum bir_status bir_abi_compose(const struct bir_abi_operand *operand, struct bir_arena *arena, struct bir_diags *diags,
                                struct bir_abi_image *image)
{
    struct composer c = { .arena = arena, .diags = diags };
    struct bir_abi_image made = { 0 };
    union object object;
    memset(&object, 0, sizeof object);
    uint8_t *bytes = put_segment(&c, operand->layout->id, operand->address, 1);
    if (operand->self)
        (void)address_of(&c, (struct bir_abi_ref){ .symbol = operand->self });
    put_object(&c, operand, &object);
    if (c.failed)
        return bir_arena_failure(arena);
    memcpy(bytes, &object, operand->layout->size_bytes);
    BIR_TRY(sort_segments(&c, operand->address));
    BIR_TRY(sort_symbols(&c, &made));
    made.segments = c.segments.items;
    made.n_segments = c.segments.count;
    *image = made;
    return BIR_OK;
}

/* --- reading --- */

struct reading {
    const struct bir_abi_image *image;
    struct bir_arena *arena;
    struct bir_diags *diags;
    bool *taken; /* by segment */
};

static struct bir_abi_ref ref_of(const struct reading *r, uint64_t address)
{
    const struct bir_abi_symbol *symbol = address ? bir_abi_symbol_at(r->image, address) : NULL;
    return (struct bir_abi_ref){ symbol, symbol ? address - symbol->address : address };
}

static enum bir_status fail_vector(const struct reading *r, const char *what, uint64_t data, uint32_t count)
{
    return bir_fail(r->diags, "abi-vector", BIR_NO_OFFSET, "give an image file, which holds what is outside the object",
                    "%s at 0x%" PRIx64 ": the image does not hold its %" PRIu32 " items", what, data, count);
}

/* The bytes of exactly `count` items at an address. */
static enum bir_status items_at(const struct reading *r, enum bir_abi_layout_id item, const char *what, uint64_t data,
                                uint32_t count, const void **items)
{
    const struct bir_abi_segment *segment = bir_abi_segment_at(r->image, data);
    if (!segment || segment->address != data || segment->layout->id != item || segment->count != count)
        return fail_vector(r, what, data, count);
    bool *taken = &r->taken[segment - r->image->segments];
    if (*taken)
        return bir_fail(r->diags, "abi-vector", BIR_NO_OFFSET, NULL,
                        "%s at 0x%" PRIx64 " belongs to another vector too", what, data);
    *taken = true;
    *items = segment->bytes;
    return BIR_OK;
}

/* Copies the items of a small vector out. *address is 0 when they are inline. */
static enum bir_status get_small(const struct reading *r, enum bir_abi_layout_id item, const char *what, uint64_t data,
                                 uint32_t count, uint32_t cap, uint32_t inline_cap, uint64_t inline_address,
                                 const void *inline_items, uint64_t *address, void **out)
{
    const void *items = inline_items;
    *address = 0;
    if (count > cap)
        return bir_fail(r->diags, "abi-vector", BIR_NO_OFFSET, NULL,
                        "%s at 0x%" PRIx64 " has size %" PRIu32 " and capacity %" PRIu32, what, data, count, cap);
    if (count > 0 && (data != inline_address || count > inline_cap)) {
        BIR_TRY(items_at(r, item, what, data, count, &items));
        *address = data;
    }
    size_t size = bir_abi_layout_of(item)->size_bytes;
    *out = bir_arena_alloc_array(r->arena, BIR_MEM_OTHER, count, size);
    if (!*out)
        return bir_arena_failure(r->arena);
    if (count > 0)
        memcpy(*out, items, count * size);
    return BIR_OK;
}

static enum bir_status get_pairs(const struct reading *r, const char *what, const struct bir_abi_pairs *in,
                                 uint64_t address, struct bir_abi_pair_list *out)
{
    void *items;
    out->count = in->size;
    BIR_TRY(get_small(r, BIR_ABI_APPAIR, what, in->data, in->size, in->cap, BIR_ABI_PAIRS_INLINE,
                      address + offsetof(struct bir_abi_pairs, items), in->items, &out->address, &items));
    out->items = items;
    return BIR_OK;
}

static enum bir_status get_expr(const struct reading *r, const struct bir_abi_quasi_affine *in, uint64_t address,
                                struct bir_abi_expr *out)
{
    void *targets;
    out->expr = ref_of(r, in->expr);
    BIR_TRY(get_small(r, BIR_ABI_POINTER, "the axes of an expression", in->axes.data, in->axes.count, in->axes.cap,
                      BIR_ABI_AXES_INLINE, address + offsetof(struct bir_abi_quasi_affine, axes.items), in->axes.items,
                      &out->axes.address, &targets));
    struct bir_abi_ref *axes = bir_arena_alloc_array(r->arena, BIR_MEM_OTHER, in->axes.count, sizeof *axes);
    if (!axes)
        return bir_arena_failure(r->arena);
    for (uint32_t i = 0; i < in->axes.count; i++)
        axes[i] = ref_of(r, ((const uint64_t *)targets)[i]);
    out->axes.items = axes;
    out->axes.count = in->axes.count;
    return BIR_OK;
}

/* Items of a std::vector of expressions or terms. *items is NULL when it is empty. */
static enum bir_status get_vector(const struct reading *r, enum bir_abi_layout_id item, const char *what,
                                  const struct bir_abi_vector *in, struct bir_abi_expr_list *out, const uint8_t **items)
{
    uint64_t bytes = in->end - in->begin, size = bir_abi_layout_of(item)->size_bytes;
    const void *found = NULL;
    if (in->end < in->begin || in->cap_end < in->end || bytes % size != 0 || bytes / size > UINT32_MAX)
        return bir_fail(r->diags, "abi-vector", BIR_NO_OFFSET, NULL,
                        "%s runs from 0x%" PRIx64 " to 0x%" PRIx64 " of 0x%" PRIx64 ", not a whole number of items",
                        what, in->begin, in->end, in->cap_end);
    *out = (struct bir_abi_expr_list){ .count = (uint32_t)(bytes / size) };
    if (out->count > 0) {
        BIR_TRY(items_at(r, item, what, in->begin, out->count, &found));
        out->address = in->begin;
    }
    struct bir_abi_expr *exprs = bir_arena_alloc_array(r->arena, BIR_MEM_OTHER, out->count, sizeof *exprs);
    if (!exprs)
        return bir_arena_failure(r->arena);
    out->items = exprs;
    *items = found;
    return BIR_OK;
}

static enum bir_status get_exprs(const struct reading *r, enum bir_abi_layout_id item, const char *what,
                                 const struct bir_abi_vector *in, struct bir_abi_expr_list *out)
{
    const uint8_t *items = NULL;
    uint32_t size = bir_abi_layout_of(item)->size_bytes;
    BIR_TRY(get_vector(r, item, what, in, out, &items));
    struct bir_abi_expr *exprs = (struct bir_abi_expr *)out->items;
    for (uint32_t i = 0; i < out->count; i++) {
        struct bir_abi_dynamic_term term = { 0 }; /* begins like a quasi_affine */
        memcpy(&term, items + (size_t)i * size, size);
        BIR_TRY(get_expr(r, &term.expr, out->address + (uint64_t)i * size, &exprs[i]));
        exprs[i].coef = term.coef;
    }
    return BIR_OK;
}

static enum bir_status get_dynamic(const struct reading *r, const struct bir_abi_dynamic_ap_info *in, uint64_t address,
                                   struct bir_abi_dynamic *out)
{
    *out = (struct bir_abi_dynamic){
        .c_elems = in->c,
        .indirect_dim_max_index = in->indirect_dim_max_index,
        .indirect_dim = in->indirect_dim,
        .tensor_indirect_arg_id = in->tensor_indirect_arg_id,
        .num_tensor_indirect_indices = in->num_tensor_indirect_indices,
    };
    BIR_TRY(get_pairs(r, "actual_ap", &in->actual, address + offsetof(struct bir_abi_dynamic_ap_info, actual),
                      &out->actual));
    return get_exprs(r, BIR_ABI_DYNAMIC_TERM, "the terms of dynamic_ap_info", &in->terms, &out->terms);
}

static enum bir_status get_companion(const struct reading *r, uint64_t pointer, const struct bir_abi_dynamic **out)
{
    struct bir_abi_dynamic_ap_info in;
    const void *bytes;
    if (pointer == 0)
        return BIR_OK;
    BIR_TRY(items_at(r, BIR_ABI_DYNAMIC_AP_INFO, "dynamic_ap_info", pointer, 1, &bytes));
    memcpy(&in, bytes, sizeof in);
    struct bir_abi_dynamic *dynamic = BIR_NEW(r->arena, BIR_MEM_OTHER, struct bir_abi_dynamic);
    if (!dynamic)
        return bir_arena_failure(r->arena);
    *out = dynamic;
    BIR_TRY(get_dynamic(r, &in, pointer, dynamic));
    dynamic->address = pointer;
    return BIR_OK;
}

static enum bir_status get_bool(const struct reading *r, const char *member, uint8_t value, bool *out)
{
    *out = value != 0;
    if (value <= 1)
        return BIR_OK;
    return bir_fail(r->diags, "abi-range", BIR_NO_OFFSET, "a flag is 0 or 1", "%s is %u", member, value);
}

static enum bir_status check_dtype(const struct reading *r, int32_t dtype, bool immediate)
{
    if (dtype < 0 || dtype >= BIR_DTYPE_COUNT)
        return bir_fail(r->diags, "abi-dtype", BIR_NO_OFFSET, "ordinals go from 0 to 19", "Unknown dtype %" PRId32,
                        dtype);
    if (immediate && !bir_dtype_is_immediate((uint8_t)dtype))
        return bir_fail(r->diags, "abi-dtype", BIR_NO_OFFSET, "use an integer type, bfloat16, float16 or float32",
                        "unsupported dtype %s in an immediate", bir_dtype_name((uint8_t)dtype));
    return BIR_OK;
}

static enum bir_status get_argument(const struct reading *r, const struct bir_abi_argument *in,
                                    struct bir_abi_operand *out)
{
    enum bir_argument_kind kind = (enum bir_argument_kind)out->layout->ordinal;
    if (in->parent == 0)
        return bir_fail(r->diags, "abi-parent", BIR_NO_OFFSET, NULL, "NULL Parent Instruction for Argument!");
    out->vtable = ref_of(r, in->vtable);
    out->next = ref_of(r, in->list.next);
    out->prev = ref_of(r, in->list.prev);
    out->parent = ref_of(r, in->parent);
    out->location = ref_of(r, in->location);
    out->unique_id = in->unique_id;
    out->dtype = in->dtype;
    BIR_TRY(get_bool(r, "is_output", in->is_output, &out->is_output));
    BIR_TRY(get_bool(r, "active", in->active, &out->active));
    return check_dtype(r, in->dtype, bir_argument_class_of(kind)->is_immediate);
}

static enum bir_status get_access(const struct reading *r, const struct bir_abi_access_pattern *in,
                                  struct bir_abi_operand *out)
{
    void *extents;
    out->src_handle = ref_of(r, in->src_handle);
    BIR_TRY(get_pairs(r, "ap", &in->pattern, out->address + offsetof(struct bir_abi_access_pattern, pattern),
                      &out->pattern));
    out->access_shape.count = in->access_shape.size;
    BIR_TRY(get_small(r, BIR_ABI_EXTENT, "access_shape", in->access_shape.data, in->access_shape.size,
                      in->access_shape.cap, BIR_ABI_SHAPE_INLINE,
                      out->address + offsetof(struct bir_abi_access_pattern, access_shape.items),
                      in->access_shape.items, &out->access_shape.address, &extents));
    out->access_shape.items = extents;
    return BIR_OK;
}

static enum bir_status get_register_ap(const struct reading *r, const struct bir_abi_register_ap *in,
                                       struct bir_abi_operand *out)
{
    out->u.reg.address = ref_of(r, in->reg_loc);
    out->u.reg.offset = ref_of(r, in->reg_ap_offset);
    out->u.reg.sub_tensor = ref_of(r, in->reg_sub_tensor_id);
    out->u.reg.const_offset_elems = in->const_ap_offset;
    out->u.reg.const_sub_tensor_id = in->const_sub_tensor_id;
    return get_bool(r, "is_regloc_offset", in->is_regloc_offset, &out->u.reg.address_is_offset);
}

static enum bir_status get_array(const struct reading *r, const struct bir_abi_imm_array *in,
                                 struct bir_abi_operand *out)
{
    void *values;
    out->u.values.count = in->values.size;
    BIR_TRY(get_small(r, BIR_ABI_LITERAL, "value_array", in->values.data, in->values.size, in->values.cap,
                      BIR_ABI_ARRAY_INLINE, out->address + offsetof(struct bir_abi_imm_array, values.items),
                      in->values.items, &out->u.values.address, &values));
    out->u.values.items = values;
    return BIR_OK;
}

static enum bir_status get_inst_arg(const struct reading *r, const struct bir_abi_inst_arg *in,
                                    struct bir_abi_operand *out)
{
    out->location = ref_of(r, in->location);
    out->dtype = in->dtype;
    out->u.inst_arg.offset_elems = in->offset_elems;
    BIR_TRY(check_dtype(r, in->dtype, false));
    BIR_TRY(get_bool(r, "valid", in->valid, &out->u.inst_arg.valid));
    return get_pairs(r, "pattern", &in->pattern, out->address + offsetof(struct bir_abi_inst_arg, pattern),
                     &out->pattern);
}

static enum bir_status get_kind(const struct reading *r, const union object *in, struct bir_abi_operand *out)
{
    switch (out->layout->id) {
    case BIR_ABI_PHYSICAL_AP:
        out->u.physical.offset_elems = in->physical.offset;
        return get_companion(r, in->physical.dynamic_ap_info, &out->u.physical.dynamic);
    case BIR_ABI_SYMBOLIC_AP:
        out->u.symbolic.tensor_indirect_arg_id = in->symbolic.tensor_indirect_arg_id;
        out->u.symbolic.num_tensor_indirect_indices = in->symbolic.num_tensor_indirect_indices;
        return get_exprs(r, BIR_ABI_QUASI_AFFINE, "addrs", &in->symbolic.addrs, &out->u.symbolic.addrs);
    case BIR_ABI_REGISTER_AP: return get_register_ap(r, &in->reg, out);
    case BIR_ABI_IMM_VALUE: out->u.imm.value = in->imm.value; return BIR_OK;
    case BIR_ABI_SYMBOLIC_IMM_VALUE:
        out->u.imm.value = in->symbolic_imm.base.value;
        return get_expr(r, &in->symbolic_imm.expr, out->address + offsetof(struct bir_abi_symbolic_imm_value, expr),
                        &out->u.imm.expr);
    case BIR_ABI_IMM_ARRAY: return get_array(r, &in->array, out);
    case BIR_ABI_REGISTER_ACCESS: return BIR_OK;
    case BIR_ABI_INST_ARG: return get_inst_arg(r, &in->inst_arg, out);
    case BIR_ABI_DYNAMIC_AP_INFO: return get_dynamic(r, &in->dynamic, out->address, &out->u.dynamic);
    default:
        return bir_fail(r->diags, "abi-kind", BIR_NO_OFFSET, "describe an operand, an inst_arg or a dynamic_ap_info",
                        "a %s is no whole object", out->layout->name);
    }
}

enum bir_status bir_abi_read(const struct bir_abi_image *image, struct bir_arena *arena, struct bir_diags *diags,
                             struct bir_abi_operand *out)
{
    const struct bir_abi_segment *segment = &image->segments[0];
    const struct bir_abi_symbol *self = bir_abi_symbol_at(image, segment->address);
    struct reading r = { image, arena, diags, bir_arena_alloc_array(arena, BIR_MEM_OTHER, image->n_segments, 1) };
    struct bir_abi_operand operand = { .layout = segment->layout, .address = segment->address };
    union object object;
    if (!r.taken)
        return bir_arena_failure(arena);
    memset(&object, 0, sizeof object);
    memcpy(&object, segment->bytes,
           segment->layout->size_bytes < sizeof object ? segment->layout->size_bytes : sizeof object);
    if (self && self->address == segment->address && self->class == BIR_ABI_SYMBOL_OPERAND)
        operand.self = self;
    if (segment->layout->ordinal != 0)
        BIR_TRY(get_argument(&r, &object.argument, &operand));
    if (segment->layout->base == BIR_ABI_ACCESS_PATTERN)
        BIR_TRY(get_access(&r, &object.access, &operand));
    BIR_TRY(get_kind(&r, &object, &operand));
    *out = operand;
    return BIR_OK;
}

/*
 * Operands (bir-json.md section 8).
 *
 * The variant is named by "kind", which may come anywhere, so an object is read into one field record that has a place
 * for the keys of every variant; a key means the same in all of them. Values whose meaning depends on dtype (literals)
 * are remembered as marks. At the end of the object the variant takes what is its own; keys that belong to other
 * variants count as unknown and are read again as properties.
 *
 * Operands bind to storages at once: the reader has a function's allocations before it reads its blocks. Only an
 * operand on a location of another function waits for the end of the document.
 */
#include <inttypes.h>

#include "bir/cons.h"
#include "bir/immediate.h"
#include "bir/instruction.h"
#include "bir/read.h"

struct fields {
    struct key_set seen;
    struct bir_slice kind;
    const struct bir_pattern *pattern;
    const struct bir_ints *access_shape;
    struct bir_dynamic_info *dynamic;
    const struct pelican_expr *expr;
    const struct bir_str *memref, *memsetref, *owner, *regref, *reg_ap_offset, *reg_sub_tensor;
    int64_t offset_elems, const_offset, const_sub_tensor, tensor_indirect, num_indirect;
    uint32_t first_addr, addr_count; /* on ctx->nodes */
    uint32_t at[READ_OTHER];         /* offset of the value of each key seen, for messages and reading again */
    uint32_t object_offset;
    uint32_t depth; /* JSON depth inside the object */
    uint8_t dtype;
    bool is_regloc_offset;
};

enum bir_status read_pattern(struct read_context *ctx, const struct bir_pattern **out)
{
    struct bir_json_reader *r = &ctx->json;
    uint32_t base = ctx->ints.count;
    uint32_t offset = read_offset(ctx);
    uint32_t rank = 0, first_step = offset;
    BIR_TRY(bir_json_array_begin(r));
    for (; bir_json_array_next(r); rank++) {
        uint32_t pair_offset = read_offset(ctx), length = 0;
        BIR_TRY(bir_json_array_begin(r));
        for (; bir_json_array_next(r); length++) {
            int64_t value;
            if (rank == 0 && length == 0)
                first_step = read_offset(ctx);
            BIR_TRY(length == 1 ? bir_json_i64_in(r, "the count of a pair", 0, INT64_MAX, &value)
                                : bir_json_i64(r, &value));
            if (!bir_vec_push(ctx->scratch, &ctx->ints, value))
                return read_fail_memory(ctx);
        }
        BIR_TRY(r->status);
        if (length != 2)
            return read_fail(ctx, "bir-pattern", NULL, pair_offset, "write [step, num]",
                             "a pair has %" PRIu32 " elements instead of 2", length);
    }
    BIR_TRY(r->status);
    if (rank < 1 || rank > 5) /* bir-json.md 8.4, choice: 1 to 5 */
        return read_fail(ctx, "bir-pattern", "BIR049", offset, NULL,
                         "an access pattern has %" PRIu32 " pairs, allowed are 1 to 5", rank);
    if (ctx->ints.items[base] < 0)
        return read_fail(ctx, "bir-pattern", NULL, first_step, "start at the other end",
                         "the step of the first pair is %" PRId64 ", the least allowed is 0", ctx->ints.items[base]);
    *out = bir_pattern_get(ctx->module, (const struct bir_pair *)(const void *)(ctx->ints.items + base), rank);
    ctx->ints.count = base;
    return *out ? BIR_OK : read_fail_memory(ctx);
}

/* Fields */

static enum bir_status read_addrs(struct read_context *ctx, struct fields *f)
{
    f->first_addr = ctx->nodes.count;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json)) {
        struct read_node node = { .form = NODE_EXPR, .offset = read_offset(ctx) };
        BIR_TRY(read_expr(ctx, EXPR_BY_VERSION, &node.expr));
        if (!bir_vec_push(ctx->scratch, &ctx->nodes, node))
            return read_fail_memory(ctx);
    }
    f->addr_count = ctx->nodes.count - f->first_addr;
    return ctx->json.status;
}

static enum bir_status read_field(struct read_context *ctx, struct fields *f, enum read_key key, struct bir_slice text)
{
    struct bir_json_reader *r = &ctx->json;
    if (key != READ_OTHER)
        f->at[key] = read_offset(ctx);
    switch (key) {
    case READ_KIND: return bir_json_string(r, &f->kind);
    case READ_AP: return read_pattern(ctx, &f->pattern);
    case READ_DTYPE: return read_enum_field(ctx, BIR_ENUM_DTYPE, text, &f->dtype);
    case READ_MEMREF: return read_text(ctx, &f->memref);
    case READ_MEMSETREF: return read_text(ctx, &f->memsetref);
    case READ_MEMREF_OWNER: return read_text(ctx, &f->owner);
    case READ_OFFSET: return bir_json_i64_in(r, "offset", 0, INT64_MAX, &f->offset_elems);
    case READ_ACCESS_SHAPE: return read_ints(ctx, &f->access_shape);
    case READ_DYNAMIC_INFO: return read_dynamic_info(ctx, &f->dynamic);
    case READ_ADDRS: return read_addrs(ctx, f);
    case READ_TENSOR_INDIRECT: return bir_json_i64_in(r, "tensor_indirect_arg_id", -1, INT32_MAX, &f->tensor_indirect);
    case READ_NUM_INDIRECT: return bir_json_i64_in(r, "num_tensor_indirect_indices", 0, INT32_MAX, &f->num_indirect);
    case READ_REGREF: return read_text(ctx, &f->regref);
    case READ_REG_AP_OFFSET: return read_text(ctx, &f->reg_ap_offset);
    case READ_REG_SUB_TENSOR_ID: return read_text(ctx, &f->reg_sub_tensor);
    case READ_CONST_AP_OFFSET: return bir_json_i64(r, &f->const_offset);
    case READ_CONST_SUB_TENSOR_ID:
        return bir_json_i64_in(r, "const_sub_tensor_id", -1, INT32_MAX, &f->const_sub_tensor);
    case READ_IS_REGLOC_OFFSET: return bir_json_bool(r, &f->is_regloc_offset);
    case READ_EXPR: return read_expr(ctx, EXPR_BY_VERSION, &f->expr);
    case READ_VALUE:
    case READ_VALUE_LIST:
    case READ_VALUE_ARRAY: return bir_json_skip(r, NULL); /* the dtype decides: read at the end */
    default: return read_other(ctx, text, "an operand");
    }
}

/* Keys of each kind, bit by enum read_key below. */
static bool is_own_key(enum bir_argument_kind kind, enum read_key key)
{
    switch (key) {
    case READ_KIND:
    case READ_DTYPE: return true;
    case READ_AP:
    case READ_MEMSETREF:
    case READ_ACCESS_SHAPE: return bir_argument_class_of(kind)->has_pattern;
    case READ_OFFSET:
    case READ_MEMREF:
    case READ_MEMREF_OWNER:
    case READ_DYNAMIC_INFO: return kind == BIR_ARG_PHYSICAL_AP;
    case READ_ADDRS:
    case READ_TENSOR_INDIRECT:
    case READ_NUM_INDIRECT: return kind == BIR_ARG_SYMBOLIC_AP;
    case READ_REGREF: return kind == BIR_ARG_REGISTER_AP || kind == BIR_ARG_REGISTER_ACCESS;
    case READ_REG_AP_OFFSET:
    case READ_REG_SUB_TENSOR_ID:
    case READ_CONST_AP_OFFSET:
    case READ_CONST_SUB_TENSOR_ID:
    case READ_IS_REGLOC_OFFSET: return kind == BIR_ARG_REGISTER_AP;
    case READ_VALUE: return kind == BIR_ARG_IMM_VALUE;
    case READ_VALUE_ARRAY: return kind == BIR_ARG_IMM_ARRAY;
    case READ_VALUE_LIST:
    case READ_EXPR: return kind == BIR_ARG_SYMBOLIC_IMM_VALUE;
    default: return true; /* became a property already */
    }
}

static struct read_mark mark_of(const struct fields *f, enum read_key key)
{
    return (struct read_mark){ .pos = f->at[key], .depth = f->depth };
}

/* Known keys that this kind does not have, as properties. */
static enum bir_status keep_foreign(struct read_context *ctx, const struct fields *f, enum bir_argument_kind kind)
{
    static const struct bir_slice names[] = {
#define READ_KEY_SLICE(NAME, text) { text, sizeof text - 1 },
        READ_KEYS(READ_KEY_SLICE)
#undef READ_KEY_SLICE
    };
    for (enum read_key key = 0; key < READ_OTHER; key++) {
        if (!key_set_has(&f->seen, key) || is_own_key(kind, key))
            continue;
        struct read_mark place = read_seek(ctx, mark_of(f, key));
        ctx->json.value_start = f->at[key];
        BIR_TRY(read_other(ctx, names[key], "an operand of this kind"));
        read_resume(ctx, place);
    }
    return BIR_OK;
}

static enum bir_status require(struct read_context *ctx, const struct fields *f, enum read_key key)
{
    return read_require(ctx, &f->seen, f->object_offset, "an operand", key);
}

/* Names */

static enum bir_status find_register(struct read_context *ctx, const struct fields *f, enum read_key key,
                                     const struct bir_str *name, struct bir_register **out)
{
    return key_set_has(&f->seen, key) ? read_find_register(ctx, name, f->at[key], out) : BIR_OK;
}

static enum bir_status find_set(struct read_context *ctx, const struct fields *f, struct bir_storage **set)
{
    BIR_TRY(read_find_storage(ctx, BIR_STORAGE_SET, f->memsetref, set));
    return *set ? BIR_OK : read_fail_name(ctx, "BIR016", f->at[READ_MEMSETREF], "memory location set", f->memsetref);
}

/* The operand stays without location; its names become properties. */
static enum bir_status leave_unresolved(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    static const struct bir_slice keys[] = { { "memref", 6 }, { "memsetref", 9 } };
    /* The memref of an operand on a set is a property already. */
    const struct bir_str *const names[] = { arg->kind == BIR_ARG_PHYSICAL_AP ? f->memref : NULL, f->memsetref };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct bir_prop prop = { .type = BIR_VALUE_TEXT, .u.s = names[i] };
        if (names[i])
            BIR_TRY(read_push_pending(ctx, keys[i], &prop));
    }
    arg->flags |= BIR_ARGF_UNRESOLVED;
    return BIR_OK;
}

static enum bir_status bind_set(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    BIR_TRY(require(ctx, f, READ_MEMSETREF));
    struct bir_storage *set;
    if (ctx->unknown_operands) {
        BIR_TRY(read_find_storage(ctx, BIR_STORAGE_SET, f->memsetref, &set));
        if (!set)
            return leave_unresolved(ctx, f, arg);
    }
    BIR_TRY(find_set(ctx, f, &set));
    bir_argument_set_location(arg, set, arg->role == BIR_ROLE_OUT, true);
    return BIR_OK;
}

/* Variants */

/* An operand may name the set beside the location. Where several sets have a location of that name, the set decides. */
static enum bir_status check_set_of(struct read_context *ctx, const struct fields *f, struct bir_storage **location)
{
    if (!f->memsetref || ((struct bir_location *)*location)->set->base.name == f->memsetref)
        return BIR_OK;
    struct bir_storage *set;
    struct bir_location *found;
    BIR_TRY(find_set(ctx, f, &set));
    BIR_TRY(read_find_in_set(ctx, (const struct bir_set *)set, f->memref, f->at[READ_MEMREF], &found));
    *location = &found->base;
    return BIR_OK;
}

/* *known: the operand's names are those of a location. */
static enum bir_status location_exists(struct read_context *ctx, const struct fields *f, bool *known)
{
    struct bir_storage *location, *set = NULL;
    struct bir_location *found = NULL;
    BIR_TRY(read_find_storage(ctx, BIR_STORAGE_LOCATION, f->memref, &location));
    if (location && f->memsetref)
        BIR_TRY(read_find_storage(ctx, BIR_STORAGE_SET, f->memsetref, &set));
    if (set)
        BIR_TRY(read_search_set(ctx, (const struct bir_set *)set, f->memref, &found));
    *known = location && (!f->memsetref || found);
    return BIR_OK;
}

static enum bir_status bind_location(struct read_context *ctx, const struct fields *f, struct bir_physical_ap *ap)
{
    bool own = !f->owner || (ctx->function && f->owner == ctx->function->name);
    if (!own) {
        struct owner_fixup fixup = { .ap = ap,
                                     .function = f->owner,
                                     .location = f->memref,
                                     .set = f->memsetref,
                                     .function_offset = f->at[READ_MEMREF_OWNER],
                                     .location_offset = f->at[READ_MEMREF],
                                     .set_offset = f->at[READ_MEMSETREF] };
        return bir_vec_push(ctx->scratch, &ctx->owners, fixup) ? BIR_OK : read_fail_memory(ctx);
    }
    if (ctx->unknown_operands) {
        bool known;
        BIR_TRY(location_exists(ctx, f, &known));
        if (!known)
            return leave_unresolved(ctx, f, &ap->base);
    }
    struct bir_storage *location;
    BIR_TRY(read_find_storage(ctx, BIR_STORAGE_LOCATION, f->memref, &location));
    if (!location)
        return read_fail_name(ctx, "BIR014", f->at[READ_MEMREF], "memory location", f->memref);
    BIR_TRY(check_set_of(ctx, f, &location));
    bir_argument_set_location(&ap->base, location, ap->base.role == BIR_ROLE_OUT, true);
    return BIR_OK;
}

/* memref_owner_func has no field: it stays a property. */
static enum bir_status keep_owner(struct read_context *ctx, const struct fields *f)
{
    static const struct bir_slice owner_key = { "memref_owner_func", 17 };
    struct bir_prop prop = { .type = BIR_VALUE_TEXT, .u.s = f->owner };
    return f->owner ? read_push_pending(ctx, owner_key, &prop) : BIR_OK;
}

static enum bir_status finish_physical(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    struct bir_physical_ap *ap = (struct bir_physical_ap *)arg;
    BIR_TRY(require(ctx, f, READ_AP));
    BIR_TRY(require(ctx, f, READ_OFFSET));
    BIR_TRY(require(ctx, f, READ_MEMREF));
    ap->pattern = f->pattern;
    ap->offset_elems = f->offset_elems;
    if (!f->memsetref)
        arg->flags |= BIR_ARGF_NO_MEMSETREF;
    BIR_TRY(keep_owner(ctx, f));
    return bind_location(ctx, f, ap);
}

static enum bir_status finish_symbolic(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    struct bir_symbolic_ap *ap = (struct bir_symbolic_ap *)arg;
    BIR_TRY(require(ctx, f, READ_AP));
    ap->pattern = f->pattern;
    if (key_set_has(&f->seen, READ_TENSOR_INDIRECT))
        ap->tensor_indirect_arg_id = (int32_t)f->tensor_indirect;
    if (f->kind.len == strlen("symbolic_pwap"))
        arg->flags |= BIR_ARGF_PWAP;
    return bind_set(ctx, f, arg);
}

static enum bir_status finish_register_ap(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    struct bir_register_ap *ap = (struct bir_register_ap *)arg;
    BIR_TRY(require(ctx, f, READ_AP));
    if (ctx->strict)
        BIR_TRY(require(ctx, f, READ_REGREF));
    if (!f->regref)
        arg->flags |= BIR_ARGF_NO_REGREF;
    ap->pattern = f->pattern;
    ap->const_offset_elems = f->const_offset;
    if (key_set_has(&f->seen, READ_CONST_SUB_TENSOR_ID))
        ap->const_sub_tensor_id = (int32_t)f->const_sub_tensor;
    ap->address_is_offset = f->is_regloc_offset;
    BIR_TRY(find_register(ctx, f, READ_REGREF, f->regref, &ap->address));
    BIR_TRY(find_register(ctx, f, READ_REG_AP_OFFSET, f->reg_ap_offset, &ap->offset));
    BIR_TRY(find_register(ctx, f, READ_REG_SUB_TENSOR_ID, f->reg_sub_tensor, &ap->sub_tensor));
    if (ap->address && ap->offset && ap->address->num_physical != ap->offset->num_physical)
        return read_fail(ctx, "bir-register-width", NULL, f->at[READ_REG_AP_OFFSET], "use registers of one width",
                         "registers \"%.60s\" and \"%.60s\" have %u and %u physical registers", f->regref->text,
                         f->reg_ap_offset->text, ap->address->num_physical, ap->offset->num_physical);
    return bind_set(ctx, f, arg);
}

static enum bir_status finish_register_access(struct read_context *ctx, const struct fields *f,
                                              struct bir_argument *arg)
{
    struct bir_register *reg = NULL;
    BIR_TRY(require(ctx, f, READ_REGREF));
    BIR_TRY(find_register(ctx, f, READ_REGREF, f->regref, &reg));
    bir_argument_set_location(arg, &reg->base, arg->role == BIR_ROLE_OUT, true);
    return BIR_OK;
}

static enum bir_status finish_imm_value(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    BIR_TRY(require(ctx, f, READ_VALUE));
    struct read_mark place = read_seek(ctx, mark_of(f, READ_VALUE));
    BIR_TRY(bir_immediate_read(&ctx->json, arg->dtype, ctx->strict, &((struct bir_imm_value *)arg)->bits));
    read_resume(ctx, place);
    return BIR_OK;
}

static enum bir_status finish_imm_array(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    struct bir_imm_array *array = (struct bir_imm_array *)arg;
    BIR_TRY(require(ctx, f, READ_VALUE_ARRAY));
    struct read_mark place = read_seek(ctx, mark_of(f, READ_VALUE_ARRAY));
    uint32_t base = ctx->ints.count;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json)) {
        uint64_t bits;
        BIR_TRY(bir_immediate_read(&ctx->json, arg->dtype, ctx->strict, &bits));
        if (!bir_vec_push(ctx->scratch, &ctx->ints, (int64_t)bits))
            return read_fail_memory(ctx);
    }
    BIR_TRY(ctx->json.status);
    read_resume(ctx, place);
    array->count = ctx->ints.count - base;
    uint64_t *bits = bir_arena_alloc_array(&ctx->module->arena, BIR_MEM_ARGUMENTS, array->count, sizeof(*bits));
    if (!bits)
        return read_fail_memory(ctx);
    if (array->count > 0)
        memcpy(bits, ctx->ints.items + base, array->count * sizeof(*bits));
    array->bits = bits;
    ctx->ints.count = base;
    return BIR_OK;
}

static enum bir_status finish_symbolic_imm(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    struct bir_symbolic_imm_value *imm = (struct bir_symbolic_imm_value *)arg;
    imm->expr = f->expr;
    if (!key_set_has(&f->seen, READ_VALUE_LIST))
        return BIR_OK;
    struct read_mark place = read_seek(ctx, mark_of(f, READ_VALUE_LIST));
    BIR_TRY(read_raw_array(ctx, &imm->value_list));
    read_resume(ctx, place);
    return BIR_OK;
}

static enum bir_status finish_kind(struct read_context *ctx, const struct fields *f, struct bir_argument *arg)
{
    switch ((enum bir_argument_kind)arg->kind) {
    case BIR_ARG_PHYSICAL_AP: return finish_physical(ctx, f, arg);
    case BIR_ARG_SYMBOLIC_AP: return finish_symbolic(ctx, f, arg);
    case BIR_ARG_REGISTER_AP: return finish_register_ap(ctx, f, arg);
    case BIR_ARG_IMM_VALUE: return finish_imm_value(ctx, f, arg);
    case BIR_ARG_SYMBOLIC_IMM_VALUE: return finish_symbolic_imm(ctx, f, arg);
    case BIR_ARG_IMM_ARRAY: return finish_imm_array(ctx, f, arg);
    case BIR_ARG_REGISTER_ACCESS: return finish_register_access(ctx, f, arg);
    case BIR_ARG_REGISTER_SET: break; /* has no class, so no operand of it exists */
    }
    return BIR_INTERNAL;
}

static enum bir_status check_class(struct read_context *ctx, const struct fields *f,
                                   const struct bir_argument_class *class, enum bir_role role)
{
    if (!class)
        return read_fail(ctx, "bir-unknown-kind", "BIR091", f->at[READ_KIND], "see the operand kinds",
                         "Unsupported argument kind \"%.*s\"", f->kind.len > 60 ? 60 : (int)f->kind.len, f->kind.text);
    BIR_TRY(require(ctx, f, READ_DTYPE));
    if (!class->is_immediate)
        return BIR_OK;
    if (role == BIR_ROLE_OUT && ctx->strict)
        return read_fail(ctx, "bir-immediate-output", NULL, f->object_offset, "move it to ins",
                         "an immediate stands in outs");
    if (!bir_dtype_is_immediate(f->dtype))
        return read_fail(ctx, "bir-immediate-dtype", "BIR115", f->at[READ_DTYPE],
                         "use an integer type of 8 to 64 bits, bfloat16, float16 or float32",
                         "unsupported dtype %s in an immediate", bir_dtype_name(f->dtype));
    return BIR_OK;
}

/* What few operands have. */
static enum bir_status finish_rare(struct read_context *ctx, const struct fields *f, struct bir_argument *arg,
                                   uint32_t base)
{
    const struct bir_props *props;
    BIR_TRY(read_take_props(ctx, base, &props));
    bool is_physical = arg->kind == BIR_ARG_PHYSICAL_AP;
    bool has_shape = f->access_shape && f->access_shape->count > 0 &&
                     bir_argument_class_of((enum bir_argument_kind)arg->kind)->has_pattern;
    bool is_symbolic = arg->kind == BIR_ARG_SYMBOLIC_AP;
    struct bir_argument_rare rare = { .props = props, .access_shape = has_shape ? f->access_shape : NULL };
    rare.num_tensor_indirect_indices = is_symbolic ? (int32_t)f->num_indirect : 0;
    if (is_physical && f->dynamic) {
        rare.dynamic = f->dynamic;
        struct bir_argument_rare *own = bir_argument_need_rare(ctx->module, arg);
        if (!own)
            return read_fail_memory(ctx);
        *own = rare;
        return BIR_OK;
    }
    if (!props && !has_shape && rare.num_tensor_indirect_indices == 0)
        return BIR_OK;
    arg->rare = bir_ref_of(bir_argument_rare_get(ctx->module, &rare));
    return arg->rare ? BIR_OK : read_fail_memory(ctx);
}

/* Last operands of the lists of the instruction, as far as the array being read has any. */
struct last_operands {
    struct bir_argument *of[BIR_ROLE_COUNT];
};

/* Behind the last one of its list, which an instruction with very many operands must not search for each. */
static struct bir_argument *new_operand(struct read_context *ctx, struct bir_instruction *inst,
                                        const struct bir_argument_class *class, enum bir_role role,
                                        const struct fields *f, struct last_operands *last)
{
    if (class->is_immediate)
        role = BIR_ROLE_IN;
    uint32_t n_addrs = class->kind == BIR_ARG_SYMBOLIC_AP ? f->addr_count : 0;
    if (!last->of[role])
        last->of[role] = bir_instruction_last(inst, role);
    struct bir_argument *arg = NULL;
    if (last->of[role])
        arg = bir_argument_new_behind(ctx->module, last->of[role], class->kind, n_addrs);
    else
        arg = bir_argument_new_last(ctx->module, inst, class->kind, role, n_addrs);
    if (!arg)
        return NULL;
    last->of[role] = arg;
    if (class->kind != BIR_ARG_SYMBOLIC_AP)
        return arg;
    struct bir_symbolic_ap *ap = (struct bir_symbolic_ap *)arg;
    for (uint32_t i = 0; i < n_addrs; i++)
        ap->addrs[i] = ctx->nodes.items[f->first_addr + i].expr;
    return arg;
}

static enum bir_status read_argument(struct read_context *ctx, struct bir_instruction *inst, enum bir_role role,
                                     struct last_operands *last)
{
    struct fields f; /* of the fields only those seen are valid, but for pointers and the ones with a default */
    memset(&f, 0, offsetof(struct fields, at));
    f.is_regloc_offset = false;
    f.dtype = BIR_ENUM_UNKNOWN;
    f.object_offset = read_offset(ctx);
    uint32_t nodes = ctx->nodes.count, base = ctx->pending.count;
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    f.depth = ctx->json.depth;
    while (read_next_key(ctx, &f.seen, &text, &key))
        BIR_TRY(read_field(ctx, &f, key, text));
    BIR_TRY(ctx->json.status);
    BIR_TRY(require(ctx, &f, READ_KIND));
    const struct bir_argument_class *class = bir_argument_class_by_wire(f.kind.text, f.kind.len);
    BIR_TRY(check_class(ctx, &f, class, role));
    BIR_TRY(keep_foreign(ctx, &f, class->kind));
    struct bir_argument *arg = new_operand(ctx, inst, class, role, &f, last);
    if (!arg)
        return read_fail_memory(ctx);
    arg->dtype = f.dtype;
    arg->source_offset = f.object_offset;
    BIR_TRY(finish_kind(ctx, &f, arg));
    ctx->nodes.count = nodes;
    return finish_rare(ctx, &f, arg, base);
}

enum bir_status read_arguments(struct read_context *ctx, struct bir_instruction *inst, enum bir_role role)
{
    struct last_operands last = { { NULL } };
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_argument(ctx, inst, role, &last));
    return ctx->json.status;
}

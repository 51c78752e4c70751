/*
 * expand_inst_late: runtime offsets of physical operands become register code (lowering.md 9; the vendor's
 * ExpandInstLate).
 *
 * An operand with dynamic info is scalar when every index operand it names has one element; then the whole offset is
 * computed into a register, in elements, and the operand becomes a register_ap with is_regloc_offset. With an index
 * operand of more elements it is a gather (vector), which the DMA engine does by itself: it stays as it is.
 *
 * The index operand of an expanded offset disappears from indirection_ins, because its element is loaded by register
 * code. What stays behind it moves up, so the arg_ids of the gathers left on the instruction are made dense: id -
 * #(expanded ids smaller than it).
 *
 * A static offset that needs more than 32 bits as bytes gets the same treatment with a 64-bit constant (9.4).
 */
#include <stdlib.h>

#include "passes/expand_offset.h"
#include "passes/rewrite_expr.h"

struct expanding {
    struct bir_module *module;
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    struct bir_emitter emitter;
    struct bir_expander expander;
    BIR_VEC(struct bir_expansion) work; /* of the current instruction */
    BIR_VEC(int64_t) ids;               /* arg_ids of its expanded operands, sorted, each once */
    enum bir_status status;             /* BIR_INVALID once an instruction was refused */
};

/* --- what to expand --- */

static const struct bir_dynamic_info *dynamic_info(const struct bir_argument *arg)
{
    return arg->kind == BIR_ARG_PHYSICAL_AP ? bir_argument_dynamic(arg) : NULL;
}

/* Calls fn for every IndirectArg below e; stops and gives false when fn does. */
typedef bool index_fn(void *user, int64_t arg_id);

static bool each_index(const struct pelican_expr *e, uint32_t depth, index_fn *fn, void *user)
{
    if (!e->has_runtime || depth > 512)
        return true;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_INDIRECT_ARG: return fn(user, e->u.arg_id);
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
            if (!each_index(e->u.sum.terms[i], depth + 1, fn, user))
                return false;
        }
        return true;
    case PELICAN_MULT: return each_index(e->u.mult.operand, depth + 1, fn, user);
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: return each_index(e->u.div.numer, depth + 1, fn, user);
    default: return true;
    }
}

static bool each_index_of(const struct bir_dynamic_info *info, index_fn *fn, void *user)
{
    for (uint32_t i = 0; i < info->n_terms; i++) {
        if (!each_index(info->terms[i].expr, 0, fn, user))
            return false;
    }
    return true;
}

static bool index_has_one_element(void *user, int64_t arg_id)
{
    const struct bir_physical_ap *index = bir_index_operand(user, arg_id);
    return !index || bir_pattern_elems(index->pattern) <= 1; /* a missing one is reported as an error later */
}

/* isScalarDynamicOffsetAP of lowering.md 9.1. */
static bool is_scalar(const struct bir_argument *arg)
{
    return each_index_of(dynamic_info(arg), index_has_one_element, bir_argument_parent(arg));
}

/* --- guards --- */

static enum bir_status refuse(struct expanding *x, const struct bir_argument *arg, const char *code, const char *hint,
                              const char *text)
{
    return bir_fail(x->diags, code, bir_pass_place(arg->source_offset), hint, "operand of %s: %s",
                    bir_argument_parent(arg)->name ? bir_argument_parent(arg)->name->text : "?", text);
}

/* Opcodes that take a runtime offset: all DMA, and the on-engine copies (choice). */
static bool takes_dynamic(const struct bir_instruction *inst)
{
    return (bir_opcode_flags(inst->opcode) & BIR_OPF_DMA) || inst->opcode == BIR_OP_TENSOR_COPY_DYNAMIC_SRC ||
           inst->opcode == BIR_OP_TENSOR_COPY_DYNAMIC_DST;
}

static bool property_is(const struct bir_props *props, const char *key, const char *text)
{
    const struct bir_prop *prop = bir_props_find(props, key);
    return prop && prop->type == BIR_VALUE_TEXT && bir_str_is(prop->u.s, text);
}

static bool is_tensor_indirect(const struct bir_dynamic_info *info)
{
    const struct bir_prop *prop = bir_props_find(info->props, "tensor_indirect_arg_id");
    return prop && prop->type == BIR_VALUE_INT && prop->u.i != -1;
}

static enum bir_status check_operand(struct expanding *x, const struct bir_argument *arg)
{
    const struct bir_dynamic_info *info = dynamic_info(arg);
    const struct bir_instruction *inst = bir_argument_parent(arg);
    bool dma = bir_opcode_flags(inst->opcode) & BIR_OPF_DMA;
    if (info && !takes_dynamic(inst))
        return refuse(x, arg, "expand-not-dma", "only DMA and dynamic copies take a runtime offset",
                      "Only DynamicDMA can have DynamicAP");
    if (info && dma && is_tensor_indirect(info))
        return refuse(x, arg, "expand-tensor-indirect", "use a scalar or vector offset",
                      "DMA Instruction cannot have TensorIndirect AP");
    if (info && dma && property_is(inst->props, "dge_type", "None"))
        return refuse(x, arg, "expand-no-dge", "set dge_type to SWDGE or HWDGE",
                      "DMA Instruction with dynamic AP must have Scalar/Vector Dynamic offset enabled");
    if (!arg->location)
        return refuse(x, arg, "expand-storage", "memref must name a location", "it names no location");
    if (!bir_engine_is_concrete(inst->engine))
        return refuse(x, arg, "expand-engine", "run split_engines, or set its engine",
                      "the instruction is on no single engine");
    return BIR_OK;
}

static enum bir_status plan_operand(struct expanding *x, struct bir_argument *arg)
{
    const struct bir_dynamic_info *info = dynamic_info(arg);
    struct bir_expansion expansion = { .operand = arg, .info = info };
    if (!info && !bir_offset_is_wide(arg))
        return BIR_OK;
    BIR_TRY(check_operand(x, arg));
    if (info && !is_scalar(arg))
        return BIR_OK;
    if (info) {
        BIR_TRY(bir_expander_check(&x->expander, &expansion));
    } else {
        expansion.wide = true;
        expansion.static_elems = ((const struct bir_physical_ap *)arg)->offset_elems;
    }
    return bir_vec_push(x->context->scratch, &x->work, expansion) ? BIR_OK : bir_arena_failure(x->context->scratch);
}

/* Most instructions are none of this pass's business. */
static bool concerns_any(const struct bir_instruction *inst)
{
    BIR_EACH_OPERAND(arg, inst)
    {
        if (arg->kind == BIR_ARG_PHYSICAL_AP && (dynamic_info(arg) || bir_offset_is_wide(arg)))
            return true;
    }
    return false;
}

static enum bir_status plan_instruction(struct expanding *x, const struct bir_instruction *inst)
{
    enum bir_status worst = BIR_OK;
    x->work.count = 0;
    if (!concerns_any(inst))
        return BIR_OK;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            enum bir_status status = plan_operand(x, arg);
            if (status != BIR_OK && status != BIR_INVALID)
                return status;
            worst = status == BIR_OK ? worst : status;
        }
    }
    return worst;
}

/* --- arg_ids --- */

static bool collect_id(void *user, int64_t arg_id)
{
    struct expanding *x = user;
    return bir_vec_push(x->context->scratch, &x->ids, arg_id);
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool collect_ids(struct expanding *x)
{
    x->ids.count = 0;
    for (uint32_t i = 0; i < x->work.count; i++) {
        if (x->work.items[i].info && !each_index_of(x->work.items[i].info, collect_id, x))
            return false;
    }
    if (x->ids.count > 1)
        qsort(x->ids.items, x->ids.count, sizeof *x->ids.items, compare_ids);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->ids.count; i++) {
        if (n == 0 || x->ids.items[n - 1] != x->ids.items[i])
            x->ids.items[n++] = x->ids.items[i];
    }
    x->ids.count = n;
    return true;
}

static const struct pelican_expr *renumber(void *user, struct pelican_context *ctx, const struct pelican_expr *leaf)
{
    const struct expanding *x = user;
    int64_t smaller = 0;
    if (leaf->kind != PELICAN_INDIRECT_ARG)
        return leaf;
    while (smaller < (int64_t)x->ids.count && x->ids.items[smaller] < leaf->u.arg_id)
        smaller++;
    return pelican_indirect_arg(ctx, leaf->u.arg_id - smaller);
}

/* Takes the loaded index operands away and renumbers what is left. From the last to the first, so that positions hold.
 */
static bool close_gaps(struct expanding *x, struct bir_instruction *inst)
{
    for (uint32_t i = x->ids.count; i-- > 0;)
        bir_argument_remove(&bir_index_operand(inst, x->ids.items[i])->base);
    for (int role = 0; role < BIR_ROLE_COUNT && x->ids.count > 0; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (dynamic_info(arg) && !bir_dynamic_rewrite(x->module, arg, renumber, x))
                return false;
        }
    }
    return true;
}

/* --- conversion --- */

/* The operand as a register_ap whose address register holds the element offset (choice of 9.3). */
static bool replace_operand(struct expanding *x, const struct bir_expansion *expansion, struct bir_register *offset)
{
    struct bir_argument *old = expansion->operand;
    struct bir_location *location = (struct bir_location *)old->location;
    struct bir_argument *arg = bir_argument_new_before(x->module, old, BIR_ARG_REGISTER_AP, (enum bir_dtype)old->dtype);
    if (!arg)
        return false;
    struct bir_register_ap *ap = (struct bir_register_ap *)arg;
    ap->pattern = bir_argument_pattern(old);
    if (expansion->info && expansion->info->actual)
        ap->pattern = expansion->info->actual;
    ap->address = offset;
    ap->address_is_offset = true;
    ap->const_sub_tensor_id = location->set->locations.count > 1 ? location->tensor_id : -1;
    arg->source_offset = old->source_offset;
    if (bir_argument_shape(old) || bir_argument_props(old)) {
        struct bir_argument_rare *rare = bir_argument_need_rare(x->module, arg);
        if (!rare)
            return false;
        rare->access_shape = bir_argument_shape(old);
        rare->props = bir_argument_props(old);
    }
    bir_argument_set_location(arg, &location->set->base, old->role == BIR_ROLE_OUT, true);
    bir_argument_remove(old);
    return true;
}

/* rewireDeps (choice of 9.2): every emitted TensorLoad waits for what the consumer waits for. */
static bool inherit_edges(struct expanding *x, struct bir_instruction *load, const struct bir_instruction *inst)
{
    for (uint8_t list = BIR_EDGES_NORMAL; list <= BIR_EDGES_LOOP_CARRIED; list++) {
        BIR_EACH_EDGE (edge, inst) {
            if (edge->list == list && edge->target != load &&
                !bir_instruction_add_dependency(x->module, load, edge->target, (enum bir_edge_kind)edge->kind,
                                                list == BIR_EDGES_LOOP_CARRIED))
                return false;
        }
    }
    return true;
}

static bool inherit_all(struct expanding *x, struct bir_instruction *inst, struct bir_instruction *before)
{
    for (struct bir_instruction *i = before ? before->next : inst->block->first; i != inst; i = i->next) {
        if (i->opcode == BIR_OP_TENSOR_LOAD && !inherit_edges(x, i, inst))
            return false;
    }
    return true;
}

/* before: the instruction in front of the emitted code, or NULL. */
static bool convert_operands(struct expanding *x, struct bir_instruction *inst, struct bir_instruction *before)
{
    struct bir_instruction **last =
        bir_arena_alloc_array(x->context->scratch, BIR_MEM_TABLES, x->work.count, sizeof *last);
    if (!last)
        return false;
    bir_emitter_place(&x->emitter, inst, "");
    bir_expander_reset(&x->expander);
    for (uint32_t i = 0; i < x->work.count; i++) {
        x->emitter.last = NULL;
        struct bir_register *offset = bir_expander_emit(&x->expander, &x->work.items[i]);
        if (!offset || !replace_operand(x, &x->work.items[i], offset))
            return false;
        last[i] = x->emitter.last;
        x->context->stats->expanded_operands++;
    }
    if (!inherit_all(x, inst, before)) /* before inst gets edges to the code */
        return false;
    for (uint32_t i = 0; i < x->work.count; i++) {
        if (last[i] && !bir_instruction_add_dependency(x->module, inst, last[i], BIR_EDGE_FLOW, false))
            return false;
    }
    return true;
}

/* Is it address code that lower_ap emitted for inst? Its names are `<inst>-lap<operand>-<number>`. */
static bool is_address_code(const struct bir_instruction *code, const struct bir_instruction *inst)
{
    const struct bir_str *name = code->name, *own = inst->name;
    return (bir_opcode_flags(code->opcode) & BIR_OPF_REGISTER) && name && own && name->len > own->len + 4 &&
           memcmp(name->text, own->text, own->len) == 0 && memcmp(name->text + own->len, "-lap", 4) == 0;
}

/* The code goes in front of what lower_ap emitted for the same instruction, as it does when lower_ap runs later: either
 * order gives the same program (correction 6). */
static void put_first(struct bir_instruction *inst, struct bir_instruction *before)
{
    struct bir_instruction *head = NULL;
    for (struct bir_instruction *code = before; code && is_address_code(code, inst); code = bir_instruction_prev(code))
        head = code;
    while (head && before->next != inst) {
        struct bir_instruction *code = before->next;
        bir_instruction_unlink(code);
        bir_instruction_insert_before(head, code);
    }
}

static enum bir_status expand_instruction(struct expanding *x, struct bir_instruction *inst)
{
    enum bir_status status = plan_instruction(x, inst);
    if (status == BIR_INVALID) { /* report the other instructions too */
        x->status = status;
        return BIR_OK;
    }
    if (status != BIR_OK || x->work.count == 0)
        return status;
    struct bir_instruction *before = bir_instruction_prev(inst);
    if (!collect_ids(x))
        return bir_arena_failure(x->context->scratch);
    if (!convert_operands(x, inst, before) || !close_gaps(x, inst))
        return bir_pass_out_of_memory(x->context, x->module);
    put_first(inst, before);
    return BIR_OK;
}

static enum bir_status expand_function(struct expanding *x, struct bir_function *function)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(x->context, inst, n++));
        BIR_TRY(expand_instruction(x, inst));
    }
    return BIR_OK;
}

/*
 * Entry: instructions with runtime offsets are on concrete engines, with the registers they name (split_engines).
 * Exit: no scalar runtime offset and no static one beyond 32 bits remains; the code stands directly before its
 * consumer, which has a Flow edge to the last instruction for each operand. Gathers keep their companion. Invalidates:
 * register colours.
 */
enum bir_status bir_pass_expand_inst_late(struct bir_module *module, const struct bir_pass_context *context,
                                          struct bir_diags *diags)
{
    struct expanding x = { .module = module, .context = context, .diags = diags };
    bir_emitter_init(&x.emitter, module, context);
    x.expander = (struct bir_expander){ .context = context, .diags = diags, .emitter = &x.emitter };
    BIR_EACH_CODE_FUNCTION(f, module)
    BIR_TRY(expand_function(&x, f));
    return x.status;
}

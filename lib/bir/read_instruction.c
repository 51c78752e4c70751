/*
 * Instructions, blocks and nested regions (bir-json.md sections 6, 7).
 *
 * An instruction is linked into its block when its object begins, so nested blocks know their function; it is entered
 * into the function's map when its object ends, because its name is known only then. Nested blocks are read in place
 * when their loop's axis is known already (canonical order) or skipped and read again when the object has ended: the
 * axis must be in scope before the expressions below refer to it. How much may be read again is bounded.
 *
 * What few instructions have is collected apart from the instruction (ctx->rare). At its end that becomes a record of
 * its own when something in it can change (loop, sync, texts), else one that is shared with all that are equal.
 */
#include <inttypes.h>

#include "bir/cons.h"
#include "bir/instruction.h"
#include "bir/read.h"

#define CANCEL_INTERVAL 1024u /* instructions between two looks at the cancel token */

struct instruction_fields {
    struct key_set seen;
    const struct bir_str *name;
    struct read_mark blocks, registers; /* skipped values */
    uint32_t opcode_offset;
    bool blocks_skipped, registers_skipped;
};

static enum bir_status read_opcode(struct read_context *ctx, struct bir_instruction *inst)
{
    struct bir_slice name;
    BIR_TRY(bir_json_string(&ctx->json, &name));
    inst->opcode = bir_opcode_from_name(name.text, name.len);
    if (inst->opcode != BIR_OP_UNKNOWN)
        return BIR_OK;
    if (ctx->strict)
        return read_fail_enum(ctx, ctx->json.value_start, BIR_ENUM_OPCODE, name.text, name.len);
    return read_keep_spelling(ctx, READ_OPCODE, name);
}

/* External engine names are aliases in lenient mode (enums.md section 2, choice). */
static int engine_alias(struct bir_slice name)
{
    static const char *const external[BIR_ENGINE_COUNT] = { "Unassigned", "GPSIMD", "Scalar", "Tensor",
                                                            "SyncDMA",    "Vector", "Sync",   "All" };
    for (int i = 0; i < BIR_ENGINE_COUNT; i++)
        if (strlen(external[i]) == name.len && memcmp(external[i], name.text, name.len) == 0)
            return i;
    return -1;
}

static enum bir_status read_engine(struct read_context *ctx, struct bir_instruction *inst)
{
    struct bir_slice name;
    BIR_TRY(bir_json_string(&ctx->json, &name));
    int engine = bir_enum_value(BIR_ENUM_ENGINE, name.text, name.len);
    if (engine < 0 && !ctx->strict)
        engine = engine_alias(name);
    inst->engine = engine >= 0 ? (uint8_t)engine : BIR_ENUM_UNKNOWN;
    if (engine >= 0)
        return BIR_OK;
    if (ctx->strict)
        return read_fail_enum(ctx, ctx->json.value_start, BIR_ENUM_ENGINE, name.text, name.len);
    return read_keep_spelling(ctx, READ_ENGINE, name);
}

static enum bir_status read_engine_id(struct read_context *ctx)
{
    int64_t id;
    BIR_TRY(bir_json_i64_in(&ctx->json, "engine_id", 0, UINT32_MAX, &id));
    ctx->rare->engine_id = (uint32_t)id;
    return BIR_OK;
}

/* Nested blocks */

static enum bir_status read_nested(struct read_context *ctx, struct bir_instruction *inst)
{
    struct bir_loop *loop = bir_instruction_need_loop(ctx->module, inst);
    if (!loop)
        return read_fail_memory(ctx);
    struct pelican_axis *axis = loop->axis ? loop->axis : loop->dynamic_axis;
    struct axis_frame frame = { .axis = axis, .outer = ctx->axes };
    const struct axis_frame *outer = ctx->axes;
    uint32_t depth = ctx->nest.count;
    if (axis && !bir_vec_push(ctx->scratch, &ctx->nest, axis))
        return read_fail_memory(ctx);
    if (axis)
        ctx->axes = &frame;
    enum bir_status status = read_blocks(ctx, &loop->region);
    ctx->axes = outer;
    ctx->nest.count = depth;
    return status;
}

static enum bir_status skip_blocks(struct read_context *ctx, struct instruction_fields *f)
{
    f->blocks_skipped = true;
    f->blocks = read_mark_here(ctx);
    BIR_TRY(bir_json_skip(&ctx->json, NULL));
    return read_count_again(ctx, f->blocks.pos, "write LoopAxis before blocks", "nested blocks in this order of keys");
}

/* blocks of an op that has no region (or of an unknown one) are a property like any other. */
static enum bir_status read_skipped_blocks(struct read_context *ctx, struct bir_instruction *inst,
                                           const struct instruction_fields *f)
{
    static const struct bir_slice blocks_key = { "blocks", 6 };
    bool has_region = (bir_opcode_flags(inst->opcode) & BIR_OPF_REGION) || bir_instruction_region(inst);
    struct read_mark place = read_seek(ctx, f->blocks);
    ctx->json.value_start = f->blocks.pos;
    BIR_TRY(has_region ? read_nested(ctx, inst) : read_other(ctx, blocks_key, "an instruction without region"));
    read_resume(ctx, place);
    return BIR_OK;
}

static enum bir_status read_skipped_registers(struct read_context *ctx, struct bir_instruction *inst,
                                              const struct instruction_fields *f)
{
    static const struct bir_slice registers_key = { "registers", 9 };
    struct bir_region *region = bir_instruction_region(inst);
    struct read_mark place = read_seek(ctx, f->registers);
    ctx->json.value_start = f->registers.pos;
    BIR_TRY(region ? read_loop_registers(ctx, inst->rare->loop)
                   : read_other(ctx, registers_key, "an instruction without region"));
    read_resume(ctx, place);
    return BIR_OK;
}

/* Bounds of a dynamic loop that stand beside its axis (bir-json.md 9.4, choice). */
static enum bir_status take_dynamic_bounds(struct read_context *ctx, struct bir_loop *loop, uint32_t base)
{
    static const char *const names[BIR_LOOP_BOUNDS] = { "lb", "ub", "stride" };
    const struct pelican_expr *bounds[BIR_LOOP_BOUNDS];
    memcpy(bounds, loop->dynamic_bounds, sizeof bounds);
    for (uint32_t i = base; i < ctx->pending.count;) {
        struct read_pending *p = &ctx->pending.items[i];
        int bound = 0;
        while (bound < BIR_LOOP_BOUNDS && !bir_str_is(p->prop.key, names[bound]))
            bound++;
        if (bound == BIR_LOOP_BOUNDS || bounds[bound]) {
            i++;
            continue;
        }
        struct read_mark place = read_seek(ctx, p->mark);
        BIR_TRY(read_expr(ctx, EXPR_BY_VERSION, &bounds[bound]));
        read_resume(ctx, place);
        ctx->pending.items[i] = ctx->pending.items[--ctx->pending.count];
    }
    return read_keep_bounds(ctx, loop, bounds);
}

/* One instruction */

static enum bir_status read_field(struct read_context *ctx, struct bir_instruction *inst, struct instruction_fields *f,
                                  enum read_key key, struct bir_slice text)
{
    switch (key) {
    case READ_NAME: return read_text(ctx, &f->name);
    case READ_OPCODE: f->opcode_offset = read_offset(ctx); return read_opcode(ctx, inst);
    case READ_ENGINE: return read_engine(ctx, inst);
    case READ_ENGINE_ID: return read_engine_id(ctx);
    case READ_ORIGIN: return read_origin(ctx, &inst->origin);
    case READ_SCHEDULED_START: return bir_json_i64(&ctx->json, &ctx->rare->scheduled_start);
    case READ_SCHEDULED_END: return bir_json_i64(&ctx->json, &ctx->rare->scheduled_end);
    case READ_INS: return read_arguments(ctx, inst, BIR_ROLE_IN);
    case READ_INDIRECTION_INS: return read_arguments(ctx, inst, BIR_ROLE_INDIRECTION);
    case READ_OUTS: return read_arguments(ctx, inst, BIR_ROLE_OUT);
    case READ_DEPENDENCIES: return read_edges(ctx, inst, BIR_EDGES_NORMAL);
    case READ_LOOP_CARRIED: return read_edges(ctx, inst, BIR_EDGES_LOOP_CARRIED);
    case READ_UNROLL: return read_edges(ctx, inst, BIR_EDGES_UNROLL);
    case READ_SYNC_INFO: return read_sync(ctx);
    case READ_DEBUG: return read_object_props(ctx, &ctx->rare->debug);
    case READ_LOOPNEST: return read_loopnest(ctx);
    case READ_PREDICATES:
    case READ_ORDER: return read_header_text(ctx, key);
    case READ_LOOP_AXIS: return read_loop_axis(ctx, inst);
    case READ_DYNAMIC_AXIS: return read_dynamic_axis(ctx, inst);
    case READ_BLOCKS:
        if (key_set_has(&f->seen, READ_LOOP_AXIS) || key_set_has(&f->seen, READ_DYNAMIC_AXIS))
            return read_nested(ctx, inst);
        return skip_blocks(ctx, f);
    case READ_REGISTERS:
        f->registers_skipped = true;
        f->registers = read_mark_here(ctx);
        return bir_json_skip(&ctx->json, NULL);
    default: return read_other(ctx, text, NULL);
    }
}

static enum bir_status check_header(struct read_context *ctx, const struct bir_instruction *inst,
                                    const struct instruction_fields *f)
{
    BIR_TRY(read_require(ctx, &f->seen, inst->source_offset, "an instruction", READ_OPCODE));
    if (inst->opcode == BIR_OP_LOOP)
        return read_require(ctx, &f->seen, inst->source_offset, "Loop", READ_LOOP_AXIS);
    if (ctx->strict && key_set_has(&f->seen, READ_LOOP_AXIS))
        return read_fail(ctx, "bir-unknown-key", NULL, f->opcode_offset, "only Loop has one",
                         "%s has no key \"LoopAxis\"", bir_opcode_name(inst->opcode));
    if (ctx->strict && (bir_opcode_flags(inst->opcode) & BIR_OPF_ABSTRACT))
        return read_fail(ctx, "bir-unknown-opcode", "BIR024", f->opcode_offset, "use a concrete opcode",
                         "%s is an abstract opcode", bir_opcode_name(inst->opcode));
    BIR_TRY(read_require(ctx, &f->seen, inst->source_offset, "an instruction", READ_NAME));
    return BIR_OK;
}

/* IndirectArgId counts indirection_ins from 1 (choice, bir-json.md section 10). */
static enum bir_status check_arg_ids(struct read_context *ctx, const struct bir_instruction *inst)
{
    uint64_t count = 0;
    if (ctx->max_arg_id_offset == BIR_NO_SOURCE)
        return BIR_OK;
    count = bir_instruction_argument_count(inst, BIR_ROLE_INDIRECTION);
    if (ctx->max_arg_id <= count)
        return BIR_OK;
    return read_fail(ctx, "bir-indirect-arg", "BIR298", ctx->max_arg_id_offset, "add the operand to indirection_ins",
                     "indirection argument %" PRIu64 " does not exist, the instruction has %" PRIu64, ctx->max_arg_id,
                     count);
}

static enum bir_status enter_instruction(struct read_context *ctx, struct bir_instruction *inst)
{
    if (!inst->name)
        return BIR_OK;
    struct bir_map *map = ctx->function ? &ctx->function->instructions : &ctx->queue_instructions;
    const struct bir_instruction *other = bir_map_get(map, inst->name);
    if (!other && !bir_map_put(map, ctx->scratch, inst->name, inst))
        return read_fail_memory(ctx);
    return read_enter_once(ctx, ctx->block_names, inst->name, inst->source_offset, "instructions of one block");
}

static enum bir_status finish_rare(struct read_context *ctx, struct bir_instruction *inst)
{
    const struct bir_instruction_rare *read = ctx->rare;
    bool has_own = inst->rare || read->sync || read->texts;
    bool is_empty = !read->debug && !read->loopnest && !read->scheduled_start && !read->scheduled_end;
    if (!has_own && is_empty && !read->engine_id)
        return BIR_OK;
    if (!has_own) {
        inst->rare = bir_instruction_rare_get(ctx->module, read);
        return inst->rare ? BIR_OK : read_fail_memory(ctx);
    }
    struct bir_instruction_rare *own = bir_instruction_need_rare(ctx->module, inst);
    if (!own)
        return read_fail_memory(ctx);
    struct bir_loop *loop = own->loop;
    *own = *read;
    own->loop = loop;
    return BIR_OK;
}

static enum bir_status finish_instruction(struct read_context *ctx, struct bir_instruction *inst,
                                          struct instruction_fields *f, uint32_t base)
{
    inst->name = f->name;
    BIR_TRY(check_header(ctx, inst, f));
    if (inst->opcode == BIR_OP_DYNAMIC_FOR_LOOP && bir_instruction_region(inst))
        BIR_TRY(take_dynamic_bounds(ctx, inst->rare->loop, base));
    if (f->blocks_skipped)
        BIR_TRY(read_skipped_blocks(ctx, inst, f));
    if (f->registers_skipped)
        BIR_TRY(read_skipped_registers(ctx, inst, f));
    BIR_TRY(read_finish_op_keys(ctx, inst, base));
    BIR_TRY(check_arg_ids(ctx, inst)); /* those of expressions among the op keys, too */
    BIR_TRY(finish_rare(ctx, inst));
    return enter_instruction(ctx, inst);
}

static enum bir_status count_instruction(struct read_context *ctx, uint32_t offset)
{
    uint64_t limit = ctx->options->max_instructions;
    if (limit > 0 && ctx->module->n_instructions >= limit) {
        ctx->json.status = BIR_LIMIT;
        return bir_fail_limit(ctx->diags, "bir-instruction-limit", offset, "raise the limit or split the module",
                              "the module has more instructions than the limit of %" PRIu64, limit);
    }
    ctx->module->n_instructions++;
    if (ctx->until_poll-- > 0)
        return BIR_OK;
    ctx->until_poll = CANCEL_INTERVAL;
    if (!bir_cancelled(ctx->options->cancel))
        return BIR_OK;
    ctx->json.status = BIR_CANCELLED;
    return BIR_CANCELLED;
}

static enum bir_status read_instruction(struct read_context *ctx, struct bir_block *block)
{
    uint32_t offset = read_offset(ctx), base = ctx->pending.count;
    struct bir_instruction_rare rare = { .loop = NULL }, *outer_rare = ctx->rare;
    uint64_t outer_arg_id = ctx->max_arg_id;
    uint32_t outer_arg_offset = ctx->max_arg_id_offset;
    BIR_TRY(count_instruction(ctx, offset));
    struct bir_instruction *inst = BIR_NEW(&ctx->module->arena, BIR_MEM_INSTRUCTIONS, struct bir_instruction);
    if (!inst)
        return read_fail_memory(ctx);
    inst->source_offset = offset;
    inst->opcode = BIR_OP_UNKNOWN;
    bir_block_link(block, inst);
    ctx->rare = &rare;
    ctx->max_arg_id = 0;
    ctx->max_arg_id_offset = BIR_NO_SOURCE;
    struct instruction_fields f = { .seen = { { 0 } } };
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &f.seen, &text, &key))
        BIR_TRY(read_field(ctx, inst, &f, key, text));
    BIR_TRY(ctx->json.status);
    BIR_TRY(finish_instruction(ctx, inst, &f, base));
    ctx->rare = outer_rare;
    ctx->max_arg_id = outer_arg_id;
    ctx->max_arg_id_offset = outer_arg_offset;
    return BIR_OK;
}

/* Blocks */

static enum bir_status read_instructions(struct read_context *ctx, struct bir_block *block)
{
    struct bir_map names = { 0 }, *outer = ctx->block_names;
    ctx->block_names = &names;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_instruction(ctx, block));
    ctx->block_names = outer;
    return ctx->json.status;
}

static enum bir_status read_block_other(struct read_context *ctx, struct bir_slice key)
{
    static const char *const known[] = { "arguments", NULL };
    BIR_TRY(read_listed(ctx, key, "a block", known));
    struct read_mark mark = ctx->pending.items[ctx->pending.count - 1].mark;
    return ctx->function && read_slice_is(key, known[0]) ? read_block_arguments(ctx, mark) : BIR_OK;
}

/* names: the blocks of the region so far, in strict mode. */
static enum bir_status read_block(struct read_context *ctx, struct bir_region *region, struct bir_map *names)
{
    struct bir_block *block = bir_block_new(ctx->module, region, NULL);
    if (!block)
        return read_fail_memory(ctx);
    block->source_offset = read_offset(ctx);
    uint32_t base = ctx->pending.count;
    struct key_set seen = { { 0 } };
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key)) {
        switch (key) {
        case READ_NAME: BIR_TRY(read_text(ctx, &block->name)); break;
        case READ_ORIGIN: BIR_TRY(read_origin(ctx, &block->origin)); break;
        case READ_INSTRUCTIONS: BIR_TRY(read_instructions(ctx, block)); break;
        default: BIR_TRY(read_block_other(ctx, text));
        }
    }
    BIR_TRY(ctx->json.status);
    if (!ctx->in_queue) /* queues have nameless blocks */
        BIR_TRY(read_require(ctx, &seen, block->source_offset, "a block", READ_NAME));
    BIR_TRY(read_enter_once(ctx, names, block->name, block->source_offset, "blocks"));
    return read_take_props(ctx, base, &block->props);
}

enum bir_status read_blocks(struct read_context *ctx, struct bir_region *region)
{
    struct bir_map names = { 0 };
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_block(ctx, region, &names));
    return ctx->json.status;
}

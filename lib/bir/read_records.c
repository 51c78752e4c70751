/*
 * Records of an instruction's header: dependency edges, sync_info, loop axes, loopnest, loop registers; and the
 * arguments of blocks.
 *
 * Edges to instructions that were read before are resolved at once; since names resolve to the first object of a name
 * and the function's map holds the first, this gives the same as a second pass. The others become fix-ups.
 */
#include <inttypes.h>

#include "bir/instruction.h"
#include "bir/read.h"

/* Edges */

static enum bir_status read_edge_kind(struct read_context *ctx, struct read_edge *edge)
{
    size_t offset = bir_json_value_offset(&ctx->json);
    if (bir_json_peek(&ctx->json) == BIR_JSON_NUMBER) {
        int64_t kind;
        BIR_TRY(bir_json_i64_in(&ctx->json, "the kind of an edge", 0, 7, &kind));
        edge->kind = (uint8_t)kind;
        return BIR_OK;
    }
    struct bir_slice name;
    BIR_TRY(bir_json_string(&ctx->json, &name));
    int kind = bir_enum_value(BIR_ENUM_EDGE_KIND, name.text, name.len);
    if (kind < 0)
        return read_fail_enum(ctx, offset, BIR_ENUM_EDGE_KIND, name.text, name.len);
    edge->kind = (uint8_t)kind;
    return BIR_OK;
}

/* Elements behind name and kind, as one array text. unroll_dependencies carry expressions and predicates there. */
static enum bir_status read_edge_extra(struct read_context *ctx, enum bir_edge_list list, const struct bir_str **extra)
{
    if (!bir_json_array_next(&ctx->json))
        return ctx->json.status;
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    enum bir_status status = BIR_OK;
    uint32_t i = 0;
    do {
        const struct bir_str *text = NULL;
        bool is_array = bir_json_peek(&ctx->json) == BIR_JSON_ARRAY;
        if (list == BIR_EDGES_UNROLL && is_array && i < 2)
            status = i == 0 ? read_expr_list_text(ctx, &text) : read_predicates_text(ctx, &text);
        else
            status = read_raw(ctx, &text);
        bir_buf_putc(&buf, i++ > 0 ? ',' : '[');
        if (status == BIR_OK)
            bir_buf_put(&buf, text->text, text->len);
    } while (status == BIR_OK && bir_json_array_next(&ctx->json));
    status = status == BIR_OK ? ctx->json.status : status;
    bir_buf_putc(&buf, ']');
    status = status == BIR_OK ? buf.status : status;
    if (status == BIR_OK) {
        *extra = bir_intern(&ctx->module->strings, buf.data, buf.len);
        status = *extra ? BIR_OK : read_fail_memory(ctx);
    }
    bir_buf_deinit(&buf);
    return status;
}

static enum bir_status read_edge_array(struct read_context *ctx, enum bir_edge_list list, struct read_edge *edge)
{
    uint32_t offset = read_offset(ctx);
    BIR_TRY(bir_json_array_begin(&ctx->json));
    bool has_name = bir_json_array_next(&ctx->json);
    edge->name_offset = read_offset(ctx);
    if (has_name)
        BIR_TRY(read_text(ctx, &edge->name));
    bool has_kind = has_name && bir_json_array_next(&ctx->json);
    if (has_kind)
        BIR_TRY(read_edge_kind(ctx, edge));
    BIR_TRY(ctx->json.status);
    if (!has_kind)
        return read_fail(ctx, "bir-edge", NULL, offset, "write [name, kind]", "an edge has fewer than two elements");
    return read_edge_extra(ctx, list, &edge->extra);
}

static enum bir_status read_edge(struct read_context *ctx, enum bir_edge_list which)
{
    struct read_edge edge = { .kind = BIR_EDGE_FLOW, .name_offset = read_offset(ctx) };
    if (bir_json_peek(&ctx->json) == BIR_JSON_STRING) {
        edge.bare = true;
        BIR_TRY(read_text(ctx, &edge.name));
    } else {
        BIR_TRY(read_edge_array(ctx, which, &edge));
    }
    return bir_vec_push(ctx->scratch, &ctx->read_edges, edge) ? BIR_OK : read_fail_memory(ctx);
}

static enum bir_status keep_edge(struct read_context *ctx, struct bir_instruction *inst, enum bir_edge_list which,
                                 const struct read_edge *record)
{
    struct bir_edge edge = { .list = (uint8_t)which, .kind = record->kind, .bare = record->bare };
    edge.extra = bir_ref_of(record->extra);
    if (ctx->function)
        edge.target = bir_map_get(&ctx->function->instructions, record->name);
    if (!bir_instruction_push_edge(ctx->module, inst, edge))
        return read_fail_memory(ctx);
    if (edge.target)
        return BIR_OK;
    struct edge_fixup fixup = { .inst = inst, .name = record->name, .offset = record->name_offset };
    fixup.index = bir_instruction_edges(inst)->count - 1;
    return bir_vec_push(ctx->scratch, &ctx->edges, fixup) ? BIR_OK : read_fail_memory(ctx);
}

enum bir_status read_edges(struct read_context *ctx, struct bir_instruction *inst, enum bir_edge_list list)
{
    static const char *const vendor[BIR_EDGES_COUNT] = { "BIR046", "BIR047", "BIR048" };
    if (bir_json_peek(&ctx->json) != BIR_JSON_ARRAY)
        return read_fail(ctx, "json-type", vendor[list], bir_json_value_offset(&ctx->json), "write an array of edges",
                         "expected an array of edges, found %s", bir_json_type_name(bir_json_peek(&ctx->json)));
    ctx->read_edges.count = 0;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_edge(ctx, list));
    BIR_TRY(ctx->json.status);
    if (!bir_instruction_reserve_edges(ctx->module, inst, ctx->read_edges.count))
        return read_fail_memory(ctx);
    for (uint32_t i = 0; i < ctx->read_edges.count; i++)
        BIR_TRY(keep_edge(ctx, inst, list, &ctx->read_edges.items[i]));
    return BIR_OK;
}

/* sync_info */

/* A register to wait for, which only strict reading insists on: the key is a choice (bir-json.md section 11). */
static enum bir_status check_wait_register(struct read_context *ctx, struct bir_slice key)
{
    const struct read_pending *p = &ctx->pending.items[ctx->pending.count - 1];
    struct bir_register *reg;
    if (!ctx->strict || !read_slice_is(key, "wait_reg") || p->prop.type != BIR_VALUE_TEXT)
        return BIR_OK;
    return read_find_register(ctx, p->prop.u.s, p->mark.pos, &reg);
}

static const char *const sync_keys[] = {
    "target_core", "type", "update_mode", "wait_mode", "wait_reg", NULL,
};

struct sync_record {
    struct key_set seen;
    const struct bir_str *from;
    int64_t id, value;
    const struct bir_props *props;
};

static enum bir_status read_sync_other(struct read_context *ctx, struct bir_slice key)
{
    BIR_TRY(read_listed(ctx, key, "a wait or update", sync_keys));
    return check_wait_register(ctx, key);
}

/* The one integer that stands for absence in the model stays a property. */
static enum bir_status read_sync_value(struct read_context *ctx, struct bir_slice key, int64_t *value)
{
    BIR_TRY(bir_json_i64(&ctx->json, value));
    struct bir_prop prop = { .type = BIR_VALUE_INT, .u.i = *value };
    return *value == BIR_SYNC_NO_VALUE ? read_push_pending(ctx, key, &prop) : BIR_OK;
}

/* One element of on_wait (value key wait_value) or on_update (update_value). */
static enum bir_status read_sync_record(struct read_context *ctx, enum read_key value_key, struct sync_record *record)
{
    uint32_t base = ctx->pending.count, offset = read_offset(ctx);
    struct bir_slice text;
    enum read_key key;
    *record = (struct sync_record){ .value = BIR_SYNC_NO_VALUE };
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &record->seen, &text, &key)) {
        if (key == READ_ID) /* 256 semaphores (bir-json.md section 11) */
            BIR_TRY(bir_json_i64_in(&ctx->json, "a semaphore id", 0, 255, &record->id));
        else if (key == value_key)
            BIR_TRY(read_sync_value(ctx, text, &record->value));
        else if (key == READ_FROM && value_key == READ_WAIT_VALUE)
            BIR_TRY(read_text(ctx, &record->from));
        else
            BIR_TRY(read_sync_other(ctx, text));
    }
    BIR_TRY(ctx->json.status);
    BIR_TRY(read_require(ctx, &record->seen, offset, "a wait or update", READ_ID));
    return read_take_props(ctx, base, &record->props);
}

struct sync_list {
    BIR_VEC(struct sync_record) records;
};

static enum bir_status read_sync_list(struct read_context *ctx, enum read_key value_key, struct sync_list *list)
{
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json)) {
        struct sync_record record;
        BIR_TRY(read_sync_record(ctx, value_key, &record));
        if (!bir_vec_push(ctx->scratch, &list->records, record))
            return read_fail_memory(ctx);
    }
    return ctx->json.status;
}

static enum bir_status keep_waits(struct read_context *ctx, struct bir_sync *sync, const struct sync_list *list)
{
    uint32_t count = list->records.count;
    struct bir_wait *items = bir_arena_alloc_array(&ctx->module->arena, BIR_MEM_INSTRUCTIONS, count, sizeof(*items));
    if (!items)
        return read_fail_memory(ctx);
    for (uint32_t i = 0; i < count; i++) {
        const struct sync_record *r = &list->records.items[i];
        items[i] = (struct bir_wait){ .from = r->from, .semaphore = r->id, .value = r->value, .props = r->props };
    }
    sync->waits.items = items;
    sync->waits.count = sync->waits.capacity = count;
    sync->waits_present = true;
    return BIR_OK;
}

static enum bir_status keep_updates(struct read_context *ctx, struct bir_sync *sync, const struct sync_list *list)
{
    uint32_t count = list->records.count;
    struct bir_update *items = bir_arena_alloc_array(&ctx->module->arena, BIR_MEM_INSTRUCTIONS, count, sizeof(*items));
    if (!items)
        return read_fail_memory(ctx);
    for (uint32_t i = 0; i < count; i++) {
        const struct sync_record *r = &list->records.items[i];
        items[i] = (struct bir_update){ .semaphore = r->id, .value = r->value, .props = r->props };
    }
    sync->updates.items = items;
    sync->updates.count = sync->updates.capacity = count;
    sync->updates_present = true;
    return BIR_OK;
}

static enum bir_status read_sync_field(struct read_context *ctx, struct bir_sync *sync, enum read_key key,
                                       struct bir_slice text)
{
    struct sync_list list = { { 0 } };
    switch (key) {
    case READ_ON_WAIT: BIR_TRY(read_sync_list(ctx, READ_WAIT_VALUE, &list)); return keep_waits(ctx, sync, &list);
    case READ_ON_UPDATE: BIR_TRY(read_sync_list(ctx, READ_UPDATE_VALUE, &list)); return keep_updates(ctx, sync, &list);
    default: return read_other(ctx, text, "sync_info");
    }
}

enum bir_status read_sync(struct read_context *ctx)
{
    struct bir_sync *sync = BIR_NEW(&ctx->module->arena, BIR_MEM_INSTRUCTIONS, struct bir_sync);
    if (!sync)
        return read_fail_memory(ctx);
    struct key_set seen = { { 0 } };
    uint32_t base = ctx->pending.count;
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key))
        BIR_TRY(read_sync_field(ctx, sync, key, text));
    BIR_TRY(ctx->json.status);
    ctx->rare->sync = sync;
    return read_take_props(ctx, base, &sync->props);
}

/* Block arguments: {"name", "incoming_values": [{"value", "block"}]} (bir-json.md section 6, choice). What has another
 * shape is kept unread. */

static enum bir_status read_incoming(struct read_context *ctx)
{
    struct bir_slice key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (bir_json_object_next(&ctx->json, &key)) {
        bool is_block = read_slice_is(key, "block"), is_value = read_slice_is(key, "value");
        const struct bir_str *name;
        uint32_t offset = read_offset(ctx);
        if ((!is_block && !is_value) || bir_json_peek(&ctx->json) != BIR_JSON_STRING) {
            BIR_TRY(bir_json_skip(&ctx->json, NULL));
            continue;
        }
        BIR_TRY(read_text(ctx, &name));
        BIR_TRY(read_check_name(ctx, is_block ? CHECK_BLOCK : CHECK_VALUE, name, offset));
    }
    return ctx->json.status;
}

static enum bir_status read_each_object(struct read_context *ctx, enum bir_status (*read)(struct read_context *))
{
    if (bir_json_peek(&ctx->json) != BIR_JSON_ARRAY)
        return bir_json_skip(&ctx->json, NULL);
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(bir_json_peek(&ctx->json) == BIR_JSON_OBJECT ? read(ctx) : bir_json_skip(&ctx->json, NULL));
    return ctx->json.status;
}

static enum bir_status read_block_argument(struct read_context *ctx)
{
    struct bir_slice key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (bir_json_object_next(&ctx->json, &key)) {
        const struct bir_str *name;
        if (read_slice_is(key, "name") && bir_json_peek(&ctx->json) == BIR_JSON_STRING) {
            BIR_TRY(read_text(ctx, &name));
            if (!bir_map_put(&ctx->block_arguments, ctx->scratch, name, ctx))
                return read_fail_memory(ctx);
        } else if (read_slice_is(key, "incoming_values")) {
            BIR_TRY(read_each_object(ctx, read_incoming));
        } else {
            BIR_TRY(bir_json_skip(&ctx->json, NULL));
        }
    }
    return ctx->json.status;
}

enum bir_status read_block_arguments(struct read_context *ctx, struct read_mark list)
{
    struct read_mark place = read_seek(ctx, list);
    BIR_TRY(read_each_object(ctx, read_block_argument));
    read_resume(ctx, place);
    return BIR_OK;
}

/* Loops */

enum bir_status read_loop_axis(struct read_context *ctx, struct bir_instruction *inst)
{
    struct bir_loop *loop = bir_instruction_need_loop(ctx->module, inst);
    if (!loop)
        return read_fail_memory(ctx);
    const struct bir_str *name = NULL;
    int64_t lb = 0, ub = 0, stride = 0; /* defaults of bir-json.md 9.3 */
    uint32_t base = ctx->pending.count, offset = read_offset(ctx);
    struct key_set seen = { { 0 } };
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key)) {
        switch (key) {
        case READ_NAME: BIR_TRY(read_text(ctx, &name)); break;
        case READ_LB: BIR_TRY(bir_json_i64(&ctx->json, &lb)); break;
        case READ_UB: BIR_TRY(bir_json_i64(&ctx->json, &ub)); break;
        case READ_STRIDE: BIR_TRY(bir_json_i64(&ctx->json, &stride)); break;
        default: BIR_TRY(read_other(ctx, text, "LoopAxis"));
        }
    }
    BIR_TRY(ctx->json.status);
    BIR_TRY(read_require(ctx, &seen, offset, "LoopAxis", READ_NAME));
    loop->axis = pelican_axis_new(&ctx->module->expressions, name, lb, ub, stride);
    if (!loop->axis)
        return read_fail_memory(ctx);
    loop->axis->loop = inst;
    return read_take_props(ctx, base, &loop->axis_props);
}

enum bir_status read_keep_bounds(struct read_context *ctx, struct bir_loop *loop,
                                 const struct pelican_expr *const *bounds)
{
    const struct pelican_expr **kept =
        bir_arena_alloc_array(&ctx->module->arena, BIR_MEM_INSTRUCTIONS, BIR_LOOP_BOUNDS, sizeof(*kept));
    if (!kept)
        return read_fail_memory(ctx);
    memcpy(kept, bounds, BIR_LOOP_BOUNDS * sizeof(*kept));
    loop->dynamic_bounds = kept;
    return BIR_OK;
}

enum bir_status read_dynamic_axis(struct read_context *ctx, struct bir_instruction *inst)
{
    struct bir_loop *loop = bir_instruction_need_loop(ctx->module, inst);
    if (!loop)
        return read_fail_memory(ctx);
    const struct bir_str *name = NULL;
    const struct pelican_expr *bounds[BIR_LOOP_BOUNDS] = { NULL };
    uint32_t base = ctx->pending.count, offset = read_offset(ctx);
    struct key_set seen = { { 0 } };
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key)) {
        switch (key) {
        case READ_NAME: BIR_TRY(read_text(ctx, &name)); break;
        case READ_LB: BIR_TRY(read_expr(ctx, EXPR_BY_VERSION, &bounds[0])); break;
        case READ_UB: BIR_TRY(read_expr(ctx, EXPR_BY_VERSION, &bounds[1])); break;
        case READ_STRIDE: BIR_TRY(read_expr(ctx, EXPR_BY_VERSION, &bounds[2])); break;
        default: BIR_TRY(read_other(ctx, text, "DynamicForLoopAxis"));
        }
    }
    BIR_TRY(ctx->json.status);
    BIR_TRY(read_require(ctx, &seen, offset, "DynamicForLoopAxis", READ_NAME));
    loop->dynamic_axis = pelican_axis_new(&ctx->module->expressions, name, 0, 0, 1);
    if (!loop->dynamic_axis)
        return read_fail_memory(ctx);
    loop->dynamic_axis->loop = inst;
    BIR_TRY(read_keep_bounds(ctx, loop, bounds));
    return read_take_props(ctx, base, &loop->axis_props);
}

static enum bir_status need_texts(struct read_context *ctx, struct bir_instruction_texts **out)
{
    struct bir_instruction_rare *rare = ctx->rare;
    if (!rare->texts)
        rare->texts = BIR_NEW(&ctx->module->arena, BIR_MEM_INSTRUCTIONS, struct bir_instruction_texts);
    *out = rare->texts;
    return rare->texts ? BIR_OK : read_fail_memory(ctx);
}

/* Most lists name all enclosing loops in order: then nothing has to be searched. */
static struct pelican_axis *axis_of_nest(const struct read_context *ctx, uint32_t level, const struct bir_str *name)
{
    struct pelican_axis *axis = level < ctx->nest.count ? ctx->nest.items[level] : NULL;
    return axis && axis->name == name ? axis : read_find_axis(ctx, name);
}

/* Names of enclosing loops become axes. A list that names others (stale after unrolling) is kept as text, in strict
 * mode it is an error. */
enum bir_status read_loopnest(struct read_context *ctx)
{
    size_t start = bir_json_value_offset(&ctx->json);
    bool all_known = true;
    ctx->loopnest.count = 0;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    for (uint32_t level = 0; bir_json_array_next(&ctx->json); level++) {
        const struct bir_str *name;
        uint32_t offset = read_offset(ctx);
        BIR_TRY(read_text(ctx, &name));
        struct pelican_axis *axis = axis_of_nest(ctx, level, name);
        if (!axis && ctx->strict)
            return read_fail(ctx, "bir-axis-scope", "BIR227", offset, "name enclosing loops only",
                             "axis \"%.60s\" of the loop nest is not of an enclosing loop", name->text);
        all_known = all_known && axis;
        if (all_known && !bir_vec_push(ctx->scratch, &ctx->loopnest, axis))
            return read_fail_memory(ctx);
    }
    BIR_TRY(ctx->json.status);
    if (all_known && ctx->loopnest.count == 0)
        return BIR_OK;
    if (all_known) {
        ctx->rare->loopnest = bir_axes_get(ctx->module, ctx->loopnest.items, ctx->loopnest.count);
        return ctx->rare->loopnest ? BIR_OK : read_fail_memory(ctx);
    }
    struct bir_instruction_texts *texts;
    BIR_TRY(need_texts(ctx, &texts));
    texts->loopnest = bir_intern(&ctx->module->strings, ctx->json.text + start, ctx->json.pos - start);
    return texts->loopnest ? BIR_OK : read_fail_memory(ctx);
}

enum bir_status read_loop_registers(struct read_context *ctx, struct bir_loop *loop)
{
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json)) {
        const struct bir_str *name;
        uint32_t offset = read_offset(ctx);
        BIR_TRY(read_text(ctx, &name));
        struct bir_register *reg;
        BIR_TRY(read_find_register(ctx, name, offset, &reg));
        if (!bir_vec_push(&ctx->module->arena, &loop->registers, reg))
            return read_fail_memory(ctx);
    }
    return ctx->json.status;
}

enum bir_status read_header_text(struct read_context *ctx, enum read_key key)
{
    struct bir_instruction_texts *texts;
    const struct bir_str *text;
    BIR_TRY(key == READ_ORDER ? read_expr_list_text(ctx, &text) : read_predicates_text(ctx, &text));
    if (read_is_empty(text)) /* says what its absence says */
        return BIR_OK;
    BIR_TRY(need_texts(ctx, &texts));
    *(key == READ_ORDER ? &texts->order : &texts->predicates) = text;
    return BIR_OK;
}

enum bir_status read_keep_spelling(struct read_context *ctx, enum read_key key, struct bir_slice text)
{
    struct bir_instruction_texts *texts;
    BIR_TRY(need_texts(ctx, &texts));
    const struct bir_str **slot = key == READ_OPCODE ? &texts->opcode : &texts->engine;
    *slot = bir_intern(&ctx->module->strings, text.text, text.len);
    return *slot ? BIR_OK : read_fail_memory(ctx);
}

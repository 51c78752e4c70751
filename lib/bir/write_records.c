/* Records of an instruction's header: edges, sync_info, loop axes (bir-json.md sections 9.3, 9.4, 11). */
#include "base/json_reader.h"
#include "bir/write.h"

/* Elements of a JSON array's text, without its brackets, as elements of the open array. */
static void write_extra(struct bir_json_writer *w, const struct bir_str *extra)
{
    struct bir_json_reader r;
    bir_json_reader_init(&r, extra->text, extra->len, BIR_JSON_WRITER_MAX_DEPTH, NULL, NULL);
    if (bir_json_array_begin(&r) != BIR_OK)
        return;
    while (bir_json_array_next(&r)) {
        struct bir_slice raw;
        if (bir_json_skip(&r, &raw) != BIR_OK)
            return;
        bir_json_put_raw(w, raw.text, raw.len, true);
    }
}

static void write_edge(struct bir_json_writer *w, const struct bir_edges *edges, const struct bir_edge *edge)
{
    const struct bir_str *name = edge->target->name, *extra = bir_edge_extra(edges, edge);
    if (edge->bare && edge->kind == BIR_EDGE_FLOW) {
        write_str(w, name);
        return;
    }
    bir_json_put_array_begin(w);
    write_str(w, name);
    if (edge->kind < BIR_EDGE_COUNT)
        write_name(w, bir_enum_name(BIR_ENUM_EDGE_KIND, edge->kind));
    else
        bir_json_put_u64(w, edge->kind);
    if (extra)
        write_extra(w, extra);
    bir_json_put_array_end(w);
}

void write_edges(struct bir_json_writer *w, const struct bir_instruction *inst, enum bir_edge_list list)
{
    const struct bir_edges *edges = bir_instruction_edges(inst);
    bir_json_put_array_begin(w);
    BIR_EACH_EDGE (edge, inst)
        if (edge->list == list)
            write_edge(w, edges, edge);
    bir_json_put_array_end(w);
}

static void write_wait(struct bir_json_writer *w, const struct bir_wait *wait)
{
    struct prop_cursor props = write_cursor(wait->props);
    bir_json_put_object_begin(w);
    if (wait->from) {
        WRITE_FIELD(w, &props, "from");
        write_str(w, wait->from);
    }
    WRITE_FIELD(w, &props, "id");
    bir_json_put_i64(w, wait->semaphore);
    if (wait->value != BIR_SYNC_NO_VALUE) {
        WRITE_FIELD(w, &props, "wait_value");
        bir_json_put_i64(w, wait->value);
    }
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

static void write_update(struct bir_json_writer *w, const struct bir_update *update)
{
    struct prop_cursor props = write_cursor(update->props);
    bir_json_put_object_begin(w);
    WRITE_FIELD(w, &props, "id");
    bir_json_put_i64(w, update->semaphore);
    if (update->value != BIR_SYNC_NO_VALUE) {
        WRITE_FIELD(w, &props, "update_value");
        bir_json_put_i64(w, update->value);
    }
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

void write_sync(struct bir_json_writer *w, const struct bir_sync *sync)
{
    struct prop_cursor props = write_cursor(sync->props);
    bir_json_put_object_begin(w);
    if (sync->updates_present || sync->updates.count > 0) {
        WRITE_FIELD(w, &props, "on_update");
        bir_json_put_array_begin(w);
        for (uint32_t i = 0; i < sync->updates.count; i++)
            write_update(w, &sync->updates.items[i]);
        bir_json_put_array_end(w);
    }
    if (sync->waits_present || sync->waits.count > 0) {
        WRITE_FIELD(w, &props, "on_wait");
        bir_json_put_array_begin(w);
        for (uint32_t i = 0; i < sync->waits.count; i++)
            write_wait(w, &sync->waits.items[i]);
        bir_json_put_array_end(w);
    }
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

void write_loop_axis(struct bir_json_writer *w, const struct bir_loop *loop)
{
    struct prop_cursor props = write_cursor(loop->axis_props);
    bir_json_put_object_begin(w);
    WRITE_FIELD(w, &props, "lb");
    bir_json_put_i64(w, loop->axis->lb);
    WRITE_FIELD(w, &props, "name");
    write_str(w, loop->axis->name);
    WRITE_FIELD(w, &props, "stride");
    bir_json_put_i64(w, loop->axis->stride);
    WRITE_FIELD(w, &props, "ub");
    bir_json_put_i64(w, loop->axis->ub);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

static void write_bound(struct bir_json_writer *w, struct prop_cursor *props, const char *key,
                        const struct pelican_expr *bound)
{
    if (!bound)
        return;
    write_props_before(w, props, key);
    bir_json_put_key(w, key);
    bir_write_expr(w, bound);
}

void write_dynamic_axis(struct bir_json_writer *w, const struct bir_loop *loop)
{
    struct prop_cursor props = write_cursor(loop->axis_props);
    bir_json_put_object_begin(w);
    write_bound(w, &props, "lb", loop->dynamic_bounds[0]);
    WRITE_FIELD(w, &props, "name");
    write_str(w, loop->dynamic_axis->name);
    write_bound(w, &props, "stride", loop->dynamic_bounds[2]);
    write_bound(w, &props, "ub", loop->dynamic_bounds[1]);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

/*
 * How an instruction's properties are merged with its header.
 *
 * Thousands of instructions share one property list, so what is left out as default, what is added as "always", where
 * each member goes between the header's keys, and the text of scalar members are decided once per list and opcode and
 * kept for the rest of the writing. A member with an expression or another JSON value keeps its property, because its
 * layout depends on the depth.
 */
#include "bir/op_keys.h"
#include "bir/write.h"

const char *const write_header_keys[WRITE_HEADER_KEYS] = {
    "DynamicForLoopAxis",
    "LoopAxis",
    "blocks",
    "debug",
    "dependencies",
    "engine",
    "engine_id",
    "indirection_ins",
    "ins",
    "loop_carried_dependencies",
    "loopnest",
    "name",
    "opcode",
    "order",
    "origin",
    "outs",
    "predicates",
    "registers",
    "scheduled_end",
    "scheduled_start",
    "sync_info",
    "unroll_dependencies",
};

struct plan_builder {
    struct writer *writer;
    struct write_item *items;
    uint32_t count;
    bool failed;
};

static uint8_t slot_of(const char *key, size_t len)
{
    uint8_t slot = 0;
    for (; slot < WRITE_HEADER_KEYS; slot++) {
        size_t known_len = strlen(write_header_keys[slot]);
        int order = memcmp(write_header_keys[slot], key, known_len < len ? known_len : len);
        if (order > 0 || (order == 0 && known_len >= len))
            break;
    }
    return slot;
}

/* Takes the buffer's text as the item's. */
static void take_text(struct plan_builder *b, struct write_item *item, struct bir_buf *buf)
{
    item->text = buf->status == BIR_OK ? bir_arena_strndup(&b->writer->scratch, buf->data, buf->len) : NULL;
    item->text_len = (uint32_t)buf->len;
    b->failed |= !item->text;
    bir_buf_deinit(buf);
}

static void put_colon(struct plan_builder *b, struct bir_buf *buf)
{
    bir_buf_puts(buf, b->writer->json.indent > 0 ? ": " : ":");
}

static void put_key(struct bir_buf *buf, const char *key, size_t len)
{
    struct bir_json_writer w;
    bir_json_writer_init(&w, buf, 0);
    bir_json_put_string(&w, key, len);
}

static void add_prop(struct plan_builder *b, const struct bir_prop *prop)
{
    struct write_item *item = &b->items[b->count++];
    item->slot = slot_of(prop->key->text, prop->key->len);
    if (prop->type == BIR_VALUE_EXPR || prop->type == BIR_VALUE_JSON) {
        item->prop = prop;
        return;
    }
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    put_key(&buf, prop->key->text, prop->key->len);
    put_colon(b, &buf);
    struct bir_json_writer w;
    bir_json_writer_init(&w, &buf, 0);
    write_prop_value(&w, prop);
    take_text(b, item, &buf);
}

static void add_fallback(struct plan_builder *b, const struct bir_op_key *row)
{
    struct write_item *item = &b->items[b->count++];
    bool is_text = row->type == BIR_OPKEY_ENUM || row->type == BIR_OPKEY_TEXT;
    item->slot = slot_of(row->key, row->key_len);
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    put_key(&buf, row->key, row->key_len);
    if (row->type == BIR_OPKEY_LIST) {
        item->raw = row->fallback;
    } else {
        put_colon(b, &buf);
        bir_buf_puts(&buf, is_text ? "\"" : "");
        bir_buf_puts(&buf, row->fallback);
        bir_buf_puts(&buf, is_text ? "\"" : "");
    }
    take_text(b, item, &buf);
}

static bool is_skipped(uint16_t opcode, const struct bir_prop *prop)
{
    const struct bir_op_key *row = bir_op_key_find(opcode, prop->key->text, prop->key->len);
    unsigned kept = BIR_OPKEYF_REQUIRED | BIR_OPKEYF_STRICT | BIR_OPKEYF_ALWAYS | BIR_OPKEYF_KEPT;
    return row && !(row->flags & kept) && bir_op_key_is_default(row, prop);
}

/* Rows of the op and its base that are always written and have a default, not in props. */
static size_t always_rows(uint16_t opcode, const struct bir_props *props, const struct bir_op_key **out)
{
    size_t count = 0;
    for (uint16_t op = opcode; op != BIR_OP_UNKNOWN; op = bir_op_key_base(op)) {
        const struct bir_op_key *row;
        for (size_t n = bir_op_key_rows(op, &row); n > 0; n--, row++)
            if ((row->flags & BIR_OPKEYF_ALWAYS) && row->fallback && !bir_props_find(props, row->key))
                out[count++] = row;
    }
    return count;
}

/* One step of the merge: is the row's key before the property's? */
static bool is_before(const struct bir_op_key *row, const struct bir_str *key)
{
    int order = memcmp(row->key, key->text, row->key_len < key->len ? row->key_len : key->len);
    return order < 0 || (order == 0 && row->key_len < key->len);
}

#define ALWAYS_ROWS_MAX 32u /* more than any op and its base have; test_enums.c proves it */

static struct write_plan *build(struct writer *writer, const struct bir_instruction *inst)
{
    const struct bir_op_key *always[ALWAYS_ROWS_MAX];
    size_t always_count = always_rows(inst->opcode, inst->props, always), next = 0;
    uint32_t prop_count = inst->props ? inst->props->count : 0;
    struct plan_builder b = { .writer = writer };
    b.items = bir_arena_alloc_array(&writer->scratch, BIR_MEM_OTHER, prop_count + always_count, sizeof(*b.items));
    struct write_plan *plan = BIR_NEW(&writer->scratch, BIR_MEM_OTHER, struct write_plan);
    if (!b.items || !plan)
        return NULL;
    for (uint32_t i = 0; i < prop_count; i++) {
        const struct bir_prop *prop = &inst->props->items[i];
        while (next < always_count && is_before(always[next], prop->key))
            add_fallback(&b, always[next++]);
        if (!is_skipped(inst->opcode, prop))
            add_prop(&b, prop);
    }
    while (next < always_count)
        add_fallback(&b, always[next++]);
    plan->opcode = inst->opcode;
    plan->items = b.items;
    plan->count = b.count;
    return b.failed ? NULL : plan;
}

struct write_plan *write_plan_of(struct writer *writer, const struct bir_instruction *inst)
{
    const void *key = inst->props ? (const void *)inst->props : (const void *)writer;
    struct write_plan *first = bir_map_get(&writer->plans, key);
    for (struct write_plan *plan = first; plan; plan = plan->next)
        if (plan->opcode == inst->opcode)
            return plan;
    struct write_plan *plan = build(writer, inst);
    if (plan)
        plan->next = first;
    if (plan && bir_map_put(&writer->plans, &writer->scratch, key, plan))
        return plan;
    if (writer->json.buf->status == BIR_OK)
        writer->json.buf->status = BIR_NOMEM;
    return NULL;
}

/*
 * Op keys. Enumerations travel as text, arrays as their exact JSON text (struct bir_prop); equal lists become one
 * object in bir_props_get, so the thousandth instruction with the same keys costs no memory.
 */
#include "codegen/keys.h"

#include <inttypes.h>

#include "base/json_writer.h"

static void add(struct codegen_keys *keys, const char *key, const struct bir_prop *value)
{
    const struct bir_str *name = codegen_literal(keys->cg, key);
    uint32_t i = 0;
    if (!name) {
        keys->failed = true;
        return;
    }
    while (i < keys->count && keys->items[i].key != name)
        i++;
    if (i == CODEGEN_KEYS_MAX) {
        keys->failed = true;
        return;
    }
    keys->items[i] = *value;
    keys->items[i].key = name;
    if (i == keys->count)
        keys->count++;
}

void codegen_key_str(struct codegen_keys *keys, const char *key, const struct bir_str *text)
{
    if (text)
        add(keys, key, &(struct bir_prop){ .type = BIR_VALUE_TEXT, .u.s = text });
    else
        keys->failed = true;
}

void codegen_key_text(struct codegen_keys *keys, const char *key, const char *text)
{
    codegen_key_str(keys, key, codegen_literal(keys->cg, text));
}

void codegen_key_enum(struct codegen_keys *keys, const char *key, enum bir_enum_id id, int value)
{
    codegen_key_text(keys, key, bir_enum_name(id, value));
}

void codegen_key_bool(struct codegen_keys *keys, const char *key, bool value)
{
    add(keys, key, &(struct bir_prop){ .type = BIR_VALUE_BOOL, .u.b = value });
}

void codegen_key_int(struct codegen_keys *keys, const char *key, int64_t value)
{
    add(keys, key, &(struct bir_prop){ .type = BIR_VALUE_INT, .u.i = value });
}

void codegen_key_float(struct codegen_keys *keys, const char *key, double value)
{
    add(keys, key, &(struct bir_prop){ .type = BIR_VALUE_FLOAT, .u.f = value });
}

void codegen_key_expr(struct codegen_keys *keys, const char *key, const struct pelican_expr *value)
{
    if (value)
        add(keys, key, &(struct bir_prop){ .type = BIR_VALUE_EXPR, .u.e = value });
    else
        keys->failed = true;
}

void codegen_key_json(struct codegen_keys *keys, const char *key, const char *json, size_t len)
{
    const struct bir_str *text = bir_intern(&keys->cg->module->strings, json, len);
    if (text)
        add(keys, key, &(struct bir_prop){ .type = BIR_VALUE_JSON, .u.s = text });
    else
        keys->failed = true;
}

/* Hands a finished buffer over as JSON. */
static void add_buffer(struct codegen_keys *keys, const char *key, struct bir_buf *buf)
{
    if (buf->status == BIR_OK)
        codegen_key_json(keys, key, buf->data, buf->len);
    else
        keys->failed = true;
    bir_buf_deinit(buf);
}

static void put_ints(struct bir_buf *buf, const struct klr_list *list, bool nat)
{
    bir_buf_putc(buf, '[');
    for (uint64_t i = 0; i < list->count; i++) {
        if (i)
            bir_buf_putc(buf, ',');
        if (nat)
            bir_buf_put_u64(buf, list->items[i].nat);
        else
            bir_buf_put_i64(buf, list->items[i].integer);
    }
    bir_buf_putc(buf, ']');
}

void codegen_key_ints(struct codegen_keys *keys, const char *key, const struct klr_list *list, bool nat)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    put_ints(&buf, list, nat);
    add_buffer(keys, key, &buf);
}

void codegen_key_int_lists(struct codegen_keys *keys, const char *key, const struct klr_list *lists)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    bir_buf_putc(&buf, '[');
    for (uint64_t i = 0; i < lists->count; i++) {
        if (i)
            bir_buf_putc(&buf, ',');
        put_ints(&buf, lists->items[i].list, false);
    }
    bir_buf_putc(&buf, ']');
    add_buffer(keys, key, &buf);
}

void codegen_key_pairs(struct codegen_keys *keys, const char *key, const struct klr_list *pairs)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    bir_buf_putc(&buf, '[');
    for (uint64_t i = 0; i < pairs->count; i++) {
        const struct klr_node *pair = pairs->items[i].node;
        bir_buf_printf(&buf, "%s[%" PRId64 ",%" PRIu64 "]", i ? "," : "", klr_int_at(pair, KLR_APPair_step),
                       klr_nat_at(pair, KLR_APPair_num));
    }
    bir_buf_putc(&buf, ']');
    add_buffer(keys, key, &buf);
}

void codegen_key_u64(struct codegen_keys *keys, const char *key, uint64_t value)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    bir_buf_put_u64(&buf, value);
    add_buffer(keys, key, &buf);
}

enum bir_status codegen_key_floats(struct codegen_keys *keys, const char *key, const struct klr_list *immediates)
{
    struct bir_buf buf;
    struct bir_json_writer writer;
    enum bir_status status = BIR_OK;
    bir_buf_init(&buf, 0);
    bir_json_writer_init(&writer, &buf, 0);
    bir_json_put_array_begin(&writer);
    for (uint64_t i = 0; i < immediates->count && status == BIR_OK; i++) {
        double value = 0;
        bool is_float;
        status = codegen_immediate_value(keys->cg, immediates->items[i].node, &is_float, &value);
        bir_json_put_double(&writer, value);
    }
    bir_json_put_array_end(&writer);
    add_buffer(keys, key, &buf);
    return status;
}

enum bir_status codegen_key_immediate_ints(struct codegen_keys *keys, const char *key,
                                           const struct klr_list *immediates)
{
    struct bir_buf buf;
    enum bir_status status = BIR_OK;
    bir_buf_init(&buf, 0);
    bir_buf_putc(&buf, '[');
    for (uint64_t i = 0; i < immediates->count && status == BIR_OK; i++) {
        int64_t value = 0;
        status = codegen_immediate_int(keys->cg, immediates->items[i].node, &value);
        if (i)
            bir_buf_putc(&buf, ',');
        bir_buf_put_i64(&buf, value);
    }
    bir_buf_putc(&buf, ']');
    add_buffer(keys, key, &buf);
    return status;
}

enum bir_status codegen_key_priority(struct codegen_keys *keys, const struct klr_node *op, enum klr_slot_index slot)
{
    enum { QOS_P0 = 2, LAST_PRIORITY = 14 }; /* DMAQoSClass: P0 is 2, the last is P14 (enums.md 9) */
    uint64_t priority;
    if (!klr_option_nat(op, slot, &priority))
        return BIR_OK;
    if (priority > LAST_PRIORITY)
        return codegen_fail(keys->cg, "klr-dma-priority", op, "use 0 to 14", "priority %llu is not between 0 and %d",
                            (unsigned long long)priority, LAST_PRIORITY);
    codegen_key_enum(keys, "dma_qos", BIR_ENUM_DMA_QOS, QOS_P0 + (int)priority);
    return BIR_OK;
}

enum bir_status codegen_keys_set(struct codegen_keys *keys, struct bir_instruction *inst)
{
    if (keys->failed)
        return codegen_nomem(keys->cg);
    if (keys->count == 0)
        return BIR_OK;
    /* A new instruction has members already (optin_passes). */
    for (uint32_t i = 0; inst->props && i < inst->props->count; i++) {
        if (keys->count == CODEGEN_KEYS_MAX)
            return BIR_INTERNAL;
        keys->items[keys->count++] = inst->props->items[i];
    }
    inst->props = bir_props_get(keys->cg->module, keys->items, keys->count);
    return inst->props ? BIR_OK : codegen_nomem(keys->cg);
}

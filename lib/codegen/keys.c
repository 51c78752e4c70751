/*
 * Op keys. Enumerations travel as text, arrays as their exact JSON text (struct bir_prop); equal lists become one
 * object in bir_props_get, so the thousandth instruction with the same keys costs no memory.
 *
 * It costs little time either: a kernel repeats the same few lists of keys over and over. `key_memos` holds recent ones
 * under a hash of the addresses of their names and of their values; when all of them are the same again, the list made
 * then is the list, and nothing is interned or sorted.
 */
#include "codegen/keys.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"

static void add(struct codegen_keys *keys, const char *key, enum bir_value_type type, uint64_t value)
{
    if (keys->count == CODEGEN_KEYS_MAX)
        keys->failed = true;
    else
        keys->items[keys->count++] = (struct codegen_key){ .name = key, .value = value, .type = (uint8_t)type };
}

static void add_pointer(struct codegen_keys *keys, const char *key, enum bir_value_type type, const void *value)
{
    if (value)
        add(keys, key, type, (uintptr_t)value);
    else
        keys->failed = true;
}

void codegen_key_str(struct codegen_keys *keys, const char *key, const struct bir_str *text)
{
    add_pointer(keys, key, BIR_VALUE_TEXT, text);
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
    add(keys, key, BIR_VALUE_BOOL, value);
}

void codegen_key_int(struct codegen_keys *keys, const char *key, int64_t value)
{
    add(keys, key, BIR_VALUE_INT, (uint64_t)value);
}

void codegen_key_float(struct codegen_keys *keys, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add(keys, key, BIR_VALUE_FLOAT, bits);
}

void codegen_key_expr(struct codegen_keys *keys, const char *key, const struct pelican_expr *value)
{
    add_pointer(keys, key, BIR_VALUE_EXPR, value);
}

void codegen_key_json(struct codegen_keys *keys, const char *key, const char *json, size_t len)
{
    add_pointer(keys, key, BIR_VALUE_JSON, bir_intern(&keys->cg->module->strings, json, len));
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

/* --- lists --- */

static uint32_t memo_place(const struct codegen_keys *keys)
{
    uint64_t hash = keys->count;
    for (uint32_t i = 0; i < keys->count; i++) {
        hash = (hash ^ (uintptr_t)keys->items[i].name) * UINT64_C(0x9E3779B97F4A7C15);
        hash = (hash ^ keys->items[i].value) * UINT64_C(0x9E3779B97F4A7C15);
    }
    return (uint32_t)(hash >> 32) % CODEGEN_KEY_MEMOS;
}

static bool memo_fits(const struct codegen_key_memo *memo, const struct codegen_keys *keys,
                      const struct bir_props *before)
{
    if (memo->before != before || memo->count != keys->count)
        return false;
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct codegen_key *a = &memo->items[i], *b = &keys->items[i];
        if (a->name != b->name || a->value != b->value || a->type != b->type)
            return false;
    }
    return true;
}

static void prop_set(struct bir_prop *prop, const struct codegen_key *key)
{
    prop->type = (enum bir_value_type)key->type;
    switch (prop->type) {
    case BIR_VALUE_BOOL: prop->u.b = key->value != 0; break;
    case BIR_VALUE_INT: prop->u.i = (int64_t)key->value; break;
    case BIR_VALUE_FLOAT: memcpy(&prop->u.f, &key->value, sizeof prop->u.f); break;
    case BIR_VALUE_EXPR: prop->u.e = (const struct pelican_expr *)(uintptr_t)key->value; break;
    case BIR_VALUE_TEXT:
    case BIR_VALUE_JSON: prop->u.s = (const struct bir_str *)(uintptr_t)key->value; break;
    }
}

/* `before` and the keys in one list. */
static const struct bir_props *join(struct codegen_keys *keys, const struct bir_props *before)
{
    struct bir_prop items[CODEGEN_KEYS_MAX + CODEGEN_OLD_KEYS_MAX];
    uint32_t count = before ? before->count : 0;
    if (count > CODEGEN_OLD_KEYS_MAX)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        items[i] = before->items[i];
    for (uint32_t i = 0, at; i < keys->count; i++) {
        const struct bir_str *name = codegen_literal(keys->cg, keys->items[i].name);
        if (!name)
            return NULL;
        for (at = 0; at < count && items[at].key != name; at++)
            ;
        items[at].key = name;
        prop_set(&items[at], &keys->items[i]);
        count += at == count;
    }
    return bir_props_get(keys->cg->module, items, count);
}

enum bir_status codegen_keys_set(struct codegen_keys *keys, struct bir_instruction *inst)
{
    struct codegen *cg = keys->cg;
    if (keys->failed)
        return codegen_nomem(cg);
    if (keys->count == 0)
        return BIR_OK;
    struct codegen_key_memo **place = &cg->key_memos[memo_place(keys)], *memo = *place;
    if (memo && memo_fits(memo, keys, inst->props)) {
        inst->props = memo->after;
        return BIR_OK;
    }
    const struct bir_props *after = join(keys, inst->props);
    if (!after)
        return codegen_nomem(cg);
    if (!memo)
        memo = *place = BIR_NEW(&cg->scratch, BIR_MEM_OTHER, struct codegen_key_memo);
    if (!memo)
        return codegen_nomem(cg);
    memo->before = inst->props;
    memo->after = after;
    memo->count = keys->count;
    memcpy(memo->items, keys->items, keys->count * sizeof *keys->items);
    inst->props = after;
    return BIR_OK;
}

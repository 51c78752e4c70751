/*
 * What every record of the BIR-JSON reader needs: key recognition, plain values, pending properties, failures.
 *
 * Known keys sit in an open-addressing table in the context, filled once per document from the READ_KEYS list; the hash
 * looks at the first eight bytes and the length only. Failures found here become sticky in the JSON reader as well, so
 * that a loop over keys ends by itself.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bir/read.h"

#define SHOWN_CHARS   60  /* of an input's text in a message */
#define REREAD_FACTOR 32u /* bytes that may be read again, in multiples of the document */

/* The first eight bytes of a key, zero beyond its end. Keys lie in the document, where the closing quote and more
 * follow, so one load mostly suffices; the others (near the end, unescaped copies) are copied. */
static uint64_t key_word(const struct read_context *ctx, const char *text, size_t len)
{
    uint64_t word = 0;
    uintptr_t offset = (uintptr_t)text - (uintptr_t)ctx->json.text; /* huge for a copy elsewhere */
    if (ctx->json.len >= sizeof word && offset <= ctx->json.len - sizeof word) {
        memcpy(&word, text, sizeof word);
        if (len >= sizeof word)
            return word;
        if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
            return word & ((UINT64_C(1) << 8 * len) - 1);
        return word & ~(UINT64_MAX >> 8 * len);
    }
    memcpy(&word, text, len < sizeof word ? len : sizeof word);
    return word;
}

static uint32_t key_slot(uint64_t word, size_t len)
{
    return (uint32_t)(((word ^ len) * UINT64_C(0x9E3779B97F4A7C15)) >> 55) & (READ_KEY_SLOTS - 1);
}

void read_keys_init(struct read_context *ctx)
{
    static const struct {
        const char *text;
        uint8_t len;
    } known[] = {
#define READ_KEY_ROW(NAME, text) { text, sizeof text - 1 },
        READ_KEYS(READ_KEY_ROW)
#undef READ_KEY_ROW
    };
    for (uint8_t i = 0; i < READ_OTHER; i++) {
        uint64_t word = 0;
        memcpy(&word, known[i].text, known[i].len < sizeof word ? known[i].len : sizeof word);
        uint32_t slot = key_slot(word, known[i].len);
        while (ctx->keys[slot].text)
            slot = (slot + 1) & (READ_KEY_SLOTS - 1);
        ctx->keys[slot].text = known[i].text;
        ctx->keys[slot].word = word;
        ctx->keys[slot].len = known[i].len;
        ctx->keys[slot].key = i;
    }
}

enum read_key read_key_of(const struct read_context *ctx, struct bir_slice key)
{
    const size_t head = sizeof(uint64_t);
    uint64_t word = key_word(ctx, key.text, key.len);
    for (uint32_t slot = key_slot(word, key.len); ctx->keys[slot].text; slot = (slot + 1) & (READ_KEY_SLOTS - 1)) {
        if (ctx->keys[slot].word != word || ctx->keys[slot].len != key.len)
            continue;
        if (key.len <= head || memcmp(ctx->keys[slot].text + head, key.text + head, key.len - head) == 0)
            return (enum read_key)ctx->keys[slot].key;
    }
    return READ_OTHER;
}

static int shown(size_t len)
{
    return len > SHOWN_CHARS ? SHOWN_CHARS : (int)len;
}

static enum bir_status fail_duplicate(struct read_context *ctx, size_t offset, const char *text, size_t len)
{
    return read_fail(ctx, "bir-duplicate-key", NULL, offset, "keep one of them",
                     "key \"%.*s\" occurs twice in one object", shown(len), text);
}

/* Known keys from 0, the others by hash behind them. */
static uint8_t number_of(const struct read_context *ctx, struct bir_slice text, enum read_key key)
{
    if (key != READ_OTHER)
        return (uint8_t)key;
    uint32_t hash = key_slot(key_word(ctx, text.text, text.len), text.len);
    return (uint8_t)(READ_OTHER + hash % (READ_KEY_NUMBERS - READ_OTHER));
}

/* The next key by what came behind the last one before, which saves the look-up; else by looking it up. */
static bool next_key(struct read_context *ctx, struct bir_slice *text, enum read_key *key)
{
    struct key_guess *guess = &ctx->guesses[ctx->last_key];
    if (bir_json_object_next_is(&ctx->json, &guess->spelled, text)) {
        *key = (enum read_key)guess->key;
        ctx->last_key = guess->number;
        return true;
    }
    if (!bir_json_object_next(&ctx->json, text))
        return false;
    *key = read_key_of(ctx, *text);
    ctx->last_key = number_of(ctx, *text, *key);
    guess->key = (uint8_t)*key;
    guess->number = ctx->last_key;
    bir_json_spelled_last(&ctx->json, *text, &guess->spelled);
    return true;
}

bool read_next_key(struct read_context *ctx, struct key_set *seen, struct bir_slice *text, enum read_key *key)
{
    if (!next_key(ctx, text, key))
        return false;
    if (*key == READ_OTHER)
        return true; /* duplicates among these are found when they become a property list */
    uint64_t bit = UINT64_C(1) << (*key & 63);
    if (seen->words[*key >> 6] & bit) {
        (void)fail_duplicate(ctx, ctx->json.value_start, text->text, text->len);
        return false;
    }
    seen->words[*key >> 6] |= bit;
    return true;
}

/* Failures */

enum bir_status read_fail(struct read_context *ctx, const char *code, const char *vendor, size_t offset,
                          const char *hint, const char *fmt, ...)
{
    char message[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    struct bir_diag *diag = bir_diag_add(ctx->diags, BIR_ERROR, code, (int64_t)offset, "%s", message);
    diag->vendor = vendor;
    diag->hint = hint;
    if (ctx->json.status == BIR_OK)
        ctx->json.status = BIR_INVALID;
    return BIR_INVALID;
}

enum bir_status read_fail_memory(struct read_context *ctx)
{
    bool own = ctx->module->arena.failure != BIR_OK;
    const struct bir_arena *arena = own ? &ctx->module->arena : ctx->scratch;
    enum bir_status status = bir_arena_failure(arena);
    if (status == BIR_LIMIT)
        (void)bir_fail_limit(ctx->diags, "bir-memory-limit", (int64_t)ctx->json.pos, "raise the memory limit",
                             "the module does not fit the memory limit of %zu bytes", arena->limit_bytes);
    if (ctx->json.status == BIR_OK)
        ctx->json.status = status;
    return status;
}

enum bir_status read_fail_missing(struct read_context *ctx, size_t offset, const char *record, const char *key)
{
    return read_fail(ctx, "bir-missing-key", "BIR015", offset, "add the key", "%s has no key \"%s\"", record, key);
}

enum bir_status read_fail_name(struct read_context *ctx, const char *vendor, size_t offset, const char *what,
                               const struct bir_str *name)
{
    return read_fail(ctx, "bir-unknown-name", vendor, offset, "define it, or correct the spelling",
                     "no %s is named \"%.*s\"", what, shown(name->len), name->text);
}

enum bir_status read_fail_enum(struct read_context *ctx, size_t offset, enum bir_enum_id id, const char *text,
                               size_t len)
{
    const char *code = id == BIR_ENUM_OPCODE ? "bir-unknown-opcode" : "bir-unknown-enum";
    return read_fail(ctx, code, "BIR024", offset, "names are case-sensitive", "\"%.*s\" is no member of %s", shown(len),
                     text, bir_enum_title(id));
}

enum bir_status read_require(struct read_context *ctx, const struct key_set *seen, size_t offset, const char *record,
                             enum read_key key)
{
    static const char *const texts[] = {
#define READ_KEY_TEXT(NAME, text) text,
        READ_KEYS(READ_KEY_TEXT)
#undef READ_KEY_TEXT
    };
    return key_set_has(seen, key) ? BIR_OK : read_fail_missing(ctx, offset, record, texts[key]);
}

/* Places */

static uint32_t clamp_offset(size_t offset)
{
    return offset < BIR_NO_SOURCE ? (uint32_t)offset : BIR_NO_SOURCE;
}

uint32_t read_offset(struct read_context *ctx)
{
    return clamp_offset(bir_json_value_offset(&ctx->json));
}

struct read_mark read_mark_here(struct read_context *ctx)
{
    return (struct read_mark){ .pos = bir_json_value_offset(&ctx->json), .depth = ctx->json.depth };
}

struct read_mark read_seek(struct read_context *ctx, struct read_mark mark)
{
    struct read_mark place = { .pos = ctx->json.pos, .depth = ctx->json.depth };
    ctx->json.pos = mark.pos;
    ctx->json.depth = mark.depth;
    ctx->json.first_item = false;
    return place;
}

void read_resume(struct read_context *ctx, struct read_mark place)
{
    ctx->json.pos = place.pos;
    ctx->json.depth = place.depth;
    ctx->json.first_item = false;
}

enum bir_status read_count_again(struct read_context *ctx, size_t from, const char *hint, const char *what)
{
    ctx->reread_bytes += ctx->json.pos - from;
    if (ctx->reread_bytes / REREAD_FACTOR <= ctx->json.len)
        return BIR_OK;
    ctx->json.status = BIR_LIMIT;
    return bir_fail_limit(ctx->diags, "bir-reread-limit", (int64_t)from, hint,
                          "%s would make the document be read more than %u times", what, REREAD_FACTOR);
}

/* Values */

static enum bir_status intern(struct read_context *ctx, struct bir_slice text, const struct bir_str **out)
{
    *out = bir_intern(&ctx->module->strings, text.text, text.len);
    return *out ? BIR_OK : read_fail_memory(ctx);
}

enum bir_status read_text(struct read_context *ctx, const struct bir_str **out)
{
    struct bir_slice text;
    BIR_TRY(bir_json_string(&ctx->json, &text));
    return intern(ctx, text, out);
}

enum bir_status read_raw(struct read_context *ctx, const struct bir_str **out)
{
    struct bir_slice raw;
    BIR_TRY(bir_json_skip(&ctx->json, &raw));
    return intern(ctx, raw, out);
}

enum bir_status read_raw_object(struct read_context *ctx, const struct bir_str **out)
{
    if (bir_json_peek(&ctx->json) != BIR_JSON_OBJECT)
        return bir_json_mismatch(&ctx->json, "an object");
    return read_raw(ctx, out);
}

bool read_is_empty(const struct bir_str *raw)
{
    uint32_t at = 1;
    while (raw->text[at] == ' ' || raw->text[at] == '\n' || raw->text[at] == '\r' || raw->text[at] == '\t')
        at++;
    return at + 1 == raw->len;
}

enum bir_status read_raw_array(struct read_context *ctx, const struct bir_str **out)
{
    if (bir_json_peek(&ctx->json) != BIR_JSON_ARRAY)
        return bir_json_mismatch(&ctx->json, "an array");
    return read_raw(ctx, out);
}

enum bir_status read_ints(struct read_context *ctx, const struct bir_ints **out)
{
    uint32_t base = ctx->ints.count;
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json)) {
        int64_t value;
        BIR_TRY(bir_json_i64(&ctx->json, &value));
        if (!bir_vec_push(ctx->scratch, &ctx->ints, value))
            return read_fail_memory(ctx);
    }
    BIR_TRY(ctx->json.status);
    uint32_t count = ctx->ints.count - base;
    *out = bir_ints_get(ctx->module, count ? ctx->ints.items + base : NULL, count);
    ctx->ints.count = base;
    return *out ? BIR_OK : read_fail_memory(ctx);
}

enum bir_status read_enum(struct read_context *ctx, enum bir_enum_id id, int *value, const struct bir_str **text)
{
    struct bir_slice name;
    BIR_TRY(bir_json_string(&ctx->json, &name));
    *value = bir_enum_value(id, name.text, name.len);
    *text = NULL;
    if (*value >= 0)
        return BIR_OK;
    if (ctx->strict)
        return read_fail_enum(ctx, ctx->json.value_start, id, name.text, name.len);
    return intern(ctx, name, text);
}

enum bir_status read_enum_field(struct read_context *ctx, enum bir_enum_id id, struct bir_slice key, uint8_t *field)
{
    struct bir_prop prop = { .type = BIR_VALUE_TEXT };
    int value;
    BIR_TRY(read_enum(ctx, id, &value, &prop.u.s));
    *field = value >= 0 ? (uint8_t)value : BIR_ENUM_UNKNOWN;
    return value >= 0 ? BIR_OK : read_push_pending(ctx, key, &prop);
}

enum bir_status read_origin(struct read_context *ctx, uint8_t *origin)
{
    struct bir_slice name;
    BIR_TRY(bir_json_string(&ctx->json, &name));
    int value = bir_enum_value(BIR_ENUM_ORIGIN, name.text, name.len);
    if (value < 0)
        return read_fail_enum(ctx, ctx->json.value_start, BIR_ENUM_ORIGIN, name.text, name.len);
    *origin = (uint8_t)value;
    return BIR_OK;
}

/* Integers that int64 cannot hold keep their text; other numbers are doubles. */
static enum bir_status read_number(struct read_context *ctx, struct bir_prop *prop)
{
    struct bir_number number;
    size_t start = bir_json_value_offset(&ctx->json);
    BIR_TRY(bir_json_number(&ctx->json, &number));
    struct bir_slice text = { .text = ctx->json.text + start, .len = ctx->json.pos - start };
    if (number.kind == BIR_NUMBER_I64) {
        prop->type = BIR_VALUE_INT;
        prop->u.i = number.i64;
        return BIR_OK;
    }
    bool is_fraction =
        memchr(text.text, '.', text.len) || memchr(text.text, 'e', text.len) || memchr(text.text, 'E', text.len);
    if (is_fraction) {
        prop->type = BIR_VALUE_FLOAT;
        prop->u.f = number.f64;
        return BIR_OK;
    }
    prop->type = BIR_VALUE_JSON;
    return intern(ctx, text, &prop->u.s);
}

enum bir_status read_value(struct read_context *ctx, struct bir_prop *prop)
{
    switch (bir_json_peek(&ctx->json)) {
    case BIR_JSON_STRING: prop->type = BIR_VALUE_TEXT; return read_text(ctx, &prop->u.s);
    case BIR_JSON_TRUE:
    case BIR_JSON_FALSE: prop->type = BIR_VALUE_BOOL; return bir_json_bool(&ctx->json, &prop->u.b);
    case BIR_JSON_NUMBER: return read_number(ctx, prop);
    default: prop->type = BIR_VALUE_JSON; return read_raw(ctx, &prop->u.s);
    }
}

/* Pending properties */

static enum bir_status push(struct read_context *ctx, struct bir_slice key, struct read_pending *pending)
{
    pending->prop.key = bir_intern(&ctx->module->strings, key.text, key.len);
    if (!pending->prop.key || !bir_vec_push(ctx->scratch, &ctx->pending, *pending))
        return read_fail_memory(ctx);
    return BIR_OK;
}

enum bir_status read_push_pending(struct read_context *ctx, struct bir_slice key, const struct bir_prop *prop)
{
    struct read_pending pending = { .prop = *prop, .key_offset = clamp_offset(ctx->json.value_start) };
    pending.mark.pos = ctx->json.value_start;
    return push(ctx, key, &pending);
}

enum bir_status read_other(struct read_context *ctx, struct bir_slice key, const char *record)
{
    size_t key_offset = ctx->json.value_start;
    if (record && ctx->strict)
        return read_fail(ctx, "bir-unknown-key", NULL, key_offset, "remove it, or read without --strict",
                         "%s has no key \"%.*s\"", record, shown(key.len), key.text);
    struct read_pending pending = { .key_offset = clamp_offset(key_offset), .mark = read_mark_here(ctx) };
    BIR_TRY(read_value(ctx, &pending.prop));
    return push(ctx, key, &pending);
}

enum bir_status read_listed(struct read_context *ctx, struct bir_slice key, const char *record, const char *const *list)
{
    if (!ctx->strict)
        return read_other(ctx, key, NULL);
    for (; *list; list++)
        if (strlen(*list) == key.len && memcmp(*list, key.text, key.len) == 0)
            return read_other(ctx, key, NULL);
    return read_other(ctx, key, record);
}

/* Equal keys stand side by side in the sorted list; the second one's place comes from the stack. */
static enum bir_status check_duplicates(struct read_context *ctx, const struct bir_props *props, uint32_t base)
{
    for (uint32_t i = 1; i < props->count; i++) {
        const struct bir_str *key = props->items[i].key;
        if (key != props->items[i - 1].key)
            continue;
        uint32_t at = ctx->pending.count - 1;
        while (at > base && ctx->pending.items[at].prop.key != key)
            at--;
        return fail_duplicate(ctx, ctx->pending.items[at].key_offset, key->text, key->len);
    }
    return BIR_OK;
}

enum bir_status read_take_props(struct read_context *ctx, uint32_t base, const struct bir_props **out)
{
    uint32_t count = ctx->pending.count - base;
    *out = NULL;
    if (count == 0)
        return BIR_OK;
    struct bir_prop few[16];
    struct bir_prop *items = few;
    if (count > sizeof few / sizeof *few) {
        items = bir_arena_alloc_array(ctx->scratch, BIR_MEM_OTHER, count, sizeof(*items));
        if (!items)
            return read_fail_memory(ctx);
    }
    for (uint32_t i = 0; i < count; i++)
        items[i] = ctx->pending.items[base + i].prop;
    const struct bir_props *props = bir_props_get(ctx->module, items, count);
    if (!props)
        return read_fail_memory(ctx);
    BIR_TRY(check_duplicates(ctx, props, base));
    ctx->pending.count = base;
    *out = props;
    return BIR_OK;
}

enum bir_status read_object_props(struct read_context *ctx, const struct bir_props **out)
{
    uint32_t base = ctx->pending.count;
    struct bir_slice key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (bir_json_object_next(&ctx->json, &key))
        BIR_TRY(read_other(ctx, key, NULL));
    BIR_TRY(ctx->json.status);
    BIR_TRY(read_take_props(ctx, base, out));
    if (!*out)
        *out = bir_props_get(ctx->module, NULL, 0);
    return *out ? BIR_OK : read_fail_memory(ctx);
}

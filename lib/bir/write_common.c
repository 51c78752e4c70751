/* Values and properties of the canonical writer. */
#include "bir/write.h"

static int compare(const struct bir_str *s, const char *text)
{
    size_t len = strlen(text);
    int order = memcmp(s->text, text, s->len < len ? s->len : len);
    return order != 0 ? order : (s->len > len) - (s->len < len);
}

static void write_prop(struct bir_json_writer *w, const struct bir_prop *prop)
{
    bir_json_put_key_n(w, prop->key->text, prop->key->len);
    write_prop_value(w, prop);
}

void write_props_before_slow(struct bir_json_writer *w, struct prop_cursor *cursor, const char *key)
{
    for (; cursor->next != cursor->end; cursor->next++) {
        int order = compare(cursor->next->key, key);
        if (order > 0)
            return;
        if (order < 0)
            write_prop(w, cursor->next);
    }
}

void write_rest_slow(struct bir_json_writer *w, struct prop_cursor *cursor)
{
    for (; cursor->next != cursor->end; cursor->next++)
        write_prop(w, cursor->next);
}

void write_prop_value(struct bir_json_writer *w, const struct bir_prop *prop)
{
    switch (prop->type) {
    case BIR_VALUE_BOOL: bir_json_put_bool(w, prop->u.b); break;
    case BIR_VALUE_INT: bir_json_put_i64(w, prop->u.i); break;
    case BIR_VALUE_FLOAT: bir_json_put_double(w, prop->u.f); break;
    case BIR_VALUE_TEXT: write_str(w, prop->u.s); break;
    case BIR_VALUE_EXPR: bir_write_expr(w, prop->u.e); break;
    case BIR_VALUE_JSON: bir_json_put_raw(w, prop->u.s->text, prop->u.s->len, true); break;
    }
}

void write_str(struct bir_json_writer *w, const struct bir_str *s)
{
    bir_json_put_string(w, s->text, s->len);
}

void write_name(struct bir_json_writer *w, const char *name)
{
    size_t len = strlen(name);
    char *out = bir_json_claim(w, len + 2);
    if (out) {
        out[0] = '"';
        memcpy(out + 1, name, len);
        out[len + 1] = '"';
    }
    w->need_comma = true;
    w->after_key = false;
}

void write_ints(struct bir_json_writer *w, const struct bir_ints *ints)
{
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < ints->count; i++)
        bir_json_put_i64(w, ints->items[i]);
    bir_json_put_array_end(w);
}

void write_pattern(struct bir_json_writer *w, const struct bir_pattern *pattern)
{
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < pattern->rank; i++) {
        bir_json_put_array_begin(w);
        bir_json_put_i64(w, pattern->pairs[i].step_elems);
        bir_json_put_i64(w, pattern->pairs[i].num);
        bir_json_put_array_end(w);
    }
    bir_json_put_array_end(w);
}

void write_origin(struct bir_json_writer *w, struct prop_cursor *props, uint8_t origin)
{
    if (origin == BIR_ORIGIN_INTERNAL)
        return;
    WRITE_FIELD(w, props, "origin");
    write_name(w, bir_enum_name(BIR_ENUM_ORIGIN, origin));
}

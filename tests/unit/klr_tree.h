/* KLR trees as JSON, by the rules of klr-format.md 11, for comparison with renderings made by others. */
#ifndef TESTS_KLR_TREE_H
#define TESTS_KLR_TREE_H

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>

#include "klr/schema.h"

/* exact: a Float32 is its bits in hexadecimal text, where the rules have a number or "NaN", "Infinity", "-Infinity". */
static inline json_t *klr_tree_value(union klr_slot slot, enum klr_type base, uint8_t wraps, bool exact);

static inline json_t *klr_tree_float(uint32_t bits, bool exact)
{
    char text[16];
    float value;
    memcpy(&value, &bits, sizeof(value));
    if (exact) {
        snprintf(text, sizeof(text), "%08" PRIx32, bits);
        return json_string(text);
    }
    if (isnan(value))
        return json_string("NaN");
    return isinf(value) ? json_string(value > 0 ? "Infinity" : "-Infinity") : json_real((double)value);
}

/* Above INT64_MAX, where jansson ends, a text of digits. */
static inline json_t *klr_tree_nat(uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    return json_string(digits);
}

static inline json_t *klr_tree_node(const struct klr_node *node, bool exact)
{
    enum klr_type type = (enum klr_type)node->type;
    const struct klr_arm *arm = klr_arm_find(type, node->ctor);
    json_t *members = json_object();
    for (uint32_t i = 0, slot = 0; i < arm->count; i++) {
        const struct klr_field *field = &klr_arm_fields(arm)[i];
        if (field->form.base == KLR_TYPE_Prop)
            continue;
        json_object_set_new(members, field->name,
                            klr_tree_value(node->fields[slot++], (enum klr_type)field->form.base, field->form.wraps,
                                           exact));
    }
    if (klr_types[type].kind == KLR_KIND_STRUCTURE)
        return members;
    if (arm->count > 0)
        return json_pack("{s:o}", arm->name, members);
    json_decref(members);
    return json_string(arm->name);
}

static inline json_t *klr_tree_list(const struct klr_list *list, enum klr_type base, uint8_t wraps, bool exact)
{
    json_t *array = json_array();
    for (uint64_t i = 0; i < list->count; i++)
        json_array_append_new(array, klr_tree_value(list->items[i], base, wraps, exact));
    return array;
}

static inline json_t *klr_tree_option(union klr_slot slot, enum klr_type base, uint8_t wraps, bool exact)
{
    bool is_node = klr_types[base].kind == KLR_KIND_STRUCTURE || klr_types[base].kind == KLR_KIND_SUM;
    if (!slot.boxed)
        return json_null();
    bool boxed = wraps == 0 && !is_node && base != KLR_TYPE_String;
    return klr_tree_value(boxed ? *slot.boxed : slot, base, wraps, exact);
}

static inline json_t *klr_tree_value(union klr_slot slot, enum klr_type base, uint8_t wraps, bool exact)
{
    if (KLR_WRAP_OUTER(wraps) == KLR_WRAP_OPTION)
        return klr_tree_option(slot, base, KLR_WRAP_INNER(wraps), exact);
    if (KLR_WRAP_OUTER(wraps) == KLR_WRAP_LIST)
        return klr_tree_list(slot.list, base, KLR_WRAP_INNER(wraps), exact);
    switch (base) {
    case KLR_TYPE_Nat: return klr_tree_nat(slot.nat);
    case KLR_TYPE_Int:
    case KLR_TYPE_Int32: return json_integer((json_int_t)slot.integer);
    case KLR_TYPE_Float32: return klr_tree_float(slot.float_bits, exact);
    case KLR_TYPE_Bool: return json_boolean(slot.boolean);
    case KLR_TYPE_String: return json_stringn(slot.string->text, slot.string->len);
    default: break;
    }
    if (klr_types[base].kind == KLR_KIND_ENUM)
        return json_string(klr_ctor_name(base, slot.enumerator));
    return klr_tree_node(slot.node, exact);
}

/* The Contents constructor around the kernel. */
static inline json_t *klr_tree_file(const struct klr_file *file, bool exact)
{
    return json_pack("{s:{s:o}}", klr_content_name(file->content), "kernel", klr_tree_node(file->kernel, exact));
}

#endif

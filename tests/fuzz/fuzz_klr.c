/*
 * Fuzz target for the reader of .klr files. Besides not crashing: a refused file has a diagnostic inside the file, an
 * accepted one survives a walk over all of its nodes, memory follows the bytes that were there, and the path of any
 * offset can be found.
 */
#include <assert.h>

#include "klr/schema.h"

/* What a file of n bytes may take: a byte of a list is a slot of eight, gathered and copied; the rest is tables. */
#define MEMORY_BOUND(n) ((size_t)64 * (n) + (1u << 16))

static void walk_value(union klr_slot slot, enum klr_type base, uint8_t wraps);

static void walk_node(const struct klr_node *node)
{
    const struct klr_arm *arm = klr_arm_find((enum klr_type)node->type, node->ctor);
    assert(arm);
    uint32_t slot = 0;
    for (uint32_t i = 0; i < arm->count; i++) {
        const struct klr_field *field = &klr_arm_fields(arm)[i];
        if (field->form.base != KLR_TYPE_Prop)
            walk_value(node->fields[slot++], (enum klr_type)field->form.base, field->form.wraps);
    }
}

static void walk_value(union klr_slot slot, enum klr_type base, uint8_t wraps)
{
    enum klr_wrap outer = KLR_WRAP_OUTER(wraps);
    uint8_t kind = klr_types[base].kind;
    if (outer == KLR_WRAP_OPTION) {
        bool boxed = KLR_WRAP_INNER(wraps) == 0 && base != KLR_TYPE_String &&
                     (kind == KLR_KIND_PRIMITIVE || kind == KLR_KIND_ENUM);
        if (slot.boxed)
            walk_value(boxed ? *slot.boxed : slot, base, KLR_WRAP_INNER(wraps));
    } else if (outer == KLR_WRAP_LIST) {
        for (uint64_t i = 0; i < slot.list->count; i++)
            walk_value(slot.list->items[i], base, KLR_WRAP_INNER(wraps));
    } else if (kind == KLR_KIND_ENUM) {
        assert(klr_ctor_name(base, slot.enumerator));
    } else if (base == KLR_TYPE_String) {
        assert(slot.string->text[slot.string->len] == '\0');
    } else if (kind != KLR_KIND_PRIMITIVE) {
        walk_node(slot.node);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bir_arena arena;
    struct bir_strtab strings;
    struct bir_diags diags;
    struct klr_file file;
    bir_arena_init(&arena, 0);
    bir_strtab_init(&strings, &arena);
    bir_diags_init(&diags, &arena, 10);
    enum bir_status status = klr_read(data, size, NULL, &strings, &arena, &diags, &file);
    assert(status == BIR_OK || status == BIR_INVALID || status == BIR_LIMIT);
    assert((status == BIR_OK) == (diags.errors == 0));
    for (const struct bir_diag *diag = diags.first; diag; diag = diag->next)
        assert(diag->offset >= 0 && (uint64_t)diag->offset <= size && diag->message);
    assert(arena.reserved_bytes <= MEMORY_BOUND(size));
    if (status == BIR_OK)
        walk_node(file.kernel);
    size_t offset = size > 0 ? (data[size - 1] * (size_t)257) % size : 0;
    assert(klr_path_at(data, size, status == BIR_OK ? offset : (size_t)diags.first->offset, &arena));
    bir_arena_deinit(&arena);
    return 0;
}

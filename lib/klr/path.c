/*
 * Paths for diagnostics: the decoder runs in its locating mode, which builds nothing but blocks and statements, and the
 * steps to the value at the offset are written out. A statement's name comes behind its operator in the file, which is
 * why the decoder goes on to the end of the statement; when that fails the list position stands in.
 */
#include "base/buf.h"
#include "klr/reader.h"

/* Members that a path leaves out: the header, and those between a list or sum and what its elements or arms hold. */
static bool step_is_silent(const struct klr_step *step)
{
    ptrdiff_t field = step->field - klr_arm_fields(klr_arm_find(step->type, step->ctor));
    switch (step->type) {
    case KLR_TYPE_KLRFile:
    case KLR_TYPE_KLRMetaData:
    case KLR_TYPE_Contents:
    case KLR_TYPE_Operator: return true;
    case KLR_TYPE_Block: return field == KLR_Block_body;
    case KLR_TYPE_Stmt: return field == KLR_Stmt_oper_op;
    case KLR_TYPE_Access: return step->ctor != KLR_Access_simple;
    default: return false;
    }
}

/* Label of a block, name of a statement; NULL when there is none (or an empty one). */
static const struct bir_str *element_name(const struct klr_node *element)
{
    const struct bir_str *name = NULL;
    if (element && element->type == KLR_TYPE_Block)
        name = klr_string_at(element, KLR_Block_label);
    else if (element && element->type == KLR_TYPE_Stmt)
        name = klr_string_at(element, KLR_Stmt_oper_name);
    return name && name->len > 0 ? name : NULL;
}

static void put_escaped(struct bir_buf *buf, const struct bir_str *name)
{
    for (uint32_t i = 0; i < name->len; i++) {
        char c = name->text[i];
        if (c == '~' || c == '/')
            bir_buf_puts(buf, c == '~' ? "~0" : "~1");
        else
            bir_buf_putc(buf, c);
    }
}

static void put_step(struct bir_buf *buf, const struct klr_step *step)
{
    if (!step->is_position && step_is_silent(step))
        return;
    bir_buf_putc(buf, '/');
    const struct bir_str *name = step->is_position ? element_name(step->element) : NULL;
    if (!step->is_position)
        bir_buf_puts(buf, step->field->name);
    else if (name)
        put_escaped(buf, name);
    else
        bir_buf_put_u64(buf, step->position);
}

static const char *path_text(const struct klr_step *steps, uint32_t count, struct bir_arena *arena)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    for (uint32_t i = 0; i < count; i++)
        put_step(&buf, &steps[i]);
    const char *path = buf.status == BIR_OK ? bir_arena_strndup(arena, buf.data ? buf.data : "", buf.len) : NULL;
    bir_buf_deinit(&buf);
    return path;
}

const char *klr_path_at(const void *bytes, size_t len, size_t offset, struct bir_arena *arena)
{
    struct bir_arena nodes;
    struct bir_strtab names;
    struct bir_diags diags;
    struct klr_reader r;
    struct klr_file file;
    bir_arena_init(&nodes, 0);
    bir_strtab_init(&names, &nodes);
    bir_diags_init(&diags, &nodes, 0);
    klr_reader_init(&r, bytes, len, NULL, &names, &nodes, &diags);
    r.locating = true;
    r.target = offset;
    enum bir_status status = klr_decode(&r, &file);
    const char *path = NULL;
    if (r.located)
        path = path_text(r.found, r.found_count, arena);
    else if (offset >= len)
        path = bir_arena_strndup(arena, "", 0);
    else if (status != BIR_NOMEM)
        path = path_text(r.steps.items, r.steps.count == 0 && offset >= r.pos ? 0 : r.reached, arena);
    klr_reader_deinit(&r);
    bir_arena_deinit(&nodes);
    return path;
}

/*
 * Templates: the text of records that differ from their like in few values, which is most of a lowered module.
 *
 * Instructions of one plan, engine and origin differ in name and operands, dependencies and loopnest (enum write_part).
 * The general writer renders one of them and notes where these values are; every further one is the pieces between
 * them and its own values, written as the general writer does. Only compact output has templates: indented text depends
 * on the depth.
 */
#include "bir/write.h"

#define TEMPLATES_MAX 16u  /* of a plan: engines and origins are few, engine ids need not be */
#define MODEL_DEPTH   512u /* nesting at which templates are rendered; records of a lesser one miss no limit */

_Static_assert(MODEL_DEPTH < BIR_JSON_WRITER_MAX_DEPTH, "a model is within the limit");

#define PART(name) (1u << WRITE_PART_##name)

/* Is there nothing about the record but parts and what the plan and the key of a template decide? */
static bool is_plain(const struct bir_instruction *inst)
{
    const struct bir_instruction_rare *rare = inst->rare;
    const struct bir_argument *first = bir_operand_first(inst);
    if (!inst->name || (first && first->role == BIR_ROLE_INDIRECTION) || inst->engine == BIR_ENUM_UNKNOWN ||
        inst->opcode == BIR_OP_UNKNOWN)
        return false;
    BIR_EACH_EDGE (edge, inst)
        if (edge->list != BIR_EDGES_NORMAL)
            return false;
    return !rare || (!rare->loop && !rare->sync && !rare->debug && !rare->texts && !rare->scheduled_start &&
                     !rare->scheduled_end);
}

static uint8_t parts_of(const struct bir_instruction *inst)
{
    unsigned parts = PART(INS) | PART(NAME) | PART(OUTS);
    if (bir_instruction_edge_count(inst, BIR_EDGES_NORMAL) > 0)
        parts |= PART(DEPENDENCIES);
    if (inst->rare && inst->rare->loopnest)
        parts |= PART(LOOPNEST);
    return (uint8_t)parts;
}

static void render(struct writer *writer, const struct write_plan *plan, struct write_template *template,
                   const struct bir_instruction *inst)
{
    struct bir_json_writer saved = writer->json;
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_json_writer_init(&writer->json, &text, 0);
    writer->json.depth = MODEL_DEPTH;
    write_record(writer, plan, inst, template->spans);
    writer->json = saved;
    if (text.status == BIR_OK && text.len < UINT32_MAX)
        template->text = bir_arena_strndup(&writer->scratch, text.data, text.len);
    template->len = (uint32_t)text.len;
    template->tried = true;
    bir_buf_deinit(&text);
}

/* NULL: none yet. Rendered when a second instruction asks for it. */
static const struct write_template *template_of(struct writer *writer, struct write_plan *plan,
                                                const struct bir_instruction *inst)
{
    uint8_t parts = parts_of(inst);
    uint32_t count = 0;
    for (struct write_template *t = plan->templates; t; t = t->next, count++) {
        if (t->parts != parts || t->engine != inst->engine || t->engine_id != bir_instruction_engine_id(inst) ||
            t->origin != inst->origin)
            continue;
        if (!t->tried)
            render(writer, plan, t, inst);
        return t->text ? t : NULL;
    }
    struct write_template *made =
        count < TEMPLATES_MAX ? BIR_NEW(&writer->scratch, BIR_MEM_OTHER, struct write_template) : NULL;
    if (!made)
        return NULL;
    made->parts = parts;
    made->engine = inst->engine;
    made->engine_id = bir_instruction_engine_id(inst);
    made->origin = inst->origin;
    made->next = plan->templates;
    plan->templates = made;
    return NULL;
}

bool write_from_template(struct writer *writer, struct write_plan *plan, const struct bir_instruction *inst)
{
    struct bir_json_writer *w = &writer->json;
    if (w->indent > 0 || w->depth > MODEL_DEPTH || !is_plain(inst))
        return false;
    const struct write_template *t = template_of(writer, plan, inst);
    if (!t)
        return false;
    uint32_t at = 0;
    if (w->need_comma)
        bir_buf_putc(w->buf, ',');
    w->depth++;
    for (enum write_part part = 0; part < WRITE_PART_COUNT; part++) {
        if (!(t->parts >> part & 1))
            continue;
        bir_buf_put(w->buf, t->text + at, t->spans[part].from - at);
        w->after_key = true;
        write_part(writer, inst, part);
        at = t->spans[part].to;
    }
    bir_buf_put(w->buf, t->text + at, t->len - at);
    w->depth--;
    w->need_comma = true;
    return true;
}

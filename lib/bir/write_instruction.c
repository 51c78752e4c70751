/*
 * Instructions and blocks in canonical form: header keys in byte order, the properties between them by the plan of
 * their list (write_plan.c).
 */
#include "bir/write.h"

#define CANCEL_INTERVAL 1024u /* instructions between two looks at the cancel token */

struct instruction_state {
    struct bir_json_writer *w;
    const struct bir_instruction *inst;
    const struct write_item *next, *end;
    struct writer *writer;
    struct write_span *spans; /* or NULL */
};

static void write_item(struct bir_json_writer *w, const struct write_item *item)
{
    if (item->prop) {
        bir_json_put_key_n(w, item->prop->key->text, item->prop->key->len);
        write_prop_value(w, item->prop);
    } else if (item->raw) {
        bir_json_put_spelled_key(w, item->text, item->text_len);
        bir_json_put_raw(w, item->raw, strlen(item->raw), false);
    } else {
        bir_json_put_spelled(w, item->text, item->text_len);
    }
}

/* The properties due before header key number `slot`. */
static inline void write_items_before(struct instruction_state *s, uint8_t slot)
{
    for (; s->next != s->end && s->next->slot <= slot; s->next++)
        write_item(s->w, s->next);
}

/* Positions of the header keys in write_header_keys. */
enum slot {
    SLOT_DYNAMIC_AXIS,
    SLOT_LOOP_AXIS,
    SLOT_BLOCKS,
    SLOT_DEBUG,
    SLOT_DEPENDENCIES,
    SLOT_ENGINE,
    SLOT_ENGINE_ID,
    SLOT_INDIRECTION_INS,
    SLOT_INS,
    SLOT_LOOP_CARRIED,
    SLOT_LOOPNEST,
    SLOT_NAME,
    SLOT_OPCODE,
    SLOT_ORDER,
    SLOT_ORIGIN,
    SLOT_OUTS,
    SLOT_PREDICATES,
    SLOT_REGISTERS,
    SLOT_SCHEDULED_END,
    SLOT_SCHEDULED_START,
    SLOT_SYNC_INFO,
    SLOT_UNROLL,
};

#define FIELD(s, slot, literal) (write_items_before((s), (slot)), WRITE_KEY((s)->w, literal))

static void write_debug(struct bir_json_writer *w, const struct bir_props *debug)
{
    struct prop_cursor props = write_cursor(debug);
    bir_json_put_object_begin(w);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

/* An array kept as text. */
static void write_text(struct bir_json_writer *w, const struct bir_str *text)
{
    bir_json_put_raw(w, text->text, text->len, true);
}

static void write_loopnest(struct bir_json_writer *w, const struct bir_instruction_rare *rare)
{
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < rare->loopnest->count; i++)
        write_str(w, rare->loopnest->items[i]->name);
    bir_json_put_array_end(w);
}

void write_part(struct writer *writer, const struct bir_instruction *inst, enum write_part part)
{
    switch (part) {
    case WRITE_PART_DEPENDENCIES: write_edges(&writer->json, inst, BIR_EDGES_NORMAL); break;
    case WRITE_PART_INS: write_arguments(writer, inst, BIR_ROLE_IN); break;
    case WRITE_PART_LOOPNEST: write_loopnest(&writer->json, inst->rare); break;
    case WRITE_PART_NAME: write_str(&writer->json, inst->name); break;
    case WRITE_PART_OUTS: write_arguments(writer, inst, BIR_ROLE_OUT); break;
    case WRITE_PART_COUNT: break;
    }
}

/* Behind its key. */
static void write_noted_part(struct instruction_state *s, enum write_part part)
{
    size_t from = s->w->buf->len;
    write_part(s->writer, s->inst, part);
    if (s->spans)
        s->spans[part] = (struct write_span){ (uint32_t)from, (uint32_t)s->w->buf->len };
}

static bool has_edges(const struct instruction_state *s, enum bir_edge_list list)
{
    return bir_instruction_edge_count(s->inst, list) > 0;
}

static void write_loop_head(struct writer *writer, struct instruction_state *s, const struct bir_loop *loop)
{
    if (loop->dynamic_axis) {
        FIELD(s, SLOT_DYNAMIC_AXIS, "DynamicForLoopAxis");
        write_dynamic_axis(s->w, loop);
    }
    if (loop->axis) {
        FIELD(s, SLOT_LOOP_AXIS, "LoopAxis");
        write_loop_axis(s->w, loop);
    }
    FIELD(s, SLOT_BLOCKS, "blocks");
    write_blocks(writer, &loop->region);
}

static void write_opcode(struct instruction_state *s)
{
    FIELD(s, SLOT_OPCODE, "opcode");
    if (s->inst->opcode == BIR_OP_UNKNOWN && s->inst->rare && s->inst->rare->texts && s->inst->rare->texts->opcode)
        write_str(s->w, s->inst->rare->texts->opcode);
    else
        write_name(s->w, bir_opcode_name(s->inst->opcode));
}

static void write_engine(struct instruction_state *s)
{
    FIELD(s, SLOT_ENGINE, "engine");
    if (s->inst->engine == BIR_ENUM_UNKNOWN && s->inst->rare && s->inst->rare->texts && s->inst->rare->texts->engine)
        write_str(s->w, s->inst->rare->texts->engine);
    else
        write_name(s->w, bir_engine_name(s->inst->engine));
    FIELD(s, SLOT_ENGINE_ID, "engine_id");
    bir_json_put_u64(s->w, bir_instruction_engine_id(s->inst));
}

static void write_loopnest_field(struct instruction_state *s, const struct bir_instruction_rare *rare)
{
    if (!rare || (!rare->loopnest && !(rare->texts && rare->texts->loopnest)))
        return;
    FIELD(s, SLOT_LOOPNEST, "loopnest");
    if (rare->loopnest)
        write_noted_part(s, WRITE_PART_LOOPNEST);
    else
        write_text(s->w, rare->texts->loopnest);
}

/* Up to and with name. */
static void write_first_half(struct writer *writer, struct instruction_state *s)
{
    const struct bir_instruction *inst = s->inst;
    const struct bir_instruction_rare *rare = inst->rare;
    if (rare && rare->loop)
        write_loop_head(writer, s, rare->loop);
    if (rare && rare->debug) {
        FIELD(s, SLOT_DEBUG, "debug");
        write_debug(s->w, rare->debug);
    }
    if (has_edges(s, BIR_EDGES_NORMAL)) {
        FIELD(s, SLOT_DEPENDENCIES, "dependencies");
        write_noted_part(s, WRITE_PART_DEPENDENCIES);
    }
    write_engine(s);
    if (bir_instruction_first(inst, BIR_ROLE_INDIRECTION)) {
        FIELD(s, SLOT_INDIRECTION_INS, "indirection_ins");
        write_arguments(writer, inst, BIR_ROLE_INDIRECTION);
    }
    FIELD(s, SLOT_INS, "ins");
    write_noted_part(s, WRITE_PART_INS);
    if (has_edges(s, BIR_EDGES_LOOP_CARRIED)) {
        FIELD(s, SLOT_LOOP_CARRIED, "loop_carried_dependencies");
        write_edges(s->w, inst, BIR_EDGES_LOOP_CARRIED);
    }
    write_loopnest_field(s, rare);
    if (inst->name) {
        FIELD(s, SLOT_NAME, "name");
        write_noted_part(s, WRITE_PART_NAME);
    }
}

static void write_registers(struct instruction_state *s, const struct bir_loop *loop)
{
    if (loop->registers.count == 0)
        return;
    FIELD(s, SLOT_REGISTERS, "registers");
    bir_json_put_array_begin(s->w);
    for (uint32_t i = 0; i < loop->registers.count; i++)
        write_str(s->w, loop->registers.items[i]->base.name);
    bir_json_put_array_end(s->w);
}

static void write_second_half(struct instruction_state *s)
{
    const struct bir_instruction_rare *rare = s->inst->rare;
    const struct bir_instruction_texts *texts = rare ? rare->texts : NULL;
    write_opcode(s);
    if (texts && texts->order) {
        FIELD(s, SLOT_ORDER, "order");
        write_text(s->w, texts->order);
    }
    FIELD(s, SLOT_ORIGIN, "origin");
    write_name(s->w, bir_enum_name(BIR_ENUM_ORIGIN, s->inst->origin));
    FIELD(s, SLOT_OUTS, "outs");
    write_noted_part(s, WRITE_PART_OUTS);
    if (texts && texts->predicates) {
        FIELD(s, SLOT_PREDICATES, "predicates");
        write_text(s->w, texts->predicates);
    }
    if (rare && rare->loop)
        write_registers(s, rare->loop);
    FIELD(s, SLOT_SCHEDULED_END, "scheduled_end");
    bir_json_put_i64(s->w, rare ? rare->scheduled_end : 0);
    FIELD(s, SLOT_SCHEDULED_START, "scheduled_start");
    bir_json_put_i64(s->w, rare ? rare->scheduled_start : 0);
    if (rare && rare->sync) {
        FIELD(s, SLOT_SYNC_INFO, "sync_info");
        write_sync(s->w, rare->sync);
    }
    if (has_edges(s, BIR_EDGES_UNROLL)) {
        FIELD(s, SLOT_UNROLL, "unroll_dependencies");
        write_edges(s->w, s->inst, BIR_EDGES_UNROLL);
    }
}

void write_record(struct writer *writer, const struct write_plan *plan, const struct bir_instruction *inst,
                  struct write_span *spans)
{
    struct instruction_state s = { .w = &writer->json, .inst = inst, .writer = writer, .spans = spans };
    s.next = plan->items;
    s.end = plan->items + plan->count;
    bir_json_put_object_begin(s.w);
    write_first_half(writer, &s);
    write_second_half(&s);
    write_items_before(&s, WRITE_HEADER_KEYS);
    bir_json_put_object_end(s.w);
}

static void write_instruction(struct writer *writer, const struct bir_instruction *inst)
{
    struct write_plan *plan = write_plan_of(writer, inst);
    if (plan && !write_from_template(writer, plan, inst))
        write_record(writer, plan, inst, NULL);
}

static void write_instructions(struct writer *writer, const struct bir_block *block)
{
    bir_json_put_array_begin(&writer->json);
    BIR_EACH_INSTRUCTION (inst, block) {
        if (writer->until_poll-- == 0) {
            writer->until_poll = CANCEL_INTERVAL;
            if (bir_cancelled(writer->cancel))
                writer->json.buf->status = BIR_CANCELLED;
        }
        if (writer->json.buf->status != BIR_OK)
            break;
        write_instruction(writer, inst);
    }
    bir_json_put_array_end(&writer->json);
}

static void write_block(struct writer *writer, const struct bir_block *block)
{
    struct bir_json_writer *w = &writer->json;
    struct prop_cursor props = write_cursor(block->props);
    bir_json_put_object_begin(w);
    WRITE_FIELD(w, &props, "instructions");
    write_instructions(writer, block);
    if (block->name) {
        WRITE_FIELD(w, &props, "name");
        write_str(w, block->name);
    }
    write_origin(w, &props, block->origin);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

void write_blocks(struct writer *writer, const struct bir_region *region)
{
    const struct bir_block *main_block = region->first; /* written first in its container (bir-json.md section 6) */
    while (main_block && !bir_str_is(main_block->name, "main"))
        main_block = main_block->next;
    bir_json_put_array_begin(&writer->json);
    if (main_block)
        write_block(writer, main_block);
    BIR_EACH_BLOCK (block, region)
        if (block != main_block)
            write_block(writer, block);
    bir_json_put_array_end(&writer->json);
}

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

static void write_edge_list(struct instruction_state *s, enum slot slot, const char *key, enum bir_edge_list list)
{
    const struct bir_edges *edges = s->inst->edges;
    if (!edges || edges->list[list].count == 0)
        return;
    write_items_before(s, (uint8_t)slot);
    bir_json_put_key(s->w, key);
    write_edges(s->w, edges, list);
}

static void write_arguments(struct instruction_state *s, enum bir_role role)
{
    bir_json_put_array_begin(s->w);
    BIR_EACH_ARGUMENT (arg, s->inst, role)
        write_argument(s->w, arg);
    bir_json_put_array_end(s->w);
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
    bir_json_put_u64(s->w, s->inst->engine_id);
}

static void write_loopnest(struct instruction_state *s, const struct bir_instruction_rare *rare)
{
    if (!rare || (rare->loopnest.count == 0 && !(rare->texts && rare->texts->loopnest)))
        return;
    FIELD(s, SLOT_LOOPNEST, "loopnest");
    if (rare->loopnest.count == 0) {
        write_text(s->w, rare->texts->loopnest);
        return;
    }
    bir_json_put_array_begin(s->w);
    for (uint32_t i = 0; i < rare->loopnest.count; i++)
        write_str(s->w, rare->loopnest.items[i]->name);
    bir_json_put_array_end(s->w);
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
    write_edge_list(s, SLOT_DEPENDENCIES, "dependencies", BIR_EDGES_NORMAL);
    write_engine(s);
    if (inst->heads[BIR_ROLE_INDIRECTION]) {
        FIELD(s, SLOT_INDIRECTION_INS, "indirection_ins");
        write_arguments(s, BIR_ROLE_INDIRECTION);
    }
    FIELD(s, SLOT_INS, "ins");
    write_arguments(s, BIR_ROLE_IN);
    write_edge_list(s, SLOT_LOOP_CARRIED, "loop_carried_dependencies", BIR_EDGES_LOOP_CARRIED);
    write_loopnest(s, rare);
    if (inst->name) {
        FIELD(s, SLOT_NAME, "name");
        write_str(s->w, inst->name);
    }
}

static void write_registers(struct instruction_state *s, const struct bir_loop *loop)
{
    if (!loop->registers_present && loop->registers.count == 0)
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
    write_arguments(s, BIR_ROLE_OUT);
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
    write_edge_list(s, SLOT_UNROLL, "unroll_dependencies", BIR_EDGES_UNROLL);
}

static void write_instruction(struct writer *writer, const struct bir_instruction *inst)
{
    const struct write_plan *plan = write_plan_of(writer, inst);
    if (!plan)
        return;
    struct instruction_state s = { .w = &writer->json, .inst = inst, .next = plan->items };
    s.end = plan->items + plan->count;
    bir_json_put_object_begin(s.w);
    write_first_half(writer, &s);
    write_second_half(&s);
    write_items_before(&s, WRITE_HEADER_KEYS);
    bir_json_put_object_end(s.w);
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

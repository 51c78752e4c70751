/*
 * Internals of the canonical writer, shared by lib/bir/write_*.c and by the reader for texts that hold expressions.
 *
 * Keys come out in byte order, fields and properties merged. Failures are sticky in the buffer.
 */
#ifndef BIR_BIR_WRITE_H
#define BIR_BIR_WRITE_H

#include "base/json_writer.h"
#include "bir/json.h"

/* A key known at compile time, spelled with its quotes. */
#define WRITE_KEY(w, literal) bir_json_put_spelled_key((w), "\"" literal "\"", sizeof literal + 1)
/* A value known at compile time. */
#define WRITE_NAME(w, literal) bir_json_put_spelled((w), "\"" literal "\"", sizeof literal + 1)

struct write_plan;

/* The text of an object up to a value in which its like differ; len 0: not made yet. */
#define WRITE_BEGINNING_MAX 96u
struct write_beginning {
    uint8_t len;
    char text[WRITE_BEGINNING_MAX];
};

struct writer {
    struct bir_json_writer json;
    const struct bir_module *module;
    struct bir_cancel *cancel;
    struct bir_arena scratch; /* plans */
    struct bir_map plans;     /* property list -> struct write_plan of it, linked by opcode */
    uint32_t until_poll;
    struct write_beginning register_access[BIR_DTYPE_COUNT], imm_value[BIR_DTYPE_COUNT];
};

/* The properties of an object that are not written yet. */
struct prop_cursor {
    const struct bir_prop *next, *end;
};

static inline struct prop_cursor write_cursor(const struct bir_props *props)
{
    return props ? (struct prop_cursor){ props->items, props->items + props->count } : (struct prop_cursor){ 0 };
}

/* Writes those whose key sorts before `key`, and steps over one that equals it; write_rest: all that are left. */
void write_props_before_slow(struct bir_json_writer *w, struct prop_cursor *cursor, const char *key);
void write_rest_slow(struct bir_json_writer *w, struct prop_cursor *cursor);
void write_prop_value(struct bir_json_writer *w, const struct bir_prop *prop);

static inline void write_props_before(struct bir_json_writer *w, struct prop_cursor *cursor, const char *key)
{
    if (cursor->next != cursor->end)
        write_props_before_slow(w, cursor, key);
}

static inline void write_rest(struct bir_json_writer *w, struct prop_cursor *cursor)
{
    if (cursor->next != cursor->end)
        write_rest_slow(w, cursor);
}

/* The properties due, then the key itself. */
#define WRITE_FIELD(w, cursor, literal) (write_props_before((w), (cursor), literal), WRITE_KEY((w), literal))

void write_str(struct bir_json_writer *w, const struct bir_str *s);
void write_ints(struct bir_json_writer *w, const struct bir_ints *ints);
void write_pattern(struct bir_json_writer *w, const struct bir_pattern *pattern);
/* A name without characters that need escapes. */
void write_name(struct bir_json_writer *w, const char *name);

/* origin, unless it is the default. */
void write_origin(struct bir_json_writer *w, struct prop_cursor *props, uint8_t origin);

/* The expression in version 2. Nesting beyond BIR_JSON_WRITER_MAX_DEPTH makes the buffer fail with BIR_LIMIT. */
void bir_write_expr(struct bir_json_writer *w, const struct pelican_expr *expr);

void write_arguments(struct writer *writer, const struct bir_instruction *inst, enum bir_role role);
void write_storage(struct bir_json_writer *w, const struct bir_storage *storage);
void write_blocks(struct writer *writer, const struct bir_region *region);

/* write_records.c: values of the header keys of the same names */
void write_sync(struct bir_json_writer *w, const struct bir_sync *sync);
void write_edges(struct bir_json_writer *w, const struct bir_instruction *inst, enum bir_edge_list list);
void write_loop_axis(struct bir_json_writer *w, const struct bir_loop *loop);
void write_dynamic_axis(struct bir_json_writer *w, const struct bir_loop *loop);

/* write_plan.c: the properties of an instruction as items, each due before one of the header's keys. */
struct write_item {
    uint8_t slot;                /* number of header keys that sort before it */
    const struct bir_prop *prop; /* NULL: text is a complete member, or a key whose value is raw */
    const char *text;
    uint32_t text_len;
    const char *raw; /* JSON text, or NULL */
};

/* The values of a record in which those of one template differ, in the order of their keys. */
enum write_part {
    WRITE_PART_DEPENDENCIES,
    WRITE_PART_INS,
    WRITE_PART_LOOPNEST,
    WRITE_PART_NAME,
    WRITE_PART_OUTS,
    WRITE_PART_COUNT
};

struct write_span {
    uint32_t from, to;
};

struct write_template {
    struct write_template *next; /* of the same plan */
    const char *text;            /* of one record; NULL: not rendered */
    uint32_t len;
    uint32_t engine_id;
    uint8_t engine, origin;
    uint8_t parts; /* bit set of enum write_part: those that occur */
    bool tried;
    struct write_span spans[WRITE_PART_COUNT]; /* where they are in text */
};

struct write_plan {
    struct write_plan *next; /* of the same properties under another opcode */
    uint16_t opcode;
    uint32_t count;
    struct write_item *items;
    struct write_template *templates;
};

#define WRITE_HEADER_KEYS 22u
extern const char *const write_header_keys[WRITE_HEADER_KEYS]; /* in byte order */

/* NULL when memory is short (the buffer has failed then). */
struct write_plan *write_plan_of(struct writer *writer, const struct bir_instruction *inst);

/* write_instruction.c: the record as an item of the open array. spans, unless NULL, receives where in the buffer the
 * parts are. */
void write_record(struct writer *writer, const struct write_plan *plan, const struct bir_instruction *inst,
                  struct write_span *spans);
/* The value of one part. */
void write_part(struct writer *writer, const struct bir_instruction *inst, enum write_part part);

/* write_template.c: the record by template; false when it has none, with nothing written. */
bool write_from_template(struct writer *writer, struct write_plan *plan, const struct bir_instruction *inst);

#endif

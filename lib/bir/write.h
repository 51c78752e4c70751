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

struct writer {
    struct bir_json_writer json;
    const struct bir_module *module;
    struct bir_cancel *cancel;
    struct bir_arena scratch; /* plans */
    struct bir_map plans;     /* property list -> struct write_plan of it, linked by opcode */
    uint32_t until_poll;
};

/* The properties of an object that are not written yet. */
struct prop_cursor {
    const struct bir_prop *next, *end;
};

struct prop_cursor write_cursor(const struct bir_props *props);
/* Writes those whose key sorts before `key`, and steps over one that equals it; write_rest: all that are left. */
void write_props_before_slow(struct bir_json_writer *w, struct prop_cursor *cursor, const char *key);
void write_rest(struct bir_json_writer *w, struct prop_cursor *cursor);
void write_prop_value(struct bir_json_writer *w, const struct bir_prop *prop);

static inline void write_props_before(struct bir_json_writer *w, struct prop_cursor *cursor, const char *key)
{
    if (cursor->next != cursor->end)
        write_props_before_slow(w, cursor, key);
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

void write_argument(struct bir_json_writer *w, const struct bir_argument *arg);
void write_storage(struct bir_json_writer *w, const struct bir_storage *storage);
void write_blocks(struct writer *writer, const struct bir_region *region);

/* write_records.c: values of the header keys of the same names */
void write_sync(struct bir_json_writer *w, const struct bir_sync *sync);
void write_edges(struct bir_json_writer *w, const struct bir_edges *edges, enum bir_edge_list list);
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

struct write_plan {
    struct write_plan *next; /* of the same properties under another opcode */
    uint16_t opcode;
    uint32_t count;
    struct write_item *items;
};

#define WRITE_HEADER_KEYS 22u
extern const char *const write_header_keys[WRITE_HEADER_KEYS]; /* in byte order */

/* NULL when memory is short (the buffer has failed then). */
const struct write_plan *write_plan_of(struct writer *writer, const struct bir_instruction *inst);

#endif

/* Internals of the generator of random BIR-JSON, shared by random_bir*.c. */
#ifndef TESTS_RANDOM_BIR_GEN_H
#define TESTS_RANDOM_BIR_GEN_H

#include "base/random.h"
#include "random_bir.h"

#define GEN_NAMES 64

/* Names that something may refer to. */
struct gen_names {
    const char *items[GEN_NAMES];
    uint32_t count;
};

struct gen_location {
    const char *name, *set, *memory;
};

/* A text node that will name something known at the function's end. */
struct gen_reference {
    struct tree *text;
    const char *not_this; /* the instruction itself, or NULL */
};

struct gen_references {
    struct gen_reference items[4 * GEN_NAMES];
    uint32_t count;
};

struct gen {
    struct bir_arena *arena;
    struct random_bir *bir;
    struct random_bir_tables *tables;
    uint64_t random;
    uint32_t budget;      /* instructions left */
    uint32_t next_number; /* of names */
    const char *op;       /* to be used next, or NULL */
    bool tidy;            /* nothing lenient: fit for strict reading */
    bool in_queue;
    const char *function; /* being made; in queues the first one */

    struct gen_names functions, queues, dma_blocks;                         /* of the module */
    struct gen_names sets, registers, wide_registers, instructions, blocks; /* of the function */
    struct gen_location locations[GEN_NAMES];
    uint32_t n_locations;
    struct gen_names axes;  /* in scope, outermost first */
    uint32_t n_indirection; /* of the instruction */
    struct gen_references instruction_references, block_references, function_references;
};

/* random_bir_values.c */
bool gen_chance(struct gen *g, uint32_t one_in);
uint32_t gen_below(struct gen *g, uint32_t bound);
const char *gen_pick(struct gen *g, const char *const *items, uint32_t count);
#define GEN_PICK(g, items) gen_pick((g), (items), sizeof(items) / sizeof((items)[0]))
void gen_name_add(struct gen_names *names, const char *name);
const char *gen_new_name(struct gen *g, const char *prefix);
int64_t gen_int(struct gen *g, bool is_signed);
double gen_double(struct gen *g);
struct tree *gen_text(struct gen *g);
struct tree *gen_json(struct gen *g, int depth); /* any value */
struct tree *gen_expr(struct gen *g);            /* in the module's version */
struct tree *gen_expr_v2(struct gen *g, int depth);
struct tree *gen_pairs(struct gen *g, uint32_t min, uint32_t max);
struct tree *gen_ints(struct gen *g, uint32_t min, uint32_t max, bool is_signed);
struct tree *gen_enum(struct gen *g, const char *title); /* lenient: also names that no table has */
struct tree *gen_enum_member(struct gen *g, const char *title);
void gen_unknown(struct gen *g, struct tree *object);
struct tree *gen_object(struct gen *g);
struct tree *gen_array(struct gen *g);
void gen_put(struct gen *g, struct tree *object, const char *key, struct tree *value);
/* Is that the canonical text of the value (names without quotes)? */
bool gen_is_default(const struct tree *value, const char *fallback);
/* A member that is absent, has its default, or has the value. fallback is the default's canonical text (names without
 * quotes). Gives 0, 1 or 2 in that order. */
int gen_put_gated(struct gen *g, struct tree *object, const struct random_bir_key *key, struct tree *value);
void gen_put_drop(struct gen *g, struct tree *object, const char *key, const char *fallback, struct tree *value);
void gen_put_always(struct gen *g, struct tree *object, const char *key, const char *fallback, struct tree *value);
/* Present or not, no default. */
void gen_put_maybe(struct gen *g, struct tree *object, const char *key, struct tree *value);
struct tree *gen_refer(struct gen *g, struct gen_references *references, const char *not_this);

/* random_bir_ops.c */
void gen_op_keys(struct gen *g, struct tree *inst, const char *op, const char *name);

/* random_bir_args.c */
void gen_operands(struct gen *g, struct tree *inst);

#endif

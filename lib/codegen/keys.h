/* The op keys of one instruction, collected and then hash-consed. */
#ifndef BIR_CODEGEN_KEYS_H
#define BIR_CODEGEN_KEYS_H

#include "codegen/context.h"

/* Most keys of one operator (Activation, Matmult have 13 or fewer). */
enum { CODEGEN_KEYS_MAX = 20, CODEGEN_OLD_KEYS_MAX = 4 /* that an instruction has before */ };

/* A member before its name is interned: names are literals, so their addresses tell them apart. */
struct codegen_key {
    const char *name;
    uint64_t value; /* the union of struct bir_prop, all its bytes */
    uint8_t type;   /* enum bir_value_type */
};

/* The keys of an instruction done before, and what became of them. */
struct codegen_key_memo {
    const struct bir_props *before, *after; /* members of the instruction without and with the keys */
    uint32_t count;
    struct codegen_key items[CODEGEN_KEYS_MAX];
};

struct codegen_keys {
    struct codegen *cg;
    struct codegen_key items[CODEGEN_KEYS_MAX];
    uint32_t count;
    bool failed; /* an allocation failed; codegen_keys_set reports it */
};

/* Each adds one member; of several of one name the last counts. `key` is a string literal. */
void codegen_key_text(struct codegen_keys *keys, const char *key, const char *text); /* text: a literal, too */
void codegen_key_str(struct codegen_keys *keys, const char *key, const struct bir_str *text);
void codegen_key_enum(struct codegen_keys *keys, const char *key, enum bir_enum_id id, int value);
void codegen_key_bool(struct codegen_keys *keys, const char *key, bool value);
void codegen_key_int(struct codegen_keys *keys, const char *key, int64_t value);
void codegen_key_float(struct codegen_keys *keys, const char *key, double value);
void codegen_key_expr(struct codegen_keys *keys, const char *key, const struct pelican_expr *value);
/* `json` is copied: the exact text of an array or object, compact. */
void codegen_key_json(struct codegen_keys *keys, const char *key, const char *json, size_t len);

void codegen_key_u64(struct codegen_keys *keys, const char *key, uint64_t value);

/* A list of numbers, or of lists of numbers, as JSON. The items are Nat when `nat`, else Int. */
void codegen_key_ints(struct codegen_keys *keys, const char *key, const struct klr_list *list, bool nat);
void codegen_key_int_lists(struct codegen_keys *keys, const char *key, const struct klr_list *lists);
/* APPairs as [[step,num],...]. */
void codegen_key_pairs(struct codegen_keys *keys, const char *key, const struct klr_list *pairs);

/* Lists of Immediate: as floats, or as whole numbers. */
enum bir_status codegen_key_floats(struct codegen_keys *keys, const char *key,
                                   const struct klr_list *immediates) BIR_MUST_CHECK;
enum bir_status codegen_key_immediate_ints(struct codegen_keys *keys, const char *key,
                                           const struct klr_list *immediates) BIR_MUST_CHECK;

/* dma_qos from an optional priority. */
enum bir_status codegen_key_priority(struct codegen_keys *keys, const struct klr_node *op,
                                     enum klr_slot_index slot) BIR_MUST_CHECK;

/* Gives the members to the instruction, beside those that every new one has (optin_passes). */
enum bir_status codegen_keys_set(struct codegen_keys *keys, struct bir_instruction *inst) BIR_MUST_CHECK;

#endif

/*
 * Internals of the BIR-JSON reader, shared by lib/bir/read_*.c.
 *
 * One pass over the text builds the tree; what can only be decided later waits in one of three forms:
 *  - a value whose meaning depends on a key that came after it is remembered as a mark (position) and read again;
 *  - a name that may be defined later in the document is a fix-up, resolved at the end (read_resolve.c);
 *  - members without a field of their own are pending properties on a stack, made into one list at the end of their
 *    object.
 * Everything temporary lives in the scratch arena.
 *
 * Functions give BIR_OK or a status whose diagnostic has been added.
 */
#ifndef BIR_BIR_READ_H
#define BIR_BIR_READ_H

#include "base/json_reader.h"
#include "bir/json.h"
#include "bir/op_keys.h"

/* Keys that some record has a field for. Any other key is READ_OTHER. */
/* clang-format off */
#define READ_KEYS(X) \
    X(AXIS_LABEL, "AxisLabel") X(DYNAMIC_AXIS, "DynamicForLoopAxis") X(LOOP_AXIS, "LoopAxis") X(SKIND, "Skind") \
    X(ACCESS_SHAPE, "access_shape") X(ACTUAL_AP, "actual_ap") X(ADDR, "addr") X(ADDR_SPACE, "addr_space") \
    X(ADDR_TABLE, "addr_table") X(ADDRS, "addrs") X(AFF_EXPR, "aff_expr") X(ALIAS, "alias") X(ALLOCATED, "allocated") \
    X(ALLOCATIONS, "allocations") X(AP, "ap") X(ARCH, "arch") X(ARCH_REV, "archRev") X(ARG_ID, "arg_id") \
    X(ATTRIBUTES, "attributes") X(AXIS, "axis") X(BANK, "bank") X(BASE, "base") X(BLOCKS, "blocks") X(C, "c") \
    X(CHANNEL_ID, "channel_id") X(COEF, "coef") X(COEFF, "coeff") X(CONST_AP_OFFSET, "const_ap_offset") \
    X(CONST_SUB_TENSOR_ID, "const_sub_tensor_id") X(DEBUG, "debug") X(DENOM, "denom") X(DEPENDENCIES, "dependencies") \
    X(DIMS, "dims") X(DTYPE, "dtype") X(DYNAMIC_INFO, "dynamic_ap_info") X(ENGINE, "engine") X(ENGINE_ID, "engine_id") \
    X(EXPR, "expr") X(FROM, "from") X(FUNCTIONS, "functions") X(ID, "id") X(IDX, "idx") X(INDIRECT_DIM, "indirect_dim") \
    X(INDIRECT_MAX, "indirect_dim_max_index") X(INDIRECTION_INS, "indirection_ins") X(INS, "ins") \
    X(INSTRUCTIONS, "instructions") X(IS_REGLOC_OFFSET, "is_regloc_offset") X(ITERATION_ID, "iteration_id") X(KIND, "kind") \
    X(LB, "lb") X(LOOP_CARRIED, "loop_carried_dependencies") X(LOOPNEST, "loopnest") X(MEMORYLOCATIONS, "memorylocations") \
    X(MEMREF, "memref") X(MEMREF_OWNER, "memref_owner_func") X(MEMSETREF, "memsetref") X(MODULE, "module") X(N_TERMS, "n_terms") \
    X(NAME, "name") X(NKI_FUNCTIONS, "nki_functions") X(NUM_INDIRECT, "num_tensor_indirect_indices") \
    X(NUM_PHYSICAL, "num_physical_regs") X(NUMER, "numer") X(OFFSET, "offset") X(OFFSET_EXPR, "offset_expr") \
    X(ON_UPDATE, "on_update") X(ON_WAIT, "on_wait") X(OP, "op") X(OP_PARAM, "op_param") X(OPCODE, "opcode") X(ORDER, "order") \
    X(ORIGIN, "origin") X(OUTS, "outs") X(PACK_ID_HINT, "pack_id_hint") X(PARTITION_DIM, "partition_dim") \
    X(PHYSICAL_ID, "physical_id") X(PINNED, "pinned") X(POINTER_REF, "pointer_ref_memloc") X(PREDICATES, "predicates") \
    X(QUEUES, "queues") X(REG_AP_OFFSET, "reg_ap_offset") X(REG_SUB_TENSOR_ID, "reg_sub_tensor_id") \
    X(REGISTERS, "registers") X(REGREF, "regref") X(REPLICA_GROUPS_ID, "replica_groups_id") X(REVISION, "revision") \
    X(SCALE, "scale") X(SCHEDULED_END, "scheduled_end") X(SCHEDULED_START, "scheduled_start") X(STRIDE, "stride") \
    X(SYNC_INFO, "sync_info") X(TENSOR_CLASS, "tensor_class") X(TENSOR_ID, "tensor_id") X(N_BLOCKS, "tensorId2MemLocSize") \
    X(TENSOR_INDIRECT, "tensor_indirect_arg_id") X(TENSOR_SHAPE, "tensor_shape") X(TERMS, "terms") X(TYPE, "type") X(UB, "ub") \
    X(UNROLL, "unroll_dependencies") X(UPDATE_VALUE, "update_value") X(VALUE, "value") X(VALUE_ARRAY, "value_array") \
    X(VALUE_LIST, "value_list") X(VAR, "var") X(VERSION, "version") X(WAIT_VALUE, "wait_value")
/* clang-format on */

enum read_key {
#define READ_KEY_ENUM(NAME, text) READ_##NAME,
    READ_KEYS(READ_KEY_ENUM)
#undef READ_KEY_ENUM
        READ_OTHER
};

#define READ_KEY_SLOTS 512u
_Static_assert(READ_OTHER <= 128, "a key set has a bit for each key, a slot a byte");

/* Which known keys an object has had. */
struct key_set {
    uint64_t words[2];
};

/* What came behind a key the last time, which is what mostly comes behind it. Known keys have their own numbers, others
 * share the rest. */
#define READ_KEY_NUMBERS 256
struct key_guess {
    struct bir_json_spelled spelled;
    uint8_t key, number;
};

static inline bool key_set_has(const struct key_set *set, enum read_key key)
{
    return set->words[key >> 6] >> (key & 63) & 1;
}

/* A place before a value, to read it (again) later. */
struct read_mark {
    size_t pos;
    uint32_t depth;
};

/* A member that has no field (yet). */
struct read_pending {
    struct bir_prop prop; /* objects and arrays: BIR_VALUE_JSON */
    uint32_t key_offset;
    struct read_mark mark; /* of the value */
};

/* One element of an expression's terms, or a whole expression. */
enum node_form { NODE_EXPR, NODE_TERM /* {idx, coeff} */, NODE_V1_TERM /* {AxisLabel, coef} */ };

struct read_node {
    enum node_form form;
    const struct pelican_expr *expr; /* of a term: its index */
    int64_t coef;
    uint32_t offset;
};

/* An axis in scope: the enclosing loops, innermost first. */
struct axis_frame {
    struct pelican_axis *axis;
    const struct axis_frame *outer;
};

/* A dependency as it is read. */
struct read_edge {
    const struct bir_str *name, *extra; /* extra may be NULL */
    uint32_t name_offset;
    uint8_t kind;
    bool bare;
};

/* A dependency whose target was not yet read. */
struct edge_fixup {
    struct bir_instruction *inst;
    const struct bir_str *name;
    uint32_t index; /* among all edges of inst */
    uint32_t offset;
};

/* An operand on a location of another function. */
struct owner_fixup {
    struct bir_physical_ap *ap;
    const struct bir_str *function, *location, *set; /* set may be NULL */
    uint32_t function_offset, location_offset, set_offset;
};

/* A name that something must have, checked only. */
enum name_check_kind { CHECK_QUEUE, CHECK_BLOCK, CHECK_FUNCTION, CHECK_INSTRUCTION, CHECK_DMA_BLOCK, CHECK_VALUE };

struct name_check {
    enum name_check_kind kind;
    const struct bir_str *name;
    struct bir_function *function;
    uint32_t offset;
};

/* Something of a location that refers to other locations of the function. */
struct location_fixup {
    struct bir_location *location;
    bool is_alias; /* else pointer_ref_memloc */
    struct read_mark mark;
};

/* Property lists that passed the table of op keys: raw list and opcode in, final list out. Valid within one function.
 */
#define CHECKED_PROPS_SLOTS 256u
struct checked_props {
    const struct bir_props *raw, *final;
    uint16_t opcode;
};

/* Storages of all functions by name. */
struct storage_names {
    struct bir_map sets, locations, registers;
    bool filled;
};

struct read_context {
    struct bir_json_reader json;
    struct bir_module *module;
    const struct bir_read_options *options;
    struct bir_diags *diags;
    struct bir_arena *scratch;
    struct bir_buf text; /* for texts that are composed (expressions inside lists) */
    bool strict;
    bool unknown_operands; /* only when not strict */
    bool in_queue;

    struct bir_function *function; /* being read; NULL in a queue */
    const struct axis_frame *axes;
    BIR_VEC(struct pelican_axis *) nest; /* the same axes, outermost first */
    struct bir_instruction_rare *rare; /* of the instruction being read, but for its loop */

    BIR_VEC(struct read_pending) pending; /* stacks: each object uses the part above its base */
    BIR_VEC(struct read_node) nodes;
    BIR_VEC(int64_t) ints;
    BIR_VEC(struct pelican_axis *) loopnest;

    BIR_VEC(struct read_edge) read_edges; /* of the list being read */
    BIR_VEC(struct edge_fixup) edges;
    BIR_VEC(struct owner_fixup) owners;
    BIR_VEC(struct name_check) checks;
    BIR_VEC(struct location_fixup) locations; /* of the function being read */
    struct bir_map checked_queues;            /* names that have a CHECK_QUEUE */
    struct storage_names storages;            /* for queues */
    struct bir_map set_locations;             /* set -> struct bir_map of its locations */
    struct bir_map block_arguments;           /* their names, of all functions */
    struct bir_map *block_names;              /* strict: instructions of the block being read */
    struct bir_map function_names[2];         /* strict: of functions, of nki_functions */
    struct checked_props checked[CHECKED_PROPS_SLOTS];
    struct bir_map queue_instructions; /* instructions inside queues, by name */

    uint64_t max_arg_id; /* greatest IndirectArgId of the instruction being read, and where */
    uint32_t max_arg_id_offset;
    int64_t first_v1, first_v2; /* offsets of the first expression of each spelling, BIR_NO_OFFSET: none */
    size_t reread_bytes;
    uint64_t until_poll; /* instructions until the cancel token is polled */

    struct {
        const char *text;
        uint64_t word; /* its first eight bytes, zero beyond its end */
        uint8_t len;
        uint8_t key;
    } keys[READ_KEY_SLOTS];
    struct key_guess guesses[READ_KEY_NUMBERS]; /* by the number of the key before */
    uint8_t last_key;                           /* number of the key read last */
};

static inline bool read_slice_is(struct bir_slice slice, const char *text)
{
    return slice.len == strlen(text) && memcmp(slice.text, text, slice.len) == 0;
}

/* --- read_common.c: keys, values, failures --- */

void read_keys_init(struct read_context *ctx);
enum read_key read_key_of(const struct read_context *ctx, struct bir_slice key);

/* The next key of the object that is open; false at its end or on failure (look at ctx->json.status). A known key that
 * comes twice is a failure. */
bool read_next_key(struct read_context *ctx, struct key_set *seen, struct bir_slice *text, enum read_key *key);

/* An error at a byte offset; gives BIR_INVALID. vendor and hint may be NULL. */
enum bir_status read_fail(struct read_context *ctx, const char *code, const char *vendor, size_t offset,
                          const char *hint, const char *fmt, ...) BIR_PRINTF(6, 7);
/* After a failed allocation from the module's arena or scratch. */
enum bir_status read_fail_memory(struct read_context *ctx);
enum bir_status read_fail_missing(struct read_context *ctx, size_t offset, const char *record, const char *key);
enum bir_status read_fail_name(struct read_context *ctx, const char *vendor, size_t offset, const char *what,
                               const struct bir_str *name);
enum bir_status read_fail_enum(struct read_context *ctx, size_t offset, enum bir_enum_id id, const char *text,
                               size_t len);
/* Error when one of the keys of a zero-terminated list has not been seen. */
enum bir_status read_require(struct read_context *ctx, const struct key_set *seen, size_t offset, const char *record,
                             enum read_key key);

uint32_t read_offset(struct read_context *ctx); /* of the next value */
struct read_mark read_mark_here(struct read_context *ctx);
/* Continues at a mark; the place it left is given back, to be passed to read_resume. */
struct read_mark read_seek(struct read_context *ctx, struct read_mark mark);
void read_resume(struct read_context *ctx, struct read_mark place);
/* Of values inside each other each may be read again: counts what has been read since offset `from`, and refuses when
 * that would be done too often. `what` is the subject of the message. */
enum bir_status read_count_again(struct read_context *ctx, size_t from, const char *hint, const char *what);

enum bir_status read_text(struct read_context *ctx, const struct bir_str **out);
enum bir_status read_raw(struct read_context *ctx, const struct bir_str **out); /* source text of any value */
/* The next value as raw text, which must be an object (array). */
enum bir_status read_raw_object(struct read_context *ctx, const struct bir_str **out);
enum bir_status read_raw_array(struct read_context *ctx, const struct bir_str **out);
enum bir_status read_ints(struct read_context *ctx, const struct bir_ints **out);
bool read_is_empty(const struct bir_str *raw); /* the text of an object or array without members */
/* An enum name. Unknown: an error in strict mode, else *value = -1 and *text what it says. */
enum bir_status read_enum(struct read_context *ctx, enum bir_enum_id id, int *value, const struct bir_str **text);
/* A small unsigned field from an enum: BIR_ENUM_UNKNOWN when unknown, and then a pending property `key`. */
enum bir_status read_enum_field(struct read_context *ctx, enum bir_enum_id id, struct bir_slice key, uint8_t *field);
/* origin: an unknown name is an error in both modes, because it has no place to go. */
enum bir_status read_origin(struct read_context *ctx, uint8_t *origin);
enum bir_status read_value(struct read_context *ctx, struct bir_prop *prop);

/* --- pending properties --- */

/* A member without field. In strict mode an error that names the record, unless record is NULL. */
enum bir_status read_other(struct read_context *ctx, struct bir_slice key, const char *record);
/* The same for a record that has known keys without a field: those are admitted in strict mode (list ends with NULL).
 */
enum bir_status read_listed(struct read_context *ctx, struct bir_slice key, const char *record,
                            const char *const *list);
enum bir_status read_push_pending(struct read_context *ctx, struct bir_slice key, const struct bir_prop *prop);
/* The pending properties above base as one list (NULL when none), taken off the stack. */
enum bir_status read_take_props(struct read_context *ctx, uint32_t base, const struct bir_props **out);
/* A whole object's members as properties; empty object: an empty list. */
enum bir_status read_object_props(struct read_context *ctx, const struct bir_props **out);

/* --- read_expr.c --- */

enum expr_rule { EXPR_BY_VERSION, EXPR_V2_ONLY /* dynamic_ap_info */ };
enum bir_status read_expr(struct read_context *ctx, enum expr_rule rule, const struct pelican_expr **out);
/* An array whose object elements are expressions, as canonical text; other elements verbatim. */
enum bir_status read_expr_list_text(struct read_context *ctx, const struct bir_str **out);
/* An array of predicates {expr, ge} as canonical text; foreign shapes verbatim. */
enum bir_status read_predicates_text(struct read_context *ctx, const struct bir_str **out);
/* Appends the expression's canonical text to ctx->text. */
enum bir_status read_put_expr(struct read_context *ctx, const struct pelican_expr *expr);
struct pelican_axis *read_find_axis(const struct read_context *ctx, const struct bir_str *name);

/* --- read_names.c --- */

/* By name in the function, in a queue in any function; NULL when absent. */
enum bir_status read_find_storage(struct read_context *ctx, enum bir_storage_tag tag, const struct bir_str *name,
                                  struct bir_storage **out);
/* The same; an error at the offset when absent. */
enum bir_status read_find_register(struct read_context *ctx, const struct bir_str *name, size_t offset,
                                   struct bir_register **out);
/* The location of that name in the set; *out is NULL when there is none. */
enum bir_status read_search_set(struct read_context *ctx, const struct bir_set *set, const struct bir_str *name,
                                struct bir_location **out);
/* The same; an error at the offset when there is none. */
enum bir_status read_find_in_set(struct read_context *ctx, const struct bir_set *set, const struct bir_str *name,
                                 size_t offset, struct bir_location **out);
/* The name must exist once the document has been read. */
enum bir_status read_check_name(struct read_context *ctx, enum name_check_kind kind, const struct bir_str *name,
                                uint32_t offset);
/* In strict mode an error when the container has had the name. `what` is the plural. */
enum bir_status read_enter_once(struct read_context *ctx, struct bir_map *names, const struct bir_str *name,
                                uint32_t offset, const char *what);

/* --- read_storage.c --- */
enum bir_status read_allocations(struct read_context *ctx);

/* --- read_argument.c --- */
enum bir_status read_pattern(struct read_context *ctx, const struct bir_pattern **out);
/* An array of operands of one list. */
enum bir_status read_arguments(struct read_context *ctx, struct bir_instruction *inst, enum bir_role role);

/* --- read_dynamic.c --- */
enum bir_status read_dynamic_info(struct read_context *ctx, struct bir_dynamic_info **out);

/* --- read_instruction.c --- */
enum bir_status read_blocks(struct read_context *ctx, struct bir_region *region);

/* --- read_records.c: edges, sync_info, loop axes --- */
enum bir_status read_edges(struct read_context *ctx, struct bir_instruction *inst, enum bir_edge_list list);
enum bir_status read_sync(struct read_context *ctx);
enum bir_status read_loop_axis(struct read_context *ctx, struct bir_instruction *inst);
enum bir_status read_dynamic_axis(struct read_context *ctx, struct bir_instruction *inst);
/* bounds (BIR_LOOP_BOUNDS of them) become those of the loop. */
enum bir_status read_keep_bounds(struct read_context *ctx, struct bir_loop *loop,
                                 const struct pelican_expr *const *bounds);
enum bir_status read_loopnest(struct read_context *ctx);
enum bir_status read_loop_registers(struct read_context *ctx, struct bir_loop *loop);

/* Of a block, kept as a property; its names are resolved. */
enum bir_status read_block_arguments(struct read_context *ctx, struct read_mark list);
/* order or predicates. */
enum bir_status read_header_text(struct read_context *ctx, enum read_key key);
/* An opcode or engine that no table knows (lenient). */
enum bir_status read_keep_spelling(struct read_context *ctx, enum read_key key, struct bir_slice text);

/* --- read_op_keys.c --- */
/* Makes the pending properties above base those of inst, checked and typed by the table of op keys. */
enum bir_status read_finish_op_keys(struct read_context *ctx, struct bir_instruction *inst, uint32_t base);

/* --- read_op_lists.c --- */
/* A list as canonical text, its elements checked. */
enum bir_status read_typed_list(struct read_context *ctx, enum bir_op_key_elements elements,
                                const struct bir_str **out);

/* --- read_resolve.c --- */
enum bir_status read_resolve_locations(struct read_context *ctx, struct bir_function *function);
enum bir_status read_resolve_module(struct read_context *ctx);

#endif

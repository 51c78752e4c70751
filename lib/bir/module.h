/*
 * The BIR module in memory: functions, storages, blocks, instructions, operands.
 *
 * One arena owns everything (no per-object free). Cross references are names on the wire and pointers here. Objects are compact,
 * because dumps hold millions: what most objects do not have sits behind one pointer (`rare`), and what many objects have alike is
 * hash-consed and shared (strings, patterns, property lists, expressions, most `rare` records). Links that only functions of this
 * header follow are references of four bytes (bir_ref, base/arena.h).
 *
 * Units: *_elems are elements of the operand's dtype, *_bytes are bytes, partitions count SBUF/PSUM rows. See bir-json.md section 8.4.
 *
 * Invariants (bir_module_check_uses proves 3 in debug builds and tests):
 *  1. Every instruction is in exactly one block's list, every operand in exactly one role list of its instruction. The role lists
 *     are stretches of one ring of operands: indirections, ins, outs.
 *  2. Immediates are in ins, whatever array they were written in.
 *  3. An operand with a location is on that storage's writer list when it is an output, else on its reader list, once; an
 *     operand without location is on none. Rebinding deregisters first.
 *  4. location is a LOCATION for physical_ap, a SET for symbolic_ap and register_ap, a REGISTER for register_access; register_ap's
 *     further registers and the registers inside expressions are found by walking (bir_argument_each_register), not by use lists.
 */
#ifndef BIR_BIR_MODULE_H
#define BIR_BIR_MODULE_H

#include "base/diag.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "bir/enums.h"
#include "bir/ops.h"
#include "pelican/expr.h"

#define BIR_NO_SOURCE UINT32_MAX /* source offset of an object that no input text holds */

/* --- properties --- */

/* A JSON object's members that have no field of their own: op keys and unknown keys. Sorted by key bytes, immutable and hash-consed
 * per module, so thousands of instructions with equal keys share one list. */
enum bir_value_type {
    BIR_VALUE_BOOL,
    BIR_VALUE_INT,   /* i */
    BIR_VALUE_FLOAT, /* f */
    BIR_VALUE_TEXT,  /* s: a JSON string, unescaped; enum names are kept as text here */
    BIR_VALUE_EXPR,  /* e: MaybeAffine that holds an expression */
    BIR_VALUE_JSON,  /* s: any other value, as its exact source text (arrays, objects, null, integers beyond int64) */
};

struct bir_prop {
    const struct bir_str *key;
    enum bir_value_type type;
    union {
        bool b;
        int64_t i;
        double f;
        const struct bir_str *s;
        const struct pelican_expr *e;
    } u;
};

struct bir_props {
    uint32_t count;
    uint32_t hash;
    struct bir_prop items[];
};

/* --- patterns --- */

struct bir_pair {
    int64_t step_elems; /* signed */
    int64_t num;
};

/* Access pattern, outermost (partition) pair first; immutable and hash-consed. Rank 1..5 from JSON (choice of bir-json.md 8.4); codegen may
 * go to BIR_PATTERN_MAX_RANK. */
#define BIR_PATTERN_MAX_RANK 16
struct bir_pattern {
    uint32_t rank;
    uint32_t hash;
    struct bir_pair pairs[];
};

/* Axes, outermost first, hash-consed. */
struct bir_axes {
    uint32_t count;
    uint32_t hash;
    struct pelican_axis *items[];
};

/* A list of integers (access_shape, dims, tensor_shape), hash-consed too. */
struct bir_ints {
    uint32_t count;
    uint32_t hash;
    int64_t items[];
};

/* --- storages --- */

/* Values are the vendor's class tags (lowering.md 1.9). */
enum bir_storage_tag { BIR_STORAGE_SET = 1, BIR_STORAGE_REGISTER = 2, BIR_STORAGE_LOCATION = 4 };

struct bir_argument;
struct bir_function;
struct bir_block;

struct bir_storage {
    const struct bir_str *name; /* first: it is the key of the function's maps */
    uint8_t tag; /* enum bir_storage_tag */
    uint8_t origin;
    uint8_t dtype; /* sets and registers; BIR_ENUM_UNKNOWN with text in props when lenient */
    uint8_t flags; /* BIR_STORAGEF_* */
    uint32_t source_offset;
    struct bir_function *function;
    struct bir_argument *readers, *writers; /* heads of use lists, newest first */
    const struct bir_props *props;          /* keys without a field, or NULL */
};

/* Keys that the input left out and that have their default: not written back. */
enum {
    BIR_STORAGEF_DTYPE_ABSENT = 1 << 0,
    BIR_STORAGEF_ADDR_SPACE_ABSENT = 1 << 1,
    BIR_STORAGEF_PARTITION_DIM_ABSENT = 1 << 2,
    BIR_STORAGEF_N_BLOCKS_ABSENT = 1 << 3,
};

struct bir_location;

struct bir_set {
    struct bir_storage base;
    uint8_t kind;       /* enum bir_tensor_kind or BIR_ENUM_UNKNOWN */
    uint8_t addr_space; /* 0 Local, 1 Shared, 2 Debug */
    int32_t partition_dim;
    const struct bir_str *tensor_class;  /* text, or NULL when absent */
    const struct bir_ints *tensor_shape; /* elements, or NULL */
    BIR_VEC(struct bir_location *) locations;
    int64_t n_blocks; /* tensorId2MemLocSize; locations.count when absent */
    /* Address table of insert_address_tables (lowering.md, correction 10), or NULL. table_entries is non-NULL on the table itself: one engine
     * byte address a block, wire key addr_table. */
    struct bir_set *addr_table;
    const struct bir_ints *table_entries;
};

struct bir_location {
    struct bir_storage base;
    uint8_t type; /* one bit of enum bir_memory_type packed as its value; 0 unknown (text in props) */
    bool allocated;
    bool pinned;
    uint8_t present; /* BIR_LOCF_*: which optional keys the input had */
    uint32_t base_partition;
    int32_t bank;      /* PSUM, signed on the wire; its absolute value counts */
    int32_t tensor_id; /* block number in the set, -1 unset */
    uint64_t addr_bytes;
    struct bir_set *set;
    const struct bir_ints *dims; /* SB/PSUM: partitions, bytes per partition. DRAM: the product is bytes */
    struct bir_location *pointer_target; /* pointer_ref_memloc, legal when the set's kind is Pointer */
};

enum { BIR_LOCF_ALLOCATED = 1 << 0, BIR_LOCF_PINNED = 1 << 1, BIR_LOCF_BANK = 1 << 2, BIR_LOCF_BASE = 1 << 3 };

struct bir_register {
    struct bir_storage base;
    uint8_t engine;           /* enum bir_engine */
    uint8_t num_physical;     /* 1 = 32 bits, 2 = 64 bits */
    int16_t physical_id;      /* base id after colouring, -1 before */
    uint32_t scratch;         /* for the pass that runs; meaningless between passes */
};

/* --- operands --- */

/* Values are the vendor's ordinals (lowering.md 1.1). 12, RegisterSet, is declared there and refused; 0, 4, 5, 9, 10 are gaps. */
enum bir_argument_kind {
    BIR_ARG_PHYSICAL_AP = 1,
    BIR_ARG_SYMBOLIC_AP = 2,
    BIR_ARG_REGISTER_AP = 3,
    BIR_ARG_IMM_VALUE = 6,
    BIR_ARG_SYMBOLIC_IMM_VALUE = 7,
    BIR_ARG_IMM_ARRAY = 8,
    BIR_ARG_REGISTER_ACCESS = 11,
    BIR_ARG_REGISTER_SET = 12, /* never built: "RegisterSet cannot be constructed" */
};

enum bir_role { BIR_ROLE_IN, BIR_ROLE_INDIRECTION, BIR_ROLE_OUT, BIR_ROLE_COUNT };

enum {
    BIR_ARGF_OUTPUT = 1 << 0,          /* registered (or to be registered) as a writer */
    BIR_ARGF_ACTIVE = 1 << 1,          /* is on a use list of its location */
    BIR_ARGF_WHOLE_LOCATION = 1 << 2,  /* a simple access under the literal-reference option: footprint = whole location */
    BIR_ARGF_NO_MEMSETREF = 1 << 3,    /* the input had no memsetref on this physical_ap */
    BIR_ARGF_PWAP = 1 << 4,            /* spelled symbolic_pwap */
    BIR_ARGF_NO_REGREF = 1 << 5,       /* register_ap without regref (seen in dumps; lenient) */
    BIR_ARGF_UNRESOLVED = 1 << 6,      /* lenient reading left location NULL; the names are in rare->props */
};

/* What few operands have, or many alike. To change one, take it from bir_argument_need_rare. */
struct bir_argument_rare {
    const struct bir_ints *access_shape;
    struct bir_dynamic_info *dynamic;       /* physical_ap only */
    const struct bir_props *props;          /* keys without a field */
    int32_t num_tensor_indirect_indices;    /* symbolic_ap only, 0 = absent */
    bool shared;                            /* hash-consed: other operands may have it too */
};

struct bir_argument {
    uint8_t kind; /* enum bir_argument_kind */
    uint8_t role; /* enum bir_role: the list it is on */
    uint8_t dtype;
    uint8_t flags; /* BIR_ARGF_* */
    uint32_t source_offset;
    bir_ref next, prev;         /* ring of all operands of parent, see bir_argument_next */
    bir_ref next_use, prev_use; /* use list of location, see bir_argument_next_use; prev_use 0 at the head */
    bir_ref parent;             /* the instruction, see bir_argument_parent */
    bir_ref rare;               /* see bir_argument_rare_of */
    struct bir_storage *location; /* NULL for immediates */
};

struct bir_physical_ap {
    struct bir_argument base;
    const struct bir_pattern *pattern;
    int64_t offset_elems;
};

/* One term of a runtime offset: coef * expr elements. */
struct bir_dynamic_term {
    const struct pelican_expr *expr;
    int64_t coef;
    const struct bir_props *props; /* keys without a field, or NULL */
};

struct bir_dynamic_info {
    const struct bir_pattern *actual;
    const struct bir_dynamic_term *terms;
    uint32_t n_terms;
    uint8_t indirect_dim;           /* 0 W .. 3 X */
    int64_t c_elems;                /* static residue */
    int64_t indirect_dim_max_index; /* rows; 0 = absent */
    const struct bir_props *props;
};

struct bir_symbolic_ap {
    struct bir_argument base;
    const struct bir_pattern *pattern;
    uint32_t n_addrs;
    int32_t tensor_indirect_arg_id;     /* -1 */
    const struct pelican_expr *addrs[]; /* [tile, block] (bir-json.md, decision b); one entry means block 0 */
};

struct bir_register_ap {
    struct bir_argument base;
    const struct bir_pattern *pattern;
    struct bir_register *address;    /* regref */
    struct bir_register *offset;     /* reg_ap_offset, or NULL */
    struct bir_register *sub_tensor; /* reg_sub_tensor_id, or NULL */
    int64_t const_offset_elems;      /* const_ap_offset, 0 */
    int32_t const_sub_tensor_id;     /* -1 */
    bool address_is_offset;          /* is_regloc_offset */
};

struct bir_imm_value {
    struct bir_argument base;
    /* Integers sign- or zero-extended by dtype; float16 and bfloat16: the raw 16 bits; float32: the raw 32 bits of the value. */
    uint64_t bits;
};

struct bir_symbolic_imm_value {
    struct bir_argument base;
    const struct pelican_expr *expr;
    const struct bir_str *value_list; /* canonical JSON text of value_list, or NULL */
};

struct bir_imm_array {
    struct bir_argument base;
    const uint64_t *bits; /* as in imm_value, one a value */
    uint32_t count;
};

struct bir_register_access {
    struct bir_argument base; /* location is the register */
};

/* --- instructions --- */

enum bir_edge_list { BIR_EDGES_NORMAL, BIR_EDGES_LOOP_CARRIED, BIR_EDGES_UNROLL, BIR_EDGES_COUNT };

struct bir_edge {
    struct bir_instruction *target; /* the earlier instruction; its name is what is written */
    uint8_t list;                   /* enum bir_edge_list */
    uint8_t kind;                   /* enum bir_edge_kind */
    bool bare;                      /* written as a bare name (Flow) */
    bir_ref extra;                  /* further array elements, see bir_edge_extra */
};

/* The edges of all lists of one instruction, each list in its order. */
struct bir_edges {
    uint32_t count, capacity;
    struct bir_edge items[];
};

#define BIR_SYNC_NO_VALUE INT64_MIN /* value of a wait or update without wait_value, update_value */

struct bir_wait {
    const struct bir_str *from; /* name of the producer, or NULL */
    int64_t semaphore;          /* id 0..255 */
    int64_t value;
    const struct bir_props *props;
};

struct bir_update {
    int64_t semaphore;
    int64_t value;
    const struct bir_props *props;
};

struct bir_sync {
    BIR_VEC(struct bir_wait) waits;
    BIR_VEC(struct bir_update) updates;
    bool waits_present, updates_present;
    const struct bir_props *props;
};

/* Nested code: the blocks of Loop, DynamicForLoop, DoWhile, DMABlock. */
struct bir_region {
    struct bir_instruction *owner; /* or NULL for a function's or queue's */
    struct bir_function *function; /* or NULL in a queue */
    struct bir_block *first, *last;
    uint32_t depth; /* 0 for a function's own blocks */
};

#define BIR_LOOP_BOUNDS 3 /* lb, ub, stride */

/* Region ops: the nested blocks, and for Loop the axis and the wire key registers. */
struct bir_loop {
    struct bir_region region;
    struct pelican_axis *axis; /* Loop only, else NULL */
    const struct bir_props *axis_props; /* members of LoopAxis (DynamicForLoopAxis) without a field, or NULL */
    /* DynamicForLoop only: its axis (bounds unknown: lb = ub = 0) and lb, ub, stride as expressions (bir-json.md 9.4). Others have
     * BIR_LOOP_BOUNDS NULLs there, not a NULL. */
    struct pelican_axis *dynamic_axis;
    const struct pelican_expr *const *dynamic_bounds;
    BIR_VEC(struct bir_register *) registers;
};

/* Members kept as JSON text, and lenient spellings that no table knows; each NULL when absent. */
struct bir_instruction_texts {
    const struct bir_str *loopnest, *predicates, *order; /* JSON */
    const struct bir_str *opcode, *engine;               /* unescaped */
};

/* What few instructions have, or many alike. (optin_passes travels in props.) To change one, take it from
 * bir_instruction_need_rare. */
struct bir_instruction_rare {
    struct bir_loop *loop;         /* ops with BIR_OPF_REGION */
    struct bir_sync *sync;         /* NULL: no sync_info key */
    const struct bir_props *debug; /* members of the debug object (op_name, filename, lineno, ...), or NULL */
    struct bir_instruction_texts *texts;
    const struct bir_axes *loopnest; /* or NULL */
    int64_t scheduled_start, scheduled_end;
    uint32_t engine_id;
    bool shared; /* hash-consed: other instructions may have it too, so it has no loop, sync or texts */
};

struct bir_instruction {
    const struct bir_str *name; /* NULL only for a draft Loop without one. First: it is the key of the function's map */
    struct bir_instruction *next; /* in the block; NULL at the end */
    struct bir_block *block;
    const struct bir_props *props;           /* op keys and unknown keys, or NULL */
    const struct bir_instruction_rare *rare; /* or NULL */
    uint16_t opcode; /* enum bir_opcode */
    uint8_t engine;  /* enum bir_engine or BIR_ENUM_UNKNOWN */
    uint8_t origin;
    uint32_t source_offset;
    uint32_t index;   /* program order, set by bir_function_number; else meaningless */
    bir_ref prev;     /* see bir_instruction_prev */
    bir_ref operands; /* the first of the ring, see bir_instruction_first */
    bir_ref edges;    /* see bir_instruction_edges */
};

struct bir_block {
    const struct bir_str *name;
    struct bir_block *next, *prev;
    struct bir_region *region;
    struct bir_instruction *first, *last;
    uint32_t count; /* instructions directly inside */
    uint32_t source_offset;
    uint8_t origin;
    const struct bir_props *props;
};

struct bir_function {
    const struct bir_str *name;
    struct bir_function *next;
    struct bir_module *module;
    uint32_t source_offset;
    uint8_t origin;
    bool is_nki; /* of nki_functions */
    struct bir_region body;
    BIR_VEC(struct bir_storage *) storages; /* sets and registers, in allocations order; locations hang on their sets */
    struct bir_map sets, locations, registers; /* by interned name; the first of duplicates */
    struct bir_map instructions; /* by name, first of duplicates; filled by the reader and by insertion */
    const struct bir_str *attributes; /* JSON text, NULL = absent */
    const struct bir_props *props;
    uint32_t next_register_number; /* <reg-id> of lowering.md 8.3: incremented at every mint */
};

struct bir_queue {
    const struct bir_str *name;
    struct bir_queue *next;
    struct bir_region body;
    bool blocks_present;
    uint32_t source_offset;
    const struct bir_props *props;
};

struct bir_module {
    struct bir_arena arena;
    struct bir_strtab strings;
    struct pelican_context expressions;
    struct bir_cons *cons; /* tables of hash-consed patterns, integer lists and property lists */
    enum bir_arch arch;    /* BIR_ARCH_NONE only for an unknown text in lenient mode */
    const struct bir_str *arch_text; /* unknown text, or NULL */
    uint8_t revision;      /* 0 v1, 1 v2 */
    bool from_klr;
    struct bir_function *functions, *functions_last;
    struct bir_function *nki_functions, *nki_functions_last;
    bool nki_functions_present;
    struct bir_queue *queues, *queues_last;
    const struct bir_str *attributes; /* JSON text of the attributes object, NULL = absent */
    const struct bir_props *props;    /* artifact_path, artifact_info, call_to_physical_memlocs, unknown keys */
    const struct bir_props *new_props; /* of a new instruction (bir_instruction_new), or NULL until the first */
    uint64_t n_instructions;          /* read or created, nested ones included */
};

/* --- functions --- */

/* An empty module whose arena may reserve arena_limit_bytes (0 = no bound). NULL when out of memory. */
struct bir_module *bir_module_new(size_t arena_limit_bytes) BIR_MUST_CHECK;
void bir_module_free(struct bir_module *module); /* accepts NULL */

/* Hash-consing. NULL on allocation failure (bir_arena_failure). props are sorted by key here; `items` may be reordered. */
const struct bir_pattern *bir_pattern_get(struct bir_module *module, const struct bir_pair *pairs, uint32_t rank) BIR_MUST_CHECK;
const struct bir_axes *bir_axes_get(struct bir_module *module, struct pelican_axis *const *items, uint32_t count) BIR_MUST_CHECK;
const struct bir_ints *bir_ints_get(struct bir_module *module, const int64_t *items, uint32_t count) BIR_MUST_CHECK;
const struct bir_props *bir_props_get(struct bir_module *module, struct bir_prop *items, uint32_t count) BIR_MUST_CHECK;
/* The member, or NULL. props may be NULL. */
const struct bir_prop *bir_props_find(const struct bir_props *props, const char *key);
/* props with one member set (replaced or added) or removed (value NULL). */
const struct bir_props *bir_props_with(struct bir_module *module, const struct bir_props *props, const char *key,
                                       const struct bir_prop *value) BIR_MUST_CHECK;

/* New objects, appended to their container. All give NULL on allocation failure. */
struct bir_function *bir_function_new(struct bir_module *module, const struct bir_str *name, bool is_nki) BIR_MUST_CHECK;
struct bir_block *bir_block_new(struct bir_module *module, struct bir_region *region, const struct bir_str *name) BIR_MUST_CHECK;
struct bir_set *bir_set_new(struct bir_function *function, const struct bir_str *name) BIR_MUST_CHECK;
struct bir_location *bir_location_new(struct bir_set *set, const struct bir_str *name) BIR_MUST_CHECK;
/* Mint or reuse by name, then set engine and count (lowering.md 1.8). num_physical is 1 or 2. dtype int32 or int64. */
struct bir_register *bir_function_add_register(struct bir_function *function, const struct bir_str *name,
                                               enum bir_engine engine, unsigned num_physical) BIR_MUST_CHECK;
/* The same for a name that no register of the function has, as the caller knows: it is not looked for. */
struct bir_register *bir_function_new_register(struct bir_function *function, const struct bir_str *name,
                                               enum bir_engine engine, unsigned num_physical) BIR_MUST_CHECK;
/* The same without a look-up: a further register even when the name is taken. One physical register, not coloured. */
struct bir_register *bir_register_new(struct bir_function *function, const struct bir_str *name) BIR_MUST_CHECK;
struct bir_queue *bir_queue_new(struct bir_module *module, const struct bir_str *name) BIR_MUST_CHECK;
struct bir_set *bir_function_find_set(const struct bir_function *function, const struct bir_str *name);
struct bir_location *bir_function_find_location(const struct bir_function *function, const struct bir_str *name);
struct bir_register *bir_function_find_register(const struct bir_function *function, const struct bir_str *name);

/* Not yet in a block. props starts as { optin_passes: [] }, which new modules write; add op keys with bir_props_with. */
struct bir_instruction *bir_instruction_new(struct bir_module *module, enum bir_opcode opcode, enum bir_engine engine,
                                            const struct bir_str *name) BIR_MUST_CHECK;
void bir_block_append(struct bir_block *block, struct bir_instruction *inst);
/* Before `position`, which is in a block. */
void bir_instruction_insert_before(struct bir_instruction *position, struct bir_instruction *inst);
/* The same for a name that no instruction of the function has, as the caller knows: it is not looked for. */
void bir_instruction_insert_new_before(struct bir_instruction *position, struct bir_instruction *inst);
void bir_instruction_insert_after(struct bir_instruction *position, struct bir_instruction *inst);
/* Takes it out of its block (it stays valid; operands stay registered unless bir_instruction_drop_uses is called). */
void bir_instruction_unlink(struct bir_instruction *inst);
void bir_instruction_drop_uses(struct bir_instruction *inst);
/* The instruction's own record, to be changed at once; made or copied when missing or shared. */
struct bir_instruction_rare *bir_instruction_need_rare(struct bir_module *module, struct bir_instruction *inst) BIR_MUST_CHECK;
/* The loop record of a region op, made when missing. */
struct bir_loop *bir_instruction_need_loop(struct bir_module *module, struct bir_instruction *inst) BIR_MUST_CHECK;
/* Number of the engine among its kind; 0 takes no memory. False on allocation failure. */
bool bir_instruction_set_engine_id(struct bir_module *module, struct bir_instruction *inst, uint32_t engine_id) BIR_MUST_CHECK;
static inline uint32_t bir_instruction_engine_id(const struct bir_instruction *inst)
{
    return inst->rare ? inst->rare->engine_id : 0;
}
/* The neighbour before it in the block, or NULL. */
static inline struct bir_instruction *bir_instruction_prev(const struct bir_instruction *inst)
{
    return inst->prev ? bir_ref_at(inst, inst->prev) : NULL;
}
struct bir_region *bir_instruction_region(const struct bir_instruction *inst); /* or NULL */
struct bir_function *bir_instruction_function(const struct bir_instruction *inst); /* NULL inside a queue */
/* A full copy of header, operands (registered as uses), properties, edges; without region; not in a block. */
struct bir_instruction *bir_instruction_clone(struct bir_module *module, const struct bir_instruction *inst,
                                              const struct bir_str *name) BIR_MUST_CHECK;
/* True when all instructions of the function have names and no two the same. */
bool bir_function_has_unique_names(struct bir_function *function);
/* Their map drops what it has, to learn it again when it is asked: what makes many instructions with new names does not
 * look them up, and perhaps nobody will. */
void bir_function_forget_names(struct bir_function *function);
/* Numbers every instruction of the function in program order, nested bodies in place; returns how many. */
uint32_t bir_function_number(struct bir_function *function);
/* MAX-merge of lowering.md 12.1: one edge an ordered pair and list. False on allocation failure. later != earlier. */
bool bir_instruction_add_dependency(struct bir_module *module, struct bir_instruction *later, struct bir_instruction *earlier,
                                    enum bir_edge_kind kind, bool loop_carried) BIR_MUST_CHECK;

/* Appends one edge as it is, without looking for another to the same target. False on allocation failure. */
bool bir_instruction_push_edge(struct bir_module *module, struct bir_instruction *inst, struct bir_edge edge) BIR_MUST_CHECK;
/* All edges in the order they were added, or NULL when there never was one. Adding one may move them. */
static inline struct bir_edges *bir_instruction_edges(const struct bir_instruction *inst)
{
    return inst->edges ? bir_ref_at(inst, inst->edges) : NULL;
}
uint32_t bir_instruction_edge_count(const struct bir_instruction *inst, enum bir_edge_list list);
/* Array elements of the edge behind its kind, as JSON text ("[1]"), or NULL. edges is what holds it. */
const struct bir_str *bir_edge_extra(const struct bir_edges *edges, const struct bir_edge *edge);

/* --- operands (argument.c) --- */

/* One row a kind: ordinal, wire spelling, object size, whether it takes a location and of which tags. NULL for gaps and RegisterSet. */
struct bir_argument_class {
    enum bir_argument_kind kind;
    const char *wire;
    size_t size_bytes;
    uint8_t location_tag; /* enum bir_storage_tag, 0 = binds to nothing */
    bool is_immediate;
    bool has_pattern;
};
const struct bir_argument_class *bir_argument_class_of(enum bir_argument_kind kind);
const struct bir_argument_class *bir_argument_class_by_wire(const char *wire, size_t len); /* accepts symbolic_pwap */
const char *bir_role_name(enum bir_role role); /* "ins", "indirection_ins", "outs" */

/* A new operand of the kind at the end of the role's list (immediates: always ins). NULL on allocation failure; inst must not be NULL and
 * kind must have a class (asserted: callers check outside input with bir_argument_class_of). */
struct bir_argument *bir_argument_new(struct bir_module *module, struct bir_instruction *inst, enum bir_argument_kind kind,
                                      enum bir_role role, enum bir_dtype dtype) BIR_MUST_CHECK;
/* A symbolic_ap with its address expressions. */
struct bir_symbolic_ap *bir_symbolic_ap_new(struct bir_module *module, struct bir_instruction *inst, enum bir_role role,
                                            enum bir_dtype dtype, const struct pelican_expr *const *addrs,
                                            uint32_t n_addrs) BIR_MUST_CHECK;
/* The same as bir_argument_new, inserted before `position` of the same instruction and list. */
struct bir_argument *bir_argument_new_before(struct bir_module *module, struct bir_argument *position, enum bir_argument_kind kind,
                                             enum bir_dtype dtype) BIR_MUST_CHECK;
/* Out of its list and use list. O(1). */
void bir_argument_remove(struct bir_argument *arg);
/* Puts `with` (of the same instruction, from any list or fresh) in the place of `old` and removes old. O(1). */
void bir_argument_replace(struct bir_argument *old, struct bir_argument *with);
/* Binds, deregistering the previous location first; NULL unbinds. is_output and active as in lowering.md 1.2. */
void bir_argument_set_location(struct bir_argument *arg, struct bir_storage *location, bool is_output, bool active);
/* The operand's own record, to be changed at once; made or copied when missing or shared. */
struct bir_argument_rare *bir_argument_need_rare(struct bir_module *module, struct bir_argument *arg) BIR_MUST_CHECK;
/* First and last operand of a list, or NULL. Linear in the lengths of the lists behind it. */
struct bir_argument *bir_instruction_first(const struct bir_instruction *inst, enum bir_role role);
struct bir_argument *bir_instruction_last(const struct bir_instruction *inst, enum bir_role role);
/* The instruction it belongs to. */
static inline struct bir_instruction *bir_argument_parent(const struct bir_argument *arg)
{
    return arg->parent ? bir_ref_at(arg, arg->parent) : NULL;
}
/* What few operands have, or NULL. */
static inline const struct bir_argument_rare *bir_argument_rare_of(const struct bir_argument *arg)
{
    return arg->rare ? bir_ref_at(arg, arg->rare) : NULL;
}
/* Members of it, each NULL when there is none. */
static inline struct bir_dynamic_info *bir_argument_dynamic(const struct bir_argument *arg)
{
    return arg->rare ? bir_argument_rare_of(arg)->dynamic : NULL;
}
static inline const struct bir_props *bir_argument_props(const struct bir_argument *arg)
{
    return arg->rare ? bir_argument_rare_of(arg)->props : NULL;
}
static inline const struct bir_ints *bir_argument_shape(const struct bir_argument *arg)
{
    return arg->rare ? bir_argument_rare_of(arg)->access_shape : NULL;
}
/* The next one in its list, or NULL. */
static inline struct bir_argument *bir_argument_next(const struct bir_argument *arg)
{
    if (arg->next == bir_argument_parent(arg)->operands)
        return NULL; /* round the ring */
    struct bir_argument *next = bir_ref_at(arg, arg->next);
    return next->role == arg->role ? next : NULL;
}
/* The one before it in its list, or NULL. */
static inline struct bir_argument *bir_argument_prev(const struct bir_argument *arg)
{
    struct bir_argument *prev = bir_ref_at(arg, arg->prev);
    return prev->next != bir_argument_parent(arg)->operands && prev->role == arg->role ? prev : NULL;
}
/* All operands of an instruction, whatever their list: index operands, then inputs, then outputs. */
static inline struct bir_argument *bir_operand_first(const struct bir_instruction *inst)
{
    return inst->operands ? bir_ref_at(inst, inst->operands) : NULL;
}
static inline struct bir_argument *bir_operand_next(const struct bir_argument *arg, const struct bir_instruction *inst)
{
    return arg->next == inst->operands ? NULL : bir_ref_at(arg, arg->next);
}
#define BIR_EACH_OPERAND(arg, inst)                                                                                    \
    for (struct bir_argument *arg = bir_operand_first(inst); arg; arg = bir_operand_next(arg, (inst)))
/* The next one on the use list of its location, or NULL. */
static inline struct bir_argument *bir_argument_next_use(const struct bir_argument *arg)
{
    return arg->next_use ? bir_ref_at(arg, arg->next_use) : NULL;
}
/* i-th operand of a list, or NULL. */
struct bir_argument *bir_instruction_argument(const struct bir_instruction *inst, enum bir_role role, uint32_t i);
uint32_t bir_instruction_argument_count(const struct bir_instruction *inst, enum bir_role role);
/* Position in its list. */
uint32_t bir_argument_position(const struct bir_argument *arg);
/* Pattern of an access pattern kind, else NULL. */
const struct bir_pattern *bir_argument_pattern(const struct bir_argument *arg);
/* The set behind an access pattern (of a physical one: its location's set), or NULL. */
struct bir_set *bir_argument_set(const struct bir_argument *arg);
/* Memory type of the place an access pattern names: BIR_MEMORY_SB, _PSUM, _DRAM, ... or BIR_MEMORY_NONE. A set's is its first location's. */
enum bir_memory_type bir_argument_memory(const struct bir_argument *arg);
enum bir_memory_type bir_set_memory(const struct bir_set *set);
/* Product of num over the pairs after the first; 1 for rank 1; -1 on overflow (lowering.md 8.5). */
int64_t bir_pattern_elems_per_partition(const struct bir_pattern *pattern);

/* Calls fn for every register an operand names: register_access's, register_ap's three, and those inside expressions (dynamic
 * info, symbolic addresses). *slot may be replaced for the first two groups; expressions pass slot NULL. Stops when fn gives false. */
typedef bool bir_register_fn(void *user, struct bir_register *reg, struct bir_register **slot);
bool bir_argument_each_register(struct bir_argument *arg, bir_register_fn *fn, void *user);

/* Proves invariants 1-4 by walking the module; the first violation as text in *problem (static), true when sound. */
bool bir_module_check_uses(const struct bir_module *module, const char **problem);

/* Convenience builders of operands. NULL on allocation failure. */
struct bir_physical_ap *bir_add_physical_ap(struct bir_module *module, struct bir_instruction *inst, enum bir_role role,
                                            struct bir_location *location, const struct bir_pattern *pattern,
                                            int64_t offset_elems, enum bir_dtype dtype) BIR_MUST_CHECK;
struct bir_imm_value *bir_add_imm_int(struct bir_module *module, struct bir_instruction *inst, enum bir_dtype dtype,
                                      int64_t value) BIR_MUST_CHECK;
struct bir_register_access *bir_add_register_access(struct bir_module *module, struct bir_instruction *inst, enum bir_role role,
                                                    struct bir_register *reg, enum bir_dtype dtype) BIR_MUST_CHECK;

/* Iteration. The next element is fetched before the body, so the current one may be removed. */
#define BIR_EACH_FUNCTION(f, module) for (struct bir_function *f = (module)->functions; f; f = f->next)
#define BIR_EACH_BLOCK(b, region)                                                                                      \
    for (struct bir_block *b = (region)->first, *b##_next = b ? b->next : NULL; b; b = b##_next, b##_next = b ? b->next : NULL)
#define BIR_EACH_INSTRUCTION(i, block)                                                                                 \
    for (struct bir_instruction *i = (block)->first, *i##_next = i ? i->next : NULL; i;                                \
         i = i##_next, i##_next = i ? i->next : NULL)
/* Operands of one role list; safe against removal of the current one, blind to what is added behind the last. */
#define BIR_EACH_ARGUMENT(a, inst, role)                                                                               \
    for (struct bir_argument *a = bir_instruction_first(inst, (enum bir_role)(role)),                                  \
                             *a##_last = a ? bir_instruction_last(inst, (enum bir_role)(role)) : NULL,                 \
                             *a##_next = a ? bir_argument_next(a) : NULL;                                              \
         a; a = a == a##_last ? NULL : a##_next, a##_next = a ? bir_argument_next(a) : NULL)
/* Edges of all lists. None may be added meanwhile. */
#define BIR_EACH_EDGE(e, inst)                                                                                         \
    for (struct bir_edges *e##_all = bir_instruction_edges(inst); e##_all; e##_all = NULL)                             \
        for (struct bir_edge *e = e##_all->items; e != e##_all->items + e##_all->count; e++)

/* Walks a function's (or region's) instructions in program order, nested bodies in place (the region's owner before its body), without recursion. */
struct bir_walk {
    struct bir_region *root;
    struct bir_instruction *current;
};
void bir_walk_init(struct bir_walk *walk, struct bir_region *root);
struct bir_instruction *bir_walk_next(struct bir_walk *walk); /* NULL at the end */

#endif

/*
 * What the files of lib/codegen share: the state of one conversion, and one operand on its way to BIR.
 *
 * Everything lives in two arenas: the module's own for what stays, `scratch` for what the conversion needs meanwhile.
 * Both have the same limit. A function that returns a status follows base/status.h: BIR_INVALID and BIR_LIMIT come with
 * a diagnostic.
 */
#ifndef BIR_CODEGEN_CONTEXT_H
#define BIR_CODEGEN_CONTEXT_H

#include "codegen/codegen.h"

/* A TensorName once it has a location; one a function and node. Units: row and pitch in bytes, the rest in elements. */
struct codegen_tensor {
    const struct klr_node *name; /* the TensorName */
    struct bir_location *location;
    uint8_t dtype; /* enum bir_dtype */
    bool on_chip;
    uint32_t rank;         /* of the shape, partition dimension included */
    const int64_t *dims;   /* elements, [rank] */
    const int64_t *stride; /* row-major over dims, elements, [rank] */
    int64_t rows;          /* dims[0]: partitions, or rows of an HBM tensor */
    int64_t row_bytes;     /* of the tensor's own shape */
    int64_t pitch_bytes;   /* from one partition row of the location to the next, by its own counting (dims[1]) */
};

/* Hardware partitions of SBUF and PSUM (descriptors.md 1.2). */
enum { CODEGEN_PARTITIONS = 128 };

/* A rectangle of memory: what a location needs of an Address or a view. */
struct codegen_region {
    enum bir_memory_type type;
    int64_t rows, row_bytes; /* parSize; freeSize, on chip the longest row */
    bool placed;
    uint64_t first_row, first_byte; /* parOffset, freeOffset */
};

/* Longest row and largest element of the tensors at one address (survey.c). */
struct codegen_pitch {
    int64_t row_bytes, elem_bytes;
    const struct klr_node *tensor; /* the first */
};

/* Where views of a memory start, and the largest extents of those that do (views.c). */
struct codegen_view_area {
    struct codegen_region region;
    int64_t elem_bytes;
    const struct bir_function *function; /* that the location belongs to */
    struct bir_location *location;       /* NULL before the first use */
};

/* An operand under construction: InstArg of lowering.md 1.14. */
struct codegen_access {
    const struct codegen_tensor *tensor; /* NULL for a view */
    struct bir_location *location;
    uint8_t dtype;
    bool whole_location; /* literal simple access */
    uint32_t rank;
    struct bir_pair pairs[BIR_PATTERN_MAX_RANK];
    int64_t offset_elems;
    uint32_t source_offset;
};

/* Lists of keys and positions that are remembered at a time (keys.c, statement.c). */
enum { CODEGEN_KEY_MEMOS = 256, CODEGEN_DEBUG_MEMOS = 256 };

/* The debug members of a position. */
struct codegen_debug_memo {
    const struct bir_str *path;
    uint64_t line;
    const struct bir_props *props;
};

struct codegen {
    const struct klr_file *file;
    const struct bir_codegen_options *options;
    struct bir_diags *diags;
    struct bir_module *module;
    struct bir_arena scratch;

    /* Of the kernel. */
    const struct klr_list *inputs, *outputs, *shared_constants, *shared_buffers, *edges;
    uint32_t n_cores;
    struct bir_map literals; /* address of a static string -> its interned form */
    struct bir_map pitches;  /* name of an address -> struct codegen_pitch */
    struct bir_map views;    /* "<memory>@<row>,<byte>" -> struct codegen_view_area */
    struct codegen_key_memo *key_memos[CODEGEN_KEY_MEMOS];
    struct codegen_debug_memo debug_memos[CODEGEN_DEBUG_MEMOS];

    /* Of the function under construction. */
    struct bir_function *function;
    struct bir_map tensors;    /* TensorName node -> struct codegen_tensor */
    struct bir_map roles;      /* name of an address -> struct storage_role */
    struct bir_map duplicates; /* statement names that occur twice in the function -> instruction */
    struct bir_map labels;     /* of its blocks -> anything */
    uint32_t next_barrier_id, next_name;

    /* Of the block under construction. */
    const struct bir_str *next_label;               /* of the block behind it, or NULL */
    const struct bir_str *else_label, *else_target; /* of the jump its branch needs (control.c), or NULL */
    bool at_block_end;                              /* the statement is the block's last */

    /* Of the statement under construction. */
    struct bir_block *block;
    const struct klr_node *statement;
    const struct bir_str *path_seen,
        *path; /* the last position's file name, in the file's strings and in the module's */
    const char *operator_name;
    uint64_t statements_done;
};

/* --- errors --- */

#define codegen_fail(cg, code, node, hint, ...)                                                                        \
    bir_fail((cg)->diags, (code), (int64_t)klr_offset(node), (hint), __VA_ARGS__)

/* klr_offset as a source offset; BIR_NO_SOURCE beyond 32 bits. */
uint32_t codegen_source(const struct klr_node *node);
/* An interned copy of a string of the file. NULL on allocation failure. */
const struct bir_str *codegen_text(struct codegen *cg, const struct bir_str *text) BIR_MUST_CHECK;
/* The interned form of a string literal (or another string that lives as long as the program), found by its address. */
const struct bir_str *codegen_literal(struct codegen *cg, const char *text) BIR_MUST_CHECK;
/* text and suffix in one, interned; names may hold NULs, so no printf. NULL on allocation failure. */
const struct bir_str *codegen_text_with(struct codegen *cg, const struct bir_str *text,
                                        const char *suffix) BIR_MUST_CHECK;
/* Status after an allocation failed in the module's or in the scratch arena. */
enum bir_status codegen_nomem(const struct codegen *cg);

/* --- survey.c --- */

/* Fills `pitches` from the kernel's tensors and code; either of bodies (lists of blocks) and blocks may be NULL. */
enum bir_status codegen_survey(struct codegen *cg, const struct klr_list *bodies,
                               const struct klr_list *blocks) BIR_MUST_CHECK;

/* --- storage.c --- */

/* Storages of the kernel's inputs, outputs and shared buffers in the function just made. */
enum bir_status codegen_declare_storages(struct codegen *cg) BIR_MUST_CHECK;
enum bir_status codegen_tensor_get(struct codegen *cg, const struct klr_node *tensor_name, const struct klr_node *place,
                                   const struct codegen_tensor **out) BIR_MUST_CHECK;
/* A new location at the region's place, in a set of its own. */
enum bir_status codegen_location_at(struct codegen *cg, const struct bir_str *name, const struct codegen_region *region,
                                    uint8_t dtype, const struct klr_node *view,
                                    struct bir_location **out) BIR_MUST_CHECK;
/* First byte of a placed location: in its partitions, or in HBM. */
uint64_t codegen_location_start(const struct bir_location *location);
/* Looks a register up by name; made on ALL when absent and `mint` is set, else *out may be NULL. */
enum bir_status codegen_register_get(struct codegen *cg, const struct bir_str *name, bool mint,
                                     struct bir_register **out) BIR_MUST_CHECK;

/* --- access.c --- */

/* The geometry of an access without its runtime offset. */
enum bir_status codegen_access_static(struct codegen *cg, const struct klr_node *access,
                                      struct codegen_access *out) BIR_MUST_CHECK;
/* The TensorName of an access of any kind. */
const struct klr_node *codegen_access_tensor(const struct klr_node *access);
/* scalarOffset or vectorOffset present. */
bool codegen_access_is_dynamic(const struct klr_node *access);
bool codegen_ref_is_dynamic(const struct klr_node *ref);
/* The geometry of a TensorRef; a dynamic one is an error unless allowed. */
enum bir_status codegen_ref_access(struct codegen *cg, const struct klr_node *ref, bool allow_dynamic,
                                   struct codegen_access *out) BIR_MUST_CHECK;

/* Lowest and highest element of the pairs from `first` on, relative to the offset. False on overflow. Empty when some
 * num is 0. */
bool codegen_pairs_range(const struct codegen_access *access, uint32_t first, int64_t *low, int64_t *high, bool *empty);
/* The vendor's readers assert that no first pair steps downwards (bir-json.md 14), so such a walk is refused here,
 * where its place is known. A pair of at most one element walks nowhere; its step becomes that of a row. */
enum bir_status codegen_check_direction(struct codegen *cg, struct bir_pair *first, int64_t row_elems,
                                        const struct klr_node *place) BIR_MUST_CHECK;
/* As few pairs as an operand may have, or an error. */
enum bir_status codegen_fold_rank(struct codegen *cg, struct codegen_access *access,
                                  const struct klr_node *place) BIR_MUST_CHECK;

/* --- views.c --- */

/* Notes the extents of the view behind a TensorRef of arm sbuf, psum or hbm; a faulty one is left to its use. */
enum bir_status codegen_view_survey(struct codegen *cg, const struct klr_node *ref) BIR_MUST_CHECK;
/* The geometry of such a TensorRef. */
enum bir_status codegen_view_access(struct codegen *cg, const struct klr_node *ref,
                                    struct codegen_access *out) BIR_MUST_CHECK;

/* --- operand.c --- */

enum bir_status codegen_add_access(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                   const struct codegen_access *access, struct bir_physical_ap **out) BIR_MUST_CHECK;
enum bir_status codegen_add_ref(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                const struct klr_node *ref) BIR_MUST_CHECK;
enum bir_status codegen_add_refs(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                 const struct klr_list *refs) BIR_MUST_CHECK;
enum bir_status codegen_add_operand(struct codegen *cg, struct bir_instruction *inst,
                                    const struct klr_node *operand) BIR_MUST_CHECK;
enum bir_status codegen_add_immediate(struct codegen *cg, struct bir_instruction *inst,
                                      const struct klr_node *immediate) BIR_MUST_CHECK;
enum bir_status codegen_add_float(struct codegen *cg, struct bir_instruction *inst, float value) BIR_MUST_CHECK;
enum bir_status codegen_add_register(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                     const struct bir_str *name, const struct klr_node *place) BIR_MUST_CHECK;
/* Value of an int or float Immediate; the other two arms are errors. Integers of 32 bits are exact in a double. */
enum bir_status codegen_immediate_value(struct codegen *cg, const struct klr_node *immediate, bool *is_float,
                                        double *value) BIR_MUST_CHECK;
/* For messages, independent of the locale; text or a static string. */
const char *codegen_number(double value, char text[32]);
enum bir_status codegen_immediate_int(struct codegen *cg, const struct klr_node *immediate,
                                      int64_t *value) BIR_MUST_CHECK;

/* --- dynamic.c --- */

/* A TensorRef that may be dynamic: its operand, and for a runtime offset the companion and the index operand. */
enum bir_status codegen_add_dynamic_ref(struct codegen *cg, struct bir_instruction *inst, enum bir_role role,
                                        const struct klr_node *ref) BIR_MUST_CHECK;
/* extractDynamicApToStandAlone (lowering.md 5.5): the geometry of the index access of a vector offset. */
enum bir_status codegen_extract_index(struct codegen *cg, const struct klr_node *ref,
                                      struct codegen_access *out) BIR_MUST_CHECK;
/* The BirAccessPattern of a dynamic TensorRef. */
const struct klr_node *codegen_dynamic_pattern(const struct klr_node *ref);

/* --- statements --- */

/* The instruction of the current statement at the end of the current block. */
enum bir_status codegen_instruction(struct codegen *cg, enum bir_opcode opcode, enum bir_engine engine,
                                    struct bir_instruction **out) BIR_MUST_CHECK;

/* A name that no instruction of the function has: `<stem>-<n>`. NULL on allocation failure. */
const struct bir_str *codegen_fresh_name(struct codegen *cg, const struct bir_str *stem) BIR_MUST_CHECK;

enum bir_status codegen_statement(struct codegen *cg, const struct klr_node *statement) BIR_MUST_CHECK;
/* accumulation_flag of the block's matmuls. */
enum bir_status codegen_accumulate(struct codegen *cg, struct bir_block *block) BIR_MUST_CHECK;

/* --- control.c --- */

enum bir_status codegen_blocks(struct codegen *cg, const struct klr_list *blocks) BIR_MUST_CHECK;

/* --- edges.c --- */

/* The kernel's edges and those of its no-reorder blocks, in every function. */
enum bir_status codegen_edges(struct codegen *cg) BIR_MUST_CHECK;
enum bir_status codegen_keep_order(struct codegen *cg, struct bir_block *block) BIR_MUST_CHECK;

#endif

/*
 * Operands as the images of abi_image.h hold them: described from a module, laid out as an image, and read back.
 *
 * A description has every value that a document can hold, and refers to other objects by symbol. Addresses are
 * synthetic: a space numbers objects from a base address upwards in the order in which it meets them, so equal modules
 * give equal images.
 */
#ifndef BIR_BIR_ABI_OPERAND_H
#define BIR_BIR_ABI_OPERAND_H

#include "bir/abi_image.h"
#include "bir/module.h"

/* A pointer: into the object of a symbol, or without symbol an address as it is (0: none). */
struct bir_abi_ref {
    const struct bir_abi_symbol *symbol;
    uint64_t offset; /* bytes from the symbol's address */
};

/* Vectors. address is that of the items when they do not fit into the object, and means nothing otherwise. */
struct bir_abi_pair_list {
    uint64_t address;
    const struct bir_abi_appair *items;
    uint32_t count;
};

struct bir_abi_word_list {
    uint64_t address;
    const uint64_t *items;
    uint32_t count;
};

struct bir_abi_ref_list {
    uint64_t address;
    const struct bir_abi_ref *items;
    uint32_t count;
};

struct bir_abi_expr {
    struct bir_abi_ref expr;
    struct bir_abi_ref_list axes; /* outermost loop first */
    int64_t coef;                 /* of a term of a runtime offset, else 0 */
};

struct bir_abi_expr_list {
    uint64_t address;
    const struct bir_abi_expr *items;
    uint32_t count;
};

struct bir_abi_dynamic {
    uint64_t address;
    struct bir_abi_pair_list actual;
    struct bir_abi_expr_list terms;
    int64_t c_elems;
    int32_t indirect_dim_max_index, indirect_dim;
    int32_t tensor_indirect_arg_id, num_tensor_indirect_indices;
};

struct bir_abi_operand {
    const struct bir_abi_layout *layout; /* a leaf class, InstArg or DynamicAPINFO */
    uint64_t address;
    const struct bir_abi_symbol *self; /* the operand's own, or NULL */
    /* Argument base; of InstArg: location and dtype only. */
    struct bir_abi_ref vtable, next, prev, parent, location;
    int32_t unique_id, dtype;
    bool is_output, active;
    /* Access patterns; of InstArg: pattern only. */
    struct bir_abi_ref src_handle;
    struct bir_abi_pair_list pattern;
    struct bir_abi_word_list access_shape;
    union {
        struct {
            uint64_t offset_elems;
            const struct bir_abi_dynamic *dynamic; /* or NULL */
        } physical;
        struct {
            int32_t tensor_indirect_arg_id, num_tensor_indirect_indices;
            struct bir_abi_expr_list addrs;
        } symbolic;
        struct {
            struct bir_abi_ref address, offset, sub_tensor;
            int64_t const_offset_elems;
            int32_t const_sub_tensor_id;
            bool address_is_offset;
        } reg;
        struct {                      /* both immediates with one value */
            uint64_t value;           /* the low bytes that the dtype has */
            struct bir_abi_expr expr; /* symbolic ones */
        } imm;
        struct bir_abi_word_list values;
        struct {
            int32_t offset_elems;
            bool valid;
        } inst_arg;
        struct bir_abi_dynamic dynamic; /* address unused */
    } u;
};

/* Numbers objects of one module. The module must outlive it, its instructions must not change meanwhile. */
struct bir_abi_space {
    struct bir_arena *arena; /* symbols */
    struct bir_diags *diags;
    struct bir_map symbols; /* object -> struct bir_abi_symbol */
    uint64_t next;          /* free address */
};
#define BIR_ABI_BASE_DEFAULT UINT64_C(0x100000)
#define BIR_ABI_ALIGN_BYTES  16 /* of every object, as of malloc */

/* BIR_INVALID ("abi-base") unless base is a multiple of BIR_ABI_ALIGN_BYTES and not 0. */
enum bir_status bir_abi_space_init(struct bir_abi_space *space, uint64_t base, struct bir_arena *arena,
                                   struct bir_diags *diags) BIR_MUST_CHECK;

/* Describes the operand at `position` of its list (bir_argument_position). The first object asked for gets the base
 * address. unique_id is the index of its instruction, which the caller has numbered. What the description holds beyond
 * the space's symbols goes to the arena. BIR_INVALID with a diagnostic for what no object can hold: a kind without
 * class, no parent, a dtype that is unknown or not allowed, numbers too large for their field. */
enum bir_status bir_abi_describe(struct bir_abi_space *space, const struct bir_argument *arg, uint32_t position,
                                 struct bir_arena *arena, struct bir_abi_operand *out) BIR_MUST_CHECK;
/* The InstArg from which codegen makes such an operand (lowering.md 1.14, 3.6). Errors as above. */
enum bir_status bir_abi_describe_inst_arg(struct bir_abi_space *space, const struct bir_physical_ap *ap,
                                          struct bir_arena *arena, struct bir_abi_operand *out) BIR_MUST_CHECK;

/* The image of a description. BIR_INVALID when its addresses overlap or the object's is not the least. */
enum bir_status bir_abi_compose(const struct bir_abi_operand *operand, struct bir_arena *arena, struct bir_diags *diags,
                                struct bir_abi_image *image) BIR_MUST_CHECK;

/* Reads an image back. Composing the result again gives the image, but for gaps and caches, which become zero, and for
 * vectors that hold less than their capacity. BIR_INVALID with a diagnostic for a layout without description, no parent
 * ("abi-parent"), a dtype that the kind cannot have ("abi-dtype"), a flag that is not 0 or 1, and vectors whose size
 * exceeds their capacity or whose items the image does not hold ("abi-vector"). */
enum bir_status bir_abi_read(const struct bir_abi_image *image, struct bir_arena *arena, struct bir_diags *diags,
                             struct bir_abi_operand *out) BIR_MUST_CHECK;

#endif

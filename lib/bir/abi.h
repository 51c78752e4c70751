/*
 * Layouts of the vendor's operand objects (lowering.md 1.1 to 1.8, 1.14 to 1.16), for people who look at them in a debugger.
 *
 * Each layout is a C struct for a little-endian 64-bit machine: pointers are uint64_t, padding and bytes whose meaning is not known
 * are members called gap_*. Beside each struct stand its rows (offset, size, member, type): the one table from which the static
 * assertions, the printer (abi_print.c) and the tests are made. Rows list what a layout adds to its base, gaps included, in order and
 * without holes. Our own operands (module.h) do not look like this; abi_operand.h converts.
 */
#ifndef BIR_BIR_ABI_H
#define BIR_BIR_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "images are copied from and to structs as they are");

/* What a row holds: how its bytes read as a value, and what the value means. */
enum bir_abi_type {
    BIR_ABI_GAP,    /* padding or not known, any size */
    BIR_ABI_CACHE,  /* derived state that no document carries, any size; zero in images written here */
    BIR_ABI_PTR,
    BIR_ABI_PARENT, /* pointer that must not be null */
    BIR_ABI_I32,
    BIR_ABI_U32,
    BIR_ABI_I64,
    BIR_ABI_U64,
    BIR_ABI_BOOL,   /* one byte */
    BIR_ABI_KIND,   /* i32, ArgumentKind */
    BIR_ABI_DTYPE,  /* i32, Dtype */
    BIR_ABI_ENGINE, /* i32, EngineType */
    BIR_ABI_DIM,    /* i32, indirect dimension */
    BIR_ABI_TAG,    /* i32, class tag of a storage */
    BIR_ABI_VALUE,  /* 8 bytes, a literal of the operand's dtype (1.7) */
    BIR_ABI_PAIRS,  /* inline items: struct bir_abi_appair */
    BIR_ABI_U64S,   /* inline items */
    BIR_ABI_PTRS,   /* the same */
    BIR_ABI_VALUES, /* the same */
    BIR_ABI_QUASI,  /* a struct bir_abi_quasi_affine */
};

/* --- parts --- */

/* bir::APPair (1.3); inline order [W, Z, Y, X]. */
struct bir_abi_appair {
    int64_t step;
    int64_t num;
};
#define BIR_ABI_ROWS_appair(F)                                                                                         \
    F(appair, 0x00, 8, step, BIR_ABI_I64)                                                                              \
    F(appair, 0x08, 8, num, BIR_ABI_I64)

/* Elements of vectors whose data lies outside the object. */
struct bir_abi_pointer {
    uint64_t target;
};
#define BIR_ABI_ROWS_pointer(F) F(pointer, 0x00, 8, target, BIR_ABI_PTR)

struct bir_abi_extent {
    uint64_t extent;
};
#define BIR_ABI_ROWS_extent(F) F(extent, 0x00, 8, extent, BIR_ABI_U64)

struct bir_abi_literal {
    uint64_t value;
};
#define BIR_ABI_ROWS_literal(F) F(literal, 0x00, 8, value, BIR_ABI_VALUE)

/* SmallVector<APPair, 4>: data points to items while size is at most cap and nothing has grown. */
#define BIR_ABI_PAIRS_INLINE 4
struct bir_abi_pairs {
    uint64_t data;
    uint32_t size, cap;
    struct bir_abi_appair items[BIR_ABI_PAIRS_INLINE];
};

#define BIR_ABI_SHAPE_INLINE 4
struct bir_abi_shape {
    uint64_t data;
    uint32_t size, cap;
    uint64_t items[BIR_ABI_SHAPE_INLINE];
};

/* std::vector. */
struct bir_abi_vector {
    uint64_t begin, end, cap_end;
};

/* QuasiAffineExpr (1.16): an expression and the loop axes it is over. data and count are confirmed; that the other 12 bytes are the
 * capacity and one inline item is a choice, after the form of every other small vector here. */
#define BIR_ABI_AXES_INLINE 1
struct bir_abi_quasi_affine {
    uint64_t expr;
    struct {
        uint64_t data;
        uint32_t count, cap;
        uint64_t items[BIR_ABI_AXES_INLINE];
    } axes;
};
#define BIR_ABI_ROWS_quasi_affine(F)                                                                                   \
    F(quasi_affine, 0x00, 8, expr, BIR_ABI_PTR)                                                                        \
    F(quasi_affine, 0x08, 8, axes.data, BIR_ABI_PTR)                                                                   \
    F(quasi_affine, 0x10, 4, axes.count, BIR_ABI_U32)                                                                  \
    F(quasi_affine, 0x14, 4, axes.cap, BIR_ABI_U32)                                                                    \
    F(quasi_affine, 0x18, 8, axes.items, BIR_ABI_PTRS)

/* Element of DynamicAPINFO's terms (1.15), stride 0x28. */
struct bir_abi_dynamic_term {
    struct bir_abi_quasi_affine expr;
    int64_t coef;
};
#define BIR_ABI_ROWS_dynamic_term(F)                                                                                   \
    F(dynamic_term, 0x00, 0x20, expr, BIR_ABI_QUASI)                                                                   \
    F(dynamic_term, 0x20, 8, coef, BIR_ABI_I64)

/* --- objects --- */

/* Argument base (1.2). uniqueId is the parent instruction's; the constructor does not write dtype. */
struct bir_abi_argument {
    uint64_t vtable;
    struct {
        uint64_t next, prev;
    } list;
    int32_t kind;
    uint8_t gap_1c[4];
    uint64_t parent;
    int32_t unique_id;
    uint8_t is_output;
    uint8_t gap_2d[3];
    int32_t dtype;
    uint8_t gap_34[4];
    uint64_t location;
    uint8_t active;
    uint8_t gap_41[7];
};
#define BIR_ABI_ROWS_argument(F)                                                                                       \
    F(argument, 0x00, 8, vtable, BIR_ABI_PTR)                                                                          \
    F(argument, 0x08, 8, list.next, BIR_ABI_PTR)                                                                       \
    F(argument, 0x10, 8, list.prev, BIR_ABI_PTR)                                                                       \
    F(argument, 0x18, 4, kind, BIR_ABI_KIND)                                                                           \
    F(argument, 0x1C, 4, gap_1c, BIR_ABI_GAP)                                                                          \
    F(argument, 0x20, 8, parent, BIR_ABI_PARENT)                                                                       \
    F(argument, 0x28, 4, unique_id, BIR_ABI_I32)                                                                       \
    F(argument, 0x2C, 1, is_output, BIR_ABI_BOOL)                                                                      \
    F(argument, 0x2D, 3, gap_2d, BIR_ABI_GAP)                                                                          \
    F(argument, 0x30, 4, dtype, BIR_ABI_DTYPE)                                                                         \
    F(argument, 0x34, 4, gap_34, BIR_ABI_GAP)                                                                          \
    F(argument, 0x38, 8, location, BIR_ABI_PTR)                                                                        \
    F(argument, 0x40, 1, active, BIR_ABI_BOOL)                                                                         \
    F(argument, 0x41, 7, gap_41, BIR_ABI_GAP)

/* AccessPattern base (1.3). */
struct bir_abi_access_pattern {
    struct bir_abi_argument base;
    uint64_t src_handle;
    struct bir_abi_pairs pattern;
    struct bir_abi_shape access_shape;
};
#define BIR_ABI_ROWS_access_pattern(F)                                                                                 \
    F(access_pattern, 0x48, 8, src_handle, BIR_ABI_PTR)                                                                \
    F(access_pattern, 0x50, 8, pattern.data, BIR_ABI_PTR)                                                              \
    F(access_pattern, 0x58, 4, pattern.size, BIR_ABI_U32)                                                              \
    F(access_pattern, 0x5C, 4, pattern.cap, BIR_ABI_U32)                                                               \
    F(access_pattern, 0x60, 0x40, pattern.items, BIR_ABI_PAIRS)                                                        \
    F(access_pattern, 0xA0, 8, access_shape.data, BIR_ABI_PTR)                                                         \
    F(access_pattern, 0xA8, 4, access_shape.size, BIR_ABI_U32)                                                         \
    F(access_pattern, 0xAC, 4, access_shape.cap, BIR_ABI_U32)                                                          \
    F(access_pattern, 0xB0, 0x20, access_shape.items, BIR_ABI_U64S)

/* PhysicalAccessPattern (1.4). offset counts elements (lowering.md, correction 1). */
struct bir_abi_physical_ap {
    struct bir_abi_access_pattern base;
    uint64_t offset;
    uint8_t intervals[0xF8];
    uint8_t spinlock[8];
    uint64_t dynamic_ap_info;
};
#define BIR_ABI_ROWS_physical_ap(F)                                                                                    \
    F(physical_ap, 0xD0, 8, offset, BIR_ABI_U64)                                                                       \
    F(physical_ap, 0xD8, 0xF8, intervals, BIR_ABI_CACHE)                                                               \
    F(physical_ap, 0x1D0, 8, spinlock, BIR_ABI_CACHE)                                                                  \
    F(physical_ap, 0x1D8, 8, dynamic_ap_info, BIR_ABI_PTR)

/* SymbolicAccessPattern (1.5). addrs: vector of QuasiAffineExpr, [tile, block]. */
struct bir_abi_symbolic_ap {
    struct bir_abi_access_pattern base;
    int32_t tensor_indirect_arg_id;
    int32_t num_tensor_indirect_indices;
    uint8_t gap_d8[8];
    struct bir_abi_vector addrs;
    uint8_t gap_f8[8];
    uint8_t predicate_cache[0x30];
    uint8_t shard_in_cache[0x48];
    uint8_t evaluated_cache[0x40];
};
#define BIR_ABI_ROWS_symbolic_ap(F)                                                                                    \
    F(symbolic_ap, 0xD0, 4, tensor_indirect_arg_id, BIR_ABI_I32)                                                       \
    F(symbolic_ap, 0xD4, 4, num_tensor_indirect_indices, BIR_ABI_I32)                                                  \
    F(symbolic_ap, 0xD8, 8, gap_d8, BIR_ABI_GAP)                                                                       \
    F(symbolic_ap, 0xE0, 8, addrs.begin, BIR_ABI_PTR)                                                                  \
    F(symbolic_ap, 0xE8, 8, addrs.end, BIR_ABI_PTR)                                                                    \
    F(symbolic_ap, 0xF0, 8, addrs.cap_end, BIR_ABI_PTR)                                                                \
    F(symbolic_ap, 0xF8, 8, gap_f8, BIR_ABI_GAP)                                                                       \
    F(symbolic_ap, 0x100, 0x30, predicate_cache, BIR_ABI_CACHE)                                                        \
    F(symbolic_ap, 0x130, 0x48, shard_in_cache, BIR_ABI_CACHE)                                                         \
    F(symbolic_ap, 0x178, 0x40, evaluated_cache, BIR_ABI_CACHE)

/* RegisterAccessPattern (1.6). */
struct bir_abi_register_ap {
    struct bir_abi_access_pattern base;
    uint8_t gap_d0[0x18];
    uint64_t reg_loc;
    uint64_t reg_ap_offset;
    uint64_t reg_sub_tensor_id;
    int64_t const_ap_offset;
    int32_t const_sub_tensor_id;
    uint8_t gap_10c[8];
    uint8_t is_regloc_offset;
    uint8_t gap_115[3];
};
#define BIR_ABI_ROWS_register_ap(F)                                                                                    \
    F(register_ap, 0xD0, 0x18, gap_d0, BIR_ABI_GAP)                                                                    \
    F(register_ap, 0xE8, 8, reg_loc, BIR_ABI_PTR)                                                                      \
    F(register_ap, 0xF0, 8, reg_ap_offset, BIR_ABI_PTR)                                                                \
    F(register_ap, 0xF8, 8, reg_sub_tensor_id, BIR_ABI_PTR)                                                            \
    F(register_ap, 0x100, 8, const_ap_offset, BIR_ABI_I64)                                                             \
    F(register_ap, 0x108, 4, const_sub_tensor_id, BIR_ABI_I32)                                                         \
    F(register_ap, 0x10C, 8, gap_10c, BIR_ABI_GAP)                                                                     \
    F(register_ap, 0x114, 1, is_regloc_offset, BIR_ABI_BOOL)                                                           \
    F(register_ap, 0x115, 3, gap_115, BIR_ABI_GAP)

/* ImmediateValue (1.7): the literal takes the low bytes that its dtype has. */
struct bir_abi_imm_value {
    struct bir_abi_argument base;
    uint64_t value;
};
#define BIR_ABI_ROWS_imm_value(F) F(imm_value, 0x48, 8, value, BIR_ABI_VALUE)

/* SymbolicImmediateValue (1.7). The map from index to coefficient is empty: both ends point to its head at 0xA8. */
#define BIR_ABI_COEF_MAP_HEAD 0xA8
struct bir_abi_symbolic_imm_value {
    struct bir_abi_imm_value base;
    uint8_t gap_50[0x18];
    struct bir_abi_quasi_affine expr;
    uint8_t gap_88[0x30];
    struct {
        uint64_t leftmost, rightmost;
    } coef_map;
    uint8_t gap_c8[8];
};
#define BIR_ABI_ROWS_symbolic_imm_value(F)                                                                             \
    F(symbolic_imm_value, 0x50, 0x18, gap_50, BIR_ABI_GAP)                                                             \
    F(symbolic_imm_value, 0x68, 0x20, expr, BIR_ABI_QUASI)                                                             \
    F(symbolic_imm_value, 0x88, 0x30, gap_88, BIR_ABI_GAP)                                                             \
    F(symbolic_imm_value, 0xB8, 8, coef_map.leftmost, BIR_ABI_PTR)                                                     \
    F(symbolic_imm_value, 0xC0, 8, coef_map.rightmost, BIR_ABI_PTR)                                                    \
    F(symbolic_imm_value, 0xC8, 8, gap_c8, BIR_ABI_GAP)

/* ImmediateArray (1.7): SmallVector<i64, 8>, every element widened to 8 bytes. */
#define BIR_ABI_ARRAY_INLINE 8
struct bir_abi_imm_array {
    struct bir_abi_argument base;
    struct {
        uint64_t data;
        uint32_t size, cap;
        uint64_t items[BIR_ABI_ARRAY_INLINE];
    } values;
};
#define BIR_ABI_ROWS_imm_array(F)                                                                                      \
    F(imm_array, 0x48, 8, values.data, BIR_ABI_PTR)                                                                    \
    F(imm_array, 0x50, 4, values.size, BIR_ABI_U32)                                                                    \
    F(imm_array, 0x54, 4, values.cap, BIR_ABI_U32)                                                                     \
    F(imm_array, 0x58, 0x40, values.items, BIR_ABI_VALUES)

/* RegisterAccess (1.8): nothing of its own. */
struct bir_abi_register_access {
    struct bir_abi_argument base;
};
#define BIR_ABI_ROWS_register_access(F)

/* The known beginning of Register (1.8), a Storage; its full size is not known. */
struct bir_abi_register {
    uint8_t gap_0[0x110];
    int32_t class_tag;
    uint8_t gap_114[0x14];
    struct {
        uint64_t data, length;
    } name;
    uint8_t gap_138[0x48];
    int32_t engine;
    uint8_t gap_184[4];
    int32_t base_physical_id;
    int32_t num_physical_regs;
};
#define BIR_ABI_ROWS_register(F)                                                                                       \
    F(register, 0x00, 0x110, gap_0, BIR_ABI_GAP)                                                                       \
    F(register, 0x110, 4, class_tag, BIR_ABI_TAG)                                                                      \
    F(register, 0x114, 0x14, gap_114, BIR_ABI_GAP)                                                                     \
    F(register, 0x128, 8, name.data, BIR_ABI_PTR)                                                                      \
    F(register, 0x130, 8, name.length, BIR_ABI_U64)                                                                    \
    F(register, 0x138, 0x48, gap_138, BIR_ABI_GAP)                                                                     \
    F(register, 0x180, 4, engine, BIR_ABI_ENGINE)                                                                      \
    F(register, 0x184, 4, gap_184, BIR_ABI_GAP)                                                                        \
    F(register, 0x188, 4, base_physical_id, BIR_ABI_I32)                                                               \
    F(register, 0x18C, 4, num_physical_regs, BIR_ABI_I32)

/* InstArg (1.14), an operand while codegen still builds it; offset_elems is "base". */
struct bir_abi_inst_arg {
    uint64_t location;
    struct bir_abi_pairs pattern;
    int32_t offset_elems;
    int32_t dtype;
    uint8_t valid;
    uint8_t gap_61[7];
};
#define BIR_ABI_ROWS_inst_arg(F)                                                                                       \
    F(inst_arg, 0x00, 8, location, BIR_ABI_PTR)                                                                        \
    F(inst_arg, 0x08, 8, pattern.data, BIR_ABI_PTR)                                                                    \
    F(inst_arg, 0x10, 4, pattern.size, BIR_ABI_U32)                                                                    \
    F(inst_arg, 0x14, 4, pattern.cap, BIR_ABI_U32)                                                                     \
    F(inst_arg, 0x18, 0x40, pattern.items, BIR_ABI_PAIRS)                                                              \
    F(inst_arg, 0x58, 4, offset_elems, BIR_ABI_I32)                                                                    \
    F(inst_arg, 0x5C, 4, dtype, BIR_ABI_DTYPE)                                                                         \
    F(inst_arg, 0x60, 1, valid, BIR_ABI_BOOL)                                                                          \
    F(inst_arg, 0x61, 7, gap_61, BIR_ABI_GAP)

/* DynamicAPINFO (1.15), the runtime offset of a physical access pattern. terms: vector of dynamic_term. */
struct bir_abi_dynamic_ap_info {
    struct bir_abi_pairs actual;
    struct bir_abi_vector terms;
    int64_t c;
    int32_t indirect_dim_max_index;
    int32_t indirect_dim;
    uint8_t gap_78[0x78];
    int32_t tensor_indirect_arg_id;
    int32_t num_tensor_indirect_indices;
};
#define BIR_ABI_ROWS_dynamic_ap_info(F)                                                                                \
    F(dynamic_ap_info, 0x00, 8, actual.data, BIR_ABI_PTR)                                                              \
    F(dynamic_ap_info, 0x08, 4, actual.size, BIR_ABI_U32)                                                              \
    F(dynamic_ap_info, 0x0C, 4, actual.cap, BIR_ABI_U32)                                                               \
    F(dynamic_ap_info, 0x10, 0x40, actual.items, BIR_ABI_PAIRS)                                                        \
    F(dynamic_ap_info, 0x50, 8, terms.begin, BIR_ABI_PTR)                                                              \
    F(dynamic_ap_info, 0x58, 8, terms.end, BIR_ABI_PTR)                                                                \
    F(dynamic_ap_info, 0x60, 8, terms.cap_end, BIR_ABI_PTR)                                                            \
    F(dynamic_ap_info, 0x68, 8, c, BIR_ABI_I64)                                                                        \
    F(dynamic_ap_info, 0x70, 4, indirect_dim_max_index, BIR_ABI_I32)                                                   \
    F(dynamic_ap_info, 0x74, 4, indirect_dim, BIR_ABI_DIM)                                                             \
    F(dynamic_ap_info, 0x78, 0x78, gap_78, BIR_ABI_GAP)                                                                \
    F(dynamic_ap_info, 0xF0, 4, tensor_indirect_arg_id, BIR_ABI_I32)                                                   \
    F(dynamic_ap_info, 0xF4, 4, num_tensor_indirect_indices, BIR_ABI_I32)

/* --- layouts --- */

/* One row a layout: id, struct, size, base (NONE: none), class, ordinal of the operand kind (0: no leaf class of an operand), whether
 * it stands alone. The sizes of the leaf classes are those of 1.1. Append only: image files carry the position. */
#define BIR_ABI_LAYOUTS(L)                                                                                             \
    L(APPAIR, appair, 0x10, NONE, "bir::APPair", 0, false)                                                             \
    L(POINTER, pointer, 0x08, NONE, "pointer", 0, false)                                                               \
    L(EXTENT, extent, 0x08, NONE, "u64", 0, false)                                                                     \
    L(LITERAL, literal, 0x08, NONE, "i64", 0, false)                                                                   \
    L(QUASI_AFFINE, quasi_affine, 0x20, NONE, "pelican::QuasiAffineExpr", 0, false)                                    \
    L(DYNAMIC_TERM, dynamic_term, 0x28, NONE, "term of bir::DynamicAPINFO", 0, false)                                  \
    L(ARGUMENT, argument, 0x48, NONE, "bir::Argument", 0, true)                                                        \
    L(ACCESS_PATTERN, access_pattern, 0xD0, ARGUMENT, "bir::AccessPattern", 0, true)                                   \
    L(PHYSICAL_AP, physical_ap, 0x1E0, ACCESS_PATTERN, "bir::PhysicalAccessPattern", 1, true)                          \
    L(SYMBOLIC_AP, symbolic_ap, 0x1B8, ACCESS_PATTERN, "bir::SymbolicAccessPattern", 2, true)                          \
    L(REGISTER_AP, register_ap, 0x118, ACCESS_PATTERN, "bir::RegisterAccessPattern", 3, true)                          \
    L(IMM_VALUE, imm_value, 0x50, ARGUMENT, "bir::ImmediateValue", 6, true)                                            \
    L(SYMBOLIC_IMM_VALUE, symbolic_imm_value, 0xD0, IMM_VALUE, "bir::SymbolicImmediateValue", 7, true)                 \
    L(IMM_ARRAY, imm_array, 0x98, ARGUMENT, "bir::ImmediateArray", 8, true)                                            \
    L(REGISTER_ACCESS, register_access, 0x48, ARGUMENT, "bir::RegisterAccess", 11, true)                               \
    L(REGISTER, register, 0x190, NONE, "bir::Register (beginning)", 0, true)                                           \
    L(INST_ARG, inst_arg, 0x68, NONE, "InstArg", 0, true)                                                              \
    L(DYNAMIC_AP_INFO, dynamic_ap_info, 0xF8, NONE, "bir::DynamicAPINFO", 0, true)

enum bir_abi_layout_id {
#define BIR_ABI_ID(ID, name, size, base, class, ordinal, alone) BIR_ABI_##ID,
    BIR_ABI_LAYOUTS(BIR_ABI_ID)
#undef BIR_ABI_ID
        BIR_ABI_LAYOUT_COUNT,
    BIR_ABI_NONE = BIR_ABI_LAYOUT_COUNT
};

/* Every offset and size of the tables above, and that the rows leave no hole. */
#define BIR_ABI_ROW_HOLDS(layout, row_offset, row_size, member, type)                                                  \
    &&offsetof(struct bir_abi_##layout, member) == (row_offset) &&                                                     \
        sizeof(((struct bir_abi_##layout *)0)->member) == (row_size)
#define BIR_ABI_ROW_BYTES(layout, row_offset, row_size, member, type) +(row_size)
#define BIR_ABI_BASE_BYTES_NONE           0
#define BIR_ABI_BASE_BYTES_ARGUMENT       sizeof(struct bir_abi_argument)
#define BIR_ABI_BASE_BYTES_ACCESS_PATTERN sizeof(struct bir_abi_access_pattern)
#define BIR_ABI_BASE_BYTES_IMM_VALUE      sizeof(struct bir_abi_imm_value)
#define BIR_ABI_LAYOUT_HOLDS(ID, name, size, base, class, ordinal, alone)                                              \
    _Static_assert(sizeof(struct bir_abi_##name) == (size), "size of " #name);                                         \
    _Static_assert(1 BIR_ABI_ROWS_##name(BIR_ABI_ROW_HOLDS), "rows of " #name);                                        \
    _Static_assert((size) == BIR_ABI_BASE_BYTES_##base BIR_ABI_ROWS_##name(BIR_ABI_ROW_BYTES), "holes in " #name);
BIR_ABI_LAYOUTS(BIR_ABI_LAYOUT_HOLDS)
#undef BIR_ABI_ROW_HOLDS
#undef BIR_ABI_ROW_BYTES
#undef BIR_ABI_LAYOUT_HOLDS

struct bir_abi_row {
    const char *member;
    uint32_t offset; /* in the object, base included */
    uint32_t size_bytes;
    enum bir_abi_type type;
};

struct bir_abi_layout {
    enum bir_abi_layout_id id;
    const char *name;       /* that of the struct; an operand's wire spelling */
    const char *class_name; /* the vendor's, or a description */
    uint32_t size_bytes;
    enum bir_abi_layout_id base; /* BIR_ABI_NONE: none */
    int32_t ordinal;             /* enum bir_argument_kind, 0 for other objects */
    bool stands_alone;           /* an image may be of it; the others are parts of images */
    const struct bir_abi_row *rows;
    uint32_t n_rows;
};

/* NULL for BIR_ABI_NONE and beyond. */
const struct bir_abi_layout *bir_abi_layout_of(enum bir_abi_layout_id id);
/* By the ordinal of an operand kind. NULL with the vendor's text in *problem for what has no object: the gaps, unknown ordinals,
 * RegisterSet (1.1, 18). problem may be NULL. */
const struct bir_abi_layout *bir_abi_layout_by_ordinal(int64_t ordinal, const char **problem);
/* By name (every wire spelling, and the other objects that stand alone) or by ordinal in decimal. NULL as above. */
const struct bir_abi_layout *bir_abi_layout_by_name(const char *name, size_t len, const char **problem);
/* Whether the layout is that of an Argument, leaf or base. */
bool bir_abi_layout_is_argument(const struct bir_abi_layout *layout);

#endif

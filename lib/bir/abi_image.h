/*
 * An image: one object of abi.h as bytes at an address, the parts that its vectors and pointers hold outside it, and
 * names for the addresses of everything else.
 *
 * In a file (little-endian): "RABI", u8 version 1, u8 layout (enum bir_abi_layout_id), u16 zero, u32 segments, u32
 * symbols; a segment is u64 address, u32 layout, u32 count and its bytes; a symbol is u64 address, u32 size, u32 class,
 * u32 length of its name and the name in UTF-8. Both lists ascend by address without overlap; the first segment is the
 * object. A file may hold several images, one after another. The bare bytes of one object, as a debugger dumps them,
 * are an image without parts and symbols.
 */
#ifndef BIR_BIR_ABI_IMAGE_H
#define BIR_BIR_ABI_IMAGE_H

#include "base/buf.h"
#include "base/diag.h"
#include "bir/abi.h"

#define BIR_ABI_MAGIC   "RABI"
#define BIR_ABI_VERSION 1

/* What the named address is that of. */
enum bir_abi_symbol_class {
    BIR_ABI_SYMBOL_VTABLE,
    BIR_ABI_SYMBOL_INSTRUCTION,
    BIR_ABI_SYMBOL_OPERAND, /* "INSTRUCTION/ins/0" */
    BIR_ABI_SYMBOL_LOCATION,
    BIR_ABI_SYMBOL_SET,
    BIR_ABI_SYMBOL_REGISTER,
    BIR_ABI_SYMBOL_EXPRESSION, /* named by its JSON text */
    BIR_ABI_SYMBOL_AXIS,
    BIR_ABI_SYMBOL_COUNT
};
const char *bir_abi_symbol_class_name(enum bir_abi_symbol_class class); /* "vtable", "instruction", ... */

struct bir_abi_symbol {
    uint64_t address;
    uint32_t size_bytes; /* addresses inside belong to it; at least 1 */
    enum bir_abi_symbol_class class;
    const char *name;
    uint32_t name_len;
};

struct bir_abi_segment {
    uint64_t address;
    const struct bir_abi_layout *layout;
    uint32_t count;       /* elements, at least 1 */
    const uint8_t *bytes; /* count * layout->size_bytes */
};

struct bir_abi_image {
    const struct bir_abi_segment *segments; /* at least one: the object */
    const struct bir_abi_symbol *symbols;
    uint32_t n_segments, n_symbols;
};

/* The segment or symbol that holds the address, or NULL. */
const struct bir_abi_segment *bir_abi_segment_at(const struct bir_abi_image *image, uint64_t address);
const struct bir_abi_symbol *bir_abi_symbol_at(const struct bir_abi_image *image, uint64_t address);

/* Appends the file form. */
void bir_abi_image_put(const struct bir_abi_image *image, struct bir_buf *out);

bool bir_abi_is_file(const uint8_t *bytes, size_t len);

/* Reads the image that starts at *at and moves *at behind it; bytes are borrowed, the lists go to the arena. layout:
 * the expected one, or NULL for any. BIR_INVALID with a diagnostic for everything that the form above does not allow,
 * for another layout, and for an operand whose ordinal is not that of its layout ("abi-kind"). */
enum bir_status bir_abi_image_get(const uint8_t *bytes, size_t len, size_t *at, const struct bir_abi_layout *layout,
                                  struct bir_arena *arena, struct bir_diags *diags,
                                  struct bir_abi_image *image) BIR_MUST_CHECK;

/* An image of bare bytes. layout NULL: the one that the ordinal at 0x18 names. The address is recovered from pointers
 * into the object, and 0 when there is none. Errors as above, and "abi-size" for the wrong length. */
enum bir_status bir_abi_image_bare(const uint8_t *bytes, size_t len, const struct bir_abi_layout *layout,
                                   struct bir_arena *arena, struct bir_diags *diags,
                                   struct bir_abi_image *image) BIR_MUST_CHECK;

#endif

/*
 * Operand descriptors: TENSOR1D..4D and MEM_PATTERN2D..4D (descriptors.md section 2), the indirect and the MX forms
 * (section 3). Encoding here is mechanical: bytes from fields and back, no rule beyond "the field can hold it".
 * The rules are in validate.h, the way from a BIR operand to fields in operand.h.
 */
#ifndef BIR_ISA_DESCRIPTOR_H
#define BIR_ISA_DESCRIPTOR_H

#include "isa/addr4.h"

#define ISA_MAX_RANK             4u
#define ISA_MAX_DESCRIPTOR_BYTES 20u

enum isa_slot {
    ISA_SLOT_NONE,
    ISA_SLOT_ADDR4, /* a start address alone: scalar pointers and biases */
    ISA_SLOT_TENSOR1D,
    ISA_SLOT_TENSOR2D,
    ISA_SLOT_TENSOR3D,
    ISA_SLOT_TENSOR4D,
    ISA_SLOT_MEM_PATTERN2D,
    ISA_SLOT_MEM_PATTERN3D,
    ISA_SLOT_MEM_PATTERN4D,
    ISA_SLOT_INDIRECT12B,
    ISA_SLOT_INDIRECT16B,
    ISA_SLOT_INDIRECT20B,
    ISA_SLOT_MXMEM_PATTERN1D,
    ISA_SLOT_MXINDIRECT16B,
    ISA_SLOT_ADDR8, /* DMA words only */
    ISA_SLOTS
};

enum isa_form {
    ISA_FORM_NONE,
    ISA_FORM_ADDR4,
    ISA_FORM_STATIC,
    ISA_FORM_INDIRECT,
    ISA_FORM_MX,
    ISA_FORM_MX_INDIRECT,
    ISA_FORM_ADDR8
};

struct isa_slot_info {
    const char *name;
    uint8_t size_bytes;
    uint8_t rank;     /* (step, count) pairs of the static form */
    uint8_t form;     /* enum isa_form of the slot's own type */
    uint8_t indirect; /* enum isa_slot taken when bit 29 is set, or NONE */
    bool is_union;    /* MEM_PATTERN: a union on v4 */
};
const struct isa_slot_info *isa_slot_info_of(enum isa_slot slot);
enum isa_slot isa_slot_from_name(const char *name, size_t len); /* ISA_SLOT_NONE when none; ignores case */

/* Static form; slot 0 is the innermost dimension. Steps are elements (of containers for packed types). */
struct isa_static {
    uint32_t addr;
    uint32_t rank;
    int16_t step_elems[ISA_MAX_RANK];
    uint16_t count[ISA_MAX_RANK];
};

struct isa_indirect {
    uint32_t index_addr; /* bit 29 set */
    uint32_t data_addr;
    uint16_t num_elem; /* indirect elements per partition */
    uint16_t reserved;
    uint64_t padding; /* what follows byte 12; 0 in a legal one */
};

struct isa_mx {
    uint32_t start_addr;
    uint32_t scale_addr;
    uint16_t num_elem; /* logical elements per partition */
    int8_t step_elem;  /* +1 or -1 */
    uint8_t scale_pidx;
    uint32_t reserved;
};

struct isa_mx_indirect {
    uint32_t index_addr;
    uint32_t data_addr;
    uint32_t scale_addr;
    uint16_t num_elem; /* index count, times 4 for packed types */
    uint8_t spare;
    uint8_t scale_pidx;
};

struct isa_addr8 {
    uint32_t offset_bytes; /* or register id */
    uint32_t variable;     /* 24 bits: variable id, or table entry id */
    uint8_t mode;
};

struct isa_descriptor {
    enum isa_slot slot; /* the type of the bytes: INDIRECT20B inside a MEM_PATTERN4D slot */
    union {
        uint32_t addr4;
        struct isa_static fixed;
        struct isa_indirect indirect;
        struct isa_mx mx;
        struct isa_mx_indirect mx_indirect;
        struct isa_addr8 addr8;
    } u;
};

/* Every field verbatim into slot's size bytes (returned), which the caller provides; bytes no field covers are zero. */
size_t isa_encode_raw(const struct isa_descriptor *descriptor, uint8_t bytes[ISA_MAX_DESCRIPTOR_BYTES]);

/* Fields of the bytes of a slot, choosing the variant inside the slot by the marker (descriptors.md 6). len must be the
 * slot's size; false when it is not or the slot has no bytes. Illegal contents are kept, not refused. */
bool isa_descriptor_decode(enum isa_slot slot, enum isa_generation generation, const uint8_t *bytes, size_t len,
                           struct isa_descriptor *out);

/* One free dimension of an access pattern, before any narrowing. */
struct isa_dim {
    int64_t step_elems;
    int64_t count;
};

enum isa_pack_error { ISA_PACK_OK, ISA_PACK_STEP, ISA_PACK_COUNT, ISA_PACK_RANK };

struct isa_pack_result {
    enum isa_pack_error error;
    uint32_t dim;  /* index of the offending entry of `dims` (outermost first, the partition entry not counted) */
    int64_t value; /* step, count, or number of free dimensions that are not 1 */
};

/* Steps and counts of a descriptor from the free dimensions of a pattern, outermost first (entry 0 is the first after
 * the partition entry). Dimensions of count 1 are dropped, spare slots are (1, 1), slot 0 is the innermost
 * (descriptors.md 2). keep_units is the no-compaction flag of reductions, whose axis selector names slots: only unit
 * dimensions outside every other one are dropped, inner ones keep a slot as (1, 1). out->addr is left alone. */
struct isa_pack_result isa_encode_ap(const struct isa_dim *dims, uint32_t n_dims, uint32_t rank, bool keep_units,
                                     struct isa_static *out);

#endif

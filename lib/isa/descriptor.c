/*
 * Layouts are data: one row a field with its offset, width and place in the C structure. Packing and unpacking walk the
 * same rows, so they cannot disagree. The static form is the formula "step i at 4 + 2i, count i at 4 + 2N + 2i".
 */
#include "isa/descriptor.h"

#include <string.h>
#include <strings.h>

static const struct isa_slot_info slot_table[ISA_SLOTS] = {
    [ISA_SLOT_NONE] = { "none", 0, 0, ISA_FORM_NONE, ISA_SLOT_NONE, false },
    [ISA_SLOT_ADDR4] = { "ADDR4", 4, 0, ISA_FORM_ADDR4, ISA_SLOT_NONE, false },
    [ISA_SLOT_TENSOR1D] = { "TENSOR1D", 8, 1, ISA_FORM_STATIC, ISA_SLOT_NONE, false },
    [ISA_SLOT_TENSOR2D] = { "TENSOR2D", 12, 2, ISA_FORM_STATIC, ISA_SLOT_NONE, false },
    [ISA_SLOT_TENSOR3D] = { "TENSOR3D", 16, 3, ISA_FORM_STATIC, ISA_SLOT_NONE, false },
    [ISA_SLOT_TENSOR4D] = { "TENSOR4D", 20, 4, ISA_FORM_STATIC, ISA_SLOT_NONE, false },
    [ISA_SLOT_MEM_PATTERN2D] = { "MEM_PATTERN2D", 12, 2, ISA_FORM_STATIC, ISA_SLOT_INDIRECT12B, true },
    [ISA_SLOT_MEM_PATTERN3D] = { "MEM_PATTERN3D", 16, 3, ISA_FORM_STATIC, ISA_SLOT_INDIRECT16B, true },
    [ISA_SLOT_MEM_PATTERN4D] = { "MEM_PATTERN4D", 20, 4, ISA_FORM_STATIC, ISA_SLOT_INDIRECT20B, true },
    [ISA_SLOT_INDIRECT12B] = { "INDIRECT12B", 12, 0, ISA_FORM_INDIRECT, ISA_SLOT_NONE, false },
    [ISA_SLOT_INDIRECT16B] = { "INDIRECT16B", 16, 0, ISA_FORM_INDIRECT, ISA_SLOT_NONE, false },
    [ISA_SLOT_INDIRECT20B] = { "INDIRECT20B", 20, 0, ISA_FORM_INDIRECT, ISA_SLOT_NONE, false },
    [ISA_SLOT_MXMEM_PATTERN1D] = { "MXMEM_PATTERN1D", 16, 1, ISA_FORM_MX, ISA_SLOT_MXINDIRECT16B, false },
    [ISA_SLOT_MXINDIRECT16B] = { "MXINDIRECT16B", 16, 0, ISA_FORM_MX_INDIRECT, ISA_SLOT_NONE, false },
    [ISA_SLOT_ADDR8] = { "ADDR8", 8, 0, ISA_FORM_ADDR8, ISA_SLOT_NONE, false },
};

const struct isa_slot_info *isa_slot_info_of(enum isa_slot slot)
{
    return &slot_table[slot < ISA_SLOTS ? slot : ISA_SLOT_NONE];
}

enum isa_slot isa_slot_from_name(const char *name, size_t len)
{
    for (unsigned i = ISA_SLOT_NONE + 1; i < ISA_SLOTS; i++)
        if (strlen(slot_table[i].name) == len && strncasecmp(slot_table[i].name, name, len) == 0)
            return (enum isa_slot)i;
    return ISA_SLOT_NONE;
}

/* A field of a form without arrays: where it is on the wire and in the structure. */
struct field {
    uint8_t offset, width;
    uint8_t member; /* offset in struct isa_descriptor's union member */
    uint8_t member_width;
};

#define FIELD(off, type, name)                                                                                         \
    {                                                                                                                  \
        off, sizeof(((type *)0)->name), offsetof(type, name), sizeof(((type *)0)->name)                                \
    }
/* Narrower on the wire than in memory. */
#define FIELD_N(off, width, type, name)                                                                                \
    {                                                                                                                  \
        off, width, offsetof(type, name), sizeof(((type *)0)->name)                                                    \
    }

static const struct field addr4_fields[] = { { 0, 4, 0, 4 }, { 0 } };
static const struct field indirect12_fields[] = {
    FIELD(0, struct isa_indirect, index_addr),
    FIELD(4, struct isa_indirect, data_addr),
    FIELD(8, struct isa_indirect, num_elem),
    FIELD(10, struct isa_indirect, reserved),
    { 0 },
};
static const struct field indirect16_fields[] = {
    FIELD(0, struct isa_indirect, index_addr),    FIELD(4, struct isa_indirect, data_addr),
    FIELD(8, struct isa_indirect, num_elem),      FIELD(10, struct isa_indirect, reserved),
    FIELD_N(12, 4, struct isa_indirect, padding), { 0 },
};
static const struct field indirect20_fields[] = {
    FIELD(0, struct isa_indirect, index_addr), FIELD(4, struct isa_indirect, data_addr),
    FIELD(8, struct isa_indirect, num_elem),   FIELD(10, struct isa_indirect, reserved),
    FIELD(12, struct isa_indirect, padding),   { 0 },
};
static const struct field mx_fields[] = {
    FIELD(0, struct isa_mx, start_addr),
    FIELD(4, struct isa_mx, scale_addr),
    FIELD(8, struct isa_mx, num_elem),
    FIELD(10, struct isa_mx, step_elem),
    FIELD(11, struct isa_mx, scale_pidx),
    FIELD(12, struct isa_mx, reserved),
    { 0 },
};
static const struct field mx_indirect_fields[] = {
    FIELD(0, struct isa_mx_indirect, index_addr),
    FIELD(4, struct isa_mx_indirect, data_addr),
    FIELD(8, struct isa_mx_indirect, scale_addr),
    FIELD(12, struct isa_mx_indirect, num_elem),
    FIELD(14, struct isa_mx_indirect, spare),
    FIELD(15, struct isa_mx_indirect, scale_pidx),
    { 0 },
};
static const struct field addr8_fields[] = {
    FIELD(0, struct isa_addr8, offset_bytes),
    FIELD_N(4, 3, struct isa_addr8, variable),
    FIELD(7, struct isa_addr8, mode),
    { 0 },
};

static const struct field *fields_of(enum isa_slot slot)
{
    switch (slot) {
    case ISA_SLOT_ADDR4: return addr4_fields;
    case ISA_SLOT_INDIRECT12B: return indirect12_fields;
    case ISA_SLOT_INDIRECT16B: return indirect16_fields;
    case ISA_SLOT_INDIRECT20B: return indirect20_fields;
    case ISA_SLOT_MXMEM_PATTERN1D: return mx_fields;
    case ISA_SLOT_MXINDIRECT16B: return mx_indirect_fields;
    case ISA_SLOT_ADDR8: return addr8_fields;
    default: return NULL;
    }
}

static uint64_t member_get(const void *base, const struct field *field)
{
    const uint8_t *at = (const uint8_t *)base + field->member;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (field->member_width) {
    case 1: return *at;
    case 2: memcpy(&u16, at, sizeof u16); return u16;
    case 4: memcpy(&u32, at, sizeof u32); return u32;
    default: memcpy(&u64, at, sizeof u64); return u64;
    }
}

static void member_set(void *base, const struct field *field, uint64_t value)
{
    uint8_t *at = (uint8_t *)base + field->member;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    switch (field->member_width) {
    case 1: *at = (uint8_t)value; break;
    case 2: memcpy(at, &u16, sizeof u16); break;
    case 4: memcpy(at, &u32, sizeof u32); break;
    default: memcpy(at, &value, sizeof value); break;
    }
}

static unsigned step_offset(unsigned i)
{
    return 4 + 2 * i;
}

static unsigned count_offset(unsigned rank, unsigned i)
{
    return 4 + 2 * rank + 2 * i;
}

size_t isa_encode_raw(const struct isa_descriptor *descriptor, uint8_t bytes[ISA_MAX_DESCRIPTOR_BYTES])
{
    const struct isa_slot_info *info = isa_slot_info_of(descriptor->slot);
    memset(bytes, 0, ISA_MAX_DESCRIPTOR_BYTES);
    if (info->form == ISA_FORM_STATIC) {
        const struct isa_static *fixed = &descriptor->u.fixed;
        isa_store_le(bytes, 4, fixed->addr);
        for (unsigned i = 0; i < info->rank; i++) {
            isa_store_le(bytes + step_offset(i), 2, (uint16_t)fixed->step_elems[i]);
            isa_store_le(bytes + count_offset(info->rank, i), 2, fixed->count[i]);
        }
        return info->size_bytes;
    }
    for (const struct field *field = fields_of(descriptor->slot); field && field->width; field++)
        isa_store_le(bytes + field->offset, field->width, member_get(&descriptor->u, field));
    return info->size_bytes;
}

bool isa_descriptor_decode(enum isa_slot slot, enum isa_generation generation, const uint8_t *bytes, size_t len,
                           struct isa_descriptor *out)
{
    const struct isa_slot_info *info = isa_slot_info_of(slot);
    if (info->size_bytes == 0 || len != info->size_bytes)
        return false;
    memset(out, 0, sizeof *out);
    /* The variant has to be known before +4 is read: there it is an address, not a step. MEM_PATTERN is a union on v4
     * only. */
    bool has_variant = info->indirect != ISA_SLOT_NONE && (!info->is_union || generation == ISA_V4);
    if (has_variant && isa_word_is_indirect((uint32_t)isa_load_le(bytes, 4)))
        slot = (enum isa_slot)info->indirect;
    out->slot = slot;
    info = isa_slot_info_of(slot);
    if (info->form == ISA_FORM_STATIC) {
        out->u.fixed.addr = (uint32_t)isa_load_le(bytes, 4);
        out->u.fixed.rank = info->rank;
        for (unsigned i = 0; i < info->rank; i++) {
            out->u.fixed.step_elems[i] = (int16_t)isa_load_le(bytes + step_offset(i), 2);
            out->u.fixed.count[i] = (uint16_t)isa_load_le(bytes + count_offset(info->rank, i), 2);
        }
        return true;
    }
    for (const struct field *field = fields_of(slot); field && field->width; field++)
        member_set(&out->u, field, isa_load_le(bytes + field->offset, field->width));
    return true;
}

/* Dimensions outside the outermost one that counts: dropping them moves no other dimension to another slot. */
static uint32_t leading_units(const struct isa_dim *dims, uint32_t n_dims)
{
    uint32_t n = 0;
    while (n < n_dims && dims[n].count == 1)
        n++;
    return n;
}

struct isa_pack_result isa_encode_ap(const struct isa_dim *dims, uint32_t n_dims, uint32_t rank, bool keep_units,
                                     struct isa_static *out)
{
    uint32_t outermost = leading_units(dims, n_dims), used = 0;
    for (uint32_t i = outermost; i < n_dims; i++)
        used += keep_units || dims[i].count != 1;
    if (used > rank)
        return (struct isa_pack_result){ ISA_PACK_RANK, 0, used };
    out->rank = rank;
    for (uint32_t i = 0; i < ISA_MAX_RANK; i++) {
        out->step_elems[i] = i < rank ? 1 : 0;
        out->count[i] = i < rank ? 1 : 0;
    }
    uint32_t at = 0;
    for (uint32_t i = n_dims; i-- > outermost;) {
        const struct isa_dim *dim = &dims[i];
        if (dim->count < 1 || dim->count > UINT16_MAX)
            return (struct isa_pack_result){ ISA_PACK_COUNT, i, dim->count };
        if (dim->count == 1) {
            at += keep_units; /* the slot keeps the canonical (1, 1) */
            continue;
        }
        if (dim->step_elems < INT16_MIN || dim->step_elems > INT16_MAX)
            return (struct isa_pack_result){ ISA_PACK_STEP, i, dim->step_elems };
        out->step_elems[at] = (int16_t)dim->step_elems;
        out->count[at++] = (uint16_t)dim->count;
    }
    return (struct isa_pack_result){ ISA_PACK_OK, 0, 0 };
}

/*
 * The address word is one 29-bit linear address below three mode bits. SBUF and PSUM are two windows of that linear
 * space, each cut into 128 partitions at a fixed stride, so a place and its address are related by shifts alone and the
 * generation matters only for how much of a partition is backed.
 */
#include "isa/addr4.h"

bool isa_generation_of(enum bir_arch arch, enum isa_generation *generation)
{
    switch (arch) {
    case BIR_ARCH_SUNDA: *generation = ISA_V2; return true;
    case BIR_ARCH_GEN3: *generation = ISA_V3; return true;
    case BIR_ARCH_CORE_V4: *generation = ISA_V4; return true;
    default: return false;
    }
}

const char *isa_generation_name(enum isa_generation generation)
{
    static const char *const names[ISA_GENERATIONS] = { "v2", "v3", "v4" };
    return generation < ISA_GENERATIONS ? names[generation] : "?";
}

const char *isa_space_name(enum isa_space space)
{
    return space == ISA_SPACE_SBUF ? "SBUF" : space == ISA_SPACE_PSUM ? "PSUM" : "no memory";
}

uint32_t isa_backed_bytes(enum isa_generation generation, enum isa_space space)
{
    static const uint32_t sbuf_bytes[ISA_GENERATIONS] = { 0x30000, 0x38000, 0x40000 };
    return space == ISA_SPACE_PSUM ? ISA_PSUM_BACKED_BYTES : space == ISA_SPACE_SBUF ? sbuf_bytes[generation] : 0;
}

enum isa_marker isa_marker_of(uint32_t word)
{
    static const uint8_t by_bits[8] = { ISA_MARKER_IMMEDIATE,      ISA_MARKER_INDIRECT, ISA_MARKER_SHAPE,
                                        ISA_MARKER_UNKNOWN,        ISA_MARKER_REGISTER, ISA_MARKER_INDIRECT_REGISTER,
                                        ISA_MARKER_REGISTER_SHAPE, ISA_MARKER_UNKNOWN };
    return (enum isa_marker)by_bits[word >> 29];
}

const char *isa_marker_name(enum isa_marker marker)
{
    static const char *const names[ISA_MARKERS] = {
        "immediate",
        "indirect",
        "immediate, shape register",
        "address register",
        "indirect, index address register",
        "address and shape registers",
        "unknown",
    };
    return marker < ISA_MARKERS ? names[marker] : "unknown";
}

bool isa_word_is_register(uint32_t word)
{
    return ((word >> 24) & 0xA0) == 0x80;
}

bool isa_word_is_indirect(uint32_t word)
{
    return ((word >> 24) & 0x60) == 0x20;
}

bool isa_word_waives_counts(uint32_t word)
{
    return ((word >> 24) & 0x70) == 0x40;
}

uint32_t isa_partition_base(enum isa_space space, uint32_t partition)
{
    return space == ISA_SPACE_PSUM ? ISA_PSUM_BASE + partition * ISA_PSUM_STRIDE_BYTES
                                   : partition * ISA_SBUF_STRIDE_BYTES;
}

bool isa_addr4_immediate(const struct isa_place *place, uint32_t *word)
{
    if (place->partition >= ISA_PARTITIONS)
        return false;
    if (place->space == ISA_SPACE_SBUF) {
        if (place->bank != 0 || place->byte >= ISA_SBUF_STRIDE_BYTES)
            return false;
        *word = isa_partition_base(ISA_SPACE_SBUF, place->partition) + place->byte;
        return true;
    }
    if (place->space != ISA_SPACE_PSUM || place->bank >= ISA_PSUM_BANKS || place->byte >= ISA_PSUM_BANK_BYTES)
        return false;
    *word = isa_partition_base(ISA_SPACE_PSUM, place->partition) + place->bank * ISA_PSUM_BANK_BYTES + place->byte;
    return true;
}

bool isa_addr4_register(uint32_t id, uint32_t *word)
{
    if (id >= ISA_REGISTERS)
        return false;
    *word = ISA_ADDR4_REGISTER | id;
    return true;
}

enum isa_space isa_region_of(uint32_t address)
{
    return address < ISA_PSUM_BASE ? ISA_SPACE_SBUF : address < ISA_PSUM_END ? ISA_SPACE_PSUM : ISA_SPACE_NONE;
}

void isa_addr4_decode(uint32_t word, struct isa_addr4 *out)
{
    *out = (struct isa_addr4){ .word = word, .marker = isa_marker_of(word), .address = word & ISA_ADDRESS_BITS_MASK };
    out->is_register = (word & ISA_ADDR4_REGISTER) != 0;
    out->place.space = ISA_SPACE_NONE;
    if (out->is_register) {
        out->register_id = word & 0xFF;
        out->reserved = (word >> 8) & 0xFFFF;
        return;
    }
    out->place.space = isa_region_of(out->address);
    if (out->place.space == ISA_SPACE_SBUF) {
        out->place.partition = out->address / ISA_SBUF_STRIDE_BYTES;
        out->place.byte = out->address % ISA_SBUF_STRIDE_BYTES;
    } else if (out->place.space == ISA_SPACE_PSUM) {
        uint32_t inside = out->address - ISA_PSUM_BASE;
        out->place.partition = inside / ISA_PSUM_STRIDE_BYTES;
        out->place.bank = inside % ISA_PSUM_STRIDE_BYTES / ISA_PSUM_BANK_BYTES;
        out->place.byte = inside % ISA_PSUM_BANK_BYTES;
    }
}

uint64_t isa_load_le(const uint8_t *bytes, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

void isa_store_le(uint8_t *bytes, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

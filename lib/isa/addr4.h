/*
 * ADDR4: the 32-bit address word at the head of every on-chip operand (descriptors.md section 1).
 *
 * Units: *_bytes and byte count bytes, partition counts SBUF/PSUM rows. All words are little-endian on the wire.
 */
#ifndef BIR_ISA_ADDR4_H
#define BIR_ISA_ADDR4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bir/enums.h"

/* Core generations that have an encoder; index of every per-generation table. */
enum isa_generation { ISA_V2, ISA_V3, ISA_V4, ISA_GENERATIONS };

/* False for architectures out of scope (descriptors.md section 0). */
bool isa_generation_of(enum bir_arch arch, enum isa_generation *generation);
const char *isa_generation_name(enum isa_generation generation); /* "v2" */

enum isa_space { ISA_SPACE_SBUF, ISA_SPACE_PSUM, ISA_SPACE_NONE };
const char *isa_space_name(enum isa_space space); /* "SBUF", "PSUM", "no memory" */

#define ISA_PARTITIONS            128u
#define ISA_QUADRANT_PARTITIONS   32u
#define ISA_SBUF_STRIDE_BYTES     UINT32_C(0x40000) /* per partition, backed or not */
#define ISA_PSUM_STRIDE_BYTES     UINT32_C(0x8000)
#define ISA_PSUM_BANK_BYTES       UINT32_C(0x800)
#define ISA_PSUM_BANKS            8u
#define ISA_PSUM_BASE             UINT32_C(0x2000000)
#define ISA_PSUM_END              UINT32_C(0x2400000) /* first address above the PSUM window */
#define ISA_PSUM_BACKED_BYTES     (ISA_PSUM_BANKS * ISA_PSUM_BANK_BYTES)
#define ISA_ADDRESS_BITS_MASK     UINT32_C(0x1FFFFFFF)
#define ISA_ADDR4_INDIRECT        UINT32_C(0x20000000)
#define ISA_ADDR4_SHAPE_REGISTER  UINT32_C(0x40000000)
#define ISA_ADDR4_REGISTER        UINT32_C(0x80000000)
#define ISA_ADDR4_MARKER_MASK     UINT32_C(0xE0000000)
#define ISA_REGISTERS             64u /* ids the wire can name */
#define ISA_ALLOCATABLE_REGISTERS 62u /* ids the allocator hands out */

/* Bytes of one partition that memory stands behind (descriptors.md 0 and 1.2). */
uint32_t isa_backed_bytes(enum isa_generation generation, enum isa_space space);

/* The high three bits of byte 3 (descriptors.md 1.1). */
enum isa_marker {
    ISA_MARKER_IMMEDIATE,         /* 0x00 */
    ISA_MARKER_INDIRECT,          /* 0x20: index address of a gather */
    ISA_MARKER_SHAPE,             /* 0x40: immediate address, shape from a register */
    ISA_MARKER_REGISTER,          /* 0x80: address from a register */
    ISA_MARKER_INDIRECT_REGISTER, /* 0xA0 */
    ISA_MARKER_REGISTER_SHAPE,    /* 0xC0 */
    ISA_MARKER_UNKNOWN,           /* 0x60 and 0xE0 */
    ISA_MARKERS
};
enum isa_marker isa_marker_of(uint32_t word);
const char *isa_marker_name(enum isa_marker marker); /* "immediate", "address register", ... */

/* Mode tests of descriptors.md 1.1. */
bool isa_word_is_register(uint32_t word);
bool isa_word_is_indirect(uint32_t word);
/* The compiler's own checks skip the count rules for these words. */
bool isa_word_waives_counts(uint32_t word);

/* A place on the chip. */
struct isa_place {
    enum isa_space space;
    uint32_t partition;
    uint32_t bank; /* PSUM; 0 in SBUF */
    uint32_t byte; /* within the partition (SBUF), within the bank (PSUM) */
};

/* Linear address of a place; false when a member is outside the arithmetic of descriptors.md 1.2 (partition 0..127,
 * SBUF byte below the stride, bank 0..7, byte in bank below 2 KiB). Backed size is not checked here. */
bool isa_addr4_immediate(const struct isa_place *place, uint32_t *word);
/* 0x80000000 | id; false above 63. */
bool isa_addr4_register(uint32_t id, uint32_t *word);

enum isa_space isa_region_of(uint32_t address); /* window test only */
/* Start of a partition's bytes. partition below 128. */
uint32_t isa_partition_base(enum isa_space space, uint32_t partition);

struct isa_addr4 {
    uint32_t word;
    enum isa_marker marker;
    bool is_register; /* register_id counts, place does not */
    uint32_t register_id;
    uint32_t reserved;      /* bits 8..23 of a register word; 0 in a legal one */
    uint32_t address;       /* low 29 bits */
    struct isa_place place; /* space NONE when in no window; bank may be 8..15, which is not backed */
};
/* Never fails. */
void isa_addr4_decode(uint32_t word, struct isa_addr4 *out);

/* Little-endian access to unaligned bytes; width 1, 2, 4 or 8. */
uint64_t isa_load_le(const uint8_t *bytes, unsigned width);
void isa_store_le(uint8_t *bytes, unsigned width, uint64_t value);

#endif

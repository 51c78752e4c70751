/*
 * Address tables: the engine byte addresses of a set's blocks, as a DRAM set that register code reads (lowering.md 1.9,
 * corrections 7 and 10).
 *
 * For a set `S` whose name without the customary suffix "_set" is its stem `s` (lowering.md calls it the location
 * name): S-addr-table   set, kind Const, int32, tensor_shape [1, blocks]; one location s-addr-table, dims [1, 4 *
 * blocks] s-ADDR_set     set, kind Pointer, int64; one location s-ADDR whose pointer_ref_memloc is s-addr-table
 */
#ifndef BIR_PASSES_ADDRESS_TABLE_H
#define BIR_PASSES_ADDRESS_TABLE_H

#include "passes/pass.h"

/* Choice (lowering.md 1.9): an entry is one little-endian int32. */
#define BIR_ADDRESS_ENTRY_BYTES 4
#define BIR_POINTER_BYTES       8

/* Geometry (lowering.md section 2 and correction 7; descriptors.md 1.1). */
#define BIR_SB_PARTITION_STRIDE_BYTES   INT64_C(0x40000)
#define BIR_PSUM_PARTITION_STRIDE_BYTES INT64_C(0x8000)
#define BIR_PSUM_WINDOW_BYTES           INT64_C(0x2000000) /* address of the PSUM window */
#define BIR_PSUM_BANK_BYTES             INT64_C(0x800)
#define BIR_PSUM_BANKS                  8
#define BIR_PARTITIONS                  128

/* Bytes from a partition to the next; 0 for a memory that is not on chip. */
int64_t bir_partition_stride_bytes(enum bir_memory_type memory);

/* Name of the set without "_set". */
struct bir_stem {
    const char *text;
    int len; /* for "%.*s" */
};
struct bir_stem bir_set_stem(const struct bir_set *set);

/* Product of the dims, which is the location's size in bytes; false when there are none, one is negative, or it does
 * not fit 64 bits. */
bool bir_location_bytes(const struct bir_location *location, uint64_t *bytes);

/* DRAM addresses for what the passes add: behind everything of the module that has a DRAM address. */
struct bir_dram_space {
    uint64_t next_bytes;
    bool full; /* something ends beyond 64 bits */
};
void bir_dram_space_init(struct bir_dram_space *space, const struct bir_module *module);

/* A new allocated DRAM location of the set, dims [1, size_bytes]. NULL on allocation failure or when space->full. */
struct bir_location *bir_dram_location_new(struct bir_dram_space *space, struct bir_set *set,
                                           const struct bir_str *name, int64_t size_bytes) BIR_MUST_CHECK;

/* The table of a set, also when a dump was read that names it without a link; NULL when there is none. */
struct bir_set *bir_set_addr_table(struct bir_set *set);

#endif

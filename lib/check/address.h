/*
 * Where a byte of on-chip memory is, computed a second time.
 *
 * The numbers are this area's own transcription of lowering.md (8.5, 8.7 and correction 7) and descriptors.md 1.2. They
 * must not be shared with the passes: a wrong constant there has to show as a difference here.
 */
#ifndef BIR_CHECK_ADDRESS_H
#define BIR_CHECK_ADDRESS_H

#include "bir/module.h"

/* Bytes of one element; 0 when the dtype has none. */
int64_t bir_check_dtype_bytes(uint8_t dtype);

/* Bytes between equal places of neighbouring partitions; 0 when the memory is not SBUF or PSUM. */
int64_t bir_check_partition_stride_bytes(enum bir_memory_type memory);

/* Engine byte address of the location's first byte; -1 when the location is not on chip or the address is beyond 2^62.
 */
int64_t bir_check_location_entry(const struct bir_location *location);

/* Elements of one partition row of an on-chip location in units of dtype; 0 when dims do not tell. */
int64_t bir_check_location_row_elems(const struct bir_location *location, uint8_t dtype);

/* A number that stands for one element of a location in the memory model: the engine address on chip, name and byte
 * offset elsewhere. An on-chip element reached through an address register has the same number. */
uint64_t bir_check_element_key(const struct bir_location *location, int64_t offset_elems, uint8_t dtype);

#endif

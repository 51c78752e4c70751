/*
 * Addresses of SBUF and PSUM elements (see address.h for why nothing here comes from the passes).
 */
#include "check/address.h"

#define SB_PARTITION_BYTES   INT64_C(0x40000)
#define PSUM_BASE            INT64_C(0x2000000)
#define PSUM_PARTITION_BYTES INT64_C(0x8000)
#define PSUM_BANK_BYTES      INT64_C(0x800)
#define ENTRY_LIMIT          (UINT64_C(1) << 62)

int64_t bir_check_dtype_bytes(uint8_t dtype)
{
    /* By ordinal: uint8 int8 fp4x4 | fp8e3 fp8e4 fp8e4m3fn fp8e8m0 fp8e5 | fp8e4m3fnx4 fp8e5m2x4 | u16 i16 bf16 fp16 |
     * u32 i32 f32 f32r | u64 i64. */
    static const uint8_t bytes[] = { 1, 1, 2, 1, 1, 1, 1, 1, 4, 4, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8 };
    return dtype < sizeof(bytes) ? bytes[dtype] : 0;
}

int64_t bir_check_partition_stride_bytes(enum bir_memory_type memory)
{
    if (memory == BIR_MEMORY_SB)
        return SB_PARTITION_BYTES;
    return memory == BIR_MEMORY_PSUM ? PSUM_PARTITION_BYTES : 0;
}

int64_t bir_check_location_entry(const struct bir_location *location)
{
    int64_t stride_bytes = bir_check_partition_stride_bytes((enum bir_memory_type)location->type);
    if (stride_bytes == 0 || location->addr_bytes >= ENTRY_LIMIT)
        return -1;
    int64_t entry = (int64_t)location->addr_bytes + (int64_t)location->base_partition * stride_bytes;
    if (location->type == BIR_MEMORY_PSUM) {
        int64_t bank = location->bank < 0 ? -(int64_t)location->bank : location->bank;
        entry += PSUM_BASE + bank * PSUM_BANK_BYTES;
    }
    return entry;
}

int64_t bir_check_location_row_elems(const struct bir_location *location, uint8_t dtype)
{
    int64_t bytes = bir_check_dtype_bytes(dtype);
    if (bytes == 0 || !location->dims || location->dims->count < 2 || location->dims->items[1] < bytes)
        return 0;
    return location->dims->items[1] / bytes;
}

uint64_t bir_check_element_key(const struct bir_location *location, int64_t offset_elems, uint8_t dtype)
{
    uint64_t bytes = (uint64_t)bir_check_dtype_bytes(dtype);
    int64_t entry = bir_check_location_entry(location);
    int64_t row_elems = bir_check_location_row_elems(location, dtype);
    if (entry < 0 || row_elems == 0 || offset_elems < 0)
        return ((uint64_t)bir_str_hash(location->base.name) << 32) + (uint64_t)offset_elems * bytes;
    uint64_t stride_bytes = (uint64_t)bir_check_partition_stride_bytes((enum bir_memory_type)location->type);
    return (uint64_t)entry + (uint64_t)(offset_elems / row_elems) * stride_bytes +
           (uint64_t)(offset_elems % row_elems) * bytes;
}

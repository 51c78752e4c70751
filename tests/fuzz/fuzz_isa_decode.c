/*
 * Input: byte 0 the generation, byte 1 the slot (0: words, or a file of encode --format bin), the rest the bytes to
 * decode. Checked: decoding never fails on bytes of the right length, encode_raw gives a descriptor's bytes back, JSON
 * output is JSON, the listing is printed.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "isa/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void print(const uint8_t *bytes, size_t len, enum bir_arch arch, enum isa_slot slot, bool json)
{
    struct isa_decode_options options = { .arch = arch, .slot = slot, .json = json };
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_buf buf;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    bir_buf_init(&buf, 0);
    size_t unit = slot == ISA_SLOT_NONE ? 64 : isa_slot_info_of(slot)->size_bytes;
    bool container = slot == ISA_SLOT_NONE && len >= 8 && memcmp(bytes, "RISA", 4) == 0;
    bool fits = slot == ISA_SLOT_NONE ? len > 0 && len % unit == 0 : len == unit;
    enum bir_status status = isa_decode(bytes, len, &options, &diags, &buf);
    require(container ? status == BIR_OK || status == BIR_INVALID : status == (fits ? BIR_OK : BIR_INVALID));
    if (status == BIR_OK && json) {
        json_t *root = json_loadb(buf.data, buf.len, JSON_ALLOW_NUL, NULL);
        require(root != NULL);
        json_decref(root);
    }
    bir_buf_deinit(&buf);
    bir_arena_deinit(&arena);
}

static void round_trip(const uint8_t *bytes, size_t len, enum isa_generation generation, enum isa_slot slot)
{
    struct isa_descriptor descriptor;
    uint8_t again[ISA_MAX_DESCRIPTOR_BYTES];
    if (!isa_descriptor_decode(slot, generation, bytes, len, &descriptor))
        return;
    require(isa_encode_raw(&descriptor, again) == len && memcmp(again, bytes, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum bir_arch archs[ISA_GENERATIONS] = { BIR_ARCH_SUNDA, BIR_ARCH_GEN3, BIR_ARCH_CORE_V4 };
    if (size < 2 || size > 2 + 64 * 16)
        return 0;
    enum isa_generation generation = (enum isa_generation)(data[0] % ISA_GENERATIONS);
    enum isa_slot slot = (enum isa_slot)(data[1] % ISA_SLOTS);
    print(data + 2, size - 2, archs[generation], slot, true);
    print(data + 2, size - 2, archs[generation], slot, false);
    round_trip(data + 2, size - 2, generation, slot);
    return 0;
}

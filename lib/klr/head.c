/*
 * libcbor's streaming decoder finds the head and calls one of our callbacks, each of which notes kind and value. All of
 * them are set: the ones that its defaults would ignore (maps, byte strings, half floats, breaks) are kinds of their
 * own, so that the reader can refuse them by name. The decoder never looks past one item and allocates nothing.
 *
 * What libcbor does not tell: how long the head was (the callback's text pointer tells for texts, the bytes read for
 * the rest), the bits of a float (read here, because passing a signalling NaN as a float may quiet it), and the length
 * that a cut text announced (its head is decoded once more as an integer).
 */
#include "klr/head.h"

#include <cbor.h>
#include <string.h>

static void note(void *context, enum klr_head_kind kind, uint64_t value)
{
    struct klr_head *head = context;
    head->kind = kind;
    head->value = value;
}

static void on_uint8(void *context, uint8_t value)
{
    note(context, KLR_HEAD_UINT, value);
}

static void on_uint16(void *context, uint16_t value)
{
    note(context, KLR_HEAD_UINT, value);
}

static void on_uint32(void *context, uint32_t value)
{
    note(context, KLR_HEAD_UINT, value);
}

static void on_uint64(void *context, uint64_t value)
{
    note(context, KLR_HEAD_UINT, value);
}

static void on_negint8(void *context, uint8_t value)
{
    note(context, KLR_HEAD_NEGINT, value);
}

static void on_negint16(void *context, uint16_t value)
{
    note(context, KLR_HEAD_NEGINT, value);
}

static void on_negint32(void *context, uint32_t value)
{
    note(context, KLR_HEAD_NEGINT, value);
}

static void on_negint64(void *context, uint64_t value)
{
    note(context, KLR_HEAD_NEGINT, value);
}

static void on_bytes(void *context, cbor_data data, size_t length)
{
    (void)data;
    note(context, KLR_HEAD_BYTES, length);
}

static void on_text(void *context, cbor_data data, size_t length)
{
    struct klr_head *head = context;
    note(head, KLR_HEAD_TEXT, length);
    head->text = (const char *)data;
}

static void on_list(void *context, size_t length)
{
    note(context, KLR_HEAD_LIST, length);
}

static void on_map(void *context, size_t length)
{
    note(context, KLR_HEAD_MAP, length);
}

static void on_tag(void *context, uint64_t value)
{
    note(context, KLR_HEAD_TAG, value);
}

static void on_bool(void *context, bool value)
{
    note(context, KLR_HEAD_BOOL, value);
}

static void on_float16(void *context, float value)
{
    (void)value;
    note(context, KLR_HEAD_FLOAT16, 0);
}

static void on_float32(void *context, float value)
{
    (void)value;
    note(context, KLR_HEAD_FLOAT32, 0);
}

static void on_float64(void *context, double value)
{
    (void)value;
    note(context, KLR_HEAD_FLOAT64, 0);
}

static void on_null(void *context)
{
    note(context, KLR_HEAD_NULL, 0);
}

static void on_undefined(void *context)
{
    note(context, KLR_HEAD_UNDEFINED, 0);
}

static void on_indefinite(void *context)
{
    note(context, KLR_HEAD_INDEFINITE, 0);
}

static void on_break(void *context)
{
    note(context, KLR_HEAD_BREAK, 0);
}

static const struct cbor_callbacks callbacks = {
    .uint8 = on_uint8,
    .uint16 = on_uint16,
    .uint32 = on_uint32,
    .uint64 = on_uint64,
    .negint8 = on_negint8,
    .negint16 = on_negint16,
    .negint32 = on_negint32,
    .negint64 = on_negint64,
    .byte_string_start = on_indefinite,
    .byte_string = on_bytes,
    .string = on_text,
    .string_start = on_indefinite,
    .indef_array_start = on_indefinite,
    .array_start = on_list,
    .indef_map_start = on_indefinite,
    .map_start = on_map,
    .tag = on_tag,
    .float2 = on_float16,
    .float4 = on_float32,
    .float8 = on_float64,
    .undefined = on_undefined,
    .null = on_null,
    .boolean = on_bool,
    .indef_break = on_break,
};

/* The head's own length: 1 byte, or 1 + 2^k for additional information 24 to 27. */
static uint8_t head_bytes(uint8_t first)
{
    static const uint8_t bytes[] = { 2, 3, 5, 9 };
    uint32_t form = (first & 0x1fu) - 24u;
    return form < sizeof(bytes) ? bytes[form] : 1;
}

/* Notes the length that a cut text announces, when at least its head is whole. */
static void read_cut_length(const uint8_t *bytes, size_t left, struct klr_head *head)
{
    enum { MAJOR_TEXT = 3, HEAD_MAX_BYTES = 9 };
    if (left == 0 || bytes[0] >> 5 != MAJOR_TEXT || left < head->size)
        return;
    uint8_t as_integer[HEAD_MAX_BYTES];
    memcpy(as_integer, bytes, head->size);
    as_integer[0] &= 0x1f;
    cbor_stream_decode(as_integer, head->size, &callbacks, head);
    head->kind = KLR_HEAD_CUT;
    head->cut_text = true;
}

void klr_head_read(const uint8_t *bytes, size_t left, struct klr_head *head)
{
    head->first = left > 0 ? bytes[0] : 0;
    head->size = head_bytes(head->first);
    head->cut_text = false;
    struct cbor_decoder_result result = { .status = CBOR_DECODER_NEDATA };
    if (left > 0)
        result = cbor_stream_decode(bytes, left, &callbacks, head);
    if (result.status == CBOR_DECODER_FINISHED) {
        if (head->kind == KLR_HEAD_FLOAT32)
            head->value = (uint32_t)bytes[1] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 8 | bytes[4];
        return;
    }
    head->kind = result.status == CBOR_DECODER_NEDATA ? KLR_HEAD_CUT : KLR_HEAD_RESERVED;
    head->value = 0;
    if (head->kind == KLR_HEAD_CUT)
        read_cut_length(bytes, left, head);
}

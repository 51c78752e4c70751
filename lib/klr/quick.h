/*
 * The heads that nearly all values of a file have, of one to four bytes and just as the schema asks for. Each function
 * looks for one of them with one comparison against the bytes left, and moves behind it; false (or NULL), without
 * having moved, says that something else stands there, sound or not. Private to lib/klr.
 */
#ifndef KLR_QUICK_H
#define KLR_QUICK_H

#include "klr/reader.h"

/* For what nearly all values need: without a call, as registers saved and restored would be most of the work. */
#define KLR_HOT inline __attribute__((always_inline))
/* For what hardly any value needs: kept out of the frames and the way of the functions that all need. */
#define KLR_COLD __attribute__((cold, noinline))
/* For what has a call of its own: read_value goes on to it without a frame. */
#define KLR_APART __attribute__((noinline))

/* Bytes of the format. */
enum {
    /* The four bytes that begin a typed value: d9, type tag, constructor, 80 + field count (at most 23). */
    KLR_SHAPE_BYTES = 4,
    KLR_TAG16 = 0xd9,
    KLR_LIST_HEAD = 0x80,
    KLR_OPTION_TAG = 255,
    KLR_FALSE = 0xf4, /* true is the next */
};

/* Type tag, constructor and field count, all of which must be as the schema has them; NULL, without having moved, when
 * they are not. They are compared as bytes, because half of a file's heads are these; only a mismatch is worth
 * decoding. */
static KLR_HOT const struct klr_arm *klr_quick_shape(struct klr_reader *r, enum klr_type type)
{
    const struct klr_type_info *info = &klr_types[type];
    const uint8_t *bytes = r->bytes + r->pos;
    if (r->len - r->pos < KLR_SHAPE_BYTES)
        return NULL;
    const struct klr_arm *arm = &klr_arms[info->arms];
    if (memcmp(bytes, arm->wire, KLR_SHAPE_BYTES) != 0) {
        arm = klr_arm_at(info, bytes[2]);
        if (!arm || memcmp(bytes, arm->wire, KLR_SHAPE_BYTES) != 0)
            return NULL;
    }
    r->pos += KLR_SHAPE_BYTES;
    return arm;
}

static KLR_HOT bool klr_quick_integer(struct klr_reader *r, enum klr_major major, uint64_t *value)
{
    uint32_t size = klr_head_quick(r->bytes + r->pos, r->len - r->pos, major, value);
    r->pos += size;
    return size > 0;
}

static KLR_HOT bool klr_quick_int(struct klr_reader *r, union klr_slot *slot)
{
    uint64_t value;
    if (klr_quick_integer(r, KLR_MAJOR_UINT, &value))
        slot->integer = (int64_t)value;
    else if (klr_quick_integer(r, KLR_MAJOR_NEGINT, &value))
        slot->integer = -1 - (int64_t)value;
    else
        return false;
    return true;
}

static KLR_HOT bool klr_quick_nat(struct klr_reader *r, union klr_slot *slot)
{
    uint64_t value;
    if (!klr_quick_integer(r, KLR_MAJOR_UINT, &value))
        return false;
    slot->nat = value;
    return true;
}

static KLR_HOT bool klr_quick_option(struct klr_reader *r, uint8_t ctor)
{
    const uint8_t shape[KLR_SHAPE_BYTES] = { KLR_TAG16, KLR_OPTION_TAG, ctor, KLR_LIST_HEAD + ctor };
    if (r->len - r->pos < KLR_SHAPE_BYTES || memcmp(r->bytes + r->pos, shape, KLR_SHAPE_BYTES) != 0)
        return false;
    r->pos += KLR_SHAPE_BYTES;
    return true;
}

static KLR_HOT bool klr_quick_bool(struct klr_reader *r, union klr_slot *slot)
{
    uint32_t bit = r->pos < r->len ? r->bytes[r->pos] - (uint32_t)KLR_FALSE : UINT32_MAX;
    if (bit > 1)
        return false;
    r->pos++;
    slot->boolean = bit;
    return true;
}

static KLR_HOT bool klr_quick_enum(struct klr_reader *r, enum klr_type type, union klr_slot *slot)
{
    const struct klr_arm *arm = klr_quick_shape(r, type);
    if (arm)
        slot->enumerator = arm->ctor;
    return arm != NULL;
}

#endif

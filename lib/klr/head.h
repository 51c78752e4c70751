/* One CBOR head at a time: any, over libcbor's streaming decoder, or a short one of a known kind. Private to lib/klr.
 */
#ifndef KLR_HEAD_H
#define KLR_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum klr_head_kind {
    KLR_HEAD_UINT,    /* value */
    KLR_HEAD_NEGINT,  /* value: the number is -1 - value */
    KLR_HEAD_TEXT,    /* value: bytes of the text, which starts at text */
    KLR_HEAD_LIST,    /* value: elements */
    KLR_HEAD_TAG,     /* value */
    KLR_HEAD_BOOL,    /* value: 0 or 1 */
    KLR_HEAD_FLOAT32, /* value: the bits */
    KLR_HEAD_BYTES,   /* the rest never occurs in a sound file */
    KLR_HEAD_MAP,     /* value: pairs */
    KLR_HEAD_FLOAT16,
    KLR_HEAD_FLOAT64,
    KLR_HEAD_NULL,
    KLR_HEAD_UNDEFINED,
    KLR_HEAD_INDEFINITE, /* a text, byte string, list or map without a length */
    KLR_HEAD_BREAK,
    KLR_HEAD_CUT,      /* the bytes end first; value: bytes of text announced when cut_text */
    KLR_HEAD_RESERVED, /* no head: additional information 28 to 30, or an unassigned simple value */
};

struct klr_head {
    enum klr_head_kind kind;
    uint8_t size;  /* bytes of the head, without a text's own bytes */
    uint8_t first; /* the first byte, 0 when there is none */
    bool cut_text; /* the head is whole, the text behind it is not */
    uint64_t value;
    const char *text;
};

/* Reads the head at bytes, of which `left` are there. A text counts as read only when all of its bytes are there. */
void klr_head_read(const uint8_t *bytes, size_t left, struct klr_head *head);

/* Major types that values begin with, of those that are more than one byte. */
enum klr_major { KLR_MAJOR_UINT = 0, KLR_MAJOR_NEGINT = 1, KLR_MAJOR_TEXT = 3, KLR_MAJOR_LIST = 4 };

/* Bytes (1 to 3) and value of the head at bytes when it is a short one of this major type and not at the very end of
 * the file. 0 when it is not: klr_head_read tells then. */
static inline uint32_t klr_head_quick(const uint8_t *bytes, size_t left, enum klr_major major, uint64_t *value)
{
    enum { SHORT_MAX_BYTES = 3, ONE_BYTE = 24, TWO_BYTES = 25 };
    if (left < SHORT_MAX_BYTES)
        return 0;
    uint32_t form = bytes[0] ^ (uint32_t)major << 5;
    if (form < ONE_BYTE) {
        *value = form;
        return 1;
    }
    if (form == ONE_BYTE) {
        *value = bytes[1];
        return 2;
    }
    if (form == TWO_BYTES) {
        *value = (uint64_t)bytes[1] << 8 | bytes[2];
        return 3;
    }
    return 0;
}

#endif

/* One CBOR head at a time, over libcbor's streaming decoder. Private to lib/klr. */
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

#endif

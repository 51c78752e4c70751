/*
 * Frames: 8 bytes of header, JSON text, payload. No input or output happens here: bytes go in where
 * proto_frame_reader_space says, frames come out.
 *
 *     proto_frame_reader_space(&reader, &space, &room);
 *     n = read(fd, space, room);
 *     proto_frame_reader_commit(&reader, n);
 *     while ((status = proto_frame_reader_next(&reader, &frame)) == PROTO_FRAME_READY) ...
 */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/limits.h"

/* Bytes that several readers may hold together. Not thread-safe: one loop owns it. */
struct proto_budget {
    uint64_t used_bytes;
    uint64_t limit_bytes;
};

bool proto_budget_charge(struct proto_budget *budget, size_t bytes) BIR_MUST_CHECK; /* NULL budget: always true */
void proto_budget_release(struct proto_budget *budget, size_t bytes);

enum proto_frame_status {
    PROTO_FRAME_READY,
    PROTO_FRAME_MORE,       /* feed more bytes */
    PROTO_FRAME_JSON_EMPTY, /* a header that announces no JSON; the stream cannot be followed any further */
    PROTO_FRAME_JSON_SIZE,  /* ... more JSON than the limit */
};

/* Why a frame comes without its payload: the bytes were skipped, the stream is intact. */
enum proto_payload_loss { PROTO_PAYLOAD_KEPT, PROTO_PAYLOAD_SIZE, PROTO_PAYLOAD_BUDGET, PROTO_PAYLOAD_NOMEM };

struct proto_frame {
    const char *json; /* borrowed: until the next call of any reader function */
    uint32_t json_len;
    const char *payload; /* borrowed like json unless taken; NULL when payload_len is 0 or the payload was lost */
    uint32_t payload_len;
    enum proto_payload_loss loss;
};

enum proto_frame_state { PROTO_STATE_HEADER, PROTO_STATE_JSON, PROTO_STATE_PAYLOAD, PROTO_STATE_BROKEN };

struct proto_frame_reader {
    enum proto_frame_state state;
    enum proto_frame_status failure; /* in PROTO_STATE_BROKEN */
    uint64_t json_limit;
    uint64_t payload_limit;
    struct proto_budget *budget;

    char *in; /* header, JSON and whatever follows them */
    size_t in_capacity;
    size_t in_start; /* first byte not consumed */
    size_t in_end;

    uint32_t json_len;
    uint32_t payload_len;
    char *payload;
    size_t payload_capacity; /* charged to the budget */
    size_t payload_filled;   /* received, stored or skipped */
    enum proto_payload_loss loss;
    bool delivered; /* the current frame has been handed out and is released by the next call */
};

/* budget may be NULL. Allocates nothing. */
void proto_frame_reader_init(struct proto_frame_reader *reader, uint64_t json_limit, uint64_t payload_limit,
                             struct proto_budget *budget);
void proto_frame_reader_deinit(struct proto_frame_reader *reader); /* accepts a zeroed one */

/* Where the next bytes of the stream belong, at least one byte; false when there is no memory. */
bool proto_frame_reader_space(struct proto_frame_reader *reader, char **space, size_t *room) BIR_MUST_CHECK;
/* n bytes were put there; n must not exceed the room. */
void proto_frame_reader_commit(struct proto_frame_reader *reader, size_t n);

/* The next frame. Everything but READY and MORE is final: the same status is returned for ever. */
enum proto_frame_status proto_frame_reader_next(struct proto_frame_reader *reader,
                                                struct proto_frame *frame) BIR_MUST_CHECK;

/* The stored bytes of the payload that is arriving or has just been delivered, so that a digest can keep pace with the
 * stream; len 0 when nothing is stored. */
void proto_frame_reader_payload(const struct proto_frame_reader *reader, const char **bytes, size_t *len);

/* Takes the payload of the frame just delivered: the caller frees it with free() and releases *charge from the budget.
 * NULL when there is none. */
char *proto_frame_reader_take_payload(struct proto_frame_reader *reader, size_t *charge);

/* True when no frame has been started: the peer may close here without cutting one. */
bool proto_frame_reader_at_boundary(const struct proto_frame_reader *reader);

void proto_frame_header_put(unsigned char header[PROTO_FRAME_HEADER_BYTES], uint32_t json_len, uint32_t payload_len);

/* Frames the JSON that is written between the two calls; end gives false when buf failed or the JSON is longer than the
 * header can say. */
size_t proto_frame_begin(struct bir_buf *buf);
bool proto_frame_end(struct bir_buf *buf, size_t start, uint32_t payload_len) BIR_MUST_CHECK;

#endif

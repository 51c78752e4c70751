/*
 * The reader has two buffers. `in` takes header and JSON and is reused from frame to frame; bytes that arrive behind
 * them stay there until the next frame is asked for. The payload goes to a block of its own, which the caller can take
 * without a copy; while one is arriving, space() points into that block, so large payloads are read in place.
 *
 * A length is only a claim until the bytes are there. Both buffers grow by doubling with what has arrived, so that a
 * frame announced with a false length costs its sender's bytes and not ours. A payload beyond a limit is skipped and
 * the frame delivered without it: its id is known then, and the request gets a proper answer. JSON beyond the limit has
 * no such way out and breaks the stream.
 *
 * Invariants: in_start <= in_end <= in_capacity; in state PAYLOAD everything of `in` behind the JSON has been moved to
 * the payload, or the payload is complete; the JSON of the current frame stays at in_start until the frame is released.
 */
#include "proto/frame.h"

#include <stdlib.h>
#include <string.h>

/* First size of `in`: a request by digest has some 200 bytes. */
#define IN_BYTES 4096u
/* An empty `in` above this is given back. */
#define IN_KEEP_BYTES 65536u
/* First size of a payload block, unless the payload is shorter. */
#define PAYLOAD_BYTES 65536u

bool proto_budget_charge(struct proto_budget *budget, size_t bytes)
{
    if (!budget)
        return true;
    if (budget->used_bytes > budget->limit_bytes || bytes > budget->limit_bytes - budget->used_bytes)
        return false;
    budget->used_bytes += bytes;
    return true;
}

void proto_budget_release(struct proto_budget *budget, size_t bytes)
{
    if (budget)
        budget->used_bytes -= bytes;
}

void proto_frame_reader_init(struct proto_frame_reader *reader, uint64_t json_limit, uint64_t payload_limit,
                             struct proto_budget *budget)
{
    *reader = (struct proto_frame_reader){
        .state = PROTO_STATE_HEADER, .json_limit = json_limit, .payload_limit = payload_limit, .budget = budget
    };
}

static void payload_free(struct proto_frame_reader *reader)
{
    proto_budget_release(reader->budget, reader->payload_capacity);
    free(reader->payload);
    reader->payload = NULL;
    reader->payload_capacity = 0;
}

void proto_frame_reader_deinit(struct proto_frame_reader *reader)
{
    payload_free(reader);
    free(reader->in);
    reader->in = NULL;
    reader->in_capacity = reader->in_start = reader->in_end = 0;
}

static enum proto_frame_status broken(struct proto_frame_reader *reader, enum proto_frame_status failure)
{
    reader->state = PROTO_STATE_BROKEN;
    reader->failure = failure;
    return failure;
}

/* Consumes the frame that the caller has seen. */
static void release(struct proto_frame_reader *reader)
{
    if (!reader->delivered)
        return;
    payload_free(reader);
    reader->delivered = false;
    reader->in_start += reader->json_len;
    reader->state = PROTO_STATE_HEADER;
    reader->payload_filled = 0;
    reader->loss = PROTO_PAYLOAD_KEPT;
    reader->json_len = reader->payload_len = 0;
    if (reader->in_start < reader->in_end)
        return;
    reader->in_start = reader->in_end = 0;
    if (reader->in_capacity > IN_KEEP_BYTES) {
        free(reader->in);
        reader->in = NULL;
        reader->in_capacity = 0;
    }
}

/* Room for at least one more byte behind in_end. */
static bool in_reserve(struct proto_frame_reader *reader)
{
    if (reader->in_start > 0 && reader->in_end == reader->in_capacity) {
        memmove(reader->in, reader->in + reader->in_start, reader->in_end - reader->in_start);
        reader->in_end -= reader->in_start;
        reader->in_start = 0;
    }
    if (reader->in_end < reader->in_capacity)
        return true;
    size_t capacity = reader->in_capacity ? reader->in_capacity * 2 : IN_BYTES;
    char *in = realloc(reader->in, capacity);
    if (!in)
        return false;
    reader->in = in;
    reader->in_capacity = capacity;
    return true;
}

static void payload_lose(struct proto_frame_reader *reader, enum proto_payload_loss loss)
{
    payload_free(reader);
    reader->loss = loss;
}

/* Room for at least one more byte of the payload, or the payload is given up. */
static void payload_reserve(struct proto_frame_reader *reader)
{
    if (reader->payload_filled < reader->payload_capacity)
        return;
    size_t capacity = reader->payload_capacity ? reader->payload_capacity * 2 : PAYLOAD_BYTES;
    if (capacity > reader->payload_len)
        capacity = reader->payload_len;
    size_t more = capacity - reader->payload_capacity;
    if (!proto_budget_charge(reader->budget, more)) {
        payload_lose(reader, PROTO_PAYLOAD_BUDGET);
        return;
    }
    char *payload = realloc(reader->payload, capacity);
    if (!payload) {
        proto_budget_release(reader->budget, more);
        payload_lose(reader, PROTO_PAYLOAD_NOMEM);
        return;
    }
    reader->payload = payload;
    reader->payload_capacity = capacity;
}

/* Skipped payload bytes are read into `in` behind the JSON and forgotten. */
bool proto_frame_reader_space(struct proto_frame_reader *reader, char **space, size_t *room)
{
    release(reader);
    if (reader->state == PROTO_STATE_PAYLOAD && reader->loss == PROTO_PAYLOAD_KEPT)
        payload_reserve(reader);
    if (reader->state == PROTO_STATE_PAYLOAD && reader->loss == PROTO_PAYLOAD_KEPT) {
        *space = reader->payload + reader->payload_filled;
        *room = reader->payload_capacity - reader->payload_filled;
        return true;
    }
    if (!in_reserve(reader))
        return false;
    *space = reader->in + reader->in_end;
    *room = reader->in_capacity - reader->in_end;
    return true;
}

void proto_frame_reader_commit(struct proto_frame_reader *reader, size_t n)
{
    if (reader->state == PROTO_STATE_PAYLOAD && reader->loss == PROTO_PAYLOAD_KEPT)
        reader->payload_filled += n;
    else
        reader->in_end += n;
}

static uint32_t read_u32(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static enum proto_frame_status next_header(struct proto_frame_reader *reader)
{
    if (reader->in_end - reader->in_start < PROTO_FRAME_HEADER_BYTES)
        return PROTO_FRAME_MORE;
    reader->json_len = read_u32(reader->in + reader->in_start);
    reader->payload_len = read_u32(reader->in + reader->in_start + 4);
    if (reader->json_len == 0)
        return broken(reader, PROTO_FRAME_JSON_EMPTY);
    if (reader->json_len > reader->json_limit)
        return broken(reader, PROTO_FRAME_JSON_SIZE);
    reader->in_start += PROTO_FRAME_HEADER_BYTES;
    reader->loss = reader->payload_len > reader->payload_limit ? PROTO_PAYLOAD_SIZE : PROTO_PAYLOAD_KEPT;
    reader->state = PROTO_STATE_JSON;
    return PROTO_FRAME_READY;
}

/* Moves what lies behind the JSON to where it belongs. */
static void payload_fill(struct proto_frame_reader *reader)
{
    size_t from = reader->in_start + reader->json_len;
    size_t at = from;
    while (at < reader->in_end && reader->payload_filled < reader->payload_len) {
        size_t n = reader->in_end - at;
        size_t missing = reader->payload_len - reader->payload_filled;
        if (reader->loss == PROTO_PAYLOAD_KEPT)
            payload_reserve(reader);
        if (reader->loss == PROTO_PAYLOAD_KEPT)
            missing = reader->payload_capacity - reader->payload_filled;
        if (n > missing)
            n = missing;
        if (reader->loss == PROTO_PAYLOAD_KEPT)
            memcpy(reader->payload + reader->payload_filled, reader->in + at, n);
        reader->payload_filled += n;
        at += n;
    }
    memmove(reader->in + from, reader->in + at, reader->in_end - at);
    reader->in_end -= at - from;
}

enum proto_frame_status proto_frame_reader_next(struct proto_frame_reader *reader, struct proto_frame *frame)
{
    release(reader);
    if (reader->state == PROTO_STATE_BROKEN)
        return reader->failure;
    if (reader->state == PROTO_STATE_HEADER) {
        enum proto_frame_status status = next_header(reader);
        if (status != PROTO_FRAME_READY)
            return status;
    }
    if (reader->state == PROTO_STATE_JSON) {
        if (reader->in_end - reader->in_start < reader->json_len)
            return PROTO_FRAME_MORE;
        reader->state = PROTO_STATE_PAYLOAD;
    }
    if (reader->payload_filled < reader->payload_len)
        payload_fill(reader);
    if (reader->payload_filled < reader->payload_len)
        return PROTO_FRAME_MORE;
    reader->delivered = true;
    *frame = (struct proto_frame){ .json = reader->in + reader->in_start,
                                   .json_len = reader->json_len,
                                   .payload = reader->loss == PROTO_PAYLOAD_KEPT ? reader->payload : NULL,
                                   .payload_len = reader->payload_len,
                                   .loss = reader->loss };
    return PROTO_FRAME_READY;
}

void proto_frame_reader_payload(const struct proto_frame_reader *reader, const char **bytes, size_t *len)
{
    *bytes = reader->payload;
    *len = reader->payload ? reader->payload_filled : 0;
}

char *proto_frame_reader_take_payload(struct proto_frame_reader *reader, size_t *charge)
{
    char *payload = reader->delivered ? reader->payload : NULL;
    *charge = payload ? reader->payload_capacity : 0;
    if (payload) {
        reader->payload = NULL;
        reader->payload_capacity = 0;
    }
    return payload;
}

bool proto_frame_reader_at_boundary(const struct proto_frame_reader *reader)
{
    if (reader->delivered)
        return reader->in_start + reader->json_len == reader->in_end;
    return reader->state == PROTO_STATE_HEADER && reader->in_start == reader->in_end;
}

static void write_u32(unsigned char *bytes, uint32_t value)
{
    bytes[0] = (unsigned char)(value >> 24);
    bytes[1] = (unsigned char)(value >> 16);
    bytes[2] = (unsigned char)(value >> 8);
    bytes[3] = (unsigned char)value;
}

void proto_frame_header_put(unsigned char header[PROTO_FRAME_HEADER_BYTES], uint32_t json_len, uint32_t payload_len)
{
    write_u32(header, json_len);
    write_u32(header + 4, payload_len);
}

size_t proto_frame_begin(struct bir_buf *buf)
{
    static const unsigned char blank[PROTO_FRAME_HEADER_BYTES];
    size_t start = buf->len;
    bir_buf_put(buf, blank, sizeof blank);
    return start;
}

bool proto_frame_end(struct bir_buf *buf, size_t start, uint32_t payload_len)
{
    if (buf->status != BIR_OK || buf->len - start - PROTO_FRAME_HEADER_BYTES > UINT32_MAX)
        return false;
    uint32_t json_len = (uint32_t)(buf->len - start - PROTO_FRAME_HEADER_BYTES);
    proto_frame_header_put((unsigned char *)buf->data + start, json_len, payload_len);
    return true;
}

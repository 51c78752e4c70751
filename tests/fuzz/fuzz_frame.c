/*
 * The frame reader and the message parser on any stream, cut into pieces that the first bytes choose: no crash, no
 * leak, bounded memory, and the same frames for the same stream whatever the pieces.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/message.h"

#define JSON_LIMIT    4096
#define PAYLOAD_LIMIT 65536
#define BUDGET        131072

/* Reads the stream in pieces of 1 + step % 97 bytes; a hash of everything that came out. */
static uint64_t run(const uint8_t *data, size_t size, size_t step)
{
    struct proto_budget budget = { .limit_bytes = BUDGET };
    struct proto_frame_reader reader;
    struct proto_frame frame;
    enum proto_frame_status status = PROTO_FRAME_MORE;
    uint64_t hash = 14695981039346656037u;
    size_t at = 0;
    proto_frame_reader_init(&reader, JSON_LIMIT, PAYLOAD_LIMIT, &budget);
    while (at < size && status == PROTO_FRAME_MORE) {
        char *space;
        size_t room;
        if (!proto_frame_reader_space(&reader, &space, &room))
            break;
        size_t n = step ? 1 + step % 97 : size;
        n = n < room ? n : room;
        n = n < size - at ? n : size - at;
        memcpy(space, data + at, n);
        at += n;
        proto_frame_reader_commit(&reader, n);
        while ((status = proto_frame_reader_next(&reader, &frame)) == PROTO_FRAME_READY) {
            struct proto_message message;
            struct proto_fault fault;
            if (proto_message_parse(frame.json, frame.json_len, 32, 128, &message, &fault))
                proto_message_deinit(&message);
            for (size_t i = 0; i < frame.json_len; i++)
                hash = (hash ^ (uint8_t)frame.json[i]) * 1099511628211u;
            for (size_t i = 0; frame.payload && i < frame.payload_len; i++)
                hash = (hash ^ (uint8_t)frame.payload[i]) * 1099511628211u;
            hash = (hash ^ (unsigned)frame.loss) * 1099511628211u;
        }
        if (budget.used_bytes > BUDGET || reader.in_capacity > 4 * JSON_LIMIT)
            abort();
    }
    hash = (hash ^ (unsigned)status) * 1099511628211u;
    proto_frame_reader_deinit(&reader);
    if (budget.used_bytes != 0)
        abort();
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t step = data[0];
    if (run(data + 1, size - 1, 0) != run(data + 1, size - 1, step + 1))
        abort();
    return 0;
}

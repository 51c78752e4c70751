/*
 * Streams fed in pieces of every size give the same frames; limits hold before memory is spent; garbage breaks the
 * stream and nothing else.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "proto/frame.h"

struct stream {
    char bytes[400000];
    size_t len;
};

static struct stream stream;

static void put_frame(const char *json, const void *payload, size_t payload_len)
{
    unsigned char header[PROTO_FRAME_HEADER_BYTES];
    proto_frame_header_put(header, (uint32_t)strlen(json), (uint32_t)payload_len);
    memcpy(stream.bytes + stream.len, header, sizeof header);
    stream.len += sizeof header;
    memcpy(stream.bytes + stream.len, json, strlen(json));
    stream.len += strlen(json);
    if (payload_len)
        memcpy(stream.bytes + stream.len, payload, payload_len);
    stream.len += payload_len;
}

/* Up to n bytes of the stream; false when the reader has no room. Asserts nothing: libcheck allocates when it does. */
static bool feed(struct proto_frame_reader *reader, size_t *at, size_t n)
{
    char *space;
    size_t room;
    if (!proto_frame_reader_space(reader, &space, &room))
        return false;
    if (room == 0)
        return false;
    if (n > room)
        n = room;
    if (n > stream.len - *at)
        n = stream.len - *at;
    memcpy(space, stream.bytes + *at, n);
    *at += n;
    proto_frame_reader_commit(reader, n);
    return true;
}

static char big[150000];

static void fill_big(void)
{
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)(i * 31 % 251);
}

static void three_frames(void)
{
    stream.len = 0;
    put_frame("{\"a\":1}", NULL, 0);
    put_frame("{\"b\":2}", big, sizeof big);
    put_frame("{\"c\":3}", "xyz", 3);
}

static const size_t pieces[] = { 1, 2, 3, 7, 8, 9, 64, 4095, 4096, 65536, sizeof stream.bytes };

START_TEST(every_piece_size)
{
    static const char *const jsons[] = { "{\"a\":1}", "{\"b\":2}", "{\"c\":3}" };
    fill_big();
    three_frames();
    struct proto_budget budget = { .limit_bytes = 1u << 20 };
    struct proto_frame_reader reader;
    proto_frame_reader_init(&reader, 1024, 1u << 20, &budget);
    size_t frames = 0;
    size_t at = 0;
    while (at < stream.len || frames < 3) {
        struct proto_frame frame;
        enum proto_frame_status status;
        while ((status = proto_frame_reader_next(&reader, &frame)) == PROTO_FRAME_READY) {
            ck_assert_uint_lt(frames, 3);
            ck_assert_uint_eq(frame.json_len, 7);
            ck_assert_mem_eq(frame.json, jsons[frames], 7);
            ck_assert_int_eq(frame.loss, PROTO_PAYLOAD_KEPT);
            if (frames == 0)
                ck_assert_uint_eq(frame.payload_len, 0);
            if (frames == 1) {
                ck_assert_uint_eq(frame.payload_len, sizeof big);
                ck_assert_mem_eq(frame.payload, big, sizeof big);
                ck_assert_mem_eq(frame.json, jsons[1], 7);
            }
            if (frames == 2)
                ck_assert_mem_eq(frame.payload, "xyz", 3);
            frames++;
        }
        ck_assert_int_eq(status, PROTO_FRAME_MORE);
        if (at < stream.len)
            ck_assert(feed(&reader, &at, pieces[_i]));
    }
    ck_assert_uint_eq(frames, 3);
    ck_assert(proto_frame_reader_at_boundary(&reader));
    proto_frame_reader_deinit(&reader);
    ck_assert_uint_eq(budget.used_bytes, 0);
}
END_TEST

START_TEST(taken_payload_keeps_its_charge)
{
    fill_big();
    three_frames();
    struct proto_budget budget = { .limit_bytes = 1u << 20 };
    struct proto_frame_reader reader;
    proto_frame_reader_init(&reader, 1024, 1u << 20, &budget);
    size_t at = 0;
    struct proto_frame frame;
    for (int frames = 0; frames < 2;) {
        if (proto_frame_reader_next(&reader, &frame) == PROTO_FRAME_READY)
            frames++;
        else
            ck_assert(feed(&reader, &at, 1000));
    }
    size_t charge;
    char *payload = proto_frame_reader_take_payload(&reader, &charge);
    ck_assert_ptr_nonnull(payload);
    ck_assert_uint_eq(charge, sizeof big);
    proto_frame_reader_deinit(&reader);
    ck_assert_uint_eq(budget.used_bytes, charge);
    ck_assert_mem_eq(payload, big, sizeof big);
    proto_budget_release(&budget, charge);
    free(payload);
}
END_TEST

/* A header that claims 4 GiB of JSON or none at all; a claim costs no memory. */
static const struct {
    unsigned char header[8];
    enum proto_frame_status status;
} broken_headers[] = {
    { { 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0 }, PROTO_FRAME_JSON_SIZE },
    { { 0, 0, 4, 1, 0, 0, 0, 0 }, PROTO_FRAME_JSON_SIZE },
    { { 0, 0, 0, 0, 0, 0, 0, 9 }, PROTO_FRAME_JSON_EMPTY },
    { { 'G', 'E', 'T', ' ', '/', ' ', 'H', 'T' }, PROTO_FRAME_JSON_SIZE },
};

START_TEST(broken_header)
{
    stream.len = 0;
    memcpy(stream.bytes, broken_headers[_i].header, 8);
    memset(stream.bytes + 8, 'x', 92);
    stream.len = 100;
    struct proto_frame_reader reader;
    proto_frame_reader_init(&reader, 1024, 1024, NULL);
    size_t at = 0;
    struct proto_frame frame;
    ck_assert(feed(&reader, &at, 7));
    ck_assert_int_eq(proto_frame_reader_next(&reader, &frame), PROTO_FRAME_MORE);
    ck_assert(!proto_frame_reader_at_boundary(&reader));
    ck_assert(feed(&reader, &at, 93));
    for (int again = 0; again < 3; again++)
        ck_assert_int_eq(proto_frame_reader_next(&reader, &frame), broken_headers[_i].status);
    ck_assert_uint_le(reader.in_capacity, 4096);
    proto_frame_reader_deinit(&reader);
}
END_TEST

/* JSON of exactly the limit passes. */
START_TEST(json_of_the_limit)
{
    char json[1025];
    memset(json, ' ', sizeof json - 1);
    json[1024] = '\0';
    stream.len = 0;
    put_frame(json, NULL, 0);
    struct proto_frame_reader reader;
    proto_frame_reader_init(&reader, 1024, 0, NULL);
    size_t at = 0;
    struct proto_frame frame;
    while (at < stream.len)
        ck_assert(feed(&reader, &at, 100));
    ck_assert_int_eq(proto_frame_reader_next(&reader, &frame), PROTO_FRAME_READY);
    ck_assert_uint_eq(frame.json_len, 1024);
    proto_frame_reader_deinit(&reader);
}
END_TEST

/* A payload beyond the limit or the budget is skipped; the frame behind it arrives whole. */
static const struct {
    uint64_t payload_limit, budget_limit;
    enum proto_payload_loss loss;
} losses[] = {
    { sizeof big - 1, 1u << 20, PROTO_PAYLOAD_SIZE },
    { sizeof big, 100000, PROTO_PAYLOAD_BUDGET },
    { sizeof big, 3, PROTO_PAYLOAD_BUDGET },
};

START_TEST(lost_payload)
{
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        fill_big();
        three_frames();
        struct proto_budget budget = { .limit_bytes = losses[_i].budget_limit };
        struct proto_frame_reader reader;
        proto_frame_reader_init(&reader, 1024, losses[_i].payload_limit, &budget);
        size_t at = 0;
        int frames = 0;
        while (frames < 3) {
            struct proto_frame frame;
            enum proto_frame_status status = proto_frame_reader_next(&reader, &frame);
            if (status == PROTO_FRAME_MORE) {
                ck_assert(feed(&reader, &at, pieces[p]));
                continue;
            }
            ck_assert_int_eq(status, PROTO_FRAME_READY);
            ck_assert_int_eq(frame.loss, frames == 1 ? losses[_i].loss : PROTO_PAYLOAD_KEPT);
            if (frames == 1) {
                ck_assert_ptr_null(frame.payload);
                ck_assert_uint_eq(budget.used_bytes, 0);
                ck_assert_mem_eq(frame.json, "{\"b\":2}", 7);
            }
            if (frames == 2)
                ck_assert_mem_eq(frame.payload, "xyz", 3);
            frames++;
        }
        proto_frame_reader_deinit(&reader);
        ck_assert_uint_eq(budget.used_bytes, 0);
    }
}
END_TEST

/* A sender that claims much and sends little holds little. */
START_TEST(false_length)
{
    stream.len = 0;
    put_frame("{}", "abc", 3);
    proto_frame_header_put((unsigned char *)stream.bytes, 2, 1u << 30);
    struct proto_budget budget = { .limit_bytes = UINT64_C(1) << 40 };
    struct proto_frame_reader reader;
    proto_frame_reader_init(&reader, 1024, UINT32_MAX, &budget);
    size_t at = 0;
    struct proto_frame frame;
    ck_assert(feed(&reader, &at, 13));
    ck_assert_int_eq(proto_frame_reader_next(&reader, &frame), PROTO_FRAME_MORE);
    ck_assert_uint_le(budget.used_bytes, 65536);
    const char *bytes;
    size_t len;
    proto_frame_reader_payload(&reader, &bytes, &len);
    ck_assert_uint_eq(len, 3);
    ck_assert_mem_eq(bytes, "abc", 3);
    proto_frame_reader_deinit(&reader);
    ck_assert_uint_eq(budget.used_bytes, 0);
}
END_TEST

/* The n-th allocation fails: the frame comes without its payload, or the reader says that it has no room. */
START_TEST(allocation_failures)
{
    fill_big();
    for (long n = 1;; n++) {
        long live = alloc_live();
        three_frames();
        struct proto_budget budget = { .limit_bytes = 1u << 20 };
        struct proto_frame_reader reader;
        proto_frame_reader_init(&reader, 1024, 1u << 20, &budget);
        alloc_fail_at(n);
        size_t at = 0;
        int frames = 0;
        bool room = true;
        while (room && frames < 3) {
            struct proto_frame frame;
            if (proto_frame_reader_next(&reader, &frame) == PROTO_FRAME_MORE)
                room = feed(&reader, &at, 5000);
            else
                frames++;
        }
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        proto_frame_reader_deinit(&reader);
        ck_assert_int_eq(alloc_live(), live);
        ck_assert_uint_eq(budget.used_bytes, 0);
        if (!fired)
            break;
    }
}
END_TEST

START_TEST(written_frames_are_read)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    bir_buf_puts(&buf, "earlier");
    size_t start = proto_frame_begin(&buf);
    bir_buf_puts(&buf, "{\"x\":true}");
    ck_assert(proto_frame_end(&buf, start, 0x01020304));
    ck_assert_mem_eq(buf.data + 7, "\0\0\0\x0a\1\2\3\4{\"x\":true}", 18);
    bir_buf_deinit(&buf);
    bir_buf_init(&buf, 10);
    start = proto_frame_begin(&buf);
    bir_buf_puts(&buf, "{\"x\":true}");
    ck_assert(!proto_frame_end(&buf, start, 0));
    bir_buf_deinit(&buf);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tcase = tcase_create("frame");
    tcase_add_loop_test(tcase, every_piece_size, 0, sizeof pieces / sizeof pieces[0]);
    tcase_add_test(tcase, taken_payload_keeps_its_charge);
    tcase_add_loop_test(tcase, broken_header, 0, sizeof broken_headers / sizeof broken_headers[0]);
    tcase_add_test(tcase, json_of_the_limit);
    tcase_add_loop_test(tcase, lost_payload, 0, sizeof losses / sizeof losses[0]);
    tcase_add_test(tcase, false_length);
    tcase_add_test(tcase, allocation_failures);
    tcase_add_test(tcase, written_frames_are_read);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

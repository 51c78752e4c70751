/* Messages that are accepted, and for everything else the code and the id of the answer. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/message.h"

#define DEPTH    8
#define ID_BYTES 16

static const struct {
    const char *text;
    enum proto_message_kind kind;
    const char *id; /* as proto_put_id writes it */
} accepted[] = {
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}", PROTO_REQUEST, "7" },
    { "{\"jsonrpc\":\"2.0\",\"id\":-9223372036854775808,\"method\":\"ping\",\"params\":{}}", PROTO_REQUEST,
      "-9223372036854775808" },
    { "{\"method\":\"lower\",\"params\":{\"a\":[[[[1]]]]},\"id\":\"a\\\"b\",\"jsonrpc\":\"2.0\",\"more\":null}",
      PROTO_REQUEST, "\"a\\\"b\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"0123456789abcdef\",\"method\":\"x\"}", PROTO_REQUEST, "\"0123456789abcdef\"" },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":7}}", PROTO_NOTIFICATION, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", PROTO_RESULT, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}", PROTO_ERROR, "null" },
    { " {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32001,\"message\":\"m\",\"data\":{\"name\":\"busy\"}}}\n",
      PROTO_ERROR, "2" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"]]]]]]]]]{{{{{{{{{[[[[[[[[\\\"[[[\"}", PROTO_REQUEST, "1" },
};

START_TEST(accepts)
{
    struct proto_message message;
    struct proto_fault fault;
    const char *text = accepted[_i].text;
    ck_assert_msg(proto_message_parse(text, strlen(text), DEPTH, ID_BYTES, &message, &fault), "%s: %s", text,
                  fault.text);
    ck_assert_int_eq(message.kind, accepted[_i].kind);
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    proto_put_id(&buf, &message.id);
    bir_buf_putc(&buf, '\0');
    ck_assert_str_eq(buf.data, accepted[_i].id);
    bir_buf_deinit(&buf);
    proto_message_deinit(&message);
}
END_TEST

static const struct {
    const char *text;
    int code;
    const char *id;
} refused[] = {
    { "", PROTO_ERROR_PARSE, "null" },
    { "{", PROTO_ERROR_PARSE, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}x", PROTO_ERROR_PARSE, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":8,\"method\":\"ping\"}", PROTO_ERROR_PARSE, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\xff\"}", PROTO_ERROR_PARSE, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\",\"params\":{\"x\":[[[[[[[1]]]]]]]}}", PROTO_ERROR_PARSE, "null" },
    { "[]", PROTO_ERROR_REQUEST, "null" },
    { "7", PROTO_ERROR_PARSE, "null" },
    { "{\"id\":7,\"method\":\"ping\"}", PROTO_ERROR_REQUEST, "7" },
    { "{\"jsonrpc\":2.0,\"id\":7,\"method\":\"ping\"}", PROTO_ERROR_REQUEST, "7" },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":3}", PROTO_ERROR_REQUEST, "\"x\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7.5,\"method\":\"ping\"}", PROTO_ERROR_REQUEST, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":[7],\"method\":\"ping\"}", PROTO_ERROR_REQUEST, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", PROTO_ERROR_REQUEST, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":9223372036854775808,\"method\":\"ping\"}", PROTO_ERROR_PARSE, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"0123456789abcdefg\",\"method\":\"ping\"}", PROTO_ERROR_REQUEST, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":[1]}", PROTO_ERROR_PARAMS, "7" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7}", PROTO_ERROR_REQUEST, "7" },
    { "{\"jsonrpc\":\"2.0\",\"result\":{}}", PROTO_ERROR_REQUEST, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}", PROTO_ERROR_REQUEST,
      "7" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":3}", PROTO_ERROR_REQUEST, "7" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":\"1\",\"message\":\"\"}}", PROTO_ERROR_REQUEST, "7" },
};

START_TEST(refuses)
{
    struct proto_message message;
    struct proto_fault fault;
    const char *text = refused[_i].text;
    ck_assert_msg(!proto_message_parse(text, strlen(text), DEPTH, ID_BYTES, &message, &fault), "%s", text);
    ck_assert_ptr_null(message.root);
    ck_assert_msg(fault.code == refused[_i].code, "%s: %d %s", text, fault.code, fault.text);
    ck_assert_uint_gt(strlen(fault.text), 0);
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    proto_put_id(&buf, &fault.id);
    bir_buf_putc(&buf, '\0');
    ck_assert_msg(strcmp(buf.data, refused[_i].id) == 0, "%s: id %s", text, buf.data);
    bir_buf_deinit(&buf);
}
END_TEST

static const struct {
    const char *text;
    size_t prefix;
    int64_t id;
} prefixes[] = {
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":", 24, 7 },
    { "{\"jsonrpc\":\"2.0\",\"id\":0,", 24, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":123456789012345,\"", 38, 123456789012345 },
    { "{\"jsonrpc\":\"2.0\",\"id\":1234567890123456,\"", 0, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":07,\"method\":", 0, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":7", 0, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":7}", 0, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":,", 0, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"7\",", 0, 0 },
    { "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\":", 27, 7 },
    { " {\t\"jsonrpc\"\n:\r\"2.0\" ,\"id\":7 ,", 30, 7 },
    { "{\"jsonrpc\":\"2.1\",\"id\":7,", 0, 0 },
    { "{\"id\":7,\"jsonrpc\":\"2.0\",", 0, 0 },
    { "   ", 0, 0 },
    { "", 0, 0 },
};

START_TEST(finds_the_prefix)
{
    int64_t id = 0;
    ck_assert_uint_eq(proto_request_prefix(prefixes[_i].text, strlen(prefixes[_i].text), &id), prefixes[_i].prefix);
    ck_assert_int_eq(id, prefixes[_i].id);
}
END_TEST

/* What is written is read back with the same members. */
START_TEST(round_trip)
{
    struct proto_message message;
    struct proto_fault fault;
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    struct proto_id id = { .kind = PROTO_ID_STRING, .text = "q\n\"", .len = 3 };
    proto_put_request(&buf, &id, "lower", "{\"a\":1}");
    ck_assert_msg(proto_message_parse(buf.data, buf.len, DEPTH, ID_BYTES, &message, &fault), "%s", fault.text);
    ck_assert_int_eq(message.kind, PROTO_REQUEST);
    ck_assert(proto_id_equal(&message.id, &id));
    ck_assert_str_eq(message.method, "lower");
    ck_assert_int_eq(json_integer_value(json_object_get(message.params, "a")), 1);
    proto_message_deinit(&message);
    buf.len = 0;
    proto_put_error(&buf, &id, PROTO_ERROR_BAD_MODULE, "line \"1\"", "\"diagnostics\":[]");
    ck_assert_msg(proto_message_parse(buf.data, buf.len, DEPTH, ID_BYTES, &message, &fault), "%s", fault.text);
    ck_assert_int_eq(message.code, -32006);
    ck_assert_str_eq(message.error_message, "line \"1\"");
    ck_assert_str_eq(json_string_value(json_object_get(message.error_data, "name")), "bad-module");
    ck_assert(json_is_array(json_object_get(message.error_data, "diagnostics")));
    proto_message_deinit(&message);
    buf.len = 0;
    id = (struct proto_id){ .kind = PROTO_ID_INTEGER, .number = 42 };
    proto_put_request(&buf, &id, "ping", NULL);
    int64_t number;
    ck_assert_uint_ne(proto_request_prefix(buf.data, buf.len, &number), 0);
    ck_assert_int_eq(number, 42);
    bir_buf_deinit(&buf);
}
END_TEST

START_TEST(error_numbers)
{
    ck_assert_str_eq(proto_error_name(-32000), "version");
    ck_assert_str_eq(proto_error_name(-32009), "internal");
    ck_assert_str_eq(proto_error_name(-32601), "unknown-method");
    ck_assert_str_eq(proto_error_name(0), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *tcase = tcase_create("message");
    tcase_add_loop_test(tcase, accepts, 0, sizeof accepted / sizeof accepted[0]);
    tcase_add_loop_test(tcase, refuses, 0, sizeof refused / sizeof refused[0]);
    tcase_add_loop_test(tcase, finds_the_prefix, 0, sizeof prefixes / sizeof prefixes[0]);
    tcase_add_test(tcase, round_trip);
    tcase_add_test(tcase, error_numbers);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

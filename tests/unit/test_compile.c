/* The entry point of the core: options, keys, limits, cancellation, dumps, failing allocations. */
#include "compile.h"

#include <string.h>

#include "alloc_fail.h"
#include "bir/module.h"
#include "unit.h"

struct input {
    char *data;
    size_t len;
};

static struct input load(const char *name)
{
    char path[512];
    struct input input;
    snprintf(path, sizeof(path), "%s/%s", ROOST_VECTORS, name);
    input.data = unit_read_file(path, &input.len);
    return input;
}

static struct bir_compile_request request_of(enum bir_method method, struct input input)
{
    struct bir_compile_request request = { .method = method, .input = input.data, .input_len = input.len };
    bir_compile_options_init(&request.options);
    return request;
}

static void set(struct bir_compile_request *request, const char *name, const char *value)
{
    const char *problem = bir_compile_option_set(&request->options, request->method, name, value);
    ck_assert_msg(problem == NULL, "%s=%s: %s", name, value, problem);
}

static enum bir_status compile(const struct bir_compile_request *request, struct bir_compile_result *result)
{
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    return bir_compile(request, &limits, NULL, result);
}

static const char *first_message(const struct bir_compile_result *result)
{
    return result->diags.first ? result->diags.first->message : "(no diagnostic)";
}

START_TEST(every_option_has_a_default_that_can_be_set)
{
    size_t count;
    const struct bir_option *table = bir_option_table(&count);
    ck_assert_uint_gt(count, 10);
    for (size_t i = 0; i < count; i++) {
        for (int m = 0; m < BIR_METHOD_COUNT; m++) {
            if (!(table[i].methods & (1u << m)))
                continue;
            struct bir_compile_options plain, set_to_default;
            struct bir_buf a, b;
            bir_compile_options_init(&plain);
            bir_compile_options_init(&set_to_default);
            ck_assert_ptr_null(
                bir_compile_option_set(&set_to_default, (enum bir_method)m, table[i].name, table[i].default_text));
            bir_buf_init(&a, 0);
            bir_buf_init(&b, 0);
            bir_compile_options_key(&plain, (enum bir_method)m, &a);
            bir_compile_options_key(&set_to_default, (enum bir_method)m, &b);
            ck_assert_uint_eq(a.len, b.len);
            ck_assert_mem_eq(a.data, b.data, a.len);
            bir_buf_deinit(&a);
            bir_buf_deinit(&b);
        }
    }
}
END_TEST

START_TEST(wrong_options_are_named)
{
    struct bir_compile_options options;
    bir_compile_options_init(&options);
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "no_such", "1"));
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "keep_going", "true"));
    ck_assert_str_eq(bir_compile_option_set(&options, BIR_METHOD_LOWER, "check", "sometimes"),
                     "not one of sample|full|off");
    ck_assert_str_eq(bir_compile_option_set(&options, BIR_METHOD_LOWER, "arch", "inferentia"),
                     "not one of module|sunda|gen3|core_v4");
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "indent", "17"));
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "indent", "-1"));
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "indent", "2x"));
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "strict", "yes"));
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "passes", "lower_ap,no_such"));
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_LOWER, "print_after", "no_such"));
    ck_assert_ptr_null(bir_compile_option_set(&options, BIR_METHOD_LOWER, "arch", "trn2"));
    ck_assert_int_eq(options.arch, BIR_ARCH_GEN3);
}
END_TEST

START_TEST(keys_differ_exactly_when_the_request_does)
{
    struct bir_digest input, other, key, same, different;
    struct bir_compile_options options;
    bir_digest_bytes("a", 1, &input);
    bir_digest_bytes("b", 1, &other);
    bir_compile_options_init(&options);
    bir_compile_key(&input, BIR_METHOD_LOWER, &options, &key);
    ck_assert_ptr_null(bir_compile_option_set(&options, BIR_METHOD_LOWER, "check", "sample"));
    bir_compile_key(&input, BIR_METHOD_LOWER, &options, &same);
    ck_assert_mem_eq(key.bytes, same.bytes, sizeof(key.bytes));
    bir_compile_key(&other, BIR_METHOD_LOWER, &options, &different);
    ck_assert_mem_ne(key.bytes, different.bytes, sizeof(key.bytes));
    bir_compile_key(&input, BIR_METHOD_ENCODE, &options, &different);
    ck_assert_mem_ne(key.bytes, different.bytes, sizeof(key.bytes));
    ck_assert_ptr_null(bir_compile_option_set(&options, BIR_METHOD_LOWER, "check", "full"));
    bir_compile_key(&input, BIR_METHOD_LOWER, &options, &different);
    ck_assert_mem_ne(key.bytes, different.bytes, sizeof(key.bytes));
}
END_TEST

/* input, method, and what must come of it; code and pointer only for refusals. */
static const struct {
    const char *file;
    enum bir_method method;
    const char *code;
    const char *pointer;
} verdicts[] = {
    { "klr/tensor_add.klr", BIR_METHOD_LOWER, NULL, NULL },
    { "klr/tensor_add.klr", BIR_METHOD_ENCODE, NULL, NULL },
    { "klr/tensor_add.props.klr", BIR_METHOD_ENCODE, NULL, NULL },
    { "klr/tensor_add_unlowered.klr", BIR_METHOD_ENCODE, NULL, NULL },
    { "klr/matmul_tiled.klr", BIR_METHOD_ENCODE, NULL, NULL },
    { "bir/good/loop_sb.json", BIR_METHOD_ENCODE, NULL, NULL },
    { "bir/good/loop_sb_matmult.json", BIR_METHOD_ENCODE, NULL, NULL },
    { "bir/good/loop_three_operands.json", BIR_METHOD_ENCODE, NULL, NULL },
    { "bir/good/static_scale.json", BIR_METHOD_ENCODE, NULL, NULL },
    { "bir/good/loop_psum_matmult.json", BIR_METHOD_LOWER, NULL, NULL },
    { "bir/good/dynamic_row_fetch.json", BIR_METHOD_LOWER, NULL, NULL },
    { "bir/good/refuse_modulo_tile.json", BIR_METHOD_CONVERT, NULL, NULL },
    { "bir/good/loop_psum_matmult.json", BIR_METHOD_ENCODE, "isa-v04-memory",
      "/functions/0/blocks/0/instructions/0/blocks/0/instructions/0/ins/1" },
    { "bir/good/refuse_modulo_tile.json", BIR_METHOD_LOWER, "lower-block-range",
      "/functions/0/blocks/0/instructions/0/blocks/0/instructions/0/ins/0/addrs/1" },
};

START_TEST(samples_have_their_verdict)
{
    struct input input = load(verdicts[_i].file);
    struct bir_compile_request request = request_of(verdicts[_i].method, input);
    if (request.method != BIR_METHOD_CONVERT)
        set(&request, "check", "full");
    struct bir_compile_result result;
    enum bir_status status = compile(&request, &result);
    if (verdicts[_i].code) {
        ck_assert_int_eq(status, BIR_INVALID);
        ck_assert_str_eq(result.diags.first->code, verdicts[_i].code);
        ck_assert_str_eq(result.diags.first->pointer, verdicts[_i].pointer);
        ck_assert_uint_eq(result.output.len, 0);
    } else {
        ck_assert_msg(status == BIR_OK, "%s: status %d: %s", verdicts[_i].file, status, first_message(&result));
        ck_assert_uint_eq(result.diags.errors, 0);
        ck_assert_uint_gt(result.output.len, 0);
    }
    bir_compile_result_deinit(&result);
    free(input.data);
}
END_TEST

START_TEST(text_shows_control_characters)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_buf out;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 1);
    bir_buf_init(&out, 0);
    bir_diag_add(&diags, BIR_ERROR, "x", 0, "name \"%s\"", "a\n\033[2J\xC3\xA4")->pointer = "/b\r";
    bir_diags_write_text(&diags, "f", "{}", 2, false, &out);
    bir_buf_putc(&out, '\0');
    ck_assert_str_eq(out.data, "f:1:1: error: name \"a\\x0a\\x1b[2J\xC3\xA4\" [x] (at /b\\x0d)\n");
    bir_buf_deinit(&out);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(conversion_is_the_identity_on_canonical_documents)
{
    struct input input = load("bir/good/refuse_modulo_tile.json");
    struct bir_compile_request request = request_of(BIR_METHOD_CONVERT, input);
    set(&request, "indent", "2");
    struct bir_compile_result result;
    ck_assert_int_eq(compile(&request, &result), BIR_OK);
    ck_assert_uint_eq(result.output.len + 1, input.len); /* the file ends in a newline */
    ck_assert_mem_eq(result.output.data, input.data, result.output.len);
    bir_compile_result_deinit(&result);
    free(input.data);
}
END_TEST

START_TEST(equal_requests_give_equal_bytes)
{
    struct input input = load("klr/matmul_tiled.klr");
    struct bir_compile_request request = request_of(BIR_METHOD_ENCODE, input);
    struct bir_compile_result first, second;
    ck_assert_int_eq(compile(&request, &first), BIR_OK);
    ck_assert_int_eq(compile(&request, &second), BIR_OK);
    ck_assert_uint_eq(first.output.len, second.output.len);
    ck_assert_mem_eq(first.output.data, second.output.data, first.output.len);
    bir_compile_result_deinit(&first);
    bir_compile_result_deinit(&second);
    free(input.data);
}
END_TEST

/* Lowers with the given passes; the output becomes the caller's. */
static struct input lower_with(struct input input, const char *passes)
{
    struct bir_compile_request request = request_of(BIR_METHOD_LOWER, input);
    struct bir_compile_result result;
    struct input output;
    if (passes)
        set(&request, "passes", passes);
    ck_assert_msg(compile(&request, &result) == BIR_OK, "%s: %s", passes ? passes : "default", first_message(&result));
    output.data = bir_buf_steal(&result.output, &output.len);
    bir_compile_result_deinit(&result);
    return output;
}

/* A module stopped after any pass continues from its text to the same result. */
START_TEST(dumps_are_inputs_that_continue)
{
    static const char *const files[] = { "bir/good/loop_sb.json", "bir/good/loop_three_operands.json",
                                         "bir/good/loop_sb_matmult.json" };
    struct input input = load(files[_i]);
    struct input whole = lower_with(input, NULL);
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_pipeline;
    char head[512] = "", tail[512] = "";
    static const char *const order[] = { "allocate_memory", "split_engines",         "build_flow_deps",
                                         "build_anti_deps", "assign_loop_registers", "insert_address_tables",
                                         "lower_ap",        "expand_inst_late",      "color_registers" };
    const size_t n = sizeof(order) / sizeof(order[0]);
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    for (size_t cut = 1; cut < n; cut++) {
        head[0] = tail[0] = '\0';
        for (size_t i = 0; i < n; i++)
            snprintf((i < cut ? head : tail) + strlen(i < cut ? head : tail), 64, "%s%s", i == 0 || i == cut ? "" : ",",
                     order[i]);
        struct input middle = lower_with(input, head);
        struct input rest = lower_with(middle, tail);
        ck_assert_msg(rest.len == whole.len && memcmp(rest.data, whole.data, rest.len) == 0,
                      "%s: cut after %s gives another result", files[_i], order[cut - 1]);
        free(middle.data);
        free(rest.data);
    }
    bir_arena_deinit(&arena);
    free(whole.data);
    free(input.data);
}
END_TEST

START_TEST(dumps_name_their_pass)
{
    struct input input = load("klr/tensor_add.klr");
    struct bir_compile_request request = request_of(BIR_METHOD_LOWER, input);
    set(&request, "print_after", "all");
    struct bir_compile_result result;
    ck_assert_int_eq(compile(&request, &result), BIR_OK);
    bir_buf_putc(&result.dumps, '\0');
    ck_assert_ptr_nonnull(strstr(result.dumps.data, "// after klr_codegen\n{"));
    ck_assert_ptr_nonnull(strstr(result.dumps.data, "// after allocate_memory\n{"));
    ck_assert_ptr_nonnull(strstr(result.dumps.data, "// after color_registers\n{"));
    bir_compile_result_deinit(&result);
    free(input.data);
}
END_TEST

START_TEST(limits_are_named)
{
    struct input input = load("bir/good/loop_sb.json");
    struct bir_compile_request request = request_of(BIR_METHOD_LOWER, input);
    struct bir_compile_limits limits;
    struct bir_compile_result result;
    static const struct {
        size_t offset;
        size_t size;
        uint64_t value;
    } cases[] = {
        { offsetof(struct bir_compile_limits, input_bytes), sizeof(size_t), 100 },
        { offsetof(struct bir_compile_limits, output_bytes), sizeof(size_t), 100 },
        { offsetof(struct bir_compile_limits, arena_bytes), sizeof(size_t), 2000 },
        { offsetof(struct bir_compile_limits, json_depth), sizeof(uint32_t), 5 },
        { offsetof(struct bir_compile_limits, instructions), sizeof(uint64_t), 2 },
    };
    bir_compile_limits_init(&limits);
    memcpy((char *)&limits + cases[_i].offset, &cases[_i].value, cases[_i].size); /* little-endian */
    enum bir_status status = bir_compile(&request, &limits, NULL, &result);
    ck_assert_msg(status == BIR_LIMIT || status == BIR_INVALID, "status %d", status);
    ck_assert_uint_eq(result.diags.errors, 1);
    ck_assert_uint_eq(result.output.len, 0);
    bir_compile_result_deinit(&result);
    free(input.data);
}
END_TEST

START_TEST(a_set_token_cancels)
{
    struct input input = load("klr/matmul_tiled.klr");
    struct bir_compile_request request = request_of(BIR_METHOD_ENCODE, input);
    struct bir_compile_limits limits;
    struct bir_compile_result result;
    struct bir_cancel cancel = { false };
    bir_compile_limits_init(&limits);
    bir_cancel_set(&cancel);
    ck_assert_int_eq(bir_compile(&request, &limits, &cancel, &result), BIR_CANCELLED);
    ck_assert_uint_eq(result.diags.errors, 0);
    bir_compile_result_deinit(&result);
    free(input.data);
}
END_TEST

static const struct {
    const char *file;
    enum bir_method method;
} failing_runs[] = {
    { "klr/tensor_add.klr", BIR_METHOD_ENCODE },
    { "bir/good/loop_three_operands.json", BIR_METHOD_ENCODE },
    { "bir/good/dynamic_row_fetch.json", BIR_METHOD_LOWER },
    { "bir/good/refuse_modulo_tile.json", BIR_METHOD_LOWER },
    { "klr-bad/07_wrong_type_tag.klr", BIR_METHOD_CHECK },
};

/* Whatever allocation fails, the request fails cleanly, leaks nothing, and gives either the full result or none. */
START_TEST(every_allocation_may_fail)
{
    struct input input = load(failing_runs[_i].file);
    struct bir_compile_request request = request_of(failing_runs[_i].method, input);
    struct bir_compile_result result;
    enum bir_status expected = compile(&request, &result);
    bir_compile_result_deinit(&result);
    for (long n = 1;; n++) {
        long live = alloc_live();
        alloc_fail_at(n);
        enum bir_status status = compile(&request, &result);
        size_t output = result.output.len;
        bir_compile_result_deinit(&result);
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        long left = alloc_live() - live;
        ck_assert_msg(left == 0, "allocation %ld: %ld blocks leaked", n, left);
        ck_assert_msg(status == expected || status == BIR_NOMEM, "allocation %ld: status %d", n, status);
        if (status != BIR_OK)
            ck_assert_uint_eq(output, 0);
        if (!fired) {
            ck_assert_int_eq(status, expected);
            break;
        }
    }
    free(input.data);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("compile");
    TCase *tests = tcase_create("compile");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_option_has_a_default_that_can_be_set);
    tcase_add_test(tests, wrong_options_are_named);
    tcase_add_test(tests, keys_differ_exactly_when_the_request_does);
    tcase_add_loop_test(tests, samples_have_their_verdict, 0, COUNT(verdicts));
    tcase_add_test(tests, text_shows_control_characters);
    tcase_add_test(tests, conversion_is_the_identity_on_canonical_documents);
    tcase_add_test(tests, equal_requests_give_equal_bytes);
    tcase_add_loop_test(tests, dumps_are_inputs_that_continue, 0, 3);
    tcase_add_test(tests, dumps_name_their_pass);
    tcase_add_loop_test(tests, limits_are_named, 0, 5);
    tcase_add_test(tests, a_set_token_cancels);
    tcase_add_loop_test(tests, every_allocation_may_fail, 0, COUNT(failing_runs));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

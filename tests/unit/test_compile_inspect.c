/* The method inspect: fields of the operands of modules, image files and bare bytes in every form, targets, options,
 * limits. */
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "alloc_fail.h"
#include "compile.h"
#include "isa_tsv.h"
#include "unit.h"

struct input {
    char *data;
    size_t len;
};

static struct input load(const char *name)
{
    char path[512];
    struct input input;
    snprintf(path, sizeof(path), "%s/bir/good/%s", ROOST_VECTORS, name);
    input.data = unit_read_file(path, &input.len);
    return input;
}

/* Options come as pairs of name and value up to a NULL. */
static struct bir_compile_request request_of(struct input input, const char *const *options)
{
    struct bir_compile_request request = { .method = BIR_METHOD_INSPECT, .input = input.data, .input_len = input.len };
    bir_compile_options_init(&request.options);
    for (; *options; options += 2) {
        const char *problem = bir_compile_option_set(&request.options, BIR_METHOD_INSPECT, options[0], options[1]);
        ck_assert_msg(problem == NULL, "%s=%s: %s", options[0], options[1], problem);
    }
    return request;
}
#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static enum bir_status run(struct input input, const char *const *options, struct bir_compile_result *result)
{
    struct bir_compile_request request = request_of(input, options);
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    return bir_compile(&request, &limits, NULL, result);
}

/* Output of a run that must succeed; the caller frees. */
static struct input output_of(struct input input, const char *const *options)
{
    struct bir_compile_result result;
    enum bir_status status = run(input, options, &result);
    ck_assert_msg(status == BIR_OK, "status %d: %s", (int)status,
                  result.diags.first ? result.diags.first->message : "(no diagnostic)");
    struct input output = { 0 };
    output.data = bir_buf_steal(&result.output, &output.len);
    ck_assert_ptr_nonnull(output.data);
    bir_compile_result_deinit(&result);
    return output;
}

static void expect_same(struct input a, struct input b)
{
    ck_assert_uint_eq(a.len, b.len);
    ck_assert_mem_eq(a.data, b.data, a.len);
}

static void expect_failure(struct input input, const char *const *options, const char *code)
{
    struct bir_compile_result result;
    ck_assert_int_eq(run(input, options, &result), BIR_INVALID);
    ck_assert_str_eq(result.diags.first->code, code);
    ck_assert_uint_eq(result.output.len, 0);
    bir_compile_result_deinit(&result);
}

static json_t *parse(struct input text)
{
    json_error_t error;
    json_t *root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    return root;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* --- fields --- */

static json_t *field_called(json_t *image, const char *part, const char *member)
{
    json_t *segment = json_array_get(json_object_get(image, "segments"), strtoul(part, NULL, 10));
    json_t *field;
    size_t i;
    json_array_foreach(json_object_get(segment, "fields"), i,
                       field) if (strcmp(text_of(field, "member"), member) == 0) return field;
    ck_abort_msg("part %s has no member %s", part, member);
    return NULL;
}

static void expect_field(json_t *field, const struct tsv *tsv)
{
    const char *meaning = text_of(field, "meaning");
    if (strcmp(tsv->column[4], "-") != 0)
        ck_assert_msg(strcmp(text_of(field, "bytes"), tsv->column[4]) == 0, "%s %s: bytes %s, not %s", tsv->column[1],
                      tsv->column[3], text_of(field, "bytes"), tsv->column[4]);
    if (strcmp(tsv->column[5], "-") == 0)
        ck_assert_msg(meaning == NULL, "%s %s: %s", tsv->column[1], tsv->column[3], meaning);
    else
        ck_assert_msg(meaning && strcmp(meaning, tsv->column[5]) == 0, "%s %s: %s, not %s", tsv->column[1],
                      tsv->column[3], meaning ? meaning : "(nothing)", tsv->column[5]);
}

START_TEST(fields_are_those_of_the_tables)
{
    struct tsv tsv;
    tsv_open(&tsv, "abi/fields.tsv");
    while (tsv_next(&tsv)) {
        ck_assert_int_eq(tsv.columns, 6);
        struct input input = load(tsv.column[0]);
        struct input output = output_of(input, OPTIONS("target", tsv.column[1], "report", "json"));
        json_t *root = parse(output), *images = json_object_get(root, "images");
        ck_assert_uint_eq(json_array_size(images), 1);
        json_t *image = json_array_get(images, 0);
        ck_assert_str_eq(text_of(image, "name"), tsv.column[1]);
        expect_field(field_called(image, tsv.column[2], tsv.column[3]), &tsv);
        json_decref(root);
        free(output.data);
        free(input.data);
    }
    ck_assert_int_gt(tsv.rows, 80);
    tsv_close(&tsv);
}
END_TEST

static void expect_tiling(json_t *segment, json_int_t bytes)
{
    json_t *field;
    size_t i;
    json_int_t at = 0;
    json_array_foreach(json_object_get(segment, "fields"), i, field)
    {
        ck_assert_int_eq(json_integer_value(json_object_get(field, "offset")), at);
        at += json_integer_value(json_object_get(field, "size"));
    }
    if (bytes)
        ck_assert_int_eq(at, bytes);
}

/* Every operand of the module once, in program order, fields without holes; kinds and sizes as in lowering.md 1.1. */
START_TEST(modules_give_an_image_for_each_operand)
{
    static const struct {
        const char *kind;
        json_int_t bytes, count; /* in operands.json */
    } kinds[] = { { "physical_ap", 0x1E0, 8 },   { "symbolic_ap", 0x1B8, 2 },       { "register_ap", 0x118, 3 },
                  { "imm_value", 0x50, 16 },     { "symbolic_imm_value", 0xD0, 1 }, { "imm_array", 0x98, 3 },
                  { "register_access", 0x48, 0 } };
    struct input input = load("operands.json");
    struct input output = output_of(input, OPTIONS("report", "json", "indent", "2"));
    json_t *root = parse(output), *image;
    json_int_t seen[7] = { 0 };
    size_t i;
    json_array_foreach(json_object_get(root, "images"), i, image)
    {
        size_t k = 0;
        while (strcmp(kinds[k].kind, text_of(image, "kind")) != 0)
            ck_assert_uint_lt(++k, 7);
        seen[k]++;
        expect_tiling(json_array_get(json_object_get(image, "segments"), 0), kinds[k].bytes);
    }
    for (size_t k = 0; k < 7; k++)
        ck_assert_int_eq(seen[k], kinds[k].count);
    json_decref(root);
    free(output.data);
    free(input.data);
}
END_TEST

/* --- targets --- */

START_TEST(targets_name_instructions_or_operands)
{
    static const struct {
        const char *target;
        size_t images;
    } targets[] = { { "i0", 3 }, { "i0/ins/0", 1 }, { "i0/outs/0", 1 }, { "i5", 3 }, { "i5/indirection_ins/0", 1 } };
    struct input input = load("operands.json");
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        struct input output = output_of(input, OPTIONS("target", targets[t].target, "report", "json"));
        json_t *root = parse(output);
        ck_assert_uint_eq(json_array_size(json_object_get(root, "images")), targets[t].images);
        json_decref(root);
        free(output.data);
    }
    static const char *const missing[] = { "no_such", "i0/ins/2",       "i0/outs/1", "i0/in/0",
                                           "i0/ins/", "i0/ins/0000001", "/ins/0" };
    for (size_t t = 0; t < sizeof missing / sizeof *missing; t++)
        expect_failure(input, OPTIONS("target", missing[t]), "inspect-no-target");
    static const struct {
        const char *target, *message, *hint;
    } misses[] = {
        { "i0/ins/2", "there is no i0/ins/2: i0 has 2 operands in ins", "operands are counted from 0" },
        { "i0/indirection_ins/0", "there is no i0/indirection_ins/0: i0 has 0 operands in indirection_ins",
          "operands are counted from 0" },
        { "io", "nothing in the module is called io", "did you mean i0" },
        { "no_such", "nothing in the module is called no_such", "name an instruction" },
    };
    for (size_t m = 0; m < sizeof misses / sizeof *misses; m++) {
        struct bir_compile_result result;
        ck_assert_int_eq(run(input, OPTIONS("target", misses[m].target), &result), BIR_INVALID);
        ck_assert_str_eq(result.diags.first->message, misses[m].message);
        ck_assert_msg(strncmp(result.diags.first->hint, misses[m].hint, strlen(misses[m].hint)) == 0, "%s",
                      result.diags.first->hint);
        bir_compile_result_deinit(&result);
    }
    free(input.data);
}
END_TEST

/* --- image files --- */

/* A file of images prints as the module it came from, and comes back from itself. */
START_TEST(files_say_what_the_module_said)
{
    static const char *const files[] = { "operands.json",    "dynamic_row_fetch.json", "loop_sb.json",
                                         "expressions.json", "control.json",           "module.json" };
    struct input input = load(files[_i]);
    struct input text = output_of(input, OPTIONS("report", "text"));
    struct input json = output_of(input, OPTIONS("report", "json"));
    struct input file = output_of(input, OPTIONS("binary", "true"));
    struct input text_again = output_of(file, OPTIONS("image", "auto"));
    struct input json_again = output_of(file, OPTIONS("image", "auto", "report", "json"));
    struct input file_again = output_of(file, OPTIONS("image", "auto", "binary", "true"));
    expect_same(text, text_again);
    expect_same(json, json_again);
    expect_same(file, file_again);
    free(input.data);
    free(text.data);
    free(json.data);
    free(file.data);
    free(text_again.data);
    free(json_again.data);
    free(file_again.data);
}
END_TEST

/* The eight spellings: one operand each, written, asked for by its kind, refused as another. */
static const struct {
    const char *file, *target, *kind;
    bool whole; /* its object holds all */
} spellings[] = {
    { "operands.json", "i0/ins/0", "physical_ap", true },
    { "operands.json", "i5/ins/0", "physical_ap", false },
    { "loop_sb.json", "act0/ins/0", "symbolic_ap", false },
    { "loop_sb.json", "act0/ins/0", "symbolic_pwap", false },
    { "operands.json", "i1/ins/0", "register_ap", true },
    { "operands.json", "i2/ins/8", "imm_value", true },
    { "operands.json", "i3/ins/3", "symbolic_imm_value", true },
    { "operands.json", "i3/ins/0", "imm_array", true },
    { "dynamic_row_fetch.json", "ld_pos/outs/0", "register_access", true },
};

START_TEST(kinds_are_asked_for_by_name)
{
    struct input input = load(spellings[_i].file);
    const char *kind = spellings[_i].kind;
    struct input text = output_of(input, OPTIONS("target", spellings[_i].target));
    struct input file = output_of(input, OPTIONS("target", spellings[_i].target, "binary", "true"));
    struct input again = output_of(file, OPTIONS("image", kind));
    struct input file_again = output_of(file, OPTIONS("image", kind, "binary", "true"));
    expect_same(text, again);
    expect_same(file, file_again);
    expect_failure(file, OPTIONS("image", strcmp(kind, "imm_value") == 0 ? "imm_array" : "imm_value"), "abi-kind");
    expect_failure(file, OPTIONS("image", kind, "bytes", "hex"), "isa-hex");
    free(input.data);
    free(text.data);
    free(file.data);
    free(again.data);
    free(file_again.data);
}
END_TEST

/* Bytes of the object alone, as they are and as hex text: the same fields and values, pointers into the object
 * recognised. */
START_TEST(bare_bytes_print_too)
{
    struct input input = load(spellings[_i].file);
    const char *kind = spellings[_i].kind;
    struct input file = output_of(input, OPTIONS("target", spellings[_i].target, "binary", "true"));
    struct input whole = output_of(input, OPTIONS("target", spellings[_i].target, "report", "json"));
    json_t *expected = parse(whole);
    json_t *fields =
        json_object_get(json_array_get(json_object_get(json_array_get(json_object_get(expected, "images"), 0),
                                                       "segments"),
                                       0),
                        "fields");
    json_t *last = json_array_get(fields, json_array_size(fields) - 1);
    size_t size = (size_t)(json_integer_value(json_object_get(last, "offset")) +
                           json_integer_value(json_object_get(last, "size")));
    struct input bare = { file.data + 32, size }; /* behind the headers of the file and of its segment */
    struct input hex = { calloc(2 * size + 1, 1), 2 * size };
    for (size_t i = 0; i < size; i++)
        snprintf(hex.data + 2 * i, 3, "%02x", (unsigned char)bare.data[i]);
    struct input from_bytes = output_of(bare, OPTIONS("image", kind, "report", "json"));
    struct input from_hex = output_of(hex, OPTIONS("image", "auto", "report", "json"));
    expect_same(from_bytes, from_hex);
    json_t *root = parse(from_bytes), *image = json_array_get(json_object_get(root, "images"), 0);
    json_t *got = json_object_get(json_array_get(json_object_get(image, "segments"), 0), "fields");
    ck_assert_uint_eq(json_array_size(got), json_array_size(fields));
    for (size_t i = 0; i < json_array_size(got); i++) {
        json_t *a = json_array_get(got, i), *b = json_array_get(fields, i);
        ck_assert_str_eq(text_of(a, "bytes"), text_of(b, "bytes"));
        ck_assert_str_eq(text_of(a, "member"), text_of(b, "member"));
        if (text_of(b, "meaning") && strncmp(text_of(b, "meaning"), "this object", 11) == 0)
            ck_assert_str_eq(text_of(a, "meaning"), text_of(b, "meaning"));
    }
    expect_failure((struct input){ bare.data, size - 1 }, OPTIONS("image", kind, "bytes", "binary"), "abi-size");
    json_decref(root);
    json_decref(expected);
    free(from_bytes.data);
    free(from_hex.data);
    free(hex.data);
    free(whole.data);
    free(file.data);
    free(input.data);
}
END_TEST

START_TEST(wrong_kinds_are_named)
{
    static const struct {
        const char *image, *problem;
    } kinds[] = { { "register_set", "RegisterSet cannot be constructed" },
                  { "12", "RegisterSet cannot be constructed" },
                  { "0", "Unhandled argument kind" },
                  { "4", "Unhandled argument kind" },
                  { "5", "Unhandled argument kind" },
                  { "9", "Unhandled argument kind" },
                  { "10", "Unhandled argument kind" },
                  { "99", "Unhandled argument kind" },
                  { "physical", "Unsupported argument kind" },
                  { "appair", "Unsupported argument kind" } };
    struct bir_compile_options options;
    bir_compile_options_init(&options);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        ck_assert_str_eq(bir_compile_option_set(&options, BIR_METHOD_INSPECT, "image", kinds[i].image),
                         kinds[i].problem);
    static const char *const good[] = { "auto", "1", "2", "3", "6", "7", "8", "11", "inst_arg", "dynamic_ap_info" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_ptr_null(bir_compile_option_set(&options, BIR_METHOD_INSPECT, "image", good[i]));
    ck_assert_ptr_nonnull(bir_compile_option_set(&options, BIR_METHOD_EXPLAIN, "image", "auto"));
}
END_TEST

START_TEST(what_is_no_image_is_refused)
{
    char zeros[0x48] = { 0 };
    struct input input = load("operands.json");
    struct input file = output_of(input, OPTIONS("binary", "true"));
    expect_failure(input, OPTIONS("image", "auto"), "abi-kind");
    expect_failure(input, OPTIONS("image", "imm_value"), "abi-size");
    expect_failure((struct input){ zeros, sizeof zeros }, OPTIONS("image", "auto"), "abi-kind");
    expect_failure((struct input){ zeros, 0 }, OPTIONS("image", "auto"), "abi-size");
    expect_failure((struct input){ file.data, file.len - 1 }, OPTIONS("image", "auto"), "abi-file");
    expect_failure(file, OPTIONS("image", "physical_ap"), "abi-kind"); /* other kinds follow */
    file.data[4] = 2;
    expect_failure(file, OPTIONS("image", "auto"), "abi-file");
    free(file.data);
    free(input.data);
}
END_TEST

/* --- limits, cancellation, memory --- */

START_TEST(limits_are_kept)
{
    struct input input = load("operands.json");
    struct input file = output_of(input, OPTIONS("binary", "true"));
    for (int image = 0; image < 2; image++) {
        struct bir_compile_request request =
            request_of(image ? file : input, image ? OPTIONS("image", "auto") : OPTIONS("report", "text"));
        struct bir_compile_limits limits;
        struct bir_compile_result result;
        struct bir_cancel cancel = { false };
        bir_compile_limits_init(&limits);
        limits.output_bytes = 1000;
        ck_assert_int_eq(bir_compile(&request, &limits, NULL, &result), BIR_LIMIT);
        ck_assert_str_eq(result.diags.first->code, "limit-output");
        bir_compile_result_deinit(&result);
        bir_compile_limits_init(&limits);
        limits.input_bytes = request.input_len - 1;
        ck_assert_int_eq(bir_compile(&request, &limits, NULL, &result), BIR_LIMIT);
        ck_assert_str_eq(result.diags.first->code, "input-too-large");
        bir_compile_result_deinit(&result);
        bir_compile_limits_init(&limits);
        bir_cancel_set(&cancel);
        ck_assert_int_eq(bir_compile(&request, &limits, &cancel, &result), BIR_CANCELLED);
        bir_compile_result_deinit(&result);
    }
    free(file.data);
    free(input.data);
}
END_TEST

static void fail_each_allocation(struct input input, const char *const *options)
{
    struct bir_compile_request request = request_of(input, options);
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    for (long n = 1;; n++) {
        struct bir_compile_result result;
        long live = alloc_live();
        alloc_fail_at(n);
        enum bir_status status = bir_compile(&request, &limits, NULL, &result);
        size_t output = result.output.len;
        bir_compile_result_deinit(&result);
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        long left = alloc_live() - live;
        ck_assert_msg(left == 0, "allocation %ld: %ld blocks leaked", n, left);
        ck_assert_msg(status == (fired ? BIR_NOMEM : BIR_OK), "allocation %ld: status %d", n, (int)status);
        ck_assert((status == BIR_OK) == (output > 0));
        if (!fired)
            break;
    }
}

START_TEST(every_allocation_may_fail)
{
    struct input input = load("operands.json");
    struct input file = output_of(input, OPTIONS("target", "i5", "binary", "true"));
    fail_each_allocation(input, OPTIONS("target", "i5"));
    fail_each_allocation(input, OPTIONS("target", "i3", "report", "json"));
    fail_each_allocation(file, OPTIONS("image", "auto"));
    fail_each_allocation(file, OPTIONS("image", "physical_ap", "binary", "true"));
    free(file.data);
    free(input.data);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("compile_inspect");
    TCase *tests = tcase_create("compile_inspect");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, fields_are_those_of_the_tables);
    tcase_add_test(tests, modules_give_an_image_for_each_operand);
    tcase_add_test(tests, targets_name_instructions_or_operands);
    tcase_add_loop_test(tests, files_say_what_the_module_said, 0, 6);
    tcase_add_loop_test(tests, kinds_are_asked_for_by_name, 0, COUNT(spellings));
    tcase_add_loop_test(tests, bare_bytes_print_too, 0, COUNT(spellings));
    tcase_add_test(tests, wrong_kinds_are_named);
    tcase_add_test(tests, what_is_no_image_is_refused);
    tcase_add_test(tests, limits_are_kept);
    tcase_add_test(tests, every_allocation_may_fail);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

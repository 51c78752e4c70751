#define _GNU_SOURCE /* memmem, strtok_r */
#include "klr/klr.h"

#include <dirent.h>
#include <stdbool.h>

#include "alloc_fail.h"
#include "base/cancel.h"
#include "klr_tree.h"
#include "klr_tsv.h"

/* A file read into an arena of its own. */
struct read_result {
    char *bytes;
    size_t len;
    struct bir_arena arena;
    struct bir_strtab strings;
    struct bir_diags diags;
    enum bir_status status;
    struct klr_file file;
};

static void result_read(struct read_result *result, const struct klr_limits *limits, size_t arena_limit)
{
    bir_arena_init(&result->arena, arena_limit);
    bir_strtab_init(&result->strings, &result->arena);
    bir_diags_init(&result->diags, &result->arena, 50);
    result->file = (struct klr_file){ 0 };
    result->status =
        klr_read(result->bytes, result->len, limits, &result->strings, &result->arena, &result->diags, &result->file);
}

static void result_open(struct read_result *result, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), ROOST_VECTORS "/%s", name);
    result->bytes = unit_read_file(path, &result->len);
}

static void result_close(struct read_result *result)
{
    bir_arena_deinit(&result->arena);
    free(result->bytes);
}

static void read_vector(struct read_result *result, const char *name)
{
    result_open(result, name);
    result_read(result, NULL, 0);
}

static json_t *tree_of(const char *name)
{
    struct read_result result;
    read_vector(&result, name);
    ck_assert_msg(result.status == BIR_OK, "%s: %s", name, result.diags.first ? result.diags.first->message : "?");
    json_t *tree = klr_tree_file(&result.file, false);
    result_close(&result);
    return tree;
}

/* Names of the vectors below directory that end in suffix; calls visit for each and returns how many. */
static size_t each_vector(const char *directory, const char *suffix, void (*visit)(const char *name))
{
    char path[512];
    size_t count = 0;
    snprintf(path, sizeof(path), ROOST_VECTORS "/%s", directory);
    DIR *entries = opendir(path);
    ck_assert_ptr_nonnull(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        size_t len = strlen(entry->d_name), suffix_len = strlen(suffix);
        if (len <= suffix_len || strcmp(entry->d_name + len - suffix_len, suffix) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        visit(path);
        count++;
    }
    closedir(entries);
    return count;
}

static void visit_sample(const char *name)
{
    struct read_result result;
    read_vector(&result, name);
    ck_assert(klr_is_klr(result.bytes, result.len));
    if (strcmp(name, "klr/contents_hlo.klr") == 0) {
        ck_assert_int_eq(result.status, BIR_INVALID);
        ck_assert_str_eq(result.diags.first->code, "klr-content-kind");
        ck_assert_ptr_nonnull(strstr(result.diags.first->message, "(hlo)"));
    } else {
        ck_assert_msg(result.status == BIR_OK, "%s: %s", name, result.diags.first ? result.diags.first->message : "?");
        ck_assert_uint_eq(result.diags.count, 0);
        ck_assert(bir_str_is(result.file.metadata, "NKI"));
        bool one_core = strcmp(name, "klr/contents_kernel.klr") == 0;
        ck_assert_int_eq(result.file.content, one_core ? KLR_CONTENT_KERNEL : KLR_CONTENT_LNC);
        ck_assert_int_eq(result.file.kernel->type, one_core ? KLR_TYPE_Kernel : KLR_TYPE_LncKernel);
        bool cpp = strstr(name, ".props.") != NULL, empty = strstr(name, "/empty_") != NULL;
        ck_assert_int_eq(result.file.dialect, empty ? KLR_DIALECT_UNDECIDED : cpp ? KLR_DIALECT_CPP : KLR_DIALECT_LEAN);
    }
    result_close(&result);
}

START_TEST(samples_are_read_to_the_last_byte)
{
    ck_assert_uint_eq(each_vector("klr", ".klr", visit_sample), 26);
}
END_TEST

static void visit_rendering(const char *name)
{
    char path[512];
    json_error_t error;
    if (strcmp(name, "klr/contents_hlo.json") == 0)
        return;
    snprintf(path, sizeof(path), ROOST_VECTORS "/%s", name);
    json_t *expected = json_load_file(path, JSON_ALLOW_NUL, &error);
    ck_assert_msg(expected != NULL, "%s: %s", name, error.text);
    snprintf(path, sizeof(path), "%.*s.klr", (int)(strlen(name) - strlen(".json")), name);
    json_t *tree = tree_of(path);
    ck_assert_msg(json_equal(tree, expected), "%s differs from its rendering", path);
    json_decref(tree);
    json_decref(expected);
}

START_TEST(trees_equal_their_renderings)
{
    ck_assert_uint_eq(each_vector("klr", ".json", visit_rendering), 21);
}
END_TEST

static void visit_props(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%.*s.klr", (int)(strlen(name) - strlen(".props.klr")), name);
    json_t *with = tree_of(name), *without = tree_of(path);
    ck_assert_msg(json_equal(with, without), "%s differs from %s", name, path);
    json_decref(with);
    json_decref(without);
}

START_TEST(dialects_hold_the_same_values)
{
    ck_assert_uint_eq(each_vector("klr", ".props.klr", visit_props), 3);
}
END_TEST

/* One row of VERDICTS.tsv. */
struct verdict {
    const char *file, *verdict, *code, *offset, *message, *pointer, *hint;
};

static bool stated(const char *column)
{
    return strcmp(column, "-") != 0;
}

static void check_diag(const struct read_result *result, const struct verdict *want)
{
    const struct bir_diag *diag = result->diags.first;
    ck_assert_msg(diag != NULL, "%s: no diagnostic", want->file);
    ck_assert_msg(strcmp(diag->code, want->code) == 0, "%s: code %s", want->file, diag->code);
    ck_assert_msg(diag->offset == strtoll(want->offset, NULL, 10), "%s: offset %lld", want->file,
                  (long long)diag->offset);
    ck_assert_msg(strstr(diag->message, want->message) != NULL, "%s: message %s", want->file, diag->message);
    if (stated(want->hint))
        ck_assert_msg(diag->hint && strstr(diag->hint, want->hint), "%s: hint %s", want->file, diag->hint);
    if (!stated(want->pointer))
        return;
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    const char *path = klr_path_at(result->bytes, result->len, (size_t)diag->offset, &arena);
    ck_assert_msg(path && strcmp(path, want->pointer) == 0, "%s: path %s", want->file, path);
    bir_arena_deinit(&arena);
}

static void check_verdict(const struct verdict *want)
{
    struct read_result result;
    read_vector(&result, want->file);
    bool warned = strcmp(want->verdict, "warn") == 0, accepted = strcmp(want->verdict, "accept") == 0;
    enum bir_status status = warned || accepted                    ? BIR_OK
                             : strcmp(want->verdict, "limit") == 0 ? BIR_LIMIT
                                                                   : BIR_INVALID;
    ck_assert_msg(result.status == status, "%s: status %d", want->file, result.status);
    ck_assert_msg(result.diags.count == (accepted ? 0 : 1), "%s: %u diagnostics", want->file, result.diags.count);
    ck_assert_uint_eq(result.diags.errors, warned || accepted ? 0 : 1);
    if (!accepted)
        check_diag(&result, want);
    if (status != BIR_OK)
        ck_assert_ptr_null(result.file.kernel);
    result_close(&result);
}

/* Calls visit with the columns of every row of a table of vectors; returns how many rows. */
static size_t each_row(const char *name, size_t columns, void (*visit)(const char *const *columns))
{
    size_t len, rows = 0;
    char path[512], *rest = NULL;
    snprintf(path, sizeof(path), ROOST_VECTORS "/%s", name);
    char *text = unit_read_file(path, &len);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *cells[TSV_COLUMNS];
        if (line[0] == '#' || strncmp(line, "file\t", 5) == 0)
            continue;
        ck_assert_uint_eq(tsv_split(line, cells, columns), columns);
        visit(cells);
        rows++;
    }
    free(text);
    return rows;
}

static void visit_verdict(const char *const *c)
{
    check_verdict(&(struct verdict){ c[0], c[1], c[2], c[3], c[4], c[5], c[6] });
}

START_TEST(bad_and_old_files_get_their_verdicts)
{
    ck_assert_uint_eq(each_row("klr-bad/VERDICTS.tsv", 7, visit_verdict), 47 + 3);
}
END_TEST

static void visit_path(const char *const *c)
{
    struct read_result result;
    struct bir_arena arena;
    result_open(&result, c[0]);
    bir_arena_init(&arena, 0);
    const char *path = klr_path_at(result.bytes, result.len, strtoul(c[1], NULL, 10), &arena);
    ck_assert_msg(path && strcmp(path, c[2]) == 0, "%s at %s: %s, not %s", c[0], c[1], path, c[2]);
    bir_arena_deinit(&arena);
    free(result.bytes);
}

START_TEST(paths_name_the_value_at_an_offset)
{
    ck_assert_uint_gt(each_row("klr/PATHS.tsv", 3, visit_path), 150);
}
END_TEST

START_TEST(paths_escape_names_and_survive_damage)
{
    struct read_result result;
    struct bir_arena arena;
    result_open(&result, "klr/tensor_add.klr");
    bir_arena_init(&arena, 0);
    /* The name of the first statement, inst.1, and an offset in its dst. */
    char *name = memmem(result.bytes, result.len, "inst.1", 6);
    ck_assert_ptr_nonnull(name);
    memcpy(name, "a/b~cd", 6);
    ck_assert_str_eq(klr_path_at(result.bytes, result.len, 325, &arena),
                     "/bodies/0/main.1/a~1b~0cd/dst/access/pattern/0/step");
    /* Cut before the name: its position stands in. */
    size_t cut = (size_t)(name - result.bytes) - 1;
    ck_assert_str_eq(klr_path_at(result.bytes, cut, 325, &arena), "/bodies/0/main.1/0/dst/access/pattern/0/step");
    /* Behind the damage: the value that could not be read. */
    ck_assert_str_eq(klr_path_at(result.bytes, cut, cut - 1, &arena), "/bodies/0/main.1/0/name");
    ck_assert_str_eq(klr_path_at(result.bytes, 0, 0, &arena), "");
    ck_assert_str_eq(klr_path_at("{}", 2, 1, &arena), "");
    bir_arena_deinit(&arena);
    free(result.bytes);
}
END_TEST

START_TEST(every_prefix_is_refused)
{
    struct read_result result;
    result_open(&result, "klr/gather.klr");
    size_t whole = result.len;
    for (result.len = 0; result.len < whole; result.len++) {
        char *copy = malloc(result.len + 1), *bytes = result.bytes; /* own block: overruns show under a sanitizer */
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, bytes, result.len);
        result.bytes = realloc(copy, result.len ? result.len : 1);
        result_read(&result, NULL, 0);
        ck_assert_int_eq(result.status, BIR_INVALID);
        ck_assert_uint_eq(result.diags.errors, 1);
        ck_assert_int_le(result.diags.first->offset, (int64_t)result.len);
        ck_assert_ptr_nonnull(klr_path_at(result.bytes, result.len, (size_t)result.diags.first->offset, &result.arena));
        bir_arena_deinit(&result.arena);
        free(result.bytes);
        result.bytes = bytes;
    }
    free(result.bytes);
}
END_TEST

START_TEST(values_reach_their_accessors)
{
    struct read_result result;
    read_vector(&result, "klr/tensor_add.klr");
    const struct klr_node *kernel = result.file.kernel;
    ck_assert(bir_str_is(klr_string_at(kernel, KLR_LncKernel_name), "nki_tensor_add"));
    const struct klr_list *blocks = klr_list_at(kernel, KLR_LncKernel_bodies)->items[0].list;
    const struct klr_node *block = blocks->items[0].node;
    ck_assert(!klr_bool_at(block, KLR_Block_noReorder));
    const struct klr_node *stmt = klr_list_at(block, KLR_Block_body)->items[2].node;
    const struct klr_node *op = klr_node_at(stmt, KLR_Stmt_oper_op);
    ck_assert_int_eq(op->ctor, KLR_Operator_tensorTensor);
    ck_assert_uint_eq(klr_offset(op), 831);
    const struct klr_node *add = klr_node_at(op, KLR_Operator_op);
    ck_assert_int_eq(add->type, KLR_TYPE_TensorTensor);
    ck_assert_uint_eq(klr_enum_at(add, KLR_TensorTensor_op), KLR_AluOp_add);
    uint32_t dtype = 99;
    ck_assert(klr_option_enum(add, KLR_TensorTensor_dtype, &dtype));
    ck_assert_uint_eq(dtype, KLR_Dtype_float32);
    uint64_t line = 0;
    ck_assert(klr_option_nat(klr_node_at(stmt, KLR_Stmt_oper_pos), KLR_Pos_lineEnd, &line));
    ck_assert_uint_eq(result.file.statements, 4);
    ck_assert_uint_eq(result.file.version[2], 12);
    result_close(&result);
}
END_TEST

START_TEST(equal_tensors_are_one_node)
{
    struct read_result result;
    read_vector(&result, "klr/contents_kernel.klr");
    const struct klr_node *input = klr_list_at(result.file.kernel, KLR_Kernel_inputs)->items[0].node;
    const struct klr_node *output = klr_list_at(result.file.kernel, KLR_Kernel_outputs)->items[0].node;
    ck_assert_ptr_eq(input, output); /* the file writes x as both */
    ck_assert_uint_eq(klr_offset(input), 0x1b);
    ck_assert_uint_eq(result.file.tensors, 2);
    result_close(&result);
}
END_TEST

static void put(struct read_result *result, const char *bytes, size_t len)
{
    result->bytes = realloc(result->bytes, result->len + len);
    ck_assert_ptr_nonnull(result->bytes);
    memcpy(result->bytes + result->len, bytes, len);
    result->len += len;
}

#define PUT(result, bytes) put((result), (bytes), sizeof(bytes) - 1)

/* A kernel up to its inputs. */
#define KERNEL_START "\xd9\xd9\xf7\x83\0\0\x0c\xd9\xeb\0\x81\x63NKI\xd9\xec\3\x81\xd9\x6c\0\x87\x60"
/* A float32 tensor of name x up to its free dimensions. */
#define TENSOR_START "\xd9\x72\0\x88\x61x\xd9\x6f\5\x80\xd9\x70\0\x82\1"

/* One element of 4 bytes in an address that has free_size bytes a partition. */
static void put_tensor(struct read_result *result, uint16_t free_size)
{
    char size[] = { 0x19, (char)(free_size >> 8), (char)free_size };
    PUT(result, TENSOR_START "\x80\xd9\x71\0\x87\x61x\xd9\x6e\0\x80\1");
    put(result, size, sizeof(size));
    PUT(result, "\xd9\xff\0\x80\xd9\xff\0\x80\xf4\1\xf5");
}

START_TEST(tensors_of_one_name_stay_apart)
{
    enum { VARIANTS = 40, ROUNDS = 3 }; /* far more than the reader has hints for a name */
    struct read_result result = { 0 };
    PUT(&result, KERNEL_START "\x98\x78");
    for (int i = 0; i < VARIANTS * ROUNDS; i++)
        put_tensor(&result, (uint16_t)(4 + i % VARIANTS));
    PUT(&result, "\x80\x80\x80\x80\x80");
    result_read(&result, NULL, 0);
    ck_assert_msg(result.status == BIR_OK, "%s", result.diags.first ? result.diags.first->message : "?");
    ck_assert_uint_eq(result.file.tensors, VARIANTS);
    const struct klr_list *inputs = klr_list_at(result.file.kernel, KLR_LncKernel_inputs);
    ck_assert_uint_eq(inputs->count, VARIANTS * ROUNDS);
    for (uint32_t i = 0; i < VARIANTS * ROUNDS; i++) {
        const struct klr_node *tensor = inputs->items[i].node;
        ck_assert_ptr_eq(tensor, inputs->items[i % VARIANTS].node);
        ck_assert_uint_eq(klr_nat_at(klr_node_at(tensor, KLR_TensorName_address), KLR_Address_freeSize),
                          4 + i % VARIANTS);
    }
    result_close(&result);
}
END_TEST

START_TEST(faults_of_one_tensor_are_told_once)
{
    struct read_result result = { 0 };
    PUT(&result, KERNEL_START "\x98\x28");
    for (int i = 0; i < 40; i++)
        put_tensor(&result, (uint16_t)(i % 20 == 0 ? 3 : 4 + i % 20)); /* the first and the 20th: a byte too few */
    PUT(&result, "\x80\x80\x80\x80\x80");
    result_read(&result, NULL, 0);
    ck_assert_int_eq(result.status, BIR_INVALID);
    ck_assert_uint_eq(result.diags.count, 1);
    ck_assert_str_eq(result.diags.first->code, "klr-tensor-size");
    result_close(&result);
}
END_TEST

/* The token must be found long before the end. */
static void check_cancelled(struct read_result *result)
{
    struct bir_cancel cancel = { false };
    struct klr_limits limits = KLR_LIMITS_DEFAULT;
    limits.cancel = &cancel;
    bir_cancel_set(&cancel);
    result_read(result, &limits, 0);
    ck_assert_int_eq(result->status, BIR_CANCELLED);
    ck_assert_uint_eq(result->diags.count, 0);
    ck_assert_ptr_null(result->file.kernel);
    ck_assert_uint_lt(bir_arena_used(&result->arena), 256 * 1024);
}

START_TEST(reading_is_cancelled)
{
    struct read_result result;
    struct bir_cancel cancel = { false };
    struct klr_limits limits = KLR_LIMITS_DEFAULT;
    limits.cancel = &cancel;
    result_open(&result, "klr/flash_attention_2k.klr");
    result_read(&result, &limits, 0);
    ck_assert_int_eq(result.status, BIR_OK);
    bir_arena_deinit(&result.arena);
    check_cancelled(&result);
    result_close(&result);
}
END_TEST

START_TEST(reading_a_list_of_numbers_is_cancelled)
{
    static const char zeros[2000] = { 0 };
    struct read_result result = { 0 };
    PUT(&result, KERNEL_START "\x81" TENSOR_START "\x99\x07\xd0");
    put(&result, zeros, sizeof(zeros)); /* 2000 free dimensions, and then the file ends */
    check_cancelled(&result);
    bir_arena_deinit(&result.arena);
    result_read(&result, NULL, 0);
    ck_assert_int_eq(result.status, BIR_INVALID);
    ck_assert_int_eq(result.diags.first->offset, (int64_t)result.len);
    result_close(&result);
}
END_TEST

START_TEST(memory_is_below_three_times_the_file)
{
    struct read_result result;
    struct bir_arena probe;
    bir_arena_init(&probe, 0);
    ck_assert_ptr_nonnull(bir_arena_alloc(&probe, BIR_MEM_OTHER, 8));
    bool red_zones = bir_arena_used(&probe) > 8; /* a sanitizer's, which are no part of the claim */
    bir_arena_deinit(&probe);
    read_vector(&result, "klr/flash_attention_2k.klr");
    ck_assert_int_eq(result.status, BIR_OK);
    ck_assert_uint_eq(result.file.statements, 2000);
    ck_assert_uint_eq(result.file.tensors, 1747); /* klr-format.md 12 */
    if (!red_zones) {
        ck_assert_uint_lt(bir_arena_used(&result.arena), 3 * result.len);
        ck_assert_uint_lt(result.arena.reserved_bytes, 3 * result.len);
    }
    result_close(&result);
}
END_TEST

START_TEST(limits_are_named)
{
    struct read_result result;
    result_open(&result, "klr-bad/46_nesting_300.klr");
    result_read(&result, &(struct klr_limits){ 300, 1 << 20, 100, NULL }, 0);
    ck_assert_int_eq(result.status, BIR_LIMIT); /* 300 nested ones in the access that is the operand */
    bir_arena_deinit(&result.arena);
    result_read(&result, &(struct klr_limits){ 301, 1 << 20, 100, NULL }, 0);
    ck_assert_msg(result.status == BIR_OK, "%s", result.diags.first->message);
    result_close(&result);

    result_open(&result, "klr-bad/47_nesting_20000.klr");
    result_read(&result, &(struct klr_limits){ UINT32_MAX, 1 << 20, 100, NULL }, 0);
    ck_assert_int_eq(result.status, BIR_LIMIT);
    ck_assert_ptr_nonnull(strstr(result.diags.first->message, "more than 1024 deep"));
    result_close(&result);

    result_open(&result, "klr/tensor_add.klr");
    result_read(&result, &(struct klr_limits){ 1, 1 << 20, 3, NULL }, 0);
    ck_assert_int_eq(result.status, BIR_LIMIT);
    ck_assert_str_eq(result.diags.first->code, "klr-statement-limit");
    bir_arena_deinit(&result.arena);
    result_read(&result, &(struct klr_limits){ 1, 20, 4, NULL }, 0);
    ck_assert_int_eq(result.status, BIR_LIMIT);
    ck_assert_str_eq(result.diags.first->code, "klr-string-limit"); /* the longest, a file name, has 21 bytes */
    bir_arena_deinit(&result.arena);
    result_read(&result, &(struct klr_limits){ 1, 21, 4, NULL }, 0);
    ck_assert_int_eq(result.status, BIR_OK);
    bir_arena_deinit(&result.arena);
    result_read(&result, NULL, 4096);
    ck_assert_int_eq(result.status, BIR_LIMIT);
    ck_assert_uint_ge(result.diags.errors, 1);
    result_close(&result);
}
END_TEST

/* tensor_add with one byte changed must be refused with a hint that holds the text. */
static void check_hint(size_t offset, int byte, const char *code, const char *text)
{
    struct read_result result;
    result_open(&result, "klr/tensor_add.klr");
    result.bytes[offset] = (char)byte;
    result_read(&result, NULL, 0);
    ck_assert_int_eq(result.status, BIR_INVALID);
    ck_assert_str_eq(result.diags.first->code, code);
    ck_assert_msg(strstr(result.diags.first->hint, text) != NULL, "hint: %s", result.diags.first->hint);
    result_close(&result);
}

START_TEST(likely_revisions_are_named)
{
    /* klr-format.md 7; the third statement's operator begins at 831, its tensorTensor at 835, the kernel at 19. */
    check_hint(832, 187, "klr-wrong-tag", "Operator has type tag 187, so from 2025-07-25 to 2025-08-18");
    check_hint(832, 201, "klr-wrong-tag", "Operator has type tag 201, so from 2025-10-07 to 2025-10-22");
    check_hint(832, 217, "klr-wrong-tag", "Operator has type tag 217, so from 2026-01-22 to 2026-01-29");
    check_hint(832, 180, "klr-wrong-tag", "before 2025-07-25");
    check_hint(832, 219, "klr-wrong-tag", "no revision up to leanprover/KLR 7ccd18c");
    check_hint(20, 107, "klr-wrong-tag", "2025-09-19 (c7ccdc3)");
    check_hint(22, 0x86, "klr-field-count", "2025-09-19 (c7ccdc3) to 2025-12-17 (25933ae)");
    check_hint(68, 0x86, "klr-field-count", "2025-08-15 (4cc0ddc) to 2025-10-10 (b66718a)"); /* first Address, at 65 */
}
END_TEST

static void fail_each_allocation(const char *name)
{
    struct read_result result;
    result_open(&result, name);
    bool fired = true;
    for (long n = 1; fired; n++) {
        long live = alloc_live();
        alloc_fail_at(n);
        result_read(&result, NULL, 0);
        bool located = klr_path_at(result.bytes, result.len, 500, &result.arena) != NULL;
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        bir_arena_deinit(&result.arena);
        long left = alloc_live() - live; /* taken here, because Check's own allocations count too */
        ck_assert_int_eq(left, 0);
        ck_assert(result.status == BIR_OK || result.status == BIR_NOMEM);
        ck_assert(fired || (result.status == BIR_OK && located));
    }
    free(result.bytes);
}

START_TEST(failing_allocations_fail_the_read)
{
    fail_each_allocation("klr/gather.klr");
    fail_each_allocation("klr/matmul_tiled.klr");
    fail_each_allocation("klr/limits.klr");
}
END_TEST

START_TEST(sniffing)
{
    ck_assert(klr_is_klr("\xd9\xd9\xf7\x83", 4));
    ck_assert(klr_is_klr("\xd9", 1));
    ck_assert(!klr_is_klr("\xd9\xd9\xf6\x83", 4));
    ck_assert(!klr_is_klr("{", 1));
    ck_assert(!klr_is_klr("", 0));
}
END_TEST

START_TEST(odd_strings_stay_whole)
{
    struct read_result result;
    read_vector(&result, "klr-bad/17_embedded_nul.klr");
    const struct bir_str *name = klr_string_at(result.file.kernel, KLR_LncKernel_name);
    ck_assert_uint_eq(name->len, 14);
    ck_assert_mem_eq(name->text, "nki_\0ensor_add", 14);
    result_close(&result);
    read_vector(&result, "klr-bad/13_string_65537.klr");
    ck_assert_uint_eq(klr_string_at(result.file.kernel, KLR_LncKernel_name)->len, 65537);
    result_close(&result);
    read_vector(&result, "klr-bad/19_nat_40_bits.klr");
    const struct klr_node *input = klr_list_at(result.file.kernel, KLR_LncKernel_inputs)->items[0].node;
    ck_assert_uint_eq(klr_nat_at(klr_node_at(input, KLR_TensorName_address), KLR_Address_freeSize),
                      (UINT64_C(1) << 40) + 2048);
    result_close(&result);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        samples_are_read_to_the_last_byte,
        trees_equal_their_renderings,
        dialects_hold_the_same_values,
        bad_and_old_files_get_their_verdicts,
        paths_name_the_value_at_an_offset,
        paths_escape_names_and_survive_damage,
        every_prefix_is_refused,
        values_reach_their_accessors,
        equal_tensors_are_one_node,
        tensors_of_one_name_stay_apart,
        faults_of_one_tensor_are_told_once,
        reading_is_cancelled,
        reading_a_list_of_numbers_is_cancelled,
        memory_is_below_three_times_the_file,
        limits_are_named,
        likely_revisions_are_named,
        failing_allocations_fail_the_read,
        sniffing,
        odd_strings_stay_whole,
    };
    return UNIT_RUN("klr_read", tests);
}

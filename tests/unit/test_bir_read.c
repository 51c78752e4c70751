/*
 * The BIR-JSON reader against tests/vectors/bir/bad: each document must be refused with the code, pointer, message and
 * vendor code that its .expect file names. Further: limits, cancellation, failing allocations.
 */
#include "bir_vectors.h"

#include "alloc_fail.h"
#include "base/json_reader.h"

static void check_bad(const char *name, const char *text, size_t len)
{
    struct bir_expectation e = bir_expectation_of(name);
    struct bir_read_options options = { .strict = e.strict, .max_depth = e.depth };
    struct bir_read read;
    bir_read_text(&read, text, len, &options);
    ck_assert_msg(read.status == BIR_INVALID || read.status == BIR_LIMIT, "%s: status %d", name, (int)read.status);
    const struct bir_diag *d = read.diags.first;
    while (d && d->severity != BIR_ERROR)
        d = d->next;
    ck_assert_msg(d != NULL, "%s: no diagnostic", name);
    ck_assert_msg(strcmp(d->code, e.code) == 0, "%s: code %s, expected %s (%s)", name, d->code, e.code, d->message);
    const char *pointer = bir_json_pointer_at(text, len, (size_t)d->offset, &read.arena);
    if (e.has_pointer)
        ck_assert_msg(strcmp(pointer, e.pointer) == 0, "%s: pointer %s, expected %s (%s)", name, pointer, e.pointer,
                      d->message);
    ck_assert_msg(strstr(d->message, e.message) != NULL, "%s: message %s", name, d->message);
    if (e.vendor[0])
        ck_assert_msg(d->vendor && strcmp(d->vendor, e.vendor) == 0, "%s: vendor %s", name,
                      d->vendor ? d->vendor : "-");
    bir_read_done(&read);
    if (!e.strict)
        return;
    options.strict = false; /* what only strict mode refuses, lenient mode keeps */
    bir_read_text(&read, text, len, &options);
    ck_assert_msg(read.status == BIR_OK, "%s: lenient reading: %s", name,
                  read.diags.first ? read.diags.first->message : "");
    bir_read_done(&read);
}

START_TEST(bad_vectors)
{
    ck_assert_int_ge(bir_each_vector("bir/bad", ".json", check_bad), 200);
}
END_TEST

/* Every proper prefix of a document is an error, and none crashes. */
static void check_prefixes(const char *name, const char *text, size_t len)
{
    if (strcmp(name, "small.json") != 0)
        return;
    for (size_t n = 0; n + 2 < len; n++) {
        char *copy = malloc(n + 1); /* exact size, so that a sanitizer sees a read beyond the end */
        memcpy(copy, text, n);
        struct bir_read read;
        bir_read_text(&read, copy, n, NULL);
        ck_assert_int_eq(read.status, BIR_INVALID);
        ck_assert_uint_ge(read.diags.errors, 1);
        bir_read_done(&read);
        free(copy);
    }
}

START_TEST(prefixes)
{
    ck_assert_int_gt(bir_each_vector("bir/good", ".json", check_prefixes), 0);
}
END_TEST

static char *small_text(size_t *len)
{
    return unit_read_file(ROOST_VECTORS "/bir/good/small.json", len);
}

START_TEST(limits)
{
    size_t len;
    char *text = small_text(&len);
    struct bir_read read;
    struct bir_read_options options = { .max_instructions = 1 };
    bir_read_text(&read, text, len, &options);
    ck_assert_int_eq(read.status, BIR_LIMIT);
    ck_assert_str_eq(read.diags.first->code, "bir-instruction-limit");
    bir_read_done(&read);
    options.max_instructions = 2;
    bir_read_text(&read, text, len, &options);
    ck_assert_int_eq(read.status, BIR_OK);
    ck_assert_uint_eq(read.module->n_instructions, 2);
    bir_read_done(&read);
    options = (struct bir_read_options){ .max_arena_bytes = 3000 };
    bir_read_text(&read, text, len, &options);
    ck_assert_int_eq(read.status, BIR_LIMIT);
    ck_assert_str_eq(read.diags.first->code, "bir-memory-limit");
    bir_read_done(&read);
    struct bir_cancel cancel = { .set = true };
    options = (struct bir_read_options){ .cancel = &cancel };
    bir_read_text(&read, text, len, &options);
    ck_assert_int_eq(read.status, BIR_CANCELLED);
    bir_read_done(&read);
    free(text);
}
END_TEST

/* Loops whose blocks come before their axis are read twice a level; beyond a bound that is refused. */
START_TEST(reread_limit)
{
    enum { LEVELS = 60 };
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    bir_buf_puts(&buf,
                 "{\"version\":2,\"arch\":\"gen3\",\"functions\":[{\"allocations\":[],\"name\":\"f\",\"blocks\":[");
    for (int i = 0; i < LEVELS; i++)
        bir_buf_puts(&buf, "{\"name\":\"b\",\"instructions\":[{\"name\":\"l\",\"opcode\":\"Loop\",\"blocks\":[");
    bir_buf_puts(&buf, "{\"name\":\"b\",\"instructions\":[],\"pad\":\"");
    for (int i = 0; i < 20000; i++)
        bir_buf_putc(&buf, 'x');
    bir_buf_puts(&buf, "\"}");
    for (int i = 0; i < LEVELS; i++)
        bir_buf_printf(&buf, "],\"LoopAxis\":{\"name\":\"i%d\",\"ub\":1,\"stride\":1}}]}", i);
    bir_buf_puts(&buf, "]}]}");
    struct bir_read read;
    bir_read_text(&read, buf.data, buf.len, NULL);
    ck_assert_int_eq(read.status, BIR_LIMIT);
    ck_assert_str_eq(read.diags.first->code, "bir-reread-limit");
    bir_read_done(&read);
    bir_buf_deinit(&buf);
}
END_TEST

/* Nothing leaks or crashes whichever allocation fails while a document is read and written. */
static void check_failing_allocations(const char *name, const char *text, size_t len)
{
    static const char *const chosen[] = { "operands.json", "expressions.json", "module.json", "unknown.json" };
    bool is_chosen = false;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        is_chosen |= strcmp(name, chosen[i]) == 0;
    for (long n = 1; is_chosen; n++) {
        long live = alloc_live();
        alloc_fail_at(n);
        struct bir_read read;
        bir_read_text(&read, text, len, NULL);
        enum bir_status status = read.status;
        if (status == BIR_OK) {
            struct bir_buf buf;
            struct bir_write_options options = { .indent = 2 };
            bir_buf_init(&buf, 0);
            status = bir_module_write_json(read.module, &options, &buf);
            bir_buf_deinit(&buf);
        }
        bir_read_done(&read);
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        long left = alloc_live(); /* before the next assertion: Check allocates as well */
        ck_assert_msg(status == (fired ? BIR_NOMEM : BIR_OK), "%s: allocation %ld: status %d", name, n, (int)status);
        ck_assert_int_eq(left, live);
        is_chosen = fired;
    }
}

START_TEST(failing_allocations)
{
    ck_assert_int_ge(bir_each_vector("bir/good", ".json", check_failing_allocations), 4);
}
END_TEST

/* Each of many functions refers to the last one; asking every function for every name would take minutes. */
START_TEST(references_across_functions_take_linear_time)
{
    enum { COUNT = 100000 };
    struct bir_buf text;
    struct bir_read read;
    bir_buf_init(&text, 0);
    bir_buf_puts(&text, "{\"version\":2,\"arch\":\"gen3\",\"functions\":[");
    for (int i = 0; i < COUNT; i++)
        bir_buf_printf(&text,
                       "%s{\"name\":\"f%d\",\"allocations\":[],\"blocks\":[{\"name\":\"b\",\"instructions\":"
                       "[{\"name\":\"i%d\",\"opcode\":\"NoOp\",\"dependencies\":[%s%d%s]}]}]}",
                       i ? "," : "", i, i, i + 1 < COUNT ? "[\"i" : "", i + 1 < COUNT ? COUNT - 1 : 0,
                       i + 1 < COUNT ? "\",\"Flow\"]" : "");
    text.len -= strlen("0]}]}]}"); /* the last one depends on nothing */
    bir_buf_puts(&text, "]}]}]}]}");
    bir_read_text(&read, text.data, text.len, NULL);
    ck_assert_msg(read.status == BIR_OK, "%s", read.diags.first ? read.diags.first->message : "?");
    const struct bir_instruction *first = read.module->functions->body.first->first;
    ck_assert_str_eq(bir_instruction_edges(first)->items[0].target->name->text, "i99999");
    bir_read_done(&read);
    bir_buf_deinit(&text);
}
END_TEST

static void put_set(struct bir_buf *text, const char *name, int i, int locations)
{
    bir_buf_printf(text,
                   "{\"Skind\":\"memory_location_set\",\"dtype\":\"int8\",\"kind\":\"Internal\",\"memorylocations\":[");
    for (int j = 0; j < locations; j++)
        bir_buf_printf(text, "%s{\"dims\":[1,1],\"name\":\"m%d\",\"tensor_id\":%d,\"type\":\"DRAM\"}", j ? "," : "",
                       locations > 1 ? j : i, j);
    bir_buf_printf(text, "],\"name\":\"%s%d\"}", name, i);
}

static void put_operand(struct bir_buf *text, int location, const char *set, int i)
{
    bir_buf_printf(text,
                   "%s{\"ap\":[[1,1]],\"dtype\":\"int8\",\"kind\":\"physical_ap\",\"memref\":\"m%d\",\"memsetref\":"
                   "\"%s%d\",\"offset\":0}",
                   text->data[text->len - 1] == '[' ? "" : ",", location, set, i);
}

static void expect_read(struct bir_buf *text, bool strict)
{
    struct bir_read_options options = { .strict = strict };
    struct bir_read read;
    bir_read_text(&read, text->data, text->len, &options);
    ck_assert_msg(read.status == BIR_OK, "%s", read.diags.first ? read.diags.first->message : "?");
    bir_read_done(&read);
    bir_buf_deinit(text);
}

/* Operands in queues have the storages of all functions before them, and strict reading compares all functions. */
START_TEST(operands_in_queues_take_linear_time)
{
    enum { COUNT = 100000 };
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_buf_puts(&text, "{\"version\":2,\"arch\":\"gen3\",\"functions\":[");
    for (int i = 0; i < COUNT; i++) {
        bir_buf_printf(&text, "%s{\"name\":\"f%d\",\"allocations\":[", i ? "," : "", i);
        put_set(&text, "s", i, 1);
        bir_buf_printf(&text, ",{\"Skind\":\"register\",\"dtype\":\"int32\",\"name\":\"r%d\"}],\"blocks\":[]}", i);
    }
    bir_buf_puts(&text, "],\"queues\":[");
    for (int i = 0; i < COUNT; i++) {
        bir_buf_printf(
            &text, "%s{\"name\":\"q%d\",\"blocks\":[{\"instructions\":[{\"name\":\"d%d\",\"opcode\":\"NoOp\",\"ins\":[",
            i ? "," : "", i, i);
        put_operand(&text, COUNT - 1 - i, "s", COUNT - 1 - i);
        bir_buf_printf(&text, ",{\"dtype\":\"int32\",\"kind\":\"register_access\",\"regref\":\"r%d\"}]}]}]}",
                       COUNT - 1 - i);
    }
    bir_buf_puts(&text, "]}");
    expect_read(&text, true);
}
END_TEST

/* Two sets with locations of the same names: the operand says which. */
START_TEST(locations_of_one_name_take_linear_time)
{
    enum { COUNT = 100000 };
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_buf_puts(&text, "{\"version\":2,\"arch\":\"gen3\",\"functions\":[{\"name\":\"f\",\"allocations\":[");
    put_set(&text, "s", 0, COUNT);
    bir_buf_putc(&text, ',');
    put_set(&text, "s", 1, COUNT);
    bir_buf_puts(&text,
                 "],\"blocks\":[{\"name\":\"b\",\"instructions\":[{\"name\":\"n\",\"opcode\":\"NoOp\",\"ins\":[");
    for (int i = 0; i < COUNT; i++)
        put_operand(&text, i, "s", 1);
    bir_buf_puts(&text, "]}]}]}]}");
    expect_read(&text, false);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { bad_vectors,
                                   prefixes,
                                   limits,
                                   reread_limit,
                                   failing_allocations,
                                   references_across_functions_take_linear_time,
                                   operands_in_queues_take_linear_time,
                                   locations_of_one_name_take_linear_time };
    return UNIT_RUN("bir_read", tests);
}

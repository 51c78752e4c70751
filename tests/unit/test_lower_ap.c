/* lower_ap, its guards, the tables and the induction registers: vectors under tests/vectors/lower (see pass_text.h). */
#include "pass_text.h"

#include "alloc_fail.h"

static struct bir_module *read_vector(const char *name, struct pass_text_run *run, const char *passes)
{
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/lower/%s.json", ROOST_VECTORS, name);
    char *text = pass_text_read_file(path, &len);
    pass_text_run_init(run, text, len, passes);
    free(text);
    return run->module;
}

START_TEST(vectors)
{
    ck_assert_uint_ge(pass_text_check_area("lower"), 40);
}
END_TEST

/* Entries by lowering.md 1.9 and correction 7, of the samples' placements. */
START_TEST(table_entries)
{
    struct pass_text_run run;
    struct bir_module *module = read_vector("loop_sb", &run, "insert_address_tables");
    ck_assert_int_eq(run.status, BIR_OK);
    struct bir_function *f = module->functions;
    struct bir_set *set = bir_function_find_set(f, bir_intern_cstr(&module->strings, "xbuf_set"));
    ck_assert(set && set->addr_table);
    ck_assert_str_eq(set->addr_table->base.name->text, "xbuf_set-addr-table");
    ck_assert_int_eq(set->addr_table->kind, BIR_TENSOR_CONST);
    const struct bir_ints *entries = set->addr_table->table_entries;
    ck_assert_uint_eq(entries->count, 4);
    for (int b = 0; b < 4; b++)
        ck_assert_int_eq(entries->items[b], 0x1000 + 0x400 * b);
    const struct bir_location *location = set->addr_table->locations.items[0];
    ck_assert_int_eq(location->type, BIR_MEMORY_DRAM);
    ck_assert(location->allocated && location->dims->count == 2 && location->dims->items[1] == 16);
    ck_assert_uint_eq(run.stats.address_tables, 1);
    pass_text_run_deinit(&run);

    module = read_vector("loop_psum_matmult", &run, "insert_address_tables");
    set = bir_function_find_set(module->functions, bir_intern_cstr(&module->strings, "pacc_set"));
    ck_assert(set && set->addr_table && set->addr_table->table_entries->count == 1);
    ck_assert_int_eq(set->addr_table->table_entries->items[0], 0x2001000);
    pass_text_run_deinit(&run);
}
END_TEST

START_TEST(passes_are_idempotent)
{
    struct pass_text_run once, twice;
    const char *all = "assign_loop_registers,insert_address_tables,lower_ap";
    const char *again = "assign_loop_registers,assign_loop_registers,insert_address_tables,insert_address_tables,"
                        "lower_ap,assign_loop_registers,insert_address_tables,lower_ap";
    struct bir_buf a, b;
    read_vector("two_loops", &once, all);
    read_vector("two_loops", &twice, again);
    ck_assert_int_eq(once.status, BIR_OK);
    ck_assert_int_eq(twice.status, BIR_OK);
    bir_buf_init(&a, 0);
    bir_buf_init(&b, 0);
    pass_text_module(&a, once.module);
    pass_text_module(&b, twice.module);
    ck_assert_uint_eq(a.len, b.len);
    ck_assert_mem_eq(a.data, b.data, a.len);
    ck_assert_uint_eq(once.module->functions->storages.count, twice.module->functions->storages.count);
    bir_buf_deinit(&a);
    bir_buf_deinit(&b);
    pass_text_run_deinit(&once);
    pass_text_run_deinit(&twice);
}
END_TEST

/* Colours 0..7 suffice for the program of lowering.md 15.1. */
START_TEST(example_needs_eight_registers)
{
    struct pass_text_run run;
    read_vector("loop_sb", &run, "assign_loop_registers,insert_address_tables,lower_ap,color_registers");
    ck_assert_int_eq(run.status, BIR_OK);
    ck_assert_uint_eq(run.stats.peak_physical_registers, 8);
    ck_assert_uint_eq(run.stats.coloured_registers, 9);
    ck_assert_uint_eq(run.stats.lowered_operands, 1);
    ck_assert_uint_eq(run.stats.emitted_instructions, 19);
    ck_assert_uint_eq(run.stats.minted_registers, 9);
    ck_assert_uint_eq(run.stats.loop_registers, 2);
    pass_text_run_deinit(&run);
}
END_TEST

/* A lowered module prints, reads back, and lowers to itself. */
START_TEST(lowered_module_reads_back)
{
    struct pass_text_run run, again;
    struct bir_write_options options = { .indent = 0 };
    struct bir_buf first, second;
    const char *passes = "assign_loop_registers,insert_address_tables,lower_ap,color_registers";
    bir_buf_init(&first, 0);
    bir_buf_init(&second, 0);
    read_vector("loop_three_operands", &run, passes);
    ck_assert_int_eq(run.status, BIR_OK);
    ck_assert_int_eq(bir_module_write_json(run.module, &options, &first), BIR_OK);
    pass_text_run_init(&again, first.data, first.len, passes);
    if (again.status != BIR_OK)
        ck_abort_msg("%s", again.diags.first ? again.diags.first->message : "?");
    ck_assert_int_eq(bir_module_write_json(again.module, &options, &second), BIR_OK);
    ck_assert_uint_eq(first.len, second.len);
    ck_assert_mem_eq(first.data, second.data, first.len);
    bir_buf_deinit(&first);
    bir_buf_deinit(&second);
    pass_text_run_deinit(&run);
    pass_text_run_deinit(&again);
}
END_TEST

/* Half lowered: printed after insert_address_tables, read back, lowered. */
START_TEST(intermediate_module_lowers_on)
{
    struct pass_text_run whole, half, rest;
    struct bir_write_options options = { .indent = 2 };
    struct bir_buf dump, a, b;
    bir_buf_init(&dump, 0);
    bir_buf_init(&a, 0);
    bir_buf_init(&b, 0);
    read_vector("two_loops", &whole, "assign_loop_registers,insert_address_tables,lower_ap");
    read_vector("two_loops", &half, "assign_loop_registers,insert_address_tables");
    ck_assert_int_eq(half.status, BIR_OK);
    ck_assert_int_eq(bir_module_write_json(half.module, &options, &dump), BIR_OK);
    pass_text_run_init(&rest, dump.data, dump.len, "lower_ap");
    ck_assert_int_eq(rest.status, BIR_OK);
    pass_text_module(&a, whole.module);
    pass_text_module(&b, rest.module);
    ck_assert_uint_eq(a.len, b.len);
    ck_assert_mem_eq(a.data, b.data, a.len);
    bir_buf_deinit(&dump);
    bir_buf_deinit(&a);
    bir_buf_deinit(&b);
    pass_text_run_deinit(&whole);
    pass_text_run_deinit(&half);
    pass_text_run_deinit(&rest);
}
END_TEST

START_TEST(allocation_failures)
{
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/lower/%s.json", ROOST_VECTORS, "loop_three_operands");
    char *text = pass_text_read_file(path, &len);
    for (long n = 1;; n++) {
        struct pass_text_run run;
        long live = alloc_live();
        alloc_fail_at(n);
        pass_text_run_init(&run, text, len, "assign_loop_registers,insert_address_tables,lower_ap,color_registers");
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        enum bir_status status = run.status;
        pass_text_run_deinit(&run);
        live -= alloc_live();
        ck_assert_int_eq(live, 0);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        if (!fired)
            break;
    }
    free(text);
}
END_TEST

/* The text with every occurrence of one name replaced by another. */
static char *rename_in(const char *text, const char *from, const char *to)
{
    size_t from_len = strlen(from), to_len = strlen(to);
    char *renamed = malloc(strlen(text) * (to_len + 1) + 1), *out = renamed;
    while (*text) {
        bool here = strncmp(text, from, from_len) == 0;
        memcpy(out, here ? to : text, here ? to_len : 1);
        out += here ? to_len : 1;
        text += here ? from_len : 1;
    }
    *out = '\0';
    return renamed;
}

/* The document with its only function twice. */
static char *double_function(const char *text)
{
    const char *list = strchr(strstr(text, "\"functions\""), '['), *end = strstr(list, "\"revision\"");
    while (*end != ']')
        end--;
    char *copy = rename_in(list + 1, "sg0000", "sg0001");
    char *twice = malloc(2 * strlen(text) + 2);
    sprintf(twice, "%.*s,%s", (int)(end - text), text, copy);
    free(copy);
    return twice;
}

/* Names of what a pass made are new in their function, and strings are the ones that looking for their text gives. */
static void check_names(struct bir_module *module, const struct bir_str *given_twice)
{
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct bir_walk a, b;
        bir_walk_init(&a, &f->body);
        for (struct bir_instruction *x = bir_walk_next(&a); x; x = bir_walk_next(&a)) {
            unsigned same = 0;
            bir_walk_init(&b, &f->body);
            for (struct bir_instruction *y = bir_walk_next(&b); y; y = bir_walk_next(&b))
                same += bir_str_compare(x->name, y->name) == 0;
            if (same != (x->name == given_twice ? 2 : 1))
                ck_abort_msg("%u instructions are called %s", same, x->name->text);
            ck_assert_ptr_eq(bir_intern_find(&module->strings, x->name->text, x->name->len), x->name);
            if (x->name != given_twice)
                ck_assert_ptr_eq(bir_map_get(&f->instructions, x->name), x);
        }
        for (uint32_t i = 0; i < f->storages.count; i++) {
            const struct bir_str *name = f->storages.items[i]->name;
            if (f->storages.items[i]->tag != BIR_STORAGE_REGISTER)
                continue;
            ck_assert_ptr_eq(bir_intern_find(&module->strings, name->text, name->len), name);
            ck_assert_ptr_eq(bir_function_find_register(f, name), f->storages.items[i]);
        }
    }
}

START_TEST(made_names_are_new)
{
    static const char *const renames[][2] = { { "act0", "act0" },
                                              { "\"loop_j\"", "\"act0-lap0-3\"" },
                                              { "\"loop_j\"", "\"act0\"" },
                                              { "\"y\"", "\"Reg_0_act0_RegAPOffset_xbuf\"" },
                                              { "act0", "a-lap0-1" } };
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/lower/loop_sb.json", ROOST_VECTORS);
    char *text = pass_text_read_file(path, &len);
    for (size_t i = 0; i < 2 * sizeof renames / sizeof *renames; i++) {
        struct pass_text_run run;
        char *renamed = rename_in(text, renames[i / 2][0], renames[i / 2][1]);
        char *whole = i % 2 ? double_function(renamed) : rename_in(renamed, "act0", "act0");
        pass_text_run_init(&run, whole, strlen(whole), "assign_loop_registers,insert_address_tables,lower_ap");
        if (run.status != BIR_OK)
            ck_abort_msg("%s", run.diags.first ? run.diags.first->message : "?");
        ck_assert_uint_eq(run.stats.emitted_instructions, i % 2 ? 38 : 19);
        check_names(run.module, i / 2 == 2 ? bir_intern_cstr(&run.module->strings, "act0") : NULL);
        pass_text_run_deinit(&run);
        free(renamed);
        free(whole);
    }
    free(text);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("lower_ap");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, vectors);
    tcase_add_test(tc, table_entries);
    tcase_add_test(tc, passes_are_idempotent);
    tcase_add_test(tc, example_needs_eight_registers);
    tcase_add_test(tc, lowered_module_reads_back);
    tcase_add_test(tc, intermediate_module_lowers_on);
    tcase_add_test(tc, made_names_are_new);
    tcase_add_test(tc, allocation_failures);
    Suite *suite = suite_create("lower_ap");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * KLR to BIR: whole kernels against expect.tsv (a second implementation in expect.py), one statement at a time for the
 * files that hold every operator, and what no sample shows: names, edges, branches, accumulation groups, storages,
 * limits, failing allocations.
 */
#include "alloc_fail.h"
#include "codegen_text.h"

/* --- expect.tsv --- */

static const struct klr_list *bodies_of(const struct klr_file *file)
{
    return klr_list_at(file->kernel, KLR_LncKernel_bodies);
}

/* Converts the row's statement alone and gives its text: the instruction, or "error" and the code. */
static void convert_alone(struct codegen_case *c, const struct klr_node *kernel, uint32_t row, struct bir_buf *out)
{
    uint32_t at = 0;
    const struct klr_list *bodies = klr_list_at(kernel, KLR_LncKernel_bodies);
    for (uint64_t b = 0; b < bodies->items[0].list->count; b++) {
        const struct klr_node *block = bodies->items[0].list->items[b].node;
        const struct klr_list *body = klr_list_at(block, KLR_Block_body);
        for (uint64_t i = 0; i < body->count; i++, at++) {
            if (at != row)
                continue;
            bir_diags_init(&c->diags, &c->arena, 100);
            codegen_case_isolate(c, kernel, block, body->items[i].node);
            if (codegen_case_convert(c, NULL) == BIR_OK) {
                const char *problem;
                ck_assert_msg(bir_module_check_uses(c->module, &problem), "%s", problem);
                codegen_text_instruction(out, c->module->functions->body.first->first);
            } else {
                ck_assert_uint_eq(c->diags.errors, 1);
                bir_buf_printf(out, "error\t%s\t-\t-", codegen_case_diag(c, BIR_ERROR)->code);
            }
            return;
        }
    }
    ck_abort_msg("no statement %u", row);
}

/* The next line without its end, in place. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return line;
}

/* Compares all rows of one file; text is at its first row and moves behind its last. Returns how many. */
static uint32_t check_file(char **text)
{
    struct codegen_case c;
    char path[96], sample[64] = "";
    uint32_t rows = 0, isolated = 0;
    const struct klr_node *kernel = NULL;
    ck_assert_int_eq(sscanf(*text, "%63[^\t*]", sample), 1);
    bool alone = (*text)[strlen(sample)] == '*';
    snprintf(path, sizeof path, "klr/%s.klr", sample);
    ck_assert_int_eq(codegen_case_open(&c, path), BIR_OK);
    kernel = c.file.kernel;
    if (!alone)
        ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    while (strncmp(*text, sample, strlen(sample)) == 0 && strchr("\t*", (*text)[strlen(sample)])) {
        char name[64], *line = next_line(text), *rest = line;
        struct bir_buf got;
        unsigned body;
        int skipped = 0;
        ck_assert_int_eq(sscanf(line, "%*[^\t]\t%u\t%63[^\t]\t%n", &body, name, &skipped), 2);
        rest = line + skipped;
        bir_buf_init(&got, 0);
        if (alone)
            convert_alone(&c, kernel, isolated++, &got);
        else
            codegen_text_instruction(&got, codegen_find(c.module, body, name));
        bir_buf_putc(&got, '\0');
        ck_assert_int_eq(got.status, BIR_OK);
        ck_assert_msg(strcmp(got.data, rest) == 0, "%s %s\n  got      %s\n  expected %s", sample, name, got.data, rest);
        bir_buf_deinit(&got);
        rows++;
    }
    codegen_case_close(&c);
    return rows;
}

START_TEST(samples_convert_as_expected)
{
    size_t len;
    char *text = unit_read_file(ROOST_VECTORS "/codegen/expect.tsv", &len), *at = text;
    uint32_t rows = 0;
    ck_assert_ptr_nonnull(next_line(&at)); /* titles */
    while (*at)
        rows += check_file(&at);
    ck_assert_uint_eq(rows, 429);
    free(text);
}
END_TEST

/* Files of both proof dialects give the same module. */
START_TEST(proof_dialects_agree)
{
    static const char *const samples[] = { "tensor_add", "tensor_add_unlowered", "gather" };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct codegen_case lean, cpp;
        char path[96];
        snprintf(path, sizeof path, "klr/%s.klr", samples[i]);
        ck_assert_int_eq(codegen_case_open(&lean, path), BIR_OK);
        snprintf(path, sizeof path, "klr/%s.props.klr", samples[i]);
        ck_assert_int_eq(codegen_case_open(&cpp, path), BIR_OK);
        ck_assert_int_eq(codegen_case_convert(&lean, NULL), BIR_OK);
        ck_assert_int_eq(codegen_case_convert(&cpp, NULL), BIR_OK);
        struct bir_instruction *a = lean.module->functions->body.first->first,
                               *b = cpp.module->functions->body.first->first;
        for (; a && b; a = a->next, b = b->next) {
            struct bir_buf x, y;
            bir_buf_init(&x, 0);
            bir_buf_init(&y, 0);
            codegen_text_instruction(&x, a);
            codegen_text_instruction(&y, b);
            ck_assert_uint_eq(x.len, y.len);
            ck_assert_mem_eq(x.data, y.data, x.len);
            bir_buf_deinit(&x);
            bir_buf_deinit(&y);
        }
        ck_assert_ptr_null(a);
        ck_assert_ptr_null(b);
        codegen_case_close(&lean);
        codegen_case_close(&cpp);
    }
}
END_TEST

START_TEST(no_instruction_is_unassigned)
{
    static const char *const samples[] = { "flash_attention_2k", "matmul_tiled", "dynamic_offset", "edges", "gather",
                                           "transpose2d" };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct codegen_case c;
        char path[96];
        const char *problem;
        snprintf(path, sizeof path, "klr/%s.klr", samples[i]);
        ck_assert_int_eq(codegen_case_open(&c, path), BIR_OK);
        if (strcmp(samples[i], "transpose2d") == 0)
            codegen_case_drop(&c, "inst.4"); /* walks partitions downwards, refused */
        ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
        ck_assert_msg(bir_module_check_uses(c.module, &problem), "%s", problem);
        uint64_t count = 0;
        BIR_EACH_BLOCK (block, &c.module->functions->body) {
            BIR_EACH_INSTRUCTION (inst, block) {
                ck_assert_int_ne(inst->engine, BIR_ENGINE_UNASSIGNED);
                ck_assert_uint_ne(inst->source_offset, BIR_NO_SOURCE);
                count++;
            }
        }
        ck_assert_uint_eq(count, c.file.statements);
        codegen_case_close(&c);
    }
}
END_TEST

/* --- storages, places --- */

START_TEST(storages_of_tensor_add)
{
    /* name, kind, type, partitions or rows, bytes of each: the kernel's declarations first, then order of use. */
    static const struct {
        const char *name;
        int kind, type;
        int64_t rows, bytes;
    } expected[] = {
        { "a_input", BIR_TENSOR_EXTERNAL_INPUT, BIR_MEMORY_DRAM, 128, 2048 },
        { "b_input", BIR_TENSOR_EXTERNAL_INPUT, BIR_MEMORY_DRAM, 128, 2048 },
        { "tensor3", BIR_TENSOR_EXTERNAL_OUTPUT, BIR_MEMORY_DRAM, 128, 2048 },
        { "tensor0", BIR_TENSOR_INTERNAL, BIR_MEMORY_SB, 128, 2048 },
        { "tensor1", BIR_TENSOR_INTERNAL, BIR_MEMORY_SB, 128, 2048 },
        { "tensor2", BIR_TENSOR_INTERNAL, BIR_MEMORY_SB, 128, 2048 },
    };
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/tensor_add.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    const struct bir_function *function = c.module->functions;
    ck_assert_str_eq(function->name->text, "nki_tensor_add");
    ck_assert_ptr_null(function->next);
    ck_assert_int_eq(c.module->arch, BIR_ARCH_GEN3);
    ck_assert(c.module->from_klr);
    ck_assert_uint_eq(function->storages.count, sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < function->storages.count; i++) {
        const struct bir_set *set = (const struct bir_set *)function->storages.items[i];
        const struct bir_location *location = set->locations.items[0];
        char set_name[64];
        snprintf(set_name, sizeof set_name, "%s_set", expected[i].name);
        ck_assert_str_eq(set->base.name->text, set_name);
        ck_assert_str_eq(location->base.name->text, expected[i].name);
        ck_assert_int_eq(set->kind, expected[i].kind);
        ck_assert_int_eq(location->type, expected[i].type);
        ck_assert_int_eq(location->dims->items[0], expected[i].rows);
        ck_assert_int_eq(location->dims->items[1], expected[i].bytes);
        ck_assert_int_eq(set->tensor_shape->items[1], 512);
        ck_assert_int_eq(set->base.dtype, BIR_DTYPE_FLOAT32);
        ck_assert(!location->allocated);
    }
    codegen_case_close(&c);
}
END_TEST

START_TEST(cores_become_functions)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/tensor_add_lnc2.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    const struct bir_function *first = c.module->functions, *second = first->next;
    ck_assert_str_eq(first->name->text, "nki_tensor_add_lnc2_core0");
    ck_assert_str_eq(second->name->text, "nki_tensor_add_lnc2_core1");
    ck_assert_ptr_null(second->next);
    for (const struct bir_function *function = first; function; function = function->next) {
        const struct bir_set *shared =
            bir_function_find_set(function, bir_intern_find(&c.module->strings, "exchange_set", 12));
        const struct bir_set *input =
            bir_function_find_set(function, bir_intern_find(&c.module->strings, "a_input_set", 11));
        ck_assert_int_eq(shared->addr_space, 1);
        ck_assert_int_eq(shared->kind, BIR_TENSOR_INTERNAL);
        ck_assert_int_eq(input->addr_space, 0);
    }
    codegen_case_close(&c);
}
END_TEST

/* Paths that the source offsets of statement and operand lead to. */
START_TEST(source_offsets_lead_back)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/tensor_add.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    const struct bir_instruction *inst = codegen_find(c.module, 0, "inst.3");
    const struct bir_argument *src1 = bir_instruction_argument(inst, BIR_ROLE_IN, 1);
    const struct bir_location *location = (const struct bir_location *)src1->location;
    ck_assert_str_eq(klr_path_at(c.bytes, c.len, inst->source_offset, &c.arena), "/bodies/0/main.1/inst.3");
    ck_assert_str_eq(klr_path_at(c.bytes, c.len, src1->source_offset, &c.arena), "/bodies/0/main.1/inst.3/src1/access");
    ck_assert_str_eq(klr_path_at(c.bytes, c.len, location->base.source_offset, &c.arena),
                     "/bodies/0/main.1/inst.2/dst/access/tensor");
    const struct bir_props *debug = inst->rare->debug;
    ck_assert_str_eq(bir_props_find(debug, "filename")->u.s->text, "kernels/tensor_add.py");
    ck_assert_int_eq(bir_props_find(debug, "lineno")->u.i, 22);
    codegen_case_close(&c);
}
END_TEST

/* Shared constants: kind Const and the file. all_operators_full declares tmp.7; a statement is given that tensor. */
START_TEST(shared_constant_has_its_file)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/tensor_add.klr"), BIR_OK);
    struct codegen_case named;
    ck_assert_int_eq(codegen_case_open(&named, "klr/all_operators_full.klr"), BIR_OK);
    const struct klr_list *constants = klr_list_at(named.file.kernel, KLR_LncKernel_sharedConstants);
    struct klr_node *constant = codegen_node_copy(&c, constants->items[0].node);
    constant->fields[KLR_SharedConstantFile_name].string = bir_intern_cstr(&c.strings, "a_input");
    struct klr_node *kernel = codegen_node_copy(&c, c.file.kernel);
    static const struct klr_list none = { 0 };
    kernel->fields[KLR_LncKernel_sharedConstants].list = codegen_list_of(&c, (union klr_slot){ .node = constant });
    kernel->fields[KLR_LncKernel_inputs].list = &none;
    c.file.kernel = kernel;
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    const struct bir_set *set =
        bir_function_find_set(c.module->functions, bir_intern_find(&c.module->strings, "a_input_set", 11));
    ck_assert_int_eq(set->kind, BIR_TENSOR_CONST);
    ck_assert_str_eq(bir_props_find(set->base.props, "file")->u.s->text, "shared_constants/3f2a9c.npy");
    codegen_case_close(&named);
    codegen_case_close(&c);
}
END_TEST

/* --- edges, names --- */

static const struct bir_edge *edge_between(const struct bir_instruction *later, const struct bir_instruction *earlier)
{
    BIR_EACH_EDGE (edge, later)
        if (edge->list == BIR_EDGES_NORMAL && edge->target == earlier)
            return edge;
    return NULL;
}

START_TEST(edges_are_ordered_and_complete)
{
    /* All of edges.klr's list, and drop -> mul once more from the no-reorder block (both on DVE); nothing else. */
    static const char *const pairs[][2] = {
        { "ld_seed", "set_state" }, { "set_state", "rand_a" }, { "set_state", "rand_b" }, { "rand_a", "rand_b" },
        { "rand_b", "get_state" },  { "get_state", "drop" },   { "drop", "mul" },         { "drop", "st_y" },
    };
    struct codegen_case c;
    uint32_t total = 0;
    ck_assert_int_eq(codegen_case_open(&c, "klr/edges.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct bir_edge *edge =
            edge_between(codegen_find(c.module, 0, pairs[i][1]), codegen_find(c.module, 0, pairs[i][0]));
        ck_assert_msg(edge != NULL, "%s -> %s", pairs[i][0], pairs[i][1]);
        ck_assert_int_eq(edge->kind, BIR_EDGE_ORDERED);
    }
    BIR_EACH_BLOCK (block, &c.module->functions->body) {
        BIR_EACH_INSTRUCTION (inst, block) {
            total += bir_instruction_edge_count(inst, BIR_EDGES_NORMAL);
        }
    }
    ck_assert_uint_eq(total, sizeof pairs / sizeof *pairs);
    codegen_case_close(&c);
}
END_TEST

START_TEST(dangling_edge_is_named)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr-bad/44_dangling_edge.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    const struct bir_diag *diag = codegen_case_diag(&c, BIR_ERROR);
    ck_assert_str_eq(diag->code, "klr-dangling-edge");
    ck_assert_ptr_nonnull(strstr(diag->message, "is not found, unable to complete dependency edge insertion"));
    ck_assert_ptr_nonnull(strstr(klr_path_at(c.bytes, c.len, (size_t)diag->offset, &c.arena), "/edges/"));
    codegen_case_close(&c);
}
END_TEST

START_TEST(duplicate_name_in_an_edge_is_an_error)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr-bad/45_duplicate_name.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->code, "klr-duplicate-name");
    ck_assert_str_eq(codegen_case_diag(&c, BIR_WARNING)->code, "klr-duplicate-name");
    codegen_case_close(&c);
}
END_TEST

/* Without the edge the second bearer is renamed and everything converts. */
START_TEST(duplicate_name_alone_is_a_warning)
{
    static const struct klr_list none = { 0 };
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr-bad/45_duplicate_name.klr"), BIR_OK);
    struct klr_node *kernel = codegen_node_copy(&c, c.file.kernel);
    kernel->fields[KLR_LncKernel_edges].list = &none;
    c.file.kernel = kernel;
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    ck_assert_ptr_null(codegen_case_diag(&c, BIR_ERROR));
    ck_assert_str_eq(codegen_case_diag(&c, BIR_WARNING)->code, "klr-duplicate-name");
    BIR_EACH_BLOCK (block, &c.module->functions->body) {
        BIR_EACH_INSTRUCTION (inst, block) {
            ck_assert_ptr_eq(bir_map_get(&c.module->functions->instructions, inst->name), inst);
        }
    }
    codegen_case_close(&c);
}
END_TEST

/* --- control --- */

static struct klr_node *statement_copy(struct codegen_case *c, const struct klr_node *statement,
                                       struct klr_node **payload)
{
    struct klr_node *copy = codegen_node_copy(c, statement);
    struct klr_node *op = codegen_node_copy(c, klr_node_at(statement, KLR_Stmt_oper_op));
    *payload = codegen_node_copy(c, klr_node_at(op, KLR_Operator_op));
    op->fields[KLR_Operator_op].node = *payload;
    copy->fields[KLR_Stmt_oper_op].node = op;
    return copy;
}

/* dynamic_offset's third block ends with brlt.9: body.3 (next) or exit.4. Both targets elsewhere need a jump block. */
START_TEST(branch_without_a_neighbour_gets_a_jump_block)
{
    struct codegen_case c;
    struct klr_node *branch;
    ck_assert_int_eq(codegen_case_open(&c, "klr/dynamic_offset.klr"), BIR_OK);
    const struct klr_list *blocks = bodies_of(&c.file)->items[0].list;
    struct klr_list *body = (struct klr_list *)(uintptr_t)klr_list_at(blocks->items[2].node, KLR_Block_body);
    body->items[0].node = statement_copy(&c, body->items[0].node, &branch);
    branch->fields[KLR_CmpBranch_trueLabel].string = bir_intern_cstr(&c.strings, "label.5");
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    const struct bir_instruction *inst = codegen_find(c.module, 0, "brlt.9");
    const struct bir_block *jump = inst->block->next;
    ck_assert_str_eq(bir_props_find(inst->props, "on_true")->u.s->text, "label.5");
    ck_assert_str_eq(bir_props_find(inst->props, "on_false")->u.s->text, "label.7.else");
    ck_assert_str_eq(jump->name->text, "label.7.else");
    ck_assert_int_eq(jump->first->opcode, BIR_OP_UNCONDITIONAL_BRANCH);
    ck_assert_int_eq(jump->first->engine, BIR_ENGINE_ALL);
    ck_assert_str_eq(bir_props_find(jump->first->props, "target")->u.s->text, "exit.4");
    ck_assert_str_eq(jump->next->name->text, "body.3");
    codegen_case_close(&c);
}
END_TEST

START_TEST(unknown_label_is_an_error)
{
    struct codegen_case c;
    struct klr_node *branch;
    ck_assert_int_eq(codegen_case_open(&c, "klr/dynamic_offset.klr"), BIR_OK);
    const struct klr_list *blocks = bodies_of(&c.file)->items[0].list;
    struct klr_list *body = (struct klr_list *)(uintptr_t)klr_list_at(blocks->items[2].node, KLR_Block_body);
    body->items[0].node = statement_copy(&c, body->items[0].node, &branch);
    branch->fields[KLR_CmpBranch_falseLabel].string = bir_intern_cstr(&c.strings, "nowhere");
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->code, "klr-unknown-label");
    ck_assert_ptr_nonnull(strstr(codegen_case_diag(&c, BIR_ERROR)->message, "nowhere"));
    codegen_case_close(&c);
}
END_TEST

START_TEST(branch_in_the_middle_is_an_error)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/dynamic_offset.klr"), BIR_OK);
    const struct klr_list *blocks = bodies_of(&c.file)->items[0].list;
    struct klr_list *body = (struct klr_list *)(uintptr_t)klr_list_at(blocks->items[0].node, KLR_Block_body);
    union klr_slot last = body->items[body->count - 1];
    body->items[body->count - 1] = body->items[0];
    body->items[0] = last;
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->code, "klr-branch-not-last");
    codegen_case_close(&c);
}
END_TEST

/* The register of a scalar offset must have been written before; isolating inst.4 takes its load away. */
START_TEST(unknown_register_is_an_error)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/dynamic_offset.klr"), BIR_OK);
    const struct klr_node *block = bodies_of(&c.file)->items[0].list->items[0].node;
    codegen_case_isolate(&c, c.file.kernel, block, klr_list_at(block, KLR_Block_body)->items[2].node);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->message, "Cannot find register: reg.2 for scalar offset");
    codegen_case_close(&c);
}
END_TEST

/* --- dynamic rules --- */

/* gather.klr, with one field of a statement's copy changed: which error comes out. */
static void check_gather(const char *name, int slot, union klr_slot value, const char *expected)
{
    struct codegen_case c;
    struct klr_node *payload;
    ck_assert_int_eq(codegen_case_open(&c, "klr/gather.klr"), BIR_OK);
    struct klr_list *body =
        (struct klr_list *)(uintptr_t)klr_list_at(bodies_of(&c.file)->items[0].list->items[0].node, KLR_Block_body);
    for (uint64_t i = 0; i < body->count; i++) {
        if (!bir_str_is(klr_string_at(body->items[i].node, KLR_Stmt_oper_name), name))
            continue;
        body->items[i].node = statement_copy(&c, body->items[i].node, &payload);
        payload->fields[slot] = value;
    }
    enum bir_status status = codegen_case_convert(&c, NULL);
    if (expected) {
        ck_assert_int_eq(status, BIR_INVALID);
        ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->message, expected);
    } else {
        ck_assert_int_eq(status, BIR_OK);
        ck_assert_int_eq(codegen_find(c.module, 0, name)->opcode, BIR_OP_GENERIC_INDIRECT_SAVE);
    }
    codegen_case_close(&c);
}

START_TEST(dynamic_dma_rules)
{
    check_gather("gather0", KLR_NcDmaCopy_dgeMode, (union klr_slot){ .nat = 3 },
                 "DGE must be enabled when dynamic src access in DMA is used");
    check_gather("scatter0", KLR_NcDmaCopy_dgeMode, (union klr_slot){ .nat = 3 },
                 "DGE must be enabled when dynamic dst access in DMA is used");
    check_gather("gather0", KLR_NcDmaCopy_dgeMode, (union klr_slot){ .nat = 4 }, "dgeMode 4 is not between 0 and 3");
    /* An add through the source has no indirect destination to save to. */
    check_gather("gather0", KLR_NcDmaCopy_compute_op, (union klr_slot){ .enumerator = KLR_DgeComputeOp_add },
                 "Compiler Logic Fault: cannot extract dynamic ap from a static access!");
    /* An add through the destination without unique indices is the generic indirect save. */
    check_gather("scatter0", KLR_NcDmaCopy_uniqueIndices, (union klr_slot){ .boolean = false }, NULL);
}
END_TEST

START_TEST(generic_indirect_save_binds_data_index_and_base)
{
    struct codegen_case c;
    struct klr_node *payload;
    struct bir_buf text;
    ck_assert_int_eq(codegen_case_open(&c, "klr/gather.klr"), BIR_OK);
    struct klr_list *body =
        (struct klr_list *)(uintptr_t)klr_list_at(bodies_of(&c.file)->items[0].list->items[0].node, KLR_Block_body);
    ck_assert(bir_str_is(klr_string_at(body->items[5].node, KLR_Stmt_oper_name), "scatter0"));
    body->items[5].node = statement_copy(&c, body->items[5].node, &payload);
    payload->fields[KLR_NcDmaCopy_uniqueIndices].boolean = false;
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    bir_buf_init(&text, 0);
    codegen_text_instruction(&text, codegen_find(c.module, 0, "scatter0"));
    bir_buf_putc(&text, '\0');
    ck_assert_str_eq(text.data, "GenericIndirectSave\tPool\tin:tensor2:bfloat16:(1024,128)(1,1024)@0 "
                                "in:idx_sb:uint32:(4,128)(1,1)@3 out:tensor1:bfloat16:(1024,128)(1,1024)@0\t"
                                "dge_type=SWDGE; indirect_dims=[\"W\"]; op=add");
    bir_buf_deinit(&text);
    codegen_case_close(&c);
}
END_TEST

/* An access with both offsets, one with a vector offset along dimension 1, and a dynamic operand of an operator that
 * takes none. */
START_TEST(dynamic_access_rules)
{
    struct codegen_case c;
    struct klr_node *payload;
    ck_assert_int_eq(codegen_case_open(&c, "klr/gather.klr"), BIR_OK);
    const struct klr_node *block = bodies_of(&c.file)->items[0].list->items[0].node, *kernel = c.file.kernel;
    const struct klr_node *gather = klr_list_at(block, KLR_Block_body)->items[2].node;
    struct klr_node *statement = statement_copy(&c, gather, &payload);
    struct klr_node *ref = codegen_node_copy(&c, klr_node_at(payload, KLR_NcDmaCopy_src));
    struct klr_node *access = codegen_node_copy(&c, klr_node_at(ref, KLR_TensorRef_abstract_access));
    struct klr_node *pattern = codegen_node_copy(&c, klr_node_at(access, KLR_Access_birPattern_access));
    payload->fields[KLR_NcDmaCopy_src].node = ref;
    ref->fields[KLR_TensorRef_abstract_access].node = access;
    access->fields[KLR_Access_birPattern_access].node = pattern;

    pattern->fields[KLR_BirAccessPattern_indirectDim].integer = 1;
    codegen_case_isolate(&c, kernel, block, statement);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_ptr_nonnull(strstr(codegen_case_diag(&c, BIR_ERROR)->message,
                                 "When using vector offset, the only supported indirectDim is 0"));

    pattern->fields[KLR_BirAccessPattern_indirectDim].integer = 0;
    struct klr_node *scalar = bir_arena_alloc(&c.arena, BIR_MEM_OTHER, sizeof *scalar + sizeof(union klr_slot));
    scalar->type = KLR_TYPE_ScalarOffset;
    scalar->ctor = KLR_ScalarOffset_reg;
    scalar->fields[KLR_ScalarOffset_reg_r].string = bir_intern_cstr(&c.strings, "r");
    pattern->fields[KLR_BirAccessPattern_scalarOffset].node = scalar;
    bir_diags_init(&c.diags, &c.arena, 10);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->code, "klr-dynamic-access");

    /* The same source in a tensorTensor. */
    pattern->fields[KLR_BirAccessPattern_scalarOffset].node = NULL;
    statement = statement_copy(&c, klr_list_at(block, KLR_Block_body)->items[4].node, &payload);
    payload->fields[KLR_TensorTensor_src0].node = ref;
    codegen_case_isolate(&c, kernel, block, statement);
    bir_diags_init(&c.diags, &c.arena, 10);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_ptr_nonnull(
        strstr(codegen_case_diag(&c, BIR_ERROR)->message, "Dynamic Access is not allowed in the instruction."));

    /* And in a tensor copy, which takes scalar offsets only. */
    statement = statement_copy(&c, klr_list_at(block, KLR_Block_body)->items[1].node, &payload);
    payload->fields[KLR_NcCopy_src].node = ref;
    codegen_case_isolate(&c, kernel, block, statement);
    bir_diags_init(&c.diags, &c.arena, 10);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->message,
                     "tensor_copy only supports scalar_offset for dynamic access, not vector_offset.");
    payload->fields[KLR_NcCopy_dst].node = ref;
    bir_diags_init(&c.diags, &c.arena, 10);
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_INVALID);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->message,
                     "Only one of src and dst can have dynamic access in tensor_copy.");
    codegen_case_close(&c);
}
END_TEST

/* --- accumulation --- */

static int64_t flag_of(const struct codegen_case *c, const char *name)
{
    return bir_props_find(codegen_find(c->module, 0, name)->props, "accumulation_flag")->u.i;
}

/* matmul_tiled accumulates four matmuls at a time; moving the copy between the second and the third splits the first
 * group. */
START_TEST(a_read_ends_an_accumulation)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/matmul_tiled.klr"), BIR_OK);
    struct klr_list *body =
        (struct klr_list *)(uintptr_t)klr_list_at(bodies_of(&c.file)->items[0].list->items[0].node, KLR_Block_body);
    union klr_slot copy = body->items[12];
    ck_assert(bir_str_is(klr_string_at(copy.node, KLR_Stmt_oper_name), "inst.13"));
    for (int i = 12; i > 6; i--)
        body->items[i] = body->items[i - 1];
    body->items[6] = copy;
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    ck_assert_int_eq(flag_of(&c, "inst.3"), 1);
    ck_assert_int_eq(flag_of(&c, "inst.6"), 2);
    ck_assert_int_eq(flag_of(&c, "inst.9"), 1);
    ck_assert_int_eq(flag_of(&c, "inst.12"), 2);
    codegen_case_close(&c);
}
END_TEST

static void retarget(struct codegen_case *c, struct klr_list *body, uint64_t at, int64_t step, uint64_t num,
                     uint64_t offset)
{
    struct klr_node *payload;
    body->items[at].node = statement_copy(c, body->items[at].node, &payload);
    bool matmul = payload->type == KLR_TYPE_NcMatMul;
    enum klr_slot_index slot = matmul ? KLR_NcMatMul_dst : KLR_NcCopy_src;
    struct klr_node *ref = codegen_node_copy(c, klr_node_at(payload, slot));
    struct klr_node *access = codegen_node_copy(c, klr_node_at(ref, KLR_TensorRef_abstract_access));
    struct klr_node *pattern = codegen_node_copy(c, klr_node_at(access, KLR_Access_birPattern_access));
    const struct klr_list *pairs = klr_list_at(pattern, KLR_BirAccessPattern_pattern);
    struct klr_list *own = bir_arena_alloc(&c->arena, BIR_MEM_OTHER, sizeof *own + 2 * sizeof(union klr_slot));
    struct klr_node *inner = codegen_node_copy(c, pairs->items[1].node);
    inner->fields[KLR_APPair_step].integer = step;
    inner->fields[KLR_APPair_num].nat = num;
    own->count = 2;
    own->items[0] = pairs->items[0];
    own->items[1].node = inner;
    payload->fields[slot].node = ref;
    ref->fields[KLR_TensorRef_abstract_access].node = access;
    access->fields[KLR_Access_birPattern_access].node = pattern;
    pattern->fields[KLR_BirAccessPattern_pattern].list = own;
    pattern->fields[KLR_BirAccessPattern_offset].nat = offset;
}

/* Two interleaved accumulations into even and odd columns of one tensor; a read of even columns closes only the even
 * one, although the bounding boxes overlap. */
START_TEST(interleaved_accumulations_stay_apart)
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/matmul_tiled.klr"), BIR_OK);
    struct klr_list *body =
        (struct klr_list *)(uintptr_t)klr_list_at(bodies_of(&c.file)->items[0].list->items[0].node, KLR_Block_body);
    /* statements 2, 5, 8, 11 are the matmuls of the first tile, 12 the copy out of it */
    retarget(&c, body, 2, 2, 256, 0);
    retarget(&c, body, 5, 2, 256, 1);
    retarget(&c, body, 8, 2, 256, 0);
    retarget(&c, body, 11, 2, 256, 1);
    retarget(&c, body, 12, 2, 256, 0);
    union klr_slot copy = body->items[12];
    for (int i = 12; i > 6; i--)
        body->items[i] = body->items[i - 1];
    body->items[6] = copy;
    ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
    ck_assert_int_eq(flag_of(&c, "inst.3"), 3);  /* even: read before its second */
    ck_assert_int_eq(flag_of(&c, "inst.6"), 1);  /* odd: untouched by that read */
    ck_assert_int_eq(flag_of(&c, "inst.9"), 3);  /* even again */
    ck_assert_int_eq(flag_of(&c, "inst.12"), 2); /* odd ends */
    codegen_case_close(&c);
}
END_TEST

/* --- options, limits --- */

START_TEST(literal_simple_access_is_one_pair)
{
    struct bir_codegen_options options = { .literal_simple_access = true };
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/tensor_add_unlowered.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, &options), BIR_OK);
    const struct bir_argument *arg = bir_instruction_argument(codegen_find(c.module, 0, "inst.3"), BIR_ROLE_IN, 0);
    const struct bir_pattern *pattern = bir_argument_pattern(arg);
    ck_assert_uint_eq(pattern->rank, 1);
    ck_assert_int_eq(pattern->pairs[0].step_elems, 512);
    ck_assert_int_eq(pattern->pairs[0].num, 128);
    ck_assert(arg->flags & BIR_ARGF_WHOLE_LOCATION);
    ck_assert_uint_eq(bir_argument_shape(arg)->count, 3);
    codegen_case_close(&c);
}
END_TEST

START_TEST(arena_limit_is_reported)
{
    struct bir_codegen_options options = { .arena_limit_bytes = 256 * 1024 };
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/flash_attention_2k.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, &options), BIR_LIMIT);
    ck_assert_str_eq(codegen_case_diag(&c, BIR_ERROR)->code, "klr-arena");
    ck_assert_ptr_null(c.module);
    codegen_case_close(&c);
}
END_TEST

START_TEST(cancel_stops)
{
    struct bir_cancel cancel = { true };
    struct bir_codegen_options options = { .cancel = &cancel };
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/tensor_add.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, &options), BIR_CANCELLED);
    ck_assert_ptr_null(codegen_case_diag(&c, BIR_ERROR));
    codegen_case_close(&c);
}
END_TEST

START_TEST(arch_is_the_options)
{
    struct bir_codegen_options options = { .arch = BIR_ARCH_CORE_V4 };
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, "klr/empty_kernel.klr"), BIR_OK);
    ck_assert_int_eq(codegen_case_convert(&c, &options), BIR_OK);
    ck_assert_int_eq(c.module->arch, BIR_ARCH_CORE_V4);
    ck_assert_str_eq(c.module->functions->name->text, "kernel");
    ck_assert_ptr_null(c.module->functions->body.first);
    codegen_case_close(&c);
}
END_TEST

/* Every allocation fails once: no crash, no leak, no module, and never another status than "no memory". */
START_TEST(failing_allocations)
{
    static const char *const samples[] = { "klr/dynamic_offset.klr", "klr/gather.klr", "klr/edges.klr",
                                           "klr/tensor_add_lnc2.klr", "klr/immediates.klr" };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct codegen_case c;
        bool fired = true;
        ck_assert_int_eq(codegen_case_open(&c, samples[i]), BIR_OK);
        for (long n = 1; fired; n++) {
            long live = alloc_live();
            alloc_fail_at(n);
            struct bir_diags diags;
            struct bir_arena arena;
            struct bir_module *module = NULL;
            struct bir_codegen_options options = { 0 };
            bir_arena_init(&arena, 0);
            bir_diags_init(&diags, &arena, 100);
            enum bir_status status = bir_codegen_klr(&c.file, &options, &diags, &module);
            bool made = module != NULL;
            bool whole = !made || module->n_instructions == c.file.statements;
            bir_module_free(module);
            bir_arena_deinit(&arena);
            fired = alloc_fail_fired();
            alloc_fail_at(0);
            bool lost = diags.failed;
            bool refused = i == 4; /* immediates.klr has errors of its own */
            ck_assert_int_eq(alloc_live(), live);
            ck_assert_int_eq(made, status == BIR_OK);
            ck_assert(whole);
            /* Entering a name is tried twice, so one lost allocation may leave a whole module. */
            if (fired && status != BIR_OK)
                ck_assert_msg(status == BIR_NOMEM || (status == BIR_INVALID && (lost || refused)),
                              "%s allocation %ld: status %d", samples[i], n, (int)status);
            else
                ck_assert_int_eq(status, refused ? BIR_INVALID : BIR_OK);
        }
        codegen_case_close(&c);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        samples_convert_as_expected,
        proof_dialects_agree,
        no_instruction_is_unassigned,
        storages_of_tensor_add,
        cores_become_functions,
        source_offsets_lead_back,
        shared_constant_has_its_file,
        edges_are_ordered_and_complete,
        dangling_edge_is_named,
        duplicate_name_in_an_edge_is_an_error,
        duplicate_name_alone_is_a_warning,
        branch_without_a_neighbour_gets_a_jump_block,
        unknown_label_is_an_error,
        branch_in_the_middle_is_an_error,
        unknown_register_is_an_error,
        dynamic_dma_rules,
        generic_indirect_save_binds_data_index_and_base,
        dynamic_access_rules,
        a_read_ends_an_accumulation,
        interleaved_accumulations_stay_apart,
        literal_simple_access_is_one_pair,
        arena_limit_is_reported,
        cancel_stops,
        arch_is_the_options,
        failing_allocations,
    };
    return UNIT_RUN("codegen", tests);
}

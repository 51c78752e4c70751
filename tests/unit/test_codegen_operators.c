/*
 * The operator table: as text, in klr(5), and as what becomes of each operator's statements in the two samples that
 * hold all of them. The last is printed, one line an operator.
 */
#include "codegen_text.h"

/* One line an operator, 13 of them refusals. */
START_TEST(operators_describe_themselves)
{
    struct bir_buf text;
    uint32_t lines = 0, refused = 0;
    bir_buf_init(&text, 0);
    bir_codegen_describe_operators(&text);
    bir_buf_putc(&text, '\0');
    ck_assert_int_eq(text.status, BIR_OK);
    for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        lines++;
        refused += strstr(line, "| refused |") != NULL;
        ck_assert_ptr_null(strstr(line, "(null)"));
    }
    ck_assert_uint_eq(lines, 2 + 76);
    ck_assert_uint_eq(refused, 13);
    bir_buf_deinit(&text);
}
END_TEST

/* klr(5) holds the same rows, between its own text. */
START_TEST(manual_holds_the_table)
{
    struct bir_buf table;
    size_t len;
    char *manual = unit_read_file(ROOST_VECTORS "/../../client/man/klr.5", &len);
    bir_buf_init(&table, 0);
    bir_codegen_describe_operators_man(&table);
    bir_buf_putc(&table, '\0');
    ck_assert_int_eq(table.status, BIR_OK);
    ck_assert_msg(strstr(manual, table.data) != NULL, "client/man/klr.5 must hold:\n%s", table.data);
    bir_buf_deinit(&table);
    free(manual);
}
END_TEST

/* --- 76 rows --- */

enum { OPERATORS = 76 };

/* What became of an operator's statements in one file: the last opcode, or the refusals. */
struct outcome {
    uint32_t mapped, refused;
    char text[160];
};

static void note_outcome(struct codegen_case *c, struct outcome *outcome)
{
    bir_diags_init(&c->diags, &c->arena, 100);
    if (codegen_case_convert(c, NULL) == BIR_OK) {
        const struct bir_instruction *inst = c->module->functions->body.first->first;
        outcome->mapped++;
        snprintf(outcome->text, sizeof outcome->text, "%s on %s", bir_opcode_name(inst->opcode),
                 bir_engine_name(inst->engine));
        return;
    }
    const struct bir_diag *diag = codegen_case_diag(c, BIR_ERROR);
    ck_assert_ptr_nonnull(diag);
    ck_assert_uint_gt(strlen(diag->message), 0);
    if (outcome->refused++ == 0 && outcome->mapped == 0)
        snprintf(outcome->text, sizeof outcome->text, "refused [%s]: %s", diag->code, diag->message);
}

/* Every statement of the file, alone. */
static void collect_outcomes(const char *path, struct outcome outcomes[OPERATORS])
{
    struct codegen_case c;
    ck_assert_int_eq(codegen_case_open(&c, path), BIR_OK);
    const struct klr_node *kernel = c.file.kernel;
    const struct klr_list *blocks = klr_list_at(kernel, KLR_LncKernel_bodies)->items[0].list;
    for (uint64_t b = 0; b < blocks->count; b++) {
        const struct klr_list *body = klr_list_at(blocks->items[b].node, KLR_Block_body);
        for (uint64_t i = 0; i < body->count; i++) {
            const struct klr_node *op = klr_node_at(body->items[i].node, KLR_Stmt_oper_op);
            ck_assert_uint_lt(op->ctor, OPERATORS);
            codegen_case_isolate(&c, kernel, blocks->items[b].node, body->items[i].node);
            note_outcome(&c, &outcomes[op->ctor]);
        }
    }
    codegen_case_close(&c);
}

/* The table is printed; no operator is missing, none is silent, and a refusal of an operator says its name. */
START_TEST(every_operator_is_mapped_or_refused)
{
    static struct outcome full[OPERATORS], bare[OPERATORS];
    uint32_t unsupported = 0;
    collect_outcomes("klr/all_operators_full.klr", full);
    collect_outcomes("klr/all_operators_bare.klr", bare);
    for (unsigned op = 0; op < OPERATORS; op++) {
        const char *name = klr_ctor_name(KLR_TYPE_Operator, op);
        printf("%2u %-32s full: %-60s bare: %s\n", op, name, full[op].text, bare[op].text);
        ck_assert_msg(full[op].text[0] && bare[op].text[0], "%s has no row", name);
        if (!strstr(full[op].text, "[klr-unsupported-operator]"))
            continue; /* mapped, or an odd operand of the sample is refused */
        unsupported++;
        ck_assert_uint_eq(full[op].mapped + bare[op].mapped, 0);
        ck_assert_msg(strstr(full[op].text, name) && strstr(bare[op].text, name), "%s: %s / %s", name, full[op].text,
                      bare[op].text);
    }
    ck_assert_uint_eq(unsupported, 13);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { operators_describe_themselves, manual_holds_the_table,
                                   every_operator_is_mapped_or_refused };
    return UNIT_RUN("codegen_operators", tests);
}

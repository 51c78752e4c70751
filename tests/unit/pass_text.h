/*
 * Vectors of passes: an input module, the passes to run, and what must come out, as text.
 *
 *   tests/vectors/<area>/NAME.json     the module
 *   tests/vectors/<area>/NAME.expect   first line "passes a,b,c", then one of
 *       error CODE at JSON-POINTER: part of the message      (one line an error, in order)
 *       the program: every instruction of every function, as below, and "edges" when it has dependencies
 *
 * Lines of a program, indented by two spaces a loop:
 *   NAME Engine dst := 8                       RegisterMove
 *   NAME Engine dst := a mult 64               RegisterAlu (64-bit: "add64", pairs as lo:hi)
 *   NAME Engine dst := load operand            TensorLoad
 *   NAME Engine save operand := src            TensorSave
 *   NAME Loop axis [registers]
 *   NAME Engine CompareAndBranch OP a, b -> BLOCK when true, BLOCK when false
 *   NAME Engine UnconditionalBranch -> BLOCK
 *   NAME Engine Opcode operand, operand -> operand
 * In a function with branches a line "BLOCK:" precedes each of its own blocks.
 * Empty lines and those that start with # are skipped.
 */
#ifndef TESTS_PASS_TEXT_H
#define TESTS_PASS_TEXT_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_reader.h"
#include "bir/json.h"
#include "passes/pass.h"

static inline char *pass_text_read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        ck_abort_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    text[size] = '\0';
    *len = (size_t)size;
    return text;
}

/* --- printing --- */

static inline void pass_text_pattern(struct bir_buf *out, const struct bir_pattern *pattern)
{
    bir_buf_putc(out, '[');
    for (uint32_t i = 0; i < pattern->rank; i++)
        bir_buf_printf(out, "%s[%lld,%lld]", i ? "," : "", (long long)pattern->pairs[i].step_elems,
                       (long long)pattern->pairs[i].num);
    bir_buf_putc(out, ']');
}

static inline void pass_text_register_ap(struct bir_buf *out, const struct bir_register_ap *ap)
{
    bir_buf_printf(out, "register_ap %s %s ", ap->base.location->name->text, bir_dtype_name(ap->base.dtype));
    pass_text_pattern(out, ap->pattern);
    bir_buf_printf(out, " at %s", ap->address->base.name->text);
    if (ap->address_is_offset)
        bir_buf_puts(out, " (offset)");
    if (ap->offset)
        bir_buf_printf(out, " offset %s", ap->offset->base.name->text);
    if (ap->sub_tensor)
        bir_buf_printf(out, " block %s", ap->sub_tensor->base.name->text);
}

static inline void pass_text_operand(struct bir_buf *out, const struct bir_argument *arg)
{
    switch (arg->kind) {
    case BIR_ARG_IMM_VALUE: bir_buf_put_i64(out, (int64_t)((const struct bir_imm_value *)arg)->bits); return;
    case BIR_ARG_REGISTER_ACCESS: bir_buf_puts(out, arg->location->name->text); return;
    case BIR_ARG_REGISTER_AP: pass_text_register_ap(out, (const struct bir_register_ap *)arg); return;
    case BIR_ARG_PHYSICAL_AP:
        bir_buf_printf(out, "%s %s ", arg->location->name->text, bir_dtype_name(arg->dtype));
        pass_text_pattern(out, bir_argument_pattern(arg));
        bir_buf_printf(out, " + %lld", (long long)((const struct bir_physical_ap *)arg)->offset_elems);
        if (bir_argument_dynamic(arg))
            bir_buf_puts(out, " dynamic");
        return;
    default: bir_buf_puts(out, bir_argument_class_of((enum bir_argument_kind)arg->kind)->wire);
    }
}

static inline void pass_text_list(struct bir_buf *out, const struct bir_instruction *inst, enum bir_role role,
                                  const char *sep)
{
    bool first = true;
    BIR_EACH_ARGUMENT (arg, inst, role) {
        bir_buf_puts(out, first ? "" : sep);
        pass_text_operand(out, arg);
        first = false;
    }
}

/* a op b, or lo:hi op64 lo:hi */
static inline void pass_text_alu(struct bir_buf *out, const struct bir_instruction *inst)
{
    const struct bir_prop *op = bir_props_find(inst->props, "op");
    const struct bir_prop *wide = bir_props_find(inst->props, "is_64bit");
    bool halves = bir_instruction_argument_count(inst, BIR_ROLE_IN) == 4;
    uint32_t at = 0;
    ck_assert(op && op->type == BIR_VALUE_TEXT);
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_IN) {
        if (at == (halves ? 2u : 1u))
            bir_buf_printf(out, " %s%s ", op->u.s->text, wide ? "64" : "");
        else if (at > 0)
            bir_buf_putc(out, ':');
        pass_text_operand(out, arg);
        at++;
    }
}

static inline void pass_text_edges(struct bir_buf *out, const struct bir_instruction *inst)
{
    bool first = true;
    for (int list = 0; list < BIR_EDGES_COUNT; list++) {
        BIR_EACH_EDGE (edge, inst) {
            if (edge->list != list)
                continue;
            bir_buf_printf(out, "%s%s%s %s", first ? "  edges " : ", ",
                           list == BIR_EDGES_LOOP_CARRIED ? "carried " : "", edge->target->name->text,
                           bir_enum_name(BIR_ENUM_EDGE_KIND, edge->kind));
            first = false;
        }
    }
}

static inline const char *pass_text_key(const struct bir_instruction *inst, const char *key)
{
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    ck_assert(prop && prop->type == BIR_VALUE_TEXT);
    return prop->u.s->text;
}

static inline void pass_text_branch(struct bir_buf *out, const struct bir_instruction *inst)
{
    if (inst->opcode == BIR_OP_UNCONDITIONAL_BRANCH) {
        bir_buf_printf(out, "UnconditionalBranch -> %s", pass_text_key(inst, "target"));
        return;
    }
    bir_buf_printf(out, "CompareAndBranch %s ", pass_text_key(inst, "comp_op"));
    pass_text_list(out, inst, BIR_ROLE_IN, ", ");
    bir_buf_printf(out, " -> %s, %s", pass_text_key(inst, "on_true"), pass_text_key(inst, "on_false"));
}

static inline bool pass_text_is_branch(const struct bir_instruction *inst)
{
    return inst->opcode == BIR_OP_UNCONDITIONAL_BRANCH || inst->opcode == BIR_OP_COMPARE_AND_BRANCH;
}

static inline void pass_text_instruction(struct bir_buf *out, const struct bir_instruction *inst)
{
    bir_buf_printf(out, "%s ", inst->name ? inst->name->text : "-");
    if (inst->opcode == BIR_OP_LOOP) {
        const struct bir_loop *loop = inst->rare->loop;
        bir_buf_printf(out, "Loop %s [", loop->axis->name->text);
        for (uint32_t i = 0; i < loop->registers.count; i++)
            bir_buf_printf(out, "%s%s", i ? ", " : "", loop->registers.items[i]->base.name->text);
        bir_buf_puts(out, "]");
        return;
    }
    bir_buf_printf(out, "%s ", bir_engine_name(inst->engine));
    if (inst->opcode == BIR_OP_REGISTER_MOVE || inst->opcode == BIR_OP_REGISTER_ALU ||
        inst->opcode == BIR_OP_TENSOR_LOAD) {
        pass_text_list(out, inst, BIR_ROLE_OUT, ":");
        bir_buf_puts(out, inst->opcode == BIR_OP_TENSOR_LOAD ? " := load " : " := ");
        if (inst->opcode == BIR_OP_REGISTER_ALU)
            pass_text_alu(out, inst);
        else
            pass_text_list(out, inst, BIR_ROLE_IN, ":");
    } else if (pass_text_is_branch(inst)) {
        pass_text_branch(out, inst);
    } else {
        bir_buf_printf(out, "%s ", bir_opcode_name(inst->opcode));
        pass_text_list(out, inst, BIR_ROLE_IN, ", ");
        if (bir_instruction_first(inst, BIR_ROLE_INDIRECTION)) {
            bir_buf_puts(out, " by ");
            pass_text_list(out, inst, BIR_ROLE_INDIRECTION, ", ");
        }
        bir_buf_puts(out, " -> ");
        pass_text_list(out, inst, BIR_ROLE_OUT, ", ");
    }
    pass_text_edges(out, inst);
}

static inline bool pass_text_has_branches(struct bir_function *f)
{
    struct bir_walk walk;
    bool found = false;
    bir_walk_init(&walk, &f->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk))
        found = found || pass_text_is_branch(inst);
    return found;
}

static inline void pass_text_module(struct bir_buf *out, const struct bir_module *module)
{
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct bir_walk walk;
        bool branches = pass_text_has_branches(f);
        bir_walk_init(&walk, &f->body);
        for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
            if (branches && inst == inst->block->first && inst->block->region->depth == 0)
                bir_buf_printf(out, "%s:\n", inst->block->name->text);
            for (uint32_t i = 0; i < inst->block->region->depth; i++)
                bir_buf_puts(out, "  ");
            pass_text_instruction(out, inst);
            bir_buf_putc(out, '\n');
        }
    }
}

/* --- running --- */

struct pass_text_run {
    struct bir_arena arena, scratch;
    struct bir_diags diags;
    struct bir_module *module;
    struct bir_pass_stats stats;
    enum bir_status status;
};

static inline void pass_text_run_init(struct pass_text_run *run, const char *text, size_t len, const char *passes)
{
    struct bir_read_options options = { .strict = true };
    struct bir_pipeline pipeline;
    memset(run, 0, sizeof *run);
    bir_arena_init(&run->arena, 0);
    bir_arena_init(&run->scratch, 0);
    bir_diags_init(&run->diags, &run->arena, 100);
    struct bir_pass_context context = { .stats = &run->stats, .scratch = &run->scratch };
    run->status = bir_module_read_json(text, len, &options, &run->diags, &run->module);
    if (run->status == BIR_OK)
        run->status = bir_pipeline_parse(passes, &run->diags, &pipeline);
    if (run->status == BIR_OK)
        run->status = bir_pipeline_run(run->module, &pipeline, &context, NULL, NULL, &run->diags);
}

static inline void pass_text_run_deinit(struct pass_text_run *run)
{
    bir_module_free(run->module);
    bir_arena_deinit(&run->arena);
    bir_arena_deinit(&run->scratch);
}

/* --- comparing --- */

/* The next line that counts; NULL at the end. Cuts the text. */
static inline char *pass_text_next_line(char **at)
{
    while (**at) {
        char *line = *at;
        char *end = line + strcspn(line, "\n");
        *at = *end ? end + 1 : end;
        *end = '\0';
        if (*line && *line != '#')
            return line;
    }
    return NULL;
}

static inline void pass_text_check_error(const char *name, const char *line, const struct bir_diag *diag,
                                         const char *text, size_t len, struct bir_arena *arena)
{
    char code[64], pointer[256];
    int used = 0;
    if (sscanf(line, "error %63s at %255[^:]: %n", code, pointer, &used) != 2 || !used)
        ck_abort_msg("%s: bad line: %s", name, line);
    if (!diag)
        ck_abort_msg("%s: missing %s", name, line);
    if (strcmp(code, diag->code) || !strstr(diag->message, line + used))
        ck_abort_msg("%s: expected %s, got %s: %s", name, line, diag->code, diag->message);
    const char *place =
        diag->offset == BIR_NO_OFFSET ? "-" : bir_json_pointer_at(text, len, (size_t)diag->offset, arena);
    if (diag->suffix)
        place = bir_arena_printf(arena, "%s%s", place, diag->suffix);
    if (strcmp(pointer, place))
        ck_abort_msg("%s: expected %s at %s, got it at %s", name, code, pointer, place);
}

static inline void pass_text_check_program(const char *name, char *at, char *line, const struct pass_text_run *run)
{
    struct bir_buf out;
    if (run->status != BIR_OK)
        ck_abort_msg("%s: failed: %s", name, run->diags.first ? run->diags.first->message : "no diagnostic");
    bir_buf_init(&out, 0);
    pass_text_module(&out, run->module);
    bir_buf_putc(&out, '\0');
    char *got_at = out.data;
    for (; line; line = pass_text_next_line(&at)) {
        char *got = pass_text_next_line(&got_at);
        if (!got || strcmp(got, line))
            ck_abort_msg("%s:\nexpected %s\ngot      %s", name, line, got ? got : "the end");
    }
    line = pass_text_next_line(&got_at);
    if (line)
        ck_abort_msg("%s: more than expected: %s", name, line);
    bir_buf_deinit(&out);
}

/* Runs one vector. `passes` replaces those of the file unless NULL. */
static inline void pass_text_check_vector(const char *area, const char *name, const char *passes)
{
    char path[1024];
    size_t len, expect_len;
    snprintf(path, sizeof path, "%s/%s/%s.json", ROOST_VECTORS, area, name);
    char *text = pass_text_read_file(path, &len);
    snprintf(path, sizeof path, "%s/%s/%s.expect", ROOST_VECTORS, area, name);
    char *expect = pass_text_read_file(path, &expect_len);
    char *at = expect;
    char *line = pass_text_next_line(&at);
    if (!line || strncmp(line, "passes ", 7))
        ck_abort_msg("%s: the first line names no passes", path);
    struct pass_text_run run;
    const char *problem = NULL;
    pass_text_run_init(&run, text, len, passes ? passes : line + 7);
    if (run.module && run.status == BIR_OK && !bir_module_check_uses(run.module, &problem))
        ck_abort_msg("%s: %s", name, problem);
    line = pass_text_next_line(&at);
    if (line && strncmp(line, "error ", 6) == 0) {
        const struct bir_diag *diag = run.diags.first;
        ck_assert_int_eq(run.status, BIR_INVALID);
        for (; line; line = pass_text_next_line(&at), diag = diag->next)
            pass_text_check_error(name, line, diag, text, len, &run.arena);
        if (diag)
            ck_abort_msg("%s: more than expected: %s: %s", name, diag->code, diag->message);
    } else {
        pass_text_check_program(name, at, line, &run);
    }
    pass_text_run_deinit(&run);
    free(expect);
    free(text);
}

/* Runs every vector of an area; returns how many. */
static inline unsigned pass_text_check_area(const char *area)
{
    char path[1024];
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/%s", ROOST_VECTORS, area);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        if (len <= 5 || strcmp(entry->d_name + len - 5, ".json"))
            continue;
        entry->d_name[len - 5] = '\0';
        pass_text_check_vector(area, entry->d_name, NULL);
        count++;
    }
    closedir(dir);
    return count;
}

#endif

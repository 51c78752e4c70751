/* Reading, converting and printing .klr samples for the tests of lib/codegen. The text form of an instruction is that
 * of expect.tsv. */
#ifndef TESTS_CODEGEN_TEXT_H
#define TESTS_CODEGEN_TEXT_H

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "codegen/codegen.h"
#include "unit.h"

/* A file read, and what was made of it. */
struct codegen_case {
    char *bytes;
    size_t len;
    struct bir_arena arena;
    struct bir_strtab strings;
    struct bir_diags diags;
    struct klr_file file;
    struct bir_module *module; /* NULL before and after a failed conversion */
};

static inline void codegen_case_open_bytes(struct codegen_case *c, char *bytes, size_t len)
{
    memset(c, 0, sizeof *c);
    c->bytes = bytes;
    c->len = len;
    bir_arena_init(&c->arena, 0);
    bir_strtab_init(&c->strings, &c->arena);
    bir_diags_init(&c->diags, &c->arena, 1000);
}

/* Reads tests/vectors/<path>. */
static inline enum bir_status codegen_case_open(struct codegen_case *c, const char *path)
{
    char full[512];
    size_t len;
    snprintf(full, sizeof full, "%s/%s", ROOST_VECTORS, path);
    char *bytes = unit_read_file(full, &len);
    codegen_case_open_bytes(c, bytes, len);
    return klr_read(c->bytes, c->len, NULL, &c->strings, &c->arena, &c->diags, &c->file);
}

static inline enum bir_status codegen_case_convert(struct codegen_case *c, const struct bir_codegen_options *options)
{
    static const struct bir_codegen_options defaults = { 0 };
    bir_module_free(c->module);
    c->module = NULL;
    return bir_codegen_klr(&c->file, options ? options : &defaults, &c->diags, &c->module);
}

static inline void codegen_case_close(struct codegen_case *c)
{
    bir_module_free(c->module);
    bir_arena_deinit(&c->arena);
    free(c->bytes);
}

/* The first diagnostic of that severity, or NULL. */
static inline const struct bir_diag *codegen_case_diag(const struct codegen_case *c, enum bir_severity severity)
{
    const struct bir_diag *diag = c->diags.first;
    while (diag && diag->severity != severity)
        diag = diag->next;
    return diag;
}

/* A copy of a node whose fields may be changed. */
static inline struct klr_node *codegen_node_copy(struct codegen_case *c, const struct klr_node *node)
{
    size_t size = sizeof *node + klr_field_count((enum klr_type)node->type, node->ctor) * sizeof(union klr_slot);
    struct klr_node *copy = bir_arena_alloc(&c->arena, BIR_MEM_OTHER, size);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, node, size);
    return copy;
}

static inline struct klr_list *codegen_list_of(struct codegen_case *c, union klr_slot item)
{
    struct klr_list *list = bir_arena_alloc(&c->arena, BIR_MEM_OTHER, sizeof *list + sizeof item);
    ck_assert_ptr_nonnull(list);
    list->count = 1;
    list->items[0] = item;
    return list;
}

/* Leaves the file with one statement of the given block, and without edges. */
static inline void codegen_case_isolate(struct codegen_case *c, const struct klr_node *kernel,
                                        const struct klr_node *block, const struct klr_node *statement)
{
    static const struct klr_list none = { 0 };
    struct klr_node *own_block = codegen_node_copy(c, block);
    struct klr_node *own_kernel = codegen_node_copy(c, kernel);
    own_block->fields[KLR_Block_body].list = codegen_list_of(c, (union klr_slot){ .node = statement });
    struct klr_list *blocks = codegen_list_of(c, (union klr_slot){ .node = own_block });
    own_kernel->fields[KLR_LncKernel_bodies].list = codegen_list_of(c, (union klr_slot){ .list = blocks });
    own_kernel->fields[KLR_LncKernel_edges].list = &none;
    c->file.kernel = own_kernel;
}

/* Takes the statement of that name out of the file; edges stay. */
static inline void codegen_case_drop(struct codegen_case *c, const char *name)
{
    const struct klr_list *bodies = klr_list_at(c->file.kernel, KLR_LncKernel_bodies);
    for (uint64_t core = 0; core < bodies->count; core++)
        for (uint64_t b = 0; b < bodies->items[core].list->count; b++) {
            const struct klr_node *block = bodies->items[core].list->items[b].node;
            struct klr_list *body = (struct klr_list *)(uintptr_t)klr_list_at(block, KLR_Block_body);
            uint64_t kept = 0;
            for (uint64_t i = 0; i < body->count; i++)
                if (!bir_str_is(klr_string_at(body->items[i].node, KLR_Stmt_oper_name), name))
                    body->items[kept++] = body->items[i];
            c->file.statements -= body->count - kept;
            body->count = kept;
        }
}

/* --- printing --- */

static inline void codegen_text_pairs(struct bir_buf *out, const struct bir_pattern *pattern)
{
    for (uint32_t k = 0; k < pattern->rank; k++)
        bir_buf_printf(out, "(%lld,%lld)", (long long)pattern->pairs[k].step_elems, (long long)pattern->pairs[k].num);
}

static inline void codegen_text_operand(struct bir_buf *out, const struct bir_argument *arg)
{
    static const char *const lists[] = { "in", "ind", "out" };
    if (arg->kind == BIR_ARG_IMM_VALUE) {
        bir_buf_printf(out, "imm:%s:%llx", bir_dtype_name(arg->dtype),
                       (unsigned long long)((const struct bir_imm_value *)arg)->bits);
        return;
    }
    if (arg->kind == BIR_ARG_REGISTER_ACCESS) {
        bir_buf_printf(out, "%s:reg:%s", lists[arg->role], arg->location->name->text);
        return;
    }
    ck_assert_int_eq(arg->kind, BIR_ARG_PHYSICAL_AP);
    const struct bir_physical_ap *ap = (const struct bir_physical_ap *)arg;
    bir_buf_printf(out, "%s:%s:%s:", lists[arg->role], arg->location->name->text, bir_dtype_name(arg->dtype));
    codegen_text_pairs(out, ap->pattern);
    bir_buf_printf(out, "@%lld", (long long)ap->offset_elems);
    const struct bir_dynamic_info *info = bir_argument_dynamic(arg);
    if (!info)
        return;
    ck_assert_uint_eq(info->n_terms, 1);
    ck_assert_ptr_eq(info->actual, ap->pattern);
    ck_assert_uint_eq(info->indirect_dim, 0);
    bir_buf_printf(out, "{c=%lld,coef=%lld,", (long long)info->c_elems, (long long)info->terms[0].coef);
    if (info->terms[0].expr->kind == PELICAN_RUNTIME_VALUE)
        bir_buf_printf(out, "reg %s", info->terms[0].expr->u.reg->base.name->text);
    else
        bir_buf_printf(out, "ind %lld", (long long)info->terms[0].expr->u.arg_id);
    bir_buf_printf(out, ",max=%lld}", (long long)info->indirect_dim_max_index);
}

static inline void codegen_text_prop(struct bir_buf *out, const struct bir_prop *prop)
{
    bir_buf_printf(out, "%s=", prop->key->text);
    switch (prop->type) {
    case BIR_VALUE_BOOL: bir_buf_puts(out, prop->u.b ? "true" : "false"); break;
    case BIR_VALUE_INT: bir_buf_printf(out, "%lld", (long long)prop->u.i); break;
    case BIR_VALUE_FLOAT: bir_buf_printf(out, "%.9g", prop->u.f != prop->u.f ? (double)NAN : prop->u.f); break;
    case BIR_VALUE_EXPR:
        ck_assert(pelican_is_constant(prop->u.e));
        bir_buf_printf(out, "expr:%lld", (long long)prop->u.e->u.affine.c);
        break;
    default: bir_buf_put(out, prop->u.s->text, prop->u.s->len); break;
    }
}

/* opcode, engine, operands, keys, separated by tabs. */
static inline void codegen_text_instruction(struct bir_buf *out, const struct bir_instruction *inst)
{
    const char *separator = "";
    bir_buf_printf(out, "%s\t%s\t", bir_opcode_name(inst->opcode), bir_engine_name(inst->engine));
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            bir_buf_puts(out, separator);
            codegen_text_operand(out, arg);
            separator = " ";
        }
    }
    bir_buf_puts(out, *separator ? "\t" : "-\t");
    separator = "";
    for (uint32_t i = 0; inst->props && i < inst->props->count; i++) {
        if (bir_str_is(inst->props->items[i].key, "optin_passes"))
            continue;
        bir_buf_puts(out, separator);
        codegen_text_prop(out, &inst->props->items[i]);
        separator = "; ";
    }
    if (!*separator)
        bir_buf_puts(out, "-");
}

static inline struct bir_instruction *codegen_find(const struct bir_module *module, uint32_t body, const char *name)
{
    struct bir_function *function = module->functions;
    while (body-- > 0 && function)
        function = function->next;
    ck_assert_ptr_nonnull(function);
    const struct bir_str *key = bir_intern_find(&module->strings, name, strlen(name));
    struct bir_instruction *inst = key ? bir_map_get(&function->instructions, key) : NULL;
    ck_assert_msg(inst != NULL, "no instruction %s in %s", name, function->name->text);
    return inst;
}

#endif

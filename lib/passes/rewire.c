/*
 * Rewiring emits nothing: it replaces the register leaves of the offset expressions. Only kind 7 carries a register
 * (choice). Expressions are shared between operands and immutable, so the operand gets new ones; others keep theirs.
 */
#include "passes/rewire.h"

#include "passes/rewrite_expr.h"

struct rewiring {
    struct bir_function *function;
    const struct bir_map *names;
    const struct bir_register *unknown; /* the first that the map lacks */
};

struct bir_register_token bir_register_token(const char *name, size_t len)
{
    struct bir_register_token token = { name, len };
    for (size_t i = len; i-- > 0;) {
        if (name[i] == '>') {
            token = (struct bir_register_token){ name + i + 1, len - i - 1 };
            break;
        }
    }
    while (token.len > 0 && (*token.text == ' ' || *token.text == '*')) {
        token.text++;
        token.len--;
    }
    while (token.len > 0 && token.text[token.len - 1] == ' ')
        token.len--;
    return token;
}

static const struct pelican_expr *rebind(void *user, struct pelican_context *ctx, const struct pelican_expr *leaf)
{
    struct rewiring *r = user;
    if (leaf->kind != PELICAN_RUNTIME_VALUE || !leaf->u.reg)
        return leaf;
    const struct bir_str *old = leaf->u.reg->base.name;
    const struct bir_str *name = bir_map_get(r->names, old);
    if (!name) { /* spelled with a prefix */
        struct bir_register_token token = bir_register_token(old->text, old->len);
        old = bir_intern_find(&r->function->module->strings, token.text, token.len);
        name = old ? bir_map_get(r->names, old) : NULL;
    }
    if (!name) {
        r->unknown = leaf->u.reg;
        return NULL;
    }
    struct bir_register *reg = bir_function_find_register(r->function, name);
    return reg && reg != leaf->u.reg ? pelican_runtime_value(ctx, reg) : leaf;
}

enum bir_status bir_rewire_dynamic_registers(struct bir_module *module, struct bir_argument *arg,
                                             struct bir_function *function, const struct bir_map *names,
                                             struct bir_diags *diags)
{
    struct rewiring r = { .function = function, .names = names };
    if (arg->kind != BIR_ARG_PHYSICAL_AP || !bir_argument_dynamic(arg))
        return BIR_OK;
    if (bir_dynamic_rewrite(module, arg, rebind, &r))
        return BIR_OK;
    if (!r.unknown)
        return bir_arena_failure(&module->arena);
    struct bir_diag *diag =
        bir_diag_add(diags, BIR_ERROR, "split-unknown-register", bir_pass_place(arg->source_offset),
                     "Register (%s) not found in oldReg2Engine2NewReg!", r.unknown->base.name->text);
    diag->vendor = "EAE032";
    return BIR_INVALID;
}

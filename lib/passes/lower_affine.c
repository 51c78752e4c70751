/*
 * Affine expressions as register code (lowering.md 8.4): dst := c, then for each axis, outermost first, tmp := iv *
 * coef and dst := dst + tmp. No coefficient is special.
 *
 * The vendor truncates constants to 32 bits; we refuse what does not fit, and prove with the ranges of the axes that no
 * product and no partial sum leaves int32. So the emitted program computes the exact value.
 */
#include "passes/lower_affine.h"

#include "passes/induction.h"

static bool fits_int32(int64_t v)
{
    return v >= INT32_MIN && v <= INT32_MAX;
}

static bool range_fits(struct pelican_range r)
{
    return r.known && fits_int32(r.inf) && fits_int32(r.sup);
}

static const char *inst_name(const struct bir_affine_site *site)
{
    return site->inst->name ? site->inst->name->text : "?";
}

static bool encloses(const struct bir_instruction *loop, const struct bir_instruction *inst)
{
    for (const struct bir_instruction *owner = inst->block->region->owner; owner; owner = owner->block->region->owner) {
        if (owner == loop)
            return true;
    }
    return false;
}

static enum bir_status check_term(const struct bir_affine_site *site, const struct pelican_expr *index,
                                  struct bir_diags *diags)
{
    int64_t place = bir_pass_place(site->source_offset);
    if (index->kind != PELICAN_AFFINE_IV)
        return bir_fail_member(
            diags, "lower-runtime-term", place, site->suffix,
            "only loop axes can stand in a symbolic address; use dynamic_ap_info for runtime offsets",
            "%s of %s has a term that is no loop axis", site->what, inst_name(site));
    struct pelican_axis *axis = index->u.axis;
    const char *name = axis->name ? axis->name->text : "?";
    if (!axis->loop || !encloses(axis->loop, site->inst))
        return bir_fail_member(diags, "lower-axis-scope", place, site->suffix,
                               "use an axis of a loop around the instruction",
                               "%s of %s uses axis %s, whose loop does not contain it", site->what, inst_name(site),
                               name);
    if (axis->loop->opcode != BIR_OP_LOOP)
        return bir_fail_member(diags, "lower-dynamic-loop", place, site->suffix,
                               "its bounds are known at run time only",
                               "%s of %s uses axis %s of a loop that is no Loop", site->what, inst_name(site), name);
    if (!bir_induction_register(axis, (enum bir_engine)site->inst->engine))
        return bir_fail_member(diags, "lower-no-register", place, site->suffix, "run assign_loop_registers first",
                               "loop axis hasn't been assigned register for induction variable! (axis %s, engine %s)",
                               name, bir_engine_name(site->inst->engine));
    return BIR_OK;
}

static enum bir_status refuse_overflow(const struct bir_affine_site *site, const char *part, struct bir_diags *diags)
{
    return bir_fail_member(diags, "lower-overflow", bir_pass_place(site->source_offset), site->suffix,
                           "register code is 32 bits wide; keep constants, coefficients and partial sums within int32",
                           "%s of %s: %s does not fit int32", site->what, inst_name(site), part);
}

/* Every value that a register of the program takes. */
static enum bir_status check_widths(struct bir_module *module, const struct bir_affine_site *site,
                                    struct bir_affine *affine, struct bir_diags *diags)
{
    const struct pelican_expr *e = affine->expr;
    struct pelican_range sum = { e->u.affine.c, e->u.affine.c, true };
    if (!range_fits(sum))
        return refuse_overflow(site, "the constant", diags);
    for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
        if (!fits_int32(e->u.affine.terms[i].coef))
            return refuse_overflow(site, "a coefficient", diags);
        const struct pelican_expr *product = pelican_affine(&module->expressions, 0, &e->u.affine.terms[i], 1);
        if (!product)
            return bir_arena_failure(&module->arena);
        struct pelican_range r = pelican_range_of(product);
        affine->never_runs = affine->never_runs || pelican_axis_trip_count(e->u.affine.terms[i].index->u.axis) == 0;
        if (affine->never_runs)
            continue;
        if (!range_fits(r))
            return refuse_overflow(site, "a product of axis and coefficient", diags);
        sum = (struct pelican_range){ sum.inf + r.inf, sum.sup + r.sup, true };
        if (!range_fits(sum))
            return refuse_overflow(site, "a partial sum", diags);
    }
    affine->range = sum;
    return BIR_OK;
}

enum bir_status bir_affine_prepare(struct bir_module *module, const struct bir_affine_site *site,
                                   const struct pelican_expr *e, struct bir_diags *diags, struct bir_affine *out)
{
    struct bir_affine affine = { .expr = pelican_simplify(&module->expressions, e) };
    if (!affine.expr)
        return module->expressions.overflow ? refuse_overflow(site, "a folded constant", diags)
                                            : bir_arena_failure(&module->arena);
    if (affine.expr->kind != PELICAN_AFFINE)
        return bir_fail_member(
            diags, "lower-not-affine", bir_pass_place(site->source_offset), site->suffix,
            "unroll the loop, or write the expression as constant plus coefficient times axis",
            "Only simple affine expr supported: %s of %s keeps a division, remainder or runtime value after "
            "simplification",
            site->what, inst_name(site));
    for (uint32_t i = 0; i < affine.expr->u.affine.n_terms; i++)
        BIR_TRY(check_term(site, affine.expr->u.affine.terms[i].index, diags));
    BIR_TRY(check_widths(module, site, &affine, diags));
    *out = affine;
    return BIR_OK;
}

void bir_lower_affine(struct bir_emitter *e, const struct bir_affine *affine, struct bir_register *dst,
                      struct bir_register *tmp)
{
    const struct pelican_expr *expr = affine->expr;
    bir_emit_move_imm(e, dst, expr->u.affine.c);
    for (uint32_t i = 0; i < expr->u.affine.n_terms; i++) {
        const struct pelican_term *term = &expr->u.affine.terms[i];
        bir_emit_alu_reg_imm(e, BIR_ALU_MULT, tmp,
                             bir_induction_register(term->index->u.axis, (enum bir_engine)e->position->engine),
                             term->coef);
        bir_emit_alu_reg_reg(e, BIR_ALU_ADD, dst, dst, tmp);
    }
}

/* The pipeline is run as a whole; its observer records and validates at the places where compile.c does. */
#include "lower_checked.h"

#include <string.h>

struct observer {
    struct lower_checked *l;
    struct bir_validation_options options;
};

static bool is_pass(const struct bir_pass *pass, const char *name)
{
    return strcmp(pass->name, name) == 0;
}

static enum bir_status observe(void *user, const struct bir_pass *pass, struct bir_module *module)
{
    struct observer *o = user;
    struct lower_checked *l = o->l;
    if (is_pass(pass, "insert_address_tables"))
        return bir_validation_record(module, &l->arena, &l->validation);
    if (is_pass(pass, "lower_branch")) {
        o->options.registers = BIR_VALIDATION_REGISTERS_AUTO;
        return bir_validation_run(l->validation, module, &o->options, &l->diags, &l->branched);
    }
    if (is_pass(pass, "expand_inst_late")) { /* the last of the two address-lowering passes */
        o->options.registers = BIR_VALIDATION_REGISTERS_SYMBOLIC;
        return bir_validation_run(l->validation, module, &o->options, &l->diags, &l->symbolic);
    }
    if (is_pass(pass, "color_registers")) {
        o->options.registers = BIR_VALIDATION_REGISTERS_PHYSICAL;
        return bir_validation_run(l->validation, module, &o->options, &l->diags, &l->physical);
    }
    return BIR_OK;
}

void lower_checked_run(struct lower_checked *l, const char *text, size_t len, const char *passes,
                       unsigned registers_per_engine, enum bir_validation_mode mode, uint64_t seed)
{
    memset(l, 0, sizeof(*l));
    bir_arena_init(&l->arena, 0);
    bir_diags_init(&l->diags, &l->arena, 20);
    struct bir_read_options read = { .strict = false };
    struct bir_pipeline pipeline;
    l->status = bir_module_read_json(text, len, &read, &l->diags, &l->module);
    if (l->status == BIR_OK)
        l->status = bir_pipeline_parse(passes, &l->diags, &pipeline);
    if (l->status != BIR_OK)
        return;
    struct bir_arena scratch;
    bir_arena_init(&scratch, 0);
    struct bir_pass_context context = { .options = { .registers_per_engine = registers_per_engine },
                                        .stats = &l->stats,
                                        .scratch = &scratch };
    struct observer o = { .l = l, .options = { .mode = mode, .seed = seed } };
    l->status = bir_pipeline_run(l->module, &pipeline, &context, observe, &o, &l->diags);
    bir_arena_deinit(&scratch);
}

void lower_checked_deinit(struct lower_checked *l)
{
    bir_module_free(l->module);
    bir_arena_deinit(&l->arena);
}

const char *lower_checked_error(const struct lower_checked *l)
{
    for (const struct bir_diag *d = l->diags.first; d; d = d->next) {
        if (d->severity == BIR_ERROR)
            return d->message ? d->message : d->code;
    }
    return "no error";
}

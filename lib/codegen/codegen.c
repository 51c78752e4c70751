/*
 * The conversion as a whole: one function a core, then the edges.
 *
 * Statements, blocks and cores that fail do not stop the ones after them, so that a kernel's faults come out together.
 * Work is linear in the file: a tensor is looked up by its node, a name once a statement.
 */
#include <stdio.h>

#include "codegen/context.h"

/* Bodies of one kernel, choice; hardware groups at most two physical cores (a few at most in announced parts). */
enum { CODEGEN_MAX_CORES = 64 };

static enum bir_status function_new(struct codegen *cg, const struct bir_str *kernel, uint32_t core,
                                    const struct klr_node *place)
{
    char suffix[24] = "";
    if (cg->n_cores > 1)
        snprintf(suffix, sizeof suffix, "_core%u", core);
    const struct bir_str *stem =
        kernel->len ? codegen_text(cg, kernel) : bir_intern_cstr(&cg->module->strings, "kernel");
    const struct bir_str *name = stem ? codegen_text_with(cg, stem, suffix) : NULL;
    cg->function = name ? bir_function_new(cg->module, name, false) : NULL;
    if (!cg->function)
        return codegen_nomem(cg);
    cg->function->source_offset = codegen_source(place);
    cg->next_barrier_id = 0;
    cg->next_name = 0;
    return codegen_declare_storages(cg);
}

/* One core; `blocks` is NULL for a kernel without bodies. */
static enum bir_status core_convert(struct codegen *cg, const struct bir_str *kernel, uint32_t core,
                                    const struct klr_list *blocks)
{
    enum bir_status storages = function_new(cg, kernel, core, cg->file->kernel);
    if ((storages != BIR_OK && storages != BIR_INVALID) || !blocks)
        return storages;
    enum bir_status code = codegen_blocks(cg, blocks);
    return code != BIR_OK ? code : storages;
}

static enum bir_status lnc_convert(struct codegen *cg, const struct klr_node *kernel)
{
    const struct klr_list *bodies = klr_list_at(kernel, KLR_LncKernel_bodies);
    const struct bir_str *name = klr_string_at(kernel, KLR_LncKernel_name);
    enum bir_status result = BIR_OK;
    if (bodies->count > CODEGEN_MAX_CORES)
        return codegen_fail(cg, "klr-cores", kernel, NULL, "%llu bodies, at most %d cores share a kernel",
                            (unsigned long long)bodies->count, CODEGEN_MAX_CORES);
    cg->inputs = klr_list_at(kernel, KLR_LncKernel_inputs);
    cg->outputs = klr_list_at(kernel, KLR_LncKernel_outputs);
    cg->shared_constants = klr_list_at(kernel, KLR_LncKernel_sharedConstants);
    cg->shared_buffers = klr_list_at(kernel, KLR_LncKernel_sharedBuffers);
    cg->edges = klr_list_at(kernel, KLR_LncKernel_edges);
    cg->n_cores = (uint32_t)bodies->count;
    BIR_TRY(codegen_survey(cg, bodies, NULL));
    if (cg->n_cores == 0)
        return core_convert(cg, name, 0, NULL);
    for (uint32_t core = 0; core < cg->n_cores; core++) {
        enum bir_status status = core_convert(cg, name, core, bodies->items[core].list);
        if (status == BIR_INVALID)
            result = BIR_INVALID;
        else if (status != BIR_OK)
            return status;
    }
    return result == BIR_OK ? codegen_edges(cg) : result;
}

static enum bir_status kernel_convert(struct codegen *cg, const struct klr_node *kernel)
{
    static const struct klr_list none = { 0 };
    cg->inputs = klr_list_at(kernel, KLR_Kernel_inputs);
    cg->outputs = klr_list_at(kernel, KLR_Kernel_outputs);
    cg->shared_constants = cg->shared_buffers = cg->edges = &none;
    cg->n_cores = 1;
    BIR_TRY(codegen_survey(cg, NULL, klr_list_at(kernel, KLR_Kernel_body)));
    return core_convert(cg, klr_string_at(kernel, KLR_Kernel_name), 0, klr_list_at(kernel, KLR_Kernel_body));
}

enum bir_status bir_codegen_klr(const struct klr_file *file, const struct bir_codegen_options *options,
                                struct bir_diags *diags, struct bir_module **out)
{
    struct codegen cg = { .file = file, .options = options, .diags = diags };
    cg.module = bir_module_new(options->arena_limit_bytes);
    if (!cg.module)
        return BIR_NOMEM;
    cg.module->arch = options->arch == BIR_ARCH_NONE ? BIR_ARCH_GEN3 : options->arch;
    cg.module->from_klr = true;
    bir_arena_init_scratch(&cg.scratch, options->arena_limit_bytes);
    enum bir_status status =
        file->content == KLR_CONTENT_LNC ? lnc_convert(&cg, file->kernel) : kernel_convert(&cg, file->kernel);
    bir_arena_deinit(&cg.scratch);
    if (status == BIR_LIMIT && diags->errors == 0)
        status = bir_fail_limit(diags, "klr-arena", BIR_NO_OFFSET, "raise the arena limit or split the kernel",
                                "the module needs more than %zu bytes of memory", options->arena_limit_bytes);
    if (status == BIR_OK)
        *out = cg.module;
    else
        bir_module_free(cg.module);
    return status;
}

/*
 * The pass manager: one table in pipeline order, a parser of pass lists, and a loop.
 *
 * Orders other than the table's are allowed (lower_ap and expand_inst_late give the same code either way); a pass
 * refuses a module that does not fulfil its entry conditions, so a senseless order ends in a diagnostic. Only the two
 * rows that compile.c runs have fixed places: klr_codegen makes the module and encode leaves it.
 */
#include <string.h>

#include "base/near.h"
#include "passes/pass.h"

const struct bir_pass bir_passes[] = {
    { "klr_codegen", NULL, "turns a KLR kernel into a BIR module", true },
    { "allocate_memory", bir_pass_allocate_memory, "gives an address to every location that has none", true },
    { "split_engines", bir_pass_split_engines, "gives each engine its own copy of code on ALL", true },
    { "build_flow_deps", bir_pass_build_flow_deps, "adds Flow edges from real footprints", true },
    { "build_anti_deps", bir_pass_build_anti_deps, "adds Anti and Output edges from real footprints", true },
    { "assign_loop_registers", bir_pass_assign_loop_registers, "one induction register per loop axis and engine",
      true },
    { "insert_address_tables", bir_pass_insert_address_tables, "tables of the block addresses of symbolic sets", true },
    { "lower_ap", bir_pass_lower_ap, "symbolic operands become register programs", true },
    { "expand_inst_late", bir_pass_expand_inst_late, "runtime offsets become register programs", true },
    { "color_registers", bir_pass_color_registers, "physical register numbers per engine", true },
    { "lower_branch", bir_pass_lower_branch, "structured loops and predicates become blocks with branches", false },
    { "encode", NULL, "operands and instructions become bytes", false },
};
const size_t bir_pass_count = sizeof bir_passes / sizeof bir_passes[0];

const struct bir_pass *bir_pass_find(const char *name, size_t len)
{
    for (size_t i = 0; i < bir_pass_count; i++) {
        if (strlen(bir_passes[i].name) == len && memcmp(bir_passes[i].name, name, len) == 0)
            return &bir_passes[i];
    }
    return NULL;
}

const char *bir_pass_stats_counter(const struct bir_pass_stats *stats, size_t i, uint64_t *value)
{
#define COUNTER_ROW(member, name) { name, offsetof(struct bir_pass_stats, member) },
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = { BIR_PASS_COUNTERS(COUNTER_ROW) };
#undef COUNTER_ROW
    if (i >= sizeof rows / sizeof rows[0])
        return NULL;
    memcpy(value, (const char *)stats + rows[i].offset, sizeof *value);
    return rows[i].name;
}

static void default_pipeline(struct bir_pipeline *pipeline)
{
    pipeline->count = 0;
    for (size_t i = 0; i < bir_pass_count; i++) {
        if (bir_passes[i].in_default_pipeline)
            pipeline->passes[pipeline->count++] = &bir_passes[i];
    }
}

/* What may be meant, and all names. NULL when memory is short: a hint may be missing. */
static const char *known_names(struct bir_arena *arena, const char *name, size_t len)
{
    struct bir_near near;
    struct bir_buf text;
    bir_near_init(&near, name, len);
    bir_buf_init(&text, 0);
    for (size_t i = 0; i < bir_pass_count; i++)
        bir_near_offer(&near, bir_passes[i].name, strlen(bir_passes[i].name));
    bir_buf_puts(&text, near.count ? "did you mean " : "");
    bir_near_write(&near, "", &text);
    bir_buf_puts(&text, near.count ? "? passes:" : "passes:");
    for (size_t i = 0; i < bir_pass_count; i++) {
        bir_buf_putc(&text, ' ');
        bir_buf_puts(&text, bir_passes[i].name);
    }
    const char *hint = text.status == BIR_OK ? bir_arena_strndup(arena, text.data, text.len) : NULL;
    bir_buf_deinit(&text);
    return hint;
}

static enum bir_status append_pass(struct bir_pipeline *pipeline, const char *name, size_t len, struct bir_diags *diags)
{
    const struct bir_pass *pass = bir_pass_find(name, len);
    if (!pass)
        return bir_fail(diags, "pass-unknown", BIR_NO_OFFSET, known_names(diags->arena, name, len),
                        "no pass is called \"%.*s\"", len > 64 ? 64 : (int)len, name);
    if (pipeline->count == BIR_PIPELINE_MAX)
        return bir_fail_limit(diags, "pass-too-many", BIR_NO_OFFSET, "name fewer passes",
                              "a pipeline has at most %d passes", BIR_PIPELINE_MAX);
    pipeline->passes[pipeline->count++] = pass;
    return BIR_OK;
}

static enum bir_status check_order(const struct bir_pipeline *pipeline, struct bir_diags *diags)
{
    const struct bir_pass *first = &bir_passes[0];
    const struct bir_pass *last = &bir_passes[bir_pass_count - 1];
    for (uint32_t i = 0; i < pipeline->count; i++) {
        if (pipeline->passes[i] == first && i > 0)
            return bir_fail(diags, "pass-order", BIR_NO_OFFSET, NULL, "%s must be the first pass, not number %u",
                            first->name, i + 1);
        if (pipeline->passes[i] == last && i + 1 < pipeline->count)
            return bir_fail(diags, "pass-order", BIR_NO_OFFSET, NULL, "%s must be the last pass, not number %u of %u",
                            last->name, i + 1, pipeline->count);
    }
    return BIR_OK;
}

enum bir_status bir_pipeline_parse(const char *spec, struct bir_diags *diags, struct bir_pipeline *pipeline)
{
    struct bir_pipeline parsed = { 0 };
    if (!spec)
        default_pipeline(&parsed);
    for (const char *p = spec; p && *p;) {
        size_t len = strcspn(p, ",");
        BIR_TRY(append_pass(&parsed, p, len, diags));
        p += len;
        if (*p == ',' && *++p == '\0')
            return bir_fail(diags, "pass-unknown", BIR_NO_OFFSET, "remove the last comma",
                            "no pass follows the last comma");
    }
    BIR_TRY(check_order(&parsed, diags));
    *pipeline = parsed;
    return BIR_OK;
}

enum bir_status bir_pipeline_run(struct bir_module *module, const struct bir_pipeline *pipeline,
                                 const struct bir_pass_context *context, bir_pass_observer *observer, void *user,
                                 struct bir_diags *diags)
{
    for (uint32_t i = 0; i < pipeline->count; i++) {
        const struct bir_pass *pass = pipeline->passes[i];
        if (!pass->run)
            continue;
        BIR_TRY(bir_pass_poll(context, 0));
        enum bir_status status = pass->run(module, context, diags);
        bir_arena_deinit(context->scratch);
        BIR_TRY(status);
        if (observer)
            BIR_TRY(observer(user, pass, module));
    }
    return BIR_OK;
}

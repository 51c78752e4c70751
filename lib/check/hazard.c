/*
 * The hazard analysis as a whole: function by function, and the verdict (hazards.md section 6).
 *
 * When edges are unknown, no pair and no wait of that function is told. Any other reason for doubt hides what it hides
 * and nothing else. Working memory of a function is freed before the next one.
 */
#include "check/hazard.h"

#include <stdarg.h>
#include <string.h>

#include "check/hazard_internal.h"

const char *bir_hazard_verdict_name(enum bir_hazard_verdict verdict)
{
    static const char *const names[] = { "clean", "undecided", "findings" };
    return names[verdict];
}

const char *bir_hazard_kind_name(enum bir_hazard_kind kind)
{
    static const char *const names[] = { "RAW", "WAW", "WAR" };
    return names[kind];
}

const char *bir_hazard_problem_name(enum bir_hazard_problem problem)
{
    static const char *const names[] = { "never", "early", "no-update" };
    return names[problem];
}

const char *hazard_name(const struct bir_instruction *inst)
{
    return inst->name ? inst->name->text : "(nameless)";
}

enum bir_status hazard_memory(const struct hazard_analysis *h)
{
    const struct bir_arena *arenas[] = { &h->scratch, &h->lasting, h->arena };
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++)
        if (arenas[i]->failure == BIR_LIMIT)
            return bir_fail_limit(h->diags, "hazard-limit", BIR_NO_OFFSET, "raise the memory limit",
                                  "the hazard analysis needs more than %zu bytes of memory", h->arena->limit_bytes);
    return BIR_NOMEM;
}

enum bir_status hazard_reason(struct hazard_analysis *h, uint32_t source_offset, const char *fmt, ...)
{
    h->is_undecided = true;
    if (h->reasons_cut)
        return BIR_OK;
    h->reasons_cut = h->reasons.count >= h->max_entries;
    va_list args;
    va_start(args, fmt);
    const char *text = h->reasons_cut
                           ? bir_arena_printf(&h->lasting, "more than %u reasons: the list is cut", h->max_entries)
                           : bir_arena_vprintf(&h->lasting, fmt, args);
    va_end(args);
    if (!text)
        return hazard_memory(h);
    size_t len = strlen(text);
    if (bir_intern_find(&h->reason_texts, text, len))
        return BIR_OK;
    const struct bir_str *kept = bir_intern(&h->reason_texts, text, len);
    if (!kept || !bir_vec_push(h->arena, &h->reasons, kept->text))
        return hazard_memory(h);
    bir_diag_add(h->diags, BIR_WARNING, "hazard-undecided",
                 source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)source_offset, "%s", kept->text);
    return BIR_OK;
}

/* --- function --- */

static enum bir_status analyse_steps(struct hazard_analysis *h)
{
    BIR_TRY(hazard_program_build(h));
    h->n_executions += h->n_execs;
    h->n_syncs += h->waiters.count + h->raw_updates.count;
    hazard_explain_names(h);
    if (h->edges_unknown)
        return BIR_OK;
    BIR_TRY(hazard_semaphore_build(h));
    if (h->edges_unknown)
        return BIR_OK;
    BIR_TRY(hazard_order_build(h));
    if (h->edges_unknown)
        return BIR_OK;
    BIR_TRY(hazard_add_waits(h));
    BIR_TRY(hazard_footprint_build(h));
    h->n_accesses += h->accesses.count;
    BIR_TRY(hazard_sweep(h));
    hazard_report_sort(h);
    return hazard_explain(h);
}

static void forget_function(struct hazard_analysis *h)
{
    bir_arena_deinit(&h->clock_rows);
    bir_arena_deinit(&h->scratch);
    memset(&h->function, 0, sizeof(*h) - offsetof(struct hazard_analysis, function));
}

static enum bir_status analyse_function(struct hazard_analysis *h, struct bir_function *function)
{
    h->function = function;
    enum bir_status status = analyse_steps(h);
    if (h->is_undecided && h->verdict < BIR_HAZARD_UNDECIDED)
        h->verdict = BIR_HAZARD_UNDECIDED;
    forget_function(h);
    return status;
}

static enum bir_status analyse_functions(struct hazard_analysis *h)
{
    BIR_EACH_FUNCTION (function, h->module) {
        BIR_TRY(analyse_function(h, function));
    }
    for (struct bir_function *function = h->module->nki_functions; function; function = function->next)
        BIR_TRY(analyse_function(h, function));
    return BIR_OK;
}

/* A kernel, or a dump from before lower_sync, has no semaphores yet: what it lacks is not one wait. */
static void warn_of_no_semaphores(struct hazard_analysis *h)
{
    if (h->pairs.count == 0 || h->n_syncs > 0)
        return;
    struct bir_diag *diag = bir_diag_add(h->diags, BIR_WARNING, "hazard-no-semaphores", BIR_NO_OFFSET,
                                         "nothing in the module waits for a semaphore or updates one");
    diag->hint = "take the dump after lower_sync; before it, whatever two engines share is a race";
}

static enum bir_status finish(struct hazard_analysis *h, struct bir_hazard_report **out)
{
    struct bir_hazard_report *report = BIR_NEW(h->arena, BIR_MEM_OTHER, struct bir_hazard_report);
    if (!report)
        return hazard_memory(h);
    warn_of_no_semaphores(h);
    *report = (struct bir_hazard_report){
        .verdict = h->verdict,
        .pairs = h->pairs.items,
        .n_pairs = h->pairs.count,
        .waits = h->waits_found.items,
        .n_waits = h->waits_found.count,
        .undecided = h->reasons.items,
        .n_undecided = h->reasons.count,
        .fix_hints = h->options->fix_hints,
        .n_executions = h->n_executions,
        .n_accesses = h->n_accesses,
    };
    if (h->explanation.status != BIR_OK)
        return h->explanation.status;
    if (h->options->explain_earlier && h->options->explain_later) {
        const char *text = h->explanation.len    ? h->explanation.data
                           : h->explain_together ? "nothing is known of the order in their function\n"
                                                 : "no function has instructions of both names\n";
        size_t len = h->explanation.len ? h->explanation.len : strlen(text);
        report->explanation = bir_arena_strndup(h->arena, text, len);
        if (!report->explanation)
            return hazard_memory(h);
    }
    *out = report;
    return BIR_OK;
}

enum bir_status hazards_analyse_without(const struct bir_module *module, const struct bir_hazard_options *options,
                                        uint64_t disabled, struct bir_arena *arena, struct bir_diags *diags,
                                        struct bir_hazard_report **out)
{
    struct hazard_analysis h = {
        .module = module, .options = options, .disabled = disabled, .arena = arena, .diags = diags
    };
    h.max_entries = options->max_entries ? options->max_entries : BIR_HAZARD_ENTRIES_DEFAULT;
    bir_arena_init_scratch(&h.scratch, arena->limit_bytes);
    bir_arena_init(&h.lasting, arena->limit_bytes);
    bir_buf_init(&h.explanation, arena->limit_bytes);
    bir_strtab_init(&h.reason_texts, arena);
    enum bir_status status = analyse_functions(&h);
    if (status == BIR_OK)
        status = hazard_explain_check(&h);
    if (status == BIR_OK)
        status = finish(&h, out);
    bir_buf_deinit(&h.explanation);
    bir_arena_deinit(&h.lasting);
    return status;
}

enum bir_status bir_hazards_analyse(const struct bir_module *module, const struct bir_hazard_options *options,
                                    struct bir_arena *arena, struct bir_diags *diags, struct bir_hazard_report **out)
{
    return hazards_analyse_without(module, options, 0, arena, diags, out);
}

/*
 * Passes and pipelines.
 *
 * A pass is one function over a module: it changes the module in place, or fails with diagnostics and leaves it half
 * changed, to be thrown away. The comment above each pass's definition says what must hold on entry, what holds
 * afterwards, and what it invalidates. Every intermediate module prints as valid BIR-JSON and can be read again and
 * lowered further.
 */
#ifndef BIR_PASSES_PASS_H
#define BIR_PASSES_PASS_H

#include "base/cancel.h"
#include "bir/module.h"

/* What the passes did, summed over a pipeline. One row a counter: X(member, "name in statistics"). */
#define BIR_PASS_COUNTERS(X)                                                                                           \
    X(allocated_locations, "allocated_locations")                                                                      \
    X(split_instructions, "split_instructions")                                                                        \
    X(dependency_edges, "dependency_edges")                                                                            \
    X(loop_registers, "loop_registers")                                                                                \
    X(address_tables, "address_tables")                                                                                \
    X(lowered_operands, "lowered_operands")                                                                            \
    X(folded_immediates, "folded_immediates")                                                                          \
    X(expanded_operands, "expanded_operands")                                                                          \
    X(emitted_instructions, "emitted_instructions")                                                                    \
    X(minted_registers, "minted_registers")                                                                            \
    X(coloured_registers, "coloured_registers")                                                                        \
    X(coalesced_moves, "coalesced_moves")                                                                              \
    X(peak_physical_registers, "peak_physical_registers")                                                              \
    X(register_utilisation_percent, "register_utilisation_percent")                                                    \
    X(spilled_registers, "spilled_registers")                                                                          \
    X(spill_score, "spill_score")                                                                                      \
    X(lowered_loops, "lowered_loops")

struct bir_pass_stats {
#define BIR_PASS_COUNTER_MEMBER(member, name) uint64_t member;
    BIR_PASS_COUNTERS(BIR_PASS_COUNTER_MEMBER)
#undef BIR_PASS_COUNTER_MEMBER
};

/* Name and value of the i-th counter, NULL past the last. */
const char *bir_pass_stats_counter(const struct bir_pass_stats *stats, size_t i, uint64_t *value);

struct bir_pass_options {
    enum bir_arch arch;            /* BIR_ARCH_NONE: the module's */
    const char *allocate;          /* "first-fit" (NULL) or "best-fit" */
    unsigned registers_per_engine; /* 0: BIR_REGISTERS_PER_ENGINE */
};

struct bir_pass_context {
    struct bir_pass_options options;
    struct bir_cancel *cancel; /* or NULL */
    struct bir_pass_stats *stats;
    struct bir_arena *scratch; /* emptied between passes by bir_pipeline_run */
};

typedef enum bir_status bir_pass_fn(struct bir_module *module, const struct bir_pass_context *context,
                                    struct bir_diags *diags);

struct bir_pass {
    const char *name;
    bir_pass_fn *run; /* NULL: a stage that lib/compile.c runs itself (klr_codegen, encode) */
    const char *summary;
    bool in_default_pipeline;
};

/* Every pass, in the order of the default pipeline. */
extern const struct bir_pass bir_passes[];
extern const size_t bir_pass_count;

/* NULL when there is none of that name. */
const struct bir_pass *bir_pass_find(const char *name, size_t len);

#define BIR_PIPELINE_MAX 64

struct bir_pipeline {
    const struct bir_pass *passes[BIR_PIPELINE_MAX];
    uint32_t count;
};

/* The passes named in a comma-separated list, in its order; NULL is the default pipeline, "" is empty. BIR_INVALID with
 * "pass-unknown", "pass-order" (klr_codegen not first, encode not last) or BIR_LIMIT with "pass-too-many". */
enum bir_status bir_pipeline_parse(const char *spec, struct bir_diags *diags,
                                   struct bir_pipeline *pipeline) BIR_MUST_CHECK;

/* Called after each pass that ran; anything but BIR_OK stops the pipeline with that status. */
typedef enum bir_status bir_pass_observer(void *user, const struct bir_pass *pass, struct bir_module *module);

/* Runs the passes in order. Rows without a function are skipped without notice to the observer. */
enum bir_status bir_pipeline_run(struct bir_module *module, const struct bir_pipeline *pipeline,
                                 const struct bir_pass_context *context, bir_pass_observer *observer, void *user,
                                 struct bir_diags *diags) BIR_MUST_CHECK;

/* --- for passes --- */

#define BIR_POLL_INSTRUCTIONS 1024

/* BIR_CANCELLED when the token is set; looks at it for the first and every 1,024th count. Call with 0 at each block. */
static inline enum bir_status bir_pass_poll(const struct bir_pass_context *context, uint64_t count)
{
    return count % BIR_POLL_INSTRUCTIONS == 0 && bir_cancelled(context->cancel) ? BIR_CANCELLED : BIR_OK;
}

/* The same in a walk: at the first instruction of each block, and at every 1,024th. */
static inline enum bir_status bir_pass_poll_walk(const struct bir_pass_context *context,
                                                 const struct bir_instruction *inst, uint64_t count)
{
    return bir_pass_poll(context, inst->prev ? count : 0);
}

/* The next function of the module: functions, then nki_functions. NULL starts. */
static inline struct bir_function *bir_pass_next_function(const struct bir_module *module, const struct bir_function *f)
{
    if (!f)
        return module->functions ? module->functions : module->nki_functions;
    if (f->next || f->is_nki)
        return f->next;
    return module->nki_functions;
}

#define BIR_EACH_CODE_FUNCTION(f, module)                                                                              \
    for (struct bir_function *f = bir_pass_next_function((module), NULL); f; f = bir_pass_next_function((module), f))

/* The arch a pass works for. */
static inline enum bir_arch bir_pass_arch(const struct bir_pass_context *context, const struct bir_module *module)
{
    return context->options.arch != BIR_ARCH_NONE ? context->options.arch : module->arch;
}

/* Status after an allocation from the module's or the scratch arena gave NULL. */
static inline enum bir_status bir_pass_out_of_memory(const struct bir_pass_context *context,
                                                     const struct bir_module *module)
{
    return module->arena.failure != BIR_OK ? module->arena.failure : bir_arena_failure(context->scratch);
}

/* Source offset of an object as a diagnostic wants it. */
static inline int64_t bir_pass_place(uint32_t source_offset)
{
    return source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)source_offset;
}

/* Engines 1..6: those that execute an instruction and have a register file. */
static inline bool bir_engine_is_concrete(uint8_t engine)
{
    return engine >= BIR_ENGINE_POOL && engine <= BIR_ENGINE_SP;
}

bir_pass_fn bir_pass_allocate_memory;
bir_pass_fn bir_pass_split_engines;
bir_pass_fn bir_pass_build_flow_deps;
bir_pass_fn bir_pass_build_anti_deps;
bir_pass_fn bir_pass_assign_loop_registers;
bir_pass_fn bir_pass_insert_address_tables;
bir_pass_fn bir_pass_lower_ap;
bir_pass_fn bir_pass_expand_inst_late;
bir_pass_fn bir_pass_color_registers;
bir_pass_fn bir_pass_lower_branch;

#endif

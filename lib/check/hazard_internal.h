/*
 * Internals of the hazard analysis, shared by lib/check/hazard_*.c.
 *
 * The steps, for one function:
 *   hazard_program    writes the function out as executions in order of position, with chains (engines and queues),
 * waits, updates hazard_semaphore  groups the updates by semaphore and chain, cuts them into epochs, finds what each
 * wait names and proves hazard_order      a vector clock for every node hazard_footprint  operands to byte sets
 *   hazard_sweep      the unordered pairs of accesses with bytes in common
 *   hazard_report     entries, each once, in words
 */
#ifndef BIR_CHECK_HAZARD_INTERNAL_H
#define BIR_CHECK_HAZARD_INTERNAL_H

#include "base/near.h"
#include "check/hazard.h"
#include "check/hazard_bytes.h"

#define HAZARD_NONE       UINT32_MAX
#define HAZARD_SEMAPHORES 256u /* ids 0..255 (bir-json.md section 11) */
/* Partitions that an operand with an outer step that is no multiple of the pitch may touch: 32 times what hardware has.
 */
#define HAZARD_IRREGULAR_ROWS 4096u
/* Rounds in which updates in flight across a reset may make further updates late; real dumps need one. */
#define HAZARD_MAX_PASSES 64u
#define HAZARD_POLL_MASK  1023u /* executions between two looks at the cancel token */

/* Rules that a test may switch off one by one, to show that some vector depends on each. Never set outside tests. */
enum hazard_rule {
    HAZARD_RULE_PROGRAM_ORDER,  /* 2.1 */
    HAZARD_RULE_BARRIER,        /* 2.2 ALL */
    HAZARD_RULE_WAIT,           /* 2.3 */
    HAZARD_RULE_QUEUE,          /* 2.4 */
    HAZARD_RULE_COMPLETION,     /* 1.3 a DMA completes later than it starts */
    HAZARD_RULE_UNASSIGNED,     /* 2.1 Unassigned has no order */
    HAZARD_RULE_BLOCKS,         /* 1.3 descriptors of triggered blocks */
    HAZARD_RULE_INDIRECTION,    /* 1.4 indirection_ins are read */
    HAZARD_RULE_PARTS,          /* 3.1 a part of an update proves nothing: the count must not pass the value */
    HAZARD_RULE_UPDATERS,       /* 3.2 several updaters */
    HAZARD_RULE_RESET,          /* 3.3 epochs */
    HAZARD_RULE_GROUPLESS,      /* 3.3 a missing sema_group */
    HAZARD_RULE_LATE,           /* 3.3 in flight across a reset */
    HAZARD_RULE_OWN_BLOCK,      /* 3.4 names bind in the waiter's block first */
    HAZARD_RULE_FIRST_REACHING, /* 3.4 the first whose count reaches the value */
    HAZARD_RULE_WRONG_WAITS,    /* 3.4 reported */
    HAZARD_RULE_NEVER_EDGE,     /* 3.4 never keeps the named edge */
    HAZARD_RULE_MODES,          /* 3.5 events, thresholds, subtractions */
    HAZARD_RULE_TWICE,          /* 4.1 bodies twice */
    HAZARD_RULE_CARRIED,        /* 4.2 pairs across the copies in body order add nothing */
    HAZARD_RULE_BACK_BRANCH,    /* 4.4 loops of several blocks */
    HAZARD_RULE_PREVIOUS,       /* 4.4 from of the previous iteration */
    HAZARD_RULE_EXACT,          /* 5.1 bytes, not boxes */
    HAZARD_RULE_NEGATIVE,       /* 5.1 negative steps */
    HAZARD_RULE_OPERAND_DTYPE,  /* 5.2 pitch by the operand's dtype */
    HAZARD_RULE_BASE,           /* 5.2 start partition */
    HAZARD_RULE_ROWS,           /* 5.2 partition sets skip */
    HAZARD_RULE_BANK,           /* 5.3 PSUM is one memory */
    HAZARD_RULE_ARENA,          /* 5.4 Internal shares, others do not */
    HAZARD_RULE_ALIAS,          /* 5.4 aliases */
    HAZARD_RULE_RUNTIME,        /* 5.6 runtime addresses are not exact */
    HAZARD_RULE_UNPLACED,       /* 5.6 operands that cannot be placed */
    HAZARD_RULE_CYCLE,          /* 6 a cycle makes the edges unknown */
    HAZARD_RULE_SAVE_COPIES,    /* 6 TensorSave copies */
    HAZARD_RULE_PIECES,         /* 6 Gather and others in place */
    HAZARD_RULE_COUNT
};

/* One block of the function, or one of the two copies of a loop body. */
struct hazard_place {
    const struct bir_block *block;
    uint32_t first, end; /* executions */
    uint32_t iteration;  /* 0: not a loop body; 1, 2: copy */
};

/* One execution: an engine instruction, a DMA with its own start and completion, or a DMABlock started by a trigger. */
struct hazard_exec {
    const struct bir_instruction *inst;
    uint32_t place;
    uint32_t index;                    /* in the block */
    uint32_t trigger;                  /* execution of the trigger (DMABlock), or HAZARD_NONE */
    uint32_t name;                     /* dense number of the name */
    uint32_t first_pred;               /* order before the start: executions in preds[], up to the next execution's */
    uint32_t first_wait;               /* in waits[], up to the next execution's */
    uint32_t queue_prev;               /* transfer before this one in its queue, or HAZARD_NONE */
    uint32_t start_chain, start_index; /* chain HAZARD_NONE: on none; indices count from 1 */
    uint32_t end_chain, end_index;     /* of the completion; that of the start unless async */
    bool async;
    bool resets;
};

enum hazard_chain_kind { HAZARD_CHAIN_ENGINE, HAZARD_CHAIN_QUEUE, HAZARD_CHAIN_SINGLE };

struct hazard_chain {
    enum hazard_chain_kind kind;
    const char *name; /* of the engine or queue, or of the one instruction */
    uint32_t count;   /* nodes so far */
    uint32_t last;    /* execution, or HAZARD_NONE */
};

struct hazard_update {
    uint32_t exec;
    uint32_t chain;
    uint32_t name;
    uint8_t semaphore;
    int64_t value; /* > 0 */
    int64_t count; /* of the semaphore right after it, in order of position */
    int64_t after; /* sum in its group up to and including it, all epochs */
};

struct hazard_reset {
    uint32_t exec;
    uint8_t semaphore;
};

/* Updates of one semaphore on one chain: a run of the sorted updates. */
struct hazard_group {
    uint32_t chain;
    uint32_t first, end;
};

/* Updates of one group that count in one epoch: late ones, then its own. */
struct hazard_span {
    uint32_t group;
    uint32_t late, begin, end; /* in the sorted updates */
};

struct hazard_epoch {
    uint32_t reset; /* execution that starts it, or HAZARD_NONE for the first */
    uint32_t end;   /* execution of the next reset, or the number of executions */
    uint32_t n_spans;
    uint8_t semaphore;
    bool used; /* in this pass, by a wait that saw used_total */
    struct hazard_span *spans;
    int64_t own;   /* sum of its own updates */
    int64_t total; /* T: late ones included */
    int64_t used_total;
};

struct hazard_waiter {
    const struct bir_wait *wait;
    uint32_t exec;
    uint32_t epoch;
    uint32_t named;  /* execution that `from` means, or HAZARD_NONE */
    uint32_t update; /* its update of the semaphore in the sorted updates, or HAZARD_NONE */
    bool previous;   /* names the previous iteration: not modelled */
};

struct hazard_entry; /* hazard_report.c */
/* choice: pairs of executions that are looked at for each entry that a report may have. Entries are few where names
 * repeat, and full lists take no more; without an end the work would grow with the square of the executions. */
#define HAZARD_PAIRS_PER_ENTRY 20u

struct hazard_access {
    uint32_t exec;
    uint32_t footprint;
    bool write;
};

/* The bytes of one operand in one space; several where one rectangle is not enough. */
struct hazard_footprint {
    const struct bir_location *location;
    uint32_t space;
    bool exact;              /* the address is known */
    struct hazard_set rows;  /* partitions; one row 0 in DRAM */
    struct hazard_set bytes; /* within each row */
};

enum { HAZARD_SPACE_SB, HAZARD_SPACE_PSUM, HAZARD_SPACE_ARENA, HAZARD_SPACE_FIRST_TENSOR };

struct hazard_analysis {
    const struct bir_module *module;
    const struct bir_hazard_options *options;
    uint64_t disabled;        /* bit set of enum hazard_rule */
    struct bir_arena *arena;  /* of the report */
    struct bir_arena scratch; /* of the function */
    struct bir_diags *diags;

    /* report in the making */
    BIR_VEC(struct bir_hazard_pair) pairs;
    BIR_VEC(struct bir_hazard_wait) waits_found;
    BIR_VEC(const char *) reasons;
    struct bir_strtab reason_texts;
    struct bir_buf explanation;
    struct bir_near explain_near[2]; /* of the two names that are to be explained: what is called alike */
    bool explain_known[2];           /* something runs by that name */
    bool explain_together;           /* in one function, by both */
    struct hazard_entry *entries;    /* hash table of what is reported, in lasting */
    uint32_t entries_capacity, entries_count;
    struct bir_arena lasting; /* working memory that outlives a function */
    uint32_t sorted_pairs;    /* of the functions before this one */
    bool is_cut, reasons_cut; /* some list, the reasons have reached max_entries */
    uint32_t max_entries;
    uint64_t n_met, n_doubtful; /* executions of pairs: decided by patterns, and through an inexact footprint */
    bool is_spent;              /* n_met has reached hazard_pairs_limit: no further pair is looked for */
    bool doubts_spent;          /* n_doubtful has: nor one through an inexact footprint */
    uint64_t n_executions, n_accesses;
    uint64_t n_syncs; /* waits and updates */
    enum bir_hazard_verdict verdict;

    /* function in the making */
    struct bir_function *function;
    bool edges_unknown;
    bool is_undecided;
    BIR_VEC(struct hazard_place) places;
    BIR_VEC(struct hazard_exec) execs; /* one sentinel at the end */
    uint32_t n_execs;
    BIR_VEC(uint32_t) preds;
    BIR_VEC(struct hazard_chain) chains;
    BIR_VEC(struct hazard_waiter) waiters;
    BIR_VEC(struct hazard_update) raw_updates; /* by position */
    BIR_VEC(struct hazard_reset) raw_resets;   /* by position */
    BIR_VEC(const struct bir_str *) names;     /* by dense number */
    struct bir_map name_numbers;               /* number + 1 */

    /* hazard_semaphore */
    struct hazard_update *updates; /* by semaphore, chain, position */
    uint32_t n_updates;
    BIR_VEC(struct hazard_group) groups;
    uint32_t semaphore_groups[HAZARD_SEMAPHORES + 1];
    struct hazard_epoch *epochs; /* by semaphore, position */
    uint32_t semaphore_epochs[HAZARD_SEMAPHORES + 1];
    uint32_t *name_execs, *name_first; /* executions by name */
    uint32_t *by_name;                 /* sorted updates by name, semaphore, position */
    int64_t *reach;                    /* tree of maxima of their counts */
    uint32_t reach_size;

    /* hazard_order */
    uint32_t **clocks; /* rows by node: 2 * execution, + 1 for the completion of an async one */
    struct bir_arena clock_rows;

    /* hazard_footprint */
    BIR_VEC(struct hazard_footprint) footprints;
    BIR_VEC(struct hazard_access) accesses; /* by execution */
    uint32_t n_spaces;
};

static inline bool hazard_rule(const struct hazard_analysis *h, enum hazard_rule rule)
{
    return !(h->disabled >> rule & 1);
}

static inline uint32_t hazard_start_node(uint32_t exec)
{
    return 2 * exec;
}

static inline uint32_t hazard_end_node(const struct hazard_analysis *h, uint32_t exec)
{
    return 2 * exec + (h->execs.items[exec].async ? 1 : 0);
}

/* hazard.c */
enum bir_status hazards_analyse_without(const struct bir_module *module, const struct bir_hazard_options *options,
                                        uint64_t disabled, struct bir_arena *arena, struct bir_diags *diags,
                                        struct bir_hazard_report **out) BIR_MUST_CHECK;
enum bir_status hazard_memory(
    const struct hazard_analysis *h); /* status after a failed allocation from scratch or arena */
/* A reason for "undecided", once; also a diagnostic at the offset. */
enum bir_status hazard_reason(struct hazard_analysis *h, uint32_t source_offset, const char *fmt, ...)
    BIR_PRINTF(3, 4) BIR_MUST_CHECK;
const char *hazard_name(const struct bir_instruction *inst);

/* hazard_program.c */
enum bir_status hazard_program_build(struct hazard_analysis *h) BIR_MUST_CHECK;

/* hazard_sync.c: waits, updates and resets of one instruction; sets edges_unknown. */
enum bir_status hazard_sync_read(struct hazard_analysis *h, uint32_t exec) BIR_MUST_CHECK;
/* Has it an update that counts? */
bool hazard_sync_updates(const struct bir_instruction *inst);

/* hazard_semaphore.c */
enum bir_status hazard_semaphore_build(struct hazard_analysis *h) BIR_MUST_CHECK;
/* Last update of a span that the waiter proves, or HAZARD_NONE. */
uint32_t hazard_semaphore_proved(const struct hazard_analysis *h, const struct hazard_waiter *w,
                                 const struct hazard_span *span);
/* The wait that would prove an update (index in the sorted ones) in an epoch; false when its epoch does not count it.
 */
bool hazard_semaphore_value(const struct hazard_analysis *h, uint32_t update, const struct hazard_epoch *epoch,
                            int64_t *value);
/* Is anything wrong with the wait? Only valid once the clocks stand. */
bool hazard_semaphore_problem(const struct hazard_analysis *h, const struct hazard_waiter *w,
                              enum bir_hazard_problem *problem);
bool hazard_semaphore_keeps_named(const struct hazard_analysis *h, const struct hazard_waiter *w);
/* Epoch that a wait (or, with is_update, an update) of the semaphore at the execution belongs to. */
struct hazard_epoch *hazard_semaphore_epoch(const struct hazard_analysis *h, uint8_t semaphore, uint32_t exec,
                                            bool is_update);
/* A reset has its clock: which updates are late in the epochs it starts. */
enum bir_status hazard_semaphore_reset(struct hazard_analysis *h, uint32_t exec) BIR_MUST_CHECK;

/* hazard_bind.c: what `from` means. */
enum bir_status hazard_bind(struct hazard_analysis *h) BIR_MUST_CHECK;

/* hazard_order.c */
enum hazard_edge { HAZARD_EDGE_PROGRAM, HAZARD_EDGE_ISSUE, HAZARD_EDGE_QUEUE, HAZARD_EDGE_WAIT };
struct hazard_edges { /* iterator over the nodes before a node */
    uint32_t node;
    uint32_t step, span;
    /* of the edge returned last */
    enum hazard_edge kind;
    uint32_t waiter; /* HAZARD_EDGE_WAIT */
};
enum bir_status hazard_order_build(struct hazard_analysis *h) BIR_MUST_CHECK;
uint32_t hazard_edges_next(const struct hazard_analysis *h, struct hazard_edges *edges); /* HAZARD_NONE at the end */
uint32_t hazard_clock(const struct hazard_analysis *h, uint32_t node, uint32_t chain);
/* Does the completion of an execution reach a node? */
bool hazard_reaches(const struct hazard_analysis *h, uint32_t exec, uint32_t node);

/* hazard_footprint.c */
enum bir_status hazard_footprint_build(struct hazard_analysis *h) BIR_MUST_CHECK;

/* hazard_sweep.c */
enum bir_status hazard_sweep(struct hazard_analysis *h) BIR_MUST_CHECK;
enum hazard_truth { HAZARD_NO, HAZARD_YES, HAZARD_MAYBE };
enum hazard_truth hazard_footprints_meet(const struct hazard_footprint *a, const struct hazard_footprint *b);

/* hazard_report.c */
/* An unordered pair of accesses with bytes in common; not exact: perhaps in common, which is a reason for "undecided".
 */
enum bir_status hazard_add_pair(struct hazard_analysis *h, const struct hazard_access *earlier,
                                const struct hazard_access *later, bool carried, bool exact) BIR_MUST_CHECK;
enum bir_status hazard_add_waits(struct hazard_analysis *h) BIR_MUST_CHECK;
void hazard_report_sort(struct hazard_analysis *h);
void hazard_place_of(const struct hazard_analysis *h, uint32_t exec, struct bir_hazard_place *place);

/* hazard_advice.c */
enum bir_status hazard_advise(struct hazard_analysis *h, struct bir_hazard_pair *pair) BIR_MUST_CHECK;
/* Looks for the names of options->explain_* in the function; hazard_explain_check fails when there is none of a name.
 */
void hazard_explain_names(struct hazard_analysis *h);
enum bir_status hazard_explain_check(struct hazard_analysis *h) BIR_MUST_CHECK;
enum bir_status hazard_explain(struct hazard_analysis *h) BIR_MUST_CHECK;

#endif

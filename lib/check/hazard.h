/*
 * Hazard analysis of a module as it is after lower_sync: which pairs of memory accesses touch the same bytes, at least
 * one of them writing, without a guarantee that the earlier one is finished before the later one starts; and which
 * semaphore waits do not prove what they are for (hazards.md).
 *
 * Pure: a module in, a report out, the report into a buffer. Functions are analysed one by one; the verdict is the
 * worst of them.
 */
#ifndef BIR_CHECK_HAZARD_H
#define BIR_CHECK_HAZARD_H

#include "base/buf.h"
#include "base/cancel.h"
#include "base/diag.h"
#include "bir/module.h"

/* Entries of a report before it is cut and says so; 0 in the options means this. */
#define BIR_HAZARD_ENTRIES_DEFAULT 100000u

struct bir_hazard_options {
    bool fix_hints;              /* for each pair, the smallest wait that would order it */
    const char *explain_earlier; /* names of two instructions or DMABlocks: what orders them; both or neither */
    const char *explain_later;
    uint32_t max_entries;      /* pairs, waits and reasons each; 0 = BIR_HAZARD_ENTRIES_DEFAULT */
    struct bir_cancel *cancel; /* or NULL */
};

enum bir_hazard_verdict { BIR_HAZARD_CLEAN, BIR_HAZARD_UNDECIDED, BIR_HAZARD_FINDINGS }; /* ascending severity */
enum bir_hazard_kind { BIR_HAZARD_RAW, BIR_HAZARD_WAW, BIR_HAZARD_WAR };                 /* descending severity */
enum bir_hazard_problem { BIR_HAZARD_NEVER, BIR_HAZARD_EARLY, BIR_HAZARD_NO_UPDATE };    /* descending severity */

/* Where one execution stands. */
struct bir_hazard_place {
    const struct bir_instruction *inst; /* the DMABlock when descriptors do the work */
    const struct bir_function *function;
    const struct bir_block *block;       /* of the instruction; of the trigger for a DMABlock */
    const struct bir_instruction *start; /* the DMATrigger of a DMABlock, else NULL */
    uint32_t index;                      /* in the block, nested bodies counted in place */
    uint32_t iteration;                  /* 1 or 2 in a loop body that was written out twice, else 0 */
    uint32_t position;                   /* of the execution in the function: order of the report */
};

struct bir_hazard_range {
    int64_t first, last; /* inclusive */
};

/* What two footprints have in common. */
#define BIR_HAZARD_RANGES 4u
struct bir_hazard_overlap {
    const char *memory; /* "SB", "PSUM", "DRAM" */
    bool has_partitions;
    bool partial; /* the byte ranges are bounds: too many runs to list */
    bool more_partitions, more_bytes;
    uint32_t n_partitions, n_bytes;
    struct bir_hazard_range partitions[BIR_HAZARD_RANGES];
    struct bir_hazard_range
        bytes[BIR_HAZARD_RANGES]; /* PSUM: bank 0 is byte 0; DRAM: of the arena, tensor or alias group */
};

/* The wait that would order a pair. */
struct bir_hazard_fix {
    bool found;
    bool on_update; /* the update exists; else one must be added to the earlier instruction */
    int64_t semaphore, value;
    const struct bir_instruction *update; /* whose completion the wait proves */
    const char *text;                     /* the whole advice */
};

struct bir_hazard_pair {
    struct bir_hazard_place earlier, later;
    enum bir_hazard_kind kind;
    bool carried;
    uint32_t count;                              /* executions with this entry */
    const struct bir_location *location, *other; /* of the earlier, of the later access */
    struct bir_hazard_overlap overlap;
    const char *missing; /* the order that is missing, in words */
    struct bir_hazard_fix fix;
};

struct bir_hazard_wait {
    struct bir_hazard_place place;
    const struct bir_str *from; /* or NULL */
    int64_t semaphore, value;
    enum bir_hazard_problem problem;
    const char *text; /* what the count shows, in words */
};

struct bir_hazard_report {
    enum bir_hazard_verdict verdict;
    struct bir_hazard_pair *pairs; /* by position of the earlier, then of the later access */
    uint32_t n_pairs;
    struct bir_hazard_wait *waits; /* by position */
    uint32_t n_waits;
    const char **undecided; /* reasons, in order of discovery */
    uint32_t n_undecided;
    const char *explanation; /* lines, when the options ask for one, else NULL */
    bool fix_hints;
    uint64_t n_executions, n_accesses; /* analysed */
};

/* Analyses the module, which must outlive the report; the report lives in arena (whose limit also bounds the working
 * memory). Each reason for "undecided" is a diagnostic as well (warning "hazard-undecided", at the operand, wait or
 * block). BIR_OK also with findings. BIR_NOMEM, BIR_CANCELLED; BIR_LIMIT with an error "hazard-limit". */
enum bir_status bir_hazards_analyse(const struct bir_module *module, const struct bir_hazard_options *options,
                                    struct bir_arena *arena, struct bir_diags *diags,
                                    struct bir_hazard_report **out) BIR_MUST_CHECK;

/* "clean", "findings", "undecided". */
const char *bir_hazard_verdict_name(enum bir_hazard_verdict verdict);
const char *bir_hazard_kind_name(enum bir_hazard_kind kind);          /* "RAW", "WAW", "WAR" */
const char *bir_hazard_problem_name(enum bir_hazard_problem problem); /* "never", "early", "no-update" */

/* The report as in hazards.md section 7, plus "fix" in each pair and "explanation" when the options asked for them.
 * Failure is in out. */
void bir_hazards_write_json(const struct bir_hazard_report *report, uint32_t indent, struct bir_buf *out);
/* The report for people: findings by location, the most severe first; then the wrong waits, the reasons, the
 * explanation. The last line is the verdict. */
void bir_hazards_write_text(const struct bir_hazard_report *report, struct bir_buf *out);

#endif

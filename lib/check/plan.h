/*
 * A function's register code made ready for execution: decoded operations, the places where operands are compared, the
 * loops around them.
 *
 * Internal to lib/check. A plan is a list of items in program order. A loop item is followed by the items of its body.
 * Plans of long functions are executed and emptied piece by piece, so that memory is bounded by the largest top-level
 * loop nest.
 */
#ifndef BIR_CHECK_PLAN_H
#define BIR_CHECK_PLAN_H

#include "check/guard.h"
#include "check/machine.h"
#include "check/operand.h"
#include "check/validation.h"

#define BIR_PLAN_NO_SLOT   UINT32_MAX
#define BIR_PLAN_MAX_DEPTH 64

enum bir_plan_item_type { BIR_PLAN_OPS, BIR_PLAN_SITE, BIR_PLAN_LOOP };

struct bir_plan_item {
    enum bir_plan_item_type type;
    uint32_t first,
        end; /* OPS: operations; SITE: first is the site; LOOP: first is the loop, end the item behind its body */
    const struct bir_guard *guard; /* OPS: where it is false nothing counts as a fault; or NULL */
    bool masked;                   /* OPS: and nothing is written */
};

/* A lowered operand that is compared where its instruction stands. */
struct bir_plan_site {
    const struct bir_operand *operand;
    const struct bir_register_ap *ap;
    uint32_t address, offset, sub_tensor; /* slots or BIR_PLAN_NO_SLOT */
    uint32_t first_op, end_op;            /* the address code for the site's instruction */
};

struct bir_plan_loop {
    const struct pelican_axis *axis; /* NULL: a body whose trip count the registers decide */
    const struct bir_guard *guard;   /* or NULL */
    const char *name;
    uint32_t level;
    int64_t trip; /* > 0; 2 without axis */
    bool has_inner;
    uint32_t first_slot, n_slots; /* of plan->slots: registers that hold the axis value */
};

struct bir_register_list {
    struct bir_register **items;
    uint32_t count, capacity;
};

/* An operand that reads a register which nothing has written yet; reg is NULL when there is none. */
struct bir_unwritten_read {
    const struct bir_register *reg;
    const struct bir_instruction *inst;
    uint32_t source_offset; /* of the operand */
};

/* What was recorded of a function before address lowering. */
struct bir_plan_input {
    const struct bir_function *function;
    struct bir_operand *operands; /* in program order */
    uint32_t n_operands;
    struct bir_register_list registers; /* all that existed */
    struct bir_register_list inputs;    /* those that hold a value before the function starts: something reads them and
                                           nothing writes them (unwritten.h adds others) */
    struct bir_register_list watched;   /* those that offset expressions name */
    struct bir_map watched_writers;     /* operand that writes a watched register -> the register; spilling gives the
                                           operand another one */
    struct bir_map code;                /* set of the register code that existed */
    struct bir_map guards;              /* predicated instruction -> struct bir_guard */
    struct bir_unwritten_read unwritten;
    bool had_loops, had_branches, had_guards;
};

struct bir_plan {
    struct bir_arena *arena;
    struct bir_diags *diags;
    const struct bir_validation_options *options;
    struct bir_validation_stats *stats;
    const struct bir_plan_input *input;
    struct bir_machine machine;
    uint64_t random;

    BIR_VEC(struct bir_plan_item) items;
    BIR_VEC(struct bir_plan_site) sites;
    BIR_VEC(struct bir_plan_loop) loops;
    BIR_VEC(uint32_t) slots;
    /* Watched register -> slot + 1. Its value is copied there at every definition, because by the time of the operand
     * its physical id may be somebody else's. */
    struct bir_map watch_slots;

    /* building */
    const struct bir_operand *next_operand, *end_operand;
    uint32_t ops_begin;   /* first operation that no item covers yet */
    uint32_t code_begin;  /* first operation of the current run of address code */
    uint32_t depth;       /* open loops */
    uint32_t max_depth;   /* of the piece */
    uint64_t points;      /* of the open loops */
    uint64_t max_points;  /* of the piece */
    uint32_t first_slot;  /* slots from here on may be forgotten after the piece */
    uint32_t first_cells; /* cells at that time */

    /* execution */
    int64_t axis[BIR_PLAN_MAX_DEPTH][BIR_MACHINE_LANES]; /* value by level and lane */
    unsigned active;                                     /* lanes that are points of their own */
    struct bir_lanes lanes;                              /* by the predicates of the open loops */
    uint64_t polls;
    uint8_t thread; /* engine whose thread is running, or 0 */
};

/* An empty plan with the registers that hold values before the function starts. */
enum bir_status bir_plan_init(struct bir_plan *plan, const struct bir_plan_input *input, struct bir_arena *arena,
                              const struct bir_validation_options *options, struct bir_diags *diags,
                              struct bir_validation_stats *stats) BIR_MUST_CHECK;

/* The register holds data from here on, the same in the copy that operands are compared with. */
enum bir_status bir_plan_give(struct bir_plan *plan, struct bir_register *reg) BIR_MUST_CHECK;

/* Decodes a structured function and executes it piece by piece. */
enum bir_status bir_plan_structured(struct bir_plan *plan) BIR_MUST_CHECK;

/* The same for a function whose loops have become branches (lower_branch): engine by engine, along its jumps; every
 * operand must be met at every point of its loops, in order. */
enum bir_status bir_plan_threads(struct bir_plan *plan) BIR_MUST_CHECK;

/* Executes the items of the piece. */
enum bir_status bir_plan_execute(struct bir_plan *plan) BIR_MUST_CHECK;

/* Adds the instruction's register code; strict when it is address code. */
enum bir_status bir_plan_add_code(struct bir_plan *plan, struct bir_instruction *inst) BIR_MUST_CHECK;
/* Adds the sites of the instruction, which must be next_operand's: to plan->sites from *first on. */
enum bir_status bir_plan_add_sites(struct bir_plan *plan, struct bir_instruction *inst, uint32_t *first) BIR_MUST_CHECK;

/* Compares the site's registers with the expressions at the current point of every active lane (comparison.c). */
enum bir_status bir_plan_compare(struct bir_plan *plan, const struct bir_plan_site *site) BIR_MUST_CHECK;
/* Whether lane 0 agrees, without a report (comparison.c). */
bool bir_plan_agrees(struct bir_plan *plan, const struct bir_plan_site *site);
/* The operation that the machine could not execute: a domain error of a site that follows, or our bug (comparison.c).
 */
enum bir_status bir_plan_trapped(struct bir_plan *plan, uint32_t item,
                                 const struct bir_machine_fault *fault) BIR_MUST_CHECK;

#endif

/*
 * Reports of failed comparisons.
 *
 * To name the first wrong instruction, the address code of the operand is executed again, one operation after the
 * other, beside the list of values that lowering.md 8.5 computes in that order: the walk of the tile, the walk of the
 * block, the table and its entry, the partition part, the free part, the bias. The first operation whose value differs
 * from its term is the culprit. When all values agree this time, the code is right and one of its registers was
 * overwritten between the instructions: the colouring's fault.
 */
#include "check/counterexample.h"

#include <inttypes.h>
#include <stdio.h>

#define MAX_STEPS  320 /* two walks of 64 terms, and what follows */
#define TEXT_BYTES 512

static const char *const list_names[BIR_ROLE_COUNT] = { "ins", "indirection_ins", "outs" };

struct text {
    char bytes[TEXT_BYTES];
    size_t len;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text->bytes + text->len, sizeof(text->bytes) - text->len, fmt, args);
    va_end(args);
    if (n > 0)
        text->len += (size_t)n < sizeof(text->bytes) - text->len ? (size_t)n : sizeof(text->bytes) - text->len - 1;
}

static int64_t place_of(const struct bir_instruction *inst)
{
    return inst->source_offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)inst->source_offset;
}

/* "instruction act0, ins[0] on xbuf_set at (i=3, j=2)" */
static void put_place(struct text *text, const struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane)
{
    const struct bir_operand *operand = site->operand;
    const struct bir_nest *chain[BIR_PLAN_MAX_DEPTH];
    unsigned n = 0;
    for (const struct bir_nest *nest = operand->nest; nest && n < BIR_PLAN_MAX_DEPTH; nest = nest->parent) {
        if (nest->axis)
            chain[n++] = nest;
    }
    put(text, "instruction %s, %s[%u] on %s%s", operand->inst->name ? operand->inst->name->text : "?",
        list_names[operand->role], operand->position, operand->set->base.name->text, n > 0 ? " at (" : "");
    for (unsigned i = n; i-- > 0;)
        put(text, "%s=%" PRId64 "%s", chain[i]->axis->name ? chain[i]->axis->name->text : "?",
            plan->axis[chain[i]->depth - 1][lane], i > 0 ? ", " : ")");
}

/* --- the wrong instruction --- */

struct step {
    const char *term;
    int64_t value;
};

struct steps {
    struct step items[MAX_STEPS];
    unsigned n;
};

static void add_step(struct steps *steps, const char *term, int64_t value)
{
    if (steps->n < MAX_STEPS)
        steps->items[steps->n++] = (struct step){ term, value };
}

static void add_walk(struct steps *steps, const struct bir_plan *plan, const struct bir_operand_affine *affine,
                     unsigned lane, const char *constant, const char *product, const char *sum)
{
    int64_t value = affine->c;
    add_step(steps, constant, value);
    for (uint32_t i = 0; i < affine->n_terms; i++) {
        int64_t term = affine->terms[i].coef * plan->axis[affine->terms[i].level][lane];
        value += term;
        add_step(steps, product, term);
        add_step(steps, sum, value);
    }
}

/* The values of lowering.md 8.5 a to m, in order. */
static void expected_steps(struct bir_plan *plan, const struct bir_operand *operand, const struct bir_point *point,
                           unsigned lane, struct steps *steps)
{
    uint32_t index;
    if (operand->tile.flat && operand->block.flat) {
        add_walk(steps, plan, &operand->tile, lane, "constant of tile", "term of tile", "partial sum of tile");
        add_walk(steps, plan, &operand->block, lane, "constant of block", "term of block", "partial sum of block");
    }
    if (!operand->set->addr_table ||
        bir_machine_table_index(&plan->machine, operand->set->addr_table, &index) != BIR_OK)
        return;
    int64_t table = plan->machine.tables.items[index].address;
    add_step(steps, "table address", table);
    add_step(steps, "entry offset (block * 4)", point->block * 4);
    add_step(steps, "high half of the entry offset", 0);
    add_step(steps, "entry address", table + point->block * 4);
    add_step(steps, "table entry", point->entry);
    add_step(steps, "partition (tile / step)", point->part_bytes / operand->stride_bytes);
    add_step(steps, "partition part", point->part_bytes);
    add_step(steps, "entry + partition part", point->entry + point->part_bytes);
    add_step(steps, "free element (tile mod step)", point->free_bytes / operand->elem_bytes);
    add_step(steps, "free part", point->free_bytes);
    add_step(steps, "entry + partition part + free part", point->entry + point->part_bytes + point->free_bytes);
    if (operand->bias_bytes != 0 || (operand->inst->opcode == BIR_OP_MATMULT && operand->position == 1))
        add_step(steps, "bias of the moving operand", point->address);
}

static const struct bir_storage *output_of(const struct bir_machine_op *op)
{
    const struct bir_argument *out = op->inst ? bir_instruction_first(op->inst, BIR_ROLE_OUT) : NULL;
    return out ? out->location : NULL;
}

/* The operations between the first write of the offset register and the last write of the address register; all of the
 * instruction's when the registers do not tell. */
static void site_range(const struct bir_plan *plan, const struct bir_plan_site *site, uint32_t *first, uint32_t *end)
{
    const struct bir_machine_op *ops = plan->machine.ops.items;
    *first = site->first_op;
    *end = site->end_op;
    if (!site->ap->offset)
        return;
    while (*first < *end && output_of(&ops[*first]) != &site->ap->offset->base)
        ++*first;
    while (*end > *first && output_of(&ops[*end - 1]) != &site->ap->address->base)
        --*end;
    if (*first == *end) {
        *first = site->first_op;
        *end = site->end_op;
    }
}

bool bir_site_owns(const struct bir_plan *plan, const struct bir_plan_site *site, const struct bir_machine_op *op)
{
    uint32_t first, end;
    site_range(plan, site, &first, &end);
    return op >= &plan->machine.ops.items[first] && op < &plan->machine.ops.items[end];
}

/* Spills and reloads stand between the instructions of 8.5 and compute nothing. */
static bool is_spill_code(const struct bir_machine_op *op)
{
    bool move = op->code == BIR_MACHINE_MOVE || op->code == BIR_MACHINE_MOVE64;
    return op->inst && (op->inst->opcode == BIR_OP_TENSOR_SAVE ||
                        (op->inst->opcode == BIR_OP_TENSOR_LOAD && move && !(op->flags & BIR_MACHINE_IMM)));
}

static int64_t op_value(const struct bir_plan *plan, const struct bir_machine_op *op, unsigned lane)
{
    int64_t low = plan->machine.values[op->out][lane];
    if (!(op->flags & BIR_MACHINE_WIDE))
        return low;
    return (int64_t)((uint64_t)(uint32_t)low | (uint64_t)(uint32_t)plan->machine.values[op->out_high][lane] << 32);
}

static void put_culprit(struct text *text, struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane,
                        const struct bir_point *point)
{
    struct steps steps = { .n = 0 };
    struct bir_machine *m = &plan->machine;
    uint32_t first, end;
    unsigned at = 0;
    bool walks = site->operand->tile.flat && site->operand->block.flat;
    expected_steps(plan, site->operand, point, lane, &steps);
    site_range(plan, site, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        const struct bir_machine_op *op = &m->ops.items[i];
        struct bir_machine_fault fault;
        bool stopped = !bir_machine_run(m, i, i + 1, &fault);
        bool table = op->code == BIR_MACHINE_MOVE64 && (op->flags & BIR_MACHINE_IMM);
        if (is_spill_code(op) || (!walks && at == 0 && !table))
            continue;
        int64_t value = op_value(plan, op, lane);
        if (at < steps.n && !stopped && value == steps.items[at].value) {
            at++;
            continue;
        }
        put(text, "; first wrong instruction %s (%s)", op->inst->name ? op->inst->name->text : "?",
            bir_opcode_name(op->inst->opcode));
        if (stopped)
            put(text, ": %s", bir_trap_name(fault.trap));
        else if (at < steps.n)
            put(text, ": %s must be %" PRId64 ", is %" PRId64, steps.items[at].term, steps.items[at].value, value);
        else
            put(text, ": one instruction too many, gives %" PRId64, value);
        return;
    }
    if (at < steps.n)
        put(text, "; no instruction computes the %s, %" PRId64, steps.items[at].term, steps.items[at].value);
    else
        put(text,
            "; every instruction computes its term when it is executed alone: a register was overwritten in between");
}

/* --- reports --- */

static enum bir_status report(struct bir_plan *plan, const struct bir_plan_site *site, const struct text *text)
{
    struct bir_diag *diag = bir_diag_add(plan->diags, BIR_ERROR, "check-address-mismatch",
                                         place_of(site->operand->inst), "%s", text->bytes);
    diag->hint =
        "the compiler emitted wrong address code; this is not an error in the kernel, please report it with the input";
    return BIR_INTERNAL;
}

enum bir_status bir_report_symbolic(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane,
                                    const struct bir_point *point, const struct bir_machine_fault *note)
{
    struct text text = { .len = 0 };
    struct bir_machine *m = &plan->machine;
    put_place(&text, plan, site, lane);
    put(&text, ": expected address 0x%" PRIx64 ", computed 0x%" PRIx32, (uint64_t)point->address,
        (uint32_t)m->values[site->address][lane]);
    if (site->offset != BIR_PLAN_NO_SLOT && m->values[site->offset][lane] != point->tile)
        put(&text, "; expected offset %" PRId64 ", computed %" PRId32, point->tile, m->values[site->offset][lane]);
    if (site->sub_tensor != BIR_PLAN_NO_SLOT && m->values[site->sub_tensor][lane] != point->block)
        put(&text, "; expected block %" PRId64 ", computed %" PRId32, point->block, m->values[site->sub_tensor][lane]);
    if (note)
        put(&text, "; %s in %s", bir_trap_name(note->trap), note->op->inst->name ? note->op->inst->name->text : "?");
    else
        put_culprit(&text, plan, site, lane, point);
    return report(plan, site, &text);
}

enum bir_status bir_report_dynamic(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane,
                                   int64_t expected, int64_t computed)
{
    struct text text = { .len = 0 };
    put_place(&text, plan, site, lane);
    put(&text, ": expected offset %" PRId64 " elements, computed %" PRId64 " (%s bits)", expected, computed,
        site->ap->address->num_physical == 2 ? "64" : "32");
    return report(plan, site, &text);
}

enum bir_status bir_report_trap(struct bir_plan *plan, const struct bir_plan_site *site,
                                const struct bir_machine_fault *fault)
{
    struct text text = { .len = 0 };
    const struct bir_instruction *inst = fault->op->inst;
    const char *name = inst && inst->name ? inst->name->text : "?";
    if (!site) {
        bir_diag_add(plan->diags, BIR_ERROR, "check-address-mismatch", BIR_NO_OFFSET, "instruction %s: %s", name,
                     bir_trap_name(fault->trap));
        return BIR_INTERNAL;
    }
    put_place(&text, plan, site, fault->lane);
    struct bir_point point = { .tile = 0 };
    bool symbolic = site->operand->kind == BIR_OPERAND_SYMBOLIC;
    if (symbolic && bir_plan_point(plan, site, fault->lane, &point))
        put(&text, ": expected address 0x%" PRIx64 ", computed none", (uint64_t)point.address);
    put(&text, "; %s in %s (%s)", bir_trap_name(fault->trap), name, inst ? bir_opcode_name(inst->opcode) : "?");
    if (symbolic)
        put_culprit(&text, plan, site, fault->lane, &point);
    return report(plan, site, &text);
}

enum bir_status bir_report_domain(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane,
                                  const struct bir_point *point)
{
    struct text text = { .len = 0 };
    put_place(&text, plan, site, lane);
    struct bir_diag *diag = bir_diag_add(plan->diags, BIR_ERROR, "check-operand-domain", place_of(site->operand->inst),
                                         "%s: tile %" PRId64 ", block %" PRId64
                                         " lie outside the set (tile >= 0, 0 <= block < %" PRId64 ")",
                                         text.bytes, point->tile, point->block, site->operand->blocks->count);
    diag->hint = "correct the address expressions or the bounds of the loops";
    return BIR_INVALID;
}

enum bir_status bir_report_no_value(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane)
{
    struct text text = { .len = 0 };
    put_place(&text, plan, site, lane);
    put(&text, ": the operand was lowered, but its expression has no value here");
    return report(plan, site, &text);
}

/*
 * Execution of decoded operations.
 *
 * Every operation writes all lanes of a private row first, so that output and inputs may be the same slot and the
 * compiler can use vector instructions; faults are gathered over the lanes and looked at once an operation. Arithmetic
 * wraps (lowering.md section 14); that it wrapped, or that a dividend was negative, is a note, because only the reader
 * of the result knows whether it matters. Division by zero and addresses outside a table stop a strict operation at
 * once and give 0 in a forgiven one.
 */
#include <string.h>

#include "check/machine.h"

#define LANES BIR_MACHINE_LANES

struct lane_fault {
    enum bir_trap trap;
    unsigned lane;
    bool stops;   /* else a note */
    uint16_t off; /* lanes without faults */
};

#define EACH_LANE(l) for (unsigned l = 0; l < LANES; l++)

static void set_fault(struct lane_fault *fault, enum bir_trap trap, unsigned lane, bool stops)
{
    if (fault->off >> lane & 1)
        return;
    if (fault->trap == BIR_TRAP_NONE || (stops && !fault->stops))
        *fault = (struct lane_fault){ .trap = trap, .lane = lane, .stops = stops, .off = fault->off };
}

/* --- 32 bits --- */

static void run_add(const int32_t *a, const int32_t *b, int32_t *out, bool subtract, struct lane_fault *fault)
{
    int32_t wrapped = 0;
    EACH_LANE(l)
    {
        uint32_t x = (uint32_t)a[l], y = (uint32_t)b[l];
        uint32_t r = subtract ? x - y : x + y;
        wrapped |= (int32_t)((x ^ r) & (subtract ? x ^ y : y ^ r));
        out[l] = (int32_t)r;
    }
    if (wrapped >= 0)
        return;
    EACH_LANE(l)
    {
        int64_t exact = subtract ? (int64_t)a[l] - b[l] : (int64_t)a[l] + b[l];
        if (exact != out[l])
            set_fault(fault, BIR_TRAP_OVERFLOW, l, false);
    }
}

static void run_mult(const int32_t *a, const int32_t *b, int32_t *out, struct lane_fault *fault)
{
    EACH_LANE(l) out[l] = (int32_t)((uint32_t)a[l] * (uint32_t)b[l]);
    EACH_LANE(l)
    {
        if ((int64_t)a[l] * b[l] != out[l])
            set_fault(fault, BIR_TRAP_OVERFLOW, l, false);
    }
}

/* By an immediate, where one bound tells for all lanes that nothing wraps. */
static void run_mult_imm(const int32_t *a, const int32_t *b, int32_t *out, struct lane_fault *fault)
{
    int32_t size = b[0] > 0 ? b[0] : b[0] > INT32_MIN ? -b[0] : INT32_MAX, far = 0;
    int32_t bound = size > 0 ? INT32_MAX / size : INT32_MAX;
    EACH_LANE(l)
    {
        out[l] = (int32_t)((uint32_t)a[l] * (uint32_t)b[0]);
        far |= (a[l] > bound) | (a[l] < -bound);
    }
    if (far)
        run_mult(a, b, out, fault);
}

static void run_divide(const int32_t *a, const int32_t *b, int32_t *out, bool mod, struct lane_fault *fault)
{
    EACH_LANE(l)
    {
        if (b[l] == 0) {
            set_fault(fault, BIR_TRAP_DIVIDE_BY_ZERO, l, true);
            out[l] = 0;
        } else if (a[l] == INT32_MIN && b[l] == -1) {
            set_fault(fault, BIR_TRAP_DIVIDE_OVERFLOW, l, true);
            out[l] = 0;
        } else {
            out[l] = mod ? a[l] % b[l] : a[l] / b[l];
            if (a[l] < 0)
                set_fault(fault, BIR_TRAP_NEGATIVE_OFFSET, l, false);
        }
    }
}

/* By an immediate: without faults when it is positive and no dividend is negative, as in every valid address program.
 */
static void run_divide_imm(const int32_t *a, const int32_t *b, int32_t *out, bool mod, struct lane_fault *fault)
{
    int32_t sign = 0;
    EACH_LANE(l) sign |= a[l];
    if (sign < 0 || b[0] <= 0) {
        run_divide(a, b, out, mod, fault);
        return;
    }
    uint32_t divisor = (uint32_t)b[0];
    EACH_LANE(l)
    {
        uint32_t quotient = (uint32_t)a[l] / divisor;
        out[l] = (int32_t)(mod ? (uint32_t)a[l] - quotient * divisor : quotient);
    }
}

static void run_absolute(const int32_t *a, int32_t *out, struct lane_fault *fault)
{
    EACH_LANE(l)
    {
        out[l] = a[l] < 0 ? (int32_t)(0u - (uint32_t)a[l]) : a[l];
        if (a[l] == INT32_MIN)
            set_fault(fault, BIR_TRAP_OVERFLOW, l, false);
    }
}

static int32_t shift_right_arithmetic(int32_t value, unsigned count)
{
    return value < 0 ? (int32_t) ~(~(uint32_t)value >> count) : (int32_t)((uint32_t)value >> count);
}

#define LANES_OF(expression)                                                                                           \
    do {                                                                                                               \
        EACH_LANE(l)                                                                                                   \
        {                                                                                                              \
            int32_t x = a[l], y = b[l];                                                                                \
            (void)x;                                                                                                   \
            (void)y;                                                                                                   \
            out[l] = (int32_t)(expression);                                                                            \
        }                                                                                                              \
    } while (0)

static void run_alu(int code, bool imm, const int32_t *a, const int32_t *b, int32_t *out, struct lane_fault *fault)
{
    switch ((enum bir_alu_op)code) {
    case BIR_ALU_BYPASS: LANES_OF(x); break;
    case BIR_ALU_BITWISE_NOT: LANES_OF(~x); break;
    case BIR_ALU_ARITH_SHIFT_LEFT:
    case BIR_ALU_LOGICAL_SHIFT_LEFT: LANES_OF((uint32_t)x << (y & 31)); break;
    case BIR_ALU_ARITH_SHIFT_RIGHT: LANES_OF(shift_right_arithmetic(x, (unsigned)y & 31u)); break;
    case BIR_ALU_LOGICAL_SHIFT_RIGHT: LANES_OF((uint32_t)x >> (y & 31)); break;
    case BIR_ALU_ADD: run_add(a, b, out, false, fault); break;
    case BIR_ALU_SUBTRACT: run_add(a, b, out, true, fault); break;
    case BIR_ALU_MULT: (imm ? run_mult_imm : run_mult)(a, b, out, fault); break;
    case BIR_ALU_DIVIDE: (imm ? run_divide_imm : run_divide)(a, b, out, false, fault); break;
    case BIR_ALU_MOD: (imm ? run_divide_imm : run_divide)(a, b, out, true, fault); break;
    case BIR_ALU_MAX: LANES_OF(x > y ? x : y); break;
    case BIR_ALU_MIN: LANES_OF(x < y ? x : y); break;
    case BIR_ALU_BITWISE_AND: LANES_OF(x & y); break;
    case BIR_ALU_BITWISE_OR: LANES_OF(x | y); break;
    case BIR_ALU_BITWISE_XOR: LANES_OF(x ^ y); break;
    case BIR_ALU_LOGICAL_AND: LANES_OF(x && y); break;
    case BIR_ALU_LOGICAL_OR: LANES_OF(x || y); break;
    case BIR_ALU_LOGICAL_XOR: LANES_OF(!x != !y); break;
    case BIR_ALU_IS_EQUAL: LANES_OF(x == y); break;
    case BIR_ALU_NOT_EQUAL: LANES_OF(x != y); break;
    case BIR_ALU_IS_GT: LANES_OF(x > y); break;
    case BIR_ALU_IS_GE: LANES_OF(x >= y); break;
    case BIR_ALU_IS_LT: LANES_OF(x < y); break;
    case BIR_ALU_IS_LE: LANES_OF(x <= y); break;
    case BIR_ALU_ABS: run_absolute(a, out, fault); break;
    default: LANES_OF(0); break; /* decoding lets no other operation pass */
    }
}

/* --- 64 bits --- */

static int64_t join(int32_t low, int32_t high)
{
    return (int64_t)((uint64_t)(uint32_t)low | (uint64_t)(uint32_t)high << 32);
}

static void split(int64_t value, int32_t *low, int32_t *high)
{
    *low = (int32_t)(uint32_t)(uint64_t)value;
    *high = (int32_t)(uint32_t)((uint64_t)value >> 32);
}

static bool wide_result(int code, int64_t a, int64_t b, int64_t *r)
{
    switch (code) {
    case BIR_MACHINE_ADD64: return __builtin_add_overflow(a, b, r);
    case BIR_MACHINE_SUBTRACT64: return __builtin_sub_overflow(a, b, r);
    default: return __builtin_mul_overflow(a, b, r);
    }
}

/* The values of a pair, or the immediate, in every lane. */
static void load_wide(const struct bir_machine *m, uint32_t low, uint32_t high, int64_t out[LANES])
{
    const int32_t *lows = m->values[low], *highs = m->values[high];
    EACH_LANE(l) out[l] = join(lows[l], highs[l]);
}

static void run_wide(struct bir_machine *m, const struct bir_machine_op *op, struct lane_fault *fault)
{
    int64_t a[LANES], b[LANES], r[LANES];
    int32_t *low = m->values[op->out], *high = m->values[op->out_high];
    int64_t wrapped = 0;
    load_wide(m, op->a, op->a_high, a);
    if (op->flags & BIR_MACHINE_IMM)
        EACH_LANE(l) b[l] = op->imm;
    else
        load_wide(m, op->b, op->b_high, b);
    if (op->code == BIR_MACHINE_ADD64) {
        EACH_LANE(l)
        {
            r[l] = (int64_t)((uint64_t)a[l] + (uint64_t)b[l]);
            wrapped |= (a[l] ^ r[l]) & (b[l] ^ r[l]);
        }
    }
    if (op->code != BIR_MACHINE_ADD64 || wrapped < 0) {
        EACH_LANE(l)
        {
            if (wide_result(op->code, a[l], b[l], &r[l]))
                set_fault(fault, BIR_TRAP_OVERFLOW, l, false);
        }
    }
    EACH_LANE(l) split(r[l], &low[l], &high[l]);
}

static void run_move(struct bir_machine *m, const struct bir_machine_op *op)
{
    bool wide = op->code == BIR_MACHINE_MOVE64;
    if (op->flags & BIR_MACHINE_IMM) {
        int32_t low, high;
        split(op->imm, &low, &high);
        EACH_LANE(l)
        {
            m->values[op->out][l] = low;
            if (wide)
                m->values[op->out_high][l] = high;
        }
        return;
    }
    int32_t low[LANES], high[LANES];
    memcpy(low, m->values[op->a], sizeof(low));
    if (wide) {
        memcpy(high, m->values[op->a_high], sizeof(high));
        memcpy(m->values[op->out_high], high, sizeof(high));
    }
    memcpy(m->values[op->out], low, sizeof(low));
}

/* --- loads --- */

static void run_load_entry(struct bir_machine *m, const struct bir_machine_op *op, struct lane_fault *fault)
{
    const struct bir_machine_table *table = &m->tables.items[op->imm];
    const struct bir_ints *entries = table->set->table_entries;
    const int32_t *low = m->values[op->a], *high = m->values[op->a_high];
    int32_t out[LANES];
    EACH_LANE(l)
    {
        uint64_t distance = (uint64_t)join(low[l], high[l]) - (uint64_t)table->address;
        out[l] = 0;
        if (distance % 4 != 0 || distance / 4 >= entries->count)
            set_fault(fault, BIR_TRAP_TABLE_BOUNDS, l, true);
        else
            out[l] = (int32_t)(uint32_t)(uint64_t)entries->items[distance / 4];
    }
    memcpy(m->values[op->out], out, sizeof(out));
}

static void run_data(struct bir_machine *m, const struct bir_machine_op *op)
{
    int32_t out[LANES];
    EACH_LANE(l)
    {
        uint64_t place = op->code == BIR_MACHINE_OPAQUE ? 0 : (uint32_t)m->values[op->a][l];
        out[l] = bir_machine_data(m, (uint64_t)op->imm + place, l);
    }
    memcpy(m->values[op->out], out, sizeof(out));
}

/* --- execution --- */

static void run_op(struct bir_machine *m, const struct bir_machine_op *op, struct lane_fault *fault)
{
    if (op->code < BIR_ALU_COUNT) {
        int32_t out[LANES], immediate[LANES];
        const int32_t *a = m->values[op->a], *b = a;
        if (op->flags & BIR_MACHINE_IMM) {
            EACH_LANE(l) immediate[l] = (int32_t)op->imm;
            b = immediate;
        } else if (!(op->flags & BIR_MACHINE_UNARY)) {
            b = m->values[op->b];
        }
        run_alu(op->code, (op->flags & BIR_MACHINE_IMM) != 0, a, b, out, fault);
        memcpy(m->values[op->out], out, sizeof(out));
        return;
    }
    switch ((enum bir_machine_code)op->code) {
    case BIR_MACHINE_MOVE:
    case BIR_MACHINE_MOVE64: run_move(m, op); break;
    case BIR_MACHINE_ADD64:
    case BIR_MACHINE_SUBTRACT64:
    case BIR_MACHINE_MULT64: run_wide(m, op, fault); break;
    case BIR_MACHINE_LOAD_ENTRY: run_load_entry(m, op, fault); break;
    case BIR_MACHINE_LOAD_DATA:
    case BIR_MACHINE_OPAQUE: run_data(m, op); break;
    case BIR_MACHINE_CONSUME:
    case BIR_MACHINE_JUMP:
    case BIR_MACHINE_BRANCH:
    case BIR_MACHINE_END: break; /* of threads */
    }
}

/* Turns what the lanes saw into a stop or a note. True: go on. */
static bool settle(struct bir_machine *m, const struct bir_machine_op *op, const struct lane_fault *seen,
                   struct bir_machine_fault *fault)
{
    if (seen->trap == BIR_TRAP_NONE || (m->forgiving && !(op->flags & BIR_MACHINE_STRICT)))
        return true;
    struct bir_machine_fault found = { .trap = seen->trap, .lane = seen->lane, .op = op };
    if (seen->stops) {
        *fault = found;
        return false;
    }
    if (m->note.trap == BIR_TRAP_NONE)
        m->note = found;
    return true;
}

bool bir_machine_run(struct bir_machine *machine, uint32_t first, uint32_t end, struct bir_machine_fault *fault)
{
    *fault = (struct bir_machine_fault){ .trap = BIR_TRAP_NONE };
    for (uint32_t i = first; i < end; i++) {
        struct lane_fault seen = { .trap = BIR_TRAP_NONE, .off = machine->lanes_off };
        run_op(machine, &machine->ops.items[i], &seen);
        if (seen.trap != BIR_TRAP_NONE && !settle(machine, &machine->ops.items[i], &seen, fault))
            return false;
    }
    return true;
}

/* --- threads --- */

static bool compare_floats(enum bir_branch_compare compare, int32_t left, int32_t right)
{
    float x, y;
    memcpy(&x, &left, sizeof(x));
    memcpy(&y, &right, sizeof(y));
    switch (compare % 6) {
    case BIR_BRANCH_IS_LTIMM: return x < y;
    case BIR_BRANCH_IS_LEIMM: return x <= y;
    case BIR_BRANCH_IS_EQIMM: return x == y;
    case BIR_BRANCH_IS_NEIMM: return x != y;
    case BIR_BRANCH_IS_GEIMM: return x >= y;
    default: return x > y;
    }
}

static bool compare_integers(enum bir_branch_compare compare, int64_t x, int64_t y)
{
    switch (compare % 6) { /* the register forms stand in the order of the immediate ones */
    case BIR_BRANCH_IS_LTIMM: return x < y;
    case BIR_BRANCH_IS_LEIMM: return x <= y;
    case BIR_BRANCH_IS_EQIMM: return x == y;
    case BIR_BRANCH_IS_NEIMM: return x != y;
    case BIR_BRANCH_IS_GEIMM: return x >= y;
    default: return x > y;
    }
}

static bool branch_taken(const struct bir_machine *m, const struct bir_machine_op *op)
{
    int32_t left = m->values[op->a][0];
    int32_t right = op->flags & BIR_MACHINE_IMM ? (int32_t)(uint32_t)(uint64_t)op->imm : m->values[op->b][0];
    enum bir_branch_compare compare = (enum bir_branch_compare)op->compare;
    if (op->dtype == BIR_DTYPE_FLOAT32)
        return compare_floats(compare, left, right);
    if (op->dtype == BIR_DTYPE_UINT32)
        return compare_integers(compare, (uint32_t)left, (uint32_t)right);
    return compare_integers(compare, left, right);
}

static bool reads_written(const struct bir_machine *m, const struct bir_machine_op *op)
{
    uint32_t reads[4];
    unsigned n = bir_machine_op_reads(op, reads);
    for (unsigned i = 0; i < n; i++) {
        if (!m->written[reads[i]])
            return false;
    }
    return true;
}

/* One register operation of a thread, with the checks that straight code has had at decoding. */
static bool thread_op(struct bir_machine *m, const struct bir_machine_op *op, struct bir_machine_fault *fault)
{
    struct lane_fault seen = { .trap = BIR_TRAP_NONE, .off = m->lanes_off };
    run_op(m, op, &seen);
    m->written[op->out] = 1;
    if (op->flags & BIR_MACHINE_WIDE)
        m->written[op->out_high] = 1;
    return settle(m, op, &seen, fault);
}

enum bir_status bir_machine_run_thread(struct bir_machine *machine, uint32_t pc, uint64_t max_steps,
                                       bir_machine_consumer *consumer, void *user, struct bir_machine_fault *fault)
{
    *fault = (struct bir_machine_fault){ .trap = BIR_TRAP_NONE };
    for (uint64_t step = 0;; step++) {
        const struct bir_machine_op *op = &machine->ops.items[pc];
        bool checked = !machine->forgiving || (op->flags & BIR_MACHINE_STRICT);
        if (op->code == BIR_MACHINE_END)
            return BIR_OK;
        if (step >= max_steps || (checked && !reads_written(machine, op))) {
            fault->trap = step >= max_steps ? BIR_TRAP_STEPS : BIR_TRAP_UNWRITTEN;
            fault->op = op;
            fault->steps = step;
            return BIR_OK;
        }
        pc++;
        if (op->code == BIR_MACHINE_CONSUME) {
            BIR_TRY(consumer(user, op->imm));
            if (machine->waits) {
                machine->waits = false;
                *fault = (struct bir_machine_fault){ .trap = BIR_TRAP_WAITS, .op = op, .steps = step };
                return BIR_OK;
            }
        } else if (op->code == BIR_MACHINE_JUMP)
            pc = (uint32_t)op->imm;
        else if (op->code == BIR_MACHINE_BRANCH)
            pc = op->target[branch_taken(machine, op) ? 0 : 1];
        else if (!thread_op(machine, op, fault))
            return BIR_OK;
    }
}

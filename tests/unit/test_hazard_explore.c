/*
 * The analysis against all executions of small random modules (at most 12 nodes, a loop body counted twice).
 *
 * Two oracles that share nothing with lib/check:
 *  - the rules, taken literally (hazard_rules.h). The report must be equal to what they say, wrong waits included.
 *  - a machine that runs the module: engines, queues, semaphores as counters, updates of a DMA landing in two pieces,
 *    resets. All its executions are explored. A pair is a race when in some execution the later access starts before
 * the earlier one has finished. No race may be missing from the report. And when every semaphore has one updater in
 * each epoch, nothing is in flight across a reset, no wait needs a part of an update that it does not prove, and no
 *    execution hangs, the races must be exactly the reported pairs (in those cases the rules are deliberately
 * cautious).
 */
#include "hazard_rules.h"

/* --- machine --- */

/* Events: START + i, END + i as above, and PART + i: all but the last part of a DMA's update has landed. */
enum { PART = 2 * MAX_EXECS, EVENTS = 3 * MAX_EXECS };

struct state {
    uint64_t done; /* events */
    uint8_t semaphores[8];
};

struct machine {
    const struct program *p;
    struct state *seen; /* hash set; done == 0 and not the first: free */
    uint32_t capacity, count;
    struct entries races;
    bool hangs, completes;
    bool started[MAX_EXECS];
    uint64_t states;
};

static bool is_done(const struct state *s, int event)
{
    return s->done >> event & 1;
}

static bool may_start(const struct program *p, const struct state *s, int b)
{
    const struct instr *y = at(p, b);
    if (p->execs[b].trigger != NOBODY)
        return is_done(s, START + p->execs[b].trigger);
    for (int a = 0; a < b; a++) {
        const struct instr *x = at(p, a);
        bool engines = x->kind != BLOCK && x->engine != ENGINE_UNASSIGNED && y->engine != ENGINE_UNASSIGNED;
        if (engines && (x->engine == y->engine || x->engine == ENGINE_ALL || y->engine == ENGINE_ALL) &&
            !is_done(s, START + a))
            return false;
    }
    return y->wait == NOBODY || s->semaphores[y->wait] >= y->value;
}

static bool queue_is_free(const struct program *p, const struct state *s, int b)
{
    for (int a = 0; a < b; a++)
        if (p->execs[a].async && at(p, a)->queue == at(p, b)->queue && !is_done(s, END + a))
            return false;
    return true;
}

static bool may_happen(const struct program *p, const struct state *s, int event)
{
    int i = event % MAX_EXECS;
    if (i >= p->n_execs || is_done(s, event))
        return false;
    if (event < END)
        return may_start(p, s, i);
    if (!p->execs[i].async)
        return false;
    return event < PART ? is_done(s, PART + i) : is_done(s, START + i) && queue_is_free(p, s, i);
}

static void happen(struct machine *m, struct state *s, int event)
{
    const struct program *p = m->p;
    int i = event % MAX_EXECS;
    const struct instr *in = at(p, i);
    s->done |= UINT64_C(1) << event;
    if (event < END) {
        m->started[i] = true;
        for (int a = 0; a < i; a++)
            if (!is_done(s, end_of(p, a)))
                add_conflicts(&m->races, p, a, i);
        if (in->kind == RESET)
            s->semaphores[in->reset] = 0;
    }
    if (in->update == NOBODY)
        return;
    int amount = !p->execs[i].async ? in->amount : event >= PART ? in->amount - 1 : event >= END ? 1 : 0;
    s->semaphores[in->update] = (uint8_t)(s->semaphores[in->update] + amount);
}

static bool remember(struct machine *m, const struct state *s)
{
    if (2 * m->count >= m->capacity) {
        struct state *old = m->seen;
        uint32_t n = m->capacity;
        m->capacity = n ? 2 * n : 1024;
        m->seen = calloc(m->capacity, sizeof *m->seen);
        ck_assert_ptr_nonnull(m->seen);
        m->count = 0;
        for (uint32_t i = 0; i < n; i++)
            if (old[i].done)
                remember(m, &old[i]);
        free(old);
    }
    uint64_t semaphores;
    memcpy(&semaphores, s->semaphores, sizeof semaphores);
    uint64_t hash = (s->done * UINT64_C(0x9E3779B97F4A7C15)) ^ (semaphores * UINT64_C(0xBF58476D1CE4E5B9));
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        struct state *slot = &m->seen[i & (m->capacity - 1)];
        if (slot->done == s->done && memcmp(slot->semaphores, s->semaphores, sizeof s->semaphores) == 0)
            return false;
        if (slot->done)
            continue;
        *slot = *s;
        m->count++;
        return true;
    }
}

static void explore(struct machine *m, struct state s)
{
    bool stuck = true, complete = true;
    m->states++;
    for (int i = 0; i < m->p->n_execs; i++)
        complete = complete && is_done(&s, end_of(m->p, i));
    for (int event = 0; event < EVENTS; event++) {
        if (!may_happen(m->p, &s, event))
            continue;
        struct state next = s;
        stuck = false;
        happen(m, &next, event);
        if (remember(m, &next))
            explore(m, next);
    }
    m->completes = m->completes || complete;
    m->hangs = m->hangs || (stuck && !complete);
}

/* --- compare --- */

static int number_of(const struct bir_str *name)
{
    return name ? atoi(name->text + 1) : -1;
}

static void reported_pairs(const struct bir_hazard_report *report, struct entries *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < report->n_pairs; i++) {
        const struct bir_hazard_pair *pair = &report->pairs[i];
        add_entry(out, (struct entry){ .earlier = number_of(pair->earlier.inst->name),
                                       .later = number_of(pair->later.inst->name),
                                       .cell = number_of(pair->location->base.name),
                                       .kind = pair->kind,
                                       .carried = pair->carried });
    }
    ck_assert_int_eq(out->count, (int)report->n_pairs); /* each once */
}

static bool is_subset(const struct entries *a, const struct entries *b)
{
    for (int i = 0; i < a->count; i++)
        if (!has_entry(b, &a->items[i]))
            return false;
    return true;
}

static bool reports_wait(const struct bir_hazard_report *report, int instr, int problem)
{
    for (uint32_t i = 0; i < report->n_waits; i++)
        if (number_of(report->waits[i].place.inst->name) == instr && (int)report->waits[i].problem == problem)
            return true;
    return false;
}

static bool same_waits(const struct rules *r, const struct bir_hazard_report *report)
{
    uint32_t n = 0;
    bool counted[MAX_INSTRS][3] = { { false } };
    for (int exec = 0; exec < r->p->n_execs; exec++) {
        int problem = at(r->p, exec)->wait == NOBODY ? -1 : problem_by_rules(r, exec), instr = r->p->execs[exec].instr;
        if (problem < 0)
            continue;
        if (!reports_wait(report, instr, problem))
            return false;
        n += !counted[instr][problem];
        counted[instr][problem] = true;
    }
    return n == report->n_waits;
}

struct totals {
    int modules, exact, cyclic, with_pairs, with_waits, late, many_updaters, loops, hanging;
    uint64_t states;
};

/* What is wrong with the report, or NULL. */
static const char *compare(const struct program *p, const struct bir_hazard_report *report, struct totals *t)
{
    static struct rules r;
    static struct entries reported, by_rules;
    static struct machine m;
    apply_rules(&r, p);
    memset(&m, 0, sizeof m);
    m.p = p;
    explore(&m, (struct state){ 0 });
    free(m.seen);
    t->states += m.states;
    reported_pairs(report, &reported);
    if (r.cyclic) {
        t->cyclic++;
        if (m.completes)
            return "an execution completes though the rules see a cycle";
        return report->verdict == BIR_HAZARD_UNDECIDED && report->n_pairs == 0 && report->n_waits == 0
                   ? NULL
                   : "a cycle is not undecided";
    }
    pairs_by_rules(&r, &by_rules);
    if (!is_subset(&by_rules, &reported) || !is_subset(&reported, &by_rules))
        return "the pairs are not those of the rules";
    if (!same_waits(&r, report))
        return "the wrong waits are not those of the rules";
    enum bir_hazard_verdict verdict = report->n_pairs + report->n_waits > 0 ? BIR_HAZARD_FINDINGS
                                      : r.previous                          ? BIR_HAZARD_UNDECIDED
                                                                            : BIR_HAZARD_CLEAN;
    if (report->verdict != verdict)
        return "the verdict";
    if (!is_subset(&m.races, &reported))
        return "an execution has a race that is not reported";
    bool is_exact = !m.hangs && r.one_updater && !r.any_late && !r.partly;
    if (is_exact && !is_subset(&reported, &m.races))
        return "a reported pair is a race in no execution";
    t->exact += is_exact;
    t->hanging += m.hangs;
    t->with_pairs += report->n_pairs > 0;
    t->with_waits += report->n_waits > 0;
    t->late += r.any_late;
    t->many_updaters += !r.one_updater;
    t->loops += p->loop;
    return NULL;
}

static void check_program(const struct program *p, struct totals *t)
{
    static struct text text;
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_hazard_report *report = NULL;
    const struct bir_hazard_options options = { .fix_hints = true };
    put_program(&text, p);
    struct bir_module *module = hazard_read_module(text.bytes, text.len);
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 100);
    ck_assert_int_eq(bir_hazards_analyse(module, &options, &arena, &diags, &report), BIR_OK);
    const char *problem = compare(p, report, t);
    t->modules++;
    if (problem) {
        struct bir_buf buf;
        bir_buf_init(&buf, 0);
        bir_hazards_write_text(report, &buf);
        fprintf(stderr, "%s\n%.*s\n%.*s", problem, (int)text.len, text.bytes, (int)buf.len, buf.data);
        bir_buf_deinit(&buf);
    }
    ck_assert_msg(problem == NULL, "%s", problem);
    bir_arena_deinit(&arena);
    bir_module_free(module);
}

START_TEST(reports_are_what_all_executions_show)
{
    struct totals t = { 0 };
    struct program p;
    uint64_t random = 20240229;
    int wanted = getenv("ROOST_TEST_ALL") ? 20000 : 2000;
    while (t.exact < wanted) {
        random_program(&p, &random);
        if (expand(&p))
            check_program(&p, &t);
    }
    printf("explored %llu states of %d modules: %d exactly, %d with a cycle, %d that hang; %d with pairs, %d with "
           "wrong waits, %d with updates in "
           "flight across a reset, %d with several updaters, %d with a loop\n",
           (unsigned long long)t.states, t.modules, t.exact, t.cyclic, t.hanging, t.with_pairs, t.with_waits, t.late,
           t.many_updaters, t.loops);
    ck_assert_int_ge(t.late, wanted / 100);
    ck_assert_int_ge(t.loops, wanted / 20);
    ck_assert_int_ge(t.cyclic, wanted / 200);
}
END_TEST

/* --- hints --- */

/* The wait that a hint names, put where it says, orders the pair: told by the rules, not by the analysis. */
START_TEST(hints_order_their_pair)
{
    uint64_t random = 7;
    int tried = 0, wanted = getenv("ROOST_TEST_ALL") ? 3000 : 300;
    static struct text text;
    static struct rules r;
    while (tried < wanted) {
        struct program p;
        random_program(&p, &random);
        p.loop = false;
        if (!expand(&p))
            continue;
        put_program(&text, &p);
        struct bir_module *module = hazard_read_module(text.bytes, text.len);
        struct bir_arena arena;
        struct bir_diags diags;
        struct bir_hazard_report *report = NULL;
        const struct bir_hazard_options options = { .fix_hints = true };
        bir_arena_init(&arena, 0);
        bir_diags_init(&diags, &arena, 100);
        ck_assert_int_eq(bir_hazards_analyse(module, &options, &arena, &diags, &report), BIR_OK);
        for (uint32_t i = 0; i < report->n_pairs; i++) {
            const struct bir_hazard_fix *fix = &report->pairs[i].fix;
            int a = number_of(report->pairs[i].earlier.inst->name), b = number_of(report->pairs[i].later.inst->name);
            int waiter = p.instrs[b].kind == BLOCK ? p.instrs[b].trigger : b;
            if (!fix->on_update || p.instrs[waiter].wait != NOBODY)
                continue;
            struct program q = p;
            q.instrs[waiter].wait = (int)fix->semaphore;
            q.instrs[waiter].value = (int)fix->value;
            q.instrs[waiter].from = number_of(fix->update->name);
            int x = 0, y = 0;
            for (int e = 0; e < q.n_execs; e++) {
                x = q.execs[e].instr == a ? e : x;
                y = q.execs[e].instr == b ? e : y;
            }
            apply_rules(&r, &q);
            ck_assert_msg(r.before[end_of(&q, x)][START + y], "%s does not order i%d, i%d in %s", fix->text, a, b,
                          text.bytes);
            q.instrs[waiter].value--;
            apply_rules(&r, &q);
            ck_assert_msg(!r.before[end_of(&q, x)][START + y], "a smaller value than %s orders i%d, i%d in %s",
                          fix->text, a, b, text.bytes);
            tried++;
        }
        bir_arena_deinit(&arena);
        bir_module_free(module);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { reports_are_what_all_executions_show, hints_order_their_pair };
    return UNIT_RUN("hazard_explore", tests);
}

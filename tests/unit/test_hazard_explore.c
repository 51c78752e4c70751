/*
 * The analysis against all executions of small random modules (at most 12 nodes, a loop body counted twice).
 *
 * Two oracles that share nothing with lib/check:
 *  - the rules, taken literally: edges in a matrix, its closure, every proof by summing up, late updates by repeating.
 * The report must be equal to what they say, wrong waits included.
 *  - a machine that runs the module: engines, queues, semaphores as counters, updates of a DMA landing in two pieces,
 * resets. All its executions are explored. A pair is a race when in some execution the later access starts before the
 * earlier one has finished. No race may be missing from the report; and when every semaphore has one updater in each
 * epoch, nothing is in flight across a reset and no execution hangs, the races must be exactly the reported pairs (with
 * several updaters the rules are deliberately cautious).
 */
#include "hazard_cases.h"

#include "base/random.h"

enum {
    MAX_INSTRS = 12,
    MAX_NODES = 12,
    MAX_EXECS = 12,
    ENGINES = 3,
    QUEUES = 2,
    CELLS = 3,
    SEMAPHORES = 7,
    NOBODY = -1
};
enum kind { COMPUTE, DMA, TRIGGER, BLOCK, BARRIER, RESET };

static const char *const engine_names[] = { "SP", "DVE", "Pool", "ALL", "Unassigned" };
enum { ENGINE_ALL = 3, ENGINE_UNASSIGNED = 4 };

struct instr {
    enum kind kind;
    int engine, queue;
    int read, write;       /* cells, or NOBODY */
    int update, amount;    /* semaphore or NOBODY */
    int wait, value, from; /* semaphore or NOBODY; instruction, or MAX_INSTRS: a name that nothing has */
    int trigger;           /* BLOCK: the TRIGGER right before it (or before other blocks of it) */
    int reset;             /* RESET: semaphore */
    int place;             /* 0, 1, 2: block of the function */
};

struct exec {
    int instr, place; /* place: 0, 1 (first copy), 2 (second copy or next block), ... */
    int trigger;
    bool async;
};

struct program {
    struct instr instrs[MAX_INSTRS];
    int n_instrs;
    bool loop; /* the middle block is a loop body */
    struct exec execs[MAX_EXECS];
    int n_execs, n_nodes;
    int body_first, body_length; /* in execs */
};

/* ----------------------------------------------------------------------------------------------------------------
 * program */

static int pick(uint64_t *random, int n)
{
    return (int)bir_random_below(random, (uint64_t)n);
}

static bool chance(uint64_t *random, int percent)
{
    return pick(random, 100) < percent;
}

static void expand_place(struct program *p, int block, int place)
{
    for (int i = 0; i < p->n_instrs; i++) {
        const struct instr *in = &p->instrs[i];
        if (in->place != block)
            continue;
        struct exec e = {
            .instr = i, .place = place, .trigger = NOBODY, .async = in->kind == DMA || in->kind == BLOCK
        };
        p->n_nodes += e.async ? 2 : 1;
        if (p->n_execs == MAX_EXECS) {
            p->n_nodes = MAX_NODES + 1;
            return;
        }
        if (in->kind == BLOCK)
            for (e.trigger = p->n_execs - 1; p->execs[e.trigger].instr != in->trigger;)
                e.trigger--;
        p->execs[p->n_execs++] = e;
    }
}

/* False when too large. */
static bool expand(struct program *p)
{
    p->n_execs = p->n_nodes = 0;
    expand_place(p, 0, 0);
    p->body_first = p->n_execs;
    expand_place(p, 1, 1);
    p->body_length = p->n_execs - p->body_first;
    if (p->loop)
        expand_place(p, 1, 2);
    expand_place(p, 2, p->loop ? 3 : 2);
    return p->n_nodes <= MAX_NODES;
}

static int cell(uint64_t *random)
{
    return chance(random, 60) ? pick(random, CELLS) : NOBODY;
}

static void random_sync(struct program *p, struct instr *in, uint64_t *random, bool many_updaters)
{
    bool is_transfer = in->kind == DMA || in->kind == BLOCK;
    if (in->kind != RESET && chance(random, 70)) {
        in->update = many_updaters && chance(random, 40) ? pick(random, SEMAPHORES)
                     : is_transfer                       ? 4 + in->queue
                                                         : in->engine % 4;
        in->amount = is_transfer ? 16 : 1;
    }
    if (in->kind == BLOCK || p->n_instrs == 0 || !chance(random, 65))
        return;
    in->from = chance(random, 2) ? MAX_INSTRS : pick(random, p->n_instrs + 1);
    const struct instr *from = in->from < p->n_instrs ? &p->instrs[in->from] : in;
    in->wait = from->update != NOBODY && chance(random, 92) ? from->update : pick(random, SEMAPHORES);
    static const int odd[] = { 1, 2, 8, 16, 17, 24, 32, 33 };
    in->value = odd[pick(random, 8)];
    if (from->update == NOBODY || chance(random, 15))
        return;
    in->value = 0; /* as many as the instructions so far make, since the last reset: mostly the right count */
    for (int i = 0; i <= in->from && i < p->n_instrs; i++) {
        if (p->instrs[i].kind == RESET && p->instrs[i].reset == in->wait)
            in->value = 0;
        if (p->instrs[i].update == in->wait)
            in->value += p->instrs[i].amount;
    }
}

static void random_program(struct program *p, uint64_t *random)
{
    memset(p, 0, sizeof *p);
    p->loop = chance(random, 25);
    bool many_updaters = chance(random, 30), resets = chance(random, 35), unassigned = !resets && chance(random, 10);
    int length = 2 + pick(random, p->loop ? 5 : 8), first = pick(random, length),
        second = first + 1 + pick(random, length - first);
    int trigger = NOBODY;
    for (int i = 0; i < length; i++) {
        struct instr in = { .read = NOBODY, .write = NOBODY, .update = NOBODY, .wait = NOBODY, .trigger = NOBODY };
        static const enum kind kinds[] = {
            COMPUTE, COMPUTE, COMPUTE, COMPUTE, DMA, DMA, TRIGGER, BARRIER, RESET, BLOCK
        };
        in.kind = kinds[pick(random, 10)];
        in.place = i < first ? 0 : i < second ? 1 : 2;
        bool goes_on = trigger != NOBODY && p->instrs[trigger].place == in.place && i > 0 &&
                       (p->instrs[i - 1].kind == BLOCK || p->instrs[i - 1].kind == TRIGGER);
        if (i > 0 && p->instrs[i - 1].kind == TRIGGER && goes_on && chance(random, 90))
            in.kind = BLOCK;
        if ((in.kind == BLOCK && !goes_on) || (in.kind == RESET && !resets))
            in.kind = COMPUTE;
        in.engine = in.kind == BARRIER || in.kind == RESET ? ENGINE_ALL
                    : unassigned && chance(random, 30)     ? ENGINE_UNASSIGNED
                                                           : pick(random, ENGINES);
        in.queue = pick(random, QUEUES);
        if (in.kind == BLOCK) {
            in.trigger = trigger;
            in.queue = p->instrs[trigger].queue;
        }
        if (in.kind == TRIGGER)
            trigger = i;
        if (in.kind == COMPUTE || in.kind == DMA || in.kind == BLOCK) {
            in.read = cell(random);
            in.write = cell(random);
        }
        in.reset = pick(random, SEMAPHORES);
        random_sync(p, &in, random, many_updaters);
        p->instrs[p->n_instrs++] = in;
    }
}

/* -------------------------------------------------------------------------------------------------------------------
 * JSON */

struct text {
    char bytes[32768];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->bytes + t->len, sizeof t->bytes - t->len, fmt, args);
    va_end(args);
    ck_assert(n >= 0 && (size_t)n < sizeof t->bytes - t->len);
    t->len += (size_t)n;
}

static void put_cell(struct text *t, int c)
{
    if (c != NOBODY)
        put(t,
            "{\"ap\":[[16,128],[1,16]],\"dtype\":\"float32\",\"kind\":\"physical_ap\",\"memref\":\"m%d\",\"memsetref\":"
            "\"m%d_set\",\"offset\":0}",
            c, c);
}

static void put_sync(struct text *t, const struct instr *in)
{
    put(t, "\"sync_info\":{");
    if (in->wait != NOBODY)
        put(t, "\"on_wait\":[{\"from\":\"i%d\",\"id\":%d,\"wait_value\":%d}]", in->from, in->wait, in->value);
    if (in->update != NOBODY)
        put(t, "%s\"on_update\":[{\"id\":%d,\"update_value\":%d}]", in->wait != NOBODY ? "," : "", in->update,
            in->amount);
    put(t, "}");
}

static void put_accesses(struct text *t, const struct instr *in)
{
    put(t, "\"ins\":[");
    put_cell(t, in->read);
    put(t, "],\"outs\":[");
    put_cell(t, in->write);
    put(t, "],");
}

static void put_instr(struct text *t, const struct program *p, int i)
{
    static const char *const opcodes[] = { "TensorCopy", "DMACopy",          "DMATrigger",
                                           "",           "AllEngineBarrier", "GroupResetSemaphores" };
    const struct instr *in = &p->instrs[i];
    put(t, "{\"name\":\"i%d\",\"opcode\":\"%s\",\"engine\":\"%s\",", i, opcodes[in->kind], engine_names[in->engine]);
    put_accesses(t, in);
    if (in->kind == DMA || in->kind == TRIGGER)
        put(t, "\"queue\":\"q%d\",", in->queue);
    if (in->kind == RESET)
        put(t, "\"sema_group\":[%d],", in->reset);
    if (in->kind == TRIGGER) {
        bool any = false;
        put(t, "\"dma_blocks\":[");
        for (int k = 0; k < p->n_instrs; k++)
            if (p->instrs[k].kind == BLOCK && p->instrs[k].trigger == i) {
                put(t, "%s\"i%d\"", any ? "," : "", k);
                any = true;
            }
        put(t, "],");
    }
    put_sync(t, in);
    put(t, "}");
}

static void put_block(struct text *t, const struct program *p, int place)
{
    bool any = false;
    put(t, "{\"name\":\"B%d\",\"instructions\":[", place);
    for (int i = 0; i < p->n_instrs; i++) {
        if (p->instrs[i].place != place || p->instrs[i].kind == BLOCK)
            continue;
        put(t, any ? "," : "");
        put_instr(t, p, i);
        any = true;
    }
    if (place == 1 && p->loop) /* on an engine of its own: it must not order anything */
        put(t,
            "%s{\"name\":\"branch\",\"opcode\":\"UnconditionalBranch\",\"engine\":\"PE\",\"ins\":[],\"outs\":[],"
            "\"target\":\"B1\"}",
            any ? "," : "");
    put(t, "]}");
}

static void put_queue(struct text *t, const struct program *p, int queue)
{
    bool any = false;
    put(t, "{\"name\":\"q%d\",\"blocks\":[{\"name\":\"b\",\"instructions\":[", queue);
    for (int i = 0; i < p->n_instrs; i++) {
        const struct instr *in = &p->instrs[i];
        if (in->kind != BLOCK || in->queue != queue)
            continue;
        put(t,
            "%s{\"name\":\"i%d\",\"opcode\":\"DMABlock\",\"engine\":\"DMA\",\"ins\":[],\"outs\":[],\"blocks\":[{"
            "\"name\":\"d\",\"instructions\":["
            "{\"name\":\"d%d\",\"opcode\":\"DMADescriptorCopy\",\"engine\":\"DMA\",",
            any ? "," : "", i, i);
        put_accesses(t, in);
        put(t, "\"origin\":\"Internal\"}]}],");
        put_sync(t, in);
        put(t, "}");
        any = true;
    }
    put(t, "]}]}");
}

static void put_program(struct text *t, const struct program *p)
{
    t->len = 0;
    put(t, "{\"arch\":\"gen3\",\"version\":2,\"functions\":[{\"name\":\"f\",\"allocations\":[");
    for (int c = 0; c < CELLS; c++)
        put(t,
            "%s{\"Skind\":\"memory_location_set\",\"name\":\"m%d_set\",\"kind\":\"Internal\",\"dtype\":\"float32\","
            "\"memorylocations\":[{\"Skind\":"
            "\"memory_location\",\"name\":\"m%d\",\"type\":\"SB\",\"dims\":[128,64],\"addr\":%d}]}",
            c ? "," : "", c, c, 64 * c);
    put(t, "],\"blocks\":[");
    for (int place = 0; place < 3; place++) {
        put(t, place ? "," : "");
        put_block(t, p, place);
    }
    put(t, "]}],\"queues\":[");
    for (int q = 0; q < QUEUES; q++) {
        put(t, q ? "," : "");
        put_queue(t, p, q);
    }
    put(t, "]}");
}

/* -----------------------------------------------------------------------------------------------------------------
 * entries */

struct entry {
    int earlier, later, cell;
    enum bir_hazard_kind kind;
    bool carried;
};

struct entries {
    struct entry items[4096];
    int count;
};

static bool same_entry(const struct entry *a, const struct entry *b)
{
    return a->earlier == b->earlier && a->later == b->later && a->cell == b->cell && a->kind == b->kind &&
           a->carried == b->carried;
}

static bool has_entry(const struct entries *list, const struct entry *e)
{
    for (int i = 0; i < list->count; i++)
        if (same_entry(&list->items[i], e))
            return true;
    return false;
}

static void add_entry(struct entries *list, struct entry e)
{
    if (!has_entry(list, &e))
        list->items[list->count++] = e;
}

/* The pairs of accesses of two executions that are not ordered. */
static void add_conflicts(struct entries *list, const struct program *p, int a, int b)
{
    const struct instr *x = &p->instrs[p->execs[a].instr], *y = &p->instrs[p->execs[b].instr];
    bool across = p->loop && p->execs[a].place == 1 && p->execs[b].place == 2;
    bool carried = across && b - p->body_first - p->body_length <= a - p->body_first;
    if (across && !carried)
        return;
    struct entry e = { .earlier = p->execs[a].instr, .later = p->execs[b].instr, .carried = carried };
    if (x->write != NOBODY && x->write == y->read) {
        e.kind = BIR_HAZARD_RAW;
        e.cell = x->write;
        add_entry(list, e);
    }
    if (x->read != NOBODY && x->read == y->write) {
        e.kind = BIR_HAZARD_WAR;
        e.cell = x->read;
        add_entry(list, e);
    }
    if (x->write != NOBODY && x->write == y->write) {
        e.kind = BIR_HAZARD_WAW;
        e.cell = x->write;
        add_entry(list, e);
    }
}

/* ------------------------------------------------------------------------------------------------------- rules,
 * literally */

enum { START = 0, END = MAX_EXECS, NODES = 2 * MAX_EXECS };

struct rules {
    const struct program *p;
    bool before[NODES][NODES];       /* closure */
    bool late[MAX_EXECS][MAX_EXECS]; /* [reset][updater] */
    bool cyclic, previous, one_updater, any_late;
    bool partly; /* some wait can only pass when an update that it does not prove has begun to land */
};

static const struct instr *at(const struct program *p, int exec)
{
    return &p->instrs[p->execs[exec].instr];
}

static int end_of(const struct program *p, int exec)
{
    return p->execs[exec].async ? END + exec : START + exec;
}

static int reset_before(const struct program *p, int semaphore, int exec)
{
    int found = NOBODY;
    for (int i = 0; i < exec; i++)
        if (at(p, i)->kind == RESET && at(p, i)->reset == semaphore)
            found = i;
    return found;
}

/* Does an updater count in the epoch that a wait at `exec` sees? */
static bool counts_for(const struct rules *r, int updater, int semaphore, int exec)
{
    const struct program *p = r->p;
    if (at(p, updater)->update != semaphore)
        return false;
    int epoch = reset_before(p, semaphore, exec), own = reset_before(p, semaphore, updater + 1);
    return own == epoch || (epoch != NOBODY && updater < epoch && r->late[epoch][updater]);
}

static bool same_source(const struct program *p, int a, int b)
{
    const struct instr *x = at(p, a), *y = at(p, b);
    if (p->execs[a].async != p->execs[b].async)
        return false;
    if (p->execs[a].async)
        return x->queue == y->queue;
    return x->engine == y->engine && (x->engine != ENGINE_UNASSIGNED || a == b);
}

static int total(const struct rules *r, int exec)
{
    int sum = 0;
    for (int u = 0; u < r->p->n_execs; u++)
        if (counts_for(r, u, at(r->p, exec)->wait, exec))
            sum += at(r->p, u)->amount;
    return sum;
}

static bool proves(const struct rules *r, int exec, int updater)
{
    const struct program *p = r->p;
    int semaphore = at(p, exec)->wait, follow = 0;
    if (!counts_for(r, updater, semaphore, exec))
        return false;
    for (int u = updater + 1; u < p->n_execs; u++)
        if (counts_for(r, u, semaphore, exec) && same_source(p, u, updater))
            follow += at(p, u)->amount;
    return total(r, exec) - follow <= at(p, exec)->value;
}

static int count_after(const struct program *p, int updater)
{
    int semaphore = at(p, updater)->update, sum = 0;
    for (int i = 0; i <= updater; i++) {
        if (at(p, i)->kind == RESET && at(p, i)->reset == semaphore)
            sum = 0;
        if (at(p, i)->update == semaphore)
            sum += at(p, i)->amount;
    }
    return sum;
}

/* What `from` means: NOBODY, or an execution; *previous when it means the iteration before. */
static int named_by(const struct program *p, int exec, bool *previous)
{
    int from = at(p, exec)->from, place = p->execs[exec].place, candidates[MAX_EXECS], n = 0;
    bool in_loop = p->loop && (place == 1 || place == 2), earlier_block = false, later_in_body = false;
    *previous = false;
    for (int i = 0; i < exec; i++)
        if (p->execs[i].instr == from && p->execs[i].place == place)
            candidates[n++] = i;
    for (int i = 0; i < p->body_first; i++)
        earlier_block = earlier_block || p->execs[i].instr == from;
    int offset = place == 2 ? exec - p->body_length : exec;
    for (int i = offset; i < p->body_first + p->body_length; i++)
        later_in_body = later_in_body || p->execs[i].instr == from;
    if (n == 0 && in_loop && !earlier_block && later_in_body) {
        *previous = true;
        return NOBODY;
    }
    for (int block = place - 1; n == 0 && block >= 0; block--)
        for (int i = 0; i < exec; i++)
            if (p->execs[i].instr == from && p->execs[i].place == block)
                candidates[n++] = i;
    if (n == 0 && !in_loop)
        for (int i = exec + 1; i < p->n_execs; i++)
            if (p->execs[i].instr == from)
                candidates[n++] = i;
    for (int k = 0; k < n; k++)
        if (at(p, candidates[k])->update == at(p, exec)->wait && count_after(p, candidates[k]) >= at(p, exec)->value)
            return candidates[k];
    return n > 0 ? candidates[n - 1] : NOBODY;
}

static void close_matrix(struct rules *r)
{
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < NODES; i++)
            for (int j = 0; r->before[i][k] && j < NODES; j++)
                r->before[i][j] = r->before[i][j] || r->before[k][j];
}

static void add_edges(struct rules *r)
{
    const struct program *p = r->p;
    memset(r->before, 0, sizeof r->before);
    for (int b = 0; b < p->n_execs; b++) {
        const struct instr *y = at(p, b);
        if (p->execs[b].async)
            r->before[START + b][END + b] = true;
        if (p->execs[b].trigger != NOBODY)
            r->before[START + p->execs[b].trigger][START + b] = true;
        for (int a = 0; a < b; a++) {
            const struct instr *x = at(p, a);
            bool engines = x->kind != BLOCK && y->kind != BLOCK && x->engine != ENGINE_UNASSIGNED &&
                           y->engine != ENGINE_UNASSIGNED;
            if (engines && (x->engine == y->engine || x->engine == ENGINE_ALL || y->engine == ENGINE_ALL))
                r->before[START + a][START + b] = true;
            if (p->execs[a].async && p->execs[b].async && x->queue == y->queue)
                r->before[END + a][END + b] = true;
        }
        if (y->wait == NOBODY)
            continue;
        for (int a = 0; a < p->n_execs; a++)
            if (proves(r, b, a))
                r->before[end_of(p, a)][START + b] = true;
        bool previous;
        int named = named_by(p, b, &previous);
        r->previous = r->previous || previous;
        if (named != NOBODY && at(p, named)->update == y->wait && total(r, b) < y->value)
            r->before[end_of(p, named)][START + b] = true;
    }
    close_matrix(r);
}

static bool find_late(struct rules *r)
{
    const struct program *p = r->p;
    bool changed = false;
    for (int z = 0; z < p->n_execs; z++)
        for (int u = 0; at(p, z)->kind == RESET && u < z; u++) {
            if (at(p, u)->update != at(p, z)->reset || r->before[end_of(p, u)][START + z] || r->late[z][u])
                continue;
            r->late[z][u] = changed = r->any_late = true;
        }
    return changed;
}

static void find_updaters(struct rules *r)
{
    const struct program *p = r->p;
    for (int b = 0; b < p->n_execs; b++) {
        int proved = 0;
        for (int a = 0; at(p, b)->wait != NOBODY && a < p->n_execs; a++)
            proved += proves(r, b, a) ? at(p, a)->amount : 0;
        r->partly = r->partly || (at(p, b)->wait != NOBODY && proved < at(p, b)->value);
    }
    r->one_updater = true;
    for (int a = 0; a < p->n_execs; a++)
        for (int b = 0; b < a; b++)
            if (at(p, a)->update != NOBODY && at(p, a)->update == at(p, b)->update && !same_source(p, a, b))
                r->one_updater = false;
}

static void apply_rules(struct rules *r, const struct program *p)
{
    memset(r, 0, sizeof *r);
    r->p = p;
    do
        add_edges(r);
    while (find_late(r));
    for (int i = 0; i < NODES; i++)
        r->cyclic = r->cyclic || r->before[i][i];
    find_updaters(r);
}

static void pairs_by_rules(const struct rules *r, struct entries *out)
{
    out->count = 0;
    for (int b = 0; b < r->p->n_execs; b++)
        for (int a = 0; a < b; a++)
            if (!r->before[end_of(r->p, a)][START + b])
                add_conflicts(out, r->p, a, b);
}

/* Problem of the wait of an execution, or -1. */
static int problem_by_rules(const struct rules *r, int exec)
{
    const struct program *p = r->p;
    const struct instr *in = at(p, exec);
    bool previous;
    int named = named_by(p, exec, &previous), own = 0, epoch = reset_before(p, in->wait, exec);
    if (previous)
        return -1;
    if (named == NOBODY || at(p, named)->update != in->wait)
        return BIR_HAZARD_NO_UPDATE;
    if (total(r, exec) < in->value)
        return BIR_HAZARD_NEVER;
    if (!proves(r, exec, named))
        return BIR_HAZARD_EARLY;
    for (int u = 0; u < p->n_execs; u++)
        if (at(p, u)->update == in->wait && reset_before(p, in->wait, u + 1) == epoch)
            own += at(p, u)->amount;
    return own < in->value ? BIR_HAZARD_NEVER : -1;
}

/* -----------------------------------------------------------------------------------------------------------------
 * machine */

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

/* -----------------------------------------------------------------------------------------------------------------
 * compare */

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

/* --------------------------------------------------------------------------------------------------------------------
 * hints */

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

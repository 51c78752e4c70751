/* Small random modules for the tests of the hazard analysis: as a table, as executions, as BIR-JSON; and entries of a
 * report. */
#ifndef TESTS_HAZARD_PROGRAM_H
#define TESTS_HAZARD_PROGRAM_H

#include "base/random.h"
#include "hazard_cases.h"

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

/* --- program --- */

static inline int pick(uint64_t *random, int n)
{
    return (int)bir_random_below(random, (uint64_t)n);
}

static inline bool chance(uint64_t *random, int percent)
{
    return pick(random, 100) < percent;
}

static inline void expand_place(struct program *p, int block, int place)
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
static inline bool expand(struct program *p)
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

static inline int cell(uint64_t *random)
{
    return chance(random, 60) ? pick(random, CELLS) : NOBODY;
}

static inline void random_sync(struct program *p, struct instr *in, uint64_t *random, bool many_updaters)
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

static inline void random_program(struct program *p, uint64_t *random)
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
        if (resets && in.kind == COMPUTE && chance(random, 40))
            in.kind = chance(random, 40) ? RESET : DMA;
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
        if (i > 0 && chance(random, 80) && p->instrs[i - 1].update != NOBODY)
            in.reset = p->instrs[i - 1].update;
        random_sync(p, &in, random, many_updaters);
        p->instrs[p->n_instrs++] = in;
    }
}

/* --- JSON --- */

struct text {
    char bytes[32768];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static inline void put(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->bytes + t->len, sizeof t->bytes - t->len, fmt, args);
    va_end(args);
    ck_assert(n >= 0 && (size_t)n < sizeof t->bytes - t->len);
    t->len += (size_t)n;
}

static inline void put_cell(struct text *t, int c)
{
    if (c != NOBODY)
        put(t,
            "{\"ap\":[[16,128],[1,16]],\"dtype\":\"float32\",\"kind\":\"physical_ap\",\"memref\":\"m%d\",\"memsetref\":"
            "\"m%d_set\",\"offset\":0}",
            c, c);
}

static inline void put_sync(struct text *t, const struct instr *in)
{
    put(t, "\"sync_info\":{");
    if (in->wait != NOBODY)
        put(t, "\"on_wait\":[{\"from\":\"i%d\",\"id\":%d,\"wait_value\":%d}]", in->from, in->wait, in->value);
    if (in->update != NOBODY)
        put(t, "%s\"on_update\":[{\"id\":%d,\"update_value\":%d}]", in->wait != NOBODY ? "," : "", in->update,
            in->amount);
    put(t, "}");
}

static inline void put_accesses(struct text *t, const struct instr *in)
{
    put(t, "\"ins\":[");
    put_cell(t, in->read);
    put(t, "],\"outs\":[");
    put_cell(t, in->write);
    put(t, "],");
}

static inline void put_instr(struct text *t, const struct program *p, int i)
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

static inline void put_block(struct text *t, const struct program *p, int place)
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

static inline void put_queue(struct text *t, const struct program *p, int queue)
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

static inline void put_program(struct text *t, const struct program *p)
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

/* --- entries --- */

struct entry {
    int earlier, later, cell;
    enum bir_hazard_kind kind;
    bool carried;
};

struct entries {
    struct entry items[4096];
    int count;
};

static inline bool same_entry(const struct entry *a, const struct entry *b)
{
    return a->earlier == b->earlier && a->later == b->later && a->cell == b->cell && a->kind == b->kind &&
           a->carried == b->carried;
}

static inline bool has_entry(const struct entries *list, const struct entry *e)
{
    for (int i = 0; i < list->count; i++)
        if (same_entry(&list->items[i], e))
            return true;
    return false;
}

static inline void add_entry(struct entries *list, struct entry e)
{
    if (!has_entry(list, &e))
        list->items[list->count++] = e;
}

/* The pairs of accesses of two executions that are not ordered. */
static inline void add_conflicts(struct entries *list, const struct program *p, int a, int b)
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

#endif

/*
 * The rules of hazards.md taken literally, for small modules: edges in a matrix, its closure, every proof by summing
 * up, late updates by repeating. Shares nothing with lib/check.
 */
#ifndef TESTS_HAZARD_RULES_H
#define TESTS_HAZARD_RULES_H

#include "hazard_program.h"

/* --- rules, literally --- */

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

static inline int end_of(const struct program *p, int exec)
{
    return p->execs[exec].async ? END + exec : START + exec;
}

static inline int reset_before(const struct program *p, int semaphore, int exec)
{
    int found = NOBODY;
    for (int i = 0; i < exec; i++)
        if (at(p, i)->kind == RESET && at(p, i)->reset == semaphore)
            found = i;
    return found;
}

/* Does an updater count in the epoch that a wait at `exec` sees? */
static inline bool counts_for(const struct rules *r, int updater, int semaphore, int exec)
{
    const struct program *p = r->p;
    if (at(p, updater)->update != semaphore)
        return false;
    int epoch = reset_before(p, semaphore, exec), own = reset_before(p, semaphore, updater + 1);
    return own == epoch || (epoch != NOBODY && updater < epoch && r->late[epoch][updater]);
}

static inline bool same_source(const struct program *p, int a, int b)
{
    const struct instr *x = at(p, a), *y = at(p, b);
    if (p->execs[a].async != p->execs[b].async)
        return false;
    if (p->execs[a].async)
        return x->queue == y->queue;
    return x->engine == y->engine && (x->engine != ENGINE_UNASSIGNED || a == b);
}

static inline int total(const struct rules *r, int exec)
{
    int sum = 0;
    for (int u = 0; u < r->p->n_execs; u++)
        if (counts_for(r, u, at(r->p, exec)->wait, exec))
            sum += at(r->p, u)->amount;
    return sum;
}

static inline bool proves(const struct rules *r, int exec, int updater)
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

static inline int count_after(const struct program *p, int updater)
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
static inline int named_by(const struct program *p, int exec, bool *previous)
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

static inline void close_matrix(struct rules *r)
{
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < NODES; i++)
            for (int j = 0; r->before[i][k] && j < NODES; j++)
                r->before[i][j] = r->before[i][j] || r->before[k][j];
}

static inline void add_edges(struct rules *r)
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

/* Of one reset a time, the first first: a wait before the next one that sees a late update whole has it landed by then,
 * so it is late no more. */
static inline bool find_late(struct rules *r)
{
    const struct program *p = r->p;
    bool changed = false;
    for (int z = 0; z < p->n_execs && !changed; z++)
        for (int u = 0; at(p, z)->kind == RESET && u < z; u++) {
            if (at(p, u)->update != at(p, z)->reset || r->before[end_of(p, u)][START + z] || r->late[z][u])
                continue;
            r->late[z][u] = changed = r->any_late = true;
        }
    return changed;
}

static inline void find_updaters(struct rules *r)
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

static inline void apply_rules(struct rules *r, const struct program *p)
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

static inline void pairs_by_rules(const struct rules *r, struct entries *out)
{
    out->count = 0;
    for (int b = 0; b < r->p->n_execs; b++)
        for (int a = 0; a < b; a++)
            if (!r->before[end_of(r->p, a)][START + b])
                add_conflicts(out, r->p, a, b);
}

/* Problem of the wait of an execution, or -1. */
static inline int problem_by_rules(const struct rules *r, int exec)
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

#endif

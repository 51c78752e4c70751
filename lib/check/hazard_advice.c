/*
 * What is missing between two executions, what would mend it, and why an ordered pair is ordered.
 *
 * An update proves the completion of everything that is ordered before it. So the wait that orders a pair waits for the
 * first update behind the earlier access, on its own engine or queue if there is one, in the epoch that the later
 * access sees; the value is the least that proves this update or another one of the semaphore behind the access (T - A
 * of hazards.md 3.2). An update that itself waits for the later access is no help. In a loop body the value must be the
 * same in every iteration, so the semaphore has to be reset between the two copies.
 */
#include <string.h>

#include "check/hazard_internal.h"

/* --- words --- */

static const char *engine_of(const struct hazard_exec *e)
{
    const struct bir_instruction_texts *texts = e->inst->rare ? e->inst->rare->texts : NULL;
    return e->inst->engine == BIR_ENUM_UNKNOWN && texts && texts->engine ? texts->engine->text
                                                                         : bir_engine_name(e->inst->engine);
}

/* The execution whose engine would wait: a DMABlock cannot, its trigger can. */
static uint32_t waiting_exec(const struct hazard_analysis *h, uint32_t exec)
{
    return h->execs.items[exec].trigger != HAZARD_NONE ? h->execs.items[exec].trigger : exec;
}

/* --- fix --- */

struct candidate {
    uint32_t update; /* HAZARD_NONE: none */
    int64_t value;
};

/* Does a completion come only after the start of an execution? */
static bool depends_on(const struct hazard_analysis *h, uint32_t end_of, uint32_t start_of)
{
    const struct hazard_exec *e = &h->execs.items[start_of];
    if (end_of == start_of)
        return true;
    if (e->start_chain == HAZARD_NONE)
        return end_of > start_of;
    return hazard_clock(h, hazard_end_node(h, end_of), e->start_chain) >= e->start_index;
}

/* In a loop body: is the semaphore reset between the position in one copy and the same in the other? */
static bool counts_anew(const struct hazard_analysis *h, uint8_t semaphore, uint32_t place, uint32_t exec)
{
    const struct hazard_place *p = &h->places.items[place];
    if (p->iteration == 0)
        return true;
    uint32_t length = p->end - p->first;
    uint32_t in_first = p->iteration == 1 ? exec : exec - length;
    return hazard_semaphore_epoch(h, semaphore, in_first, false) !=
           hazard_semaphore_epoch(h, semaphore, in_first + length, false);
}

/* Whether the completion of exec is `node` or reaches it. */
static bool is_before(const struct hazard_analysis *h, uint32_t exec, uint32_t node)
{
    return node == hazard_end_node(h, exec) || hazard_reaches(h, exec, node);
}

/* The first update of a group that proves the completion of exec (then all behind it do) and that a wait at position
 * `at` would see. */
static struct candidate first_proof(const struct hazard_analysis *h, uint32_t g, const struct hazard_epoch *epoch,
                                    uint32_t exec)
{
    struct candidate c = { .update = HAZARD_NONE };
    uint32_t i = 0;
    while (i < epoch->n_spans && epoch->spans[i].group != g)
        i++;
    if (i == epoch->n_spans)
        return c;
    uint32_t from = epoch->spans[i].late, end = epoch->spans[i].end;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (is_before(h, exec, hazard_end_node(h, h->updates[middle].exec)))
            end = middle;
        else
            from = middle + 1;
    }
    if (from < epoch->spans[i].end && hazard_semaphore_value(h, from, epoch, &c.value))
        c.update = from;
    return c;
}

/* Where a wait is to stand, and by whom. */
struct wait_place {
    uint32_t waiter, place, at;
};

/* The proof by the updates of one semaphore with the least value, on the chain (HAZARD_NONE: on any). */
static struct candidate least_proof(const struct hazard_analysis *h, uint32_t semaphore, uint32_t chain, uint32_t exec,
                                    const struct wait_place *w)
{
    struct candidate best = { .update = HAZARD_NONE };
    const struct hazard_epoch *epoch = hazard_semaphore_epoch(h, (uint8_t)semaphore, w->at, false);
    for (uint32_t g = h->semaphore_groups[semaphore]; g < h->semaphore_groups[semaphore + 1]; g++) {
        if (chain != HAZARD_NONE && h->groups.items[g].chain != chain)
            continue;
        struct candidate c = first_proof(h, g, epoch, exec);
        if (c.update == HAZARD_NONE || depends_on(h, h->updates[c.update].exec, w->waiter))
            continue;
        if (best.update == HAZARD_NONE || c.value < best.value)
            best = c;
    }
    return best;
}

/* The semaphore whose proof comes first, on the chain of the earlier access if there is one, with its least value. */
static struct candidate find_update(const struct hazard_analysis *h, uint32_t exec, const struct wait_place *w)
{
    struct candidate best = { .update = HAZARD_NONE };
    for (int any_chain = 0; any_chain < 2 && best.update == HAZARD_NONE; any_chain++) {
        uint32_t chain = any_chain ? HAZARD_NONE : h->execs.items[exec].end_chain;
        for (uint32_t s = 0; s < HAZARD_SEMAPHORES && (any_chain || chain != HAZARD_NONE); s++) {
            if (h->semaphore_groups[s] == h->semaphore_groups[s + 1] || !counts_anew(h, (uint8_t)s, w->place, w->at))
                continue;
            struct candidate c = least_proof(h, s, chain, exec, w);
            if (c.update == HAZARD_NONE)
                continue;
            if (best.update == HAZARD_NONE || h->updates[c.update].exec < h->updates[best.update].exec)
                best = c;
        }
    }
    return best.update == HAZARD_NONE ? best : least_proof(h, h->updates[best.update].semaphore, HAZARD_NONE, exec, w);
}

/* The lowest semaphore that the function neither updates nor waits for nor resets; HAZARD_SEMAPHORES when all are in
 * use. */
static uint32_t free_semaphore(const struct hazard_analysis *h)
{
    bool used[HAZARD_SEMAPHORES + 1] = { false };
    for (uint32_t i = 0; i < h->waiters.count; i++)
        used[h->waiters.items[i].wait->semaphore] = true;
    uint32_t s = 0;
    while (s < HAZARD_SEMAPHORES && (used[s] || h->semaphore_groups[s] < h->semaphore_groups[s + 1] ||
                                     h->semaphore_epochs[s] + 1 < h->semaphore_epochs[s + 1]))
        s++;
    return s;
}

static const char *fix_text(struct hazard_analysis *h, const struct bir_hazard_pair *pair,
                            const struct bir_hazard_fix *fix)
{
    const char *later = hazard_name(h->execs.items[waiting_exec(h, pair->later.position)].inst);
    const char *where = pair->carried ? "in the loop body, before the reset of it, on the engine of" : "in";
    const char *anew = pair->carried           ? "in the loop body on the engine of"
                       : pair->later.iteration ? "(reset in the loop body) in"
                                               : "in";
    if (!fix->found)
        return bir_arena_printf(h->arena, "no semaphore is free: order %s behind %s by a barrier", later,
                                hazard_name(pair->earlier.inst));
    if (fix->on_update)
        return bir_arena_printf(h->arena, "wait for semaphore %lld >= %lld (update of %s) %s %s",
                                (long long)fix->semaphore, (long long)fix->value, hazard_name(fix->update), where,
                                later);
    return bir_arena_printf(h->arena, "let %s update semaphore %lld by %lld, and wait for %lld >= %lld %s %s%s",
                            hazard_name(fix->update), (long long)fix->semaphore, (long long)fix->value,
                            (long long)fix->semaphore, (long long)fix->value, anew, later,
                            pair->carried ? ", then reset it" : "");
}

static enum bir_status find_fix(struct hazard_analysis *h, struct bir_hazard_pair *pair, const struct candidate *c)
{
    const struct hazard_exec *earlier = &h->execs.items[pair->earlier.position];
    struct bir_hazard_fix *fix = &pair->fix;
    if (c->update != HAZARD_NONE) {
        const struct hazard_update *u = &h->updates[c->update];
        *fix = (struct bir_hazard_fix){ .found = true,
                                        .on_update = true,
                                        .semaphore = u->semaphore,
                                        .value = c->value,
                                        .update = h->execs.items[u->exec].inst };
    } else {
        uint32_t s = free_semaphore(h);
        *fix = (struct bir_hazard_fix){
            .found = s < HAZARD_SEMAPHORES, .semaphore = s, .value = earlier->async ? 16 : 1, .update = earlier->inst
        };
    }
    fix->text = fix_text(h, pair, fix);
    return fix->text ? BIR_OK : hazard_memory(h);
}

static const char *missing_text(struct hazard_analysis *h, const struct bir_hazard_pair *pair,
                                const struct candidate *c)
{
    const struct hazard_exec *earlier = &h->execs.items[pair->earlier.position],
                             *later = &h->execs.items[pair->later.position];
    const struct hazard_exec *waiter = &h->execs.items[waiting_exec(h, pair->later.position)];
    const char *until = pair->carried ? " of the next iteration" : "";
    if (c->update == HAZARD_NONE)
        return bir_arena_printf(
            h->arena, "%s updates no semaphore that %s%s on %s could see, nor does anything behind it on its %s",
            hazard_name(earlier->inst), hazard_name(later->inst), until, engine_of(waiter),
            earlier->async ? "queue" : "engine");
    const struct hazard_update *u = &h->updates[c->update];
    return bir_arena_printf(h->arena, "no wait on semaphore %u reaches %lld (update of %s) before %s%s starts on %s",
                            (unsigned)u->semaphore, (long long)c->value, hazard_name(h->execs.items[u->exec].inst),
                            hazard_name(later->inst), until, engine_of(waiter));
}

enum bir_status hazard_advise(struct hazard_analysis *h, struct bir_hazard_pair *pair)
{
    if (pair->earlier.position == pair->later.position) {
        pair->missing = "the instruction runs in pieces and reads its input again: its output must not be on its input";
        pair->fix = (struct bir_hazard_fix){ .text = "no wait helps: write to another place" };
        return BIR_OK;
    }
    const struct hazard_exec *later = &h->execs.items[pair->later.position],
                             *earlier = &h->execs.items[pair->earlier.position];
    uint32_t waiter = waiting_exec(h, pair->later.position);
    uint32_t place = pair->carried ? earlier->place : later->place;
    uint32_t at = pair->carried ? h->places.items[place].end : waiter;
    struct wait_place w = { .waiter = waiter, .place = place, .at = at };
    struct candidate c = find_update(h, pair->earlier.position, &w);
    if (pair->carried && c.update == HAZARD_NONE) { /* reset before the end of the body: wait earlier in it */
        w.at = pair->earlier.position + 1;
        c = find_update(h, pair->earlier.position, &w);
    }
    pair->missing = missing_text(h, pair, &c);
    if (!pair->missing)
        return hazard_memory(h);
    return h->options->fix_hints ? find_fix(h, pair, &c) : BIR_OK;
}

/* --- explain --- */

static const struct bir_str *name_of(const struct hazard_analysis *h, const char *text, uint32_t *number)
{
    const struct bir_str *name = bir_intern_find(&h->module->strings, text, strlen(text));
    uintptr_t known = name ? (uintptr_t)bir_map_get(&h->name_numbers, name) : 0;
    *number = (uint32_t)(known - 1);
    return known ? name : NULL;
}

static const char *wanted_name(const struct hazard_analysis *h, int which)
{
    return which ? h->options->explain_later : h->options->explain_earlier;
}

void hazard_explain_names(struct hazard_analysis *h)
{
    bool here[2] = { false, false };
    uint32_t number;
    if (!h->options->explain_earlier || !h->options->explain_later)
        return;
    for (int which = 0; which < 2; which++) {
        struct bir_near *near = &h->explain_near[which];
        const char *wanted = wanted_name(h, which);
        if (!near->wanted)
            bir_near_init(near, wanted, strlen(wanted));
        here[which] = name_of(h, wanted, &number) != NULL;
        h->explain_known[which] = h->explain_known[which] || here[which];
        for (uint32_t i = 0; i < h->names.count && !h->explain_known[which]; i++)
            bir_near_offer(near, h->names.items[i]->text, h->names.items[i]->len);
    }
    h->explain_together = h->explain_together || (here[0] && here[1]);
}

enum bir_status hazard_explain_check(struct hazard_analysis *h)
{
    enum bir_status status = BIR_OK;
    for (int which = 0; which < 2; which++) {
        const struct bir_near *near = &h->explain_near[which];
        if (!wanted_name(h, which) || h->explain_known[which])
            continue;
        const char *hint = bir_near_hint(near, h->arena, "name two instructions or DMABlocks of the module");
        if (!hint)
            return hazard_memory(h);
        status = bir_fail(h->diags, "hazard-explain-name", BIR_NO_OFFSET, hint,
                          "nothing runs by the name of \"%.200s\"", wanted_name(h, which));
    }
    return status;
}

/* The first execution of `later` behind the first one of `earlier`; else the first of each. */
static bool find_executions(const struct hazard_analysis *h, uint32_t *earlier, uint32_t *later)
{
    uint32_t a, b;
    if (!name_of(h, h->options->explain_earlier, &a) || !name_of(h, h->options->explain_later, &b))
        return false;
    *earlier = h->name_execs[h->name_first[a]];
    *later = h->name_execs[h->name_first[b]];
    for (uint32_t i = h->name_first[b]; i < h->name_first[b + 1]; i++) {
        *later = h->name_execs[i];
        if (*later > *earlier)
            break;
    }
    return true;
}

struct step {
    uint32_t from, to; /* nodes */
    enum hazard_edge kind;
    uint32_t waiter;
};

static void write_step(const struct hazard_analysis *h, const struct step *s, struct bir_buf *out)
{
    const struct hazard_exec *from = &h->execs.items[s->from / 2], *to = &h->execs.items[s->to / 2];
    const char *a = hazard_name(from->inst), *b = hazard_name(to->inst);
    const struct bir_wait *wait;
    switch (s->kind) {
    case HAZARD_EDGE_PROGRAM:
        if (to->inst->engine == BIR_ENGINE_ALL || from->inst->engine == BIR_ENGINE_ALL)
            bir_buf_printf(out, "  %s before %s: barrier\n", a, b);
        else
            bir_buf_printf(out, "  %s before %s: program order on %s\n", a, b, engine_of(to));
        break;
    case HAZARD_EDGE_ISSUE:
        bir_buf_printf(out, "  %s before %s: issued by it\n", a, s->to & 1 ? "its own completion" : b);
        break;
    case HAZARD_EDGE_QUEUE:
        bir_buf_printf(out, "  %s completes before %s: queue %s\n", a, b, h->chains.items[to->end_chain].name);
        break;
    case HAZARD_EDGE_WAIT:
        wait = h->waiters.items[s->waiter].wait;
        bir_buf_printf(out, "  %s completes before %s starts: wait for semaphore %lld >= %lld\n", a, b,
                       (long long)wait->semaphore, (long long)wait->value);
        break;
    }
}

/* One step back from a node, to one that the completion of exec still reaches. */
static bool step_back(const struct hazard_analysis *h, uint32_t exec, uint32_t node, struct step *step)
{
    struct hazard_edges edges = { .node = node };
    for (uint32_t from; (from = hazard_edges_next(h, &edges)) != HAZARD_NONE;) {
        *step = (struct step){ .from = from, .to = node, .kind = edges.kind, .waiter = edges.waiter };
        if (is_before(h, exec, from))
            return true;
    }
    return false;
}

/* Program order on one engine, and one queue, in a row make one step. */
static bool joins(const struct hazard_analysis *h, const struct step *later, const struct step *earlier)
{
    const struct hazard_exec *a = &h->execs.items[earlier->from / 2], *b = &h->execs.items[later->to / 2];
    if (later->kind != earlier->kind || later->from != earlier->to)
        return false;
    if (later->kind == HAZARD_EDGE_PROGRAM)
        return a->start_chain == b->start_chain && a->start_chain == h->execs.items[later->from / 2].start_chain;
    return later->kind == HAZARD_EDGE_QUEUE;
}

static enum bir_status write_steps(struct hazard_analysis *h, uint32_t earlier, uint32_t later)
{
    BIR_VEC(struct step) steps = { 0 };
    for (uint32_t node = hazard_start_node(later); node != hazard_end_node(h, earlier);) {
        struct step step;
        if (!step_back(h, earlier, node, &step))
            return BIR_INTERNAL; /* a clock that no edge explains */
        node = step.from;
        if (steps.count > 0 && joins(h, &steps.items[steps.count - 1], &step))
            steps.items[steps.count - 1].from = step.from;
        else if (!bir_vec_push(&h->scratch, &steps, step))
            return hazard_memory(h);
    }
    for (uint32_t i = steps.count; i-- > 0;)
        write_step(h, &steps.items[i], &h->explanation);
    return BIR_OK;
}

enum bir_status hazard_explain(struct hazard_analysis *h)
{
    uint32_t earlier, later;
    if (!h->options->explain_earlier || !h->options->explain_later || !find_executions(h, &earlier, &later))
        return BIR_OK;
    const char *a = hazard_name(h->execs.items[earlier].inst), *b = hazard_name(h->execs.items[later].inst);
    struct bir_buf *out = &h->explanation;
    if (earlier == later) {
        bir_buf_printf(out, "%s is one instruction: nothing to order\n", a);
        return BIR_OK;
    }
    bir_buf_printf(out, "in function %s:\n", h->function->name ? h->function->name->text : "");
    if (hazard_reaches(h, earlier, hazard_start_node(later))) {
        bir_buf_printf(out, "%s has finished before %s starts:\n", a, b);
        return write_steps(h, earlier, later);
    }
    struct bir_hazard_pair pair = { 0 };
    hazard_place_of(h, earlier, &pair.earlier);
    hazard_place_of(h, later, &pair.later);
    bir_buf_printf(out, "%s need not have finished when %s starts\n", a, b);
    if (hazard_reaches(h, later, hazard_start_node(earlier)))
        bir_buf_printf(out, "  the other way round: %s has finished before %s starts\n", b, a);
    BIR_TRY(hazard_advise(h, &pair));
    bir_buf_printf(out, "  %s\n", pair.missing);
    return BIR_OK;
}

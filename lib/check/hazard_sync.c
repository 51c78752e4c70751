/*
 * The sync_info of one execution, as far as counting goes. Anything that is not "add this number" or "wait for at least
 * this number" makes every count unknown (hazards.md 3.5): events, waits on registers, subtraction, setting, other
 * cores. A key that nobody has described is a reason for doubt only: it hides nothing that is found.
 */
#include "base/json_reader.h"
#include "check/hazard_internal.h"

static enum bir_status unknown_edges(struct hazard_analysis *h, const struct bir_instruction *inst, const char *what)
{
    if (!hazard_rule(h, HAZARD_RULE_MODES))
        return BIR_OK;
    h->edges_unknown = true;
    return hazard_reason(h, inst->source_offset, "%s %s: semaphore counts are unknown", hazard_name(inst), what);
}

/* Keys of a wait or update whose value may be something else than counting, and the value that is not. */
static const struct {
    const char *key, *plain, *what;
} modes[] = {
    { "type", "semaphore", "uses something else than a semaphore" },
    { "wait_mode", "sem-ge-imm", "waits for something else than a count" },
    { "wait_reg", "", "waits for a threshold in a register" },
    { "update_mode", "sem-add-imm", "updates a semaphore other than by adding" },
    { "target_core", "", "updates a semaphore of another core" },
};

static bool is_plain(const struct bir_prop *prop, const char *plain)
{
    if (prop->type == BIR_VALUE_TEXT)
        return bir_str_is(prop->u.s, plain) || prop->u.s->len == 0;
    if (prop->type == BIR_VALUE_INT)
        return *plain == '\0' && prop->u.i < 0; /* -1: none */
    return prop->type == BIR_VALUE_JSON && bir_str_is(prop->u.s, "null");
}

static enum bir_status look_at_props(struct hazard_analysis *h, const struct bir_instruction *inst,
                                     const struct bir_props *props)
{
    for (uint32_t i = 0; props && i < props->count; i++) {
        const struct bir_prop *prop = &props->items[i];
        size_t m = 0, n = sizeof modes / sizeof *modes;
        while (m < n && !bir_str_is(prop->key, modes[m].key))
            m++;
        if (m < n && !is_plain(prop, modes[m].plain))
            BIR_TRY(unknown_edges(h, inst, modes[m].what));
        if (m == n)
            BIR_TRY(hazard_reason(h, inst->source_offset,
                                  "sync_info of %s has the key \"%.60s\", whose meaning is not known",
                                  hazard_name(inst), prop->key->text));
    }
    return BIR_OK;
}

static bool is_semaphore(int64_t id)
{
    return id >= 0 && id < (int64_t)HAZARD_SEMAPHORES;
}

static enum bir_status read_wait(struct hazard_analysis *h, uint32_t exec, const struct bir_wait *wait)
{
    const struct bir_instruction *inst = h->execs.items[exec].inst;
    BIR_TRY(look_at_props(h, inst, wait->props));
    if (wait->value == BIR_SYNC_NO_VALUE)
        return unknown_edges(h, inst, "waits without a wait_value");
    if (!is_semaphore(wait->semaphore))
        return unknown_edges(h, inst, "waits for a semaphore that does not exist");
    struct hazard_waiter w = { .wait = wait, .exec = exec, .named = HAZARD_NONE, .update = HAZARD_NONE };
    return bir_vec_push(&h->scratch, &h->waiters, w) ? BIR_OK : hazard_memory(h);
}

static enum bir_status read_update(struct hazard_analysis *h, uint32_t exec, const struct bir_update *update)
{
    const struct hazard_exec *e = &h->execs.items[exec];
    BIR_TRY(look_at_props(h, e->inst, update->props));
    if (update->value == BIR_SYNC_NO_VALUE)
        return unknown_edges(h, e->inst, "updates without an update_value");
    if (update->value < 0)
        return unknown_edges(h, e->inst, "subtracts from a semaphore");
    if (!is_semaphore(update->semaphore))
        return unknown_edges(h, e->inst, "updates a semaphore that does not exist");
    struct hazard_update u = { .exec = exec,
                               .chain = e->end_chain,
                               .name = e->name,
                               .semaphore = (uint8_t)update->semaphore,
                               .value = update->value };
    if (update->value == 0)
        return BIR_OK; /* nothing can be seen of it */
    return bir_vec_push(&h->scratch, &h->raw_updates, u) ? BIR_OK : hazard_memory(h);
}

static enum bir_status add_reset(struct hazard_analysis *h, uint32_t exec, uint8_t id)
{
    struct hazard_reset reset = { .exec = exec, .semaphore = id };
    for (uint32_t i = h->raw_resets.count; i-- > 0 && h->raw_resets.items[i].exec == exec;)
        if (h->raw_resets.items[i].semaphore == id)
            return BIR_OK;
    h->execs.items[exec].resets = true;
    return bir_vec_push(&h->scratch, &h->raw_resets, reset) ? BIR_OK : hazard_memory(h);
}

static enum bir_status read_reset(struct hazard_analysis *h, uint32_t exec)
{
    const struct bir_instruction *inst = h->execs.items[exec].inst;
    const struct bir_prop *group = bir_props_find(inst->props, "sema_group");
    bool is_list = group && group->type == BIR_VALUE_JSON && group->u.s->len > 0 && group->u.s->text[0] == '[';
    if (!is_list) {
        if (!hazard_rule(h, HAZARD_RULE_GROUPLESS))
            return BIR_OK;
        h->edges_unknown = true;
        return hazard_reason(h, inst->source_offset,
                             "%s resets semaphores without saying which (no sema_group): later counts are unknown",
                             hazard_name(inst));
    }
    if (!hazard_rule(h, HAZARD_RULE_RESET))
        return BIR_OK;
    struct bir_json_reader r;
    bir_json_reader_init(&r, group->u.s->text, group->u.s->len, 4, &h->scratch, NULL);
    enum bir_status status = bir_json_array_begin(&r);
    while (status == BIR_OK && bir_json_array_next(&r)) {
        int64_t id = -1;
        status = bir_json_i64(&r, &id);
        if (status == BIR_OK && !is_semaphore(id))
            return unknown_edges(h, inst, "resets a semaphore that does not exist");
        if (status == BIR_OK)
            BIR_TRY(add_reset(h, exec, (uint8_t)id));
    }
    if (r.status == BIR_OK)
        return BIR_OK;
    return r.status == BIR_INVALID ? unknown_edges(h, inst, "has a sema_group that is not a list of numbers")
                                   : hazard_memory(h);
}

bool hazard_sync_updates(const struct bir_instruction *inst)
{
    const struct bir_sync *sync = inst->rare ? inst->rare->sync : NULL;
    for (uint32_t i = 0; sync && i < sync->updates.count; i++)
        if (sync->updates.items[i].value > 0)
            return true;
    return false;
}

enum bir_status hazard_sync_read(struct hazard_analysis *h, uint32_t exec)
{
    const struct bir_instruction *inst = h->execs.items[exec].inst;
    const struct bir_sync *sync = inst->rare ? inst->rare->sync : NULL;
    if (inst->opcode == BIR_OP_GROUP_RESET_SEMAPHORES)
        BIR_TRY(read_reset(h, exec));
    if (!sync)
        return BIR_OK;
    BIR_TRY(look_at_props(h, inst, sync->props));
    for (uint32_t i = 0; i < sync->waits.count; i++)
        BIR_TRY(read_wait(h, exec, &sync->waits.items[i]));
    for (uint32_t i = 0; i < sync->updates.count; i++)
        BIR_TRY(read_update(h, exec, &sync->updates.items[i]));
    return BIR_OK;
}

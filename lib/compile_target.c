/* Targets: the end of the text decides whether it names an operand, because a name may hold anything. */
#include "compile_target.h"

#include <string.h>

#include "base/near.h"

#define POSITION_DIGITS 6

/* The operand suffix of a name, split off when there is one. */
static void split_operand(struct bir_target *target)
{
    const char *last = strrchr(target->name, '/');
    size_t digits = last ? strlen(last + 1) : 0;
    if (digits == 0 || digits > POSITION_DIGITS || strspn(last + 1, "0123456789") != digits)
        return;
    size_t before = (size_t)(last - target->name);
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        const char *list = bir_role_name((enum bir_role)role);
        size_t n = strlen(list);
        if (before <= n || target->name[before - n - 1] != '/' || memcmp(last - n, list, n) != 0)
            continue;
        target->name_len = before - n - 1;
        target->role = role;
        for (const char *digit = last + 1; *digit; digit++)
            target->position = target->position * 10 + (uint32_t)(*digit - '0');
        return;
    }
}

struct bir_target bir_target_parse(const char *text)
{
    struct bir_target target = { .role = -1 };
    if (!text || !*text)
        return target;
    target.name = text;
    target.name_len = strlen(text);
    split_operand(&target);
    return target;
}

bool bir_target_is(const struct bir_target *target, const struct bir_instruction *inst)
{
    const struct bir_str *name = inst->name;
    if (target->name &&
        (!name || name->len != target->name_len || memcmp(name->text, target->name, target->name_len) != 0))
        return false;
    return target->role < 0 || bir_instruction_argument(inst, (enum bir_role)target->role, target->position);
}

/* The instructions of a region, and of the regions inside: names that are near, and how many operands those have that
 * bear the very name (SIZE_MAX: none does). */
static void look_around(const struct bir_target *target, struct bir_region *region, struct bir_near *near,
                        size_t *operands)
{
    struct bir_walk walk;
    bir_walk_init(&walk, region);
    for (const struct bir_instruction *inst; (inst = bir_walk_next(&walk));) {
        if (!inst->name)
            continue;
        bir_near_offer(near, inst->name->text, inst->name->len);
        if (inst->name->len != target->name_len || memcmp(inst->name->text, target->name, target->name_len) != 0)
            continue;
        size_t count = 0;
        while (target->role >= 0 && bir_instruction_argument(inst, (enum bir_role)target->role, (uint32_t)count))
            count++;
        *operands = *operands == SIZE_MAX || count > *operands ? count : *operands;
    }
}

enum bir_status bir_target_fail(const struct bir_target *target, const char *code, const struct bir_module *module,
                                bool in_queues, struct bir_diags *diags)
{
    struct bir_near near;
    size_t operands = SIZE_MAX;
    bir_near_init(&near, target->name, target->name_len);
    for (struct bir_function *f = module->functions; f; f = f->next)
        look_around(target, &f->body, &near, &operands);
    for (struct bir_function *f = module->nki_functions; f; f = f->next)
        look_around(target, &f->body, &near, &operands);
    for (struct bir_queue *queue = in_queues ? module->queues : NULL; queue; queue = queue->next)
        look_around(target, &queue->body, &near, &operands);
    if (operands != SIZE_MAX)
        return bir_fail(diags, code, BIR_NO_OFFSET, "operands are counted from 0",
                        "there is no %s: %.*s has %zu operand%s in %s", target->name, (int)target->name_len,
                        target->name, operands, operands == 1 ? "" : "s", bir_role_name((enum bir_role)target->role));
    const char *hint = bir_near_hint(&near, diags->arena, "name an instruction, or an operand as INSTRUCTION/ins/0");
    if (!hint)
        return bir_arena_failure(diags->arena);
    return bir_fail(diags, code, BIR_NO_OFFSET, hint, "nothing in the module is called %.*s", (int)target->name_len,
                    target->name);
}

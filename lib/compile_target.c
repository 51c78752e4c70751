/* Targets: the end of the text decides whether it names an operand, because a name may hold anything. */
#include "compile_target.h"

#include <string.h>

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

/*
 * A module may have any number of objects of one name (bir-json.md section 14), and what a pass makes for each of them
 * wants the same name. Trying the numbers from the start for each would take time quadratic in their count, so the last
 * number of a base is remembered: those below it are taken, because names are only ever added.
 */
#include "passes/free_name.h"

const struct bir_str *bir_free_name(struct bir_free_names *names, struct bir_strtab *strings, struct bir_arena *scratch,
                                    const struct bir_map *taken, const struct bir_str *base)
{
    if (!base || !bir_map_get(taken, base))
        return base;
    uintptr_t n = (uintptr_t)bir_map_get(&names->last, base);
    const struct bir_str *name = base;
    for (n = n ? n + 1 : 2; name; n++) {
        name = bir_intern_printf(strings, "%s-%zu", base->text, (size_t)n);
        if (name && !bir_map_get(taken, name))
            break;
    }
    return name && bir_map_put(&names->last, scratch, base, (void *)n) ? name : NULL;
}

/* Tables of hash-consed patterns, integer lists and property lists. Internal to lib/bir. */
#ifndef BIR_BIR_CONS_H
#define BIR_BIR_CONS_H

#include "bir/module.h"

struct bir_cons;

/* NULL when out of memory. */
struct bir_cons *bir_cons_new(struct bir_arena *arena) BIR_MUST_CHECK;

#endif

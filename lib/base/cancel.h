/* Cancel token: one thread sets it, the thread that compiles polls it. */
#ifndef BIR_BASE_CANCEL_H
#define BIR_BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

struct bir_cancel {
    atomic_bool set;
};

static inline void bir_cancel_set(struct bir_cancel *token)
{
    atomic_store_explicit(&token->set, true, memory_order_relaxed);
}

/* NULL never cancels. */
static inline bool bir_cancelled(struct bir_cancel *token)
{
    return token && atomic_load_explicit(&token->set, memory_order_relaxed);
}

#endif

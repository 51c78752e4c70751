/*
 * Outcome of every fallible libbir function.
 *
 * A function that returns anything but BIR_OK has left its out-parameters untouched. BIR_INVALID and BIR_LIMIT come
 * with at least one error diagnostic; the other failures have none, because their cause is not in the input.
 */
#ifndef BIR_BASE_STATUS_H
#define BIR_BASE_STATUS_H

enum bir_status {
    BIR_OK = 0,
    BIR_INVALID,   /* the input is wrong; diagnostics say where and why */
    BIR_LIMIT,     /* a configured limit was reached; a diagnostic names it */
    BIR_NOMEM,     /* the machine has no memory left */
    BIR_CANCELLED, /* the cancel token was set */
    BIR_INTERNAL,  /* a check of our own work failed; never the user's fault */
};

#define BIR_MUST_CHECK __attribute__((warn_unused_result))
#define BIR_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))

/* Returns the status to the caller when it is not BIR_OK. */
#define BIR_TRY(expr)                                                                                                  \
    do {                                                                                                               \
        enum bir_status bir_try_status_ = (expr);                                                                      \
        if (bir_try_status_ != BIR_OK)                                                                                 \
            return bir_try_status_;                                                                                    \
    } while (0)

#endif

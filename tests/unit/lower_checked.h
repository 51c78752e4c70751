/*
 * Lowering with its check, for tests: reads a module, runs the passes, records before the first address-lowering pass,
 * and validates before and after colouring, and after lower_branch.
 */
#ifndef TESTS_LOWER_CHECKED_H
#define TESTS_LOWER_CHECKED_H

#include "bir/json.h"
#include "check/validation.h"
#include "passes/pass.h"

struct lower_checked {
    struct bir_arena arena; /* diagnostics, the record */
    struct bir_diags diags;
    struct bir_module *module;
    struct bir_validation *validation;    /* NULL until recorded */
    struct bir_validation_stats symbolic; /* after address lowering */
    struct bir_validation_stats physical; /* after colouring */
    struct bir_validation_stats branched; /* after lower_branch */
    struct bir_pass_stats stats;
    enum bir_status status;
};

/* passes NULL: the default pipeline. mode is that of both validations. Always deinitialise. */
void lower_checked_run(struct lower_checked *l, const char *text, size_t len, const char *passes,
                       unsigned registers_per_engine, enum bir_validation_mode mode, uint64_t seed);
void lower_checked_deinit(struct lower_checked *l);
/* The first error's text, or "no error". */
const char *lower_checked_error(const struct lower_checked *l);

#endif

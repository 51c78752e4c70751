/*
 * Lowerings that a person derived from lowering.md (tests/vectors/check/NAME.lowered.json), put into the module they
 * belong to.
 *
 * A vector names a module and holds a register program in a small notation: ["mult", out, in, immediate or register],
 * ["move", out, immediate], ["pointer", low, high], ["entry", out, low, high],
 * ["add64", out low, out high, a low, a high, b low, b high]. A mutant is an object with the keys that it changes.
 */
#ifndef TESTS_HAND_LOWERED_H
#define TESTS_HAND_LOWERED_H

#include <jansson.h>

#include "lower_checked.h"

struct hand {
    json_t *vector;
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module;
    struct bir_function *function;
    struct bir_instruction *consumer;
    struct bir_validation *validation;
    struct bir_set *table;
    struct bir_location *pointer;
    int n_code;
};

/* The text of tests/vectors/AREA/NAME; the caller frees it. */
char *hand_read_vector(const char *area, const char *name, size_t *len);
/* The vector of that name; the caller drops the reference. */
json_t *hand_load_vector(const char *name);
/* Its module with the program in front of the consumer, and the operand lowered; mutant may be NULL. */
void hand_init(struct hand *h, json_t *vector, const json_t *mutant);
void hand_deinit(struct hand *h);
/* Validates it as it stands. */
enum bir_status hand_run(struct hand *h, enum bir_validation_mode mode, struct bir_validation_stats *stats);
const struct bir_str *hand_name(struct hand *h, const char *text);
/* Fails when there is none. */
struct bir_instruction *hand_find_instruction(struct bir_function *function, const char *name);
/* The addresses of lowering.md section 15, computed by the code in front of the vector's instruction. */
void hand_check_addresses(const json_t *vector, struct bir_function *function);

#endif

/* Literals of immediates: how a value of each dtype stands in JSON and in 64 bits (lowering.md 1.7). */
#ifndef BIR_BIR_IMMEDIATE_H
#define BIR_BIR_IMMEDIATE_H

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "bir/enums.h"

/* Reads one literal of an immediate dtype. Integers outside the dtype's range are errors; an integral float for an
 * integer dtype is accepted unless strict. */
enum bir_status bir_immediate_read(struct bir_json_reader *r, uint8_t dtype, bool strict,
                                   uint64_t *bits) BIR_MUST_CHECK;

/* Writes what bir_immediate_read read. */
void bir_immediate_write(struct bir_json_writer *w, uint8_t dtype, uint64_t bits);

/* The value as an operand of the dtype holds it (module.h, struct bir_imm_value): cut to the width, then extended. */
uint64_t bir_immediate_bits(uint8_t dtype, int64_t value);

#endif

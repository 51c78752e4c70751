/* Primitive values, with their faults. Each moves r->pos behind the value; slot is NULL to check it alone. Private to
 * lib/klr. */
#ifndef KLR_PRIMITIVE_H
#define KLR_PRIMITIVE_H

#include "klr/reader.h"

enum bir_status klr_read_nat(struct klr_reader *r, union klr_slot *slot) BIR_MUST_CHECK;
/* Int and Int32: an integer whose magnitude (value, or -1 - number) is at most max. */
enum bir_status klr_read_integer(struct klr_reader *r, enum klr_type type, uint64_t max,
                                 union klr_slot *slot) BIR_MUST_CHECK;
enum bir_status klr_read_float32(struct klr_reader *r, union klr_slot *slot) BIR_MUST_CHECK;
enum bir_status klr_read_bool(struct klr_reader *r, union klr_slot *slot) BIR_MUST_CHECK;
enum bir_status klr_read_string(struct klr_reader *r, union klr_slot *slot) BIR_MUST_CHECK;
/* A proof field: nothing in one dialect, an empty list in the other. */
enum bir_status klr_read_proof(struct klr_reader *r) BIR_MUST_CHECK;

#endif

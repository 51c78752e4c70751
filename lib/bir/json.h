/* BIR-JSON in and out (bir-json.md). */
#ifndef BIR_BIR_JSON_H
#define BIR_BIR_JSON_H

#include "base/buf.h"
#include "base/cancel.h"
#include "bir/module.h"

struct bir_read_options {
    bool strict;               /* unknown keys, opcodes, enum texts, duplicate names are errors */
    bool unknown_operands;     /* unless strict: an operand on a location or set that does not exist stays without one
                                  (BIR_ARGF_UNRESOLVED), for analyses that can live with that */
    uint32_t max_depth;        /* JSON nesting, 0 = BIR_JSON_DEPTH_DEFAULT */
    uint64_t max_instructions; /* 0 = no bound */
    size_t max_arena_bytes;    /* of the module, and again of what reading it takes; 0 = no bound */
    struct bir_cancel *cancel; /* or NULL */
};
#define BIR_JSON_DEPTH_DEFAULT 512

/* Reads a module (or a {"module": ...} wrapper) from text, which is borrowed for the call only. On success *module is the caller's to free. Every
 * name is resolved; unresolved ones are errors by the table of bir-json.md section 14 (lenient: see there). */
enum bir_status bir_module_read_json(const char *text, size_t len, const struct bir_read_options *options,
                                     struct bir_diags *diags, struct bir_module **module) BIR_MUST_CHECK;

struct bir_write_options {
    uint32_t indent; /* 0 = compact */
    struct bir_cancel *cancel;
};

/* Canonical form of bir-json.md section 15. BIR_OK, BIR_LIMIT or BIR_NOMEM (from buf), BIR_CANCELLED. */
enum bir_status bir_module_write_json(const struct bir_module *module, const struct bir_write_options *options,
                                      struct bir_buf *buf) BIR_MUST_CHECK;

/* Faithful form: presence and order of keys, unknown keys and every value as the input spells them, only laid out anew. text is one that
 * bir_module_read_json has accepted and whose module has not been changed; no model keeps spellings, so none is needed. Results
 * as above. */
enum bir_status bir_json_write_faithful(const char *text, size_t len, const struct bir_write_options *options,
                                        struct bir_buf *buf) BIR_MUST_CHECK;

#endif

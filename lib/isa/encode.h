/*
 * A module's operands as descriptors and its known instructions as 64-byte words, written out.
 *
 * Output formats:
 *  - JSON:
 * {"arch":"gen3","functions":[{"name":F,"instructions":[{"name":I,"opcode":O,"engine":E,"operands":[{"list":"ins",
 *    "index":0,"slot":"TENSOR3D","bytes":"hex"}],"word":"hex"}]}]}. Instructions are in program order, nested bodies in
 * place after their owner; operands in the order ins, indirection_ins, outs. An operand without on-chip bytes has
 * "bytes":null and "reason"; "word" is absent, with "word_reason", when no layout is known. A word has 64 bytes (128
 * digits); an instruction that takes several (Matmult: LoadStationary, then Matmult) has them one after the other.
 * "unknown" lists fields of the word that no source determines; they are zero.
 *  - text: for people.
 *  - binary: see isa/encode_bin.c.
 */
#ifndef BIR_ISA_ENCODE_H
#define BIR_ISA_ENCODE_H

#include "base/buf.h"
#include "base/cancel.h"
#include "bir/module.h"

enum isa_format { ISA_FORMAT_JSON, ISA_FORMAT_TEXT, ISA_FORMAT_BIN };

struct isa_encode_options {
    enum bir_arch arch; /* BIR_ARCH_NONE: the module's */
    enum isa_format format;
    bool keep_going;           /* list refused operands instead of failing; they are reported as warnings */
    uint32_t indent;           /* JSON: spaces per level, 0 = compact */
    struct bir_cancel *cancel; /* or NULL; polled every 1,024 instructions */
};

/* Appends to out, whose bytes after the call are unspecified unless BIR_OK. BIR_INVALID: an operand was refused (every
 * refused one is reported, up to the limit of diags) or the architecture has no encoder. BIR_CANCELLED, BIR_LIMIT,
 * BIR_NOMEM. */
enum bir_status isa_encode_module(const struct bir_module *module, const struct isa_encode_options *options,
                                  struct bir_diags *diags, struct bir_buf *out) BIR_MUST_CHECK;

#endif

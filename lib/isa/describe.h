/* Descriptors in words, for people: the text output of encode and decode. */
#ifndef BIR_ISA_DESCRIBE_H
#define BIR_ISA_DESCRIBE_H

#include "base/buf.h"
#include "isa/descriptor.h"
#include "isa/operand.h"

/* "SBUF partition 32 byte 0x200", "register 17", "0x2400000 in no memory". */
void isa_describe_address(struct bir_buf *buf, uint32_t word);
/* One line without newline: "SBUF partition 32 byte 0x200; X 64 step 1, Y 8 step 64, Z 4 step 512". */
void isa_describe_descriptor(struct bir_buf *buf, const struct isa_descriptor *descriptor);
/* The operand as an access: "sb[p32+32, 0x200] 4x8x64 step 512,64,1 bf16". */
void isa_describe_operand(struct bir_buf *buf, const struct isa_operand *operand);

#endif

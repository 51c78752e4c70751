/*
 * Binary output of encode. Little-endian, packed, no padding:
 *
 *   file         "RISA", version u16 = 1, arch level u16 (20, 30, 40), records
 *   record       kind u8, then by kind
 *   function 1   name length u32, name bytes
 *   instruction 2  opcode ordinal u16 (0xFFFF unknown), engine ordinal u8 (0xFF unknown), words u8, operands u16
 * (saturating at 65535), record length u32 (bytes after this field), operands, words of 64 bytes operand      list u8
 * (0 ins, 1 indirection_ins, 2 outs), slot u8, size u8 (0: none), size bytes end 0        instruction count u64
 *
 * Slot numbers are those of enum isa_slot: ADDR4 1, TENSOR1D..4D 2..5, MEM_PATTERN2D..4D 6..8,
 * INDIRECT12B/16B/20B 9..11, MXMEM_PATTERN1D 12, MXINDIRECT16B 13, ADDR8 14. Every operand of a list has a record, so
 * its index is its position.
 */
#include "isa/writer.h"

#include <string.h>

enum { RECORD_END, RECORD_FUNCTION, RECORD_INSTRUCTION };
enum { AT_WORDS = 4, AT_OPERANDS = 5, AT_LENGTH = 7, HEADER_BYTES = 11 };

static void put_le(struct bir_buf *buf, unsigned width, uint64_t value)
{
    uint8_t bytes[8];
    isa_store_le(bytes, width, value);
    bir_buf_put(buf, bytes, width);
}

static void begin(struct isa_writer *w, const struct bir_module *module)
{
    (void)module;
    bir_buf_put(w->buf, "RISA", 4);
    put_le(w->buf, 2, 1);
    put_le(w->buf, 2, (uint64_t)w->arch);
}

static void function(struct isa_writer *w, const struct bir_function *f)
{
    uint32_t len = f->name ? f->name->len : 0;
    bir_buf_putc(w->buf, RECORD_FUNCTION);
    put_le(w->buf, 4, len);
    if (len)
        bir_buf_put(w->buf, f->name->text, len);
}

static void instruction(struct isa_writer *w, const struct bir_instruction *inst)
{
    uint8_t header[HEADER_BYTES] = { RECORD_INSTRUCTION };
    isa_store_le(header + 1, 2, inst->opcode);
    header[3] = inst->engine;
    w->record_at = w->buf->len;
    bir_buf_put(w->buf, header, sizeof header);
}

static void operand(struct isa_writer *w, const struct isa_operand *o, const char *message)
{
    (void)message;
    uint8_t record[3 + ISA_MAX_DESCRIPTOR_BYTES] = { o->argument->role, (uint8_t)o->slot, o->size_bytes };
    memcpy(record + 3, o->bytes, sizeof o->bytes);
    bir_buf_put(w->buf, record, 3u + o->size_bytes);
    if (w->buf->status != BIR_OK)
        return;
    uint8_t *count = (uint8_t *)w->buf->data + w->record_at + AT_OPERANDS;
    uint64_t n = isa_load_le(count, 2);
    isa_store_le(count, 2, n < UINT16_MAX ? n + 1 : n);
}

static void words(struct isa_writer *w, const struct bir_instruction *inst, const struct isa_words *words)
{
    (void)inst;
    bir_buf_put(w->buf, words->bytes, (size_t)words->count * ISA_WORD_BYTES);
    if (w->buf->status == BIR_OK)
        w->buf->data[w->record_at + AT_WORDS] = (char)words->count;
}

static void instruction_end(struct isa_writer *w)
{
    if (w->buf->status == BIR_OK)
        isa_store_le((uint8_t *)w->buf->data + w->record_at + AT_LENGTH, 4, w->buf->len - w->record_at - HEADER_BYTES);
}

static void nothing(struct isa_writer *w)
{
    (void)w;
}

static void end(struct isa_writer *w)
{
    bir_buf_putc(w->buf, RECORD_END);
    put_le(w->buf, 8, w->totals->instructions);
}

const struct isa_writer_class isa_bin_writer = { begin, function,        instruction, operand,
                                                 words, instruction_end, nothing,     end };

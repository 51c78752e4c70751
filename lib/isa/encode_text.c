/* Text output of encode: one instruction a paragraph, one operand two lines (the access, then its bytes and what they
 * say). */
#include "isa/describe.h"
#include "isa/writer.h"

#include <inttypes.h>

static void begin(struct isa_writer *w, const struct bir_module *module)
{
    (void)module;
    bir_buf_printf(w->buf, "arch %s (%s)\n", bir_arch_name(w->arch), isa_generation_name(w->generation));
}

static void function(struct isa_writer *w, const struct bir_function *f)
{
    bir_buf_printf(w->buf, "\nfunction %s\n", f->name ? f->name->text : "");
}

static void instruction(struct isa_writer *w, const struct bir_instruction *inst)
{
    bir_buf_printf(w->buf, "\n%s  %s  %s\n", inst->name ? inst->name->text : "(no name)", isa_instruction_opcode(inst),
                   isa_instruction_engine(inst));
}

static const char *list_name(uint8_t role)
{
    return role == BIR_ROLE_IN ? "in" : role == BIR_ROLE_OUT ? "out" : "index";
}

static void operand(struct isa_writer *w, const struct isa_operand *o, const char *message)
{
    bir_buf_printf(w->buf, "  %-5s %" PRIu32 "  ", list_name(o->argument->role), o->position);
    isa_describe_operand(w->buf, o);
    bir_buf_puts(w->buf, "\n           ");
    if (o->outcome == ISA_ENCODED) {
        bir_buf_printf(w->buf, "%s ", isa_slot_info_of(o->descriptor.slot)->name);
        bir_buf_put_hex(w->buf, o->bytes, o->size_bytes);
        bir_buf_puts(w->buf, "  ");
        isa_describe_descriptor(w->buf, &o->descriptor);
    } else {
        bir_buf_printf(w->buf, "%s: %s", o->outcome == ISA_REFUSED ? "refused" : "no bytes",
                       message ? message : o->reason);
    }
    bir_buf_putc(w->buf, '\n');
}

static void words(struct isa_writer *w, const struct bir_instruction *inst, const struct isa_words *words)
{
    (void)inst;
    if (words->count == 0)
        bir_buf_printf(w->buf, "  word     none: %s\n", words->reason);
    for (uint32_t i = 0; i < words->count * (ISA_WORD_BYTES / 16); i++) {
        bir_buf_puts(w->buf, i == 0 ? "  word     " : i % 4 == 0 ? "  then     " : "           ");
        bir_buf_put_hex(w->buf, words->bytes + (size_t)16 * i, 16);
        bir_buf_putc(w->buf, '\n');
    }
    for (uint32_t i = 0; i < words->n_unknown; i++)
        bir_buf_printf(w->buf, "%s%s", i ? ", " : "  zero because no source says: ", words->unknown[i]);
    if (words->n_unknown)
        bir_buf_putc(w->buf, '\n');
}

static void nothing(struct isa_writer *w)
{
    (void)w;
}

static void end(struct isa_writer *w)
{
    const struct isa_totals *totals = w->totals;
    bir_buf_printf(w->buf, "\n%" PRIu64 " instructions, %" PRIu64 " operands encoded, %" PRIu64 " without bytes",
                   totals->instructions, totals->encoded, totals->without);
    if (totals->refused)
        bir_buf_printf(w->buf, " (%" PRIu64 " refused)", totals->refused);
    bir_buf_printf(w->buf, ", %" PRIu64 " words encoded", totals->words);
    const char *separator = "; without a known word: ";
    for (unsigned i = 0; i < BIR_OP_LEGACY_FIRST; i++) {
        if (totals->unknown_words[i] == 0)
            continue;
        const char *name = i < BIR_OP_LEGACY_FIRST - 1 ? bir_opcode_name((uint16_t)i) : "other";
        bir_buf_printf(w->buf, "%s%s %" PRIu64, separator, name, totals->unknown_words[i]);
        separator = ", ";
    }
    bir_buf_putc(w->buf, '\n');
}

const struct isa_writer_class isa_text_writer = { begin, function, instruction, operand, words, nothing, nothing, end };

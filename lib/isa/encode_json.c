/* JSON output of encode: the layout is in encode.h. */
#include "isa/writer.h"

#include <string.h>

static void put_str(struct bir_json_writer *json, const char *key, const char *text)
{
    bir_json_put_key(json, key);
    bir_json_put_cstr(json, text);
}

static void put_name(struct bir_json_writer *json, const struct bir_str *name)
{
    bir_json_put_key(json, "name");
    bir_json_put_string(json, name ? name->text : "", name ? name->len : 0);
}

static void put_hex(struct bir_json_writer *json, const char *key, const uint8_t *bytes, size_t n)
{
    char hex[2 * ISA_MAX_WORDS * ISA_WORD_BYTES];
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    bir_json_put_key(json, key);
    bir_json_put_string(json, hex, 2 * n);
}

static void begin(struct isa_writer *w, const struct bir_module *module)
{
    (void)module;
    bir_json_put_object_begin(&w->json);
    put_str(&w->json, "arch", bir_arch_name(w->arch));
    bir_json_put_key(&w->json, "functions");
    bir_json_put_array_begin(&w->json);
}

static void function(struct isa_writer *w, const struct bir_function *f)
{
    bir_json_put_object_begin(&w->json);
    put_name(&w->json, f->name);
    bir_json_put_key(&w->json, "instructions");
    bir_json_put_array_begin(&w->json);
}

static void instruction(struct isa_writer *w, const struct bir_instruction *inst)
{
    bir_json_put_object_begin(&w->json);
    put_name(&w->json, inst->name);
    put_str(&w->json, "opcode", isa_instruction_opcode(inst));
    put_str(&w->json, "engine", isa_instruction_engine(inst));
    bir_json_put_key(&w->json, "operands");
    bir_json_put_array_begin(&w->json);
}

static void operand(struct isa_writer *w, const struct isa_operand *o, const char *message)
{
    bir_json_put_object_begin(&w->json);
    put_str(&w->json, "list", isa_role_name((enum bir_role)o->argument->role));
    bir_json_put_key(&w->json, "index");
    bir_json_put_u64(&w->json, o->position);
    if (o->slot != ISA_SLOT_NONE)
        put_str(&w->json, "slot", isa_slot_info_of(o->slot)->name);
    if (o->outcome == ISA_ENCODED) {
        put_hex(&w->json, "bytes", o->bytes, o->size_bytes);
    } else {
        bir_json_put_key(&w->json, "bytes");
        bir_json_put_null(&w->json);
        put_str(&w->json, "reason", message ? message : o->reason);
    }
    bir_json_put_object_end(&w->json);
}

static void words(struct isa_writer *w, const struct bir_instruction *inst, const struct isa_words *words)
{
    (void)inst;
    bir_json_put_array_end(&w->json); /* operands */
    if (words->count == 0) {
        put_str(&w->json, "word_reason", words->reason);
        return;
    }
    put_hex(&w->json, "word", words->bytes, (size_t)words->count * ISA_WORD_BYTES);
    if (words->n_unknown == 0)
        return;
    bir_json_put_key(&w->json, "unknown");
    bir_json_put_array_begin(&w->json);
    for (uint32_t i = 0; i < words->n_unknown; i++)
        bir_json_put_cstr(&w->json, words->unknown[i]);
    bir_json_put_array_end(&w->json);
}

static void instruction_end(struct isa_writer *w)
{
    bir_json_put_object_end(&w->json);
}

static void function_end(struct isa_writer *w)
{
    bir_json_put_array_end(&w->json);
    bir_json_put_object_end(&w->json);
}

static void end(struct isa_writer *w)
{
    bir_json_put_array_end(&w->json);
    bir_json_put_object_end(&w->json);
}

const struct isa_writer_class isa_json_writer = { begin, function,        instruction,  operand,
                                                  words, instruction_end, function_end, end };

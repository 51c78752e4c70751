/*
 * One walk over the program for every format. An instruction's operands are encoded and handed to the writer one by
 * one, so an instruction may have any number of them; the first few of each list are kept for the word and the rules
 * that compare operands. Nothing is allocated: the output buffer grows, all else is on the stack.
 *
 * A refusal is a diagnostic, not an end: the walk goes on so that a single run reports every refused operand.
 */
#include "isa/encode.h"

#include "isa/instruction.h"
#include "isa/writer.h"

enum { CANCEL_INTERVAL = 1024 }; /* instructions */

struct encoder {
    const struct isa_encode_options *options;
    struct bir_diags *diags;
    struct isa_writer writer;
    const struct isa_writer_class *class;
    struct isa_totals totals;
    struct isa_operands operands;
    enum isa_generation generation;
};

const char *isa_role_name(enum bir_role role)
{
    static const char *const names[BIR_ROLE_COUNT] = { "ins", "indirection_ins", "outs" };
    return role < BIR_ROLE_COUNT ? names[role] : "?";
}

const char *isa_instruction_opcode(const struct bir_instruction *inst)
{
    const struct bir_instruction_texts *texts = inst->rare ? inst->rare->texts : NULL;
    return inst->opcode == BIR_OP_UNKNOWN && texts && texts->opcode ? texts->opcode->text
                                                                    : bir_opcode_name(inst->opcode);
}

const char *isa_instruction_engine(const struct bir_instruction *inst)
{
    const struct bir_instruction_texts *texts = inst->rare ? inst->rare->texts : NULL;
    return inst->engine == BIR_ENUM_UNKNOWN && texts && texts->engine ? texts->engine->text
                                                                      : bir_engine_name(inst->engine);
}

static int64_t source_offset(uint32_t offset)
{
    return offset == BIR_NO_SOURCE ? BIR_NO_OFFSET : (int64_t)offset;
}

static void report(struct encoder *e, const struct isa_operand *operand, const struct isa_problem *problem)
{
    const struct isa_rule_info *info = isa_rule_info_of(problem->rule);
    const struct bir_instruction *inst = bir_argument_parent(operand->argument);
    struct bir_diag *diag =
        bir_diag_add(e->diags, e->options->keep_going ? BIR_WARNING : BIR_ERROR, info->code,
                     source_offset(operand->argument->source_offset), "%s %s, %s[%u]: %s", isa_instruction_opcode(inst),
                     inst->name ? inst->name->text : "", isa_role_name((enum bir_role)operand->argument->role),
                     operand->position, problem->message);
    diag->hint = info->hint;
    e->totals.refused++;
}

static void warn(struct encoder *e, const struct isa_operand *operand)
{
    const struct bir_instruction *inst = bir_argument_parent(operand->argument);
    bir_diag_add(e->diags, BIR_WARNING, "isa-register-high", source_offset(operand->argument->source_offset),
                 "%s %s, %s[%u]: %s", isa_instruction_opcode(inst), inst->name ? inst->name->text : "",
                 isa_role_name((enum bir_role)operand->argument->role), operand->position, operand->warning);
}

static void count_operand(struct encoder *e, const struct isa_operand *operand)
{
    if (operand->outcome == ISA_ENCODED)
        e->totals.encoded++;
    else
        e->totals.without++;
}

/* Gives false when an operand was refused. */
static bool encode_list(struct encoder *e, const struct bir_instruction *inst, enum bir_role role)
{
    struct isa_problem problem;
    struct isa_operand spare;
    uint32_t position = 0;
    bool sound = true;
    BIR_EACH_ARGUMENT (argument, inst, role) {
        struct isa_operand *operand = position < ISA_WORD_OPERANDS ? &e->operands.items[role][position] : &spare;
        bool refused = isa_operand_encode(argument, position, e->generation, operand, &problem) == ISA_REFUSED;
        if (refused)
            report(e, operand, &problem);
        if (operand->warning)
            warn(e, operand);
        count_operand(e, operand);
        e->class->operand(&e->writer, operand, refused ? problem.message : NULL);
        sound = sound && !refused;
        position++;
    }
    e->operands.count[role] = position;
    return sound;
}

static void encode_words(struct encoder *e, const struct bir_instruction *inst, bool sound)
{
    struct isa_words words;
    struct isa_problem problem;
    const struct isa_operand *culprit = NULL;
    if (sound && !isa_check_instruction(&e->operands, &culprit, &problem)) {
        report(e, culprit, &problem);
        sound = false;
    }
    if (sound) {
        isa_words_build(&e->operands, e->generation, &words);
    } else {
        words.count = words.n_unknown = 0;
        words.needs_none = false;
        words.reason = "an operand was refused";
    }
    e->totals.words += words.count;
    if (words.count == 0 && !words.needs_none)
        e->totals.unknown_words[inst->opcode < BIR_OP_LEGACY_FIRST ? inst->opcode : BIR_OP_LEGACY_FIRST - 1]++;
    e->class->words(&e->writer, inst, &words);
}

static enum bir_status encode_instruction(struct encoder *e, const struct bir_instruction *inst)
{
    if (e->totals.instructions++ % CANCEL_INTERVAL == 0 && bir_cancelled(e->options->cancel))
        return BIR_CANCELLED;
    e->operands.inst = inst;
    e->class->instruction(&e->writer, inst);
    bool sound = true;
    for (int role = 0; role < BIR_ROLE_COUNT; role++)
        sound = encode_list(e, inst, (enum bir_role)role) && sound;
    encode_words(e, inst, sound);
    e->class->instruction_end(&e->writer);
    return e->writer.buf->status;
}

static enum bir_status encode_functions(struct encoder *e, struct bir_function *first)
{
    for (struct bir_function *function = first; function; function = function->next) {
        struct bir_walk walk;
        const struct bir_instruction *inst;
        e->class->function(&e->writer, function);
        bir_walk_init(&walk, &function->body);
        while ((inst = bir_walk_next(&walk)) != NULL)
            BIR_TRY(encode_instruction(e, inst));
        e->class->function_end(&e->writer);
    }
    return BIR_OK;
}

enum bir_status isa_encode_module(const struct bir_module *module, const struct isa_encode_options *options,
                                  struct bir_diags *diags, struct bir_buf *out)
{
    static const struct isa_writer_class *const classes[] = {
        [ISA_FORMAT_JSON] = &isa_json_writer, [ISA_FORMAT_TEXT] = &isa_text_writer, [ISA_FORMAT_BIN] = &isa_bin_writer
    };
    struct encoder e = { .options = options, .diags = diags };
    enum bir_arch arch = options->arch != BIR_ARCH_NONE ? options->arch : module->arch;
    if (!isa_generation_of(arch, &e.generation)) {
        const char *name = arch != BIR_ARCH_NONE ? bir_arch_name(arch)
                           : module->arch_text   ? module->arch_text->text
                                                 : "none";
        return bir_fail(diags, "isa-unsupported-arch", BIR_NO_OFFSET, "Use --arch sunda, gen3 or core_v4.",
                        "no encoder for architecture %s", name);
    }
    e.class = classes[options->format];
    e.writer = (struct isa_writer){ .buf = out, .generation = e.generation, .arch = arch, .totals = &e.totals };
    bir_json_writer_init(&e.writer.json, out, options->indent);
    e.class->begin(&e.writer, module);
    BIR_TRY(encode_functions(&e, module->functions));
    BIR_TRY(encode_functions(&e, module->nki_functions));
    e.class->end(&e.writer);
    if (e.totals.refused && !options->keep_going)
        return BIR_INVALID;
    return diags->failed ? BIR_NOMEM : out->status;
}

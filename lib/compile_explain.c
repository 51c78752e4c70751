/*
 * The method explain: isa/explain.h derives bytes from an operand; here the operand is found by name, and a register
 * operand gets the program that computes its address, read off the register code that stands directly before its
 * instruction.
 */
#include "compile_explain.h"

#include "base/json_writer.h"
#include "compile_target.h"
#include "isa/explain.h"

struct explanation {
    enum isa_generation generation;
    struct bir_target target;
};

/* --- register programs --- */

static void put_operand(struct bir_buf *out, const struct bir_argument *arg)
{
    switch (arg->kind) {
    case BIR_ARG_REGISTER_ACCESS: bir_buf_puts(out, arg->location ? arg->location->name->text : "?"); break;
    case BIR_ARG_IMM_VALUE: bir_buf_put_i64(out, (int64_t)((const struct bir_imm_value *)arg)->bits); break;
    case BIR_ARG_REGISTER_AP: {
        const struct bir_register_ap *ap = (const struct bir_register_ap *)arg;
        bir_buf_printf(out, "[%s at the address in %s]", arg->location ? arg->location->name->text : "?",
                       ap->address ? ap->address->base.name->text : "?");
        break;
    }
    case BIR_ARG_PHYSICAL_AP:
        bir_buf_printf(out, "[%s + %lld]", arg->location ? arg->location->name->text : "?",
                       (long long)((const struct bir_physical_ap *)arg)->offset_elems);
        break;
    default: bir_buf_puts(out, "?"); break;
    }
}

static void put_list(struct bir_buf *out, const struct bir_instruction *inst, enum bir_role role)
{
    bool first = true;
    BIR_EACH_ARGUMENT (arg, inst, role) {
        if (!first)
            bir_buf_puts(out, ", ");
        first = false;
        put_operand(out, arg);
    }
}

static void put_step(struct bir_buf *out, const struct bir_instruction *inst)
{
    const struct bir_prop *op = bir_props_find(inst->props, "op");
    bir_buf_puts(out, "      ");
    put_list(out, inst, BIR_ROLE_OUT);
    bir_buf_printf(out, " := %s ",
                   op && op->type == BIR_VALUE_TEXT     ? op->u.s->text
                   : inst->opcode == BIR_OP_TENSOR_LOAD ? "load"
                                                        : "move");
    put_list(out, inst, BIR_ROLE_IN);
    bir_buf_putc(out, '\n');
}

static bool is_register_code(const struct bir_instruction *inst)
{
    return bir_opcode_flags(inst->opcode) & BIR_OPF_REGISTER;
}

/* Emitted code has the place in the source of the instruction it was emitted for. */
static bool is_emitted_for(const struct bir_instruction *inst, const struct bir_instruction *consumer)
{
    return is_register_code(inst) && inst->source_offset == consumer->source_offset;
}

/* Copies that split_engines made of one register instruction share a place as well, but no consumer ends them. */
static bool is_emitted(const struct bir_instruction *inst)
{
    const struct bir_instruction *next = inst;
    while (next && is_emitted_for(next, inst))
        next = next->next;
    return next && next != inst && next->source_offset == inst->source_offset;
}

static bool reads_registers(const struct bir_instruction *inst)
{
    for (int role = 0; role < BIR_ROLE_COUNT; role++)
        BIR_EACH_ARGUMENT (arg, inst, role)
            if (arg->kind == BIR_ARG_REGISTER_AP)
                return true;
    return false;
}

/* Emitted code stands directly before its consumer (design: lowered modules). */
static void put_program(struct bir_buf *out, const struct bir_instruction *inst)
{
    const struct bir_instruction *first = inst;
    while (first->prev && is_emitted_for(bir_instruction_prev(first), inst))
        first = bir_instruction_prev(first);
    if (first == inst || !reads_registers(inst))
        return;
    bir_buf_puts(out, "    addresses in registers are computed by\n");
    for (; first != inst; first = first->next)
        put_step(out, first);
}

/* --- targets --- */

static void explain_instruction(struct bir_buf *out, const struct bir_instruction *inst, const struct explanation *what)
{
    if (what->target.role < 0) {
        isa_explain_instruction(out, inst, what->generation);
    } else {
        const struct bir_argument *arg =
            bir_instruction_argument(inst, (enum bir_role)what->target.role, what->target.position);
        isa_explain_operand(out, arg, what->target.position, what->generation);
    }
    put_program(out, inst);
}

static bool is_target(const struct bir_instruction *inst, const struct explanation *what)
{
    return what->target.name ? bir_target_is(&what->target, inst) : !is_emitted(inst);
}

static uint64_t explain_function(struct bir_function *function, const struct explanation *what,
                                 struct bir_json_writer *json, struct bir_buf *out)
{
    uint64_t found = 0;
    struct bir_walk walk;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));) {
        if (!is_target(inst, what))
            continue;
        found++;
        if (!json) {
            explain_instruction(out, inst, what);
            continue;
        }
        struct bir_buf text;
        bir_buf_init(&text, 0);
        explain_instruction(&text, inst, what);
        bir_json_put_object_begin(json);
        bir_json_put_key(json, "instruction");
        bir_json_put_string(json, inst->name ? inst->name->text : "", inst->name ? inst->name->len : 0);
        bir_json_put_key(json, "text");
        bir_json_put_string(json, text.data ? text.data : "", text.len);
        bir_json_put_object_end(json);
        if (text.status != BIR_OK)
            out->status = text.status;
        bir_buf_deinit(&text);
    }
    return found;
}

enum bir_status bir_explain(const struct bir_module *module, const char *target, bool json, uint32_t indent,
                            struct bir_diags *diags, struct bir_buf *out)
{
    struct explanation what = { .target = bir_target_parse(target) };
    if (!isa_generation_of(module->arch, &what.generation))
        return bir_fail(diags, "explain-arch", BIR_NO_OFFSET, "give a target generation with the option arch",
                        "no descriptors are known for architecture %s",
                        module->arch != BIR_ARCH_NONE ? bir_arch_name(module->arch)
                        : module->arch_text           ? module->arch_text->text
                                                      : "none");
    struct bir_json_writer w;
    uint64_t found = 0;
    if (json) {
        bir_json_writer_init(&w, out, indent);
        bir_json_put_object_begin(&w);
        bir_json_put_key(&w, "explanations");
        bir_json_put_array_begin(&w);
    }
    for (struct bir_function *f = module->functions; f; f = f->next)
        found += explain_function(f, &what, json ? &w : NULL, out);
    for (struct bir_function *f = module->nki_functions; f; f = f->next)
        found += explain_function(f, &what, json ? &w : NULL, out);
    if (target && found == 0)
        return bir_target_fail(&what.target, "explain-no-target", module, false, diags);
    if (json) {
        bir_json_put_array_end(&w);
        bir_json_put_object_end(&w);
    }
    return out->status;
}

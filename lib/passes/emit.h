/*
 * The emitter vocabulary of register code, shared by lower_ap, expand_inst_late, lower_branch and the spiller
 * (lowering.md 7, 8.5, 9.3): RegisterMove, RegisterAlu, TensorLoad, TensorSave.
 *
 * An emitter stands directly before one instruction, whose engine the emitted ones take. Failure is sticky: after an
 * allocation failure every call does nothing, so a sequence is checked once, at its end.
 *
 * Operands: sources in order in ins, destination in outs. A 64-bit operation on halves has low then high, thrice; one
 * on 2-wide registers names each register once.
 */
#ifndef BIR_PASSES_EMIT_H
#define BIR_PASSES_EMIT_H

#include "passes/free_name.h"
#include "passes/pass.h"

/* Choices of lowering.md 8.5: the dtype of register operands, of those of is_64bit operations, and of their immediates.
 */
#define BIR_EMIT_DTYPE                 BIR_DTYPE_INT32
#define BIR_EMIT_DTYPE_64BIT           BIR_DTYPE_UINT64
#define BIR_EMIT_DTYPE_64BIT_IMMEDIATE BIR_DTYPE_INT64

struct bir_emitter {
    struct bir_module *module;
    const struct bir_pass_context *context;
    struct bir_function *function;
    struct bir_instruction *position; /* emitted code goes before it */
    struct bir_instruction *last;     /* emitted last, NULL when nothing was since bir_emitter_place */
    uint32_t next;                    /* running number in the names */
    bool failed;
    char *name; /* prefix, then the number; in the scratch arena, reused */
    uint32_t name_capacity, prefix_len;
    struct bir_free_names instruction_names, register_names; /* of the function */
    bool names_are_new; /* nothing has a name that will be made in this function; see bir_emitter_claim */
    const struct bir_props
        *alu[2][BIR_ALU_COUNT]; /* property lists of RegisterAlu by width and op, filled on first use */
};

/* One emitter serves a whole pass run. */
void bir_emitter_init(struct bir_emitter *e, struct bir_module *module, const struct bir_pass_context *context);

/* Looks whether names that contain `marker` behind an instruction's, and numbered register names, are certain to be
 * new in the function, so that no look-up is needed while code goes there. To be called once, before anything was
 * emitted anywhere: about so many instructions and registers are to come. */
void bir_emitter_claim(struct bir_emitter *e, struct bir_function *function, const char *marker, uint64_t instructions,
                       uint64_t registers);

/* From now on code goes before `position`; instructions are called `<position's name><suffix><number>`, numbers from 0.
 */
void bir_emitter_place(struct bir_emitter *e, struct bir_instruction *position, const char *suffix);
/* Other suffix, same place and running number. */
void bir_emitter_suffix(struct bir_emitter *e, const char *suffix);

void bir_emit_move_imm(struct bir_emitter *e, struct bir_register *dst, int64_t imm);
/* The low half of a 2-wide register := a 1-wide one (the 32-bit access of the pair names its low half). */
void bir_emit_move_low(struct bir_emitter *e, struct bir_register *pair, struct bir_register *src);
/* dst := src op imm, dst := a op b; 64 bits wide when dst is. */
void bir_emit_alu_reg_imm(struct bir_emitter *e, enum bir_alu_op op, struct bir_register *dst, struct bir_register *src,
                          int64_t imm);
void bir_emit_alu_reg_reg(struct bir_emitter *e, enum bir_alu_op op, struct bir_register *dst, struct bir_register *a,
                          struct bir_register *b);
/* A 64-bit value in two 1-wide registers. */
struct bir_register_pair {
    struct bir_register *lo, *hi;
};
void bir_emit_alu64(struct bir_emitter *e, enum bir_alu_op op, struct bir_register_pair dst, struct bir_register_pair a,
                    struct bir_register_pair b);

/* (lo, hi) := one element of dtype at offset_elems of the location; hi NULL when the element is 4 bytes or lo is
 * 2-wide. */
void bir_emit_tensor_load(struct bir_emitter *e, struct bir_register *lo, struct bir_register *hi,
                          struct bir_location *location, int64_t offset_elems, enum bir_dtype dtype);
/* One element of the location := src, directly behind the place instead of before it. The instruction, NULL on failure.
 */
struct bir_instruction *bir_emit_tensor_save_behind(struct bir_emitter *e, struct bir_location *location,
                                                    struct bir_register *src);
/* dst := the int32 of the table at the 64-bit address in the pair. */
void bir_emit_table_load(struct bir_emitter *e, struct bir_register *dst, struct bir_set *table,
                         struct bir_register_pair address);
/* A new register on the engine of the place, called Reg_<number>_<instruction><role><location> (lowering.md 8.3), where
 * the number is the function's running one, raised further while the name is taken. NULL on failure. */
struct bir_register *bir_emit_mint_numbered(struct bir_emitter *e, const char *role, const char *location,
                                            uint32_t location_len);
/* A new register on the engine of the place, called `<instruction><suffix><number>`; "-" and a number are appended
 * while the name is taken. NULL on failure. */
struct bir_register *bir_emit_mint(struct bir_emitter *e, const char *suffix, uint32_t number, unsigned num_physical);
/* A new register like `old`, called `<old>-r<number>`, by the same rule. */
struct bir_register *bir_emit_mint_like(struct bir_emitter *e, const struct bir_register *old, uint32_t number);

#endif

/* The operator table: what one KLR operator becomes. */
#ifndef BIR_CODEGEN_OPERATORS_H
#define BIR_CODEGEN_OPERATORS_H

#include "codegen/context.h"
#include "codegen/keys.h"

enum operand_kind {
    OPERAND_END,
    OPERAND_TENSOR,          /* TensorRef */
    OPERAND_TENSOR_OPTIONAL, /* TensorRef?, nothing when absent */
    OPERAND_TENSOR_OR_ZERO,  /* TensorRef?, immediate 0.0 when absent, so that later positions stay */
    OPERAND_DYNAMIC,         /* TensorRef that may have a runtime offset */
    OPERAND_TENSORS,         /* list of TensorRef */
    OPERAND_ANY,             /* Operand: immediate or tensor */
    OPERAND_ANY_OPTIONAL,    /* Operand? */
    OPERAND_IMMEDIATE,
    OPERAND_IMMEDIATE_OPTIONAL,
    OPERAND_REGISTER, /* String: a register */
};

struct operand_spec {
    uint8_t kind; /* enum operand_kind */
    uint8_t role; /* enum bir_role */
    int8_t slot;
};

enum key_kind {
    KEY_END,
    KEY_ALU,          /* AluOp */
    KEY_ALU_OPTIONAL, /* AluOp?, bypass when absent */
    KEY_ACCUMULATION,
    KEY_FUNCTION,
    KEY_AXIS,
    KEY_TRANSPOSE,
    KEY_PERF_MODE,
    KEY_PRINT_BUFFER,
    KEY_BOOL,
    KEY_REVERSE, /* TensorScalarReverseOps: reverse0 and reverse1 */
    KEY_STRING,
    KEY_INT,       /* Int or Int32 */
    KEY_IMM_INT,   /* Immediate, whole number */
    KEY_IMM_FLOAT, /* Immediate as a number */
    KEY_IMM_EXPR,  /* Immediate, whole number, as a constant expression */
    KEY_PATTERN,   /* DataPattern: base, pattern, channel_multiplier */
    KEY_TILE,      /* two numbers of a list of Nat, [-1,-1] when it is empty or absent */
    KEY_INTS,      /* list of Int */
    KEY_INT_LISTS,
    KEY_DTYPE,      /* Dtype?: no key; must be the destination's, else a warning */
    KEY_FIXED_TEXT, /* the rest take their value from `text` */
    KEY_FIXED_FALSE,
    KEY_FIXED_TRUE,
    KEY_FIXED_ZERO,   /* integer 0 */
    KEY_FIXED_FLOAT0, /* 0.0 */
    KEY_FIXED_FLOAT1,
};

struct key_spec {
    uint8_t kind; /* enum key_kind */
    int8_t slot;
    const char *key;
    const char *text;
};

/* Finishes what the data of the row started. inst is not in its block yet, so its opcode may still change. */
typedef enum bir_status operator_fn(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                    struct codegen_keys *keys);

struct operator_row {
    uint8_t op;                          /* wire number of Operator */
    uint16_t opcode;                     /* enum bir_opcode, BIR_OP_UNKNOWN for a refusal */
    uint8_t engine;                      /* by kind; used when the operator names none */
    int8_t engine_slot;                  /* of its own Engine field, -1 = none */
    const struct operand_spec *operands; /* in the order of the lists, ends with OPERAND_END; or NULL */
    const struct key_spec *keys;         /* ends with KEY_END; or NULL */
    operator_fn *finish;                 /* or NULL */
    const char *note;                    /* of a refusal: the reason; else what `finish` adds, for the manual */
};

/* Rows in wire order, one an operator. */
extern const struct operator_row codegen_operators[];
extern const uint32_t codegen_operator_count;

/* ops_dma.c */
operator_fn codegen_dma_copy, codegen_dma_transpose, codegen_dma_compute, codegen_copy;
/* ops_tensor.c */
operator_fn codegen_activation_scale, codegen_activate2, codegen_tensor_scalar, codegen_memset, codegen_match_replace,
    codegen_shuffle, codegen_transpose, codegen_local_gather;
/* ops_collective.c */
operator_fn codegen_collective, codegen_send_recv_compute, codegen_send_recv, codegen_peer, codegen_core_barrier,
    codegen_set_rng_seed, codegen_current_rank;

/* control.c */
operator_fn codegen_register_move, codegen_register_alu, codegen_branch;

/* "Unsupported ALU operation" unless the wire number has a counterpart. */
enum bir_status codegen_alu_op(struct codegen *cg, const struct klr_node *op, uint32_t wire, int *alu) BIR_MUST_CHECK;

#endif

/*
 * Interpreter of register programs (lowering.md section 14), sixteen points at a time.
 *
 * A register program computes the same function at every point of a loop domain, so the machine executes each
 * instruction once for BIR_MACHINE_LANES points: a slot (one 32-bit register) holds one value a lane. Instructions are
 * decoded once into compact operations, whose operands are slot numbers. Slots are named by symbolic register, or -
 * after colouring - by engine and physical id, so that two registers that wrongly share an id disturb each other as
 * they would on the hardware.
 *
 * Other instructions have no effect on the registers, but for outputs that are registers: those receive data. Data (of
 * loads from tensors, too) is a seeded function of the place it comes from, 0 <= value < data_bound.
 */
#ifndef BIR_CHECK_MACHINE_H
#define BIR_CHECK_MACHINE_H

#include "base/diag.h"
#include "bir/module.h"

#define BIR_MACHINE_LANES 16
/* Register ids of one engine's file; colours use 0..61 (lowering.md section 11). */
#define BIR_MACHINE_FILE_SIZE 64
/* Address of the first table: the 64-bit addition of its second entry carries (correction 10). Table k stands
 * BIR_MACHINE_TABLE_STEP * k above. */
#define BIR_MACHINE_FIRST_TABLE INT64_C(0x1FFFFFFFC)
#define BIR_MACHINE_TABLE_STEP  INT64_C(0x100000000)
/* Value of a register that nothing wrote. */
#define BIR_MACHINE_RESET_VALUE (-1)

#define BIR_MACHINE_ALU_CACHE 32

enum bir_machine_names { BIR_MACHINE_SYMBOLIC, BIR_MACHINE_PHYSICAL };

enum bir_trap {
    BIR_TRAP_NONE,
    BIR_TRAP_DIVIDE_BY_ZERO,
    BIR_TRAP_DIVIDE_OVERFLOW, /* INT_MIN / -1 */
    BIR_TRAP_NEGATIVE_OFFSET, /* dividend of divide or mod below 0 */
    BIR_TRAP_OVERFLOW,        /* a 32-bit or 64-bit result that wrapped */
    BIR_TRAP_TABLE_BOUNDS,    /* an address that is no entry of the table */
    BIR_TRAP_UNWRITTEN, /* read of a register that nothing wrote (threads only; straight code is checked when decoded)
                         */
    BIR_TRAP_STEPS,     /* more steps than allowed (threads only) */
    BIR_TRAP_WAITS,     /* the consumer has set machine->waits (threads only) */
    BIR_TRAP_COUNT
};
const char *bir_trap_name(enum bir_trap trap);

/* Codes below BIR_ALU_COUNT are enum bir_alu_op on 32 bits. */
enum bir_machine_code {
    BIR_MACHINE_MOVE = BIR_ALU_COUNT, /* out := imm or a */
    BIR_MACHINE_MOVE64,               /* the same for a pair */
    BIR_MACHINE_ADD64,
    BIR_MACHINE_SUBTRACT64,
    BIR_MACHINE_MULT64,
    BIR_MACHINE_LOAD_ENTRY, /* out := the entry at address (a, a_high) of table number imm */
    BIR_MACHINE_LOAD_DATA,  /* out := data of the place a + imm */
    BIR_MACHINE_OPAQUE,     /* out := data of the place imm */
    BIR_MACHINE_CONSUME,    /* threads: call back with imm */
    BIR_MACHINE_JUMP,       /* threads: go on at operation imm */
    BIR_MACHINE_BRANCH, /* threads: a compared with b or imm by `compare`; go on at target[0] when true, else target[1]
                         */
    BIR_MACHINE_END,    /* threads: stop */
};

enum {
    BIR_MACHINE_IMM = 1 << 0,    /* b (of a move: a) is imm */
    BIR_MACHINE_UNARY = 1 << 1,  /* no b */
    BIR_MACHINE_WIDE = 1 << 2,   /* out is a pair */
    BIR_MACHINE_STRICT = 1 << 3, /* address code: traps and notes count */
};

struct bir_machine_op {
    uint8_t code;
    uint8_t flags;
    uint8_t compare; /* enum bir_branch_compare */
    uint8_t dtype;   /* of a comparison */
    uint32_t a, a_high, b, b_high, out, out_high;
    int64_t imm;
    uint32_t target[2];
    struct bir_instruction *inst;
};

struct bir_machine_table {
    const struct bir_set *set;
    int64_t address;
};

struct bir_machine_cell { /* an element of a tensor that register code loads or saves */
    const struct bir_location *location;
    int64_t offset_elems;
    uint32_t slot; /* the high half of an 8-byte element is slot + 1 */
    uint32_t next; /* next cell of the location + 1, or 0 */
};

struct bir_machine_fault {
    enum bir_trap trap;
    unsigned lane;
    const struct bir_machine_op *op;
    uint64_t steps; /* of BIR_TRAP_WAITS and BIR_TRAP_UNWRITTEN: done before op, which was not */
};

struct bir_machine {
    struct bir_arena *arena;
    struct bir_diags *diags;
    enum bir_machine_names names;
    bool forgiving;     /* operations that are not strict have no traps, and what cannot be decoded of them is data */
    uint16_t lanes_off; /* bit set: lanes whose faults do not count (a predicate is false) */
    bool waits;         /* a consumer sets it to stop the thread at its operation, where the next run is to start */
    bool check_order;   /* decoding refuses reads of slots that no earlier operation wrote */
    uint64_t seed;
    uint64_t data_bound; /* > 0 */

    int32_t (*values)[BIR_MACHINE_LANES]; /* [n_slots] */
    uint8_t *written;                     /* [n_slots] */
    struct bir_register **owners;         /* [n_slots]: register whose low word the slot is, or NULL */
    uint32_t n_slots, slot_capacity;

    BIR_VEC(struct bir_machine_op) ops;
    BIR_VEC(struct bir_machine_table) tables;
    BIR_VEC(struct bir_machine_cell) cells;
    struct bir_map table_of_set, cell_of_location; /* to index + 1 */
    struct { /* what the property lists of RegisterAlu say, by a few bits of their addresses */
        const struct bir_props *props;
        int op; /* enum bir_alu_op, or -1 */
        bool wide;
    } alu[BIR_MACHINE_ALU_CACHE];
    struct bir_machine_fault note; /* first overflow or negative offset of a strict operation since it was cleared */
};

/* An empty machine. Everything it allocates stays in arena. */
enum bir_status bir_machine_init(struct bir_machine *machine, struct bir_arena *arena, struct bir_diags *diags,
                                 enum bir_machine_names names, uint64_t seed, uint64_t data_bound) BIR_MUST_CHECK;

/* The slot of the register's low word (the high word of a 64-bit register is the next one), made when missing. Uses
 * reg->scratch. BIR_INTERNAL with a diagnostic when names are physical and the register has no id. */
enum bir_status bir_machine_slot(struct bir_machine *machine, struct bir_register *reg, uint32_t *slot) BIR_MUST_CHECK;
/* A slot that belongs to no register, with every lane BIR_MACHINE_RESET_VALUE. */
enum bir_status bir_machine_new_slots(struct bir_machine *machine, uint32_t count, uint32_t *slot) BIR_MUST_CHECK;
/* Slots from n_slots = mark on are given back. Operations that name them must be gone. */
void bir_machine_forget(struct bir_machine *machine, uint32_t mark);

/* The slot of a tensor element, filled with its data when made. */
enum bir_status bir_machine_cell(struct bir_machine *machine, const struct bir_location *location, int64_t offset_elems,
                                 uint8_t dtype, uint32_t *slot) BIR_MUST_CHECK;
/* The number of a table (or of whatever set a pointer location names) in machine->tables, which has its synthetic
 * address. */
enum bir_status bir_machine_table_index(struct bir_machine *machine, const struct bir_set *set,
                                        uint32_t *index) BIR_MUST_CHECK;

/* Every lane of a slot := value, and the slot counts as written. */
void bir_machine_set(struct bir_machine *machine, uint32_t slot, int32_t value);
/* Data of a place (bir_check_element_key) in a lane. */
int32_t bir_machine_data(const struct bir_machine *machine, uint64_t key, unsigned lane);

/* Appends the operations of one instruction: register code, and outputs that are registers of others. Instructions
 * without effect on registers append nothing. Malformed register code is an error diagnostic: BIR_INTERNAL when strict,
 * else BIR_INVALID. */
enum bir_status bir_machine_decode(struct bir_machine *machine, struct bir_instruction *inst,
                                   bool strict) BIR_MUST_CHECK;
/* Which slots an operation reads; returns how many. */
unsigned bir_machine_op_reads(const struct bir_machine_op *op, uint32_t reads[4]);
/* Appends one operation as it is. */
enum bir_status bir_machine_append(struct bir_machine *machine, const struct bir_machine_op *op) BIR_MUST_CHECK;

/* Executes ops[first..end) in order in every lane. False: fault says what stopped it. Notes are kept in machine->note.
 */
bool bir_machine_run(struct bir_machine *machine, uint32_t first, uint32_t end, struct bir_machine_fault *fault);

/* Called at a CONSUME operation; anything but BIR_OK stops the thread and is returned. */
typedef enum bir_status bir_machine_consumer(void *user, int64_t number);

/* Executes one engine's thread from ops[pc] until END, following jumps and branches (decided by lane 0), at most
 * max_steps operations. fault->trap says why it stopped early, BIR_TRAP_NONE at END. */
enum bir_status bir_machine_run_thread(struct bir_machine *machine, uint32_t pc, uint64_t max_steps,
                                       bir_machine_consumer *consumer, void *user,
                                       struct bir_machine_fault *fault) BIR_MUST_CHECK;

#endif

/*
 * The machine's state: register slots, address tables, memory cells.
 *
 * A slot is a row of lanes. Symbolic names give every register slots of its own, in the order of first use;
 * reg->scratch holds the number and owners[] confirms it, so nothing has to be cleared before a run. Physical names map
 * (engine, id) onto the first BIR_MACHINE_FILE_SIZE * PELICAN_ENGINES slots. Cells of tensors and other helper slots
 * follow behind in both cases.
 *
 * Cells are slots too: a load is a copy, and a save is seen by the loads that follow it. A cell starts with data that
 * depends on the place, the seed and the lane alone, so a load through an address register (which has no cell) reads
 * the same value.
 */
#include "check/machine.h"

#include <assert.h>

#include "base/random.h"
#include "check/address.h"

const char *bir_trap_name(enum bir_trap trap)
{
    static const char *const names[BIR_TRAP_COUNT] = {
        [BIR_TRAP_NONE] = "none",
        [BIR_TRAP_DIVIDE_BY_ZERO] = "division by zero",
        [BIR_TRAP_DIVIDE_OVERFLOW] = "quotient does not fit",
        [BIR_TRAP_NEGATIVE_OFFSET] = "negative offset",
        [BIR_TRAP_OVERFLOW] = "overflow",
        [BIR_TRAP_TABLE_BOUNDS] = "address outside the table",
        [BIR_TRAP_UNWRITTEN] = "read of a register that nothing wrote",
        [BIR_TRAP_STEPS] = "too many steps",
        [BIR_TRAP_WAITS] = "waits for another engine",
    };
    return (unsigned)trap < BIR_TRAP_COUNT ? names[trap] : "?";
}

enum bir_status bir_machine_init(struct bir_machine *machine, struct bir_arena *arena, struct bir_diags *diags,
                                 enum bir_machine_names names, uint64_t seed, uint64_t data_bound)
{
    assert(data_bound > 0);
    *machine =
        (struct bir_machine){ .arena = arena, .diags = diags, .names = names, .seed = seed, .data_bound = data_bound };
    if (names == BIR_MACHINE_SYMBOLIC)
        return BIR_OK;
    uint32_t file;
    return bir_machine_new_slots(machine, BIR_MACHINE_FILE_SIZE * PELICAN_ENGINES, &file);
}

static enum bir_status grow_slots(struct bir_machine *machine, uint32_t need)
{
    uint32_t old = machine->slot_capacity, new_capacity = old ? old : 256;
    while (new_capacity < need) {
        if (new_capacity > UINT32_MAX / 4)
            return bir_fail_limit(machine->diags, "check-limit", BIR_NO_OFFSET, "lower the kernel in parts",
                                  "more than %u registers to execute", new_capacity);
        new_capacity *= 2;
    }
    if (new_capacity == old)
        return BIR_OK;
    size_t row = sizeof(*machine->values);
    void *values = bir_arena_grow(machine->arena, BIR_MEM_TABLES, machine->values, old * row, new_capacity * row);
    if (!values)
        return bir_arena_failure(machine->arena);
    machine->values = values;
    uint8_t *written = bir_arena_grow(machine->arena, BIR_MEM_TABLES, machine->written, old, new_capacity);
    if (!written)
        return bir_arena_failure(machine->arena);
    machine->written = written;
    size_t pointer = sizeof(*machine->owners);
    void *owners =
        bir_arena_grow(machine->arena, BIR_MEM_TABLES, machine->owners, old * pointer, new_capacity * pointer);
    if (!owners)
        return bir_arena_failure(machine->arena);
    machine->owners = owners;
    machine->slot_capacity = new_capacity;
    return BIR_OK;
}

enum bir_status bir_machine_new_slots(struct bir_machine *machine, uint32_t count, uint32_t *slot)
{
    if (count > machine->slot_capacity - machine->n_slots)
        BIR_TRY(grow_slots(machine, machine->n_slots + count));
    *slot = machine->n_slots;
    for (uint32_t i = 0; i < count; i++) {
        bir_machine_set(machine, machine->n_slots, BIR_MACHINE_RESET_VALUE);
        machine->written[machine->n_slots] = 0;
        machine->owners[machine->n_slots] = NULL;
        machine->n_slots++;
    }
    return BIR_OK;
}

void bir_machine_forget(struct bir_machine *machine, uint32_t mark)
{
    assert(mark <= machine->n_slots);
    machine->n_slots = mark;
}

void bir_machine_set(struct bir_machine *machine, uint32_t slot, int32_t value)
{
    for (unsigned l = 0; l < BIR_MACHINE_LANES; l++)
        machine->values[slot][l] = value;
    machine->written[slot] = 1;
}

enum bir_status bir_machine_slot(struct bir_machine *machine, struct bir_register *reg, uint32_t *slot)
{
    if (machine->names == BIR_MACHINE_PHYSICAL) {
        if (reg->physical_id < 0 || reg->physical_id + reg->num_physical > BIR_MACHINE_FILE_SIZE ||
            reg->engine >= PELICAN_ENGINES) {
            bir_diag_add(machine->diags, BIR_ERROR, "check-register-id", BIR_NO_OFFSET,
                         "register %s (engine %s, width %u) has physical id %d; ids of a coloured register are 0..%d",
                         reg->base.name->text, bir_engine_name(reg->engine), (unsigned)reg->num_physical,
                         reg->physical_id, BIR_MACHINE_FILE_SIZE - reg->num_physical);
            return BIR_INTERNAL;
        }
        *slot = (uint32_t)reg->engine * BIR_MACHINE_FILE_SIZE + (uint32_t)reg->physical_id;
        return BIR_OK;
    }
    if (reg->scratch < machine->n_slots && machine->owners[reg->scratch] == reg) {
        *slot = reg->scratch;
        return BIR_OK;
    }
    BIR_TRY(bir_machine_new_slots(machine, reg->num_physical == 2 ? 2 : 1, slot));
    machine->owners[*slot] = reg;
    reg->scratch = *slot;
    return BIR_OK;
}

int32_t bir_machine_data(const struct bir_machine *machine, uint64_t key, unsigned lane)
{
    uint64_t state = machine->seed ^ (key * BIR_MACHINE_LANES + lane);
    return (int32_t)(bir_random_next(&state) % machine->data_bound);
}

enum bir_status bir_machine_cell(struct bir_machine *machine, const struct bir_location *location, int64_t offset_elems,
                                 uint8_t dtype, uint32_t *slot)
{
    uint32_t head = (uint32_t)(uintptr_t)bir_map_get(&machine->cell_of_location, location);
    for (uint32_t i = head; i; i = machine->cells.items[i - 1].next) {
        if (machine->cells.items[i - 1].offset_elems == offset_elems) {
            *slot = machine->cells.items[i - 1].slot;
            return BIR_OK;
        }
    }
    struct bir_machine_cell cell = { .location = location, .offset_elems = offset_elems, .next = head };
    BIR_TRY(bir_machine_new_slots(machine, 2, &cell.slot));
    uint64_t key = bir_check_element_key(location, offset_elems, dtype);
    for (unsigned l = 0; l < BIR_MACHINE_LANES; l++) {
        machine->values[cell.slot][l] = bir_machine_data(machine, key, l);
        machine->values[cell.slot + 1][l] = 0;
    }
    machine->written[cell.slot] = machine->written[cell.slot + 1] = 1;
    if (!bir_vec_push(machine->arena, &machine->cells, cell) ||
        !bir_map_put(&machine->cell_of_location, machine->arena, location, (void *)(uintptr_t)machine->cells.count))
        return bir_arena_failure(machine->arena);
    *slot = cell.slot;
    return BIR_OK;
}

enum bir_status bir_machine_table_index(struct bir_machine *machine, const struct bir_set *set, uint32_t *index)
{
    uint32_t number = (uint32_t)(uintptr_t)bir_map_get(&machine->table_of_set, set);
    if (number == 0) {
        struct bir_machine_table table = { .set = set };
        table.address = BIR_MACHINE_FIRST_TABLE + BIR_MACHINE_TABLE_STEP * (int64_t)machine->tables.count;
        if (!bir_vec_push(machine->arena, &machine->tables, table) ||
            !bir_map_put(&machine->table_of_set, machine->arena, set, (void *)(uintptr_t)machine->tables.count))
            return bir_arena_failure(machine->arena);
        number = machine->tables.count;
    }
    *index = number - 1;
    return BIR_OK;
}

enum bir_status bir_machine_append(struct bir_machine *machine, const struct bir_machine_op *op)
{
    return bir_vec_push(machine->arena, &machine->ops, *op) ? BIR_OK : bir_arena_failure(machine->arena);
}

/*
 * allocate_memory and loops: which temporaries of a body share memory, and random programs executed with three
 * iterations.
 */
#include "allocate_world.h"
#include "base/random.h"

/* Writes or reads all of the location. */
static void whole_operand(struct world *w, struct bir_instruction *inst, enum bir_role role,
                          struct bir_location *location)
{
    int64_t rows = location->dims->items[0], bytes = location->dims->items[1];
    const struct bir_pair pairs[2] = { { bytes, rows }, { 1, bytes } };
    const struct bir_pattern *pattern = bir_pattern_get(w->module, pairs, 2);
    require(bir_add_physical_ap(w->module, inst, role, location, pattern, 0, BIR_DTYPE_UINT8));
}

/* The body of a loop of one block: a Loop's, or one that branches back to itself. */
static struct bir_block *loop_body(struct world *w, bool structured)
{
    if (structured) {
        struct bir_loop *region = bir_instruction_need_loop(w->module, in_block(w, w->block, BIR_OP_LOOP));
        require(region);
        return bir_block_new(w->module, &region->region, name_of(w, "loop", w->made++));
    }
    struct bir_block *body = bir_block_new(w->module, &w->function->body, name_of(w, "body", w->made++));
    w->block = bir_block_new(w->module, &w->function->body, name_of(w, "after", w->made++));
    return body;
}

static void loop_end(struct world *w, struct bir_block *body, bool structured)
{
    if (structured)
        return;
    struct bir_instruction *branch = in_block(w, body, BIR_OP_COMPARE_AND_BRANCH);
    text_key(w, branch, "on_true", body);
    text_key(w, branch, "on_false", w->block);
}

/* a and b are written whole and read one after the other in the body; what keeps them apart or not. */
enum obstacle { NO_OBSTACLE, PARTIAL_WRITE, OUTSIDE_READ, READ_FIRST, ADDS, PREDICATED_OPCODE, OBSTACLES };

static void build_temporaries(struct world *w, bool structured, enum obstacle obstacle, struct bir_location *t[2])
{
    struct bir_block *body = loop_body(w, structured);
    for (int i = 0; i < 2; i++) {
        t[i] = tensor(w, BIR_MEMORY_SB, 128, 64);
        enum bir_opcode opcode = BIR_OP_TENSOR_COPY;
        if (i == 0 && obstacle == READ_FIRST)
            whole_operand(w, in_block(w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_IN, t[0]);
        if (i == 0 && obstacle == ADDS)
            opcode = BIR_OP_MATMULT; /* without the flag that begins */
        if (i == 0 && obstacle == PREDICATED_OPCODE)
            opcode = BIR_OP_COPY_PREDICATED;
        struct bir_instruction *write = in_block(w, body, opcode);
        if (i == 0 && obstacle == PARTIAL_WRITE)
            operand(w, write, BIR_ROLE_OUT, t[i]);
        else
            whole_operand(w, write, BIR_ROLE_OUT, t[i]);
        whole_operand(w, in_block(w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_IN, t[i]);
    }
    loop_end(w, body, structured);
    if (obstacle == OUTSIDE_READ)
        use(w, NULL, t[0]);
}

START_TEST(temporaries_of_a_loop_body_share_memory)
{
    for (int structured = 0; structured < 2; structured++)
        for (int obstacle = 0; obstacle < OBSTACLES; obstacle++) {
            struct world w;
            struct bir_location *t[2];
            world_open(&w);
            build_temporaries(&w, structured, (enum obstacle)obstacle, t);
            ck_assert_int_eq(allocate(&w), BIR_OK);
            ck_assert_msg(share_a_byte(t[0], t[1]) == (obstacle == NO_OBSTACLE), "obstacle %d", obstacle);
            world_close(&w);
        }
}
END_TEST

/* Memory as the program sees it: who wrote each 32-byte granule of the quadrants last, and which locations have been
 * written. Bytes of a location are only ever written by it, so a read that meets another's bytes lost its value. */
struct memory {
    const struct bir_location *owner[4][229376 / 32];
    bool written[96];
};

static void execute_touch(struct memory *m, const struct bir_argument *arg, uint32_t number)
{
    const struct bir_location *location = (const struct bir_location *)arg->location;
    /* A partial operand is the first byte of the first partition. */
    bool whole = ((const struct bir_physical_ap *)arg)->pattern->rank == 2;
    uint32_t first_quadrant = location->base_partition / 32;
    uint32_t quadrants = whole ? (uint32_t)(location->dims->items[0] + 31) / 32 : 1;
    uint32_t granules = whole ? (uint32_t)(location->dims->items[1] + 31) / 32 : 1;
    for (uint32_t q = first_quadrant; q < first_quadrant + quadrants; q++)
        for (uint32_t g = 0; g < granules; g++) {
            const struct bir_location **owner = &m->owner[q][location->addr_bytes / 32 + g];
            if (arg->role == BIR_ROLE_OUT)
                *owner = location;
            else if (m->written[number])
                ck_assert_msg(*owner == location, "%s was overwritten by %s", location->base.name->text,
                              *owner ? (*owner)->base.name->text : "nothing");
        }
    if (arg->role == BIR_ROLE_OUT && whole)
        m->written[number] = true;
}

static void execute_block(struct memory *m, const struct bir_block *block, struct bir_location *const *all,
                          uint32_t count)
{
    BIR_EACH_INSTRUCTION (inst, block) {
        for (int role = 0; role < BIR_ROLE_COUNT; role++) {
            BIR_EACH_ARGUMENT (arg, inst, role) {
                uint32_t number = 0;
                while (number < count && &all[number]->base != arg->location)
                    number++;
                ck_assert_uint_lt(number, count);
                execute_touch(m, arg, number);
            }
        }
    }
}

/* Random programs with a loop in the middle, executed with three iterations: every read finds what its own location
 * last held. */
START_TEST(random_loops_keep_their_values)
{
    static struct memory memory;
    uint32_t shared = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        enum { TENSORS = 24 };
        uint64_t random = seed;
        struct world w;
        struct bir_location *t[TENSORS];
        bool structured = seed % 2;
        world_open(&w);
        w.options.allocate = seed % 4 < 2 ? "first-fit" : "best-fit";
        for (int i = 0; i < TENSORS; i++)
            t[i] = tensor(&w, BIR_MEMORY_SB, 1 + (int64_t)bir_random_below(&random, 128),
                          32 * (1 + (int64_t)bir_random_below(&random, 8)));
        struct bir_block *before = w.block, *body = loop_body(&w, structured);
        struct bir_block *after =
            structured ? bir_block_new(w.module, &w.function->body, name_of(&w, "rest", 0)) : w.block;
        struct bir_block *const blocks[3] = { before, body, after };
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < (b == 1 ? 40 : 8); k++) {
                /* Tensors 0..15 are mostly the body's, 16..23 everybody's. */
                bool own = b == 1 && bir_random_below(&random, 5) > 0;
                uint32_t n =
                    own ? (uint32_t)bir_random_below(&random, 16) : 16 + (uint32_t)bir_random_below(&random, 8);
                enum bir_role role = bir_random_below(&random, 2) ? BIR_ROLE_OUT : BIR_ROLE_IN;
                struct bir_instruction *inst =
                    bir_instruction_new(w.module, BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, name_of(&w, "r", w.made++));
                require(inst);
                /* In front of the Loop, if that stands in the block. */
                if (structured && b == 0)
                    bir_instruction_insert_before(before->last, inst);
                else
                    bir_block_append(blocks[b], inst);
                if (bir_random_below(&random, 8) == 0)
                    operand(&w, inst, role, t[n]);
                else
                    whole_operand(&w, inst, role, t[n]);
            }
        loop_end(&w, body, structured);
        ck_assert_int_eq(allocate(&w), BIR_OK);
        memset(&memory, 0, sizeof memory);
        execute_block(&memory, before, t, TENSORS);
        for (int iteration = 0; iteration < 3; iteration++)
            execute_block(&memory, body, t, TENSORS);
        execute_block(&memory, after, t, TENSORS);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < i; j++)
                shared += share_a_byte(t[i], t[j]);
        world_close(&w);
    }
    ck_assert_uint_ge(shared, 500);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { temporaries_of_a_loop_body_share_memory, random_loops_keep_their_values };
    return UNIT_RUN("allocate_loops", tests);
}

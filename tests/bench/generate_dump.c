/*
 * Writes a dump as it is after lower_sync, of any size, without races: the input of the hazard measurements.
 *
 * usage: generate_dump INSTRUCTIONS [racy]
 *
 * A kernel of five steps, pipelined over all engines: load a tile (SP, DMA), multiply it into a PSUM bank (PE), move it
 * out (Activation), add to it (DVE), store it (Pool, DMA through a trigger and a DMABlock every other time). Tiles
 * rotate through SLOTS buffers, so every step waits for the last reader of what it overwrites. After BLOCK_STEPS steps
 * the stores are awaited, all engines meet, the semaphores are reset, and a new block begins, whose tiles are other
 * locations at the same addresses: memory is used again and again, in good order. Each store goes to its own place in
 * DRAM. With "racy" one wait in a hundred is one too low.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8, BLOCK_STEPS = 48, TILE_BYTES = 2048, PER_STEP = 5 };
enum { SEM_LOAD = 10, SEM_PE, SEM_ACT, SEM_DVE, SEM_STORE };

static bool racy;
static long waits, blocks_written, instructions;
static bool first_instruction;

static long wait_value(long value)
{
    return racy && ++waits % 100 == 0 ? value - 1 : value;
}

static void location(const char *name, long block, long slot, const char *type, long addr, int bank, bool last)
{
    printf("{\"Skind\":\"memory_location_set\",\"addr_space\":\"Local\",\"dtype\":\"float32\",\"kind\":\"Internal\","
           "\"memorylocations\":[{\"Skind\":"
           "\"memory_location\",\"addr\":%ld,\"allocated\":true,\"bank\":%d,\"base\":0,\"dims\":[128,%d],\"name\":\"%s_"
           "%ld_%ld\",\"pinned\":false,"
           "\"tensor_id\":0,\"type\":\"%s\"}],\"name\":\"%s_%ld_%ld_set\",\"partition_dim\":0,\"tensorId2MemLocSize\":"
           "1,\"tensor_class\":"
           "\"NeuronLocalTensor\",\"tensor_shape\":[128,512]}%s",
           addr, bank, TILE_BYTES, name, block, slot, type, name, block, slot, last ? "" : ",");
}

static void tensor(const char *name, const char *kind, long rows)
{
    printf("{\"Skind\":\"memory_location_set\",\"addr_space\":\"Local\",\"dtype\":\"float32\",\"kind\":\"%s\","
           "\"memorylocations\":[{\"Skind\":"
           "\"memory_location\",\"addr\":0,\"allocated\":true,\"bank\":0,\"base\":0,\"dims\":[%ld,%d],\"name\":\"%s\","
           "\"pinned\":false,\"tensor_id\":0,"
           "\"type\":\"DRAM\"}],\"name\":\"%s_set\",\"partition_dim\":0,\"tensorId2MemLocSize\":1,\"tensor_class\":"
           "\"Tensor\",\"tensor_shape\":"
           "[%ld,512]},",
           kind, rows, TILE_BYTES, name, name, rows);
}

static void operand(const char *name, long block, long slot)
{
    printf("{\"access_shape\":[128,512],\"ap\":[[512,128],[1,512]],\"dtype\":\"float32\",\"kind\":\"physical_ap\","
           "\"memref\":\"%s_%ld_%ld\","
           "\"memsetref\":\"%s_%ld_%ld_set\",\"offset\":0}",
           name, block, slot, name, block, slot);
}

static void dram_operand(const char *name, long step)
{
    printf("{\"access_shape\":[128,512],\"ap\":[[512,128],[1,512]],\"dtype\":\"float32\",\"kind\":\"physical_ap\","
           "\"memref\":\"%s\",\"memsetref\":"
           "\"%s_set\",\"offset\":%ld}",
           name, name, step * 65536);
}

static void head(void)
{
    printf("%s{\"debug\":{\"filename\":\"kernels/attention.py\",\"lineno\":%ld,\"op_name\":\"nki.language/fused_block/"
           "%ld\"},",
           first_instruction ? "" : ",", instructions % 211, instructions);
    first_instruction = false;
    instructions++;
}

static void middle(const char *engine)
{
    printf("\"engine\":\"%s\",\"engine_id\":0,", engine);
}

static void tail(const char *format_name, long block, long step, const char *opcode)
{
    printf("\"name\":\"%s_%ld_%ld\",\"opcode\":\"%s\",\"optin_passes\":[],\"origin\":\"NKI\",", format_name, block,
           step, opcode);
}

struct sync {
    int n;
    const char *from[3];
    int id[3];
    long value[3], step[3];
};

static void sync_add(struct sync *s, const char *from, int id, long step, long value)
{
    if (step < 0)
        return;
    s->from[s->n] = from;
    s->id[s->n] = id;
    s->step[s->n] = step;
    s->value[s->n++] = wait_value(value);
}

static void sync_end(const struct sync *s, long block, int update, int amount)
{
    printf("\"scheduled_end\":%ld,\"scheduled_start\":%ld,\"sync_info\":{", instructions * 1000 + 700,
           instructions * 1000);
    if (update)
        printf("\"on_update\":[{\"id\":%d,\"update_value\":%d}]%s", update, amount, s->n ? "," : "");
    for (int i = 0; i < s->n; i++)
        printf("%s{\"from\":\"%s_%ld_%ld\",\"id\":%d,\"wait_value\":%ld}", i ? "," : "\"on_wait\":[", s->from[i], block,
               s->step[i], s->id[i], s->value[i]);
    printf("%s}}", s->n ? "]" : "");
}

static void load(long block, long i)
{
    struct sync s = { 0 };
    sync_add(&s, "add", SEM_DVE, i - SLOTS, i - SLOTS + 1); /* the last reader of the slot */
    head();
    printf("\"dge_type\":\"HWDGE\",");
    middle("SP");
    printf("\"ins\":[");
    dram_operand("x", block * BLOCK_STEPS + i);
    printf("],\"mode\":\"Copy\",");
    tail("load", block, i, "DMACopy");
    printf("\"outs\":[");
    operand("in", block, i % SLOTS);
    printf("],\"queue\":\"qSPDynamicHW\",");
    sync_end(&s, block, SEM_LOAD, 16);
}

static void multiply(long block, long i)
{
    struct sync s = { 0 };
    sync_add(&s, "load", SEM_LOAD, i, 16 * (i + 1));
    sync_add(&s, "move", SEM_ACT, i - SLOTS, i - SLOTS + 1);
    head();
    printf("\"accumulation_flag\":0,");
    middle("PE");
    printf("\"ifmap_quant_offset\":0,\"ins\":[");
    operand("w", block, 0);
    printf(",");
    operand("in", block, i % SLOTS);
    printf("],\"is_fmap_onezero\":false,\"is_transpose\":false,\"is_weight_onezero\":false,");
    tail("mul", block, i, "Matmult");
    printf("\"outs\":[");
    operand("acc", block, i % SLOTS);
    printf("],\"perf_mode\":\"None\",\"psum_zero_region\":0,\"replication_num_rows\":0,\"replication_resolution\":0,"
           "\"replication_shift_amnt\":0,");
    printf("\"tile_position\":[-1,-1],\"tile_size\":[-1,-1],\"weights_quant_offset\":0,");
    sync_end(&s, block, SEM_PE, 1);
}

static void move(long block, long i)
{
    struct sync s = { 0 };
    sync_add(&s, "mul", SEM_PE, i, i + 1);
    sync_add(&s, "add", SEM_DVE, i - SLOTS, i - SLOTS + 1);
    head();
    printf("\"acc\":\"Idle\",\"alpha\":0.0,");
    middle("Activation");
    printf("\"func\":\"Copy\",\"ins\":[");
    operand("acc", block, i % SLOTS);
    printf("],");
    tail("move", block, i, "Activation");
    printf("\"op0\":\"bypass\",\"op1\":\"bypass\",\"outs\":[");
    operand("mid", block, i % SLOTS);
    printf("],\"reduce_op\":\"bypass\",\"scale\":1.0,");
    sync_end(&s, block, SEM_ACT, 1);
}

static void add(long block, long i)
{
    struct sync s = { 0 };
    sync_add(&s, "move", SEM_ACT, i, i + 1);
    sync_add(&s, "store", SEM_STORE, i - SLOTS, 16 * (i - SLOTS + 1));
    head();
    printf("\"acc\":\"Idle\",");
    middle("DVE");
    printf("\"ins\":[");
    operand("mid", block, i % SLOTS);
    printf(",");
    operand("in", block, i % SLOTS);
    printf("],");
    tail("add", block, i, "TensorTensor");
    printf("\"op\":\"add\",\"outs\":[");
    operand("out", block, i % SLOTS);
    printf("],");
    sync_end(&s, block, SEM_DVE, 1);
}

static void store(long block, long i)
{
    struct sync s = { 0 };
    sync_add(&s, "add", SEM_DVE, i, i + 1);
    head();
    if (i % 2) { /* the work is a DMABlock's, which the wait of "add" names */
        printf("\"dma_blocks\":[\"store_%ld_%ld\"],", block, i);
        middle("Pool");
        printf("\"ins\":[],");
        tail("trigger", block, i, "DMATrigger");
        printf("\"outs\":[],\"queue\":\"qPoolDynamic\",");
        sync_end(&s, block, 0, 0);
        return;
    }
    printf("\"dge_type\":\"SWDGE\",");
    middle("Pool");
    printf("\"ins\":[");
    operand("out", block, i % SLOTS);
    printf("],\"mode\":\"Copy\",");
    tail("store", block, i, "DMACopy");
    printf("\"outs\":[");
    dram_operand("y", block * BLOCK_STEPS + i);
    printf("],\"queue\":\"qPoolDynamic\",");
    sync_end(&s, block, SEM_STORE, 16);
}

static void plain(const char *name, long block, const char *engine, const char *opcode, const char *keys,
                  const struct sync *s)
{
    head();
    middle(engine);
    printf("\"ins\":[],");
    tail(name, block, 0, opcode);
    printf("\"outs\":[],%s", keys);
    sync_end(s, block, 0, 0);
}

static void block(long number, long steps)
{
    static const struct sync none;
    struct sync s = { 0 };
    printf("%s{\"instructions\":[", blocks_written++ ? "," : "");
    first_instruction = true;
    for (long i = 0; i < steps; i++) {
        load(number, i);
        multiply(number, i);
        move(number, i);
        add(number, i);
        store(number, i);
    }
    sync_add(&s, "store", SEM_STORE, steps - 1, 16 * steps);
    plain("await", number, "Pool", "EventSemaphore", "", &s);
    plain("meet", number, "ALL", "AllEngineBarrier", "", &none);
    plain("reset", number, "ALL", "GroupResetSemaphores", "\"mode\":\"SemaphoreZero\",\"sema_group\":[10,11,12,13,14],",
          &none);
    printf("],\"name\":\"Block%ld\"}", number + 1);
}

static void allocations(long n_blocks)
{
    tensor("x", "ExternalInput", n_blocks * BLOCK_STEPS * 128);
    tensor("y", "ExternalOutput", n_blocks * BLOCK_STEPS * 128);
    for (long b = 0; b < n_blocks; b++) {
        location("w", b, 0, "SB", 0, 0, false);
        for (long s = 0; s < SLOTS; s++) {
            location("in", b, s, "SB", (1 + s) * TILE_BYTES, 0, false);
            location("acc", b, s, "PSUM", 0, (int)s, false);
            location("mid", b, s, "SB", (1 + SLOTS + s) * TILE_BYTES, 0, false);
            location("out", b, s, "SB", (1 + 2 * SLOTS + s) * TILE_BYTES, 0, b + 1 == n_blocks && s + 1 == SLOTS);
        }
    }
}

static void dma_blocks(long n_blocks, long last_steps)
{
    bool first = true;
    for (long b = 0; b < n_blocks; b++) {
        for (long i = 1; i < (b + 1 == n_blocks ? last_steps : BLOCK_STEPS); i += 2) {
            printf("%s{\"blocks\":[{\"instructions\":[{\"engine\":\"DMA\",\"engine_id\":0,\"ins\":[", first ? "" : ",");
            operand("out", b, i % SLOTS);
            printf("],\"name\":\"desc_%ld_%ld\",\"opcode\":\"DMADescriptorCopy\",\"optin_passes\":[],\"origin\":"
                   "\"Internal\",\"outs\":[",
                   b, i);
            dram_operand("y", b * BLOCK_STEPS + i);
            printf("],\"scheduled_end\":0,\"scheduled_start\":0}],\"name\":\"store_%ld_%ld_Block0\"}],\"dma_trigger\":"
                   "\"trigger_%ld_%ld\",\"engine\":"
                   "\"DMA\",\"engine_id\":0,\"ins\":[],\"name\":\"store_%ld_%ld\",\"opcode\":\"DMABlock\",\"optin_"
                   "passes\":[],\"origin\":"
                   "\"Internal\",\"outs\":[],\"scheduled_end\":0,\"scheduled_start\":0,\"sync_info\":{\"on_update\":[{"
                   "\"id\":%d,\"update_value\":16}]}}",
                   b, i, b, i, b, i, SEM_STORE);
            first = false;
        }
    }
}

int main(int argc, char **argv)
{
    long wanted = argc > 1 ? atol(argv[1]) : 0;
    racy = argc > 2 && strcmp(argv[2], "racy") == 0;
    if (wanted < PER_STEP + 3 || wanted > 100000000) {
        fprintf(stderr, "usage: generate_dump INSTRUCTIONS [racy]\n");
        return 2;
    }
    long per_block = PER_STEP * BLOCK_STEPS + 3, n_blocks = (wanted + per_block - 1) / per_block;
    long left = wanted - (n_blocks - 1) * per_block, last_steps = left > PER_STEP + 3 ? (left - 3) / PER_STEP : 1;
    printf("{\"arch\":\"gen3\",\"functions\":[{\"allocations\":[");
    allocations(n_blocks);
    printf("],\"attributes\":[],\"blocks\":[");
    for (long b = 0; b < n_blocks; b++)
        block(b, b + 1 == n_blocks ? last_steps : BLOCK_STEPS);
    printf("],\"name\":\"sg0000\"}],\"queues\":[{\"blocks\":[{\"instructions\":[");
    dma_blocks(n_blocks, last_steps);
    printf("],\"name\":\"qPoolDynamic_Block\"}],\"name\":\"qPoolDynamic\"},{\"blocks\":[],\"name\":\"qSPDynamicHW\"}],"
           "\"revision\":\"v1\",\"version\":2}\n");
    return 0;
}

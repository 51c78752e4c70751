/*
 * How a legal operand is made: the tile is step * p + q, where p (partition) and q (column) are affine in the open
 * axes. Coefficients are drawn from what is left of the range [0, limit], and the constant last, so that both ends stay
 * inside. The parts are then written in one of several shapes - one affine node, a sum, a scaled sum, a floor division
 * or a modulo that folds - which all mean the same.
 */
#include "generate_module.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"

#define MAX_DEPTH      8
#define MAX_PREDICATES 40
#define MAX_SETS       5
#define ROWS           1024    /* of the fetched tensor; 512 float32 each */
#define BIG_ROWS       8388608 /* 16 GiB */

struct axis {
    char name[16];
    int64_t lb, ub, stride, trip;
};

struct set {
    char name[16];
    const char *dtype;
    bool psum;
    int64_t bytes, row_bytes, partitions, base, blocks;
};

struct affine { /* over the open axes */
    int64_t c, coef[MAX_DEPTH];
};

struct predicate {
    struct affine affine;
    bool at_least; /* affine >= 0, else == 0 */
};

struct generator {
    uint64_t random;
    const struct generate_options *options;
    struct generate_counts counts;
    struct bir_buf code;        /* instructions */
    struct bir_buf allocations; /* storages */
    struct axis axes[MAX_DEPTH];
    uint32_t depth;
    uint64_t points;                             /* of the open loops */
    struct predicate predicates[MAX_PREDICATES]; /* of the open loops, then of the instruction */
    uint32_t n_predicates, n_outer;              /* n_outer: those of the loops */
    struct set sets[MAX_SETS];
    uint32_t n_sets, n_sb_sets;
    uint32_t n_loops, n_blocks, n_registers;
    int64_t next_sb_byte;
    bool big; /* the fetched tensor needs 64-bit offsets */
};

static const struct {
    const char *name;
    int64_t bytes;
} dtypes[] = {
    { "bfloat16", 2 }, { "float32", 4 }, { "float16", 2 }, { "int32", 4 }, { "float8e4", 1 }, { "uint8", 1 }
};

static uint64_t below(struct generator *g, uint64_t bound)
{
    return bir_random_below(&g->random, bound);
}

static bool chance(struct generator *g, unsigned percent)
{
    return below(g, 100) < percent;
}

static int64_t between(struct generator *g, int64_t low, int64_t high)
{
    return low + (int64_t)below(g, (uint64_t)(high - low) + 1);
}

/* --- storages --- */

static void put_location(struct generator *g, const struct set *set, int64_t block)
{
    struct bir_buf *out = &g->allocations;
    int64_t addr = 0, bank = 0;
    if (set->psum) {
        bank = chance(g, 50) ? block : -block; /* the sign is not part of the number */
    } else {
        addr = g->next_sb_byte;
        g->next_sb_byte += (set->row_bytes + 63) / 64 * 64;
    }
    bir_buf_printf(out,
                   "%s{\"Skind\":\"memory_location\",\"addr\":%" PRId64 ",\"allocated\":true,\"bank\":%" PRId64
                   ",\"base\":%" PRId64 ",\"dims\":[%" PRId64 ",%" PRId64 "],\"name\":\"%s_sub%" PRId64
                   "\",\"pinned\":false,\"tensor_id\":%" PRId64 ",\"type\":\"%s\"}",
                   block ? "," : "", addr, bank, set->base, set->partitions, set->row_bytes, set->name, block, block,
                   set->psum ? "PSUM" : "SB");
}

static void put_set(struct generator *g, const struct set *set)
{
    struct bir_buf *out = &g->allocations;
    bir_buf_printf(
        out,
        "%s{\"Skind\":\"memory_location_set\",\"addr_space\":\"Local\",\"dtype\":\"%s\",\"kind\":\"Internal\","
        "\"memorylocations\":[",
        out->len ? "," : "", set->dtype);
    for (int64_t block = 0; block < set->blocks; block++)
        put_location(g, set, block);
    bir_buf_printf(out,
                   "],\"name\":\"%s_set\",\"partition_dim\":0,\"tensorId2MemLocSize\":%" PRId64
                   ",\"tensor_class\":\"NeuronBlockTensor\",\"tensor_shape\":[%" PRId64 ",%" PRId64 ",%" PRId64 "]}",
                   set->name, set->blocks, set->blocks, set->partitions, set->row_bytes / set->bytes);
}

static void make_set(struct generator *g, bool psum)
{
    static const int64_t rows[] = { 64, 100, 128, 256, 384, 512, 1000 };
    struct set *set = &g->sets[g->n_sets];
    size_t dtype = below(g, sizeof(dtypes) / sizeof(dtypes[0]));
    int64_t row = rows[below(g, sizeof(rows) / sizeof(rows[0]))];
    snprintf(set->name, sizeof(set->name), "%s%u", psum ? "p" : "s", g->n_sets);
    set->dtype = dtypes[dtype].name;
    set->bytes = dtypes[dtype].bytes;
    set->psum = psum;
    if (psum && row * set->bytes > 2048)
        row = 2048 / set->bytes;
    set->row_bytes = row * set->bytes;
    set->base = chance(g, 70) ? 0 : 32 * between(g, 1, 3);
    set->partitions = 128 - set->base;
    set->blocks = between(g, 1, 6);
    g->n_sets++;
    g->n_sb_sets += !psum;
    put_set(g, set);
}

static void put_dynamic_storages(struct generator *g)
{
    g->big = chance(g, 25);
    bir_buf_printf(
        &g->allocations,
        ",{\"Skind\":\"memory_location_set\",\"addr_space\":\"Local\",\"dtype\":\"float32\",\"kind\":\"ExternalInput\","
        "\"memorylocations\":[{\"Skind\":\"memory_location\",\"addr\":0,\"allocated\":true,\"dims\":[%d,2048],"
        "\"name\":\"cache\",\"tensor_id\":0,\"type\":\"DRAM\"}],\"name\":\"cache_set\",\"tensor_shape\":[%d,512]}",
        g->big ? BIG_ROWS : ROWS, g->big ? BIG_ROWS : ROWS);
    bir_buf_printf(
        &g->allocations,
        ",{\"Skind\":\"memory_location_set\",\"addr_space\":\"Local\",\"dtype\":\"int32\",\"kind\":\"Internal\","
        "\"memorylocations\":[{\"Skind\":\"memory_location\",\"addr\":%" PRId64 ",\"allocated\":true,\"dims\":[1,64],"
        "\"name\":\"pos\",\"tensor_id\":0,\"type\":\"SB\"}],\"name\":\"pos_set\",\"tensor_shape\":[1,16]}",
        g->next_sb_byte);
}

/* --- expressions --- */

static int64_t first_of(const struct axis *axis)
{
    return axis->lb;
}

static int64_t last_of(const struct axis *axis)
{
    return axis->lb + (axis->trip > 0 ? axis->trip - 1 : 0) * axis->stride;
}

/* An affine function whose values over the open loops fill a part of [0, limit]. */
static struct affine make_affine(struct generator *g, int64_t limit)
{
    struct affine e = { .c = 0 };
    int64_t left = limit, low = 0;
    for (uint32_t k = 0; k < g->depth; k++) {
        int64_t first = first_of(&g->axes[k]), last = last_of(&g->axes[k]);
        int64_t span = last > first ? last - first : first - last;
        int64_t most = span > 0 ? left / span : 9;
        e.coef[k] = chance(g, 20) ? 0 : between(g, -most, most);
        left -= (e.coef[k] < 0 ? -e.coef[k] : e.coef[k]) * span;
        int64_t at_first = e.coef[k] * first, at_last = e.coef[k] * last;
        low += at_first < at_last ? at_first : at_last;
    }
    e.c = between(g, 0, left) - low;
    return e;
}

/* c + sum of scale * coef * axis; bias is added to c. Sometimes an axis comes in two terms, and zeros are kept. */
static void put_affine(struct generator *g, const struct affine *e, int64_t scale, int64_t bias)
{
    const char *comma = "";
    bool reverse = chance(g, 30);
    bir_buf_printf(&g->code, "{\"c\":%" PRId64 ",\"kind\":\"AffExprKind\",\"terms\":[", e->c * scale + bias);
    for (uint32_t i = 0; i < g->depth; i++) {
        uint32_t k = reverse ? g->depth - 1 - i : i;
        int64_t coef = e->coef[k] * scale, part = chance(g, 15) ? between(g, -5, 5) : 0;
        if (coef == 0 && chance(g, 80))
            continue;
        for (int half = 0; half < (part ? 2 : 1); half++) {
            bir_buf_printf(&g->code, "%s{\"coeff\":%" PRId64 ",\"idx\":{\"axis\":\"%s\",\"kind\":\"AffIVKind\"}}",
                           comma, half ? part : coef - part, g->axes[k].name);
            comma = ",";
        }
    }
    bir_buf_puts(&g->code, "]}");
}

/* scale * a + b, where 0 <= value <= limit; limit 0: no such range. */
static void put_expression(struct generator *g, const struct affine *a, int64_t scale, const struct affine *b,
                           int64_t limit)
{
    struct affine sum = *b;
    sum.c += a->c * scale;
    for (uint32_t k = 0; k < g->depth; k++)
        sum.coef[k] += a->coef[k] * scale;
    int64_t d = between(g, 2, 9);
    uint64_t shape = below(g, 10);
    if (shape == 3 && (g->points == 0 || limit == 0))
        shape = 4; /* an axis without values has no range that a modulo could fold by */
    switch (shape) {
    case 0:
        bir_buf_puts(&g->code, "{\"kind\":\"SumKind\",\"n_terms\":2,\"terms\":[");
        put_affine(g, a, scale, 0);
        bir_buf_putc(&g->code, ',');
        put_affine(g, b, 1, 0);
        bir_buf_puts(&g->code, "]}");
        break;
    case 1:
        bir_buf_puts(&g->code, "{\"kind\":\"SumKind\",\"n_terms\":2,\"terms\":[");
        bir_buf_printf(&g->code, "{\"kind\":\"MultKind\",\"scale\":%" PRId64 ",\"var\":", scale);
        put_affine(g, a, 1, 0);
        bir_buf_puts(&g->code, "},");
        put_affine(g, b, 1, 0);
        bir_buf_puts(&g->code, "]}");
        break;
    case 2: /* (d * e + r) floordiv d, 0 <= r < d */
        bir_buf_printf(&g->code, "{\"denom\":%" PRId64 ",\"kind\":\"FloorDivKind\",\"numer\":", d);
        put_affine(g, &sum, d, between(g, 0, d - 1));
        bir_buf_putc(&g->code, '}');
        break;
    case 3: /* e mod more than its range */
        bir_buf_printf(&g->code, "{\"denom\":%" PRId64 ",\"kind\":\"ModuloKind\",\"numer\":", limit + d);
        put_affine(g, &sum, 1, 0);
        bir_buf_putc(&g->code, '}');
        break;
    default: put_affine(g, &sum, 1, 0); break;
    }
}

/* --- predicates --- */

/* How many points of the open loops the predicates admit: one after the other. */
static uint64_t admitted_points(const struct generator *g)
{
    uint64_t n = 0, total = g->points;
    for (uint32_t k = 0; k < g->depth; k++)
        total = g->axes[k].trip == 0 ? 0 : total;
    if (g->n_predicates == 0)
        return total;
    for (uint64_t point = 0; point < total; point++) {
        uint64_t rest = point;
        int64_t value[MAX_DEPTH];
        bool holds = true;
        for (uint32_t k = g->depth; k-- > 0; rest /= (uint64_t)g->axes[k].trip)
            value[k] = g->axes[k].lb + (int64_t)(rest % (uint64_t)g->axes[k].trip) * g->axes[k].stride;
        for (uint32_t i = 0; i < g->n_predicates; i++) {
            int64_t sum = g->predicates[i].affine.c;
            for (uint32_t k = 0; k < g->depth; k++)
                sum += g->predicates[i].affine.coef[k] * value[k];
            holds = holds && (g->predicates[i].at_least ? sum >= 0 : sum == 0);
        }
        n += holds;
    }
    return n;
}

static bool add_predicate(struct generator *g, const struct affine *affine, bool at_least)
{
    if (g->n_predicates == MAX_PREDICATES)
        return false;
    g->predicates[g->n_predicates++] = (struct predicate){ *affine, at_least };
    g->counts.predicates++;
    return true;
}

/* One or two predicates that hold at some of the points, usually. */
static void make_predicates(struct generator *g)
{
    for (uint64_t n = 1 + below(g, 2); n > 0; n--) {
        struct affine e = make_affine(g, 12);
        e.c -= between(g, 0, 12);
        add_predicate(g, &e, chance(g, 85));
    }
}

/* Those above `first`, as the key of an instruction. */
static void put_predicates(struct generator *g, uint32_t first)
{
    if (first == g->n_predicates)
        return;
    bir_buf_puts(&g->code, ",\"predicates\":[");
    for (uint32_t i = first; i < g->n_predicates; i++) {
        bir_buf_printf(&g->code, "%s{\"ge\":%s,\"expr\":", i > first ? "," : "",
                       g->predicates[i].at_least ? "true" : "false");
        put_affine(g, &g->predicates[i].affine, 1, 0);
        bir_buf_putc(&g->code, '}');
    }
    bir_buf_puts(&g->code, "]");
}

/* --- operands --- */

/* The operands of an instruction, all of its predicates being known. */
static void count_operands(struct generator *g, uint64_t operands)
{
    if (g->points == 0)
        return;
    g->counts.operands += operands;
    g->counts.points += operands * admitted_points(g);
}

static void put_pattern(struct generator *g, int64_t step, int64_t rows, int64_t columns)
{
    if (columns > 1 && columns % 2 == 0 && chance(g, 25))
        bir_buf_printf(&g->code, "\"ap\":[[%" PRId64 ",%" PRId64 "],[%" PRId64 ",2],[1,%" PRId64 "]]", step, rows,
                       columns / 2, columns / 2);
    else
        bir_buf_printf(&g->code, "\"ap\":[[%" PRId64 ",%" PRId64 "],[1,%" PRId64 "]]", step, rows, columns);
}

/* A partition in [0, limit]; in a predicated instruction sometimes more, with predicates that keep it there. */
static struct affine make_partition(struct generator *g, int64_t limit)
{
    if (g->n_predicates == g->n_outer || g->n_predicates + 2 > MAX_PREDICATES || !chance(g, 40))
        return make_affine(g, limit);
    struct affine p = make_affine(g, 2 * limit + 3), above;
    p.c -= between(g, 0, 3);
    for (uint32_t k = 0; k < g->depth; k++)
        above.coef[k] = -p.coef[k];
    above.c = limit - p.c;
    add_predicate(g, &p, true);
    add_predicate(g, &above, true);
    return p;
}

static void put_symbolic(struct generator *g, const struct set *set)
{
    const char *dtype = set->dtype;
    int64_t bytes = set->bytes;
    size_t other = below(g, sizeof(dtypes) / sizeof(dtypes[0]));
    if (chance(g, 15) && set->row_bytes % dtypes[other].bytes == 0) { /* an access may cast */
        dtype = dtypes[other].name;
        bytes = dtypes[other].bytes;
    }
    int64_t row = set->row_bytes / bytes, step = chance(g, 80) ? row : between(g, 1, row);
    int64_t rows = between(g, 1, set->partitions), columns = between(g, 1, step < 64 ? step : 64);
    uint32_t predicates = g->n_predicates;
    struct affine p = make_partition(g, set->partitions - rows), q = make_affine(g, step - columns);
    struct affine block = make_affine(g, set->blocks - 1), none = { .c = 0 };
    bool constant_zero = block.c == 0;
    for (uint32_t k = 0; k < g->depth; k++)
        constant_zero &= block.coef[k] == 0;
    bir_buf_printf(&g->code, "{\"kind\":\"symbolic_ap\",\"dtype\":\"%s\",\"memsetref\":\"%s_set\",", dtype, set->name);
    put_pattern(g, step, rows, columns);
    bir_buf_puts(&g->code, ",\"addrs\":[");
    put_expression(g, &p, step, &q, g->n_predicates == predicates ? step * set->partitions : 0);
    if (!constant_zero || chance(g, 50)) {
        bir_buf_putc(&g->code, ',');
        put_expression(g, &block, 1, &none, set->blocks);
    }
    bir_buf_puts(&g->code, "]}");
}

static void put_physical(struct generator *g, const struct set *set)
{
    int64_t row = set->row_bytes / set->bytes;
    int64_t rows = between(g, 1, set->partitions), columns = between(g, 1, row < 64 ? row : 64);
    bir_buf_printf(
        &g->code,
        "{\"kind\":\"physical_ap\",\"dtype\":\"%s\",\"memref\":\"%s_sub0\",\"memsetref\":\"%s_set\",\"offset\":0,",
        set->dtype, set->name, set->name);
    put_pattern(g, row, rows, columns);
    bir_buf_putc(&g->code, '}');
}

static const struct set *pick_set(struct generator *g, bool psum)
{
    if (psum && g->n_sets > g->n_sb_sets)
        return &g->sets[g->n_sb_sets + below(g, g->n_sets - g->n_sb_sets)];
    return &g->sets[below(g, g->n_sb_sets)];
}

/* 1 when it is symbolic. */
static uint64_t put_operand(struct generator *g, bool psum)
{
    const struct set *set = pick_set(g, psum);
    if (!chance(g, 80)) {
        put_physical(g, set);
        return 0;
    }
    put_symbolic(g, set);
    return 1;
}

static void begin_predicates(struct generator *g)
{
    g->n_outer = g->n_predicates;
    if (g->options->predicates && chance(g, 35))
        make_predicates(g);
}

/* Writes them, counts the operands that they admit, and forgets them. */
static void end_predicates(struct generator *g, uint64_t operands)
{
    put_predicates(g, g->n_outer);
    count_operands(g, operands);
    g->n_predicates = g->n_outer;
}

/* --- instructions --- */

struct shape {
    const char *opcode, *engine, *keys;
    int inputs;
    bool matmult;
};

static const struct shape shapes[] = {
    { "Activation", "Activation",
      "\"acc\":\"Idle\",\"alpha\":0.0,\"func\":\"Copy\",\"op0\":\"bypass\",\"op1\":\"bypass\",\"reduce_op\":\"bypass\","
      "\"scale\":1.0",
      1, false },
    { "TensorTensor", "DVE", "\"acc\":\"Idle\",\"op\":\"add\"", 2, false },
    { "TensorTensor", "Pool", "\"acc\":\"Idle\",\"op\":\"mult\"", 2, false },
    { "TensorCopy", "DVE", "\"can_read_uninit\":false", 1, false },
    { "TensorCopy", "Activation", "\"can_read_uninit\":false", 1, false },
    { "Matmult", "PE",
      "\"accumulation_flag\":3,\"ifmap_quant_offset\":0,\"is_fmap_onezero\":false,\"is_transpose\":false,"
      "\"is_weight_onezero\":false,\"perf_mode\":\"None\",\"psum_zero_region\":0,\"replication_num_rows\":0,"
      "\"replication_resolution\":0,\"replication_shift_amnt\":0,\"tile_position\":[-1,-1],\"tile_size\":[-1,-1],"
      "\"weights_quant_offset\":0",
      2, true },
};

static void put_loopnest(struct generator *g)
{
    if (g->depth == 0)
        return;
    bir_buf_puts(&g->code, ",\"loopnest\":[");
    for (uint32_t k = 0; k < g->depth; k++)
        bir_buf_printf(&g->code, "%s\"%s\"", k ? "," : "", g->axes[k].name);
    bir_buf_putc(&g->code, ']');
}

static void put_plain(struct generator *g)
{
    const struct shape *shape = &shapes[below(g, sizeof(shapes) / sizeof(shapes[0]))];
    bir_buf_printf(&g->code, "{\"name\":\"c%" PRIu64 "\",\"opcode\":\"%s\",\"engine\":\"%s\",%s", g->counts.consumers++,
                   shape->opcode, shape->engine, shape->keys);
    put_loopnest(g);
    begin_predicates(g);
    bir_buf_puts(&g->code, ",\"ins\":[");
    uint64_t operands = 0;
    for (int i = 0; i < shape->inputs; i++) {
        if (i > 0)
            bir_buf_putc(&g->code, ',');
        operands += put_operand(g, !shape->matmult && chance(g, 30));
    }
    bir_buf_puts(&g->code, "],\"outs\":[");
    operands += put_operand(g, shape->matmult || chance(g, 20));
    bir_buf_putc(&g->code, ']');
    end_predicates(g, operands);
    bir_buf_putc(&g->code, '}');
}

/* A row number: a register, an index operand, or a sum over one of them. */
static void put_row_expression(struct generator *g, bool indexed, uint32_t reg)
{
    char leaf[64];
    if (indexed)
        snprintf(leaf, sizeof(leaf), "{\"kind\":\"IndirectArgId\",\"arg_id\":1}");
    else
        snprintf(leaf, sizeof(leaf), "{\"kind\":\"IntRuntimeValueKind\",\"regref\":\"r%u\"}", reg);
    if (chance(g, 70)) {
        bir_buf_puts(&g->code, leaf);
        return;
    }
    int64_t scale = between(g, 1, 5), constant = between(g, 0, 7);
    bir_buf_printf(&g->code,
                   "{\"kind\":\"SumKind\",\"n_terms\":3,\"terms\":[{\"kind\":\"MultKind\",\"scale\":%" PRId64
                   ",\"var\":%s},%s,{\"c\":%" PRId64 ",\"kind\":\"AffExprKind\",\"terms\":[]}]}",
                   scale, leaf, leaf, constant);
}

static void put_row_load(struct generator *g, uint64_t number, uint32_t reg)
{
    bir_buf_printf(&g->allocations, ",{\"Skind\":\"register\",\"dtype\":\"int32\",\"name\":\"r%u\",\"engine\":\"SP\"}",
                   reg);
    bir_buf_printf(
        &g->code,
        "{\"name\":\"ld%" PRIu64 "\",\"opcode\":\"TensorLoad\",\"engine\":\"SP\",\"ins\":[{\"ap\":[[16,1],[1,1]],"
        "\"dtype\":\"int32\",\"kind\":\"physical_ap\",\"memref\":\"pos\",\"memsetref\":\"pos_set\",\"offset\":%" PRIu64
        "}],\"outs\":[{\"dtype\":\"int32\",\"kind\":\"register_access\",\"regref\":\"r%u\"}]},",
        number, below(g, 16), reg);
}

/* A row fetch whose row number is in a register, which is loaded just before, or in a one-element index tensor. */
static void put_dynamic(struct generator *g)
{
    bool indexed = chance(g, 40);
    uint32_t reg = g->n_registers;
    uint64_t number = g->counts.consumers++;
    if (!indexed) {
        g->n_registers++;
        put_row_load(g, number, reg);
    }
    int64_t columns = between(g, 1, 512), c = chance(g, 40) ? 0 : between(g, 0, 512 - columns);
    bir_buf_printf(&g->code,
                   "{\"name\":\"c%" PRIu64
                   "\",\"opcode\":\"DMACopy\",\"engine\":\"SP\",\"dge_type\":\"HWDGE\",\"mode\":\"Copy\","
                   "\"queue\":\"qSP0\",\"ins\":[{\"ap\":[[512,1],[1,%" PRId64
                   "]],\"dtype\":\"float32\",\"dynamic_ap_info\":{"
                   "\"actual_ap\":[[512,1],[1,%" PRId64 "]],\"c\":%" PRId64
                   ",\"indirect_dim\":\"W\",\"indirect_dim_max_index\":%d,\"offset_expr\":[",
                   number, columns, columns, c, g->big ? BIG_ROWS : ROWS);
    for (int term = 0, n = chance(g, 20) ? 2 : 1; term < n; term++) {
        bir_buf_printf(&g->code, "%s{\"aff_expr\":", term ? "," : "");
        put_row_expression(g, indexed, reg);
        bir_buf_printf(&g->code, ",\"coef\":%d}", term ? 1 : 512);
    }
    bir_buf_puts(&g->code,
                 "]},\"kind\":\"physical_ap\",\"memref\":\"cache\",\"memsetref\":\"cache_set\",\"offset\":0}]");
    if (indexed)
        bir_buf_printf(&g->code,
                       ",\"indirection_ins\":[{\"ap\":[[16,1],[1,1]],\"dtype\":\"int32\",\"kind\":\"physical_ap\","
                       "\"memref\":\"pos\",\"memsetref\":\"pos_set\",\"offset\":%" PRIu64 "}]",
                       below(g, 16));
    begin_predicates(g);
    bool mixed = g->options->mixed && chance(g, 50);
    bir_buf_puts(&g->code, ",\"outs\":[");
    (mixed ? put_symbolic : put_physical)(g, pick_set(g, false));
    bir_buf_puts(&g->code, "]");
    put_loopnest(g);
    end_predicates(g, mixed ? 2 : 1);
    bir_buf_putc(&g->code, '}');
}

/* --- statements --- */

static bool enough(const struct generator *g)
{
    return g->counts.consumers >= g->options->max_instructions;
}

static void make_axis(struct generator *g, struct axis *axis)
{
    static const int64_t trips[] = { 1, 2, 2, 3, 4, 4, 5, 7, 16, 17, 33 };
    static const int64_t strides[] = { 1, 1, 1, 2, 3, -1, -2 };
    axis->trip = trips[below(g, sizeof(trips) / sizeof(trips[0]))];
    while (g->points > 0 && g->points * (uint64_t)axis->trip > g->options->max_points && axis->trip > 1)
        axis->trip /= 2;
    if (g->options->empty_loops && chance(g, 3))
        axis->trip = 0;
    axis->stride = strides[below(g, sizeof(strides) / sizeof(strides[0]))];
    axis->lb = chance(g, 50) ? 0 : between(g, -8, 8);
    /* The upper bound need not be hit exactly. */
    int64_t over = axis->stride > 0 ? -between(g, 0, axis->stride - 1) : between(g, 0, -axis->stride - 1);
    axis->ub = axis->trip == 0 ? axis->lb : axis->lb + axis->trip * axis->stride + over;
    if (chance(g, 50))
        snprintf(axis->name, sizeof(axis->name), "%c", "ijklmnop"[g->depth]);
    else
        snprintf(axis->name, sizeof(axis->name), "ax%u", g->n_loops);
}

static void put_statement(struct generator *g);

static void put_loop(struct generator *g)
{
    struct axis *axis = &g->axes[g->depth];
    uint64_t outer_points = g->points;
    uint32_t outer_predicates = g->n_predicates;
    make_axis(g, axis);
    bir_buf_printf(&g->code,
                   "{\"name\":\"loop%u\",\"opcode\":\"Loop\",\"engine\":\"Unassigned\",\"ins\":[],\"outs\":[],"
                   "\"LoopAxis\":{\"lb\":%" PRId64 ",\"name\":\"%s\",\"stride\":%" PRId64 ",\"ub\":%" PRId64 "}",
                   g->n_loops, axis->lb, axis->name, axis->stride, axis->ub);
    if (g->options->predicates && chance(g, 12) && g->n_predicates + 8 < MAX_PREDICATES)
        make_predicates(g);
    put_predicates(g, outer_predicates);
    bir_buf_puts(&g->code, ",\"blocks\":[");
    g->n_loops++;
    g->depth++;
    for (uint32_t i = 0; i < g->n_predicates; i++)
        g->predicates[i].affine.coef[g->depth - 1] = 0;
    g->points *= (uint64_t)axis->trip;
    unsigned blocks = chance(g, 20) ? 2 : 1;
    for (unsigned b = 0; b < blocks; b++) {
        uint64_t n = 1 + below(g, g->options->max_statements);
        bir_buf_printf(&g->code, "%s{\"name\":\"b%u\",\"instructions\":[", b ? "," : "", g->n_blocks++);
        for (uint64_t i = 0; i < n && (i == 0 || !enough(g)); i++) {
            if (i > 0)
                bir_buf_putc(&g->code, ',');
            put_statement(g);
        }
        bir_buf_puts(&g->code, "]}");
    }
    bir_buf_puts(&g->code, "]}");
    g->depth--;
    g->points = outer_points;
    g->n_predicates = outer_predicates;
}

static void put_statement(struct generator *g)
{
    bool deeper = g->depth < g->options->max_depth && g->depth < MAX_DEPTH;
    if (deeper && chance(g, g->depth == 0 ? 75 : 40))
        put_loop(g);
    else if (g->options->dynamic && chance(g, 12))
        put_dynamic(g);
    else
        put_plain(g);
}

void generate_options_init(struct generate_options *options)
{
    *options = (struct generate_options){ .max_depth = 4,
                                          .max_nests = 4,
                                          .max_statements = 3,
                                          .max_points = 96,
                                          .max_instructions = 24,
                                          .dynamic = true,
                                          .empty_loops = true };
}

static void put_function(struct generator *g)
{
    uint64_t n = 1 + below(g, g->options->max_nests);
    unsigned sb = 1 + (unsigned)below(g, 3), psum = 1 + (unsigned)below(g, 2);
    for (unsigned i = 0; i < sb; i++)
        make_set(g, false);
    for (unsigned i = 0; i < psum; i++)
        make_set(g, true);
    if (g->options->dynamic)
        put_dynamic_storages(g);
    for (uint64_t i = 0; i < n || (g->options->exact && !enough(g)); i++) {
        if (i > 0)
            bir_buf_putc(&g->code, ',');
        put_statement(g);
    }
}

bool generate_module(uint64_t seed, const struct generate_options *options, struct bir_buf *out,
                     struct generate_counts *counts)
{
    struct generator g = { .random = seed, .options = options, .points = 1 };
    static const char *const archs[] = { "sunda", "gen3", "core_v4" };
    bir_buf_init(&g.code, 0);
    bir_buf_init(&g.allocations, 0);
    const char *arch = archs[below(&g, 3)];
    put_function(&g);
    bir_buf_printf(
        out,
        "{\"arch\":\"%s\",\"attributes\":{},\"functions\":[{\"name\":\"sg0000\",\"attributes\":[],\"allocations\":[",
        arch);
    bir_buf_put(out, g.allocations.data, g.allocations.len);
    bir_buf_puts(out, "],\"blocks\":[{\"name\":\"Block1\",\"instructions\":[");
    bir_buf_put(out, g.code.data, g.code.len);
    bir_buf_puts(out, "]}]}],\"queues\":[{\"blocks\":[],\"name\":\"qSP0\"}],\"revision\":\"v1\",\"version\":2}");
    bool done = g.code.status == BIR_OK && g.allocations.status == BIR_OK && out->status == BIR_OK;
    bir_buf_deinit(&g.code);
    bir_buf_deinit(&g.allocations);
    if (counts)
        *counts = g.counts;
    return done;
}

/*
 * BIR-JSON modules of any size for the measurements: canonical keys, compact. Not for threads: the stream and the
 * number of tensors are those of the module being written.
 */
#include "modules.h"

#include <stdlib.h>
#include <string.h>

enum {
    TENSORS_MAX = 64,
    PER_LOOP = 8,
    NEST_REPEATED = 32, /* of the loops of a nest one in so many is run through more than once */
    NEST_MAX = 100,     /* beyond it JSON nests deeper than readers allow */
};

static FILE *out;

static long tensors = TENSORS_MAX; /* fewer in small modules */
static bool has_registers;         /* a fourth of the instructions have one, each its own */

static void set(const char *name, const char *kind, const char *type, long addr, int blocks, const char *dtype)
{
    fprintf(out,
            "{\"Skind\":\"memory_location_set\",\"addr_space\":\"Local\",\"dtype\":\"%s\",\"kind\":\"%s\","
            "\"memorylocations\":[",
            dtype, kind);
    for (int b = 0; b < blocks; b++) {
        fprintf(out,
                "%s{\"Skind\":\"memory_location\",\"addr\":%ld,\"allocated\":true,\"bank\":0,\"base\":0,\"dims\":[128,"
                "1024],\"name\":\"%s",
                b ? "," : "", addr + b * 1024L, name);
        if (blocks > 1)
            fprintf(out, "_sub%d", b);
        fprintf(out, "\",\"pinned\":false,\"tensor_id\":%d,\"type\":\"%s\"}", b, type);
    }
    fprintf(out,
            "],\"name\":\"%s_set\",\"partition_dim\":0,\"tensorId2MemLocSize\":%d,\"tensor_class\":\"%s\",\"tensor_"
            "shape\":[",
            name, blocks, blocks > 1 ? "NeuronBlockTensor" : "NeuronSBTensor");
    if (blocks > 1)
        fprintf(out, "%d,", blocks);
    fprintf(out, "128,%d]}", strcmp(dtype, "bfloat16") == 0 ? 512 : 256);
}

static void physical(const char *tensor, long n)
{
    fprintf(out,
            "{\"access_shape\":[128,256],\"ap\":[[256,128],[1,256]],\"dtype\":\"float32\",\"kind\":\"physical_ap\","
            "\"memref\":\"%s%ld\",\"memsetref\":"
            "\"%s%ld_set\",\"offset\":0}",
            tensor, n % tensors, tensor, n % tensors);
}

static void header_end(long n, const char *opcode)
{
    fprintf(out, "\"name\":\"inst.%ld\",\"opcode\":\"%s\",\"optin_passes\":[],\"origin\":\"NKI\",", n, opcode);
}

static void dependencies(long n)
{
    if (n > 0)
        fprintf(out, "\"dependencies\":[[\"inst.%ld\",\"Flow\"]],", n - 1);
}

static void register_instruction(long n)
{
    dependencies(n);
    fprintf(out,
            "\"engine\":\"DVE\",\"engine_id\":0,\"ins\":[{\"dtype\":\"int32\",\"kind\":\"imm_value\",\"value\":%ld}],",
            n);
    header_end(n, "RegisterMove");
    fprintf(out, "\"outs\":[{\"dtype\":\"int32\",\"kind\":\"register_access\",\"regref\":\"r%ld\"}],", n);
}

static void static_instruction(long n)
{
    fprintf(out, "%s{", n ? "," : "");
    if (has_registers && n % 4 == 1) {
        register_instruction(n);
    } else if (n % 4 == 0 || n % 4 == 3) {
        fprintf(out, "\"debug\":{\"filename\":\"kernels/bench.py\",\"lineno\":%ld},", n % 97);
        dependencies(n);
        fprintf(out, "\"dge_type\":\"HWDGE\",\"engine\":\"SP\",\"engine_id\":0,\"ins\":[");
        physical(n % 4 == 0 ? "d" : "t", n / 4);
        fprintf(out, "],\"mode\":\"Copy\",");
        header_end(n, "DMACopy");
        fprintf(out, "\"outs\":[");
        physical(n % 4 == 0 ? "t" : "d", n / 4 + 1);
        fprintf(out, "],\"queue\":\"qSP0\",");
    } else if (n % 4 == 1) {
        fprintf(out, "\"const0\":2.5,\"const1\":0.0,\"debug\":{\"filename\":\"kernels/bench.py\",\"lineno\":%ld},",
                n % 97);
        dependencies(n);
        fprintf(out, "\"engine\":\"DVE\",\"engine_id\":0,\"ins\":[");
        physical("t", n / 4);
        fprintf(out, "],");
        fprintf(
            out,
            "\"name\":\"inst.%ld\",\"op0\":\"mult\",\"op1\":\"bypass\",\"opcode\":\"TensorScalar\",\"optin_passes\":"
            "[],\"origin\":\"NKI\",\"outs\":[",
            n);
        physical("t", n / 4 + 1);
        fprintf(out, "],\"reverse0\":false,\"reverse1\":false,");
    } else {
        fprintf(out, "\"acc\":\"Idle\",\"debug\":{\"filename\":\"kernels/bench.py\",\"lineno\":%ld},", n % 97);
        dependencies(n);
        fprintf(out, "\"engine\":\"DVE\",\"engine_id\":0,\"ins\":[");
        physical("t", n / 4);
        fprintf(out, ",");
        physical("t", n / 4 + 1);
        fprintf(out,
                "],\"name\":\"inst.%ld\",\"op\":\"add\",\"opcode\":\"TensorTensor\",\"optin_passes\":[],\"origin\":"
                "\"NKI\",\"outs\":[",
                n);
        physical("t", n / 4 + 2);
        fprintf(out, "],");
    }
    fprintf(out, "\"scheduled_end\":0,\"scheduled_start\":0}");
}

static void static_module(long count)
{
    fprintf(out, "{\"arch\":\"gen3\",\"functions\":[{\"allocations\":[");
    for (long i = 0; i < tensors; i++) {
        char name[32];
        snprintf(name, sizeof(name), "t%ld", i);
        set(name, "Internal", "SB", i % TENSORS_MAX * 1024L, 1, "float32");
        fprintf(out, ",");
        snprintf(name, sizeof(name), "d%ld", i);
        set(name, "ExternalInput", "DRAM", 0, 1, "float32");
        if (i + 1 < tensors)
            fprintf(out, ",");
    }
    for (long n = 1; has_registers && n < count; n += 4)
        fprintf(out, ",{\"Skind\":\"register\",\"dtype\":\"int32\",\"name\":\"r%ld\"}", n);
    fprintf(out, "],\"attributes\":[],\"blocks\":[{\"instructions\":[");
    for (long n = 0; n < count; n++)
        static_instruction(n);
    fprintf(out,
            "],\"name\":\"Block1\"}],\"name\":\"sg0000\"}],\"queues\":[{\"blocks\":[],\"name\":\"qSP0\"}],\"revision\":"
            "\"v1\",\"version\":2}\n");
}

/* Coefficients of the k-th symbolic operand: tile = c + ci * i + cj * j inside a block, block = i. */
static long tile_constant(long k)
{
    return k % 8;
}

static long tile_i(long k)
{
    return 64 * (1 + k % 2);
}

static const long tile_j = 16384;

static void iv_term(const char *axis, long loop, long coef)
{
    fprintf(out, "{\"coeff\":%ld,\"idx\":{\"axis\":\"%s%ld\",\"kind\":\"AffIVKind\"}}", coef, axis, loop);
}

/* An Activation with one symbolic input, in three parts: up to the expressions of its address, from behind their terms
 * up to the names of its loops, and from there. */
static void activation_open(void)
{
    fprintf(out,
            "{\"acc\":\"Idle\",\"alpha\":0.0,\"engine\":\"Activation\",\"engine_id\":0,\"func\":\"Copy\",\"ins\":[{"
            "\"access_shape\":[32,64],\"addrs\":[");
}

static void activation_input(long k)
{
    fprintf(out,
            "]}],\"ap\":[[512,32],[1,64]],\"dtype\":\"bfloat16\",\"kind\":\"symbolic_ap\",\"memsetref\":\"x%ld_set\"}],"
            "\"loopnest\":[",
            k % tensors);
}

static void activation_close(long k)
{
    fprintf(
        out,
        "],\"name\":\"act%ld\",\"op0\":\"bypass\",\"op1\":\"bypass\",\"opcode\":\"Activation\",\"optin_passes\":[],"
        "\"origin\":\"Internal\",\"outs\":[{"
        "\"ap\":[[64,32],[1,64]],\"dtype\":\"bfloat16\",\"kind\":\"physical_ap\",\"memref\":\"y\",\"memsetref\":\"y_"
        "set\",\"offset\":0}],"
        "\"reduce_op\":\"bypass\",\"scale\":1.0,\"scheduled_end\":0,\"scheduled_start\":0}",
        k);
}

static void loop_instruction(long k, long loop)
{
    activation_open();
    fprintf(out, "{\"c\":%ld,\"kind\":\"AffExprKind\",\"terms\":[", tile_constant(k));
    iv_term("i", loop, tile_i(k));
    fprintf(out, ",");
    iv_term("j", loop, tile_j);
    fprintf(out, "]},{\"c\":0,\"kind\":\"AffExprKind\",\"terms\":[");
    iv_term("i", loop, 1);
    activation_input(k);
    fprintf(out, "\"i%ld\",\"j%ld\"", loop, loop);
    activation_close(k);
}

static void loop_open(const char *axis, long loop, int trips)
{
    fprintf(out, "{\"LoopAxis\":{\"lb\":0,\"name\":\"%s%ld\",\"stride\":1,\"ub\":%d},\"blocks\":[{\"instructions\":[",
            axis, loop, trips);
}

static void loop_close(const char *axis, long loop)
{
    fprintf(out,
            "],\"name\":\"loop_%s%ld_body\"}],\"engine\":\"Unassigned\",\"engine_id\":0,\"ins\":[],\"name\":\"loop_%s%"
            "ld\",\"opcode\":\"Loop\","
            "\"optin_passes\":[],\"origin\":\"Internal\",\"outs\":[],\"scheduled_end\":0,\"scheduled_start\":0}",
            axis, loop, axis, loop);
}

static void loop_module_open(void)
{
    fprintf(out, "{\"arch\":\"gen3\",\"functions\":[{\"allocations\":[");
    for (int i = 0; i < tensors; i++) {
        char name[16];
        snprintf(name, sizeof(name), "x%d", i);
        set(name, "Internal", "SB", 1024L + i % 32 * 4096L, 4, "bfloat16");
        fprintf(out, ",");
    }
    set("y", "Internal", "SB", 0, 1, "bfloat16");
    fprintf(out, "],\"attributes\":[],\"blocks\":[{\"instructions\":[");
}

static void loop_module_close(void)
{
    fprintf(out, "],\"name\":\"Block1\"}],\"name\":\"sg0000\"}],\"revision\":\"v1\",\"version\":2}\n");
}

static void loop_module(long count)
{
    loop_module_open();
    for (long k = 0; k < count; k++) {
        long loop = k / PER_LOOP;
        if (k % PER_LOOP == 0) {
            if (k)
                fprintf(out, ",");
            loop_open("i", loop, 4);
            loop_open("j", loop, 4);
        } else {
            fprintf(out, ",");
        }
        loop_instruction(k, loop);
        if (k % PER_LOOP == PER_LOOP - 1 || k + 1 == count) {
            loop_close("j", loop);
            loop_close("i", loop);
        }
    }
    loop_module_close();
}

/* Axis number level of a nest that begins with instruction `first`. */
static void nest_term(long first, int level, long coef)
{
    iv_term("n", first + level, coef);
}

static void nest_instruction(long first, int level)
{
    long k = first + level;
    activation_open();
    fprintf(out, "{\"c\":%ld,\"kind\":\"AffExprKind\",\"terms\":[", tile_constant(k));
    nest_term(first, 0, tile_i(k));
    if (level > 0) {
        fprintf(out, ",");
        nest_term(first, level, tile_j);
    }
    fprintf(out, "]},{\"c\":0,\"kind\":\"AffExprKind\",\"terms\":[");
    nest_term(first, 0, 1);
    activation_input(k);
    for (int i = 0; i <= level; i++)
        fprintf(out, "%s\"n%ld\"", i ? "," : "", first + i);
    activation_close(k);
}

/* A loop, an instruction in its body, beside that the next loop, and so on: `depth` of both. */
static void nest(long first, int depth)
{
    for (int level = 0; level < depth; level++) {
        if (level)
            fprintf(out, ",");
        loop_open("n", first + level, level % NEST_REPEATED == 0 ? 4 : 1);
        nest_instruction(first, level);
    }
    for (int level = depth - 1; level >= 0; level--)
        loop_close("n", first + level);
}

static void nest_module(long count, int depth)
{
    loop_module_open();
    for (long first = 0; first < count; first += depth) {
        if (first)
            fprintf(out, ",");
        nest(first, count - first < depth ? (int)(count - first) : depth);
    }
    loop_module_close();
}

/* The same address per operand: table entry of the block, row and column of the tile. The delinearisation is written as
 * lower_ap must compute it. */
static void mlir_module(long count)
{
    fprintf(out, "func private @use(index, index)\n");
    for (long k = 0; k < count; k++) {
        if (k % PER_LOOP == 0)
            fprintf(out, "func @loop%ld(%%base: index) {\n  affine.for %%i = 0 to 4 {\n    affine.for %%j = 0 to 4 {\n",
                    k / PER_LOOP);
        fprintf(out,
                "      %%t%ld = affine.apply affine_map<(i, j)[b] -> (b + i * 4 + (%ld + i * %ld + j * %ld) floordiv "
                "512 * 262144 + "
                "((%ld + i * %ld + j * %ld) mod 512) * 2)>(%%i, %%j)[%%base]\n",
                k, tile_constant(k), tile_i(k), tile_j, tile_constant(k), tile_i(k), tile_j);
        fprintf(out, "      %%u%ld = affine.apply affine_map<(i, j) -> (%ld + i * %ld + j * %ld)>(%%i, %%j)\n", k,
                tile_constant(k), tile_i(k), tile_j);
        fprintf(out, "      call @use(%%t%ld, %%u%ld) : (index, index) -> ()\n", k, k);
        if (k % PER_LOOP == PER_LOOP - 1 || k + 1 == count)
            fprintf(out, "    }\n  }\n  return\n}\n");
    }
}

static void names_module(long count)
{
    tensors = count;
    has_registers = true;
    static_module(count);
}

/* 0 when that is no depth. */
static int nest_depth(const char *digits)
{
    char *end;
    long depth = strtol(digits, &end, 10);
    return *digits >= '1' && *digits <= '9' && *end == '\0' && depth <= NEST_MAX ? (int)depth : 0;
}

bool bench_module(FILE *to, const char *kind, long count)
{
    static const char nested[] = "nested";
    out = to;
    has_registers = false;
    tensors = count / 8 < TENSORS_MAX ? 1 + count / 8 : TENSORS_MAX;
    if (strcmp(kind, "static") == 0)
        static_module(count);
    else if (strcmp(kind, "loops") == 0)
        loop_module(count);
    else if (strcmp(kind, "names") == 0)
        names_module(count);
    else if (strncmp(kind, nested, strlen(nested)) == 0 && nest_depth(kind + strlen(nested)) > 0)
        nest_module(count, nest_depth(kind + strlen(nested)));
    else if (strcmp(kind, "mlir") == 0)
        mlir_module(count);
    else
        return false;
    return fflush(to) == 0;
}

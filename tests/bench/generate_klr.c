/*
 * Writes .klr kernels of any size for the measurements, as the tracer would write an unrolled loop.
 *
 * usage: generate_klr COUNT
 *   COUNT statements in one block, four to a tile: load two rows of tiles from HBM, add the second to the first,
 *   exponentiate, store. Every tile has tensors of its own; each store waits for the load before it by an edge.
 *
 * The bytes follow klr-format.md: a value is a tag of type and constructor, the number of fields, and the fields. The
 * numbers below are those of klr-schema.tsv.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 128, COLUMNS = 512, ELEMENT_BYTES = 4, PER_TILE = 4 };

enum {
    TYPE_POS = 100,
    TYPE_STMT = 103,
    TYPE_BLOCK = 104,
    TYPE_EDGES = 107,
    TYPE_LNC_KERNEL = 108,
    TYPE_MEMORY = 110,
    TYPE_DTYPE = 111,
    TYPE_SHAPE = 112,
    TYPE_ADDRESS = 113,
    TYPE_TENSOR_NAME = 114,
    TYPE_AP_PAIR = 119,
    TYPE_BIR_PATTERN = 124,
    TYPE_ACCESS = 125,
    TYPE_TENSOR_REF = 128,
    TYPE_ENGINE = 130,
    TYPE_IMMEDIATE = 131,
    TYPE_OPERAND = 133,
    TYPE_ALU_OP = 135,
    TYPE_ACCUM_CMD = 137,
    TYPE_ACTIVATION = 138,
    TYPE_DGE_COMPUTE = 140,
    TYPE_DMA_BOUNDS = 141,
    TYPE_NC_ACTIVATE = 149,
    TYPE_NC_DMA_COPY = 153,
    TYPE_TENSOR_TENSOR = 182,
    TYPE_FILE = 217,
    TYPE_OPERATOR = 218,
    TYPE_META = 235,
    TYPE_CONTENTS = 236,
    TYPE_OPTION = 255,
};

enum { MEMORY_HBM, MEMORY_SBUF };
enum { OPERATOR_NC_ACTIVATE = 1, OPERATOR_NC_DMA_COPY = 11, OPERATOR_TENSOR_TENSOR = 34 };

static void head(unsigned major, uint64_t value)
{
    unsigned size_log = value < 24 ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : value <= UINT32_MAX ? 3 : 4;
    if (size_log == 0) {
        putchar((int)(major << 5 | value));
        return;
    }
    putchar((int)(major << 5 | (23 + size_log)));
    for (unsigned left = 1u << (size_log - 1); left-- > 0;)
        putchar((int)(value >> (8 * left) & 0xff));
}

static void node(unsigned type, unsigned ctor, unsigned fields)
{
    const unsigned char bytes[] = { 0xd9, (unsigned char)type, (unsigned char)ctor, (unsigned char)(0x80 + fields) };
    fwrite(bytes, 1, sizeof bytes, stdout);
}

static void nat(uint64_t value)
{
    head(0, value);
}

static void boolean(bool value)
{
    putchar(value ? 0xf5 : 0xf4);
}

static void list(uint64_t count)
{
    head(4, count);
}

static void text(const char *value)
{
    head(3, strlen(value));
    fputs(value, stdout);
}

/* stem and number as one text. */
static void name(const char *stem, long n)
{
    char value[64];
    snprintf(value, sizeof value, "%s%ld", stem, n);
    text(value);
}

static void none(void)
{
    node(TYPE_OPTION, 0, 0);
}

static void some(void)
{
    node(TYPE_OPTION, 1, 1);
}

static void tensor(const char *stem, long n, unsigned memory)
{
    node(TYPE_TENSOR_NAME, 0, 8); /* two of the eight are proofs, which take no bytes */
    name(stem, n);
    node(TYPE_DTYPE, 5, 0);
    node(TYPE_SHAPE, 0, 2);
    nat(ROWS);
    list(1);
    nat(COLUMNS);
    node(TYPE_ADDRESS, 0, 7);
    name(stem, n);
    node(TYPE_MEMORY, memory, 0);
    nat(ROWS);
    nat(COLUMNS * ELEMENT_BYTES);
    none();
    none();
    boolean(false);
    nat(COLUMNS);
    boolean(true);
}

static void pair(uint64_t step, uint64_t num)
{
    node(TYPE_AP_PAIR, 0, 3);
    nat(step);
    nat(num);
    nat(0);
}

static void operand(const char *stem, long n, unsigned memory)
{
    node(TYPE_TENSOR_REF, 0, 1);
    node(TYPE_ACCESS, 3, 1);
    node(TYPE_BIR_PATTERN, 0, 7);
    tensor(stem, n, memory);
    nat(0);
    list(2);
    pair(COLUMNS, ROWS);
    pair(1, COLUMNS);
    none();
    none();
    nat(0);
    none();
}

static void statement_end(long n)
{
    some();
    name("inst.", n);
    node(TYPE_POS, 0, 5);
    nat((uint64_t)(20 + n % PER_TILE));
    nat(4);
    none();
    none();
    some();
    text("kernels/bench.py");
}

static void dma_end(void)
{
    node(TYPE_DGE_COMPUTE, 0, 0);
    node(TYPE_DMA_BOUNDS, 1, 0);
    nat(0);
    boolean(true);
    none();
    node(TYPE_ENGINE, 2, 0);
}

static void statement(long n)
{
    static const unsigned operators[PER_TILE] = { OPERATOR_NC_DMA_COPY, OPERATOR_TENSOR_TENSOR, OPERATOR_NC_ACTIVATE,
                                                  OPERATOR_NC_DMA_COPY };
    long tile = n / PER_TILE;
    node(TYPE_STMT, 0, 3);
    node(TYPE_OPERATOR, operators[n % PER_TILE], 1);
    switch (n % PER_TILE) {
    case 0:
        node(TYPE_NC_DMA_COPY, 0, 8);
        operand("loaded", tile, MEMORY_SBUF);
        operand("input", tile % 64, MEMORY_HBM);
        dma_end();
        break;
    case 1:
        node(TYPE_TENSOR_TENSOR, 0, 6);
        operand("sum", tile, MEMORY_SBUF);
        operand("loaded", tile, MEMORY_SBUF);
        operand("loaded", tile, MEMORY_SBUF);
        node(TYPE_ALU_OP, 1, 0);
        none();
        node(TYPE_ENGINE, 3, 0);
        break;
    case 2:
        node(TYPE_NC_ACTIVATE, 0, 9);
        operand("result", tile, MEMORY_SBUF);
        operand("sum", tile, MEMORY_SBUF);
        node(TYPE_ACCUM_CMD, 0, 0);
        node(TYPE_ACTIVATION, 5, 0);
        node(TYPE_OPERAND, 0, 1);
        node(TYPE_IMMEDIATE, 3, 1);
        fwrite("\xfa\x3f\x80\x00\x00", 1, 5, stdout); /* 1.0 */
        none();
        none();
        none();
        none();
        break;
    default:
        node(TYPE_NC_DMA_COPY, 0, 8);
        operand("output", tile % 64, MEMORY_HBM);
        operand("result", tile, MEMORY_SBUF);
        dma_end();
        break;
    }
    statement_end(n);
}

static void kernel(long count)
{
    long tiles = (count + PER_TILE - 1) / PER_TILE, edges = count / PER_TILE;
    uint64_t tensors = tiles < 64 ? (uint64_t)tiles : 64;
    node(TYPE_LNC_KERNEL, 0, 7);
    text("bench");
    for (int outputs = 0; outputs < 2; outputs++) {
        list(tensors);
        for (uint64_t i = 0; i < tensors; i++)
            tensor(outputs ? "output" : "input", (long)i, MEMORY_HBM);
    }
    list(1);
    list(1);
    node(TYPE_BLOCK, 0, 3);
    text("main.1");
    boolean(false);
    list((uint64_t)count);
    for (long n = 0; n < count; n++)
        statement(n);
    list(0);
    list(0);
    list((uint64_t)edges);
    for (long tile = 0; tile < edges; tile++) {
        node(TYPE_EDGES, 0, 2);
        name("inst.", tile * PER_TILE);
        list(1);
        name("inst.", tile * PER_TILE + PER_TILE - 1);
    }
}

int main(int argc, char **argv)
{
    char *end = NULL;
    long count = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    if (count < 1 || count > 10000000 || *end) {
        fprintf(stderr, "usage: generate_klr COUNT\n");
        return 2;
    }
    node(TYPE_FILE, 0xf7, 3);
    nat(0);
    nat(0);
    nat(12);
    node(TYPE_META, 0, 1);
    text("NKI");
    node(TYPE_CONTENTS, 3, 1);
    kernel(count);
    return fflush(stdout) == 0 ? 0 : 1;
}

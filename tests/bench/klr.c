/*
 * Reads and converts .klr files.
 *
 * usage: bench_klr FILE...         time of reading and of converting, memory of the tree against the file
 *        bench_klr once read FILE, bench_klr once convert FILE
 *                                  one run, for callgrind; prints bytes and statements
 *
 * Times are CPU time of this thread, best of several rounds, since the machines are shared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/codegen.h"

enum { ROUNDS = 7 };

struct run {
    char *bytes;
    size_t len;
    bool convert;
    uint64_t statements;
    size_t tree_bytes;
    double read_seconds, convert_seconds;
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void load(const char *path, struct run *run)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    run->len = (size_t)ftell(f);
    rewind(f);
    run->bytes = malloc(run->len + 1);
    if (!run->bytes || fread(run->bytes, 1, run->len, f) != run->len)
        exit(1);
    fclose(f);
}

static void fail(const struct bir_diags *diags)
{
    fprintf(stderr, "bench_klr: %s\n", diags->first ? diags->first->message : "out of memory");
    exit(1);
}

static void once(struct run *run)
{
    struct bir_arena arena;
    struct bir_strtab strings;
    struct bir_diags diags;
    struct klr_file file;
    bir_arena_init(&arena, 0);
    bir_strtab_init(&strings, &arena);
    bir_diags_init(&diags, &arena, 10);
    double start = cpu_seconds();
    if (klr_read(run->bytes, run->len, NULL, &strings, &arena, &diags, &file) != BIR_OK)
        fail(&diags);
    run->read_seconds = cpu_seconds() - start;
    run->statements = file.statements;
    run->tree_bytes = bir_arena_used(&arena);
    if (run->convert) {
        const struct bir_codegen_options options = { 0 };
        struct bir_module *module = NULL;
        start = cpu_seconds();
        if (bir_codegen_klr(&file, &options, &diags, &module) != BIR_OK)
            fail(&diags);
        run->convert_seconds = cpu_seconds() - start;
        bir_module_free(module);
    }
    bir_arena_deinit(&arena);
}

static void measure(const char *path)
{
    struct run run = { .convert = true };
    double read = 1e9, convert = 1e9;
    load(path, &run);
    for (int i = 0; i < ROUNDS; i++) {
        once(&run);
        read = run.read_seconds < read ? run.read_seconds : read;
        convert = run.convert_seconds < convert ? run.convert_seconds : convert;
    }
    printf("%.2f MB, %llu statements\n", (double)run.len / 1e6, (unsigned long long)run.statements);
    printf("  read     %7.1f MB/s   tree %.2f of the file (bound: below 3)\n", (double)run.len / 1e6 / read,
           (double)run.tree_bytes / (double)run.len);
    printf("  convert  %7.1f MB/s   %10.0f statements/s\n", (double)run.len / 1e6 / convert,
           (double)run.statements / convert);
    free(run.bytes);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "once") == 0) {
        struct run run = { .convert = strcmp(argv[2], "convert") == 0 };
        if (!run.convert && strcmp(argv[2], "read") != 0)
            return 2;
        load(argv[3], &run);
        once(&run);
        printf("%zu %llu\n", run.len, (unsigned long long)run.statements);
        free(run.bytes);
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "once") == 0) {
        fprintf(stderr, "usage: bench_klr FILE..., bench_klr once read|convert FILE\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    return 0;
}

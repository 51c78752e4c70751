/*
 * Measures the compiler core in process, each figure as a ratio against a peer on the same bytes in the same run.
 *
 * usage: bench_core read FILE...     reading BIR-JSON against jansson's load, writing against its dump, bytes held
 *        bench_core lower FILE       cold lower, bytes in to bytes out: instructions and emitted operations a second
 *        bench_core encode FILE      cold encode to bin against jansson's load of the same text
 *        bench_core once METHOD FILE one run, for callgrind
 *
 * Times are CPU time of this thread, best of several rounds, since the machines are shared.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bir/json.h"
#include "compile.h"
#include "isa/encode.h"

enum { ROUNDS = 7 };

struct bytes {
    char *data;
    size_t len;
};

static struct bytes load(const char *path)
{
    struct bytes b = { 0 };
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    b.len = (size_t)ftell(f);
    rewind(f);
    b.data = malloc(b.len + 1);
    if (!b.data || fread(b.data, 1, b.len, f) != b.len)
        exit(1);
    fclose(f);
    return b;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Best CPU time of ROUNDS runs of fn. */
static double best(void (*fn)(void *), void *arg)
{
    double least = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_seconds();
        fn(arg);
        double took = cpu_seconds() - start;
        if (took < least)
            least = took;
    }
    return least;
}

static struct bir_module *read_module(struct bytes b)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module = NULL;
    const struct bir_read_options options = { 0 };
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    if (bir_module_read_json(b.data, b.len, &options, &diags, &module) != BIR_OK) {
        fprintf(stderr, "bench_core: %s\n", diags.first ? diags.first->message : "cannot read the module");
        exit(1);
    }
    bir_arena_deinit(&arena);
    return module;
}

static void run_read(void *arg)
{
    bir_module_free(read_module(*(struct bytes *)arg));
}

static void run_jansson_load(void *arg)
{
    struct bytes *b = arg;
    json_t *doc = json_loadb(b->data, b->len, 0, NULL);
    if (!doc)
        exit(1);
    json_decref(doc);
}

static void run_write(void *arg)
{
    struct bir_buf buf;
    const struct bir_write_options options = { 0 };
    bir_buf_init(&buf, 0);
    if (bir_module_write_json(arg, &options, &buf) != BIR_OK)
        exit(1);
    bir_buf_deinit(&buf);
}

static void run_jansson_dump(void *arg)
{
    free(json_dumps(arg, JSON_COMPACT | JSON_SORT_KEYS));
}

static void bench_read(const char *path)
{
    struct bytes b = load(path);
    double ours = best(run_read, &b), theirs = best(run_jansson_load, &b);
    struct bir_module *module = read_module(b);
    json_t *doc = json_loadb(b.data, b.len, 0, NULL);
    double our_write = best(run_write, module), their_write = best(run_jansson_dump, doc);
    struct bir_buf buf;
    const struct bir_write_options options = { 0 };
    bir_buf_init(&buf, 0);
    if (bir_module_write_json(module, &options, &buf) != BIR_OK)
        exit(1);
    double mb = (double)b.len / 1e6, n = (double)module->n_instructions;
    printf("%.1f MB, %.0f instructions\n", mb, n);
    printf("  read   %7.1f MB/s   jansson load %7.1f MB/s   ratio %5.2f (bound: at least 3)\n", mb / ours, mb / theirs,
           theirs / ours);
    printf("  write  %7.1f MB/s   jansson dump %7.1f MB/s   ratio %5.2f (bound: at least 5)\n",
           (double)buf.len / 1e6 / our_write, (double)buf.len / 1e6 / their_write, their_write / our_write);
    double held = (double)module->arena.reserved_bytes;
    printf("  held   %7.1f bytes an instruction   canonical text %7.1f   ratio %5.2f (bound: at most 0.5)\n", held / n,
           (double)buf.len / n, held / (double)buf.len);
    bir_buf_deinit(&buf);
    bir_module_free(module);
    json_decref(doc);
    free(b.data);
}

struct compile_run {
    struct bytes input;
    enum bir_method method;
    const char *encode_format, *check;
    struct bir_compile_result result;
};

static void run_compile(void *arg)
{
    struct compile_run *run = arg;
    struct bir_compile_request request = { .method = run->method,
                                           .input = run->input.data,
                                           .input_len = run->input.len };
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    bir_compile_options_init(&request.options);
    if (run->encode_format)
        (void)bir_compile_option_set(&request.options, run->method, "encode_format", run->encode_format);
    if (run->check)
        (void)bir_compile_option_set(&request.options, run->method, "check", run->check);
    (void)bir_compile_option_set(&request.options, run->method, "stats", "true");
    bir_compile_result_deinit(&run->result);
    if (bir_compile(&request, &limits, NULL, &run->result) != BIR_OK) {
        fprintf(stderr, "bench_core: %s\n",
                run->result.diags.first ? run->result.diags.first->message : "compile failed");
        exit(1);
    }
}

static double stat_of(const struct compile_run *run, const char *group, const char *name)
{
    json_t *stats = json_loadb(run->result.stats_json.data, run->result.stats_json.len, 0, NULL);
    double value = json_number_value(json_object_get(json_object_get(stats, group), name));
    json_decref(stats);
    return value;
}

static void bench_lower(const char *path)
{
    struct compile_run run = { .input = load(path), .method = BIR_METHOD_LOWER, .check = "off" };
    double bare = best(run_compile, &run);
    double operations = stat_of(&run, "passes", "emitted_instructions"),
           instructions = stat_of(&run, "module", "instructions");
    run.check = "sample";
    double sampled = best(run_compile, &run);
    double points = stat_of(&run, "validation", "points");
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.1f MB in, %.0f operations emitted, %.0f instructions out\n", (double)run.input.len / 1e6, operations,
           instructions);
    printf("  cold lower, check off     %8.3f s   %10.0f operations/s\n", bare, operations / bare);
    printf("  cold lower, check sample  %8.3f s   %10.0f operations/s   %.0f points, check share %.0f%%\n", sampled,
           operations / sampled, points, 100 * (sampled - bare) / sampled);
    printf("  peak resident memory      %8.1f MB\n", (double)usage.ru_maxrss / 1024);
    bir_compile_result_deinit(&run.result);
    free(run.input.data);
}

static void run_isa(void *arg)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_buf out;
    const struct isa_encode_options options = { .format = ISA_FORMAT_BIN };
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    bir_buf_init(&out, 0);
    if (isa_encode_module(arg, &options, &diags, &out) != BIR_OK)
        exit(1);
    bir_buf_deinit(&out);
    bir_arena_deinit(&arena);
}

static void run_copy(void *arg)
{
    const struct bir_buf *from = arg;
    char *to = malloc(from->len);
    if (!to)
        exit(1);
    memcpy(to, from->data, from->len);
    *(volatile char *)to = to[from->len - 1]; /* the copy is used */
    free(to);
}

static uint64_t count_operands(const struct bir_module *module)
{
    uint64_t count = 0;
    for (struct bir_function *f = module->functions; f; f = f->next) {
        struct bir_walk walk;
        bir_walk_init(&walk, &f->body);
        for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));)
            for (int role = 0; role < BIR_ROLE_COUNT; role++)
                count += bir_instruction_argument_count(inst, (enum bir_role)role);
    }
    return count;
}

static void bench_encode(const char *path)
{
    struct compile_run run = { .input = load(path), .method = BIR_METHOD_ENCODE, .encode_format = "bin" };
    double ours = best(run_compile, &run), theirs = best(run_jansson_load, &run.input);
    struct bir_module *module = read_module(run.input);
    double bare = best(run_isa, module), copy = best(run_copy, &run.result.output);
    double operands = (double)count_operands(module);
    printf("%.1f MB in, %.1f MB out\n", (double)run.input.len / 1e6, (double)run.result.output.len / 1e6);
    printf("  cold encode to bin %8.3f s   jansson load %8.3f s   ratio %5.2f (bound: below 1)\n", ours, theirs,
           ours / theirs);
    printf("  encoding alone     %8.3f s   %10.0f operands/s   memcpy of the output %8.6f s   share of the cold encode "
           "%4.1f%% "
           "(bound: 5%%)\n",
           bare, operands / bare, copy, 100 * bare / ours);
    bir_module_free(module);
    bir_compile_result_deinit(&run.result);
    free(run.input.data);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "once") == 0) {
        enum bir_method method = bir_method_from_name(argv[2], strlen(argv[2]));
        if (method == BIR_METHOD_COUNT)
            return 2;
        struct compile_run run = { .input = load(argv[3]), .method = method };
        run_compile(&run);
        printf("%.0f %zu\n", stat_of(&run, "module", "instructions"), run.result.output.len);
        bir_compile_result_deinit(&run.result);
        free(run.input.data);
        return 0;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: bench_core read|lower|encode FILE..., bench_core once METHOD FILE\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[1], "read") == 0)
            bench_read(argv[i]);
        else if (strcmp(argv[1], "lower") == 0)
            bench_lower(argv[i]);
        else if (strcmp(argv[1], "encode") == 0)
            bench_encode(argv[i]);
        else
            return 2;
    }
    return 0;
}

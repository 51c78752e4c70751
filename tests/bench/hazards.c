/*
 * Measures the hazard analysis of dumps, reading included.
 *
 * usage: bench_hazards FILE...         one line a file: instructions, MB, CPU seconds (read, analyse, write), peak MB,
 * verdict bench_hazards json|text FILE  the report on stdout
 *
 * Each file is measured in a process of its own, so that peak memory is that file's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bir/json.h"
#include "check/hazard.h"

struct run {
    struct bir_module *module;
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_hazard_report *report;
    struct bir_buf out;
    size_t len;
    double read_seconds, analyse_seconds, write_seconds;
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *load(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *len = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*len + 1);
    if (!text || fread(text, 1, *len, f) != *len)
        exit(1);
    fclose(f);
    return text;
}

static void need(struct run *r, enum bir_status status)
{
    if (status == BIR_OK)
        return;
    fprintf(stderr, "bench_hazards: %s\n", r->diags.first ? r->diags.first->message : "failed");
    exit(1);
}

static void run(struct run *r, const char *path, bool json)
{
    const struct bir_read_options read_options = { 0 };
    const struct bir_hazard_options options = { .fix_hints = !json };
    char *text = load(path, &r->len);
    bir_arena_init(&r->arena, 0);
    bir_diags_init(&r->diags, &r->arena, 100);
    bir_buf_init(&r->out, 0);
    double start = cpu_seconds();
    need(r, bir_module_read_json(text, r->len, &read_options, &r->diags, &r->module));
    free(text);
    double read = cpu_seconds();
    need(r, bir_hazards_analyse(r->module, &options, &r->arena, &r->diags, &r->report));
    double analysed = cpu_seconds();
    if (json)
        bir_hazards_write_json(r->report, 0, &r->out);
    else
        bir_hazards_write_text(r->report, &r->out);
    need(r, r->out.status);
    r->read_seconds = read - start;
    r->analyse_seconds = analysed - read;
    r->write_seconds = cpu_seconds() - analysed;
}

static void measure(const char *path)
{
    static struct run r;
    struct rusage usage;
    run(&r, path, true);
    getrusage(RUSAGE_SELF, &usage);
    printf("  %8llu instructions %7.1f MB   read %6.3f s  analyse %6.3f s  write %6.3f s  total %6.3f s  peak %6.1f MB "
           "  %s, %u pairs\n",
           (unsigned long long)r.module->n_instructions, (double)r.len * 1e-6, r.read_seconds, r.analyse_seconds,
           r.write_seconds, r.read_seconds + r.analyse_seconds + r.write_seconds, (double)usage.ru_maxrss * 1024e-6,
           bir_hazard_verdict_name(r.report->verdict), r.report->n_pairs);
}

static int measure_apart(const char *path)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        measure(path);
        exit(0);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    static struct run r;
    if (argc == 3 && (strcmp(argv[1], "json") == 0 || strcmp(argv[1], "text") == 0)) {
        run(&r, argv[2], strcmp(argv[1], "json") == 0);
        fwrite(r.out.data, 1, r.out.len, stdout);
        putchar('\n');
        return 0;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: bench_hazards FILE... | json FILE | text FILE\n");
        return 2;
    }
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= measure_apart(argv[i]);
    return failed;
}

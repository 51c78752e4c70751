/*
 * hazards of several files. As many threads as there are processors take the files in order; the main thread prints in
 * the same order. A ring of slots lies between them: whoever is far ahead of the printing waits, so that memory is
 * bounded by the largest files and not by their number.
 *
 * One file is a command like the others; several are told apart by a line of their own for each. JSON: one object a
 * line, that of a single file with the member "file" in front - and "diagnostics", "error" or "stats" where there are
 * any, because a list on standard error would not say which file it is about.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/diagnostics.h"
#include "client/cli/files.h"
#include "client/cli/work.h"
#include "proto/message.h"

/* Slots a thread: what it works on, and what waits to be printed. */
#define SLOTS_PER_THREAD 4
#define MOST_THREADS     256

struct slot {
    struct work work;
    bool done;
};

struct batch {
    const struct cli *cli;
    const struct file_list *files;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* next, printed or a slot's done */
    struct slot *slots;
    size_t slot_count;
    size_t next;    /* file to be taken */
    size_t printed; /* files whose slots are free again */
};

struct worker {
    struct batch *batch;
    roost *client; /* NULL: in process */
    pthread_t thread;
};

bool cli_names_several(const struct cli *cli)
{
    return cli->word_count > 1 || (cli->word_count == 1 && file_is_directory(cli->words[0]));
}

/* --- workers --- */

/* The next file, when its slot is free; false when none is left. */
static bool take_file(struct batch *batch, size_t *index)
{
    pthread_mutex_lock(&batch->lock);
    while (batch->next < batch->files->count && batch->next >= batch->printed + batch->slot_count)
        pthread_cond_wait(&batch->changed, &batch->lock);
    bool more = batch->next < batch->files->count;
    if (more)
        *index = batch->next++;
    pthread_mutex_unlock(&batch->lock);
    return more;
}

static void *work_off(void *argument)
{
    const struct worker *worker = argument;
    struct batch *batch = worker->batch;
    size_t index;
    while (take_file(batch, &index)) {
        struct slot *slot = &batch->slots[index % batch->slot_count];
        const char *path = batch->files->paths[index];
        work_init(&slot->work, batch->cli, path);
        work_run(&slot->work, path, worker->client);
        pthread_mutex_lock(&batch->lock);
        slot->done = true;
        pthread_cond_broadcast(&batch->changed);
        pthread_mutex_unlock(&batch->lock);
    }
    return NULL;
}

/* --- printing --- */

static void put_json(const struct work *work, struct bir_buf *out)
{
    const char *report = work->output;
    bir_buf_puts(out, "{\"file\":");
    proto_put_string(out, work->name, strlen(work->name)); /* file names are bytes, JSON is UTF-8 */
    if (work->diags.count) {
        bir_buf_puts(out, ",\"diagnostics\":");
        bir_diags_write_json(&work->diags, out);
    }
    if (work->error[0]) {
        bir_buf_puts(out, ",\"error\":");
        proto_put_string(out, work->error, strlen(work->error));
    }
    if (work->stats_len && work->cli->options.stats) {
        bir_buf_puts(out, ",\"stats\":");
        bir_buf_put(out, work->stats, work->stats_len);
    }
    if (work->status == CLI_DONE && work->output_len > 1) {
        bir_buf_putc(out, ',');
        bir_buf_put(out, report + 1, work->output_len - 1);
    } else {
        bir_buf_putc(out, '}');
    }
    if (out->len && out->data[out->len - 1] != '\n')
        bir_buf_putc(out, '\n');
}

/* The last line of a report sums it up: here it is the first, behind the name of the file. */
static void put_text(const struct work *work, struct bir_buf *out)
{
    const char *report = work->output;
    size_t len = work->output_len;
    size_t body = len;
    if (body > 0)
        for (body--; body > 0 && report[body - 1] != '\n';)
            body--;
    bir_buf_printf(out, "%s: ", work->name);
    bir_buf_put(out, report + body, len - body);
    bir_buf_put(out, report, body);
    if (body)
        bir_buf_putc(out, '\n');
}

static enum cli_exit print_text(const struct work *work, struct bir_buf *out)
{
    enum cli_exit status = diagnostics_print(work->cli, &work->diags, work->name, work->input, work->input_len);
    if (work->error[0])
        (void)cli_fail(work->status, "%s: %s", work->name, work->error);
    if (status == CLI_DONE && work->stats_len && work->cli->options.stats) {
        struct bir_buf line;
        bir_buf_init(&line, 0);
        bir_buf_printf(&line, "%s: %.*s\n", work->name, (int)work->stats_len, work->stats);
        status = cli_write(STDERR_FILENO, "standard error", line.data, line.len);
        bir_buf_deinit(&line);
    }
    if (work->status == CLI_DONE)
        put_text(work, out);
    else
        bir_buf_printf(out, "%s: no verdict\n", work->name);
    return status;
}

/* Into out, which goes to standard output at once or to a file in the end. */
static enum cli_exit print(const struct work *work, struct bir_buf *out)
{
    enum cli_exit status = CLI_DONE;
    if (work->cli->format == CLI_FORMAT_JSON)
        put_json(work, out);
    else
        status = print_text(work, out);
    if (out->status != BIR_OK)
        return cli_fail(CLI_INTERNAL, "out of memory");
    if (status == CLI_DONE && cli_to_stdout(work->cli)) {
        status = cli_write_result(work->cli, out->data, out->len);
        out->len = 0;
    }
    return status;
}

/* Failures before findings, findings before doubts. */
static enum cli_exit worst_of(enum cli_exit a, enum cli_exit b)
{
    static const int ranks[] = { [CLI_DONE] = 0,        [CLI_UNDECIDED] = 1, [CLI_INPUT] = 2,   [CLI_USAGE] = 3,
                                 [CLI_UNREACHABLE] = 4, [CLI_TIME] = 5,      [CLI_INTERNAL] = 6 };
    return ranks[a] >= ranks[b] ? a : b;
}

static enum cli_exit print_all(struct batch *batch)
{
    enum cli_exit worst = CLI_DONE;
    enum cli_exit printed = CLI_DONE;
    struct bir_buf out;
    bir_buf_init(&out, 0);
    for (size_t i = 0; i < batch->files->count; i++) {
        struct slot *slot = &batch->slots[i % batch->slot_count];
        pthread_mutex_lock(&batch->lock);
        while (!slot->done)
            pthread_cond_wait(&batch->changed, &batch->lock);
        pthread_mutex_unlock(&batch->lock);
        worst = worst_of(worst, work_exit(&slot->work));
        if (printed == CLI_DONE)
            printed = print(&slot->work, &out);
        work_deinit(&slot->work);
        pthread_mutex_lock(&batch->lock);
        slot->done = false;
        batch->printed++;
        pthread_cond_broadcast(&batch->changed);
        pthread_mutex_unlock(&batch->lock);
    }
    if (printed == CLI_DONE && !cli_to_stdout(batch->cli))
        printed = cli_write_result(batch->cli, out.data, out.len);
    bir_buf_deinit(&out);
    return worst_of(worst, printed);
}

/* --- all of it --- */

static size_t thread_count(size_t file_count)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS : (size_t)processors;
    return count < file_count ? count : file_count;
}

/* How many have started: one is enough. */
static size_t start_workers(struct batch *batch, struct worker *workers, size_t count)
{
    size_t started = 0;
    for (; started < count; started++) {
        struct worker *worker = &workers[started];
        *worker = (struct worker){ .batch = batch };
        if (batch->cli->daemon != CLI_DAEMON_NEVER && !(worker->client = cli_client(batch->cli, true)))
            break;
        if (pthread_create(&worker->thread, NULL, work_off, worker) != 0) {
            roost_free(worker->client);
            break;
        }
    }
    return started;
}

static enum cli_exit run_batch(struct batch *batch)
{
    size_t wanted = thread_count(batch->files->count);
    struct worker *workers = calloc(wanted, sizeof *workers);
    batch->slot_count = wanted * SLOTS_PER_THREAD;
    batch->slots = calloc(batch->slot_count, sizeof *batch->slots);
    size_t started = workers && batch->slots ? start_workers(batch, workers, wanted) : 0;
    enum cli_exit status = started ? print_all(batch) : cli_fail(CLI_INTERNAL, "there is no memory for threads");
    for (size_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        roost_free(workers[i].client);
    }
    work_disarm();
    free(batch->slots);
    free(workers);
    return status;
}

enum cli_exit cli_run_hazards(struct cli *cli)
{
    if (!cli->several)
        return cli_run_compile(cli);
    struct file_list files;
    enum cli_exit found = file_list_init(&files, cli->words, cli->word_count);
    struct batch batch = {
        .cli = cli, .files = &files, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER
    };
    enum cli_exit status = files.count && found != CLI_INTERNAL ? run_batch(&batch) : CLI_DONE;
    file_list_deinit(&files);
    return worst_of(status, found);
}

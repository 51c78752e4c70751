/*
 * One request from bytes to bytes.
 *
 *     load      .klr: klr_read, bir_codegen_klr.  BIR-JSON: bir_module_read_json.
 *     lower     the pass pipeline; the symbolic operands are recorded right before the first pass that lowers
 *               addresses, and every recorded address is executed and compared after the last pass
 *     finish    write the module, or encode it
 *
 * A job owns two arenas: the module's, and the result's, which holds the diagnostics and everything else that dies with
 * the request. Diagnostics leave the passes with byte offsets only; they are located (JSON pointer or .klr path) here,
 * once, because only here the source is at hand. Nothing of a failed job but its diagnostics reaches the caller.
 */
#include "compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "bir/json.h"
#include "bir/verifier.h"
#include "build_id.h"
#include "check/hazard.h"
#include "check/validation.h"
#include "codegen/codegen.h"
#include "compile_explain.h"
#include "compile_inspect.h"
#include "isa/decode.h"
#include "isa/encode.h"
#include "klr/klr.h"
#include "passes/pass.h"

/* Seed of sampled validation: any fixed number will do, it only has to be the same on every machine. */
#define VALIDATION_SEED UINT64_C(0x526F6F7374)

/* Bytes of a .klr file that may be scanned again to find the paths of its diagnostics; those behind keep their offset
 * alone. */
#define LOCATE_KLR_BYTES (UINT64_C(1) << 30)

struct job {
    const struct bir_compile_request *request;
    const struct bir_compile_limits *limits;
    struct bir_cancel *cancel;
    struct bir_compile_result *result;
    struct bir_module *module;
    struct bir_validation *validation; /* NULL until recorded */
    struct bir_pass_stats pass_stats;
    struct bir_validation_stats validation_stats;
    enum bir_input_format format;
};

const char *bir_build_id(void)
{
    return ROOST_BUILD_ID;
}

const char *bir_version(void)
{
    return ROOST_VERSION;
}

enum bir_input_format bir_input_detect(const void *input, size_t len)
{
    const char *text = input;
    size_t at = 0;
    while (at < len && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
        at++;
    return at == len || text[at] == '{' || text[at] == '[' ? BIR_INPUT_BIR_JSON : BIR_INPUT_KLR;
}

static void stage_done(const struct job *job, const char *stage)
{
    if (job->request->on_stage)
        job->request->on_stage(job->request->user, stage);
}

/* --- load --- */

static enum bir_status load_json(struct job *job)
{
    struct bir_read_options options = {
        .strict = job->request->options.strict,
        .unknown_operands = job->request->method == BIR_METHOD_HAZARDS,
        .max_depth = job->limits->json_depth,
        .max_instructions = job->limits->instructions,
        .max_arena_bytes = job->limits->arena_bytes,
        .cancel = job->cancel,
    };
    return bir_module_read_json(job->request->input, job->request->input_len, &options, &job->result->diags,
                                &job->module);
}

static enum bir_status load_klr(struct job *job)
{
    struct klr_limits limits = KLR_LIMITS_DEFAULT;
    limits.max_nesting = job->limits->klr_depth;
    limits.max_statements = job->limits->instructions;
    limits.cancel = job->cancel;
    struct bir_arena arena;
    struct bir_strtab strings;
    struct klr_file file;
    bir_arena_init(&arena, job->limits->arena_bytes);
    bir_strtab_init(&strings, &arena);
    enum bir_status status =
        klr_read(job->request->input, job->request->input_len, &limits, &strings, &arena, &job->result->diags, &file);
    if (status == BIR_OK) {
        struct bir_codegen_options options = {
            .arch = job->request->options.arch ? (enum bir_arch)job->request->options.arch : BIR_ARCH_GEN3,
            .arena_limit_bytes = job->limits->arena_bytes,
            .cancel = job->cancel,
        };
        stage_done(job, "read");
        status = bir_codegen_klr(&file, &options, &job->result->diags, &job->module);
    }
    bir_arena_deinit(&arena);
    return status;
}

static enum bir_status check_size(struct job *job)
{
    const struct bir_compile_request *request = job->request;
    if (request->input_len <= job->limits->input_bytes)
        return BIR_OK;
    return bir_fail_limit(&job->result->diags, "input-too-large", BIR_NO_OFFSET, "raise the limit, or split the module",
                          "the input has %zu bytes, the limit is %zu", request->input_len, job->limits->input_bytes);
}

static enum bir_status load(struct job *job)
{
    const struct bir_compile_request *request = job->request;
    job->format = request->options.format != BIR_INPUT_AUTO ? request->options.format
                                                            : bir_input_detect(request->input, request->input_len);
    BIR_TRY(job->format == BIR_INPUT_KLR ? load_klr(job) : load_json(job));
    stage_done(job, job->format == BIR_INPUT_KLR ? "klr_codegen" : "read");
    if (request->options.arch)
        job->module->arch = (enum bir_arch)request->options.arch;
    return BIR_OK;
}

/* --- lower --- */

/* The passes that replace symbolic and runtime addresses: what they start from is recorded before the first of them. */
static bool lowers_addresses(const struct bir_pass *pass)
{
    return strcmp(pass->name, "lower_ap") == 0 || strcmp(pass->name, "expand_inst_late") == 0;
}

static enum bir_status record_before(struct job *job, const struct bir_pass *pass)
{
    if (!lowers_addresses(pass) || job->validation || job->request->options.check == BIR_CHECK_OFF)
        return BIR_OK;
    return bir_validation_record(job->module, &job->result->arena, &job->validation);
}

static bool wants_dump(const char *print_after, const char *pass)
{
    return print_after && (strcmp(print_after, "all") == 0 || strcmp(print_after, pass) == 0);
}

/* A dump is one JSON document on its own, after a line that names the pass as "// after PASS". */
static enum bir_status dump(struct job *job, const char *pass, const struct bir_module *module)
{
    struct bir_write_options options = { .indent = job->request->options.indent, .cancel = job->cancel };
    bir_buf_printf(&job->result->dumps, "// after %s\n", pass);
    BIR_TRY(bir_module_write_json(module, &options, &job->result->dumps));
    bir_buf_putc(&job->result->dumps, '\n');
    return job->result->dumps.status;
}

static enum bir_status verify(struct job *job)
{
    const char *problem;
    if (bir_module_check_uses(job->module, &problem))
        return bir_module_verify(job->module, job->request->options.strict, &job->result->diags);
    (void)bir_fail(&job->result->diags, "internal-uses", BIR_NO_OFFSET, NULL, "the module is inconsistent: %s",
                   problem);
    return BIR_INTERNAL;
}

static enum bir_status after_pass(void *user, const struct bir_pass *pass, struct bir_module *module)
{
    struct job *job = user;
    if (wants_dump(job->request->options.print_after, pass->name))
        BIR_TRY(dump(job, pass->name, module));
    if (!job->request->options.verify_each)
        return BIR_OK;
    enum bir_status status = verify(job);
    if (status != BIR_OK)
        bir_diag_add(&job->result->diags, BIR_NOTE, "verify-each", BIR_NO_OFFSET, "found after pass %s", pass->name);
    return status;
}

static enum bir_status validate(struct job *job)
{
    if (!job->validation)
        return BIR_OK;
    struct bir_validation_options options = {
        .mode = job->request->options.check == BIR_CHECK_FULL ? BIR_VALIDATION_FULL : BIR_VALIDATION_SAMPLE,
        .seed = VALIDATION_SEED,
        .cancel = job->cancel,
    };
    return bir_validation_run(job->validation, job->module, &options, &job->result->diags, &job->validation_stats);
}

static enum bir_status run_pipeline(struct job *job, const struct bir_pipeline *pipeline, struct bir_arena *scratch)
{
    struct bir_pass_context context = {
        .options = { .allocate = job->request->options.allocate },
        .cancel = job->cancel,
        .stats = &job->pass_stats,
        .scratch = scratch,
    };
    for (uint32_t i = 0; i < pipeline->count; i++) {
        struct bir_pipeline one = { .passes = { pipeline->passes[i] }, .count = 1 };
        BIR_TRY(record_before(job, pipeline->passes[i]));
        BIR_TRY(bir_pipeline_run(job->module, &one, &context, after_pass, job, &job->result->diags));
        if (pipeline->passes[i]->run)
            stage_done(job, pipeline->passes[i]->name);
    }
    return BIR_OK;
}

static enum bir_status lower(struct job *job)
{
    const struct bir_compile_options *options = &job->request->options;
    struct bir_pipeline pipeline;
    BIR_TRY(bir_pipeline_parse(options->passes, &job->result->diags, &pipeline));
    if (wants_dump(options->print_after, "klr_codegen") && job->format == BIR_INPUT_KLR)
        BIR_TRY(dump(job, "klr_codegen", job->module));
    struct bir_arena scratch;
    bir_arena_init_scratch(&scratch, job->limits->arena_bytes);
    enum bir_status status = run_pipeline(job, &pipeline, &scratch);
    bir_arena_deinit(&scratch);
    BIR_TRY(status);
    BIR_TRY(validate(job));
    stage_done(job, "validate");
    return BIR_OK;
}

/* --- finish --- */

static enum bir_status convert(struct job *job)
{
    const struct bir_compile_request *request = job->request;
    struct bir_write_options options = { .indent = request->options.indent, .cancel = job->cancel };
    if (request->options.faithful && job->format == BIR_INPUT_BIR_JSON)
        return bir_json_write_faithful(request->input, request->input_len, &options, &job->result->output);
    return bir_module_write_json(job->module, &options, &job->result->output);
}

static enum bir_status write_module(struct job *job)
{
    struct bir_write_options options = {
        .indent = job->request->options.indent,
        .cancel = job->cancel,
    };
    return bir_module_write_json(job->module, &options, &job->result->output);
}

static enum bir_status encode(struct job *job)
{
    static const enum isa_format formats[] = {
        [BIR_ENCODE_JSON] = ISA_FORMAT_JSON, [BIR_ENCODE_TEXT] = ISA_FORMAT_TEXT, [BIR_ENCODE_BIN] = ISA_FORMAT_BIN
    };
    struct isa_encode_options options = {
        .arch = job->module->arch,
        .format = formats[job->request->options.encode_format],
        .keep_going = job->request->options.keep_going,
        .indent = job->request->options.indent,
        .cancel = job->cancel,
    };
    return isa_encode_module(job->module, &options, &job->result->diags, &job->result->output);
}

static enum bir_status hazards(struct job *job)
{
    static const enum bir_verdict verdicts[] = { [BIR_HAZARD_CLEAN] = BIR_VERDICT_CLEAN,
                                                 [BIR_HAZARD_UNDECIDED] = BIR_VERDICT_UNDECIDED,
                                                 [BIR_HAZARD_FINDINGS] = BIR_VERDICT_FINDINGS };
    const struct bir_compile_options *options = &job->request->options;
    struct bir_hazard_options hazard = { .fix_hints = options->fix_hints, .cancel = job->cancel };
    const char *comma = options->explain_pair ? strchr(options->explain_pair, ',') : NULL;
    if (comma) {
        hazard.explain_earlier =
            bir_arena_strndup(&job->result->arena, options->explain_pair, (size_t)(comma - options->explain_pair));
        if (!hazard.explain_earlier)
            return bir_arena_failure(&job->result->arena);
        hazard.explain_later = comma + 1;
    }
    struct bir_hazard_report *report;
    BIR_TRY(bir_hazards_analyse(job->module, &hazard, &job->result->arena, &job->result->diags, &report));
    job->result->verdict = verdicts[report->verdict];
    if (options->report == BIR_REPORT_JSON)
        bir_hazards_write_json(report, options->indent, &job->result->output);
    else
        bir_hazards_write_text(report, &job->result->output);
    return job->result->output.status;
}

static bool is_hex_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr("0123456789abcdefABCDEFxX: \t\r\n", text[i]) || text[i] == '\0')
            return false;
    return true;
}

/* The input of methods that take bytes, parsed when it is hex text. */
static enum bir_status input_bytes(struct job *job, const uint8_t **bytes, size_t *len)
{
    const struct bir_compile_request *request = job->request;
    *bytes = request->input;
    *len = request->input_len;
    if (request->options.bytes != BIR_BYTES_HEX &&
        (request->options.bytes != BIR_BYTES_AUTO || !is_hex_text(request->input, *len)))
        return BIR_OK;
    uint8_t *parsed = bir_arena_alloc(&job->result->arena, BIR_MEM_OTHER, *len / 2 + 1);
    if (!parsed)
        return bir_arena_failure(&job->result->arena);
    *bytes = parsed;
    return isa_parse_hex(request->input, *len, parsed, *len / 2 + 1, len, &job->result->diags);
}

static enum bir_status decode(struct job *job)
{
    const struct bir_compile_request *request = job->request;
    struct isa_decode_options options = {
        .arch = (enum bir_arch)request->options.arch,
        .slot = request->options.slot ? isa_slot_from_name(request->options.slot, strlen(request->options.slot))
                                      : ISA_SLOT_NONE,
        .json = request->options.report == BIR_REPORT_JSON,
        .indent = request->options.indent,
    };
    const uint8_t *bytes;
    size_t len;
    BIR_TRY(input_bytes(job, &bytes, &len));
    return isa_decode(bytes, len, &options, &job->result->diags, &job->result->output);
}

static enum bir_status explain(struct job *job)
{
    const struct bir_compile_options *options = &job->request->options;
    return bir_explain(job->module, options->target, options->report == BIR_REPORT_JSON, options->indent,
                       &job->result->diags, &job->result->output);
}

static enum bir_status inspect(struct job *job)
{
    const struct bir_compile_options *options = &job->request->options;
    struct bir_inspect_options inspection = {
        .image = options->image,
        .target = options->target,
        .json = options->report == BIR_REPORT_JSON,
        .binary = options->binary,
        .indent = options->indent,
        .cancel = job->cancel,
    };
    const uint8_t *bytes;
    size_t len;
    if (!options->image)
        return bir_inspect_module(job->module, &inspection, job->limits->arena_bytes, &job->result->diags,
                                  &job->result->output);
    BIR_TRY(input_bytes(job, &bytes, &len));
    return bir_inspect_images(bytes, len, &inspection, job->limits->arena_bytes, &job->result->diags,
                              &job->result->output);
}

static enum bir_status run(struct job *job)
{
    BIR_TRY(check_size(job));
    if (job->request->method == BIR_METHOD_DECODE)
        return decode(job);
    if (job->request->method == BIR_METHOD_INSPECT && job->request->options.image)
        return inspect(job);
    BIR_TRY(load(job));
    switch (job->request->method) {
    case BIR_METHOD_LOWER: BIR_TRY(lower(job)); return write_module(job);
    case BIR_METHOD_ENCODE: BIR_TRY(lower(job)); return encode(job);
    case BIR_METHOD_EXPLAIN: BIR_TRY(lower(job)); return explain(job);
    case BIR_METHOD_CONVERT: return convert(job);
    case BIR_METHOD_HAZARDS: return hazards(job);
    case BIR_METHOD_CHECK: return verify(job);
    case BIR_METHOD_INSPECT: return inspect(job);
    case BIR_METHOD_DECODE:
    case BIR_METHOD_COUNT: break;
    }
    return bir_fail(&job->result->diags, "unknown-method", BIR_NO_OFFSET, NULL, "no such method");
}

/* --- statistics, places --- */

static void put_count(struct bir_json_writer *w, const char *key, uint64_t value)
{
    bir_json_put_key(w, key);
    bir_json_put_u64(w, value);
}

static const char *const memory_names[BIR_MEM_COUNT] = {
    [BIR_MEM_OTHER] = "other",           [BIR_MEM_STRINGS] = "strings",
    [BIR_MEM_STORAGES] = "storages",     [BIR_MEM_INSTRUCTIONS] = "instructions",
    [BIR_MEM_ARGUMENTS] = "arguments",   [BIR_MEM_EXPRESSIONS] = "expressions",
    [BIR_MEM_PROPERTIES] = "properties", [BIR_MEM_TABLES] = "tables",
};

static void put_module_stats(struct bir_json_writer *w, const struct bir_module *module)
{
    bir_json_put_key(w, "module");
    bir_json_put_object_begin(w);
    put_count(w, "instructions", module->n_instructions);
    put_count(w, "arena_reserved_bytes", module->arena.reserved_bytes);
    bir_json_put_key(w, "arena_bytes");
    bir_json_put_object_begin(w);
    for (int i = 0; i < BIR_MEM_COUNT; i++)
        put_count(w, memory_names[i], module->arena.used_bytes[i]);
    bir_json_put_object_end(w);
    bir_json_put_object_end(w);
}

static void put_pass_stats(struct bir_json_writer *w, const struct bir_pass_stats *stats)
{
    uint64_t value;
    bir_json_put_object_begin(w);
    for (size_t i = 0; bir_pass_stats_counter(stats, i, &value); i++)
        put_count(w, bir_pass_stats_counter(stats, i, &value), value);
    bir_json_put_object_end(w);
}

static void write_stats(struct job *job)
{
    struct bir_json_writer w;
    bir_json_writer_init(&w, &job->result->stats_json, 0);
    bir_json_put_object_begin(&w);
    put_count(&w, "input_bytes", job->request->input_len);
    put_count(&w, "output_bytes", job->result->output.len);
    if (job->module)
        put_module_stats(&w, job->module);
    bir_json_put_key(&w, "passes");
    put_pass_stats(&w, &job->pass_stats);
    bir_json_put_key(&w, "validation");
    bir_json_put_object_begin(&w);
    put_count(&w, "operands", job->validation_stats.operands);
    put_count(&w, "points", job->validation_stats.points);
    put_count(&w, "not_lowered", job->validation_stats.not_lowered);
    put_count(&w, "unfinished", job->validation_stats.unfinished);
    bir_json_put_object_end(&w);
    bir_json_put_object_end(&w);
}

/* A limit that was met where no diagnostics are at hand (an arena's or a buffer's) is named here. */
static void report_limit(struct job *job, enum bir_status status)
{
    const struct bir_compile_limits *limits = job->limits;
    if (status != BIR_LIMIT || job->result->diags.errors)
        return;
    bool output = job->result->output.status == BIR_LIMIT || job->result->dumps.status == BIR_LIMIT;
    struct bir_diag *d = bir_diag_add(&job->result->diags, BIR_ERROR, output ? "limit-output" : "limit-memory",
                                      BIR_NO_OFFSET, "the %s needs more than %zu bytes", output ? "result" : "module",
                                      output ? limits->output_bytes : limits->arena_bytes);
    d->hint = "raise the limit, or split the module";
}

static int by_offset(const void *a, const void *b)
{
    int64_t x = (*(struct bir_diag *const *)a)->offset;
    int64_t y = (*(struct bir_diag *const *)b)->offset;
    return (x > y) - (x < y);
}

static void locate_json(const struct job *job, struct bir_diag **places, size_t count)
{
    struct bir_arena *arena = &job->result->arena;
    struct bir_json_locator *locator = bir_json_locator_new(job->request->input, job->request->input_len, arena);
    for (size_t i = 0; locator && i < count; i++) {
        const char *pointer = bir_json_locator_pointer(locator, (size_t)places[i]->offset);
        if (pointer && places[i]->suffix)
            pointer = bir_arena_printf(arena, "%s%s", pointer, places[i]->suffix);
        places[i]->pointer = pointer;
    }
}

/* Each path costs one scan up to its offset. */
static void locate_klr(const struct job *job, struct bir_diag **places, size_t count)
{
    uint64_t scanned_bytes = 0;
    for (size_t i = 0; i < count && scanned_bytes < LOCATE_KLR_BYTES; i++) {
        places[i]->pointer =
            klr_path_at(job->request->input, job->request->input_len, (size_t)places[i]->offset, &job->result->arena);
        scanned_bytes += (uint64_t)places[i]->offset;
    }
}

static bool needs_pointer(const struct bir_diag *d)
{
    return !d->pointer && d->offset != BIR_NO_OFFSET;
}

/* Gives every diagnostic that has only an offset its pointer; without memory for it the offset has to do. The input of
 * decode has no members to point at. */
static void locate(struct job *job)
{
    struct bir_diag *first = job->result->diags.first;
    size_t count = 0;
    for (const struct bir_diag *d = first; d; d = d->next)
        count += needs_pointer(d);
    if (count == 0 || job->request->method == BIR_METHOD_DECODE)
        return;
    struct bir_diag **places = bir_arena_alloc(&job->result->arena, BIR_MEM_OTHER, count * sizeof(*places));
    if (!places)
        return;
    size_t i = 0;
    for (struct bir_diag *d = first; d; d = d->next)
        if (needs_pointer(d))
            places[i++] = d;
    qsort(places, count, sizeof(*places), by_offset);
    if (job->format == BIR_INPUT_KLR)
        locate_klr(job, places, count);
    else
        locate_json(job, places, count);
}

enum bir_status bir_compile(const struct bir_compile_request *request, const struct bir_compile_limits *limits,
                            struct bir_cancel *cancel, struct bir_compile_result *result)
{
    memset(result, 0, sizeof(*result));
    bir_arena_init(&result->arena, limits->arena_bytes);
    bir_diags_init(&result->diags, &result->arena, limits->diagnostics);
    bir_buf_init(&result->output, limits->output_bytes);
    bir_buf_init(&result->dumps, limits->output_bytes);
    bir_buf_init(&result->stats_json, 0);
    struct job job = { .request = request, .limits = limits, .cancel = cancel, .result = result };
    enum bir_status status = run(&job);
    if (status == BIR_OK && result->diags.failed)
        status = BIR_NOMEM;
    report_limit(&job, status);
    if (status != BIR_CANCELLED)
        locate(&job);
    if (request->options.stats)
        write_stats(&job);
    if (status != BIR_OK) {
        bir_buf_deinit(&result->output);
        bir_buf_deinit(&result->dumps);
    }
    bir_module_free(job.module);
    stage_done(&job, "finish");
    result->status = status;
    return status;
}

void bir_compile_result_deinit(struct bir_compile_result *result)
{
    bir_buf_deinit(&result->output);
    bir_buf_deinit(&result->dumps);
    bir_buf_deinit(&result->stats_json);
    bir_arena_deinit(&result->arena);
}

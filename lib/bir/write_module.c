/* Canonical BIR-JSON: module, functions, queues (bir-json.md sections 3, 4, 12, 15). */
#include "bir/write.h"

static void write_text(struct bir_json_writer *w, const struct bir_str *text)
{
    bir_json_put_raw(w, text->text, text->len, true);
}

static void write_function(struct writer *writer, const struct bir_function *function)
{
    struct bir_json_writer *w = &writer->json;
    struct prop_cursor props = write_cursor(function->props);
    bir_json_put_object_begin(w);
    WRITE_FIELD(w, &props, "allocations");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < function->storages.count; i++)
        write_storage(w, function->storages.items[i]);
    bir_json_put_array_end(w);
    if (function->attributes) {
        WRITE_FIELD(w, &props, "attributes");
        write_text(w, function->attributes);
    }
    WRITE_FIELD(w, &props, "blocks");
    write_blocks(writer, &function->body);
    WRITE_FIELD(w, &props, "name");
    write_str(w, function->name);
    write_origin(w, &props, function->origin);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

/* `main` first, the others in order. */
static void write_functions(struct writer *writer, const struct bir_function *first)
{
    const struct bir_function *main_function = first;
    while (main_function && !bir_str_is(main_function->name, "main"))
        main_function = main_function->next;
    bir_json_put_array_begin(&writer->json);
    if (main_function)
        write_function(writer, main_function);
    for (const struct bir_function *f = first; f; f = f->next)
        if (f != main_function)
            write_function(writer, f);
    bir_json_put_array_end(&writer->json);
}

/* {} where the input had it empty, omitted when there are none (choice, bir-json.md section 3). */
static void write_nki_functions(struct writer *writer, struct prop_cursor *props)
{
    struct bir_json_writer *w = &writer->json;
    if (!writer->module->nki_functions_present && !writer->module->nki_functions)
        return;
    WRITE_FIELD(w, props, "nki_functions");
    bir_json_put_object_begin(w);
    if (writer->module->nki_functions) {
        WRITE_KEY(w, "functions");
        write_functions(writer, writer->module->nki_functions);
    }
    bir_json_put_object_end(w);
}

static void write_queue(struct writer *writer, const struct bir_queue *queue)
{
    struct bir_json_writer *w = &writer->json;
    struct prop_cursor props = write_cursor(queue->props);
    bir_json_put_object_begin(w);
    if (queue->blocks_present || queue->body.first) {
        WRITE_FIELD(w, &props, "blocks");
        write_blocks(writer, &queue->body);
    }
    WRITE_FIELD(w, &props, "name");
    write_str(w, queue->name);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

static void write_queues(struct writer *writer, struct prop_cursor *props)
{
    struct bir_json_writer *w = &writer->json;
    if (!writer->module->queues)
        return;
    WRITE_FIELD(w, props, "queues");
    bir_json_put_array_begin(w);
    for (const struct bir_queue *queue = writer->module->queues; queue; queue = queue->next)
        write_queue(writer, queue);
    bir_json_put_array_end(w);
}

static void write_module(struct writer *writer)
{
    const struct bir_module *module = writer->module;
    struct bir_json_writer *w = &writer->json;
    struct prop_cursor props = write_cursor(module->props);
    bir_json_put_object_begin(w);
    WRITE_FIELD(w, &props, "arch");
    if (module->arch_text)
        write_str(w, module->arch_text);
    else
        write_name(w, bir_arch_name(module->arch));
    if (module->attributes) {
        WRITE_FIELD(w, &props, "attributes");
        write_text(w, module->attributes);
    }
    WRITE_FIELD(w, &props, "functions");
    write_functions(writer, module->functions);
    write_nki_functions(writer, &props);
    write_queues(writer, &props);
    if (module->revision != BIR_ENUM_UNKNOWN) { /* an unknown spelling is a property */
        WRITE_FIELD(w, &props, "revision");
        write_name(w, bir_enum_name(BIR_ENUM_ARCH_REVISION, module->revision));
    }
    WRITE_FIELD(w, &props, "version");
    bir_json_put_u64(w, 2);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

/* Text to expect of an instruction of a large module. A guess that is too low or too high costs little: a large buffer
 * grows without copying, and memory that is not written to is not there. */
#define INSTRUCTION_BYTES 512u
#define LARGE             4096u

static void expect(const struct bir_module *module, struct bir_buf *buf)
{
    size_t bytes;
    if (module->n_instructions > LARGE && !__builtin_mul_overflow(module->n_instructions, INSTRUCTION_BYTES, &bytes))
        (void)bir_buf_window(buf, bytes);
}

enum bir_status bir_module_write_json(const struct bir_module *module, const struct bir_write_options *options,
                                      struct bir_buf *buf)
{
    static const struct bir_write_options defaults = { 0 };
    if (!options)
        options = &defaults;
    struct writer writer = { .module = module, .cancel = options->cancel };
    bir_arena_init_scratch(&writer.scratch, 0);
    bir_json_writer_init(&writer.json, buf, options->indent);
    expect(module, buf);
    write_module(&writer);
    bir_arena_deinit(&writer.scratch);
    return buf->status;
}

enum bir_status bir_json_write_faithful(const char *text, size_t len, const struct bir_write_options *options,
                                        struct bir_buf *buf)
{
    struct bir_json_writer w;
    if (options && bir_cancelled(options->cancel))
        return BIR_CANCELLED;
    bir_json_writer_init(&w, buf, options ? options->indent : 0);
    bir_json_put_raw(&w, text, len, false);
    return buf->status;
}

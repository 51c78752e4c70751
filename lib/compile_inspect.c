/*
 * The method inspect.
 *
 * Images come from one of two sources (a file, the operands of a module) and go to one of three forms (text, JSON,
 * image file), one at a time: what an image holds dies before the next, only the symbols of a module's space stay,
 * because they carry its addresses.
 */
#include "compile_inspect.h"

#include <string.h>

#include "bir/abi_operand.h"
#include "bir/abi_print.h"
#include "compile_target.h"

struct inspection {
    const struct bir_inspect_options *options;
    size_t arena_bytes;
    struct bir_diags *diags;
    struct bir_buf *out;
    struct bir_json_writer json;
    struct bir_abi_space space;
    struct bir_target target;
    uint64_t images;
    uint32_t instructions;
};

static const struct bir_abi_layout *layout_named(const char *image, const char **problem)
{
    return bir_abi_layout_by_name(image, strlen(image), problem);
}

static bool is_auto(const char *image)
{
    return strcmp(image, "auto") == 0;
}

const char *bir_inspect_kind_problem(const char *image)
{
    const char *problem = NULL;
    if (!is_auto(image))
        (void)layout_named(image, &problem);
    return problem;
}

/* --- output --- */

static void begin(struct inspection *i)
{
    if (!i->options->json || i->options->binary)
        return;
    bir_json_writer_init(&i->json, i->out, i->options->indent);
    bir_json_put_object_begin(&i->json);
    bir_json_put_key(&i->json, "images");
    bir_json_put_array_begin(&i->json);
}

static enum bir_status put(struct inspection *i, const struct bir_abi_image *image)
{
    if (i->options->binary) {
        bir_abi_image_put(image, i->out);
    } else if (i->options->json) {
        bir_abi_image_json(image, &i->json);
    } else {
        if (i->images > 0)
            bir_buf_putc(i->out, '\n');
        bir_abi_image_text(image, i->out);
    }
    i->images++;
    return i->out->status;
}

static enum bir_status finish(struct inspection *i)
{
    if (i->options->json && !i->options->binary) {
        bir_json_put_array_end(&i->json);
        bir_json_put_object_end(&i->json);
    }
    return i->out->status;
}

/* --- files --- */

static enum bir_status inspect_next(struct inspection *i, const uint8_t *bytes, size_t len, size_t *at,
                                    const struct bir_abi_layout *layout)
{
    struct bir_arena arena;
    struct bir_abi_image image;
    bool file = *at > 0 || bir_abi_is_file(bytes, len);
    bir_arena_init(&arena, i->arena_bytes);
    enum bir_status status = file ? bir_abi_image_get(bytes, len, at, layout, &arena, i->diags, &image)
                                  : bir_abi_image_bare(bytes, len, layout, &arena, i->diags, &image);
    if (!file)
        *at = len;
    if (status == BIR_OK)
        status = put(i, &image);
    bir_arena_deinit(&arena);
    return status;
}

enum bir_status bir_inspect_images(const uint8_t *bytes, size_t len, const struct bir_inspect_options *options,
                                   size_t arena_bytes, struct bir_diags *diags, struct bir_buf *out)
{
    struct inspection i = { .options = options, .arena_bytes = arena_bytes, .diags = diags, .out = out };
    const char *problem = NULL;
    const struct bir_abi_layout *layout = is_auto(options->image) ? NULL : layout_named(options->image, &problem);
    if (problem)
        return bir_fail(diags, "abi-kind", BIR_NO_OFFSET, "name one of the kinds, or auto", "%s: %.60s", problem,
                        options->image);
    size_t at = 0;
    begin(&i);
    do {
        BIR_TRY(bir_cancelled(options->cancel) ? BIR_CANCELLED : BIR_OK);
        BIR_TRY(inspect_next(&i, bytes, len, &at, layout));
    } while (at < len);
    return finish(&i);
}

/* --- modules --- */

static enum bir_status inspect_operand(struct inspection *i, const struct bir_argument *arg, uint32_t position)
{
    struct bir_arena arena;
    struct bir_abi_operand operand;
    struct bir_abi_image image;
    BIR_TRY(bir_cancelled(i->options->cancel) ? BIR_CANCELLED : BIR_OK);
    bir_arena_init(&arena, i->arena_bytes);
    enum bir_status status = bir_abi_describe(&i->space, arg, position, &arena, &operand);
    if (status == BIR_OK)
        status = bir_abi_compose(&operand, &arena, i->diags, &image);
    if (status == BIR_OK)
        status = put(i, &image);
    bir_arena_deinit(&arena);
    return status;
}

static enum bir_status inspect_instruction(struct inspection *i, const struct bir_instruction *inst)
{
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        uint32_t position = 0;
        BIR_EACH_ARGUMENT (arg, inst, role) {
            bool wanted = i->target.role < 0 || (i->target.role == role && i->target.position == position);
            if (wanted)
                BIR_TRY(inspect_operand(i, arg, position));
            position++;
        }
    }
    return BIR_OK;
}

/* Numbers every instruction, so that an operand's unique id does not depend on the target. */
static enum bir_status inspect_region(struct inspection *i, struct bir_region *region, uint64_t *found)
{
    struct bir_walk walk;
    bir_walk_init(&walk, region);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));) {
        BIR_TRY(bir_cancelled(i->options->cancel) ? BIR_CANCELLED : BIR_OK);
        inst->index = i->instructions++;
        if (!bir_target_is(&i->target, inst))
            continue;
        ++*found;
        BIR_TRY(inspect_instruction(i, inst));
    }
    return BIR_OK;
}

static enum bir_status inspect_functions(struct inspection *i, struct bir_function *first, uint64_t *found)
{
    for (struct bir_function *function = first; function; function = function->next)
        BIR_TRY(inspect_region(i, &function->body, found));
    return BIR_OK;
}

static enum bir_status inspect_all(struct inspection *i, struct bir_module *module)
{
    uint64_t found = 0;
    begin(i);
    BIR_TRY(inspect_functions(i, module->functions, &found));
    BIR_TRY(inspect_functions(i, module->nki_functions, &found));
    for (struct bir_queue *queue = module->queues; queue; queue = queue->next)
        BIR_TRY(inspect_region(i, &queue->body, &found));
    if (i->target.name && found == 0)
        return bir_target_fail(&i->target, "inspect-no-target", module, true, i->diags);
    return finish(i);
}

enum bir_status bir_inspect_module(struct bir_module *module, const struct bir_inspect_options *options,
                                   size_t arena_bytes, struct bir_diags *diags, struct bir_buf *out)
{
    struct inspection i = {
        .options = options,
        .arena_bytes = arena_bytes,
        .diags = diags,
        .out = out,
        .target = bir_target_parse(options->target),
    };
    struct bir_arena symbols;
    bir_arena_init(&symbols, arena_bytes);
    enum bir_status status = bir_abi_space_init(&i.space, BIR_ABI_BASE_DEFAULT, &symbols, diags);
    if (status == BIR_OK)
        status = inspect_all(&i, module);
    bir_arena_deinit(&symbols);
    return status;
}

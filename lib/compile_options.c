/*
 * Options of a request as data.
 *
 * One row an option: the protocol's option members, the command line's flags, the man page and the cache key are all
 * made from this table, so a default has one home. Every option that a method uses goes into the key with its default
 * filled in: a request that spells a default and one that leaves it out share an entry.
 */
#include "compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bir/enums.h"
#include "compile_inspect.h"
#include "isa/descriptor.h"
#include "passes/pass.h"

#define M(method) (1u << BIR_METHOD_##method)
#define LOWERING  (M(LOWER) | M(ENCODE) | M(EXPLAIN))
#define MODULES   (LOWERING | M(CONVERT) | M(CHECK) | M(HAZARDS) | M(INSPECT)) /* methods that read a module */
#define REPORTS   (M(HAZARDS) | M(EXPLAIN) | M(DECODE) | M(INSPECT))
#define ALL       (MODULES | M(DECODE))
#define AT(field) offsetof(struct bir_compile_options, field)

/* What an option may be, and what is said when it is something else. */
#define CHOICES(list) list, "not one of " list
#define ANY           NULL, NULL

/* Order is the order of the key and of --help; append only. */
static const struct bir_option option_table[] = {
    { "input_format", BIR_OPTION_CHOICE, CHOICES("auto|klr|bir-json"), "auto", MODULES,
      "format of the input; auto looks at its first bytes", AT(format) },
    { "arch", BIR_OPTION_CHOICE, CHOICES("module|sunda|gen3|core_v4"), "module", ALL,
      "target generation; module: the one the module names (.klr: gen3)", AT(arch) },
    { "strict", BIR_OPTION_BOOL, ANY, "false", MODULES,
      "unknown keys, opcodes, enum names and duplicate names are errors", AT(strict) },
    { "check", BIR_OPTION_CHOICE, CHOICES("sample|full|off"), "sample", LOWERING,
      "execute the lowered program: at corners and seeded points, at every point, or not at all", AT(check) },
    { "verify_each", BIR_OPTION_BOOL, ANY, "false", LOWERING, "run the verifier after every pass", AT(verify_each) },
    { "passes", BIR_OPTION_TEXT, ANY, "", LOWERING, "comma-separated passes instead of the default pipeline",
      AT(passes) },
    { "print_after", BIR_OPTION_TEXT, ANY, "", M(LOWER), "print the module after this pass, or after all of them",
      AT(print_after) },
    { "allocate", BIR_OPTION_CHOICE, CHOICES("first-fit|best-fit"), "first-fit", LOWERING,
      "how tensors without an address are placed", AT(allocate) },
    { "encode_format", BIR_OPTION_CHOICE, CHOICES("json|text|bin"), "json", M(ENCODE), "layout of the encoded result",
      AT(encode_format) },
    { "keep_going", BIR_OPTION_BOOL, ANY, "false", M(ENCODE),
      "list operands that the validators refuse instead of failing", AT(keep_going) },
    { "faithful", BIR_OPTION_BOOL, ANY, "false", M(CONVERT), "keep presence, order and unknown keys of the input",
      AT(faithful) },
    { "indent", BIR_OPTION_INT, ANY, "0", M(LOWER) | M(ENCODE) | M(CONVERT) | REPORTS,
      "spaces a level of JSON output; 0 is compact", AT(indent) },
    { "stats", BIR_OPTION_BOOL, ANY, "false", MODULES, "count what was read, lowered, checked and encoded", AT(stats) },
    { "report", BIR_OPTION_CHOICE, CHOICES("text|json"), "text", REPORTS, "layout of the report", AT(report) },
    { "fix_hints", BIR_OPTION_BOOL, ANY, "false", M(HAZARDS), "for each pair, the smallest wait that would order it",
      AT(fix_hints) },
    { "explain_pair", BIR_OPTION_TEXT, ANY, "", M(HAZARDS), "EARLIER,LATER: what orders these two instructions",
      AT(explain_pair) },
    { "target", BIR_OPTION_TEXT, ANY, "", M(EXPLAIN) | M(INSPECT),
      "INSTRUCTION, or one operand of it as INSTRUCTION/ins/0; every instruction when empty", AT(target) },
    { "slot", BIR_OPTION_TEXT, ANY, "", M(DECODE), "descriptor slot of the bytes, such as TENSOR3D; words when empty",
      AT(slot) },
    { "bytes", BIR_OPTION_CHOICE, CHOICES("auto|hex|binary"), "auto", M(DECODE) | M(INSPECT),
      "how the input spells bytes; auto: hex when it holds only hex digits and space", AT(bytes) },
    { "image", BIR_OPTION_TEXT, ANY, "", M(INSPECT),
      "the input is an object of this kind, such as physical_ap, or auto: an image file or its bare bytes", AT(image) },
    { "binary", BIR_OPTION_BOOL, ANY, "false", M(INSPECT), "write image files instead of a report", AT(binary) },
};

#define INDENT_MAX 16

const struct bir_option *bir_option_table(size_t *count)
{
    *count = sizeof(option_table) / sizeof(option_table[0]);
    return option_table;
}

static const char *const method_names[BIR_METHOD_COUNT] = { "lower",   "encode",  "convert", "check",
                                                            "hazards", "explain", "decode",  "inspect" };

const char *bir_method_name(enum bir_method method)
{
    return (unsigned)method < BIR_METHOD_COUNT ? method_names[method] : "?";
}

enum bir_method bir_method_from_name(const char *name, size_t len)
{
    for (int i = 0; i < BIR_METHOD_COUNT; i++)
        if (strlen(method_names[i]) == len && memcmp(method_names[i], name, len) == 0)
            return (enum bir_method)i;
    return BIR_METHOD_COUNT;
}

const char *bir_verdict_name(enum bir_verdict verdict)
{
    static const char *const names[] = { NULL, "clean", "findings", "undecided" };
    return names[verdict];
}

void bir_compile_options_init(struct bir_compile_options *options)
{
    memset(options, 0, sizeof(*options));
}

void bir_compile_limits_init(struct bir_compile_limits *limits)
{
    *limits = (struct bir_compile_limits){
        .input_bytes = (size_t)1 << 30,
        .output_bytes = (size_t)2 << 30,
        .arena_bytes = (size_t)4 << 30,
        .json_depth = 512,
        .klr_depth = 256,
        .instructions = 16000000,
        .diagnostics = 1000,
    };
}

/* Position of value among the '|'-separated choices, or -1. */
static int choice_index(const char *choices, const char *value)
{
    size_t len = strlen(value);
    for (int i = 0;; i++) {
        size_t n = strcspn(choices, "|");
        if (n == len && memcmp(choices, value, n) == 0)
            return i;
        if (choices[n] == '\0')
            return -1;
        choices += n + 1;
    }
}

static const char *set_choice(struct bir_compile_options *options, const struct bir_option *row, const char *value)
{
    char *field = (char *)options + row->offset;
    if (row->offset == AT(arch)) {
        enum bir_arch arch = bir_arch_from_name(value, strlen(value));
        if (strcmp(value, "module") != 0 && arch != BIR_ARCH_SUNDA && arch != BIR_ARCH_GEN3 && arch != BIR_ARCH_CORE_V4)
            return row->refusal;
        options->arch = (int)arch;
        return NULL;
    }
    int index = choice_index(row->choices, value);
    if (index < 0)
        return row->refusal;
    if (row->offset == AT(allocate))
        options->allocate = index == 0 ? NULL : value;
    else
        memcpy(field, &index, sizeof(index));
    return NULL;
}

static const char *set_int(struct bir_compile_options *options, const char *value)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (errno || *value < '0' || *value > '9' || *end != '\0' || n > INDENT_MAX)
        return "not a whole number from 0 to 16";
    options->indent = (uint32_t)n;
    return NULL;
}

/* NULL when the list names passes that exist, in a possible order. */
static const char *pipeline_problem(const char *spec)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_pipeline pipeline;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 1);
    enum bir_status status = bir_pipeline_parse(spec, &diags, &pipeline);
    bir_arena_deinit(&arena);
    return status == BIR_OK ? NULL : "not a list of passes that exist, klr_codegen first and encode last";
}

char *bir_compile_option_advice(const char *name, const char *value)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_pipeline pipeline;
    struct bir_buf text;
    size_t len;
    if (strcmp(name, "passes") != 0 && strcmp(name, "print_after") != 0)
        return NULL;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 1);
    bir_buf_init(&text, 0);
    if (bir_pipeline_parse(value, &diags, &pipeline) != BIR_OK && diags.first && diags.first->message) {
        const char *hint = diags.first->hint;
        bir_buf_printf(&text, "%s%s%s", diags.first->message, hint ? "; " : "", hint ? hint : "");
    }
    bir_arena_deinit(&arena);
    char *advice = text.len && text.status == BIR_OK ? bir_buf_steal(&text, &len) : NULL;
    bir_buf_deinit(&text);
    return advice;
}

static const char *set_text(struct bir_compile_options *options, const struct bir_option *row, const char *value)
{
    const char *problem = NULL;
    if (row->offset == AT(passes) && *value)
        problem = pipeline_problem(value);
    else if (row->offset == AT(print_after) && *value && strcmp(value, "all") != 0 &&
             !bir_pass_find(value, strlen(value)))
        problem = "no such pass";
    else if (row->offset == AT(slot) && *value && isa_slot_from_name(value, strlen(value)) == ISA_SLOT_NONE)
        problem = "no such descriptor slot";
    else if (row->offset == AT(explain_pair) && *value && !strchr(value, ','))
        problem = "not two names with a comma between";
    else if (row->offset == AT(image) && *value)
        problem = bir_inspect_kind_problem(value);
    const char *kept = *value ? value : NULL;
    if (!problem)
        memcpy((char *)options + row->offset, &kept, sizeof(kept));
    return problem;
}

static const struct bir_option *find_option(enum bir_method method, const char *name)
{
    for (size_t i = 0; i < sizeof(option_table) / sizeof(option_table[0]); i++)
        if ((option_table[i].methods & (1u << method)) && strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

const char *bir_compile_option_set(struct bir_compile_options *options, enum bir_method method, const char *name,
                                   const char *value)
{
    const struct bir_option *row = find_option(method, name);
    if (!row)
        return "unknown option of this method";
    switch (row->type) {
    case BIR_OPTION_BOOL: {
        bool on = strcmp(value, "true") == 0;
        if (!on && strcmp(value, "false") != 0)
            return "neither true nor false";
        memcpy((char *)options + row->offset, &on, sizeof(on));
        return NULL;
    }
    case BIR_OPTION_INT: return set_int(options, value);
    case BIR_OPTION_CHOICE: return set_choice(options, row, value);
    case BIR_OPTION_TEXT: return set_text(options, row, value);
    }
    return "unknown option type";
}

/* The choice at an index, with its length. */
static const char *choice_at(const char *choices, int index, size_t *len)
{
    for (; index > 0; index--)
        choices += strcspn(choices, "|") + 1;
    *len = strcspn(choices, "|");
    return choices;
}

static void put_value(const struct bir_compile_options *options, const struct bir_option *row, struct bir_buf *out)
{
    const char *field = (const char *)options + row->offset;
    switch (row->type) {
    case BIR_OPTION_BOOL: bir_buf_putc(out, *(const bool *)field ? '1' : '0'); break;
    case BIR_OPTION_INT: bir_buf_put_u64(out, options->indent); break;
    case BIR_OPTION_TEXT: {
        const char *text;
        memcpy(&text, field, sizeof(text));
        bir_buf_puts(out, text ? text : "");
        break;
    }
    case BIR_OPTION_CHOICE:
        if (row->offset == AT(arch)) {
            bir_buf_puts(out, options->arch ? bir_arch_name((enum bir_arch)options->arch) : "module");
        } else if (row->offset == AT(allocate)) {
            bir_buf_puts(out, options->allocate ? options->allocate : "first-fit");
        } else {
            int index;
            size_t len;
            memcpy(&index, field, sizeof(index));
            const char *text = choice_at(row->choices, index, &len);
            bir_buf_put(out, text, len);
        }
        break;
    }
}

void bir_compile_options_key(const struct bir_compile_options *options, enum bir_method method, struct bir_buf *out)
{
    for (size_t i = 0; i < sizeof(option_table) / sizeof(option_table[0]); i++) {
        if (!(option_table[i].methods & (1u << method)))
            continue;
        bir_buf_puts(out, option_table[i].name);
        bir_buf_putc(out, '=');
        put_value(options, &option_table[i], out);
        bir_buf_putc(out, ';');
    }
}

void bir_compile_key(const struct bir_digest *input, enum bir_method method, const struct bir_compile_options *options,
                     struct bir_digest *key)
{
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_compile_options_key(options, method, &text);
    struct bir_hasher hasher;
    bir_hasher_init(&hasher);
    bir_hasher_update_field(&hasher, input->bytes, sizeof(input->bytes));
    bir_hasher_update_field(&hasher, bir_method_name(method), strlen(bir_method_name(method)));
    bir_hasher_update_field(&hasher, text.data, text.len);
    /* A key whose text could not be built is made unlike every other: it must never hit another request's entry. */
    if (text.status != BIR_OK)
        bir_hasher_update_field(&hasher, options, sizeof(*options));
    const uint32_t revision = BIR_OUTPUT_REVISION;
    bir_hasher_update_field(&hasher, &revision, sizeof(revision));
    bir_hasher_update_field(&hasher, bir_build_id(), strlen(bir_build_id()));
    bir_hasher_finish(&hasher, key);
    bir_buf_deinit(&text);
}

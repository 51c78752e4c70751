/*
 * The one entry point of the compiler core: bytes in, bytes out.
 *
 * Used by the daemon on a worker thread and by the command line in process; both give the same bytes for the same
 * request. Pure: no files, sockets, threads, mutable globals, environment or clock. The build id and the output
 * revision are part of every cache key.
 */
#ifndef BIR_COMPILE_H
#define BIR_COMPILE_H

#include "base/buf.h"
#include "base/cancel.h"
#include "base/diag.h"
#include "base/digest.h"

/* Raised whenever the bytes of any result change for the same request. */
#define BIR_OUTPUT_REVISION 1

enum bir_method {
    BIR_METHOD_LOWER,
    BIR_METHOD_ENCODE,
    BIR_METHOD_CONVERT,
    BIR_METHOD_CHECK,
    BIR_METHOD_HAZARDS,
    BIR_METHOD_EXPLAIN,
    BIR_METHOD_DECODE, /* input: hex text, words, or a file of encode's bin format */
    BIR_METHOD_INSPECT, /* input: a module, or with the option image an image file, an object's bytes, or hex text */
    BIR_METHOD_COUNT
};
const char *bir_method_name(enum bir_method method);
/* BIR_METHOD_COUNT when unknown. */
enum bir_method bir_method_from_name(const char *name, size_t len);

enum bir_input_format { BIR_INPUT_AUTO, BIR_INPUT_KLR, BIR_INPUT_BIR_JSON };
/* BIR_INPUT_BIR_JSON when the first byte that is not white space is '{' (or the input is empty or blank), else
 * BIR_INPUT_KLR: its reader gives the better message for bytes that are neither. */
enum bir_input_format bir_input_detect(const void *input, size_t len);

/* Options of all methods; a method ignores what it does not use, and bir_compile_options_key writes only what it uses.
 */
struct bir_compile_options {
    enum bir_input_format format;
    int arch;                 /* enum bir_arch; 0 = the module's (.klr: gen3) */
    int check;                /* enum bir_check_mode */
    bool strict;              /* lenient reading when false */
    bool verify_each;         /* verifier between any two passes */
    bool keep_going;          /* encode: list refused operands instead of failing */
    bool stats;               /* lower/check: report counters in result->stats_json */
    bool faithful;            /* convert: keep presence, order and unknown keys of the input */
    uint32_t indent;          /* of JSON output; 0 = compact */
    int encode_format;        /* enum bir_encode_format */
    const char *passes;       /* comma-separated pass names, NULL = default pipeline */
    const char *print_after;  /* a pass name or "all", NULL = nothing; dumps go to result->dumps */
    const char *allocate;     /* "first-fit" (default when NULL) or "best-fit" */
    int report;               /* enum bir_report_format: layout of hazards, explain, decode and inspect */
    bool fix_hints;           /* hazards: the smallest wait that would order each pair */
    const char *explain_pair; /* hazards: "EARLIER,LATER", names of two instructions; NULL = none */
    const char *target;       /* explain, inspect: "INSTRUCTION", or an operand "INSTRUCTION/ins/0"; NULL = every one */
    const char *slot;         /* decode: name of a descriptor slot; NULL = instruction words */
    int bytes;                /* decode, inspect of images: enum bir_bytes_format */
    const char *image;        /* inspect: the input is images of this kind (or "auto"), not a module; NULL = a module */
    bool binary;              /* inspect: write image files */
};
enum bir_check_mode { BIR_CHECK_SAMPLE, BIR_CHECK_FULL, BIR_CHECK_OFF };
enum bir_report_format { BIR_REPORT_TEXT, BIR_REPORT_JSON };
enum bir_bytes_format { BIR_BYTES_AUTO, BIR_BYTES_HEX, BIR_BYTES_BINARY };
enum bir_encode_format { BIR_ENCODE_JSON, BIR_ENCODE_TEXT, BIR_ENCODE_BIN };

/* One row an option: the single source of names, types, defaults and help of the protocol, the command line and the man
 * page. */
enum bir_option_type { BIR_OPTION_BOOL, BIR_OPTION_INT, BIR_OPTION_CHOICE, BIR_OPTION_TEXT };
struct bir_option {
    const char *name; /* "verify_each"; the command line writes "--verify-each" */
    enum bir_option_type type;
    const char *choices; /* "sample|full|off", or NULL */
    const char *refusal; /* "not one of sample|full|off", or NULL */
    const char *default_text;
    unsigned methods; /* bit set of 1 << enum bir_method */
    const char *help;
    size_t offset; /* in struct bir_compile_options */
};
const struct bir_option *bir_option_table(size_t *count);

void bir_compile_options_init(struct bir_compile_options *options);
/* Sets one option from text. NULL on success, else a static text that says what is wrong with it ("unknown option",
 * "not one of ..."). The text value is borrowed: it must outlive the options. */
const char *bir_compile_option_set(struct bir_compile_options *options, enum bir_method method, const char *name,
                                   const char *value);
/* More about a refused value: what is wrong, what it may mean, and the values that exist. The caller frees it; NULL when
 * there is nothing to say beyond the text of bir_compile_option_set. */
char *bir_compile_option_advice(const char *name, const char *value);
/* Every option that the method uses, defaults filled in, in table order: "arch=gen3;check=sample;..." for the cache
 * key. */
void bir_compile_options_key(const struct bir_compile_options *options, enum bir_method method, struct bir_buf *out);

struct bir_compile_limits {
    size_t input_bytes;    /* accepted input, default 1 GiB; BIR-JSON offsets are 32 bits */
    size_t output_bytes;   /* result, default 2 GiB */
    size_t arena_bytes;    /* each of module and scratch arena, default 4 GiB */
    uint32_t json_depth;   /* default 512 */
    uint32_t klr_depth;    /* default 256 */
    uint64_t instructions; /* default 16,000,000 */
    uint32_t diagnostics;  /* kept, default 1000 */
};
void bir_compile_limits_init(struct bir_compile_limits *limits);

struct bir_compile_request {
    enum bir_method method;
    const void *input; /* borrowed for the call */
    size_t input_len;
    struct bir_compile_options options;
    /* Called when a stage is done, for --time-passes: "read" (with "klr_codegen" for .klr), each pass, "validate",
     * "finish" (writing or encoding). The core has no clock; the caller looks at its own. May be NULL. Never changes
     * the result. */
    void (*on_stage)(void *user, const char *stage);
    void *user;
};

/* What a method that judges found; BIR_VERDICT_NONE for the others. */
enum bir_verdict { BIR_VERDICT_NONE, BIR_VERDICT_CLEAN, BIR_VERDICT_FINDINGS, BIR_VERDICT_UNDECIDED };
const char *bir_verdict_name(enum bir_verdict verdict); /* "clean", "findings", "undecided"; NULL for none */

struct bir_compile_result {
    enum bir_status status;
    enum bir_verdict verdict;
    struct bir_buf output;     /* set exactly when status is BIR_OK (check: empty) */
    struct bir_buf dumps;      /* print_after: one JSON document a line-separated section, see compile.c */
    struct bir_buf stats_json; /* one JSON object: counters of reading, passes, validation, encoding */
    struct bir_arena arena;    /* owns the diagnostics */
    struct bir_diags diags;    /* located: pointer filled in wherever offset is */
};

/* Runs one request. result need not be initialised; always deinitialise it. cancel may be NULL. Diagnostics of severity
 * error come exactly with a status other than BIR_OK, except for method check, whose status is BIR_INVALID when there
 * are errors. */
enum bir_status bir_compile(const struct bir_compile_request *request, const struct bir_compile_limits *limits,
                            struct bir_cancel *cancel, struct bir_compile_result *result);
void bir_compile_result_deinit(struct bir_compile_result *result);

/* Cache key of a request by design: digest of the input, method, options key, output revision, build id. */
void bir_compile_key(const struct bir_digest *input, enum bir_method method, const struct bir_compile_options *options,
                     struct bir_digest *key);

/* Hash over the sources of lib/, 16 hex digits. */
const char *bir_build_id(void);
const char *bir_version(void);

/* The diagnostics as a JSON array of {"severity","code","pointer","offset","message","hint"} objects (plus "vendor"
 * when known). */
void bir_diags_write_json(const struct bir_diags *diags, struct bir_buf *out);
/* The diagnostics as text lines "FILE:LINE:COL: severity: message [code] (at POINTER)" (.klr: "FILE:@OFFSET: ..."),
 * hints indented below. colour: ANSI. */
void bir_diags_write_text(const struct bir_diags *diags, const char *file, const void *input, size_t input_len,
                          bool colour, struct bir_buf *out);

#endif

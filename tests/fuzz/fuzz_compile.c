/*
 * Input: BIR-JSON or .klr, as a request of the daemon brings it. Checked: every method answers without a crash or a
 * leak; an answer in JSON is JSON; a failure is told; the same request has the same answer. The length chooses the
 * method, so that white space at the end reaches all of them with one text.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static const struct {
    enum bir_method method;
    const char *options[7]; /* name, value, ..., NULL */
    bool json;
} requests[] = {
    { BIR_METHOD_ENCODE, { "keep_going", "true" }, true },
    { BIR_METHOD_ENCODE, { "keep_going", "true", "encode_format", "text", "arch", "core_v4" }, false },
    { BIR_METHOD_ENCODE, { "keep_going", "true", "encode_format", "bin", "arch", "sunda" }, false },
    { BIR_METHOD_LOWER, { "verify_each", "true" }, true },
    { BIR_METHOD_CONVERT, { "faithful", "true" }, true },
    { BIR_METHOD_CHECK, { NULL }, false },
    { BIR_METHOD_HAZARDS, { "report", "json", "fix_hints", "true" }, true },
    { BIR_METHOD_EXPLAIN, { "report", "json" }, true },
    { BIR_METHOD_INSPECT, { "report", "json" }, true },
    { BIR_METHOD_INSPECT, { "binary", "true" }, false },
};

static enum bir_status run(size_t which, const uint8_t *data, size_t size, struct bir_compile_result *result)
{
    struct bir_compile_request request = { .method = requests[which].method, .input = data, .input_len = size };
    struct bir_compile_limits limits;
    struct bir_cancel cancel = { false };
    bir_compile_options_init(&request.options);
    const char *const *option = requests[which].options;
    for (; option[0]; option += 2)
        require(bir_compile_option_set(&request.options, request.method, option[0], option[1]) == NULL);
    bir_compile_limits_init(&limits);
    limits.arena_bytes = (size_t)64 << 20;
    limits.output_bytes = (size_t)16 << 20;
    return bir_compile(&request, &limits, &cancel, result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t which = size % (sizeof requests / sizeof requests[0]);
    struct bir_compile_result once, again;
    enum bir_status status = run(which, data, size, &once);
    require(status != BIR_CANCELLED && status != BIR_NOMEM);
    require(status == BIR_OK || once.diags.errors > 0);
    if (status == BIR_OK && requests[which].json) {
        json_error_t error;
        json_t *doc = json_loadb(once.output.data, once.output.len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
        require(doc != NULL || strstr(error.text, "too") ||
                strstr(error.text, "maximum")); /* what jansson refuses alone */
        json_decref(doc);
    }
    require(run(which, data, size, &again) == status && again.output.len == once.output.len &&
            (once.output.len == 0 || memcmp(again.output.data, once.output.data, once.output.len) == 0));
    bir_compile_result_deinit(&again);
    bir_compile_result_deinit(&once);
    return 0;
}

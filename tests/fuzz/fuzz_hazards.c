/*
 * Input: BIR-JSON. Checked: reading, the analysis and both report writers neither crash nor leak; the JSON report is
 * JSON and agrees with the verdict; a second run, and one under a small memory limit, give the same or fail as they
 * should.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bir/json.h"
#include "check/hazard.h"

#define READ_BYTES    ((size_t)64 << 20)
#define ANALYSE_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_report(const struct bir_hazard_report *report, struct bir_buf *json)
{
    struct bir_buf text;
    bir_buf_init(json, 0);
    bir_hazards_write_json(report, 0, json);
    require(json->status == BIR_OK);
    bir_buf_init(&text, 0);
    bir_hazards_write_text(report, &text);
    require(text.status == BIR_OK && text.len > 0);
    bir_buf_deinit(&text);
    json_error_t error;
    json_t *doc = json_loadb(json->data, json->len, JSON_ALLOW_NUL, &error);
    require(doc != NULL);
    bool findings = report->n_pairs + report->n_waits > 0;
    require((report->verdict == BIR_HAZARD_FINDINGS) == findings);
    require(report->verdict != BIR_HAZARD_CLEAN || report->n_undecided == 0);
    require(json_array_size(json_object_get(doc, "pairs")) == report->n_pairs);
    json_decref(doc);
}

/* BIR_OK: the report as JSON is in *json. BIR_INVALID: the names that are to be explained are not there. */
static enum bir_status analyse_once(const struct bir_module *module, bool explain, size_t limit, struct bir_buf *json)
{
    const struct bir_hazard_options options = { .fix_hints = true,
                                                .explain_earlier = explain ? "w" : NULL,
                                                .explain_later = explain ? "r" : NULL,
                                                .max_entries = 500 };
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_hazard_report *report = NULL;
    bir_arena_init(&arena, limit);
    bir_diags_init(&diags, &arena, 100);
    enum bir_status status = bir_hazards_analyse(module, &options, &arena, &diags, &report);
    require(status == BIR_OK || (diags.errors > 0 && (status == BIR_LIMIT || (explain && status == BIR_INVALID))));
    if (status == BIR_OK)
        check_report(report, json);
    bir_arena_deinit(&arena);
    return status;
}

static enum bir_status analyse(const struct bir_module *module, size_t limit, struct bir_buf *json)
{
    enum bir_status status = analyse_once(module, true, limit, json);
    return status == BIR_INVALID ? analyse_once(module, false, limit, json) : status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module = NULL;
    const struct bir_read_options options = { .max_arena_bytes = READ_BYTES };
    bir_arena_init(&arena, READ_BYTES);
    bir_diags_init(&diags, &arena, 10);
    enum bir_status status = bir_module_read_json((const char *)data, size, &options, &diags, &module);
    bir_arena_deinit(&arena);
    if (status != BIR_OK)
        return 0;
    struct bir_buf once, again;
    if (analyse(module, ANALYSE_BYTES, &once) == BIR_OK) {
        require(analyse(module, ANALYSE_BYTES, &again) == BIR_OK);
        require(once.len == again.len && memcmp(once.data, again.data, once.len) == 0);
        bir_buf_deinit(&again);
        if (analyse(module, 20000, &again) == BIR_OK) {
            require(once.len == again.len && memcmp(once.data, again.data, once.len) == 0);
            bir_buf_deinit(&again);
        }
        bir_buf_deinit(&once);
    }
    bir_module_free(module);
    return 0;
}

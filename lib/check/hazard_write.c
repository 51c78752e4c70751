/*
 * The report as JSON (hazards.md section 7) and as text. The text form groups findings by location: a group is as
 * severe as its worst finding, and the worst come first; within a group likewise, then by position.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "check/hazard_internal.h"

/* --- JSON --- */

static void put_name(struct bir_json_writer *w, const char *key, const struct bir_str *name)
{
    bir_json_put_key(w, key);
    if (name)
        bir_json_put_string(w, name->text, name->len);
    else
        bir_json_put_null(w);
}

static void put_fix(struct bir_json_writer *w, const struct bir_hazard_fix *fix)
{
    bir_json_put_key(w, "fix");
    bir_json_put_object_begin(w);
    if (fix->found) {
        bir_json_put_key(w, "id");
        bir_json_put_i64(w, fix->semaphore);
        bir_json_put_key(w, "new_update");
        bir_json_put_bool(w, !fix->on_update);
    }
    bir_json_put_key(w, "text");
    bir_json_put_cstr(w, fix->text);
    if (fix->found) {
        put_name(w, "update", fix->update->name);
        bir_json_put_key(w, "wait_value");
        bir_json_put_i64(w, fix->value);
    }
    bir_json_put_object_end(w);
}

static void put_pair(struct bir_json_writer *w, const struct bir_hazard_pair *pair, bool fix_hints)
{
    bir_json_put_object_begin(w);
    if (pair->carried) {
        bir_json_put_key(w, "carried");
        bir_json_put_bool(w, true);
    }
    put_name(w, "earlier", pair->earlier.inst->name);
    if (fix_hints)
        put_fix(w, &pair->fix);
    bir_json_put_key(w, "kind");
    bir_json_put_cstr(w, bir_hazard_kind_name(pair->kind));
    put_name(w, "later", pair->later.inst->name);
    put_name(w, "memref", pair->location->base.name);
    bir_json_put_object_end(w);
}

static void put_wait(struct bir_json_writer *w, const struct bir_hazard_wait *wait)
{
    bir_json_put_object_begin(w);
    put_name(w, "from", wait->from);
    bir_json_put_key(w, "id");
    bir_json_put_i64(w, wait->semaphore);
    put_name(w, "inst", wait->place.inst->name);
    bir_json_put_key(w, "problem");
    bir_json_put_cstr(w, bir_hazard_problem_name(wait->problem));
    bir_json_put_object_end(w);
}

void bir_hazards_write_json(const struct bir_hazard_report *report, uint32_t indent, struct bir_buf *out)
{
    struct bir_json_writer w;
    bir_json_writer_init(&w, out, indent);
    bir_json_put_object_begin(&w);
    if (report->explanation) {
        bir_json_put_key(&w, "explanation");
        bir_json_put_cstr(&w, report->explanation);
    }
    bir_json_put_key(&w, "pairs");
    bir_json_put_array_begin(&w);
    for (uint32_t i = 0; i < report->n_pairs; i++)
        put_pair(&w, &report->pairs[i], report->fix_hints);
    bir_json_put_array_end(&w);
    bir_json_put_key(&w, "undecided");
    bir_json_put_array_begin(&w);
    for (uint32_t i = 0; i < report->n_undecided; i++)
        bir_json_put_cstr(&w, report->undecided[i]);
    bir_json_put_array_end(&w);
    bir_json_put_key(&w, "verdict");
    bir_json_put_cstr(&w, bir_hazard_verdict_name(report->verdict));
    bir_json_put_key(&w, "waits");
    bir_json_put_array_begin(&w);
    for (uint32_t i = 0; i < report->n_waits; i++)
        put_wait(&w, &report->waits[i]);
    bir_json_put_array_end(&w);
    bir_json_put_object_end(&w);
}

/* --- text --- */

static void put_debug(const struct bir_instruction *inst, struct bir_buf *out)
{
    const struct bir_props *debug = inst->rare ? inst->rare->debug : NULL;
    const struct bir_prop *file = bir_props_find(debug, "filename"), *line = bir_props_find(debug, "lineno");
    if (file && file->type == BIR_VALUE_TEXT) {
        bir_buf_puts(out, "  at ");
        bir_buf_put(out, file->u.s->text, file->u.s->len);
        if (line && line->type == BIR_VALUE_INT) {
            bir_buf_putc(out, ':');
            bir_buf_put_i64(out, line->u.i);
        }
    }
}

static void put_place(const struct bir_hazard_place *place, struct bir_buf *out)
{
    const struct bir_instruction *engine = place->start ? place->start : place->inst;
    const struct bir_instruction_texts *texts = engine->rare ? engine->rare->texts : NULL;
    const struct bir_instruction_texts *own = place->inst->rare ? place->inst->rare->texts : NULL;
    bool is_known = place->inst->opcode != BIR_OP_UNKNOWN || !own || !own->opcode;
    bir_buf_printf(out, "%s  %s on %s", hazard_name(place->inst),
                   is_known ? bir_opcode_name(place->inst->opcode) : own->opcode->text,
                   engine->engine == BIR_ENUM_UNKNOWN && texts && texts->engine ? texts->engine->text
                                                                                : bir_engine_name(engine->engine));
    if (place->start)
        bir_buf_printf(out, ", started by %s", hazard_name(place->start));
    bir_buf_printf(out, "  (%s, %s[%u]%s)", place->function->name ? place->function->name->text : "",
                   place->block->name ? place->block->name->text : "", place->index,
                   place->iteration == 2   ? ", second iteration"
                   : place->iteration == 1 ? ", first iteration"
                                           : "");
    put_debug(place->inst, out);
    bir_buf_putc(out, '\n');
}

static void put_ranges(const struct bir_hazard_range *ranges, uint32_t n, bool more, struct bir_buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        bir_buf_puts(out, i ? ", " : " ");
        bir_buf_put_i64(out, ranges[i].first);
        if (ranges[i].last != ranges[i].first) {
            bir_buf_puts(out, "..");
            bir_buf_put_i64(out, ranges[i].last);
        }
    }
    if (more)
        bir_buf_puts(out, ", ...");
}

static void put_overlap(const struct bir_hazard_pair *pair, struct bir_buf *out)
{
    const struct bir_hazard_overlap *o = &pair->overlap;
    bir_buf_printf(out, "    in common: %s", o->memory);
    if (o->has_partitions) {
        bir_buf_puts(out, " partitions");
        put_ranges(o->partitions, o->n_partitions, o->more_partitions, out);
    }
    bir_buf_puts(out, o->partial ? " some bytes within" : " bytes");
    put_ranges(o->bytes, o->n_bytes, o->more_bytes, out);
    if (pair->other != pair->location)
        bir_buf_printf(out, "  (the later access calls it %s)",
                       pair->other->base.name ? pair->other->base.name->text : "");
    bir_buf_putc(out, '\n');
}

static void put_finding(const struct bir_hazard_report *report, const struct bir_hazard_pair *pair, struct bir_buf *out)
{
    static const char *const verbs[][2] = { { "writes", "reads" }, { "writes", "writes" }, { "reads", "writes" } };
    bir_buf_printf(out, "  %s%s", bir_hazard_kind_name(pair->kind),
                   pair->carried ? ", carried to the next iteration" : "");
    if (pair->count > 1)
        bir_buf_printf(out, "  (%u times)", pair->count);
    bir_buf_printf(out, "\n    %s: ", verbs[pair->kind][0]);
    put_place(&pair->earlier, out);
    bir_buf_printf(out, "    %s: ", verbs[pair->kind][1]);
    put_place(&pair->later, out);
    put_overlap(pair, out);
    bir_buf_printf(out, "    missing: %s\n", pair->missing);
    if (report->fix_hints)
        bir_buf_printf(out, "    fix: %s\n", pair->fix.text);
}

/* A finding and how severe the worst of its location is. */
struct ranked {
    const struct bir_hazard_pair *pair;
    uint32_t number;
    uint32_t group_first; /* number of the first finding of the location's worst kind */
    enum bir_hazard_kind group_kind;
};

static int compare_locations(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    uintptr_t p = (uintptr_t)x->pair->location, q = (uintptr_t)y->pair->location;
    if (p != q)
        return p < q ? -1 : 1; /* only brings equal ones together; the order shown is by kind and number */
    if (x->pair->kind != y->pair->kind)
        return x->pair->kind < y->pair->kind ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_groups(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->group_kind != y->group_kind)
        return x->group_kind < y->group_kind ? -1 : 1;
    if (x->group_first != y->group_first)
        return x->group_first < y->group_first ? -1 : 1;
    if (x->pair->kind != y->pair->kind)
        return x->pair->kind < y->pair->kind ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void rank(const struct bir_hazard_report *report, struct ranked *ranked)
{
    for (uint32_t i = 0; i < report->n_pairs; i++)
        ranked[i] = (struct ranked){ .pair = &report->pairs[i], .number = i };
    qsort(ranked, report->n_pairs, sizeof(*ranked), compare_locations);
    for (uint32_t i = 0; i < report->n_pairs; i++) {
        bool is_first = i == 0 || ranked[i].pair->location != ranked[i - 1].pair->location;
        ranked[i].group_first = is_first ? ranked[i].number : ranked[i - 1].group_first;
        ranked[i].group_kind = is_first ? ranked[i].pair->kind : ranked[i - 1].group_kind;
    }
    qsort(ranked, report->n_pairs, sizeof(*ranked), compare_groups);
}

static void put_findings(const struct bir_hazard_report *report, struct bir_buf *out)
{
    if (report->n_pairs == 0)
        return;
    struct ranked *ranked = malloc(report->n_pairs * sizeof(*ranked));
    if (!ranked) {
        out->status = BIR_NOMEM;
        return;
    }
    rank(report, ranked);
    for (uint32_t i = 0; i < report->n_pairs; i++) {
        const struct bir_location *location = ranked[i].pair->location;
        if (i == 0 || location != ranked[i - 1].pair->location)
            bir_buf_printf(out, "%s (set %s)\n", location->base.name ? location->base.name->text : "(nameless)",
                           location->set->base.name ? location->set->base.name->text : "");
        put_finding(report, ranked[i].pair, out);
    }
    free(ranked);
}

static void put_waits(const struct bir_hazard_report *report, struct bir_buf *out)
{
    for (enum bir_hazard_problem problem = BIR_HAZARD_NEVER; problem <= BIR_HAZARD_NO_UPDATE; problem++) {
        for (uint32_t i = 0; i < report->n_waits; i++) {
            const struct bir_hazard_wait *wait = &report->waits[i];
            if (wait->problem != problem)
                continue;
            bir_buf_printf(out, "wrong wait (%s): semaphore %lld >= %lld, from %s\n    in: ",
                           bir_hazard_problem_name(problem), (long long)wait->semaphore, (long long)wait->value,
                           wait->from ? wait->from->text : "(none)");
            put_place(&wait->place, out);
            bir_buf_printf(out, "    %s\n", wait->text);
        }
    }
}

void bir_hazards_write_text(const struct bir_hazard_report *report, struct bir_buf *out)
{
    put_findings(report, out);
    put_waits(report, out);
    for (uint32_t i = 0; i < report->n_undecided; i++)
        bir_buf_printf(out, "undecided: %s\n", report->undecided[i]);
    if (report->explanation)
        bir_buf_puts(out, report->explanation);
    bir_buf_printf(out, "%s: %u pairs, %u wrong waits, %u reasons for doubt; %llu executions, %llu accesses\n",
                   bir_hazard_verdict_name(report->verdict), report->n_pairs, report->n_waits, report->n_undecided,
                   (unsigned long long)report->n_executions, (unsigned long long)report->n_accesses);
}

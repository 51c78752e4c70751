/*
 * Arithmetic on access patterns, so that no pattern is ever expanded to decide an overlap.
 *
 * Normal form merges what can be merged exactly: a step within the run makes a longer run; a step that is a multiple of
 * the next smaller one, and not beyond its end, makes a longer progression. What tiles and rows look like ends as one
 * run or one progression of runs.
 *
 * Two sets meet iff 0 is in their difference set, which is again a nested progression: equal steps of both become one
 * coefficient with a range, so patterns of the same layout leave one or two choices a level. The search goes from the
 * greatest step down; what the smaller steps can still add bounds the choices, the gcd of the remaining steps discards,
 * and the last two steps are decided by a Euclidean walk instead of a loop.
 *
 * Members fit int64; differences and products are kept in 128 bits.
 */
#include "check/hazard_bytes.h"

#include <stddef.h>

__extension__ typedef __int128 wide;

/* --- normal form --- */

static bool last_of(const struct hazard_set *set, int64_t *last)
{
    int64_t sum = set->start;
    for (uint32_t i = 0; i < set->n_dims; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(set->dims[i].step, set->dims[i].num - 1, &reach) ||
            __builtin_add_overflow(sum, reach, &sum))
            return false;
    }
    return !__builtin_add_overflow(sum, set->run - 1, last) && *last < INT64_MAX;
}

/* Only positive steps and counts above 1 remain. */
static bool make_positive(struct hazard_set *set)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->n_dims; i++) {
        struct hazard_dim d = set->dims[i];
        if (d.num == 1 || d.step == 0)
            continue;
        if (d.step < 0) {
            int64_t reach;
            if (d.step == INT64_MIN || __builtin_mul_overflow(d.step, d.num - 1, &reach) ||
                __builtin_add_overflow(set->start, reach, &set->start))
                return false;
            d.step = -d.step;
        }
        uint32_t at = n++;
        for (; at > 0 && set->dims[at - 1].step > d.step; at--)
            set->dims[at] = set->dims[at - 1];
        set->dims[at] = d;
    }
    set->n_dims = n;
    return true;
}

/* Can `d` (not smaller steps than *top's) lengthen the progression top? */
static bool merge(struct hazard_dim *top, const struct hazard_dim *d)
{
    int64_t more;
    if (d->step % top->step != 0 || d->step / top->step > top->num)
        return false;
    return !__builtin_mul_overflow(d->step / top->step, d->num - 1, &more) &&
           !__builtin_add_overflow(top->num, more, &top->num);
}

bool hazard_set_normalise(struct hazard_set *set)
{
    int64_t last;
    if (!make_positive(set) || !last_of(set, &last))
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->n_dims; i++) { /* ascending; the sums fit, because last does */
        struct hazard_dim d = set->dims[i];
        if (n == 0 && d.step <= set->run)
            set->run += d.step * (d.num - 1);
        else if (n == 0 || !merge(&set->dims[n - 1], &d))
            set->dims[n++] = d;
    }
    set->n_dims = n;
    for (uint32_t i = 0; i < n / 2; i++) {
        struct hazard_dim d = set->dims[i];
        set->dims[i] = set->dims[n - 1 - i];
        set->dims[n - 1 - i] = d;
    }
    return true;
}

int64_t hazard_set_last(const struct hazard_set *set)
{
    int64_t last = INT64_MAX; /* normal form: no overflow */
    return last_of(set, &last) ? last : INT64_MAX;
}

/* --- difference --- */

#define COEFFICIENTS ((size_t)(2 * HAZARD_DIMS))

/* Is there a choice of c_k in [lo_k, hi_k] whose sum of c_k * step_k lies in a window? Steps descend and differ. */
struct problem {
    uint32_t n;
    wide step[COEFFICIENTS], lo[COEFFICIENTS], hi[COEFFICIENTS];
    wide rest_min[COEFFICIENTS + 1], rest_max[COEFFICIENTS + 1]; /* of the sum over k and beyond */
    wide gcd[COEFFICIENTS + 1];
    uint32_t steps;
};

static wide floor_div(wide a, wide b) /* b > 0 */
{
    wide q = a / b;
    return q * b > a ? q - 1 : q;
}

static wide ceil_div(wide a, wide b)
{
    return -floor_div(-a, b);
}

static wide mod(wide a, wide b)
{
    return a - floor_div(a, b) * b;
}

/* Least x >= 0 with l <= a * x mod m <= r, or -1; 0 <= a < m, 0 <= l <= r < m. */
static wide first_in_range(wide a, wide m, wide l, wide r)
{
    if (l == 0)
        return 0;
    if (a == 0)
        return -1;
    wide x = ceil_div(l, a);
    if (a * x <= r)
        return x;
    wide y = first_in_range(mod(m, a), a, mod(-r, a), mod(-l, a));
    return y < 0 ? -1 : ceil_div(l + m * y, a);
}

/* The last two coefficients: c in [c0, c1] of step s, the other of step t < s; its own bounds hold for every c in the
 * range (see below). */
static bool pair_reaches(wide c0, wide c1, wide s, wide t, wide low, wide high)
{
    /* The window of every such c touches [lo * t, hi * t] (that is how the range was made). A window of at least t
     * therefore holds one of the multiples; a shorter one that holds a multiple beyond a bound would have to span from
     * the bound to it. */
    if (high - low + 1 >= t)
        return true;
    wide at = mod(high - c0 * s, t); /* distance from the window's end down to a multiple of t */
    if (at <= high - low)
        return true;
    wide x = first_in_range(mod(-s, t), t, t - at, t - at + (high - low));
    return x >= 0 && x <= c1 - c0;
}

static int solve(struct problem *p, uint32_t k, wide low, wide high)
{
    if (k == p->n)
        return low <= 0 && 0 <= high;
    if (floor_div(high, p->gcd[k]) * p->gcd[k] < low)
        return 0;
    wide s = p->step[k];
    wide c0 = ceil_div(low - p->rest_max[k + 1], s), c1 = floor_div(high - p->rest_min[k + 1], s);
    c0 = c0 < p->lo[k] ? p->lo[k] : c0;
    c1 = c1 > p->hi[k] ? p->hi[k] : c1;
    if (c0 > c1)
        return 0;
    if (k + 1 == p->n)
        return 1;
    if (k + 2 == p->n)
        return pair_reaches(c0, c1, s, p->step[k + 1], low, high);
    for (wide c = c0; c <= c1; c++) {
        if (p->steps++ == HAZARD_MEET_STEPS)
            return -1;
        int found = solve(p, k + 1, low - c * s, high - c * s);
        if (found != 0)
            return found;
    }
    return 0;
}

static void add_coefficient(struct problem *p, int64_t step, wide lo, wide hi)
{
    if (p->n > 0 && p->step[p->n - 1] == step) {
        p->lo[p->n - 1] += lo;
        p->hi[p->n - 1] += hi;
        return;
    }
    p->step[p->n] = step;
    p->lo[p->n] = lo;
    p->hi[p->n++] = hi;
}

static wide gcd_of(wide a, wide b)
{
    while (b != 0) {
        wide r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static void bound(struct problem *p)
{
    p->rest_min[p->n] = p->rest_max[p->n] = p->gcd[p->n] = 0;
    for (uint32_t k = p->n; k-- > 0;) {
        p->rest_min[k] = p->rest_min[k + 1] + p->lo[k] * p->step[k];
        p->rest_max[k] = p->rest_max[k + 1] + p->hi[k] * p->step[k];
        p->gcd[k] = gcd_of(p->step[k], p->gcd[k + 1]);
    }
}

int hazard_set_meet(const struct hazard_set *a, const struct hazard_set *b)
{
    if (hazard_set_last(a) < b->start || hazard_set_last(b) < a->start)
        return 0;
    if (a->n_dims == 0 && b->n_dims == 0)
        return 1;
    struct problem p;
    p.n = p.steps = 0;
    for (uint32_t i = 0, j = 0; i < a->n_dims || j < b->n_dims;) {
        if (j == b->n_dims || (i < a->n_dims && a->dims[i].step >= b->dims[j].step)) {
            add_coefficient(&p, a->dims[i].step, 0, a->dims[i].num - 1);
            i++;
        } else {
            add_coefficient(&p, b->dims[j].step, -((wide)b->dims[j].num - 1), 0);
            j++;
        }
    }
    bound(&p);
    wide difference = (wide)a->start - b->start; /* runs meet when it and the sum lie within (-a->run, b->run) */
    return solve(&p, 0, 1 - (wide)a->run - difference, (wide)b->run - 1 - difference);
}

/* --- runs --- */

struct run_search {
    const struct hazard_set *set;
    wide first, last;
    wide rest[HAZARD_DIMS + 1]; /* length of what dims k and beyond cover */
    struct hazard_run *runs;
    uint32_t max, count, visits;
};

static bool collect(struct run_search *s, uint32_t k, wide base)
{
    if (s->visits++ > 8 * s->max) {
        s->count = s->max + 1;
        return false;
    }
    if (k == s->set->n_dims) {
        if (s->count < s->max)
            s->runs[s->count] = (struct hazard_run){ (int64_t)base, (int64_t)(base + s->set->run - 1) };
        return s->count++ < s->max;
    }
    const struct hazard_dim *d = &s->set->dims[k];
    wide from = ceil_div(s->first - (s->rest[k + 1] - 1) - base, d->step), to = floor_div(s->last - base, d->step);
    from = from < 0 ? 0 : from;
    to = to > d->num - 1 ? d->num - 1 : to;
    for (wide i = from; i <= to; i++)
        if (!collect(s, k + 1, base + i * d->step))
            return false;
    return true;
}

uint32_t hazard_set_runs(const struct hazard_set *set, int64_t first, int64_t last, struct hazard_run *runs,
                         uint32_t max)
{
    struct run_search s = { .set = set, .first = first, .last = last, .runs = runs, .max = max };
    s.rest[set->n_dims] = set->run;
    for (uint32_t k = set->n_dims; k-- > 0;)
        s.rest[k] = s.rest[k + 1] + (wide)set->dims[k].step * (set->dims[k].num - 1);
    if (first <= hazard_set_last(set) && last >= set->start)
        collect(&s, 0, set->start);
    return s.count > max ? max + 1 : s.count;
}

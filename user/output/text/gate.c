/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/text/stream.h"
#include "output/escape.h"
#include "output/text/function_sums.h"
#include "output/text/text_report.h"

/* What other functions say of how much runs differ counts as so many runs. */
#define EXTRA_RUNS 8
/* Fewer expected samples say nothing about that. */
#define FEW 5.0
/* Captures a side that a total needs. */
#define TOTAL_CAPTURES 3
/* The normal distribution's quantile for four of five. */
#define FOUR_OF_FIVE 0.8416
/* Text and JUnit leave out what has less of everything and does not fail, in percent. */
#define SMALL 0.5
/*
 * A smaller rest of the program says nothing of a function's growth: its start, which takes now 2 % of a run and now 1 %,
 * would be half of it. Then only the growth of the share itself counts.
 */
#define REST_MIN 0.1

struct gate {
	struct gate_options options;
	struct function_sums sums;
	unsigned cnt[2]; /* captures of A, of B */
	double *samples, *unit; /* by capture: its samples, and the amount of each */
	double exposure[2], all[2]; /* of each side: samples' sum or units of work; amount */
	double runs; /* square of the share by which a function's value differs from run to run */
	struct gate_row *rows;
	__u32 row_cnt, failures, function_cnt;
	double time_unit; /* ns of a unit of amounts; 0: not time */
};

/* ---- distributions ---------------------------------------------------------------------------- */

/* The chance of a value that large; Student's with so many degrees of freedom (Wallace 1959), 0: normal. */
static double normal_of(double t, double freedom)
{
	double z = sqrt(freedom * log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3);

	return t < 0 ? -z : z;
}

static double chance_of(double value, double freedom)
{
	return erfc((freedom > 0 ? normal_of(value, freedom) : value) / M_SQRT2) / 2;
}

/* The value whose chance that is. */
static double value_of(double chance, double freedom)
{
	double low = 0, high = 1e6;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (chance_of(middle, freedom) > chance)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- one function ----------------------------------------------------------------------------- */

static const __u64 *amounts_of(const struct gate *g, __u32 place)
{
	return g->options.by_total ? sums_total(&g->sums, place) : sums_self(&g->sums, place);
}

/* Which side a capture is of. */
static int side_of(const struct gate *g, unsigned capture)
{
	return capture >= g->cnt[0];
}

static double exposure_of(const struct gate *g, unsigned capture)
{
	return g->options.work[0] > 0 ? g->options.work[side_of(g, capture)] :
					(double)g->sums.all[capture];
}

static void add_sides(const struct gate *g, const __u64 *amounts, double ret[2])
{
	ret[0] = ret[1] = 0;
	for (unsigned i = 0; i < g->sums.cnt; i++)
		ret[side_of(g, i)] += (double)amounts[i];
}

/* The function's share of everything. */
static double share_of(const struct gate *g, const double amount[2])
{
	return (amount[0] + amount[1]) / (g->all[0] + g->all[1]);
}

/*
 * Chi square of captures around their sides' means, for which samples alone would make as much as
 * there are degrees of freedom. *ret_enough: expected samples are not too few.
 */
static double chi_square(const struct gate *g, const __u64 *amounts, const double amount[2],
			 bool *ret_enough)
{
	double sum = 0, rest = 1 - share_of(g, amount);

	*ret_enough = true;
	for (unsigned i = 0; i < g->sums.cnt; i++) {
		const int side = side_of(g, i);
		double expected = amount[side] * exposure_of(g, i) / g->exposure[side] / g->unit[i];
		double got = (double)amounts[i] / g->unit[i];

		*ret_enough &= expected >= FEW;
		if (expected > 0 && rest > 0)
			sum += (got - expected) * (got - expected) / expected / rest;
	}
	return sum;
}

static unsigned freedom_of(const struct gate *g)
{
	return g->sums.cnt > 2 ? g->sums.cnt - 2 : 0;
}

/* Variance that samples explain, of that of a function's share: the smaller, the more samples. Returns its inverse. */
static double weight_of(const struct gate *g, const double amount[2])
{
	double samples = share_of(g, amount) * (g->samples[0] + g->samples[1]) / g->sums.cnt;

	return samples / fmax(1e-6, 1 - share_of(g, amount));
}

/* How much larger a function's variance is than what samples explain. */
static double dispersion_of(const struct gate *g, const __u64 *amounts, const double amount[2])
{
	const double freedom = freedom_of(g);
	double chi, others, own;
	bool enough;

	if (!freedom)
		return 1;
	chi = chi_square(g, amounts, amount, &enough);
	others = 1 + g->runs * weight_of(g, amount);
	own = (EXTRA_RUNS * others + chi) / (EXTRA_RUNS + freedom);
	return fmax(fmax(1, own), enough ? chi / freedom : 1);
}

/* The same share of each function: so large functions, whose samples vary least, say most of it. */
static void set_runs(struct gate *g)
{
	double excess = 0, weight = 0, amount[2];

	for (__u32 i = 0; i < g->sums.places.cnt; i++) {
		const __u64 *amounts = amounts_of(g, i);
		bool enough;
		double one;

		add_sides(g, amounts, amount);
		one = chi_square(g, amounts, amount, &enough);
		excess += enough ? one - freedom_of(g) : 0;
		weight += enough ? freedom_of(g) * weight_of(g, amount) : 0;
	}
	g->runs = weight > 0 ? fmax(0, excess / weight) : 0;
}

static double log_part(double got, double expected)
{
	return got > 0 ? got * log(got / expected) : 0;
}

/* What grows with a function while the rest of the program stays: its cost per unit of work, or its share's odds. */
static double size_of(const struct gate *g, double value)
{
	return g->options.work[0] > 0 ? value : value / fmax(1 - value, REST_MIN);
}

/*
 * The least change that is found in four of five comparisons, in percent; infinite: none is. value: of both sides together;
 * noise: of its logarithm.
 */
static double detects_from(const struct gate *g, double value, double noise, double error,
			   double freedom)
{
	const double step = noise * (value_of(error, freedom) + FOUR_OF_FIVE);
	const double rest = fmax(1 - value, 1e-6), odds = value / rest * exp(step / rest);
	double found;

	if (g->options.work[0] > 0)
		return fmax(g->options.above, 100 * expm1(step));
	value = value < 1 ? value : 1;
	found = 100 * (size_of(g, odds / (1 + odds)) / size_of(g, value) - 1);
	found = fmax(g->options.above, found);
	/* Nothing has more than everything. */
	return found > 100 * (size_of(g, 1) / size_of(g, value) - 1) ? INFINITY : found;
}

/* error: the function's part of the error. Returns whether both sides together have samples. */
static bool judge(const struct gate *g, const __u64 *amounts, double error, struct gate_row *ret)
{
	const double exposure = g->exposure[0] + g->exposure[1];
	const double freedom = freedom_of(g) ? EXTRA_RUNS + freedom_of(g) : 0;
	double amount[2], got[2] = { 0 }, expected[2], rest, spread, root, noise;

	add_sides(g, amounts, amount);
	for (unsigned i = 0; i < g->sums.cnt; i++)
		got[side_of(g, i)] += (double)amounts[i] / g->unit[i];
	if (!(amount[0] + amount[1] > 0) || !(got[0] + got[1] > 0))
		return false;
	for (int s = 0; s < 2; s++) {
		ret->value[s] = amount[s] / g->exposure[s];
		/* Samples, if nothing had changed. */
		expected[s] = (amount[0] + amount[1]) * g->exposure[s] / exposure /
			      (g->all[s] / fmax(1, g->samples[s]));
	}
	rest = fmax(1 - share_of(g, amount), 1e-6);
	spread = rest * dispersion_of(g, amounts, amount);
	root = sqrt(fmax(0, 2 *
				    (log_part(got[0], expected[0]) + log_part(got[1], expected[1]) -
				     (got[0] + got[1] - expected[0] - expected[1])) /
				    spread));
	ret->chance = chance_of(ret->value[1] > ret->value[0] ? root : -root, freedom);
	ret->change = ret->value[0] > 0 ?
			      100 * (size_of(g, ret->value[1]) / size_of(g, ret->value[0]) - 1) :
			      INFINITY;
	noise = sqrt(spread * (1 / expected[0] + 1 / expected[1]));
	ret->detects = detects_from(g, share_of(g, amount), noise, error, freedom);
	ret->fails = ret->change > g->options.above && ret->chance < error &&
		     100 * (ret->value[1] - ret->value[0]) * g->exposure[0] >=
			     g->options.min_points * g->all[0];
	return true;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static bool is_function(const struct gate *g, __u32 place)
{
	const struct profile_frame *at = &g->sums.places.list[place];
	const char *name = place_name(g->sums.dict, at), *last = strrchr(name, '.');

	return !g->options.function || !strcmp(name, g->options.function) ||
	       (last && at->kind == FRAME_PYTHON && !strcmp(last + 1, g->options.function));
}

static int compare_rows(const void *a, const void *b)
{
	const struct gate_row *x = a, *y = b;
	double p = x->value[0] + x->value[1], q = y->value[0] + y->value[1];

	if (x->fails != y->fails)
		return x->fails ? -1 : 1;
	return p != q ? (p > q ? -1 : 1) : (x->place > y->place) - (x->place < y->place);
}

static int judge_functions(struct gate *g)
{
	const __u32 cnt = g->sums.places.cnt;
	double shares = 0, amount[2];

	g->rows = calloc((size_t)cnt + 1, sizeof(*g->rows));
	if (!g->rows)
		return -ENOMEM;
	set_runs(g);
	for (__u32 i = 0; i < cnt; i++) {
		if (!is_function(g, i))
			continue;
		add_sides(g, amounts_of(g, i), amount);
		shares += share_of(g, amount);
	}
	for (__u32 i = 0; i < cnt; i++) {
		struct gate_row *row = &g->rows[g->row_cnt];
		double error;

		add_sides(g, amounts_of(g, i), amount);
		error = share_of(g, amount) / shares / GATE_ERROR_ONE_IN;
		if (!is_function(g, i) || !judge(g, amounts_of(g, i), error, row))
			continue;
		row->place = i;
		g->failures += row->fails;
		g->row_cnt++;
	}
	qsort(g->rows, g->row_cnt, sizeof(*g->rows), compare_rows);
	return g->row_cnt ? 0 : -ENOENT;
}

/* The total per unit of work: Student's test, of logarithms, since runs differ by a share of what they take. */
static int judge_total(struct gate *g)
{
	const double freedom = (double)g->sums.cnt - 2, error = 1.0 / GATE_ERROR_ONE_IN;
	double mean[2] = { 0 }, square = 0, noise;
	struct gate_row *row;

	if (g->cnt[0] < TOTAL_CAPTURES || g->cnt[1] < TOTAL_CAPTURES)
		return -ERANGE;
	g->rows = row = calloc(1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = (struct gate_row){ .place = PLACE_NONE };
	for (unsigned i = 0; i < g->sums.cnt; i++)
		mean[side_of(g, i)] +=
			log((double)g->sums.all[i] / exposure_of(g, i)) / g->cnt[side_of(g, i)];
	for (unsigned i = 0; i < g->sums.cnt; i++)
		square += pow(log((double)g->sums.all[i] / exposure_of(g, i)) - mean[side_of(g, i)],
			      2);
	/* One sample more or less is the clock's resolution. */
	square = fmax(square / freedom,
		      pow(g->sums.cnt / fmax(1, g->samples[0] + g->samples[1]), 2));
	noise = sqrt(square * (1.0 / g->cnt[0] + 1.0 / g->cnt[1]));
	for (int s = 0; s < 2; s++)
		row->value[s] = g->all[s] / g->exposure[s];
	row->change = 100 * expm1(mean[1] - mean[0]);
	row->chance = chance_of((mean[1] - mean[0]) / noise, freedom);
	row->detects = fmax(g->options.above,
			    100 * expm1(noise * (value_of(error, freedom) + FOUR_OF_FIVE)));
	row->fails = row->change > g->options.above && row->chance < error;
	g->row_cnt = 1;
	g->failures = row->fails;
	return 0;
}

static int init(struct gate *g, const struct counts *const *counts)
{
	const bool is_work = g->options.work[0] > 0;
	int err = function_sums_init(&g->sums, counts, g->cnt[0] + g->cnt[1]);

	if (err)
		return err;
	g->samples = calloc(g->sums.cnt > 2 ? g->sums.cnt : 2, sizeof(*g->samples));
	g->unit = calloc(g->sums.cnt, sizeof(*g->unit));
	if (!g->samples || !g->unit)
		return -ENOMEM;
	for (unsigned i = 0; i < g->sums.cnt; i++) {
		const int side = side_of(g, i);

		if (!counts[i]->samples || !g->sums.all[i])
			return -ENODATA;
		if (event_is_off_cpu(&counts[i]->event) &&
		    (g->cnt[0] < TOTAL_CAPTURES || g->cnt[1] < TOTAL_CAPTURES))
			return -ERANGE;
		g->samples[side] += (double)counts[i]->samples;
		g->unit[i] = (double)g->sums.all[i] / (double)counts[i]->samples;
		g->all[side] += (double)g->sums.all[i];
		g->exposure[side] += is_work ? g->options.work[side] : (double)g->sums.all[i];
	}
	g->time_unit = counts__unit_ns(counts[0]);
	return g->options.whole ? judge_total(g) : judge_functions(g);
}

int gate__new(struct gate **ret, const struct counts *const *counts, unsigned cnt_a, unsigned cnt_b,
	      const struct gate_options *options)
{
	struct gate *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->options = *options;
	g->cnt[0] = cnt_a;
	g->cnt[1] = cnt_b;
	err = init(g, counts);
	if (err)
		gate__free(g);
	else
		*ret = g;
	return err;
}

void gate__free(struct gate *g)
{
	if (!g)
		return;
	function_sums_free(&g->sums);
	free(g->samples);
	free(g->unit);
	free(g->rows);
	free(g);
}

const struct gate_row *gate__rows(const struct gate *g, __u32 *ret_cnt)
{
	*ret_cnt = g->row_cnt;
	return g->rows;
}

__u32 gate__failures(const struct gate *g)
{
	return g->failures;
}

/* ---- as text ---------------------------------------------------------------------------------- */

/* "30.00%", or "1.20 ms" per unit of work. */
static void put_value(const struct gate *g, double value, char buf[24])
{
	if (!(g->options.work[0] > 0))
		snprintf(buf, 24, "%.2f%%", 100 * value);
	else if (g->time_unit > 0)
		report_time(buf, value * g->time_unit);
	else
		snprintf(buf, 24, "%.3g", value);
}

/* A larger one says only that no growth that anybody would miss is found. */
#define CHANGE_MAX 1000.0

/* infinite: what an infinite one means. */
static void put_change(double change, char buf[24], const char *infinite)
{
	if (isinf(change))
		snprintf(buf, 24, "%s", infinite);
	else if (change > CHANGE_MAX)
		snprintf(buf, 24, "> +%.0f%%", CHANGE_MAX);
	else
		snprintf(buf, 24, "%+.1f%%", change);
}

/* Printable, malloc'ed; NULL: out of memory. */
static char *name_of(const struct gate *g, const struct gate_row *row)
{
	const struct profile_frame *at;
	char *text = NULL, *shown;
	const char *file;
	int n;

	if (row->place == PLACE_NONE)
		return strdup("total");
	at = &g->sums.places.list[row->place];
	file = function_sums_file(&g->sums, at);
	n = asprintf(&text, *file ? "%s (%s)" : "%s%s", place_name(g->sums.dict, at), file);
	if (n < 0)
		return NULL;
	shown = shown_text(text);
	free(text);
	return shown;
}

static void put_verdict(const struct gate *g, FILE *out)
{
	const bool work = g->options.work[0] > 0;
	const char *what = work ? "cost of a unit of work" : "function";
	const char *to = work ? "" : " against the rest of the program";

	if (g->failures)
		fprintf(out, "fail: %u of %u: the %s grew by more than %g%%%s, beyond chance",
			g->failures, g->row_cnt, what, g->options.above, to);
	else
		fprintf(out, "pass: no %s grew by more than %g%%%s beyond chance", what,
			g->options.above, to);
	fprintf(out, " (equal programs fail once in %u,000 comparisons%s)\n",
		GATE_ERROR_ONE_IN / 1000,
		g->sums.cnt > 2 ? "" : "; one capture a side does not say how much runs differ");
}

/* Of what has hardly anything nobody wants to know what would have been found. */
static bool is_shown(const struct gate *g, const struct gate_row *row)
{
	const double *value = row->value;

	return row->fails || g->options.function || g->options.whole ||
	       100 * (value[0] * g->exposure[0] + value[1] * g->exposure[1]) >=
		       SMALL * (g->all[0] + g->all[1]);
}

int gate__print(const struct gate *g, FILE *out)
{
	const __u32 limit = g->options.limit ? g->options.limit : g->row_cnt;
	bool unjudged = false;
	__u32 printed = 0;

	fprintf(out, "      %8s %10s %10s %12s  %s\n", "Change", "A", "B", "detects from",
		g->options.whole    ? "" :
		g->options.by_total ? "Function, with what it calls" :
				      "Function");
	for (__u32 i = 0; i < g->row_cnt; i++) {
		const struct gate_row *row = &g->rows[i];
		cleanup_free char *name = NULL;
		char change[24], detects[24], a[24], b[24];

		/* What fails comes first, and is never left out. */
		if (!row->fails && (printed >= limit || !is_shown(g, row)))
			continue;
		name = name_of(g, row);
		if (!name)
			return -ENOMEM;
		printed++;
		unjudged |= isinf(row->detects);
		put_change(row->change, change, "new");
		put_change(row->detects, detects, "-");
		put_value(g, row->value[0], a);
		put_value(g, row->value[1], b);
		fprintf(out, "%-5s %8s %10s %10s %12s  %s\n", row->fails ? "FAIL" : "", change, a,
			b, detects, name);
	}
	if (printed < g->row_cnt)
		fprintf(out, "%s %u more\n", g->options.ascii ? "..." : "…", g->row_cnt - printed);
	if (unjudged)
		fputs("-: so little is left beside it that its share does not say whether it grew; "
		      "--work compares costs\n",
		      out);
	put_verdict(g, out);
	return stream_finish(out);
}

/* JSON has no fractions here: millionths, as far as a number goes. */
static void put_millionths(struct json *j, const char *key, double value)
{
	if (fabs(value) < 9e12)
		json_put_number(j, key, llround(value * 1e6));
	else
		json_put_null(j, key);
}

/* Of what a row's values are millionths. */
static const char *unit_name(const struct gate *g)
{
	return !(g->options.work[0] > 0) ? "share" :
	       g->time_unit > 0		 ? "seconds per unit of work" :
					   "events per unit of work";
}

void gate__json(const struct gate *g, struct json *j)
{
	const double unit = g->options.work[0] > 0 && g->time_unit > 0 ? g->time_unit / 1e9 : 1;

	json_put_object(j, "gate");
	json_put_bool(j, "fails", g->failures > 0);
	put_millionths(j, "above_ppm", g->options.above / 100);
	json_put_string(j, "of", g->options.whole ? "all" : g->options.by_total ? "total" : "self");
	json_put_string(j, "values", g->options.work[0] > 0 ? "per_work" : "share");
	json_put_string(j, "unit", unit_name(g));
	json_put_number(j, "error_one_in", GATE_ERROR_ONE_IN);
	json_put_array(j, "rows");
	for (__u32 i = 0; i < g->row_cnt; i++) {
		const struct gate_row *row = &g->rows[i];

		json_newline(j);
		json_open_object(j);
		if (row->place != PLACE_NONE) {
			const struct profile_frame *at = &g->sums.places.list[row->place];

			report_put_json_place(j, place_name(g->sums.dict, at),
					      function_sums_file(&g->sums, at), -1, at->kind);
		}
		json_put_bool(j, "fails", row->fails);
		put_millionths(j, "a_ppm", row->value[0] * unit);
		put_millionths(j, "b_ppm", row->value[1] * unit);
		put_millionths(j, "change_ppm", row->change / 100);
		put_millionths(j, "detects_ppm", row->detects / 100);
		json_close_object(j);
	}
	json_close_array(j);
	json_close_object(j);
}

int gate__junit(const struct gate *g, FILE *out)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < g->row_cnt; i++)
		cnt += is_shown(g, &g->rows[i]);
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites><testsuite name=\"krait diff\" tests=\"%u\" failures=\"%u\">\n",
		cnt, g->failures);
	for (__u32 i = 0; i < g->row_cnt; i++) {
		const struct gate_row *row = &g->rows[i];
		cleanup_free char *name = NULL;
		char change[24], a[24], b[24];

		if (!is_shown(g, row))
			continue;
		name = name_of(g, row);
		if (!name)
			return -ENOMEM;
		put_change(row->change, change, "new");
		put_value(g, row->value[0], a);
		put_value(g, row->value[1], b);
		fprintf(out, "<testcase classname=\"krait.%s\" name=\"",
			g->options.whole    ? "all" :
			g->options.by_total ? "total" :
					      "self");
		if (put_xml(out, name))
			return -ENOMEM;
		if (row->fails)
			fprintf(out, "\"><failure message=\"%s: %s before, %s now\"/></testcase>\n",
				change, a, b);
		else
			fputs("\"/>\n", out);
	}
	fputs("</testsuite></testsuites>\n", out);
	return stream_finish(out);
}

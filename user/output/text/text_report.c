/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/text_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output/escape.h"
#include "output/label.h"
#include "profile/marks.h"
#include "base/text/charset.h"
#include "base/text/printable.h"
#include "base/text/short_path.h"
#include "base/text/units.h"
#include "profile/frames.h"
#include "base/text/json.h"

#define SUMMARY_ROWS 20
#define SUMMARY_ROWS_MIN 5
#define MEANINGS_MAX 6
/* Different labels that are added up: states, and the system calls that wait. */
#define LABELS_MAX 256
/* Legend lines that callers of summary_options_fit() have already counted. */
#define MEANINGS_LINES 4
/* Of a CPU. */
#define IDLE_SHARE 0.1
/* A share worth a second look. */
#define HOT_PERCENT 10.0
/* Part of the name of a nested function (PEP 3155); the rest of the name suffices. */
#define LOCALS ".<locals>"

void summary_options_init(struct summary_options *o, FILE *out)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct winsize size;
	int fd = fileno(out);

	*o = (struct summary_options){ .limit = SUMMARY_ROWS, .ascii = !charset_is_utf8() };
	if (fd < 0 || !isatty(fd))
		return;
	o->width = !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
	o->color = !(no_color && *no_color) && term && strcmp(term, "dumb");
}

void summary_options_fit(struct summary_options *o, FILE *out, unsigned tables, unsigned beside)
{
	struct winsize size;
	int fd = fileno(out);
	unsigned rows;

	if (!o->width || ioctl(fd, TIOCGWINSZ, &size) || !size.ws_row)
		return;
	rows = size.ws_row > beside ? (size.ws_row - beside) / (tables ? tables : 1) : 0;
	if (rows < SUMMARY_ROWS_MIN)
		rows = SUMMARY_ROWS_MIN;
	if (rows < o->limit)
		o->limit = rows;
	o->fits = true;
}

void text_report_begin(struct text_report *r, FILE *out, const struct counts *c,
		       const struct summary_options *o)
{
	__u64 all = c->uneven ? c->weight : c->samples;

	*r = (struct text_report){
		.out = out,
		.options = o,
		.counts = c,
		.all = all ? (double)all : 1,
		.unit_ns = o->samples ? 0 : counts__unit_ns(c),
	};
}

const char *report_color(const struct text_report *r, const char *code)
{
	return r->options->color ? code : "";
}

double report_percent(const struct text_report *r, __u64 units)
{
	return 100.0 * (double)units / r->all;
}

const char *report_ellipsis(const struct text_report *r)
{
	return charset_ellipsis(r->options->ascii);
}

void report_put_tail(const struct text_report *r, const char *text, unsigned limit)
{
	unsigned width = text_width(text);
	size_t bytes;

	if (width > limit) {
		for (; *text && width > limit - 1; text += bytes)
			width -= char_width(text, &bytes);
		fputs(report_ellipsis(r), r->out);
	}
	fputs(text, r->out);
}

void report_shorten_name(char *name, enum report_length length)
{
	if (length == REPORT_WHOLE)
		return;
	for (char *at = name; (at = strstr(at, LOCALS));)
		memmove(at, at + strlen(LOCALS), strlen(at + strlen(LOCALS)) + 1);
}

void report_shorten_file(char *file, enum report_length length)
{
	const char *base = base_name(file);

	if (length < REPORT_NO_FOLDERS)
		return;
	/* Every package has a file of that name. */
	if (!strncmp(base, "__init__.py", strlen("__init__.py")) ||
	    !strncmp(base, "__main__.py", strlen("__main__.py"))) {
		for (base -= base > file; base > file && base[-1] != '/';)
			base--;
	}
	memmove(file, base, strlen(base) + 1);
}

void report_share_room(unsigned room, unsigned *function, unsigned *file)
{
	if (*function + *file <= room)
		return;
	/* Names say more. */
	if (*function > room - room / 3 && *file > room / 3)
		*file = room / 3;
	else if (*file > room / 3)
		*file = room - *function;
	*function = room - *file;
}

bool report_is_idle(const struct counts *c)
{
	return event_is_clock(&c->event) && c->to_ns > c->from_ns &&
	       (double)c->weight < IDLE_SHARE * (double)(c->to_ns - c->from_ns);
}

void report_time(char buf[24], double ns)
{
	const size_t size = 24;

	if (ns >= 99.95e9)
		snprintf(buf, size, "%.0f s", ns / 1e9);
	else if (ns >= 9.995e9)
		snprintf(buf, size, "%.1f s", ns / 1e9);
	else if (ns >= 0.9995e9)
		snprintf(buf, size, "%.2f s", ns / 1e9);
	else if (ns >= 0.9995e6)
		snprintf(buf, size, "%.0f ms", ns / 1e6);
	else if (ns > 0)
		snprintf(buf, size, "%.0f us", ns / 1e3);
	else
		snprintf(buf, size, "0");
}

void report_amount(const struct text_report *r, char buf[24], __u64 units)
{
	if (r->unit_ns > 0)
		report_time(buf, (double)units * r->unit_ns);
	else if (event_is_bytes(&r->counts->event))
		format_size(buf, 24, units);
	else
		snprintf(buf, 24, "%llu", (unsigned long long)units);
}

const char *report_amount_title(const struct text_report *r)
{
	if (r->unit_ns > 0)
		return "Self time";
	if (event_is_bytes(&r->counts->event))
		return "Self size";
	return r->counts->uneven ? "Events" : "Samples";
}

const char *report_total_title(const struct text_report *r)
{
	return r->unit_ns > 0			 ? "Time" :
	       event_is_bytes(&r->counts->event) ? "Size" :
						   report_amount_title(r);
}

void report_put_self(const struct text_report *r, __u64 self)
{
	double percent = report_percent(r, self);
	bool hot = percent >= HOT_PERCENT;

	fprintf(r->out, "%s%5.1f%%%s", report_color(r, hot ? REPORT_BOLD REPORT_RED : ""), percent,
		report_color(r, hot ? REPORT_RESET : ""));
}

void report_put_row(const struct text_report *r, __u64 self, __u64 total)
{
	char amount[24];

	report_amount(r, amount, self);
	report_put_self(r, self);
	fprintf(r->out, " %5.1f%% %9s  ", report_percent(r, total), amount);
}

void report_put_more(const struct text_report *r, __u32 cnt)
{
	if (cnt)
		fprintf(r->out, "%s%s %u more%s\n", report_color(r, REPORT_DIM), report_ellipsis(r),
			cnt, report_color(r, REPORT_RESET));
}

/*
 * Prints "3.21 s of CPU time in 3.00 s (1.07 CPUs)" if samples stand for time and the length is
 * known.
 */
static void put_time_total(const struct text_report *r)
{
	const struct counts *c = r->counts;
	double used_ns = r->all * counts__unit_ns(c), window_ns = (double)(c->to_ns - c->from_ns);
	char used[24], window[24];

	if (!c->samples || used_ns <= 0)
		return;
	report_time(used, used_ns);
	fprintf(r->out, ": %s %s", used,
		event_is_clock(&c->event)   ? "of CPU time" :
		event_is_off_cpu(&c->event) ? "off the CPU" :
					      "of time");
	if (!c->to_ns || window_ns <= 0)
		return;
	report_time(window, window_ns);
	fprintf(r->out, " in %s (%.2f %s)", window, used_ns / window_ns,
		event_is_clock(&c->event) ? "CPUs" : "threads");
}

static void put_bytes_total(const struct text_report *r)
{
	char size[32];

	format_size(size, sizeof(size), r->counts->weight);
	fprintf(r->out, "%s %s", size,
		event_is_resident(&r->counts->event) ? "resident" : "touched");
}

/*
 * The samples, of what unless it is time, and how many events they are if that is unclear. What was
 * lost was lost by the whole recording, also where the samples are some of it.
 */
void report_put_total(const struct text_report *r)
{
	const struct counts *c = r->counts;
	char samples[32], events[32], books[512];

	format_count(samples, sizeof(samples), c->samples);
	format_count(events, sizeof(events), c->samples ? (__u64)(r->all + 0.5) : 0);
	if (event_is_bytes(&c->event))
		put_bytes_total(r);
	else if (event_is_time(&c->event))
		fprintf(r->out, "%s samples", samples);
	else
		fprintf(r->out, "%s %s of %s", events, counts__share_unit(c), c->event.name);
	if (!event_is_time(&c->event) && c->uneven && !event_is_resident(&c->event))
		fprintf(r->out, " in %s samples", samples);
	else if (!event_is_time(&c->event) && !c->uneven && c->sample_weight > 1)
		fprintf(r->out, ", each of %llu", (unsigned long long)c->sample_weight);
	accounts_say(&c->accounts, books, sizeof(books));
	fprintf(r->out, "%s%s", *books ? ", " : "", books);
	if (event_is_time(&c->event))
		put_time_total(r);
	putc('\n', r->out);
	if (event_is_resident(&c->event) && c->samples)
		fputs("A page belongs to the last fault in it. What an allocator hands out again has no new one: "
		      "large blocks are right, for small objects use memray.\n",
		      r->out);
}

void report_put_json(struct json *j, const struct counts *c)
{
	const struct accounts *a = &c->accounts;
	__u64 all = c->uneven ? c->weight : c->samples;
	double time_ns = (double)all * counts__unit_ns(c);

	json_put_string(j, "event", c->event.name);
	json_put_string(j, "unit", counts__share_unit(c));
	json_put_number(j, "samples", (__s64)c->samples);
	json_put_number(j, "all", (__s64)all);
	if (time_ns > 0)
		json_put_number(j, "time_ns", (__s64)(time_ns + 0.5));
	else
		json_put_null(j, "time_ns");
	if (c->to_ns > c->from_ns && c->to_ns)
		json_put_number(j, "window_ns", (__s64)(c->to_ns - c->from_ns));
	else
		json_put_null(j, "window_ns");
	if (!a->interrupts) {
		json_put_null(j, "interrupts");
		return;
	}
	json_put_object(j, "interrupts");
	json_put_number(j, "all", (__s64)a->interrupts);
	for (int o = 0; o < OUTCOME_CNT; o++)
		json_put_number(j, outcome_name(o), (__s64)accounts_total(a, o));
	json_close_object(j);
}

void report_put_json_place(struct json *j, const char *name, const char *file, int line,
			   enum frame_kind kind)
{
	json_put_string(j, "function", name);
	if (*file)
		json_put_string(j, "file", file);
	else
		json_put_null(j, "file");
	if (line > 0)
		json_put_number(j, "line", line);
	else
		json_put_null(j, "line");
	json_put_string(j, "kind", frame_kind_name(kind));
}

/* How every interrupt ended, for who asks for it. */
static void put_accounts(const struct text_report *r)
{
	const struct accounts *a = &r->counts->accounts;
	char books[512];

	if (!a->interrupts || !r->options->stats)
		return;
	accounts_format(a, books, sizeof(books));
	fprintf(r->out, "%s", books);
	if (a->unknown_frames)
		fprintf(r->out, "; %llu unknown frames", (unsigned long long)a->unknown_frames);
	putc('\n', r->out);
}

/* The most frequent marks, which a reader of the table meets, and their meanings. */
struct meanings {
	struct {
		const char *name;
		__u64 total;
	} most[MEANINGS_MAX]; /* name NULL after the last */
};

static void add_meaning(struct meanings *m, const struct text_report *r, const char *name,
			__u64 total)
{
	if (report_percent(r, total) < 0.05)
		return;
	for (unsigned k = 0; k < MEANINGS_MAX; k++) {
		const char *other = m->most[k].name;
		const __u64 others = m->most[k].total;

		if (other && others >= total)
			continue;
		m->most[k].name = name;
		m->most[k].total = total;
		if (!other)
			break;
		name = other;
		total = others;
	}
}

/* Adds up what each label stands for: there are few different ones. */
static void find_labels(struct meanings *m, const struct text_report *r)
{
	const struct counts *c = r->counts;
	__u32 cnt;
	const struct label_count *labels = counts__labelled(c, &cnt);
	__u32 seen[LABELS_MAX];
	__u64 totals[LABELS_MAX];
	unsigned seen_cnt = 0, k;

	for (__u32 i = 1; i <= cnt; i++) {
		for (k = 0; k < seen_cnt && seen[k] != labels[i].label; k++)
			;
		if (k == LABELS_MAX)
			continue;
		if (k == seen_cnt) {
			seen[seen_cnt++] = labels[i].label;
			totals[k] = 0;
		}
		totals[k] += c->uneven ? labels[i].n.weight : labels[i].n.samples;
	}
	for (k = 0; k < seen_cnt; k++)
		add_meaning(m, r, dict__text(c->dict, seen[k]), totals[k]);
}

static void find_meanings(struct meanings *m, const struct text_report *r, const struct view *v)
{
	*m = (struct meanings){ 0 };
	for (__u32 i = 1; i < v->frame_cnt; i++) {
		if (v->frames[i].kind == FRAME_MARK)
			add_meaning(m, r, view_name(v, &v->frames[i]), v->sums[i].total);
	}
	if (r->options->waits)
		find_labels(m, r);
}

static void put_meanings(const struct text_report *r, const struct view *v)
{
	struct meanings m;
	char name[128];

	find_meanings(&m, r, v);
	for (unsigned k = 0; k < MEANINGS_MAX && m.most[k].name; k++) {
		/* A capture may call anything a mark. */
		printable_into(name, sizeof(name), m.most[k].name);
		fprintf(r->out, "%s in %.1f%%: %s\n", name, report_percent(r, m.most[k].total),
			mark_meaning(m.most[k].name));
	}
}

unsigned report_rows(const struct text_report *r, const struct view *v)
{
	const struct summary_options *o = r->options;
	unsigned lines = 0, limit = o->limit;
	struct meanings m;

	if (!o->fits || !o->width)
		return limit;
	find_meanings(&m, r, v);
	for (unsigned k = 0; k < MEANINGS_MAX && m.most[k].name; k++) {
		const char *name = m.most[k].name;

		lines += 1 + (unsigned)(strlen(name) + strlen(" in 10.0%: ") +
					strlen(mark_meaning(name)) - 1) /
				     o->width;
	}
	for (; lines > MEANINGS_LINES && limit > SUMMARY_ROWS_MIN; lines--)
		limit--;
	return limit;
}

void report_put_footer(const struct text_report *r, const struct view *v)
{
	report_put_total(r);
	put_accounts(r);
	put_meanings(r, v);
}

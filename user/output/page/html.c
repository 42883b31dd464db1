/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.c - the flame graph: one self-contained file that needs no network.
 *
 * scripts/pack-page builds the page at build time from the template flamegraph.html, the style
 * sheet and the scripts; html.c inserts the data at the template's marker. The data is the finest
 * view (process, thread, line). The page merges it as the user asks, by the rules of view.c, so its
 * numbers match the other outputs.
 *
 * Must hold: no byte of a name can end the <script> that holds the data (json_put_text() escapes
 * it), and the page shows names only by textContent and canvas, never as markup.
 */
#include "output/formats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "output/page/html.h"
#include "output/page/html_instructions.h"
#include "output/page/html_measures.h"
#include "output/page/html_sources.h"
#include "output/page/html_strip.h"
#include "output/label.h"
#include "base/system/clock.h"
#include "base/text/json.h"
#include "base/text/short_path.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/waits.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

/* scripts/pack-page makes it from the template, the style sheet and the scripts. */
/* Hidden: see look/exec/place.c. */
extern const char page_start[] __attribute__((visibility("hidden"))),
	page_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\npage_start:\n.incbin \"" KRAIT_BUILD
	"/page.html\"\npage_end:\n.popsection\n");

static int put_field(FILE *out, const char *name, const char *value)
{
	fprintf(out, "\"%s\":", name);
	if (json_put_text(out, value ? value : ""))
		return -ENOMEM;
	fputs(",", out);
	return 0;
}

static void put_number(FILE *out, const char *name, __u64 value)
{
	fprintf(out, "\"%s\":%llu,", name, (unsigned long long)value);
}

static int put_accounts(FILE *out, const struct accounts *a)
{
	char books[512];
	int i;

	accounts_say(a, books, sizeof(books));
	fputs("\"accounts\":{", out);
	put_number(out, "interrupts", a->interrupts);
	for (i = 0; i < OUTCOME_CNT; i++)
		put_number(out, outcome_name((enum outcome)i), accounts_total(a, (enum outcome)i));
	put_number(out, "unknownFrames", a->unknown_frames);
	put_number(out, "eventsDropped", a->events_dropped);
	fputs("\"text\":", out);
	if (json_put_text(out, books))
		return -ENOMEM;
	fputs("},\n", out);
	return 0;
}

/* A decimal point would depend on the locale. */
static long long milliseconds(double seconds)
{
	return seconds > 0 && seconds < 1e9 ? llround(seconds * 1000) : 0LL;
}

static int put_meta(FILE *out, const struct emit_options *o, const struct html_content *content)
{
	const struct html_measures *m = content->measures;
	const struct counts *c = m->all;
	const struct event_spec *event = &c->event;
	char date[64] = "";
	const struct recording *r = &o->recording;
	time_t start = (time_t)(r->began_wall_ns / (__s64)NS_PER_SEC);
	struct tm tm;

	if (start && localtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %z", &tm);
	fputs("\"meta\":{", out);
	if (put_field(out, "title", o->title) || put_field(out, "commandLine", r->command_line) ||
	    put_field(out, "host", r->host) || put_field(out, "kernel", r->kernel) ||
	    put_field(out, "date", date) || put_field(out, "version", KRAIT_VERSION))
		return -ENOMEM;
	if (put_field(out, "unit", counts__share_unit(c)) || put_field(out, "measure", m->first) ||
	    put_field(out, "event", event_is_clock(event) ? "" : event->name))
		return -ENOMEM;
	if (put_field(out, "view", content->view) || put_field(out, "file", content->file) ||
	    put_field(out, "editor", o->editor))
		return -ENOMEM;
	fprintf(out, "\"line\":%d,\"sources\":%s,", content->line, o->sources ? "true" : "false");
	fprintf(out, "\"compared\":%s,\"lengths\":[%lld,%lld],", m->before ? "true" : "false",
		milliseconds(content->seconds[0]), milliseconds(content->seconds[1]));
	put_number(out, "frequency", r->frequency);
	/* The time that a sample stands for, on average. */
	put_number(out, "unitNs", (__u64)llround(counts__unit_ns(c)));
	fprintf(out, "\"lines\":%s,\"threads\":%s,", o->lines ? "true" : "false",
		o->threads ? "true" : "false");
	if (o->charged)
		fputs("\"charged\":true,", out);
	fprintf(out, "\"milliseconds\":%lld},\n", milliseconds(r->seconds));
	return put_accounts(out, &c->accounts);
}

/* Writes the meaning of the kind numbers, and what to show for a missing name or stack. */
static int put_words(FILE *out)
{
	fputs("\"kinds\":[", out);
	for (int i = 0; i < FRAME_KIND_CNT; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", frame_kind_name((enum frame_kind)i));
	fputs("],\n", out);
	if (put_field(out, "noName", NAME_EMPTY) || put_field(out, "noStack", MARK_NO_STACK))
		return -ENOMEM;
	putc('\n', out);
	return 0;
}

/* Returns the page's number of a string; numbers are given on first use. */
static __u32 page_string(__u32 *numbers, __u32 *order, __u32 *cnt, __u32 string)
{
	if (!numbers[string]) {
		order[*cnt] = string;
		numbers[string] = ++*cnt;
	}
	return numbers[string] - 1;
}

/*
 * "shortFiles": for each string that may be a path and has a shorter form, its number and that
 * form.
 */
static int put_short_files(FILE *out, const struct dict *dict, const __u32 *order, __u32 cnt)
{
	const char *before = "";

	fputs("\"shortFiles\":[", out);
	for (__u32 i = 0; i < cnt; i++) {
		const char *path = dict__text(dict, order[i]), *shorter;
		char buf[SHORT_FILE_SIZE];

		shorter = short_file(buf, path);
		if (!strcmp(path, shorter))
			continue;
		fprintf(out, "%s%u,", before, i);
		if (json_put_text(out, shorter))
			return -ENOMEM;
		before = ",\n";
	}
	return fputs("],\n", out) < 0 ? -ENOMEM : 0;
}

/* "frames": 7 numbers each; then "strings": only those that frames use. */
static int put_frames(FILE *out, const struct view *v)
{
	__u32 max = 0, cnt = 0, i, none;
	cleanup_free __u32 *numbers = NULL, *order = NULL;

	for (i = 0; i < v->frame_cnt; i++) {
		max = v->frames[i].name > max ? v->frames[i].name : max;
		max = v->frames[i].file > max ? v->frames[i].file : max;
	}
	numbers = calloc((size_t)max + 1, sizeof(*numbers));
	order = calloc((size_t)max + 1, sizeof(*order));
	if (!numbers || !order)
		return -ENOMEM;
	fputs("\"frames\":[", out);
	for (i = 0; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];
		__u32 name = page_string(numbers, order, &cnt, f->name);
		__u32 file = page_string(numbers, order, &cnt, f->file);

		fprintf(out, "%s%d,%u,%u,%d,%d,%d,%d", i ? "," : "", (int)f->kind, name, file,
			f->first_line, f->line, f->pid, f->tid);
	}
	/* One extra frame for left-out subtrees; its name is the last string. */
	none = page_string(numbers, order, &cnt, 0);
	fprintf(out, ",%d,%u,%u,-1,-1,-1,-1],\n\"strings\":[", (int)FRAME_MARK, cnt, none);
	for (i = 0; i < cnt; i++) {
		if (json_put_text(out, dict__text(v->dict, order[i])))
			return -ENOMEM;
		fputs(",\n", out);
	}
	if (json_put_text(out, MARK_SMALL) || fputs("],\n", out) < 0)
		return -ENOMEM;
	return put_short_files(out, v->dict, order, cnt);
}

/* "meanings": of each mark that occurs. */
static int put_meanings(FILE *out, const struct view *v)
{
	fputs("\"meanings\":{", out);
	for (__u32 i = 0; i < v->frame_cnt; i++) {
		const char *name = view_name(v, &v->frames[i]);

		if (v->frames[i].kind != FRAME_MARK)
			continue;
		if (json_put_text(out, name))
			return -ENOMEM;
		putc(':', out);
		if (json_put_text(out, mark_meaning(name)))
			return -ENOMEM;
		fputs(",\n", out);
	}
	if (json_put_text(out, MARK_SMALL))
		return -ENOMEM;
	putc(':', out);
	if (json_put_text(out, mark_meaning(MARK_SMALL)))
		return -ENOMEM;
	fputs("},\n", out);
	return 0;
}

static int put_tree(FILE *out, const struct emit_options *o, const struct html_content *content,
		    const struct view *v, bool moved)
{
	cleanup_free __u32 *page_node = NULL;
	/* Instructions cannot be compared between two recordings. */
	int err = content->measures->before ? 0 : html_put_instructions(out, v->counts, v);

	if (!err)
		err = put_frames(out, v);
	if (!err)
		err = put_meanings(out, v);
	if (!err)
		err = html_put_nodes(out, v, content->measures, moved, &page_node);
	if (!err && content->strip)
		err = html_strip__put(content->strip, out, content->profile, content->event,
				      content->measures, page_node);
	return err ? err : html_put_sources(out, o, v);
}

static int put_data_of(FILE *out, const struct emit_options *o, const struct html_content *content,
		       const struct counts *shown)
{
	const struct html_measures *m = content->measures;
	const struct view_options options = {
		.lines = true,
		.sources = o->sources,
		.processes = !o->no_process,
		.threads = true,
		.ids = !m->before,
		.nodes = true,
		.order = VIEW_BY_COUNT,
	};
	cleanup_view struct view *v = NULL;
	int err = view__new(&v, shown, &options);

	if (err)
		return err;
	fputs("{", out);
	err = put_meta(out, o, content);
	if (!err)
		err = put_words(out);
	if (!err)
		err = put_tree(out, o, content, v, shown != m->all);
	fputs("}", out);
	return err;
}

/* Kernel code below a wait is the same everywhere, and hides who waits. */
static int put_data(FILE *out, const struct emit_options *o, const struct html_content *content)
{
	const struct counts *all = content->measures->all;
	struct counts *waits;
	int err;

	if (o->wait_kernel || !waits_are_in(all))
		return put_data_of(out, o, content, all);
	waits = waits__new_without_kernel(all);
	if (!waits)
		return -ENOMEM;
	err = put_data_of(out, o, content, waits);
	counts__free(waits);
	return err;
}

int html_page(FILE *out, const struct emit_options *o, const struct html_content *content)
{
	static const char marker[] = "{/*KRAIT:DATA*/}";
	const size_t size = (size_t)(page_end - page_start);
	const char *at = memmem(page_start, size, marker, strlen(marker)), *rest;
	int err;

	if (!at)
		return -EINVAL;
	rest = at + strlen(marker);
	fwrite(page_start, 1, (size_t)(at - page_start), out);
	err = put_data(out, o, content);
	if (err)
		return err;
	fwrite(rest, 1, (size_t)(page_end - rest), out);
	return stream_finish(out);
}

/* ---- the emitter ------------------------------------------------------------------------------ */

struct html_emitter {
	struct emitter base;
	struct html_strip *strip;
	const char *view, *file;
	int line;
};

void html_show(struct emitter *e, const char *view, const char *file, int line)
{
	struct html_emitter *h = (struct html_emitter *)e;

	h->view = view;
	h->file = file;
	h->line = line;
}

static void html_free(struct emitter *e)
{
	struct html_emitter *h = (struct html_emitter *)e;

	if (h)
		html_strip__free(h->strip);
	free(h);
}

static int html_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct html_emitter *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->base = (struct emitter){ .out = out, .options = options };
	h->strip = html_strip__new();
	if (!h->strip) {
		free(h);
		return -ENOMEM;
	}
	*ret = &h->base;
	return 0;
}

static int html_sample(struct emitter *e, const struct profile *p, const struct profile_sample *s)
{
	return html_strip__add(((struct html_emitter *)e)->strip, s);
}

static int html_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct html_emitter *h = (const struct html_emitter *)e;
	struct html_measures measures;
	const struct html_content content = { .measures = &measures,
					      .strip = h->strip,
					      .profile = p,
					      .event = event,
					      .view = h->view,
					      .file = h->file,
					      .line = h->line };
	int err = html_measures_choose(&measures, p, event);

	if (!err)
		err = html_page(e->out, e->options, &content);
	html_measures_free(&measures);
	return err;
}

const struct emitter_ops html_emitter = {
	.name = "html",
	.suffixes = (const char *const[]){ ".html", ".htm", NULL },
	.about = "flame graph",
	.next = { "open it in a browser" },
	.all_times = true,
	.keeps = true,
	.open = html_open,
	.sample = html_sample,
	.finish = html_finish,
	.free = html_free,
};

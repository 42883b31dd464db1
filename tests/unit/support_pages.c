/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_pages.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "output/text/diff.h"
#include "profile/states.h"
#include "support_profile.h"
#include "support_timed.h"

const struct emit_options pages_options = {
	.recording.command_line = "krait record -o shop.html -- python3 main.py",
	.recording.host = "ada-laptop",
	.recording.kernel = "6.18.5",
	.recording.seconds = 10.031,
	.recording.frequency = 997,
};

struct profile *pages_waits(void)
{
	struct profile *p = profile__new();
	__u32 process = push(p, 0, add_process(p, "python3 waits", 7));
	__u32 thread = push(p, process, add_thread(p, "MainThread", 7, 7));
	__u32 root = push(p, thread, add_function(p, "<module>", "/app/waits.py", 1, 30));
	__u32 both = push(p, root, add_function(p, "both", "/app/waits.py", 3, 4));
	__u32 work = push(p, root, add_function(p, "work", "/app/waits.py", 6, 7));
	__u32 idle = push(p, root, add_function(p, "idle", "/app/waits.py", 9, 9));
	struct event_spec off;

	event_off_cpu(&off, PAGES_MS);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	profile__count_state(p, 0, both, 200 * PAGES_MS, STATE_PYTHON);
	profile__count_state(p, 0, work, 400 * PAGES_MS, STATE_PYTHON);
	profile__count_state(p, 1, push(p, both, add_mark(p, "[gil]")), 500 * PAGES_MS, STATE_GIL);
	profile__count_state(p, 1, push(p, idle, add_mark(p, "[sleep]")), 1500 * PAGES_MS,
			     STATE_SLEEP);
	return p;
}

/* What pages_waits() has counted, in sequence, from second 1 on. */
static char *emit_waits(struct profile *p)
{
	const struct emitter_ops *ops = format_by_name("html");
	__u64 now_ns = 1000 * PAGES_MS;
	struct emitter *e;
	char *page;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	assert_int_equal(ops->open(&e, out, &pages_options), 0);
	for (unsigned event = 0; event < 2; event++) {
		for (__u32 node = 1; node <= dict__node_cnt(p->dict); node++) {
			const char *name = dict__text(
				p->dict,
				dict__frame_at(p->dict, dict__node_at(p->dict, node)->frame)->name);
			struct profile_sample s = {
				.node = node, .event = event, .pid = 7, .tid = 7, .comm = "waits"
			};

			s.period = counts__at(profile__counts(p, event), node).weight;
			if (!s.period)
				continue;
			s.from_ns = event ? now_ns : 0;
			s.state = event ? state_of_mark(name) : STATE_PYTHON;
			s.time_ns = now_ns += s.period;
			assert_int_equal(ops->sample(e, p, &s), 0);
		}
	}
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	fclose(out);
	return page;
}

/* 15 workers for each of two programs. */
static struct profile *many_profile(void)
{
	struct profile *p = profile__new();

	for (int i = 0; i < 30; i++) {
		__u32 node = push(p, 0, add_process(p, i % 2 ? "celery" : "gunicorn", 100 + i));

		node = push(p, node, add_thread(p, "MainThread", 100 + i, 100 + i));
		add_samples(p, push(p, node, add_function(p, "work", "/app/work.py", 3, 4)),
			    1 + (unsigned)i);
	}
	return p;
}

static void write_text(const char *dir, const char *name, const char *format, char *text,
		       struct profile *p)
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, format);
	out = fopen(path, "w");
	if (!out || fputs(text, out) < 0 || fclose(out)) {
		perror(path);
		exit(1);
	}
	free(text);
	profile__free(p);
}

static void write_file(const char *dir, const char *name, const char *format, struct profile *p)
{
	write_text(dir, name, format, emit_text(format, p, &pages_options), p);
}

/* The small profile's earlier version: walk took twice as long and nothing was encoded. */
static struct counts *before_of(const struct counts *after)
{
	struct counts *before = counts__new(after->dict, &after->event);

	assert_non_null(before);
	for (__u32 i = 1; i <= dict__node_cnt(after->dict); i++) {
		const struct profile_frame *f =
			dict__frame_at(after->dict, dict__node_at(after->dict, i)->frame);
		const char *name = dict__text(after->dict, f->name);
		struct node_count n = counts__at(after, i);
		unsigned times = !strcmp(name, "walk")			 ? 2 :
				 !strcmp(name, "JSONEncoder.iterencode") ? 0 :
									   1;

		if (n.samples && times)
			counts__add(before, i, times * n.samples, times * n.weight);
	}
	return before;
}

void pages_comparison(FILE *out)
{
	const struct diff_options names = { .name_a = "before.data",
					    .name_b = "after.data",
					    .seconds = { 2, 1 } };
	struct profile *p = small_profile();
	struct counts *before = before_of(profile__counts(p, 0));

	assert_int_equal(diff_page(out, before, profile__counts(p, 0), &names), 0);
	counts__free(before);
	profile__free(p);
}

/* Every file's text: 300 lines, the first of which try to break out. */
static int source_text(void *ctx, const struct dict *dict, __u32 file, char **ret)
{
	const char *path = dict__text(dict, file);
	unsigned *asked = ctx;
	size_t size;
	FILE *out;

	++*asked;
	if (strstr(path, "encoder.py"))
		return -EACCES;
	out = open_memstream(ret, &size);
	assert_non_null(out);
	fputs("</script><script>alert(1)</script>\n\tif a < b && c: # \xe2\x80\xae \x1b[31m\r\n",
	      out);
	for (int line = 3; line <= 300; line++)
		fprintf(out, "line %d of it\n", line);
	return fclose(out) ? -ENOMEM : 0;
}

char *pages_with_sources(struct profile *p, unsigned *asked)
{
	struct emit_options with = pages_options;

	with.source = source_text;
	with.source_ctx = asked;
	return emit_timed("html", p, &with);
}

/* A service: others' code that all calls come through, then two views, and a library that they call. */
static struct profile *service_profile(void)
{
	static const char *const views[] = { "items", "slugs" };
	struct profile *p = profile__new();
	__u32 node = push(p, 0, add_process(p, "uvicorn", 7)), view;
	char name[32];

	node = push(p, node, add_function(p, "<module>", "/srv/shop/serve.py", 1, 3));
	for (int i = 0; i < 24; i++) {
		snprintf(name, sizeof(name), "layer_%d", i);
		node = push(p, node,
			    add_function(p, name,
					 "/venv/lib/python3.13/site-packages/starlette/routing.py",
					 1 + i, 2 + i));
		if (i == 10)
			add_samples(p, node, 2);
	}
	add_samples(p,
		    push(p, node,
			 add_function(p, "poll", "/usr/lib/python3.13/selectors.py", 9, 10)),
		    8);
	for (int i = 0; i < 2; i++) {
		view = push(p, node,
			    add_function(p, views[i], "/srv/shop/views.py", 10 * (i + 1), 12));
		add_samples(p, view, 20);
		for (int k = 0; k < 9; k++) {
			snprintf(name, sizeof(name), "encode_%d", k);
			view = push(p, view,
				    add_function(p, name, "/usr/lib/python3.13/json/encoder.py",
						 1 + k, 2 + k));
		}
		add_samples(p, view, 25);
	}
	return p;
}

void pages_write(const char *dir)
{
	char path[512];
	struct profile *p;
	FILE *out;

	write_file(dir, "small", "html", small_profile());
	write_file(dir, "hostile", "html", hostile_profile());
	write_file(dir, "small", "speedscope", small_profile());
	write_file(dir, "hostile", "speedscope", hostile_profile());
	write_file(dir, "service", "html", service_profile());
	write_file(dir, "deep", "html", deep_profile(2000));
	write_file(dir, "large", "html", large_profile(10000));
	if (getenv("KRAIT_PAGES_HUGE")) {
		p = large_profile(500000);
		add_random_samples(p, 1000000);
		write_text(dir, "huge", "html", emit_timed("html", p, &pages_options), p);
	}
	p = large_profile(10000);
	write_text(dir, "timed", "html", emit_timed("html", p, &pages_options), p);
	p = small_profile();
	write_text(dir, "sources", "html", pages_with_sources(p, &(unsigned){ 0 }), p);
	p = many_profile();
	write_text(dir, "many", "html", emit_timed("html", p, &pages_options), p);
	p = pages_waits();
	write_text(dir, "waits", "html", emit_waits(p), p);
	write_file(dir, "empty", "html", profile__new());
	snprintf(path, sizeof(path), "%s/diff.html", dir);
	out = fopen(path, "w");
	assert_non_null(out);
	pages_comparison(out);
	assert_int_equal(fclose(out), 0);
	write_file(dir, "small", "folded", small_profile());
	write_file(dir, "small", "script", small_profile());
	write_file(dir, "hostile", "folded", hostile_profile());
	write_file(dir, "hostile", "script", hostile_profile());
}

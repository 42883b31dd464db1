/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_profile.c - see support_profile.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "support_profile.h"

#define APP "/home/ada/shop"
#define LIB "/usr/lib/python3.14"
#define SITE "/home/ada/venv/lib/python3.14/site-packages"

const char *const hostile_names[] = { "semi;colon",
				      "two words",
				      "new\nline",
				      "arrow->method",
				      "\"double\" and 'single'",
				      "</script><script>alert(1)</script>",
				      "<!--",
				      "<img src=x onerror=alert(1)>",
				      "escape\x1b[31mred",
				      "bidi\xe2\x80\xae"
				      "esrever",
				      "bad utf-8 \xff\xc3(",
				      "",
				      "f (g.py:3)",
				      "back\\slash\\u003c",
				      "数える",
				      "naïve 12",
				      "tab\there",
				      "%s%n",
				      "__proto__",
				      NULL };

__u32 add_function(struct profile *p, const char *name, const char *file, int first, int line)
{
	struct profile_frame f = { .kind = FRAME_PYTHON,
				   .first_line = first ? first : -1,
				   .line = line ? line : -1,
				   .column = -1,
				   .pid = -1,
				   .tid = -1 };

	f.name = dict__string(p->dict, name);
	f.file = dict__string(p->dict, file);
	return dict__frame(p->dict, &f);
}

static __u32 add_other(struct profile *p, enum frame_kind kind, const char *name, int pid, int tid)
{
	struct profile_frame f = {
		.kind = kind, .first_line = -1, .line = -1, .column = -1, .pid = pid, .tid = tid
	};

	f.name = dict__string(p->dict, name);
	return dict__frame(p->dict, &f);
}

__u32 add_process(struct profile *p, const char *name, int pid)
{
	return add_other(p, FRAME_PROCESS, name, pid, -1);
}

__u32 add_thread(struct profile *p, const char *name, int pid, int tid)
{
	return add_other(p, FRAME_THREAD, name, pid, tid);
}

__u32 add_mark(struct profile *p, const char *name)
{
	return add_other(p, FRAME_MARK, name, -1, -1);
}

__u32 push(struct profile *p, __u32 parent, __u32 frame)
{
	__u32 node = dict__child(p->dict, parent, frame);

	assert_int_not_equal(node, 0);
	return node;
}

void add_samples(struct profile *p, __u32 node, unsigned cnt)
{
	while (cnt--)
		profile__count(p, 0, node, 1000000);
}

static void account(struct profile *p, __u64 lost, __u64 truncated)
{
	struct accounts *a = &profile__counts(p, 0)->accounts;

	a->interrupts = sample_cnt(p) + lost;
	a->reasons[REASON_PYTHON] = sample_cnt(p) - truncated;
	a->reasons[REASON_DEPTH] = truncated;
	a->reasons[REASON_RING_FULL] = lost;
}

struct profile *small_profile(void)
{
	struct profile *p = profile__new();
	__u32 root, main_thread, module, run, n;

	root = push(p, 0, add_process(p, "python3 shop", 4711));
	main_thread = push(p, root, add_thread(p, "MainThread", 4711, 4711));
	module = push(p, main_thread, add_function(p, "<module>", APP "/main.py", 1, 88));
	run = push(p, module, add_function(p, "Server.run", APP "/server.py", 20, 41));
	add_samples(p, run, 17);
	n = push(p, run, add_function(p, "Cart.total", APP "/cart.py", 50, 58));
	add_samples(p, n, 230);
	add_samples(p,
		    push(p, n,
			 add_function(p, "Cart.total.<locals>.<genexpr>", APP "/cart.py", 57, 57)),
		    143);
	n = push(p, run, add_function(p, "Cart.total", APP "/cart.py", 50, 61));
	add_samples(p, n, 40);
	n = push(p, run, add_function(p, "dumps", LIB "/json/__init__.py", 183, 231));
	add_samples(p, n, 12);
	n = push(p, n, add_function(p, "JSONEncoder.encode", LIB "/json/encoder.py", 183, 200));
	add_samples(
		p,
		push(p, n,
		     add_function(p, "JSONEncoder.iterencode", LIB "/json/encoder.py", 204, 261)),
		167);
	n = push(p, run,
		 add_function(p, "Template.render", SITE "/jinja2/environment.py", 1200, 1299));
	add_samples(p, push(p, n, add_function(p, "root", "<template>", 5, 30)), 96);
	n = push(p, run, add_function(p, "walk", APP "/tree.py", 8, 12));
	n = push(p, n, add_function(p, "walk", APP "/tree.py", 8, 12));
	n = push(p, n, add_function(p, "walk", APP "/tree.py", 8, 12));
	add_samples(p, n, 85);
	add_samples(p, push(p, n, add_function(p, "walk", APP "/tree.py", 8, 9)), 60);
	n = push(p, push(p, root, add_thread(p, "worker", 4711, 4720)),
		 add_function(p, "Thread._bootstrap", LIB "/threading.py", 1030, 1044));
	n = push(p, n, add_function(p, "Thread.run", LIB "/threading.py", 1000, 1023));
	n = push(p, n, add_function(p, "worker", APP "/jobs.py", 30, 37));
	add_samples(p, n, 110);
	add_samples(p,
		    push(p, push(p, root, add_thread(p, "worker", 4711, 4720)),
			 add_mark(p, "[truncated: depth]")),
		    3);
	add_samples(p, push(p, n, add_function(p, "get", SITE "/requests/api.py", 62, 73)), 37);
	account(p, 2, 3);
	return p;
}

struct profile *hostile_profile(void)
{
	struct profile *p = profile__new();
	__u32 root = push(p, 0, add_process(p, "my py;thon\n", 1)), i;

	for (i = 0; hostile_names[i]; i++) {
		__u32 f = add_function(p, hostile_names[i],
				       i % 2 ? hostile_names[i] : "/a b/x;y.py", 1, (int)i + 1);

		add_samples(p, push(p, root, f), i + 1);
	}
	account(p, 0, 0);
	return p;
}

struct profile *deep_profile(unsigned depth)
{
	struct profile *p = profile__new();
	__u32 start = push(p, 0, add_process(p, "python3", 7)), node = start, f;
	char name[32];
	unsigned i;

	for (i = 0; i < depth; i++) {
		snprintf(name, sizeof(name), "level_%u", i);
		node = push(p, node, add_function(p, name, APP "/deep.py", 10, 12));
		if (i % 100 == 50)
			add_samples(p, node, 3);
	}
	add_samples(p, node, 100);
	f = add_function(p, "recurse", APP "/deep.py", 3, 4);
	for (i = 0, node = start; i < depth; i++)
		node = push(p, node, f);
	add_samples(p, node, 50);
	account(p, 0, 0);
	return p;
}

static unsigned random_below(__u64 *seed, unsigned limit)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)((*seed >> 33) % limit);
}

/* Frames of functions by what chance says of them; 0: not made yet. */
struct functions {
	__u32 frames[8][5][15][3];
};

/* One of 600 functions in own code, packages and the standard library. */
static __u32 random_function(struct profile *p, struct functions *made, __u64 *seed)
{
	static const char *const verbs[] = { "parse", "load",	"handle",   "resolve",
					     "build", "encode", "validate", "merge" };
	static const char *const nouns[] = { "Request", "Query", "Row", "Schema", "Token" };
	static const char *const files[] = { APP "/main.py",
					     APP "/models.py",
					     APP "/views.py",
					     LIB "/json/decoder.py",
					     LIB "/re/_parser.py",
					     LIB "/asyncio/base_events.py",
					     SITE "/sqlalchemy/orm/query.py",
					     SITE "/sqlalchemy/engine/base.py",
					     SITE "/pydantic/main.py",
					     SITE "/numpy/_core/numeric.py" };
	unsigned verb = random_below(seed, 8), noun = random_below(seed, 5);
	unsigned file = (verb * 3 + noun * 7) % 10;
	unsigned number = random_below(seed, 15), line = random_below(seed, 3);
	__u32 *frame = &made->frames[verb][noun][number][line];
	char name[64];

	if (*frame)
		return *frame;
	snprintf(name, sizeof(name), "%s.%s_%u", nouns[noun], verbs[verb], number);
	*frame = add_function(p, name, files[file], 10 + (int)(verb * 40 + noun),
			      12 + (int)(verb * 40 + noun + line));
	return *frame;
}

struct profile *large_profile(unsigned nodes)
{
	struct profile *p = profile__new();
	struct functions made = { 0 };
	__u64 seed = 42;
	unsigned depth;
	__u32 node;

	while (dict__node_cnt(p->dict) < nodes) {
		int pid = 100 + (int)random_below(&seed, 4),
		    tid = pid + (int)random_below(&seed, 3);
		__u64 shape = random_below(&seed, 9);

		node = push(p, 0, add_process(p, pid % 2 ? "gunicorn" : "celery", pid));
		node = push(p, node, add_thread(p, tid == pid ? "MainThread" : "pool", pid, tid));
		for (depth = random_below(&seed, 60) + 4; depth; depth--) {
			/* Most calls follow a hot path; the rest branch off. */
			if (!random_below(&seed, 12))
				shape = seed;
			shape = shape * 6364136223846793005ULL + 7;
			__u64 call = shape;

			node = push(p, node, random_function(p, &made, &call));
		}
		add_samples(p, node, 1 + random_below(&seed, 9));
	}
	account(p, sample_cnt(p) * 3 / 97, 5);
	return p;
}

__u64 sample_cnt(const struct profile *p)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i <= dict__node_cnt(p->dict); i++)
		sum += counts__at(profile__counts(p, 0), i).samples;
	return sum;
}

char *emit_text(const char *format, const struct profile *p, const struct emit_options *options)
{
	const struct emitter_ops *ops = format_by_name(format);
	struct profile_sample s = {
		.period = 1003009,
		.pid = 4711,
		.tid = 4712,
		.cpu = 1,
		.comm = "py thon",
	};
	struct emitter *e = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	__u64 k;

	assert_non_null(ops);
	assert_int_equal(ops->open(&e, out, options), 0);
	for (s.node = 0; s.node <= dict__node_cnt(p->dict) && ops->sample; s.node++) {
		for (k = 0; k < counts__at(profile__counts(p, 0), s.node).samples; k++) {
			s.time_ns += s.period;
			assert_int_equal(ops->sample(e, p, &s), 0);
		}
	}
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	assert_int_equal(fclose(out), 0);
	return text;
}

void assert_golden(const char *name, const char *text)
{
	char path[512], *want = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/golden/%s", KRAIT_SRCDIR, name);
	if (getenv("UPDATE")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		assert_int_equal(fclose(f), 0);
	}
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s is missing: run with UPDATE=1", path);
	if (getdelim(&want, &size, '\0', f) < 0)
		want = strdup("");
	fclose(f);
	assert_string_equal(text, want);
	free(want);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_script.c - each sample as "perf script" prints it, for tools that read that text.
 *
 * 	COMM PID/TID [CPU] SEC.USEC: PERIOD EVENT:
 * 	<tab>ADDRESS SYMBOL+0xOFF (DSO)         leaf first
 * 	<blank line>
 *
 * Read by stackcollapse-perf.pl, inferno, speedscope and the Firefox Profiler. Their parsers
 * dictate the details: no blanks in COMM and DSO; no "(" (it ends the symbol), no "->" (they split
 * there) and no quotes or ";" in SYMBOL. All of them skip lines that start with "#", so those carry
 * the origin of the recording and, at the end, the accounts. Process and thread are in a sample's
 * header and therefore not frames.
 *
 * An address of Python code stands for a frame, not for memory: the same frame always has the same
 * address.
 *
 * A frame's lines are made once and cached: a sample has many frames, most of them seen before.
 */
#include "output/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/label.h"
#include "profile/marks.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"
#include "base/text/stream.h"

/* Frame 1 is at 0x10010: above page zero, with frames 16 apart, as functions are. */
#define ADDRESS_BASE 0x10000ULL
#define ADDRESS_STEP 16ULL

struct script {
	struct emitter base;
	bool started;
	char **lines; /* of each frame; NULL: not yet made */
	__u32 line_cnt;
};

static struct script *script_of(struct emitter *e)
{
	return (struct script *)e;
}

static void script_free(struct emitter *base)
{
	struct script *e = script_of(base);

	if (!e)
		return;
	for (__u32 i = 0; i < e->line_cnt; i++)
		free(e->lines[i]);
	free(e->lines);
	free(e);
}

static int script_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct script *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->base = (struct emitter){ .out = out, .options = options };
	*ret = &e->base;
	return 0;
}

static int put_word(FILE *out, const char *text, const char *otherwise)
{
	cleanup_free char *word = printable(*text ? text : otherwise);
	char *s;

	if (!word)
		return -ENOMEM;
	for (s = word; *s; s++)
		if (*s == ' ' || *s == '(' || *s == ')')
			*s = '_';
	fputs(word, out);
	return 0;
}

static int put_symbol(FILE *out, const char *text)
{
	cleanup_free char *symbol = printable(*text ? text : NAME_EMPTY);
	const char *s;

	if (!symbol)
		return -ENOMEM;
	for (s = symbol; *s; s++) {
		switch (*s) {
		case '(':
			putc('[', out);
			break;
		case ')':
			putc(']', out);
			break;
		case ';':
			putc(':', out);
			break;
		case '"':
		case '\'':
			putc('`', out);
			break;
		case '-':
			fputs(s[1] == '>' ? "=" : "-", out);
			break;
		default:
			putc(*s, out);
		}
	}
	return 0;
}

static void put_header_field(FILE *out, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(out, "# %s : ", name);
	put_printable(out, value);
	putc('\n', out);
}

static void put_header(struct script *e)
{
	if (e->started)
		return;
	e->started = true;
	fputs("# ========\n", e->base.out);
	put_header_field(e->base.out, "hostname", e->base.options->recording.host);
	put_header_field(e->base.out, "os release", e->base.options->recording.kernel);
	put_header_field(e->base.out, "cmdline", e->base.options->recording.command_line);
	fputs("# ========\n#\n", e->base.out);
}

/* Modules and the kernel are in brackets, by which readers recognise them. */
static int put_dso(FILE *out, const struct profile_frame *f, const char *file)
{
	if (f->kind == FRAME_KERNEL)
		return put_word(out, file, "[kernel.kallsyms]");
	return put_word(out, file, f->kind == FRAME_MARK ? "krait" : "python");
}

static int put_frame(FILE *out, const struct dict *dict, __u32 id, bool lines)
{
	const struct profile_frame *f = dict__frame_at(dict, id);
	const char *file = dict__text(dict, f->file);
	int err;

	fprintf(out, "\t%16llx ",
		(unsigned long long)(f->address ? f->address : ADDRESS_BASE + id * ADDRESS_STEP));
	err = put_symbol(out, dict__text(dict, f->name));
	fputs("+0x0 (", out);
	if (!err)
		err = put_dso(out, f, file);
	fputs(")\n", out);
	if (f->source)
		file = dict__text(dict, f->source);
	if (!err && lines && *file && f->line > 0) {
		fputs("  ", out);
		err = put_word(out, file, "");
		fprintf(out, ":%d\n", f->line);
	}
	return err;
}

static int make_lines(struct script *e, const struct dict *dict, __u32 id)
{
	size_t size;
	FILE *out = open_memstream(&e->lines[id], &size);
	int err;

	if (!out)
		return -ENOMEM;
	err = put_frame(out, dict, id, e->base.options->lines);
	if (!fclose(out) && !err)
		return 0;
	free(e->lines[id]);
	e->lines[id] = NULL;
	return -ENOMEM;
}

/* Returns the lines of a frame; NULL: out of memory. */
static const char *frame_lines(struct script *e, const struct dict *dict, __u32 id)
{
	__u32 cnt = dict__frame_cnt(dict) * 2 + 2;
	char **grown;

	if (id >= e->line_cnt) {
		grown = reallocarray(e->lines, cnt, sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + e->line_cnt, 0, (cnt - e->line_cnt) * sizeof(*grown));
		e->lines = grown;
		e->line_cnt = cnt;
	}
	return e->lines[id] || !make_lines(e, dict, id) ? e->lines[id] : NULL;
}

static int script_sample(struct emitter *base, const struct profile *p,
			 const struct profile_sample *s)
{
	struct script *e = script_of(base);
	const struct profile_node *n;
	__u32 node;
	int err;

	errno = 0;
	put_header(e);
	err = put_word(e->base.out, s->comm ? s->comm : "", "python");
	fprintf(e->base.out, " %5d/%-5d [%03u] %5llu.%06llu: %10llu %s: \n", s->pid, s->tid, s->cpu,
		(unsigned long long)(s->time_ns / 1000000000),
		(unsigned long long)(s->time_ns % 1000000000 / 1000), (unsigned long long)s->period,
		profile__counts(p, s->event)->event.name);
	for (node = s->node; node && !err; node = n->parent) {
		enum frame_kind kind;
		const char *lines;

		n = dict__node_at(p->dict, node);
		kind = dict__frame_at(p->dict, n->frame)->kind;
		if (kind == FRAME_PROCESS || kind == FRAME_THREAD)
			continue;
		lines = frame_lines(e, p->dict, n->frame);
		if (lines)
			fputs(lines, e->base.out);
		else
			err = -ENOMEM;
	}
	putc('\n', e->base.out);
	return err || !ferror(e->base.out) ? err : stream_cause();
}

static int script_finish(struct emitter *base, const struct profile *p, unsigned event)
{
	struct script *e = script_of(base);
	unsigned cnt = p->event_cnt;
	char books[512];

	put_header(e);
	for (unsigned i = 0; i < cnt; i++) {
		const struct counts *c = profile__counts(p, i);

		accounts_format(&c->accounts, books, sizeof(books));
		fprintf(e->base.out, "# krait: %s%s%s\n", cnt > 1 ? c->event.name : "",
			cnt > 1 ? ": " : "", books);
	}
	return stream_finish(e->base.out);
}

const struct emitter_ops perf_script_emitter = {
	.name = "script",
	.suffixes = (const char *const[]){ ".script", ".perf.txt", NULL },
	.about = "as perf script prints it",
	.all_events = true,
	.names = true,
	.open = script_open,
	.sample = script_sample,
	.finish = script_finish,
	.free = script_free,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_script.c - each sample as "perf script" prints it, for the tools that read that text.
 *
 *	COMM PID/TID [CPU] SEC.USEC: PERIOD EVENT:
 *	<tab>ADDRESS SYMBOL+0xOFF (DSO)		leaf first
 *	<blank line>
 *
 * Read by stackcollapse-perf.pl, inferno, speedscope and the Firefox Profiler, whose rules decide
 * the details: no blanks in COMM and DSO; no "(" (the symbol would end there), no "->" (it would
 * be split there) and no quotes or ";" in SYMBOL. Lines that start with "#" are skipped by all, so
 * they carry where it was recorded and, at the end, the accounts. Process and thread are in the
 * header of a sample and hence not frames.
 *
 * An address of Python stands for a frame, not for memory: the same frame has the same address.
 */
#include "emit/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emit/escape.h"
#include "emit/label.h"
#include "util/cleanup.h"
#include "util/printable.h"

/* Frame 1 is at 0x10010: clear of page zero, and 16 apart as functions are. */
#define ADDRESS_BASE 0x10000ULL
#define ADDRESS_STEP 16ULL

struct emitter {
	FILE *out;
	const struct emit_options *options;
	bool started;
};

static void script_free(struct emitter *e)
{
	free(e);
}

static int script_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->out = out;
	e->options = options;
	*ret = e;
	return 0;
}

static int put_word(struct emitter *e, const char *text, const char *otherwise)
{
	cleanup_free char *word = printable(*text ? text : otherwise);
	char *s;

	if (!word)
		return -ENOMEM;
	for (s = word; *s; s++)
		if (*s == ' ' || *s == '(' || *s == ')')
			*s = '_';
	fputs(word, e->out);
	return 0;
}

static int put_symbol(struct emitter *e, const char *text)
{
	cleanup_free char *symbol = printable(*text ? text : LABEL_NO_NAME);
	const char *s;

	if (!symbol)
		return -ENOMEM;
	for (s = symbol; *s; s++) {
		switch (*s) {
		case '(':
			putc('[', e->out);
			break;
		case ')':
			putc(']', e->out);
			break;
		case ';':
			putc(':', e->out);
			break;
		case '"':
		case '\'':
			putc('`', e->out);
			break;
		case '-':
			fputs(s[1] == '>' ? "=" : "-", e->out);
			break;
		default:
			putc(*s, e->out);
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

static void put_header(struct emitter *e)
{
	if (e->started)
		return;
	e->started = true;
	fputs("# ========\n", e->out);
	put_header_field(e->out, "hostname", e->options->host);
	put_header_field(e->out, "os release", e->options->kernel);
	put_header_field(e->out, "cmdline", e->options->command_line);
	fputs("# ========\n#\n", e->out);
}

/* Modules and the kernel itself are in brackets, by which readers know them. */
static int put_dso(struct emitter *e, const struct profile_frame *f, const char *file)
{
	if (f->kind == FRAME_KERNEL)
		return put_word(e, file, "[kernel.kallsyms]");
	return put_word(e, file, f->kind == FRAME_MARK ? "krait" : "python");
}

static int put_frame(struct emitter *e, const struct profile *p, __u32 id)
{
	const struct profile_frame *f = profile__frame_at(p, id);
	const char *file = profile__text(p, f->file);
	int err;

	fprintf(e->out, "\t%16llx ",
		(unsigned long long)(f->address ? f->address : ADDRESS_BASE + id * ADDRESS_STEP));
	err = put_symbol(e, profile__text(p, f->name));
	fputs("+0x0 (", e->out);
	if (!err)
		err = put_dso(e, f, file);
	fputs(")\n", e->out);
	if (!err && e->options->lines && *file && f->line > 0) {
		fputs("  ", e->out);
		err = put_word(e, file, "");
		fprintf(e->out, ":%d\n", f->line);
	}
	return err;
}

static int check(FILE *out)
{
	return ferror(out) ? (errno ? -errno : -EIO) : 0;
}

static int script_sample(struct emitter *e, const struct profile *p, const struct profile_sample *s)
{
	const struct profile_node *n;
	__u32 node;
	int err;

	put_header(e);
	err = put_word(e, s->comm ? s->comm : "", "python");
	fprintf(e->out, " %5d/%-5d [%03u] %5llu.%06llu: %10llu %s: \n", s->pid, s->tid, s->cpu,
		(unsigned long long)(s->time_ns / 1000000000),
		(unsigned long long)(s->time_ns % 1000000000 / 1000), (unsigned long long)s->period,
		s->event ? s->event : "cpu-clock");
	for (node = s->node; node && !err; node = n->parent) {
		enum frame_kind kind;

		n = profile__node_at(p, node);
		kind = profile__frame_at(p, n->frame)->kind;
		if (kind != FRAME_PROCESS && kind != FRAME_THREAD)
			err = put_frame(e, p, n->frame);
	}
	putc('\n', e->out);
	return err ? err : check(e->out);
}

static int script_finish(struct emitter *e, const struct profile *p)
{
	char books[512];

	put_header(e);
	accounts_format(profile__accounts_of(p), books, sizeof(books));
	fprintf(e->out, "# krait: %s\n", books);
	fflush(e->out);
	return check(e->out);
}

const struct emitter_ops perf_script_emitter = {
	.name = "script",
	.suffixes = (const char *const[]){ ".script", ".perf.txt", NULL },
	.streams = true,
	.open = script_open,
	.sample = script_sample,
	.finish = script_finish,
	.free = script_free,
};

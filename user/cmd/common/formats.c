/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/formats.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "output/formats.h"
#include "capture/perfdata/output.h"
#include "base/data/cleanup.h"
#include "base/text/nearest.h"

static const struct emitter_ops *const formats[] = {
	&perf_data_emitter,
	&folded_emitter,
	&html_emitter,
	&perf_script_emitter,
	&pprof_emitter,
	&speedscope_emitter,
	&firefox_emitter,
	&callgrind_emitter,
	&pftrace_emitter,
	&pstats_emitter,
	&jsonl_emitter,
	&svg_emitter,
	NULL,
};

const char *format_name(unsigned i)
{
	return i + 1 < sizeof(formats) / sizeof(formats[0]) ? formats[i]->name : NULL;
}

/* What other profilers call them. */
static const struct {
	const char *name, *here;
} aliases[] = {
	{ "flamegraph", "html" }, { "raw", "folded" },	     { "collapsed", "folded" },
	{ "gecko", "firefox" },	  { "pftrace", "perfetto" },
};

const struct emitter_ops *format_by_name(const char *name)
{
	const struct emitter_ops *const *e;

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (!strcmp(aliases[i].name, name))
			name = aliases[i].here;
	}
	for (e = formats; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

/* The longest suffix wins: ".perf.txt" before ".txt". */
const struct emitter_ops *format_by_suffix(const char *path)
{
	const struct emitter_ops *const *e, *best = NULL;
	size_t len = strlen(path), best_len = 0;
	const char *const *s;

	for (e = formats; *e; e++) {
		for (s = (*e)->suffixes; *s; s++) {
			size_t n = strlen(*s);

			if (n <= best_len || n >= len || strcasecmp(path + len - n, *s))
				continue;
			best = *e;
			best_len = n;
		}
	}
	return best;
}

/* ---- what was mistyped ------------------------------------------------------------------------ */

const char *format_nearest(const char *name)
{
	struct nearest n;

	nearest_begin(&n, name);
	for (const struct emitter_ops *const *e = formats; *e; e++)
		nearest_try(&n, (*e)->name);
	return n.best;
}

/* Prints suffixes that end in it (".firefox.json" for ".json"), or the closest one. */
static void put_guesses(FILE *out, const char *ending)
{
	struct nearest n;
	size_t len = strlen(ending), cnt = 0;

	nearest_begin(&n, ending);
	for (const struct emitter_ops *const *e = formats; *e; e++) {
		for (const char *const *s = (*e)->suffixes; *s; s++) {
			size_t known = strlen(*s);

			nearest_try(&n, *s);
			if (known > len && !strcmp(*s + known - len, ending))
				fprintf(out, "%s%s", cnt++ ? " or " : "", *s);
		}
	}
	if (!cnt && n.best)
		fputs(n.best, out);
}

/* Uses the shortest informative ending that starts with a dot. */
char *formats_guess(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	cleanup_free char *lower = strdup(name), *text = NULL;
	char *ret = NULL;
	size_t size;

	for (char *c = lower; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	for (size_t at = strlen(name); lower && !ret && at-- > 0;) {
		FILE *out = lower[at] == '.' ? open_memstream(&text, &size) : NULL;

		if (!out)
			continue;
		put_guesses(out, lower + at);
		if (fclose(out) || !*text)
			free(text);
		else
			ret = text;
		text = NULL;
	}
	return ret;
}

/* ---- for --help ------------------------------------------------------------------------------- */

/* Prints ".folded, .txt, .collapsed one stack a line". */
static void put_about(FILE *out, const struct emitter_ops *e)
{
	for (const char *const *s = e->suffixes; *s; s++)
		fprintf(out, "%s%s", s == e->suffixes ? "" : ", ", *s);
	fprintf(out, " %s", e->about);
}

static void put_name(FILE *out, const struct emitter_ops *e)
{
	fputs(e->name, out);
}

static void put_suffix(FILE *out, const struct emitter_ops *e)
{
	fputs(*e->suffixes, out);
}

/* Concatenates them all; the capture format comes first. */
static char *list(void (*put)(FILE *out, const struct emitter_ops *e), const char *separator,
		  bool from_capture)
{
	const struct emitter_ops *const *first = formats + from_capture, *const * e;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (e = first; *e; e++) {
		fputs(e == first ? "" : separator, out);
		put(out, *e);
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

char *formats_suffixes(void)
{
	return list(put_suffix, ", ", false);
}

char *formats_help(int key, const char *text, bool from_capture)
{
	const char *here = text ? strstr(text, FORMATS_SUFFIXES) : NULL;
	cleanup_free char *all = NULL;
	char *ret = NULL;
	int n = -1;

	if (key == 'f') {
		all = list(put_name, ", ", from_capture);
		n = asprintf(&ret, "one of %s, whatever the suffix", all ? all : "many");
	} else if (here) {
		all = list(put_about, "; ", from_capture);
		n = asprintf(&ret, "%.*s%s%s", (int)(here - text), text, all ? all : "many",
			     here + strlen(FORMATS_SUFFIXES));
	}
	return n < 0 ? (char *)text : ret;
}

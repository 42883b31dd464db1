/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"
#include "util/log.h"
#include "util/owner.h"
#include "util/units.h"

#define MAX_OUTPUTS 16

struct output {
	const char *path;
	const struct emitter_ops *ops;
	const struct emit_options *options;
	struct emitter *emitter;
	FILE *file;
	bool created; /* by us: it was not there before */
	int err; /* the first failure */
};

struct outputs {
	int cnt;
	struct output list[MAX_OUTPUTS];
};

struct outputs *outputs__new(void)
{
	return calloc(1, sizeof(struct outputs));
}

static bool is_stdout(const struct output *out)
{
	return !strcmp(out->path, "-");
}

static void close_output(struct output *out)
{
	if (out->emitter)
		out->ops->free(out->emitter);
	out->emitter = NULL;
	if (out->file && !is_stdout(out) && fclose(out->file) && !out->err)
		out->err = -errno;
	else if (out->file && is_stdout(out) && fflush(out->file) && !out->err)
		out->err = -errno;
	out->file = NULL;
}

void outputs__free(struct outputs *o)
{
	if (!o)
		return;
	for (int i = 0; i < o->cnt; i++)
		close_output(&o->list[i]);
	free(o);
}

static const struct emitter_ops *choose_format(const char *path, const char *format,
					       struct error *err)
{
	const struct emitter_ops *ops = format ? emitter_by_name(format) : emitter_by_suffix(path);

	if (!ops && format)
		error_set(err, EINVAL, EXIT_CODE_USAGE,
			  "no format \"%s\" (see krait record --help)", format);
	else if (!ops)
		error_set(err, EINVAL, EXIT_CODE_USAGE,
			  "%s: no format has this suffix; name one with -f", path);
	return ops;
}

static int open_output(struct output *out, struct error *err)
{
	int result;

	if (is_stdout(out)) {
		out->file = stdout;
	} else {
		out->created = access(out->path, F_OK) != 0;
		out->file = fopen(out->path, "we");
	}
	if (!out->file)
		return error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s", out->path,
				 strerror(errno));
	if (!is_stdout(out))
		owner_give(fileno(out->file));
	result = out->ops->open(&out->emitter, out->file, out->options);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", out->path,
				 strerror(-result));
	return 0;
}

int outputs__add(struct outputs *o, const char *path, const char *format,
		 const struct emit_options *options, struct error *err)
{
	struct output *out = &o->list[o->cnt];

	if (o->cnt == MAX_OUTPUTS)
		return error_set(err, E2BIG, EXIT_CODE_USAGE, "more than %d outputs", MAX_OUTPUTS);
	out->ops = choose_format(path, format, err);
	if (!out->ops)
		return -EINVAL;
	out->path = path;
	out->options = options;
	o->cnt++;
	return open_output(out, err);
}

void outputs__sample(struct outputs *o, const struct profile *p, const struct profile_sample *s)
{
	for (int i = 0; i < o->cnt; i++) {
		struct output *out = &o->list[i];

		if (out->ops->sample && !out->err)
			out->err = out->ops->sample(out->emitter, p, s);
	}
}

static void say_written(const struct output *out, const char *path)
{
	static const struct {
		const char *format, *next;
	} hints[] = {
		{ "perf", ": krait report, krait convert -o flame.html, or perf report" },
		{ "html", ": open it in a browser" },
		{ "folded", ": krait report FILE, or any flame graph tool" },
		{ "pprof", ": go tool pprof -http=: FILE" },
		{ "speedscope", ": drop it on speedscope.app" },
		{ "firefox", ": load it in profiler.firefox.com" },
		{ "callgrind", ": kcachegrind FILE" },
	};
	const char *next = "";
	char size[32] = "";
	struct stat st;

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (!strcmp(out->ops->name, hints[i].format))
			next = hints[i].next;
	}
	if (!stat(path, &st))
		format_size(size, sizeof(size), (__u64)st.st_size);
	log_info(NULL, "wrote %s (%s)%s", path, size, next);
}

/* The recording is still in memory: anywhere is better than nowhere. True when it is saved. */
static bool save_elsewhere(struct output *out, const struct profile *p)
{
	const char *dirs[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
	const char *base = strrchr(out->path, '/');
	char path[512];

	base = base ? base + 1 : out->path;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		struct output other = { .ops = out->ops, .options = out->options, .path = path };
		int fd, n;

		if (!dirs[i])
			continue;
		n = snprintf(path, sizeof(path), "%s/krait-XXXXXX-%s", dirs[i], base);
		if (n < 0 || n >= (int)sizeof(path))
			continue;
		fd = mkostemps(path, (int)strlen(base) + 1, O_CLOEXEC);
		other.file = fd < 0 ? NULL : fdopen(fd, "w");
		if (!other.file)
			continue;
		owner_give(fileno(other.file));
		other.err = other.ops->open(&other.emitter, other.file, other.options);
		if (!other.err)
			other.err = other.ops->finish(other.emitter, p);
		close_output(&other);
		if (!other.err) {
			say_written(&other, path);
			return true;
		}
		unlink(path);
	}
	return false;
}

static int finish_output(struct output *out, const struct profile *p, bool quiet, struct error *err)
{
	if (!out->err)
		out->err = out->ops->finish(out->emitter, p);
	close_output(out);
	if (!out->err) {
		if (!quiet && !is_stdout(out))
			say_written(out, out->path);
		return 0;
	}
	if (out->err == -EPIPE && is_stdout(out))
		return 0; /* the reader has seen enough */
	if (!out->ops->sample && !is_stdout(out) && save_elsewhere(out, p))
		return error_set(err, -out->err, EXIT_CODE_OUTPUT,
				 "%s: %s; saved elsewhere, see above", out->path,
				 strerror(-out->err));
	return error_set(err, -out->err, EXIT_CODE_OUTPUT, "%s: %s; it holds what fitted",
			 out->path, strerror(-out->err));
}

int outputs__finish(struct outputs *o, const struct profile *p, bool quiet, struct error *err)
{
	struct error one;
	int result = 0;

	for (int i = 0; i < o->cnt; i++) {
		int failed = finish_output(&o->list[i], p, quiet, &one);

		if (failed && !result) {
			result = failed;
			*err = one;
		} else if (failed) {
			log_error(NULL, "%s", one.text);
		}
	}
	return result;
}

void outputs__discard(struct outputs *o)
{
	for (int i = 0; i < o->cnt; i++) {
		close_output(&o->list[i]);
		if (o->list[i].created)
			unlink(o->list[i].path);
	}
}

bool outputs__stream(const struct outputs *o)
{
	for (int i = 0; i < o->cnt; i++) {
		if (o->list[i].ops->sample)
			return true;
	}
	return false;
}

bool outputs__use_addresses(const struct outputs *o)
{
	for (int i = 0; i < o->cnt; i++) {
		if (o->list[i].ops->addresses)
			return true;
	}
	return false;
}

bool outputs__has(const struct outputs *o, const char *format)
{
	for (int i = 0; i < o->cnt; i++) {
		if (!strcmp(o->list[i].ops->name, format))
			return true;
	}
	return false;
}

bool outputs__single(const struct outputs *o)
{
	for (int i = 0; i < o->cnt; i++) {
		if (!o->list[i].ops->all_events)
			return true;
	}
	return false;
}

bool outputs__use_stdout(const struct outputs *o)
{
	for (int i = 0; i < o->cnt; i++) {
		if (is_stdout(&o->list[i]))
			return true;
	}
	return false;
}

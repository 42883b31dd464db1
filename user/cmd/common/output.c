/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/output.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"
#include "base/text/units.h"

/* Does it write samples as they come, which cannot be written again? */
static bool writes_samples(const struct output *out)
{
	return out->ops->sample && !out->ops->keeps;
}

bool output_is_stdout(const struct output *out)
{
	return output_file__is_stdout(out->file);
}

/* Call while the stream is open: an emitter may have given it a buffer. */
static void output_free_emitter(struct output *out)
{
	if (out->emitter)
		out->ops->free(out->emitter);
	out->emitter = NULL;
}

void output_close(struct output *out)
{
	output_free_emitter(out);
	output_file__free(out->file);
	out->file = NULL;
}

/* Quotes the path for pasting into a shell; "" if it is too long. */
static void quote(char *buf, size_t size, const char *path)
{
	const char *plain =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	size_t len = 0;

	if (!path[strspn(path, plain)]) {
		snprintf(buf, size, "%s", path);
		return;
	}
	buf[len++] = '\'';
	for (; *path && len + 6 < size; path++) {
		if (*path == '\'')
			len += (size_t)snprintf(buf + len, size - len, "'\\''");
		else
			buf[len++] = *path;
	}
	buf[len++] = '\'';
	buf[*path ? 0 : len] = '\0';
}

static void say_written(const struct output *out, const char *path, const struct output_file *file)
{
	const char *const *texts = out->ops->next;
	char size[32] = "", next[2 * PATH_MAX + 64] = "", name[PATH_MAX];
	size_t len = 0;

	quote(name, sizeof(name), path);
	for (unsigned i = 0; i < 3 && texts[i]; i++)
		len += (size_t)snprintf(next + len, sizeof(next) - len, "%s%s", i ? name : ": ",
					texts[i]);
	format_size(size, sizeof(size), output_file__size(file));
	log_info(NULL, "wrote %s (%s)%s", path, size, next);
}

static int save_in(struct output *out, const struct profile *p, unsigned event,
		   struct output_file *file)
{
	struct emitter *emitter = out->ops->keeps ? out->emitter : NULL;
	FILE *stream = output_file__stream(file);
	int err = 0;

	if (emitter) /* it may still hold data */
		emitter->out = stream;
	else
		err = out->ops->open(&emitter, stream, out->options);
	if (!err)
		err = out->ops->finish(emitter, p, event);
	if (emitter && emitter != out->emitter)
		out->ops->free(emitter);
	return err ? err : output_file__finish(file);
}

/* The recording is still in memory, so saving it anywhere beats losing it. NULL: nowhere. */
static struct output_file *save_elsewhere(struct output *out, const struct profile *p,
					  unsigned event)
{
	for (unsigned i = 0; i < OUTPUT_FILE_PLACES; i++) {
		struct output_file *file;

		if (output_file__open(&file, out->path, OUTPUT_FILE_ELSEWHERE + i))
			continue;
		if (!save_in(out, p, event, file)) {
			say_written(out, output_file__name(file), file);
			return file;
		}
		output_file__free(file);
	}
	return NULL;
}

/* The reason was reported when it happened. */
static int explain_rest(const struct output *out, struct error *err)
{
	if (writes_samples(out) && output_file__is_published(out->file))
		return error_set(err, -out->err, EXIT_CODE_OUTPUT, "%s holds what fit", out->path);
	if (output_file__name(out->file))
		return error_set(err, -out->err, EXIT_CODE_OUTPUT,
				 "%s was not written; the old file is unchanged", out->path);
	return error_set(err, -out->err, EXIT_CODE_OUTPUT, "%s is incomplete", out->path);
}

/* saved: where it is now; NULL: nowhere. */
static int explain(const struct output *out, const char *saved, struct error *err)
{
	const char *why = output_file_strerror(out->err);

	if (saved)
		return error_set(err, -out->err, EXIT_CODE_OUTPUT, "%s: %s; saved as %s", out->path,
				 why, saved);
	if (writes_samples(out) && output_file__is_published(out->file))
		return error_set(err, -out->err, EXIT_CODE_OUTPUT, "%s: %s; it holds what fit",
				 out->path, why);
	return error_set(err, -out->err, EXIT_CODE_OUTPUT, "%s: %s%s", out->path, why,
			 output_file__name(out->file) ? "; the old file is unchanged" : "");
}

int output_finish(struct output *out, const struct profile *p, unsigned event, bool quiet,
		  struct error *err)
{
	cleanup_output_file struct output_file *saved = NULL;
	bool ended_early = out->err;

	if (!out->err)
		out->err = out->ops->finish(out->emitter, p, event);
	if (!out->err) {
		output_free_emitter(out);
		out->err = output_file__finish(out->file);
	}
	if (!out->err) {
		if (!quiet && !output_is_stdout(out))
			say_written(out, out->path, out->file);
		return 0;
	}
	if (out->err == -EPIPE && output_is_stdout(out))
		return 0; /* the reader has seen enough */
	if (!ended_early && out->emitter && out->ops->rescue)
		out->ops->rescue(out->emitter, p);
	if (!writes_samples(out) && output_file__name(out->file))
		saved = save_elsewhere(out, p, event);
	return ended_early && !saved ? explain_rest(out, err) :
				       explain(out, saved ? output_file__name(saved) : NULL, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/output.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"
#include "base/files/sudo_user.h"
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

static void say_written(const struct output *out, const char *path)
{
	const char *const *texts = out->ops->next;
	char size[32] = "", next[2 * PATH_MAX + 64] = "", name[PATH_MAX];
	size_t len = 0;
	struct stat st;

	quote(name, sizeof(name), path);
	for (unsigned i = 0; i < 3 && texts[i]; i++)
		len += (size_t)snprintf(next + len, sizeof(next) - len, "%s%s", i ? name : ": ",
					texts[i]);
	if (!stat(path, &st))
		format_size(size, sizeof(size), (__u64)st.st_size);
	log_info(NULL, "wrote %s (%s)%s", path, size, next);
}

static int save_at(struct output *out, const struct profile *p, unsigned event, char *path,
		   size_t base_len)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	struct emitter *emitter = out->ops->keeps ? out->emitter : NULL;
	int err = sudo_user_enter(&scope);
	int fd = err ? -1 : mkostemps(path, (int)base_len + 1, O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return -EIO;
	if (emitter) /* it may still hold data */
		emitter->out = file;
	else
		err = out->ops->open(&emitter, file, out->options);
	if (!err)
		err = out->ops->finish(emitter, p, event);
	if (emitter && emitter != out->emitter)
		out->ops->free(emitter);
	if (fclose(file) && !err)
		err = -EIO;
	if (err)
		unlink(path);
	return err;
}

/* Limit on the name of a file saved elsewhere. */
#define SAVED_PATH_MAX 512

/*
 * The recording is still in memory, so saving it anywhere beats losing it. Returns true if it is
 * saved; then path says where.
 */
static bool save_elsewhere(struct output *out, const struct profile *p, unsigned event,
			   char path[SAVED_PATH_MAX])
{
	const char *dirs[] = { secure_getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
	const char *base = strrchr(out->path, '/');

	base = base ? base + 1 : out->path;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int n;

		if (!dirs[i])
			continue;
		n = snprintf(path, SAVED_PATH_MAX, "%s/krait-XXXXXX-%s", dirs[i], base);
		if (n < 0 || n >= SAVED_PATH_MAX || save_at(out, p, event, path, strlen(base)))
			continue;
		say_written(out, path);
		return true;
	}
	return false;
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
	bool ended_early = out->err, saved;
	char path[SAVED_PATH_MAX];

	if (!out->err)
		out->err = out->ops->finish(out->emitter, p, event);
	if (!out->err) {
		output_free_emitter(out);
		out->err = output_file__finish(out->file);
	}
	if (!out->err) {
		if (!quiet && !output_is_stdout(out))
			say_written(out, out->path);
		return 0;
	}
	if (out->err == -EPIPE && output_is_stdout(out))
		return 0; /* the reader has seen enough */
	if (!ended_early && out->emitter && out->ops->rescue)
		out->ops->rescue(out->emitter, p);
	saved = !writes_samples(out) && output_file__name(out->file) &&
		save_elsewhere(out, p, event, path);
	return ended_early && !saved ? explain_rest(out, err) :
				       explain(out, saved ? path : NULL, err);
}

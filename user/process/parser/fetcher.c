/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/parser/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/parser/fetcher_serve.h"
#include "process/proc/open_file.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/worker/channel.h"
#include "base/worker/keeper.h"
#include "base/worker/worker.h"

#define SECONDS_MAX 60

struct fetch {
	bool by_keeper; /* which has the rest */
	struct worker *worker; /* NULL: the file is complete */
	int fd; /* of the file */
	__u64 end_ns;
	char path[PATH_MAX]; /* final path of the file; "": none */
	char unfinished[PATH_MAX + 16]; /* path until it is complete */
};

/* ---- where answers are kept -------------------------------------------------------------------- */

/* The folder of all files, without a trailing slash. false: none. */
static bool cache_folder(char *ret, size_t size)
{
	const char *own = secure_getenv("DEBUGINFOD_CACHE_PATH");
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int len = -1;

	if (own && *own == '/')
		len = snprintf(ret, size, "%s", own);
	else if (cache && *cache == '/')
		len = snprintf(ret, size, "%s/debuginfod_client", cache);
	else if (home && *home == '/')
		len = snprintf(ret, size, "%s/.cache/debuginfod_client", home);
	return len > 0 && len < (int)size;
}

/* The path of a build's file; creates the folders above it. */
static bool cache_path(char *ret, size_t size, const __u8 *build_id, __u32 build_id_len)
{
	size_t len;

	if (!cache_folder(ret, size))
		return false;
	len = strlen(ret);
	if (size - len < 2 * build_id_len + sizeof("//debuginfo"))
		return false;
	mkdir(ret, 0700);
	ret[len++] = '/';
	for (__u32 i = 0; i < build_id_len; i++)
		len += (size_t)snprintf(ret + len, size - len, "%02x", build_id[i]);
	mkdir(ret, 0700);
	snprintf(ret + len, size - len, "/debuginfo");
	return true;
}

/* Opens what was fetched earlier; or -1. */
static int open_kept(const char *path)
{
	struct stat st;
	cleanup_close int fd = open_file_named(path);

	return fd < 0 || fstat(fd, &st) || !st.st_size ? -1 : take_fd(&fd);
}

/* Creates a file to write to, in its place or, if that is impossible, in memory. */
static int make_file(struct fetch *f)
{
	int fd = -1;

	if (*f->path) {
		snprintf(f->unfinished, sizeof(f->unfinished), "%s.XXXXXX", f->path);
		fd = mkostemp(f->unfinished, O_CLOEXEC);
	}
	if (fd >= 0)
		return fd;
	*f->path = '\0';
	return memfd_create("krait-debuginfo", MFD_CLOEXEC);
}

/* ---- fetching --------------------------------------------------------------------------------- */

static int ask(struct fetch *f, const __u8 *build_id, __u32 build_id_len)
{
	struct fetcher_request request = { .build_id_len = build_id_len };
	struct error err;

	memcpy(request.build_id, build_id, build_id_len);
	f->fd = make_file(f);
	if (f->fd < 0)
		return -errno;
	f->worker = worker__start("fetcher", &err);
	if (!f->worker)
		return -EAGAIN;
	f->end_ns = clock_monotonic_ns() + SECONDS_MAX * NS_PER_SEC;
	return channel_send(worker__fd(f->worker), &request, sizeof(request), &f->fd, 1);
}

bool fetch_has_servers(void)
{
	const char *servers = secure_getenv("DEBUGINFOD_URLS");

	return servers && *servers;
}

/* Fetches through the keeper, since the cache is its user's, and a reader must not write there. */
static int ask_keeper(enum keeper_job job, const __u8 *build_id, __u32 build_id_len, int *ret_fd,
		      char *why, size_t why_size)
{
	struct keeper_request request = { .job = job, .more_size = build_id_len };
	struct keeper_answer answer = { 0 };
	int err;

	if (build_id_len)
		memcpy(request.more, build_id, build_id_len);
	err = keeper_ask(&request, -1, &answer, ret_fd);
	if (err && err != -EINPROGRESS)
		snprintf(why, why_size, "%s", answer.name);
	return err;
}

struct fetch *fetch__start(const __u8 *build_id, __u32 build_id_len, char *why, size_t why_size)
{
	struct fetch *f;

	snprintf(why, why_size, "there is no debug information for it");
	if (!fetch_has_servers() || !build_id_len || build_id_len > ELF_BUILD_ID_MAX)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->fd = -1;
	f->by_keeper = keeper_is_there();
	if (f->by_keeper && !ask_keeper(KEEPER_FETCH, build_id, build_id_len, NULL, why, why_size))
		return f;
	if (f->by_keeper) {
		free(f);
		return NULL;
	}
	if (cache_path(f->path, sizeof(f->path), build_id, build_id_len))
		f->fd = open_kept(f->path);
	else
		*f->path = '\0';
	if (f->fd >= 0 || !ask(f, build_id, build_id_len))
		return f;
	fetch__end(f);
	return NULL;
}

static int say(char *why, size_t size, int result, const char *text)
{
	snprintf(why, size, "%s", text);
	return result;
}

int fetch__result(struct fetch *f, int *ret_fd, char *why, size_t why_size)
{
	struct fetcher_answer answer = { .result = -EIO };
	int err;

	if (f->by_keeper)
		return ask_keeper(KEEPER_FETCH_RESULT, NULL, 0, ret_fd, why, why_size);
	if (f->worker) {
		err = channel_take(worker__fd(f->worker), &answer, sizeof(answer), NULL, 0);
		if (err == -ETIMEDOUT && clock_monotonic_ns() < f->end_ns)
			return -EINPROGRESS;
		if (err == -ETIMEDOUT)
			return say(why, why_size, -ETIMEDOUT,
				   "debuginfod servers take too long to answer");
		if (!err && answer.result == -ENOSYS)
			return say(
				why, why_size, -ENOENT,
				"there is no debug information for it (and no libcurl.so.4 to ask "
				"servers with)");
		if (err || answer.result)
			return say(
				why, why_size, -ENOENT,
				"there is no debug information for it, nor do debuginfod servers "
				"have any");
		if (*f->path && !rename(f->unfinished, f->path))
			*f->unfinished = '\0';
	}
	*ret_fd = take_fd(&f->fd);
	return 0;
}

void fetch__end(struct fetch *f)
{
	if (!f)
		return;
	if (f->by_keeper)
		keeper_ask_about(KEEPER_FETCH_END, "");
	worker__abandon(f->worker);
	if (*f->unfinished)
		unlink(f->unfinished);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

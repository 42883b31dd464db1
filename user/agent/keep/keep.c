/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/keep/keep_accounts.h"
#include "agent/keep/slice_file.h"
#include "agent/keep/slices.h"
#include "profile/window.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/metrics_text.h"
#include "base/files/sudo_user.h"

#define SLICE_NS (60 * NS_PER_SEC)
/* After a failure: samples are missed for this long. */
#define RETRY_NS (10 * NS_PER_SEC)
/* How often to check for room and requests. */
#define LOOK_NS NS_PER_SEC
/* No capture may be larger than this fraction of the limit. */
#define LARGEST_PART 8U

struct keep {
	struct keep_config config;
	int folder, lock;
	__u32 boot;
	struct slice_file *file; /* being written; NULL: none */
	struct keep_accounts accounts;
	__u64 began_ns, looked_ns, retry_ns; /* retry_ns: not before this */
	bool failing; /* was reported */
	struct slices slices; /* finished ones */
	struct keep_stats stats;
};

/* ---- the folder ------------------------------------------------------------------------------- */

static int lock_folder(struct keep *k, struct error *err)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };

	if (!sudo_user_enter(&scope))
		k->lock = openat(k->folder, SLICES_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
				 0600);
	if (k->lock >= 0 && !flock(k->lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(err, EBUSY, EXIT_CODE_OUTPUT,
				 "%s: another krait agent keeps its memory there",
				 k->config.folder);
	return error_set(err, errno, EXIT_CODE_OUTPUT, "%s/" SLICES_LOCK ": %s", k->config.folder,
			 strerror(errno));
}

/* Returns 0 or -errno. */
static int forget_request(struct keep *k)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	int err = sudo_user_enter(&scope);

	if (err)
		return err;
	return unlinkat(k->folder, SLICES_REQUEST, 0) && errno != ENOENT ? -errno : 0;
}

static int open_folder(struct keep *k, struct error *err)
{
	k->folder = slices_open_folder(k->config.folder, true);
	if (k->folder == -EPERM)
		return error_set(err, EPERM, EXIT_CODE_OUTPUT,
				 "%s must belong to the user who runs the agent, and nobody else "
				 "may write there (chmod 700)",
				 k->config.folder);
	if (k->folder < 0)
		return error_set(err, -k->folder, EXIT_CODE_OUTPUT, "cannot use %s: %s",
				 k->config.folder, strerror(-k->folder));
	return lock_folder(k, err);
}

static bool is_open(const struct keep *k, const struct slice *s)
{
	return k->file && !strcmp(s->name, slice_file__slice(k->file)->name);
}

static bool is_old(const struct keep *k, unsigned i, __s64 now_ms)
{
	/* It ends where the next one begins. */
	__s64 end_ms = i + 1 < k->slices.cnt ? k->slices.list[i + 1].wall_ms : now_ms;

	return k->config.keep_ns && now_ms - end_ms > (__s64)(k->config.keep_ns / 1000000);
}

/* Counts the captures that were read, except the one being written. */
static void count_folder(struct keep *k, unsigned first)
{
	k->stats.captures = k->stats.bytes = 0;
	for (unsigned i = first; i < k->slices.cnt; i++) {
		if (is_open(k, &k->slices.list[i]))
			continue;
		k->stats.captures++;
		k->stats.bytes += k->slices.list[i].bytes;
	}
	k->stats.oldest_unix_ms = first < k->slices.cnt ? k->slices.list[first].wall_ms : 0;
}

/*
 * Removes captures until the rest is young enough and need more bytes would fit. True if any was
 * removed.
 */
static bool make_room(struct keep *k, __u64 need)
{
	__s64 now_ms = ((__s64)clock_monotonic_ns() + clock_wall_offset_ns()) / 1000000;
	int err = slices_read(&k->slices, k->folder);
	__u64 bytes = k->slices.bytes;
	unsigned i = 0, removed = 0;

	if (err)
		return false;
	for (; i < k->slices.cnt && !is_open(k, &k->slices.list[i]); i++) {
		const struct slice *s = &k->slices.list[i];

		if (!is_old(k, i, now_ms) && bytes + need <= k->config.keep_bytes)
			break;
		err = slices_remove(k->folder, s->name);
		if (err)
			log_warn("memory", "%s/%s cannot be removed: %s", k->config.folder, s->name,
				 strerror(-err));
		bytes -= s->bytes;
		removed += !err;
	}
	k->stats.removed += removed;
	count_folder(k, i);
	return removed;
}

/* ---- one capture ------------------------------------------------------------------------------ */

/* Reported once, until it works again. */
static void fail(struct keep *k, const char *what, int err)
{
	if (!k->failing)
		log_warn("memory", "%s: %s; trying again every %d s", what, strerror(-err),
			 (int)(RETRY_NS / NS_PER_SEC));
	k->failing = true;
	k->stats.failures++;
	k->retry_ns = clock_monotonic_ns() + RETRY_NS;
	/* The oldest captures make room for new ones. */
	if (err == -ENOSPC || err == -EDQUOT)
		make_room(k, k->config.keep_bytes / LARGEST_PART);
}

/* Ends the file with what is known of its accounts; whatever happens, the next one starts afresh. */
static void end_file(struct keep *k)
{
	struct slice_file *file = k->file;
	int err;

	if (!file)
		return;
	err = slice_file__finish(file, &k->accounts);
	k->file = NULL;
	if (err)
		fail(k, slice_file__slice(file)->name, err);
	slice_file__free(file);
}

static void begin_file(struct keep *k, const struct profile *p, const struct profile_sample *s)
{
	struct slice slice = {
		.monotonic_ms = s->time_ns / 1000000,
		.wall_ms = ((__s64)s->time_ns + clock_wall_offset_ns()) / 1000000,
		.boot = k->boot,
	};
	const struct slice_file_config config = {
		.folder = k->config.folder,
		.recording = k->config.recording,
		.find_kernel = k->config.find_kernel,
		.find_kernel_ctx = k->config.find_kernel_ctx,
		.began_ns = s->time_ns,
		.compression = k->config.compression,
	};
	int err;

	slice_name(&slice);
	err = slice_file__new(&k->file, &config, &slice, p);
	if (err) {
		fail(k, k->config.folder, err);
		return;
	}
	k->failing = false;
	k->began_ns = s->time_ns;
}

void keep__sample(void *keep, const struct profile *p, const struct profile_sample *s)
{
	struct keep *k = keep;
	int err;

	if (!k->file && clock_monotonic_ns() >= k->retry_ns)
		begin_file(k, p, s);
	keep_accounts_sample(&k->accounts, s->event);
	if (!k->file) {
		k->stats.samples_missed++;
		keep_accounts_missed(&k->accounts, s->event);
		return;
	}
	err = slice_file__sample(k->file, s);
	if (!err) {
		k->stats.samples++;
		return;
	}
	k->stats.samples_missed++;
	keep_accounts_missed(&k->accounts, s->event);
	slice_file__rescue(k->file);
	fail(k, slice_file__slice(k->file)->name, err);
	slice_file__free(k->file);
	k->file = NULL;
}

static bool is_requested(const struct keep *k)
{
	return !faccessat(k->folder, SLICES_REQUEST, F_OK, AT_SYMLINK_NOFOLLOW);
}

static bool is_over(struct keep *k, const struct window *w)
{
	__u64 slice_ns = k->config.slice_ns ? k->config.slice_ns : SLICE_NS;

	return (w->to_ns > k->began_ns && w->to_ns - k->began_ns >= slice_ns) ||
	       slice_file__has_other_rate(k->file, w->profile) ||
	       slices_bytes_of(k->folder, slice_file__slice(k->file)->name) >
		       k->config.keep_bytes / LARGEST_PART;
}

void keep__window(void *keep, const struct window *w)
{
	struct keep *k = keep;

	keep_accounts_window(&k->accounts, w);
	if (k->file && is_over(k, w))
		end_file(k);
	if (!k->file)
		make_room(k, 0);
}

void keep__forget(void *keep)
{
	end_file(keep);
}

void keep__cut(struct keep *k)
{
	end_file(k);
	make_room(k, 0);
}

/* The requester wants what there is by now: the open window's accounts come with the next capture. */
static void answer_request(struct keep *k)
{
	int err;

	if (!is_requested(k))
		return;
	keep__cut(k);
	err = forget_request(k);
	if (err)
		log_warn("memory", "%s/" SLICES_REQUEST " cannot be removed: %s", k->config.folder,
			 strerror(-err));
}

void keep__step(void *keep, __u64 now_ns)
{
	struct keep *k = keep;
	int err = k->file ? slice_file__flush(k->file, now_ns) : 0;

	if (err) {
		slice_file__rescue(k->file);
		fail(k, slice_file__slice(k->file)->name, err);
		slice_file__free(k->file);
		k->file = NULL;
	}
	if (now_ns < k->looked_ns + LOOK_NS)
		return;
	k->looked_ns = now_ns;
	answer_request(k);
	if (k->file &&
	    slices_bytes_of(k->folder, slice_file__slice(k->file)->name) + k->stats.bytes >
		    k->config.keep_bytes)
		make_room(k, 0);
}

/* ---- begin and end ---------------------------------------------------------------------------- */

struct keep *keep__new(const struct keep_config *config, struct error *err)
{
	struct keep *k = calloc(1, sizeof(*k));

	if (!k) {
		error_set(err, ENOMEM, EXIT_CODE_OUTPUT, "out of memory");
		return NULL;
	}
	k->config = *config;
	k->folder = k->lock = -1;
	k->boot = slices_boot();
	if (config->keep_bytes < KEEP_BYTES_MIN)
		error_set(err, EINVAL, EXIT_CODE_USAGE, "--keep-bytes is at least %u MB",
			  KEEP_BYTES_MIN >> 20);
	else if (!open_folder(k, err)) {
		make_room(k, 0);
		(void)forget_request(k);
		return k;
	}
	keep__free(k);
	return NULL;
}

void keep__free(struct keep *k)
{
	if (!k)
		return;
	end_file(k);
	slices_free(&k->slices);
	if (k->lock >= 0)
		close(k->lock);
	if (k->folder >= 0)
		close(k->folder);
	free(k);
}

void keep__stats(const struct keep *k, struct keep_stats *ret)
{
	*ret = k->stats;
	if (k->file) {
		const struct slice *s = slice_file__slice(k->file);

		ret->captures++;
		ret->bytes += slices_bytes_of(k->folder, s->name);
		if (!ret->oldest_unix_ms)
			ret->oldest_unix_ms = s->wall_ms;
	}
}

void keep_stats_write(const struct keep_stats *s, FILE *out)
{
	const struct {
		const char *name, *type, *help;
		__u64 value;
	} list[] = {
		{ "krait_memory_captures", "gauge", "Captures of the last hours on disk",
		  s->captures },
		{ "krait_memory_bytes", "gauge", "Their size on disk", s->bytes },
		{ "krait_memory_oldest_timestamp_seconds", "gauge", "When the oldest one began",
		  (__u64)(s->oldest_unix_ms / 1000) },
		{ "krait_memory_samples_total", "counter", "Samples written", s->samples },
		{ "krait_memory_samples_missed_total", "counter",
		  "Samples not written: the disk was full, or failed", s->samples_missed },
		{ "krait_memory_removed_total", "counter", "Captures removed for age or room",
		  s->removed },
		{ "krait_memory_failures_total", "counter", "Captures that an error has ended",
		  s->failures },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		metrics_number(out, list[i].name, list[i].type, list[i].help, list[i].value);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_snapshot.c - "krait agent snapshot": makes one capture from part of what an agent keeps on
 * this host. It only reads the folder; a running agent first closes its newest capture, so that
 * nothing is missing.
 */
#include "cmd/agent/agent_snapshot.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/agent/agent_memory_options.h"
#include "cmd/common/arguments.h"
#include "cmd/common/printed.h"
#include "agent/keep/slices.h"
#include "agent/keep/snapshot.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/stream.h"
#include "base/text/units.h"

/* ---- snapshot time ----------------------------------------------------------------------------- */

/*
 * Points in time as people type them.
 *
 * 	-10m                     ten minutes ago
 * 	14:30, 14:30:05          today; yesterday, if that is still to come
 * 	2026-11-23T14:30:00      in this machine's time zone; also with a blank instead of T
 * 	2026-11-23T14:30:00Z     UTC
 */

#define DAY 86400

static int parse_ago(__s64 *ret, const char *text, __s64 now)
{
	__u64 ns;

	if (parse_duration(text, &ns))
		return -EINVAL;
	*ret = now * 1000 - (__s64)(ns / 1000000);
	return 0;
}

/* Tells whether the format matches the whole text. */
static bool fits(const char *text, const char *format, struct tm *ret)
{
	const char *end = strptime(text, format, ret);

	return end && !*end;
}

static int parse_clock(__s64 *ret, const char *text, __s64 now)
{
	time_t seconds = (time_t)now;
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return -EINVAL;
	tm.tm_sec = 0;
	if (!fits(text, "%H:%M", &tm) && !fits(text, "%H:%M:%S", &tm))
		return -EINVAL;
	tm.tm_isdst = -1;
	seconds = mktime(&tm);
	if (seconds > now) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		seconds = mktime(&tm);
	}
	*ret = (__s64)seconds * 1000;
	return 0;
}

/* *ret: milliseconds since 1970; now: seconds. Returns 0 or -EINVAL. */
static int snapshot_time_parse(__s64 *ret, const char *text, __s64 now)
{
	static const char *const formats[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					       "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M" };
	struct tm tm = { .tm_isdst = -1 };

	if (text[0] == '-')
		return parse_ago(ret, text + 1, now);
	if (!parse_clock(ret, text, now))
		return 0;
	tm = (struct tm){ 0 };
	if (fits(text, "%Y-%m-%dT%H:%M:%SZ", &tm)) {
		*ret = (__s64)timegm(&tm) * 1000;
		return 0;
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		tm = (struct tm){ .tm_isdst = -1 };
		if (!fits(text, formats[i], &tm))
			continue;
		tm.tm_isdst = -1;
		*ret = (__s64)mktime(&tm) * 1000;
		return 0;
	}
	return -EINVAL;
}

/* ---- agent snapshot ---------------------------------------------------------------------------- */

/* The agent looks once a second and may have to close a large capture. */
#define ANSWER_NS (5 * NS_PER_SEC)
#define LOOK_USEC 50000

struct snapshot {
	const char *folder, *output;
	__s64 since_ms, until_ms; /* since 1970 */
	bool list;
	int fd; /* of the folder */
	struct slices slices;
};

enum { KEY_SINCE = 256, KEY_UNTIL, KEY_KEEP_DIR };

static const struct argp_option options[] = {
	{ "since", KEY_SINCE, "WHEN", 0,
	  "from this time on: -10m, 14:30, 2026-11-23T14:30:00Z (default: "
	  "all)" },
	{ "until", KEY_UNTIL, "WHEN", 0, "up to this time (default: now)" },
	{ "output", 'o', "FILE", 0, "the capture to make: out.data" },
	{ "list", 'l', 0, 0, "list the stored slices and write nothing" },
	{ "keep-dir", KEY_KEEP_DIR, "DIR", 0, "the agent's folder (default " KEEP_DIR_DEFAULT ")" },
	{ 0 },
};

static const char doc[] =
	"Make one capture from what krait agent --keep has stored: "
	"whole slices of about a minute each."
	"\v"
	"Examples:\n"
	"  krait agent snapshot --since -10m -o incident.data\n"
	"  krait agent snapshot --since 14:25 --until 14:40 -o x.data\n"
	"\n"
	"A time without a date is today's, or yesterday's if that is still to come, on this machine's clock.\n"
	"\n"
	"Exit codes: 0 done; 2 usage; 4 permission; 6 nothing from that time is stored; 7 a file could not be read or "
	"written.";

static void parse_when(__s64 *ret, const char *text, struct argp_state *state)
{
	if (snapshot_time_parse(ret, text, (__s64)time(NULL)))
		arguments_refuse(
			state,
			"a time is -10m, 14:30, 2026-11-23T14:30:00 (here) or 2026-11-23T14:30:00Z, not \"%s\"",
			text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct snapshot *s = state->input;

	switch (key) {
	case KEY_SINCE:
		parse_when(&s->since_ms, arg, state);
		break;
	case KEY_UNTIL:
		parse_when(&s->until_ms, arg, state);
		break;
	case 'o':
		s->output = arg;
		break;
	case 'l':
		s->list = true;
		break;
	case KEY_KEEP_DIR:
		s->folder = arg;
		break;
	case ARGP_KEY_ARG:
		arguments_refuse(state, "krait agent snapshot takes no arguments (extra: \"%s\")",
				 arg);
		break;
	case ARGP_KEY_END:
		if (!s->list && !s->output)
			arguments_refuse(state, "no output: use -o FILE.data, or --list");
		if (s->since_ms >= s->until_ms)
			arguments_refuse(state, "--since must be before --until");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- the folder ------------------------------------------------------------------------------- */

static int open_folder(struct snapshot *s)
{
	s->fd = slices_open_folder(s->folder, false);
	if (s->fd >= 0)
		return EXIT_CODE_OK;
	if (s->fd == -EPERM)
		log_error(NULL,
			  "%s belongs to another user, or others can write to it: run this "
			  "as its owner",
			  s->folder);
	else if (s->fd == -ENOENT)
		log_error(NULL,
			  "there is no %s: does krait agent run with --keep, or with another "
			  "--keep-dir?",
			  s->folder);
	else
		log_error(NULL, "cannot open %s: %s", s->folder, strerror(-s->fd));
	return s->fd == -EPERM || s->fd == -EACCES ? EXIT_CODE_PERMISSION : EXIT_CODE_OUTPUT;
}

static bool is_agent_there(const struct snapshot *s)
{
	cleanup_close int lock = openat(s->fd, SLICES_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* Without an answer we use what the agent has flushed so far. */
static void ask_agent(const struct snapshot *s)
{
	__u64 until_ns = clock_monotonic_ns() + ANSWER_NS;
	int fd;

	if (!is_agent_there(s))
		return;
	fd = openat(s->fd, SLICES_REQUEST, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	close(fd);
	while (!faccessat(s->fd, SLICES_REQUEST, F_OK, AT_SYMLINK_NOFOLLOW)) {
		if (clock_monotonic_ns() < until_ns) {
			usleep(LOOK_USEC);
			continue;
		}
		log_warn(NULL, "the agent does not answer: its last seconds may be missing");
		unlinkat(s->fd, SLICES_REQUEST, 0);
	}
}

/* A slice's start is known; it ends where the next one begins, or now. */
static bool is_wanted(const struct snapshot *s, unsigned i)
{
	__s64 end_ms = i + 1 < s->slices.cnt ? s->slices.list[i + 1].wall_ms : LLONG_MAX;

	return s->slices.list[i].wall_ms < s->until_ms && end_ms > s->since_ms;
}

/* Those that are; the list is the caller's. */
static struct slices wanted(const struct snapshot *s, struct slice *list)
{
	struct slices ret = { .list = list };

	for (unsigned i = 0; i < s->slices.cnt; i++) {
		if (is_wanted(s, i))
			list[ret.cnt++] = s->slices.list[i];
	}
	return ret;
}

static int make(const struct snapshot *s)
{
	cleanup_free struct slice *list = calloc(s->slices.cnt + 1, sizeof(*list));
	struct slices slices;
	int code;

	if (!list) {
		log_error(NULL, "out of memory");
		return EXIT_CODE_OUTPUT;
	}
	slices = wanted(s, list);
	code = snapshot_make(s->folder, s->fd, &slices, s->output);
	if (code == EXIT_CODE_EMPTY)
		log_error(NULL, "%s has nothing from that time (--list shows what it has)",
			  s->folder);
	return code;
}

static int list_slices(const struct snapshot *s)
{
	char size[32];

	for (unsigned i = 0; i < s->slices.cnt; i++) {
		format_size(size, sizeof(size), s->slices.list[i].bytes);
		if (is_wanted(s, i))
			printf("%s\t%s\n", s->slices.list[i].name, size);
	}
	return printed(NULL, stream_finish(stdout));
}

int cmd_agent_snapshot(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, NULL, doc, NULL, NULL, NULL };
	struct snapshot s = { .folder = KEEP_DIR_DEFAULT, .until_ms = LLONG_MAX, .fd = -1 };
	int code, err;

	if (arguments_parse(&argp, argc, argv, 0, &s))
		return EXIT_CODE_USAGE;
	code = open_folder(&s);
	if (code)
		return code;
	if (!s.list)
		ask_agent(&s);
	err = slices_read(&s.slices, s.fd);
	if (err)
		log_error(NULL, "cannot read %s: %s", s.folder, strerror(-err));
	code = err ? EXIT_CODE_OUTPUT : s.list ? list_slices(&s) : make(&s);
	slices_free(&s.slices);
	close(s.fd);
	return code;
}

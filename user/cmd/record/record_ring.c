/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/record_ring.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/keep/keep.h"
#include "agent/keep/slices.h"
#include "agent/keep/snapshot.h"
#include "agent/resources.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"
#include "base/files/sudo_user.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/priority.h"
#include "base/text/log.h"
#include "base/text/units.h"
#include "capture/dso/dso_clean.h"
#include "capture/perfdata/compressed.h"
#include "cmd/common/arguments.h"
#include "profile/losses.h"

/* ---- options ---------------------------------------------------------------------------------- */

#define OVERWRITE_NS (60 * NS_PER_SEC)

enum { KEY_SWITCH = 0x5000, KEY_MAX_FILES, KEY_OVERWRITE, KEY_TRIGGER };

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Recording all the time:", 5 },
	{ "switch-output", KEY_SWITCH, "WHEN", OPTION_ARG_OPTIONAL,
	  "begin a new capture, FILE.TIMESTAMP, when krait gets SIGUSR2 (\"signal\", the default), at so many bytes "
	  "(100M), or after a time (10m). Each is complete in itself" },
	{ "switch-max-files", KEY_MAX_FILES, "N", 0, "keep only the newest N captures" },
	{ "overwrite", KEY_OVERWRITE, "TIME", OPTION_ARG_OPTIONAL,
	  "keep only what was last (default 1m), and write it to FILE.TIMESTAMP on SIGUSR2, on a --trigger, and at the end" },
	{ "trigger", KEY_TRIGGER, "CONDITION", 0,
	  "write what was last when 'offcpu>500ms' (a wait was that long), 'cpu>150%' (the processes used that much CPU "
	  "time in a second), or 'exit!=0' (the command has failed). At the end krait then writes only what a trigger asks "
	  "for. May be given several times; implies --overwrite" },
	{ 0 },
};

static void parse_switch(struct ring_options *r, const char *text, struct argp_state *state)
{
	r->on = true;
	if (!text || !strcmp(text, "signal"))
		return;
	/* "10m" is a time, as in perf: sizes are in capitals. */
	if (!parse_duration(text, &r->switch_ns) && r->switch_ns >= NS_PER_SEC)
		return;
	r->switch_ns = 0;
	if (!parse_size(text, &r->switch_bytes) && r->switch_bytes >= 1 << 20)
		return;
	arguments_refuse(
		state,
		"--switch-output takes \"signal\", a size of at least 1M or a time of at least 1s, not \"%s\"",
		text);
}

static void parse_trigger(struct record_options *o, const char *text, struct argp_state *state)
{
	struct ring_options *r = &o->ring;
	char *end;

	r->on = r->overwrites = true;
	if (!strncmp(text, "offcpu>", 7) && !parse_duration(text + 7, &r->wait_ns) && r->wait_ns) {
		o->off_cpu = true;
		return;
	}
	if (!strcmp(text, "exit!=0")) {
		r->failure = true;
		return;
	}
	if (!strncmp(text, "cpu>", 4)) {
		r->cpus = strtod(text + 4, &end) / 100;
		if (end > text + 4 && !strcmp(end, "%") && r->cpus > 0)
			return;
	}
	arguments_refuse(state,
			 "--trigger takes 'offcpu>500ms', 'cpu>150%%' or 'exit!=0', not \"%s\"",
			 text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;
	struct ring_options *r = &o->ring;

	switch (key) {
	case KEY_SWITCH:
		parse_switch(r, arg, state);
		return 0;
	case KEY_MAX_FILES:
		r->max_files =
			arguments_count(arg, "--switch-max-files", ARGUMENTS_COUNT_MAX, state);
		return 0;
	case KEY_OVERWRITE:
		r->on = r->overwrites = true;
		if (arg && (parse_duration(arg, &r->keep_ns) || r->keep_ns < NS_PER_SEC))
			arguments_refuse(
				state, "--overwrite takes a time of at least 1s, not \"%s\"", arg);
		return 0;
	case KEY_TRIGGER:
		parse_trigger(o, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp record_ring_argp = { options, parse_option, 0, 0, 0, 0, 0 };

void record_ring_settle(struct record_options *o, struct argp_state *state)
{
	struct ring_options *r = &o->ring;

	if (!r->on && r->max_files)
		arguments_refuse(state,
				 "--switch-max-files goes with --switch-output or --overwrite");
	if (!r->on)
		return;
	if (o->output_cnt != 1 || !strcmp(o->outputs[0], "-") ||
	    (o->format && strcmp(o->format, "perf")))
		arguments_refuse(
			state,
			"--switch-output and --overwrite write captures: name one -o FILE.data, without -f");
	if (r->overwrites && (r->switch_ns || r->switch_bytes))
		arguments_refuse(
			state,
			"with --overwrite a signal or a --trigger asks for a capture, not a size or a time of --switch-output");
	if (r->failure && !o->command)
		arguments_refuse(
			state,
			"--trigger 'exit!=0' is about a command: krait record ... -- COMMAND");
	if (r->overwrites && !r->keep_ns)
		r->keep_ns = OVERWRITE_NS;
}

/* ---- the ring --------------------------------------------------------------------------------- */

/* A window of the agent: how often a capture may be cut, and the time that 'cpu>' is about. */
#define INTERVAL_NS NS_PER_SEC
/* What is forgotten at a time. */
#define PARTS 8
/* On disk, without a size of the user's. */
#define BYTES_MAX (1ULL << 30)
/* Between two captures that triggers ask for: one condition often holds for many samples. */
#define TRIGGER_REST_NS (10 * NS_PER_SEC)

struct ring {
	const struct ring_options *options;
	const char *output;
	char folder[PATH_MAX];
	struct keep *keep;
	const struct session_config *session;
	bool asked; /* for a capture */
	__u64 due_ns; /* of the next one, by time; 0: never */
	__u64 rested_ns; /* triggers rest until then */
	pid_t writer; /* of a capture; 0: none */
	struct slices slices; /* that it merges */
	char path[PATH_MAX]; /* of that capture */
	char **paths; /* those written, oldest first */
	unsigned path_cnt, path_cap;
	int code; /* the first failure */
};

/* FILE.2026112910203045, with hundredths of a second, as perf does. */
static void name_capture(struct ring *r)
{
	struct timespec now;
	struct tm tm;
	char text[32] = "";

	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &tm))
		strftime(text, sizeof(text), "%Y%m%d%H%M%S", &tm);
	snprintf(r->path, sizeof(r->path), "%s.%s%02ld", r->output, text, now.tv_nsec / 10000000);
}

static void remove_capture(const char *path)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	struct dso_cleaned cleaned = { 0 };
	int err;

	if (sudo_user_enter(&scope))
		return;
	err = unlink(path) && errno != ENOENT ? -errno : dso_clean_capture(&cleaned, path);
	if (err && err != -ENOENT)
		log_warn(NULL, "%s cannot be removed: %s", path, strerror(-err));
}

static void note_capture(struct ring *r)
{
	char *path = vec_reserve(r->paths, r->path_cap, r->path_cnt + 1) ? NULL : strdup(r->path);

	if (!path)
		return;
	r->paths[r->path_cnt++] = path;
	if (!r->options->max_files || r->path_cnt <= r->options->max_files)
		return;
	remove_capture(r->paths[0]);
	free(r->paths[0]);
	memmove(r->paths, r->paths + 1, --r->path_cnt * sizeof(*r->paths));
}

/* What is in a capture is in no other. */
static void forget_slices(struct ring *r)
{
	cleanup_close int folder = slices_open_folder(r->folder, false);

	for (unsigned i = 0; folder >= 0 && i < r->slices.cnt; i++) {
		int err = slices_remove(folder, r->slices.list[i].name);

		/* Its age may have removed it. */
		if (err && err != -ENOENT)
			log_debug("record", "%s stays: %s", r->slices.list[i].name, strerror(-err));
	}
}

static void take_writer(struct ring *r, int status)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CODE_OUTPUT;

	r->writer = 0;
	if (code == EXIT_CODE_OK) {
		forget_slices(r);
		note_capture(r);
	} else if (code != EXIT_CODE_EMPTY && !r->code) {
		r->code = code;
	}
}

static void reap(struct ring *r, bool wait)
{
	int status;

	while (r->writer) {
		pid_t pid = waitpid(r->writer, &status, wait ? 0 : WNOHANG);

		if (pid == r->writer)
			take_writer(r, status);
		else if (!pid || errno != EINTR)
			return;
	}
}

/* All that is finished. There is nothing to say if there is nothing. */
static void write_capture(struct ring *r)
{
	cleanup_close int folder = slices_open_folder(r->folder, false);

	slices_free(&r->slices);
	r->slices = (struct slices){ 0 };
	if (folder < 0 || slices_read(&r->slices, folder) || !r->slices.cnt)
		return;
	name_capture(r);
	fflush(NULL);
	r->writer = fork();
	if (!r->writer) {
		/* It reads what others may have written, and nothing waits for it. */
		priority_bound(0);
		_exit(sudo_user_become() ? EXIT_CODE_KERNEL :
					   snapshot_make(r->folder, folder, &r->slices, r->path));
	}
	if (r->writer < 0) {
		log_warn(NULL, "cannot start a process: %s", strerror(errno));
		r->writer = 0;
	}
}

static void ring_ask(void *ctx)
{
	struct ring *r = ctx;

	r->asked = true;
}

static void trigger(struct ring *r, const char *why)
{
	const __u64 now_ns = clock_monotonic_ns();

	if (now_ns < r->rested_ns)
		return;
	r->rested_ns = now_ns + TRIGGER_REST_NS;
	r->asked = true;
	log_info(NULL, "%s: writing what was last", why);
}

static void ring_sample(void *ctx, const struct profile *p, const struct profile_sample *s)
{
	struct ring *r = ctx;
	char text[64];

	if (!r->options->wait_ns || !event_is_off_cpu(&r->session->sampler.events[s->event]) ||
	    s->period < r->options->wait_ns)
		return;
	snprintf(text, sizeof(text), "a thread of process %d waited for %.3f s", s->pid,
		 (double)s->period / NS_PER_SEC);
	trigger(r, text);
}

static double cpus_of(const struct window *w)
{
	__u64 ns = 0;

	for (unsigned i = 0; i < w->samples.cnt; i++) {
		const struct stored_sample *s = &w->samples.list[i];

		if (window__is_clock(w, s))
			ns += s->weight;
	}
	return w->to_ns > w->from_ns ? (double)ns / (double)(w->to_ns - w->from_ns) : 0;
}

static void ring_window(void *ctx, const struct window *w)
{
	struct ring *r = ctx;
	char text[64];
	double cpus;

	if (r->options->cpus <= 0)
		return;
	cpus = cpus_of(w);
	if (cpus <= r->options->cpus)
		return;
	snprintf(text, sizeof(text), "the processes used %.0f%% of a CPU", cpus * 100);
	trigger(r, text);
}

static bool is_large(const struct ring *r)
{
	struct keep_stats stats;

	if (!r->options->switch_bytes)
		return false;
	keep__stats(r->keep, &stats);
	return stats.bytes >= r->options->switch_bytes;
}

static void ring_step(void *ctx, __u64 now_ns)
{
	struct ring *r = ctx;

	reap(r, false);
	if (r->options->switch_ns && !r->due_ns)
		r->due_ns = now_ns + r->options->switch_ns;
	if (r->writer || !(r->asked || (r->due_ns && now_ns >= r->due_ns) || is_large(r)))
		return;
	r->asked = false;
	if (r->due_ns)
		r->due_ns = now_ns + r->options->switch_ns;
	keep__cut(r->keep);
	write_capture(r);
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* Whatever is in the ring's folder. */
static void forget_all(struct ring *r)
{
	cleanup_close int folder = slices_open_folder(r->folder, false);

	slices_free(&r->slices);
	r->slices = (struct slices){ 0 };
	if (folder >= 0 && !slices_read(&r->slices, folder))
		forget_slices(r);
}

static int open_ring(struct ring *r, const struct record_options *o,
		     const struct recording *recording,
		     int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size),
		     void *find_kernel_ctx, struct error *err)
{
	const struct ring_options *x = r->options;
	const __u64 part_ns = x->keep_ns / PARTS, room = x->switch_bytes * 2;
	const struct keep_config config = {
		.folder = r->folder,
		.keep_ns = x->keep_ns,
		.keep_bytes = x->switch_bytes && room > KEEP_BYTES_MIN ? room : BYTES_MAX,
		.slice_ns = x->overwrites ? part_ns > NS_PER_SEC ? part_ns : NS_PER_SEC : 0,
		.compression = o->compression ? o->compression : COMPRESSED_LEVEL_DEFAULT,
		.recording = *recording,
		.find_kernel = find_kernel,
		.find_kernel_ctx = find_kernel_ctx,
	};

	snprintf(r->folder, sizeof(r->folder), "%s.ring", r->output);
	r->keep = keep__new(&config, err);
	if (!r->keep)
		return -1;
	/* What another recording has left there is none of this one's. */
	forget_all(r);
	return 0;
}

/* The last capture, and no ring any more. */
static void close_ring(struct ring *r, bool wanted)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	struct keep_stats stats;
	char lock[PATH_MAX + 8];

	reap(r, true);
	keep__stats(r->keep, &stats);
	if (!r->options->overwrites && stats.removed)
		log_warn(
			NULL,
			"%llu pieces of the recording were removed before they were in a capture: the ring had no room for them",
			stats.removed);
	keep__free(r->keep);
	if (wanted)
		write_capture(r);
	reap(r, true);
	if (!wanted)
		forget_all(r);
	snprintf(lock, sizeof(lock), "%s/" SLICES_LOCK, r->folder);
	if (!sudo_user_enter(&scope) && (unlink(lock) || rmdir(r->folder)))
		log_debug("record", "%s stays: %s", r->folder, strerror(errno));
	slices_free(&r->slices);
	for (unsigned i = 0; i < r->path_cnt; i++)
		free(r->paths[i]);
	free(r->paths);
}

static void say_begin(const struct ring_options *x)
{
	if (x->overwrites)
		log_info(NULL, "keeping the last %llu s; kill -USR2 %d writes them",
			 x->keep_ns / NS_PER_SEC, getpid());
	else if (!x->switch_ns && !x->switch_bytes)
		log_info(NULL, "kill -USR2 %d begins a new capture", getpid());
}

static bool wants_end(const struct ring *r, const struct session_stats *s)
{
	const struct ring_options *x = r->options;
	const bool failed = s->child_ended && s->child_exit_code;

	if (r->asked || (x->failure && failed))
		return true;
	return !x->failure && !x->wait_ns && x->cpus <= 0;
}

int record_ring_run(const struct record_options *o, const struct session_config *session,
		    const struct recording *recording,
		    int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size),
		    void *find_kernel_ctx, int *ret_code, struct error *err)
{
	struct ring r = { .options = &o->ring, .output = o->outputs[0] };
	struct agent_config config = { .session = *session,
				       .interval_ns = INTERVAL_NS,
				       .on_user_signal = ring_ask,
				       .on_user_signal_ctx = &r };
	struct session_stats stats = { .samples = 0 };
	struct agent *agent = NULL;
	struct host host;
	int result;

	host_read(&host);
	r.session = &config.session;
	config.resources = resources__new(&host);
	result = config.resources ? open_ring(&r, o, recording, find_kernel, find_kernel_ctx, err) :
				    error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (result) {
		resources__free(config.resources);
		return result;
	}
	agent_config_add(&config, (struct agent_sink){ .name = "memory",
						       .sample = keep__sample,
						       .window = keep__window,
						       .step = keep__step,
						       .forget = keep__forget,
						       .ctx = r.keep });
	agent_config_add(&config, (struct agent_sink){ .name = "ring",
						       .sample = ring_sample,
						       .window = ring_window,
						       .step = ring_step,
						       .ctx = &r });
	agent = agent__new(&config, err);
	if (agent && !o->quiet)
		say_begin(&o->ring);
	result = agent ? agent__run(agent, err) : -1;
	if (!result)
		session__stats(agent__session(agent), &stats);
	if (!result && o->stats)
		losses_print(session__losses(agent__session(agent)), stderr);
	close_ring(&r, !result && wants_end(&r, &stats));
	*ret_code = stats.child_ended && stats.child_exit_code ? stats.child_exit_code :
		    r.code				       ? r.code :
		    stats.samples			       ? EXIT_CODE_OK :
								 EXIT_CODE_EMPTY;
	resources__free(config.resources);
	agent__free(agent);
	return result;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c - krait dump: shows every thread of a process and where it is right now.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/dump_core.h"
#include "cmd/dump_options.h"
#include "cmd/dump_print.h"
#include "cmd/dump_tasks.h"
#include "cmd/printed.h"
#include "look/interrupts.h"
#include "look/look.h"
#include "look/look_tasks.h"
#include "session/descriptors.h"
#include "session/still.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/log.h"
#include "util/privileges.h"
#include "util/stream.h"

/* How long we wait, each time, for running threads to get a CPU. */
#define SAMPLING_NS (30 * 1000000ULL)
/* Likewise with native frames: once, while waiting threads are looked at repeatedly. */
#define NATIVES_NS (200 * 1000000ULL)
/* Further looks at threads that neither stood still nor had a CPU. */
#define ROUNDS 4

struct dump {
	struct dump_options options;
	struct look_process **processes, **before; /* of this look and the one before */
	size_t cnt, before_cnt;
	struct prober *prober;
	/* with --pause, native frames are taken without the kernel; NULL: not so */
	struct still *still;
	struct json writer;
	int unwritten; /* 0, or the error in writing the output */
	/* why running threads are out of reach; text "": they are not */
	struct error no_interrupts;
	int code; /* the worst of all looks */
	struct mentions others; /* with -a: threads of processes without any that is wanted */
};

static bool of_tasks(const struct dump *d)
{
	return d->options.tasks || d->options.greenlets;
}

static size_t missing(const struct dump *d)
{
	size_t cnt = 0;

	for (size_t i = 0; i < d->cnt; i++)
		cnt += d->processes[i]->result ? 0 : look__missing(d->processes[i]);
	return cnt;
}

/* With -a, drops processes that are not Python, not wanted, or not readable. */
static void forget_others(struct dump *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->cnt; i++) {
		struct look_process *p = d->processes[i];

		if (p->result == -ENOENT)
			mentions_join(&d->others, &p->others);
		if (p->unwanted || (p->result && !p->process.version) || p->result == -ENOENT)
			look__free(p);
		else
			d->processes[kept++] = p;
	}
	d->cnt = kept;
}

static void take_all(struct dump *d)
{
	for (size_t i = 0; i < d->cnt; i++) {
		struct look_process *p = d->processes[i];

		p->locals = d->options.locals;
		p->pause = d->options.pause;
		p->still = d->still;
		p->thread = &d->options.thread;
		p->filter = d->options.filter.name_cnt ? &d->options.filter : NULL;
		if (look__take(p, d->prober))
			log_debug("dump", "pid %d: %s", (int)p->process.pid, p->process.why);
	}
	if (d->options.all)
		forget_others(d);
}

/* Takes native frames of all threads, including the running ones. */
static void take_natives(struct dump *d)
{
	bool any = false;

	for (size_t i = 0; i < d->cnt; i++)
		any = any || !d->processes[i]->result;
	if (!any || *d->no_interrupts.text ||
	    look_natives(d->processes, d->cnt, d->prober, NATIVES_NS, &d->no_interrupts))
		return;
	for (size_t i = 0; i < d->cnt; i++)
		if (!d->processes[i]->result)
			look__check_locals(d->processes[i]);
}

/* Takes variables of running threads. */
static void take_moving(struct dump *d)
{
	for (size_t i = 0; i < d->cnt; i++)
		if (!d->processes[i]->result)
			look__take_moving(d->processes[i]);
}

/* Takes running threads, and those that neither stood still nor had a CPU. */
static void take_missing(struct dump *d)
{
	/* What moves even in a pause will not stand still later. */
	for (int round = 0;
	     round < ROUNDS && !d->options.pause && missing(d) && !*d->no_interrupts.text;
	     round++) {
		if (look_interrupts(d->processes, d->cnt, d->prober, SAMPLING_NS,
				    &d->no_interrupts))
			break;
		for (size_t i = 0; i < d->cnt; i++) {
			struct look_process *p = d->processes[i];

			if (!p->result && look__missing(p) && look__again(p))
				log_debug("dump", "pid %d: %s", (int)p->process.pid,
					  p->process.why);
		}
	}
}

static struct look_process *find_before(const struct dump *d, const struct look_process *p)
{
	for (size_t i = 0; i < d->before_cnt; i++)
		if (d->before[i]->process.pid == p->process.pid &&
		    d->before[i]->process.start_ticks == p->process.start_ticks)
			return d->before[i];
	return NULL;
}

/* The reason is known only right after the first failed write, not after the next look. */
static void note_written(struct dump *d)
{
	int err = stream_finish(stdout);

	if (err && !d->unwritten)
		d->unwritten = err;
}

/* With -a. */
static void say_no_thread(struct dump *d)
{
	char given[128], there[320];

	thread_filter_say(&d->options.thread, given, sizeof(given));
	mentions_say(&d->others, there, sizeof(there));
	log_error("dump", "no thread of a Python process matches %s (there are: %s)", given, there);
	d->code = EXIT_CODE_TARGET;
}

static void print_all(struct dump *d, unsigned look)
{
	errno = 0;
	if (look > 1 && !d->options.json)
		printf("\n---- look %u of %u\n\n", look, d->options.look_cnt);
	for (size_t i = 0; i < d->cnt; i++) {
		struct look_process *p = d->processes[i], *before = find_before(d, p);

		if (of_tasks(d) && d->options.json) {
			dump_tasks_put_json(&d->writer, p, look);
			continue;
		}
		if (d->options.json) {
			dump_put_json(&d->writer, p, before, look);
			continue;
		}
		if (i)
			putchar('\n');
		if (of_tasks(d))
			dump_tasks_print(stdout, p);
		else
			dump_print(stdout, p, before);
	}
	if (!d->options.json && !d->cnt && !d->others.cnt)
		puts("no Python process");
	if (!d->cnt && d->others.cnt)
		say_no_thread(d);
	note_written(d);
}

static int judge_tasks(const struct dump *d)
{
	int code = EXIT_CODE_OK;

	for (size_t i = 0; i < d->cnt; i++) {
		const struct look_tasks *tasks = d->processes[i]->tasks;

		/* With -a, many processes have no tasks. */
		if (!tasks || (tasks->result && !d->options.all))
			return EXIT_CODE_TARGET;
		if (!tasks->result && !dump_tasks_whole(d->processes[i]))
			code = EXIT_CODE_LOSSY;
	}
	return code;
}

static int judge(const struct dump *d)
{
	int code = EXIT_CODE_OK;

	for (size_t i = 0; i < d->cnt; i++) {
		if (d->processes[i]->result == -EACCES)
			return EXIT_CODE_PERMISSION;
		if (d->processes[i]->result && !d->options.all)
			code = EXIT_CODE_TARGET;
	}
	if (code == EXIT_CODE_OK && of_tasks(d))
		return judge_tasks(d);
	if (code == EXIT_CODE_OK && missing(d))
		code = EXIT_CODE_LOSSY;
	return code;
}

static void free_looks(struct look_process **list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		look__free(list[i]);
	free(list);
}

static void take_tasks(struct dump *d)
{
	for (size_t i = 0; i < d->cnt; i++)
		dump_tasks_take(d->processes[i],
				d->options.greenlets ? LOOK_GREENLETS : LOOK_ASYNCIO,
				find_before(d, d->processes[i]));
}

static int look_once(struct dump *d, unsigned look)
{
	free_looks(d->before, d->before_cnt);
	d->before = d->processes;
	d->before_cnt = d->cnt;
	d->cnt = 0;
	d->processes = calloc(d->options.pid_cnt + 1, sizeof(*d->processes));
	for (size_t i = 0; d->processes && i < d->options.pid_cnt; i++) {
		d->processes[d->cnt] = look__new(d->options.pids[i]);
		if (!d->processes[d->cnt])
			return -ENOMEM;
		d->cnt++;
	}
	if (!d->processes)
		return -ENOMEM;
	take_all(d);
	if (of_tasks(d))
		take_tasks(d);
	else if (d->options.native && !d->still)
		take_natives(d);
	else
		take_missing(d);
	if (d->options.locals)
		take_moving(d);
	for (size_t i = 0; i < d->cnt; i++)
		look__let_go(d->processes[i]);
	print_all(d, look);
	if (d->code == EXIT_CODE_OK)
		d->code = judge(d);
	return 0;
}

static int add_found(pid_t pid, void *ctx)
{
	struct dump *d = ctx;

	return pid == getpid() || prober__is_ours(d->prober, pid) ?
		       0 :
		       dump_options_add(&d->options, pid);
}

/* Repeats the look; with -a, at whatever processes exist by then. */
static int look_again_and_again(struct dump *d)
{
	__u64 due_ns = clock_monotonic_ns();
	int err = 0;

	for (unsigned look = 1; !err && look <= d->options.look_cnt && !d->unwritten; look++) {
		__u64 now_ns = clock_monotonic_ns();

		if (now_ns < due_ns)
			usleep((useconds_t)((due_ns - now_ns) / 1000));
		due_ns = clock_monotonic_ns() + d->options.interval_ns;
		if (d->options.all) {
			d->options.pid_cnt = 0;
			err = process_each(add_found, d);
		}
		if (!err)
			err = look_once(d, look);
	}
	return err;
}

static int dump(struct dump *d)
{
	int err;

	descriptors_raise();
	d->prober = prober__new(PROBERS_MAX);
	if (!d->prober) {
		log_error("dump", "out of memory");
		return EXIT_CODE_KERNEL;
	}
	prober__prepare(d->prober, true);
	if (d->options.native && d->options.pause) {
		d->still = still__new();
		if (!d->still) {
			log_error("dump", "out of memory");
			return EXIT_CODE_KERNEL;
		}
		still__prepare(d->still);
	}
	if (privileges_drop(&(const struct privileges_need){ .sampling = true })) {
		log_error("dump", "cannot give up the rights that krait does not need");
		return EXIT_CODE_KERNEL;
	}
	if (d->options.json)
		json_open_array(&d->writer);
	err = look_again_and_again(d);
	if (d->options.json) {
		json_close_array(&d->writer);
		putchar('\n');
	}
	if (err) {
		log_error("dump", "%s", strerror(-err));
		return EXIT_CODE_KERNEL;
	}
	if (*d->no_interrupts.text)
		log_warn("dump", "krait cannot take the stacks of threads that run: %s%s",
			 d->no_interrupts.text, error_doctor(d->no_interrupts.code));
	if (d->code == EXIT_CODE_PERMISSION)
		log_error("dump", "krait needs more rights%s", error_doctor(d->code));
	note_written(d);
	if (d->writer.failed && !d->unwritten)
		d->unwritten = -ENOMEM;
	return d->unwritten ? printed("dump", d->unwritten) : d->code;
}

int cmd_dump(int argc, char **argv)
{
	struct dump d = { .writer = { .out = stdout } };
	int code;

	dump_options_parse(&d.options, argc, argv);
	/* A caller who may look at others only through krait's file capabilities may not stop them. */
	if (d.options.pause && getauxval(AT_SECURE)) {
		log_error("dump", "--pause needs rights of the caller's own, not those of krait's "
				  "file: run it with sudo");
		free(d.options.pids);
		return EXIT_CODE_PERMISSION;
	}
	code = d.options.core ? dump_core(&d.options) : dump(&d);
	free_looks(d.processes, d.cnt);
	free_looks(d.before, d.before_cnt);
	free(d.options.pids);
	still__free(d.still);
	prober__free(d.prober);
	return code;
}

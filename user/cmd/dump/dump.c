/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c - krait dump: shows every thread of a process and where it is right now.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cmd/broker/client.h"
#include "cmd/common/commands.h"
#include "cmd/dump/dump_core.h"
#include "cmd/dump/dump_options.h"
#include "cmd/dump/dump_print.h"
#include "cmd/dump/dump_tasks.h"
#include "cmd/common/printed.h"
#include "look/dump/interrupts.h"
#include "look/dump/look.h"
#include "look/dump/look_tasks.h"
#include "record/run/descriptors.h"
#include "record/samples/still.h"
#include "process/probe/prober.h"
#include "process/probe/unread.h"
#include "process/proc/proc.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/system/privileges.h"
#include "base/worker/own.h"
#include "base/text/stream.h"
#include "base/data/vec.h"

/*
 * How long we wait for running threads to get a CPU, at first; each time for twice as long: where many want one, or a
 * control group has used up its share, a thread may have none for tenths of a second.
 */
#define SAMPLING_NS (30 * NS_PER_MS)
/* Likewise with native frames: once, while waiting threads are looked at repeatedly. */
#define NATIVES_NS (200 * 1000000ULL)
/* Further looks at threads that neither stood still nor had a CPU. */
#define ROUNDS 5
/* Frames and variables to keep at once; then what there is so far is printed. */
#define BATCH_MAX (1U << 18)
/* With -a: time for processes of one owner, before those of others go first. */
#define OWNER_NS NS_PER_SEC
/* Looks that take less are not charged to anybody. */
#define CHARGED_NS (5 * NS_PER_MS)

/* Whoever pays for a process (proc_owner()). */
struct owner {
	uid_t uid;
	bool said; /* that others go first */
	__u64 spent_ns;
};

struct dump {
	struct dump_options options;
	struct look_process **processes, **before; /* of this look and the one before */
	size_t cnt, before_cnt;
	size_t first; /* of the batch that is being looked at */
	size_t printed; /* of this look */
	struct owner *owners; /* of this look */
	__u32 owner_cnt, owner_cap;
	__u64 spent_max_ns; /* the highest of theirs */
	struct prober *prober;
	struct still *still; /* with --pause native frames, too, without the kernel */
	struct json writer;
	int unwritten; /* 0, or the error in writing the output */
	/* why running threads are out of reach; text "": they are not */
	struct error no_interrupts;
	int code; /* the worst of all looks */
	struct mentions others; /* with -a: threads of processes without any that is wanted */
	struct unread unread; /* with -a, in this look; said once */
};

static bool of_tasks(const struct dump *d)
{
	return d->options.tasks || d->options.greenlets;
}

static size_t missing(const struct dump *d)
{
	size_t cnt = 0;

	for (size_t i = d->first; i < d->cnt; i++)
		cnt += d->processes[i]->result ? 0 : look__missing(d->processes[i]);
	return cnt;
}

/* With -a: a process that is not Python, not wanted, or not readable. */
static bool is_other(struct dump *d, const struct look_process *p)
{
	if (p->result == -ENOENT)
		mentions_join(&d->others, &p->others);
	if (p->result == -EACCES)
		unread_note(&d->unread, p->process.pid, p->process.comm, p->process.why);
	return p->unwanted || (p->result && !p->process.version) || p->result == -ENOENT;
}

static void take_tasks(struct dump *d, struct look_process *p);

static int take(struct dump *d, pid_t pid)
{
	struct look_process *p = look__new(pid);

	if (!p)
		return -ENOMEM;
	p->locals = d->options.locals;
	p->pause = d->options.pause;
	p->still = d->still;
	p->thread = &d->options.thread;
	p->filter = d->options.filter.name_cnt ? &d->options.filter : NULL;
	if (look__take(p, d->prober))
		log_debug("dump", "pid %d: %s", (int)p->process.pid, p->process.why);
	if (d->options.all && is_other(d, p)) {
		look__free(p);
		return 0;
	}
	if (of_tasks(d))
		take_tasks(d, p);
	d->processes[d->cnt++] = p;
	return 0;
}

/* How much it keeps. */
static size_t size_of(const struct look_process *p)
{
	size_t size = p->tasks ? p->tasks->frame_cnt : 0;

	for (__u32 i = 0; i < p->thread_cnt; i++) {
		size += p->threads[i].frame_cnt;
		for (__u32 k = 0; p->locals && k < p->threads[i].frame_cnt; k++)
			size += p->threads[i].frames[k].local_cnt;
	}
	return size;
}

/* Takes native frames of all threads, including the running ones. */
static void take_natives(struct dump *d)
{
	bool any = false;

	for (size_t i = d->first; i < d->cnt; i++)
		any = any || !d->processes[i]->result;
	if (!any || *d->no_interrupts.text ||
	    look_natives(d->processes + d->first, d->cnt - d->first, d->prober, NATIVES_NS,
			 &d->no_interrupts))
		return;
	for (size_t i = d->first; i < d->cnt; i++)
		if (!d->processes[i]->result)
			look__check_locals(d->processes[i]);
}

/* Takes variables of running threads. */
static void take_moving(struct dump *d)
{
	for (size_t i = d->first; i < d->cnt; i++)
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
		if (look_interrupts(d->processes + d->first, d->cnt - d->first, d->prober,
				    SAMPLING_NS << round, &d->no_interrupts))
			break;
		for (size_t i = d->first; i < d->cnt; i++) {
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
static void say_unread(const struct dump *d)
{
	char unread[768];

	unread_say(&d->unread, unread, sizeof(unread));
	if (*unread)
		log_warn("dump", "%s", unread);
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

static void print_batch(struct dump *d, unsigned look)
{
	for (size_t i = d->first; i < d->cnt; i++) {
		struct look_process *p = d->processes[i], *before = find_before(d, p);

		if (d->printed++ && !d->options.json)
			putchar('\n');
		if (of_tasks(d) && d->options.json)
			dump_tasks_put_json(&d->writer, p, look);
		else if (d->options.json)
			dump_put_json(&d->writer, p, before, look);
		else if (of_tasks(d))
			dump_tasks_print(stdout, p);
		else
			dump_print(stdout, p, before);
	}
}

static int judge_tasks(const struct dump *d)
{
	int code = EXIT_CODE_OK;

	for (size_t i = d->first; i < d->cnt; i++) {
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

	for (size_t i = d->first; i < d->cnt; i++) {
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

static void take_tasks(struct dump *d, struct look_process *p)
{
	dump_tasks_take(p, d->options.greenlets ? LOOK_GREENLETS : LOOK_ASYNCIO, find_before(d, p));
}

/* What has been taken so far gets what needs the kernel, and is printed. */
static void finish_batch(struct dump *d, unsigned look)
{
	int code;

	if (!of_tasks(d) && d->options.native && !still__has_natives(d->still))
		take_natives(d);
	else if (!of_tasks(d))
		take_missing(d);
	if (d->options.locals)
		take_moving(d);
	for (size_t i = d->first; i < d->cnt; i++)
		look__let_go(d->processes[i]);
	print_batch(d, look);
	note_written(d);
	code = judge(d);
	if (d->code == EXIT_CODE_OK || code == EXIT_CODE_PERMISSION ||
	    (code && d->code == EXIT_CODE_LOSSY))
		d->code = code;
	/* Only the next look asks for them again. */
	while (look == d->options.look_cnt && d->cnt > d->first)
		look__free(d->processes[--d->cnt]);
	d->first = d->cnt;
}

/* ---- whose turn it is ------------------------------------------------------------------------- */

static struct owner *find_owner(const struct dump *d, uid_t uid)
{
	for (__u32 i = 0; i < d->owner_cnt; i++)
		if (d->owners[i].uid == uid)
			return &d->owners[i];
	return NULL;
}

static void charge(struct dump *d, uid_t uid, __u64 ns)
{
	struct owner *o = find_owner(d, uid);

	if (!o) {
		if (vec_reserve(d->owners, d->owner_cap, d->owner_cnt + 1))
			return;
		o = &d->owners[d->owner_cnt++];
		*o = (struct owner){ .uid = uid };
	}
	o->spent_ns += ns;
	if (o->spent_ns > d->spent_max_ns)
		d->spent_max_ns = o->spent_ns;
}

/* Must that process wait until others had their turn? Each turn an owner gets OWNER_NS. */
static bool must_wait(struct dump *d, uid_t uid, unsigned turn)
{
	struct owner *o = find_owner(d, uid);

	if (!o || o->spent_ns / OWNER_NS <= turn)
		return false;
	if (!o->said)
		log_warn("dump",
			 "reading the processes of user %u takes long: the rest of them come "
			 "after those of others",
			 uid);
	o->said = true;
	return true;
}

/* Takes those of the processes left whose turn it is; *left_cnt: how many are left then. */
static int take_turn(struct dump *d, unsigned look, unsigned turn, pid_t *left, size_t *left_cnt)
{
	const size_t cnt = *left_cnt;
	size_t size = 0;
	int err = 0;

	*left_cnt = 0;
	for (size_t i = 0; i < cnt && !err && !d->unwritten; i++) {
		const __u64 begin_ns = clock_monotonic_ns();
		const size_t before = d->cnt;
		/* Nobody is asked for it before somebody takes long. */
		const bool known = d->options.all && d->spent_max_ns >= OWNER_NS;
		const uid_t uid = known ? proc_owner(left[i]) : 0;
		__u64 took_ns;

		if (known && must_wait(d, uid, turn)) {
			left[(*left_cnt)++] = left[i];
			continue;
		}
		err = take(d, left[i]);
		took_ns = clock_monotonic_ns() - begin_ns;
		if (d->options.all && took_ns >= CHARGED_NS)
			charge(d, known ? uid : proc_owner(left[i]), took_ns);
		size += d->cnt > before ? size_of(d->processes[before]) : 0;
		if (size < BATCH_MAX)
			continue;
		finish_batch(d, look);
		size = 0;
	}
	return err;
}

static int look_once(struct dump *d, unsigned look)
{
	size_t left_cnt = d->options.pid_cnt;
	pid_t *left = calloc(left_cnt + 1, sizeof(*left));
	int err = 0;

	free_looks(d->before, d->before_cnt);
	d->before = d->processes;
	d->before_cnt = d->cnt;
	d->cnt = d->first = d->printed = 0;
	d->owner_cnt = 0;
	d->spent_max_ns = 0;
	d->processes = calloc(left_cnt + 1, sizeof(*d->processes));
	if (!left || !d->processes) {
		free(left);
		return -ENOMEM;
	}
	errno = 0;
	if (look > 1 && !d->options.json)
		printf("\n---- look %u of %u\n\n", look, d->options.look_cnt);
	if (left_cnt)
		memcpy(left, d->options.pids, left_cnt * sizeof(*left));
	for (unsigned turn = 0; left_cnt && !err && !d->unwritten; turn++)
		err = take_turn(d, look, turn, left, &left_cnt);
	free(left);
	if (err)
		return err;
	finish_batch(d, look);
	if (!d->options.json && !d->printed && !d->others.cnt)
		puts("no Python process");
	if (!d->printed && d->others.cnt)
		say_no_thread(d);
	if (look == 1)
		say_unread(d);
	d->unread = (struct unread){ 0 };
	note_written(d);
	return 0;
}

static int add_found(pid_t pid, void *ctx)
{
	struct dump *d = ctx;

	return pid == getpid() || prober__is_ours(d->prober, pid) ||
			       own_is_foreign(proc_owner(pid)) ?
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
	d->still = still__new(d->options.native && d->options.pause);
	if (!d->still) {
		log_error("dump", "out of memory");
		return EXIT_CODE_KERNEL;
	}
	still__prepare(d->still);
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
		log_error("dump", "krait needs more rights%s%s", error_sudo(),
			  error_doctor(d->code));
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
	/* Others it could read by itself, if YAMA lets it. */
	if (!d.options.core && !d.options.pause && (d.options.native || privileges_scope() > 0) &&
	    client_is_possible())
		code = client_run(BROKER_DUMP);
	else
		code = d.options.core ? dump_core(&d.options) : dump(&d);
	free_looks(d.processes, d.cnt);
	free_looks(d.before, d.before_cnt);
	free(d.owners);
	free(d.options.pids);
	still__free(d.still);
	prober__free(d.prober);
	return code;
}

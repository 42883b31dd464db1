/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * assembly.c - builds a session, in the order in which krait gives up rights, and takes it apart.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/follow/processes.h"
#include "record/follow/threads.h"
#include "process/space/modules.h"
#include "record/replay/input_writer.h"
#include "record/samples/admission.h"
#include "record/anchors/anchor_thread.h"
#include "record/run/child.h"
#include "record/samples/collector.h"
#include "record/samples/kept_sources.h"
#include "record/run/descriptors.h"
#include "record/samples/native_places.h"
#include "record/samples/own.h"
#include "record/run/parts.h"
#include "record/run/perf_mappings.h"
#include "record/samples/residence.h"
#include "record/samples/resting.h"
#include "record/run/starting.h"
#include "record/unwinding/unwinding.h"
#include "record/stack/placement.h"
#include "native/names/kernel_symbols.h"
#include "native/names/native_files.h"
#include "native/names/symbol_reader.h"
#include "python/code/symbolizer.h"
#include "process/probe/prober.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/grids.h"
#include "base/system/privileges.h"

static void on_sample(void *ctx, const struct record_sample *record)
{
	struct session *s = ctx;
	__u32 node = collector__sample(s->collector, record);

	if (s->residence && record->event == s->touched)
		residence__fault(s->residence, record, node);
}

static void on_task(void *ctx, const struct record_task *record)
{
	struct session *s = ctx;

	processes__event(s->processes, record);
}

static void on_code(void *ctx, const struct record_code *record)
{
	struct session *s = ctx;
	struct process *process = processes__find(s->processes, record->pid), *parent = NULL;

	if (!process)
		return;
	if (process->parent_pid)
		parent = processes__find(s->processes, process->parent_pid);
	if (parent)
		symbolizer__inherit(process->symbolizer, parent->symbolizer, record);
	symbolizer__define(process->symbolizer, record);
}

static void on_mmap(void *ctx, const struct record_mmap *record)
{
	struct session *s = ctx;
	struct process *process;

	processes__mmap(s->processes, record);
	process = processes__find(s->processes, (pid_t)record->pid);
	if (process && s->unwinding)
		unwinding__update(s->unwinding, process, clock_monotonic_ns());
}

static void on_raw(void *ctx, const void *data, size_t size)
{
	struct session *s = ctx;

	input_writer__record(s->inputs, data, size);
}

static void on_clock(void *ctx, const struct record_clock *record)
{
	struct session *s = ctx;

	collector__clock(s->collector, record);
}

static void on_bad_record(void *ctx)
{
	struct session *s = ctx;

	collector__bad_record(s->collector);
}

/* Called however the thread ended, and whatever ended it. */
static void on_thread_gone(void *ctx, struct thread *thread)
{
	struct session *s = ctx;

	sampler__remove_thread(s->sampler, thread->slot, thread->tid, thread->start_ns);
	collector__thread_gone(s->collector, thread);
}

static void on_thread_renamed(void *ctx, struct thread *thread)
{
	struct session *s = ctx;

	collector__thread_renamed(s->collector, thread);
}

static void on_process_gone(void *ctx, struct process *process)
{
	struct session *s = ctx;

	if (s->inputs && !process->exited)
		input_writer__fact(s->inputs, QUESTION_DROPPED, process->pid, 0,
				   sampler__dropped(s->sampler, process->pid, process->start_ns));
	collector__process_gone(s->collector, process);
	/* Without samples it is nobody's pid in the profile. */
	if (s->config->knows_starts && process->own->node)
		pid_starts_add(&s->ended, process->pid, process->start_ns);
	if (s->unwinding)
		unwinding__forget(s->unwinding, process);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
}

/*
 * Runs before krait changes itself: the command gets the user and rights that it would have without
 * krait.
 */
static int launch(struct session *s, struct error *err)
{
	if (!s->config->command)
		return 0;
	s->child = child__launch(s->config->command, &s->signals.old_mask, &s->old_files,
				 s->config->priority, err);
	return s->child ? 0 : -1;
}

/*
 * Starts workers that give their children an id and root of their own; krait loses the rights for
 * that later.
 */
static void start_workers(struct session *s)
{
	if (!s->config->prober)
		processes__prepare(s->processes);
	if (s->native_files)
		symbol_reader__prepare(native_files__reader(s->native_files));
	if (s->places)
		native_places__prepare(s->places);
}

static int give_up_rights(const struct session *s, struct error *err)
{
	const struct sampler_config *config = &s->config->sampler;
	struct privileges_need need = { .sampling = true, .command = s->child };
	int result;

	for (unsigned i = 0; i < config->event_cnt; i++)
		need.probes = need.probes || config->events[i].code;
	result = privileges_drop(&need);

	return result ? error_set(err, -result, EXIT_CODE_KERNEL,
				  "cannot give up the rights that krait does not need: %s",
				  strerror(-result)) :
			0;
}

static void on_process_opened(void *ctx, struct process *process, const struct process *parent)
{
	struct session *s = ctx;

	if (parent && parent->own)
		process->own->main_interp_addr = parent->own->main_interp_addr;
	if (s->unwinding)
		unwinding__update(s->unwinding, process, clock_monotonic_ns());
	admission_offer(s->anchors, process);
}

struct sampler_handler session_handler(struct session *s)
{
	return (struct sampler_handler){
		.sample = on_sample,
		.task = on_task,
		.code = on_code,
		.mmap = on_mmap,
		.clock = on_clock,
		.bad_record = on_bad_record,
		.raw = s->inputs ? on_raw : NULL,
		.ctx = s,
	};
}

void session_connect(struct session *s)
{
	processes__connect(s->processes, s->sampler);
	processes__make_room(s->processes, sizeof(struct process_own), sizeof(struct thread_own));
	processes__on_gone(s->processes, on_process_gone, s);
	processes__on_opened(s->processes, on_process_opened, s);
	processes__on_renamed(s->processes, on_thread_renamed, s);
	threads__on_gone(processes__threads(s->processes), on_thread_gone, s);
	collector__connect(s->collector, s->processes, s->sampler, s->anchors, s->unwinding);
}

static int open_inputs(struct session *s)
{
	if (!s->config->inputs)
		return 0;
	s->inputs = input_writer__new(s->config->inputs);
	if (!s->inputs)
		return -ENOMEM;
	prober__tap(s->prober, input_writer_answer, s->inputs);
	return 0;
}

/* From now on logs the other inputs, too. */
static void log_the_rest(struct session *s)
{
	const struct session_config *config = s->config;
	const struct native_part_options *natives = &config->collector.natives;
	const struct input_session session = {
		.event_cnt = config->collector.event_cnt,
		.label = config->collector.label,
		.all = config->all,
		.filtered = !filter_is_empty(&config->filter),
		.native = natives->native,
		.kernel = natives->kernel,
		.interpreter = natives->interpreter,
		.addresses = natives->addresses,
		.mappings_reported = sampler__reports_mappings(s->sampler),
		.anchors = config->anchors,
		.tables = config->tables,
		.async = config->collector.async,
		.greenlets = config->sampler.greenlets,
		.perf_heard = s->mappings != NULL,
	};

	input_writer__session(s->inputs, &session);
	if (s->native_files)
		symbol_reader__tap(native_files__reader(s->native_files), input_writer_parsed,
				   s->inputs);
	if (natives->kernel_symbols)
		kernel_symbols__tap(natives->kernel_symbols, input_writer_kernel, s->inputs);
}

/*
 * Frames that a record must have for an anchor to be worth writing: with fewer, even the most that
 * a thread can save at these rates would not pay for it.
 */
static __u32 anchor_worth(const struct session_config *config)
{
	__u64 hz = 0, frames;

	for (unsigned i = 0; i < config->sampler.event_cnt; i++) {
		if (!config->sampler.events[i].frequency)
			return KRAIT_ANCHOR_WORTH;
		hz += config->sampler.events[i].frequency;
	}
	/* A tenth less, since rates are estimated from a few samples. */
	frames = hz ? PLACEMENT_WORTH_FRAMES * 9 / 10 / hz : 0;
	if (config->anchors == ANCHOR_MODE_ON || frames < KRAIT_ANCHOR_WORTH)
		return KRAIT_ANCHOR_WORTH;
	return frames < KRAIT_MAX_FRAMES ? (__u32)frames : KRAIT_MAX_FRAMES;
}

/* If one of the events asks for it. Returns 0 or -ENOMEM. */
static int make_census(struct session *s)
{
	const struct sampler_config *config = &s->config->sampler;

	for (unsigned i = 0; i < config->event_cnt; i++) {
		if (!event_is_tasks(&config->events[i]))
			continue;
		s->census = census__new(s->collector, s->processes, i, s->config->census_ns,
					s->config->sampler.task_names);
		return s->census ? 0 : -ENOMEM;
	}
	return 0;
}

/* Perf events on each CPU. */
static unsigned timer_cnt(const struct sampler_config *config)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < config->event_cnt; i++)
		cnt += grids_of(&config->events[i]);
	return cnt;
}

/* If its two events are there. Returns 0 or -ENOMEM. */
static int make_residence(struct session *s)
{
	const struct sampler_config *config = &s->config->sampler;
	unsigned resident = config->event_cnt;

	s->touched = config->event_cnt;
	for (unsigned i = 0; i < config->event_cnt; i++) {
		if (event_is_resident(&config->events[i]))
			resident = i;
		if (event_is_touched(&config->events[i]))
			s->touched = i;
	}
	if (resident == config->event_cnt || s->touched == config->event_cnt)
		return 0;
	s->residence = residence__new(s->collector, s->processes, resident, s->touched);
	return s->residence ? 0 : -ENOMEM;
}

/*
 * Opens everything that needs the rights krait is about to give up: signals, descriptors, the
 * command, probers.
 */
static int open_outside(struct session *s, struct error *err)
{
	if (signals_catch(&s->signals, s->config->on_signal))
		return error_set(err, errno, EXIT_CODE_KERNEL, "signalfd: %s", strerror(errno));
	s->descriptors = descriptors__new(timer_cnt(&s->config->sampler), &s->old_files, err);
	if (!s->descriptors)
		return -1;
	if (launch(s, err))
		return -1;
	s->prober = s->config->prober ? s->config->prober : prober__new(PROBERS_MAX);
	if (!s->prober)
		return out_of_memory(err);
	if (!s->config->prober)
		prober__share(s->prober, &s->probers_alive);
	return open_inputs(s) ? out_of_memory(err) : 0;
}

/* Returns 0 or -ENOMEM. */
static int make_natives(struct session *s)
{
	const struct native_part_options *natives = &s->config->collector.natives;

	if (!natives->native)
		return 0;
	s->modules = modules__new();
	s->native_files = s->modules ? native_files__new(s->modules) : NULL;
	if (!s->native_files)
		return -ENOMEM;
	symbol_reader__hurry(native_files__reader(s->native_files));
	if (!natives->sources)
		return 0;
	s->places = native_places__new(s->native_files, natives->inlined);
	return s->places ? 0 : -ENOMEM;
}

/* Returns 0 or -ENOMEM. */
static int make_profile(struct session *s)
{
	const struct processes_config processes = {
		.all = s->config->all,
		.tables = s->config->tables,
		.greenlets = s->config->sampler.greenlets,
		.prober = s->prober,
		.inputs = s->inputs,
		.native_files = s->native_files,
		.filter = &s->config->filter,
	};

	s->collector = collector__new(&s->config->collector, s->native_files);
	s->processes = processes__new(&processes);
	if (!s->collector || !s->processes)
		return -ENOMEM;
	if (s->places)
		collector__keep_places(s->collector, s->places);
	if (s->config->sources) {
		s->sources =
			kept_sources__new(collector__parts(s->collector)->profile->dict, s->prober);
		if (!s->sources)
			return -ENOMEM;
		collector__keep_sources(s->collector, s->sources);
	}
	return make_census(s);
}

static struct sampler_config sampler_of(const struct session_config *config)
{
	struct sampler_config sampler = config->sampler;

	sampler.follow_all = config->all;
	sampler.users = config->filter.users;
	sampler.user_cnt = config->filter.user_cnt;
	sampler.anchors = config->anchors != ANCHOR_MODE_OFF;
	sampler.anchor_worth = anchor_worth(config);
	sampler.native = config->collector.natives.native;
	sampler.kernel = config->collector.natives.kernel;
	sampler.tasks = config->tables && config->collector.async != ASYNC_OFF;
	return sampler;
}

int session_load_ahead(const struct session_config *config, struct error *err)
{
	const struct sampler_config sampler = sampler_of(config);

	return sampler_load_ahead(&sampler, err);
}

static int make_sampler(struct session *s, struct error *err)
{
	const struct session_config *config = s->config;
	const struct sampler_handler handler = session_handler(s);
	const struct sampler_config sampler = sampler_of(config);

	s->sampler = sampler__new(&sampler, &handler, err);
	if (!s->sampler)
		return -1;
	if (config->collector.natives.kernel_symbols)
		sampler__code(s->sampler, kernel_symbols__own,
			      config->collector.natives.kernel_symbols);
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int make_unwinding(struct session *s)
{
	if (!s->config->collector.natives.native)
		return 0;
	s->unwinding = unwinding__new(s->sampler, s->native_files);
	if (!s->unwinding)
		return -ENOMEM;
	if (s->config->late_rows)
		unwinding__read_late(s->unwinding);
	return 0;
}

/* If the sampler does not report mappings, perf does. */
static void make_mappings(struct session *s)
{
	if (sampler__reports_mappings(s->sampler) ||
	    !(s->unwinding || s->config->tables || s->config->sampler.greenlets))
		return;
	s->mappings = perf_mappings__new(s->processes, s->unwinding);
}

static int make_anchors(struct session *s, struct error *err)
{
	if (s->config->anchors == ANCHOR_MODE_OFF)
		return 0;
	s->anchors = anchor_thread__new(s->config->anchors, s->sampler, &s->probers_alive,
					s->inputs, err);
	return s->anchors ? 0 : -1;
}

static int build(struct session *s, struct error *err)
{
	if (open_outside(s, err))
		return -1;
	if (make_natives(s) || make_profile(s))
		return out_of_memory(err);
	start_workers(s);
	/* A thread inherits the rights of its creator, so none is started before this. */
	if (give_up_rights(s, err))
		return -1;
	if (s->config->say_starting)
		s->starting = starting__new(STDERR_FILENO);
	if (make_sampler(s, err))
		return -1;
	if (make_unwinding(s) || make_residence(s))
		return out_of_memory(err);
	make_mappings(s);
	if (s->inputs)
		log_the_rest(s);
	if (make_anchors(s, err))
		return -1;
	session_connect(s);
	return 0;
}

struct session *session__new(const struct session_config *config, struct error *err)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s) {
		out_of_memory(err);
		return NULL;
	}
	s->config = config;
	s->signals.fd = s->watched_fd = -1;
	s->created_ns = clock_monotonic_ns();
	if (build(s, err)) {
		session__free(s);
		return NULL;
	}
	return s;
}

/* The processes go first: releasing them calls the sampler and the collector. */
void session__free(struct session *s)
{
	if (!s)
		return;
	starting__free(s->starting);
	processes__free(s->processes);
	pid_starts_free(&s->ended);
	anchor_thread__free(s->anchors);
	unwinding__free(s->unwinding);
	perf_mappings__free(s->mappings);
	if (!s->config->prober)
		prober__free(s->prober);
	if (s->inputs && s->config->collector.natives.kernel_symbols)
		kernel_symbols__tap(s->config->collector.natives.kernel_symbols, NULL, NULL);
	input_writer__free(s->inputs);
	census__free(s->census);
	residence__free(s->residence);
	resting_memory__free(s->waits);
	sampler__free(s->sampler);
	collector__free(s->collector);
	kept_sources__free(s->sources);
	native_places__free(s->places);
	native_files__free(s->native_files);
	modules__free(s->modules);
	child__free(s->child);
	descriptors__free(s->descriptors);
	signals_release(&s->signals);
	free(s);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "bpf/native/rows.h"
#include "bpf/wait/switch.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "kernel/maps/anchors.h"
#include "kernel/maps/known_files.h"
#include "kernel/maps/layouts.h"
#include "kernel/maps/looks.h"
#include "kernel/maps/owner_books.h"
#include "kernel/maps/plain_files.h"
#include "kernel/maps/procs.h"
#include "kernel/maps/slots.h"
#include "kernel/maps/unwind_maps.h"
#include "kernel/maps/uprobes.h"
#include "kernel/sampler/perf_events.h"
#include "kernel/sampler/probe.h"
#include "kernel/sampler/programs.h"
#include "kernel/sampler/queue.h"
#include "kernel/sampler/reader.h"
#include "kernel/sampler/record.h"
#include "kernel/sampler/ring.h"
#include "kernel/sampler/switches.h"
#include "krait.skel.h"

/* ---- totals ----------------------------------------------------------------------------------- */

/* Adds up what the kernel side counts on each CPU. */

struct event_counts;
struct sampler_ticks;

/* The values of all CPUs, which the caller frees, and their number; NULL and errno on failure. */
static void *read_all(int fd, __u32 key, size_t size, int *ret_cnt)
{
	int cpus = libbpf_num_possible_cpus();
	void *values = NULL;

	if (cpus > 0)
		values = calloc((size_t)cpus, size);
	else
		errno = EIO;
	if (values && bpf_map_lookup_elem(fd, &key, values)) {
		free(values);
		return NULL;
	}
	*ret_cnt = cpus;
	return values;
}

/* From per-CPU array maps. Returns 0, or -errno. */
static int totals_counter(int fd, __u32 counter, __u64 *ret)
{
	int cpus;
	cleanup_free __u64 *values = read_all(fd, counter, sizeof(*values), &cpus);

	if (!values)
		return -errno;
	*ret = 0;
	for (int cpu = 0; cpu < cpus; cpu++)
		*ret += values[cpu];
	return 0;
}

/* Leaves ret->asked unchanged. */
static int totals_ticks(int fd, __u32 event, struct sampler_ticks *ret)
{
	int cpus;
	cleanup_free struct event_counts *values = read_all(fd, event, sizeof(*values), &cpus);

	if (!values)
		return -errno;
	for (int cpu = 0; cpu < cpus; cpu++)
		ret->missed += values[cpu].missed;
	return 0;
}

static int totals_events(int fd, __u32 event, struct event_counts *ret)
{
	int cpus;
	cleanup_free struct event_counts *values = read_all(fd, event, sizeof(*values), &cpus);

	*ret = (struct event_counts){ 0 };
	if (!values)
		return -errno;
	for (int cpu = 0; cpu < cpus; cpu++) {
		ret->interrupts += values[cpu].interrupts;
		ret->ring_full += values[cpu].ring_full;
		ret->nested += values[cpu].nested;
	}
	return 0;
}

/* ---- sampler ---------------------------------------------------------------------------------- */

/*
 * What may wait outside the ring while names are read or a disk is slow; allocated on demand.
 * Enough for most of a second of the worst that one CPU can write.
 */
#define QUEUE_BYTES (64UL << 20)
/* Rows for native stacks: 4 bytes each, so enough for 40 of the largest libraries. */
/* Records between two readings of the clock. */
#define DRAIN_RECORDS 32

struct sampler {
	struct sampler_parts parts;
	struct sampler_config config;
	struct sampler_handler handler;
	struct krait_bpf *skel;
	struct bpf_program *program;
	struct perf_events *events;
	struct ring *ring;
	struct reader *reader; /* NULL before the start */
	struct slots *slots;
	struct procs procs;
	__u64 ticks_asked[KRAIT_MAX_EVENTS];
	struct uprobes uprobes;
	struct unwind_maps *unwind; /* NULL: no native stacks */
	struct switches *switches; /* NULL: time off the CPU is not wanted */
	struct bpf_link *looks; /* NULL: nobody looks at threads */
	struct bpf_link *clocks; /* NULL: nobody compares clocks, or the kernel cannot */
	bool has_chained; /* programs_load_chained() need not be called again */
	int chained; /* its last result */
	programs_code_fn code; /* NULL: nobody asks */
	void *code_ctx;
};

/* What sampler_load_ahead() has loaded, for the first sampler that it suits. */
static struct krait_bpf *ahead;
static struct features ahead_features;

static int cannot_prepare(struct error *err)
{
	return error_set(err, errno, EXIT_CODE_KERNEL, "cannot prepare BPF programs: %s",
			 strerror(errno));
}

/* *ret_switches: NULL: without. */
static int open_and_load(struct krait_bpf **ret, const struct sampler_config *config,
			 struct switches **ret_switches, struct features *features,
			 struct error *err)
{
	cleanup_close int types_fd = -1;
	int result = probe_features(features, err);

	if (result)
		return result;
	*ret = programs_open(&types_fd);
	if (!*ret)
		return cannot_prepare(err);
	if (ret_switches && switches_wanted(config)) {
		*ret_switches = switches__new(*ret, config, features_loops(features), err);
		if (!*ret_switches)
			return -1;
	}
	if (programs_configure(*ret, config, ret_switches && *ret_switches, features))
		return cannot_prepare(err);
	return programs_load(*ret, err);
}

int sampler_load_ahead(const struct sampler_config *config, struct error *err)
{
	int result = open_and_load(&ahead, config, NULL, &ahead_features, err);

	if (result) {
		krait_bpf__destroy(ahead);
		ahead = NULL;
	}
	return result;
}

static bool take_ahead(struct sampler *s)
{
	struct krait_bpf *skel = take_ptr(&ahead);

	if (skel && !switches_wanted(&s->config) &&
	    programs_suit(skel, &s->config, &ahead_features))
		s->skel = skel;
	else
		krait_bpf__destroy(skel);
	return s->skel;
}

static int load(struct sampler *s, struct error *err)
{
	struct features features;

	if (!take_ahead(s) && open_and_load(&s->skel, &s->config, &s->switches, &features, err))
		return -1;
	programs_settle(s->skel, &s->config);
	s->program = programs_sampling(s->skel);
	return 0;
}

/* The second cursor is for the placer of anchors: see reader.h. */
static int prepare_records(struct sampler *s)
{
	struct bpf_map *map = s->skel->maps.ring;

	s->ring = ring__new(bpf_map__fd(map), bpf_map__max_entries(map), s->parts.books,
			    s->config.anchor_worth);
	s->parts.queue = queue__new(QUEUE_BYTES, s->config.anchors ? 2 : 1);
	return s->ring && s->parts.queue ? 0 : -1;
}

static int prepare_unwinding(struct sampler *s)
{
	const struct unwind_map_fds fds = {
		.slabs = bpf_map__fd(s->skel->maps.unwind_slabs),
		.files = bpf_map__fd(s->skel->maps.unwind_files),
		.spaces = bpf_map__fd(s->skel->maps.unwind_spaces),
		.control = bpf_map__fd(s->skel->maps.unwind_control),
	};

	s->unwind = unwind_maps__new(&fds, s->config.unwind_bytes ? s->config.unwind_bytes :
								    SAMPLER_UNWIND_BYTES);
	if (s->unwind)
		s->parts.tables = unwind_maps__tables(s->unwind);
	return s->unwind ? 0 : -1;
}

static int prepare(struct sampler *s, struct error *err)
{
	int result = load(s, err);

	if (result)
		return result;
	s->slots = slots__new(bpf_map__fd(s->skel->maps.threads));
	s->parts.books = owner_books_map(bpf_map__fd(s->skel->maps.owners));
	s->procs = (struct procs){ bpf_map__fd(s->skel->maps.procs), s->parts.books };
	s->parts.anchors = anchors__new(bpf_map__fd(s->skel->maps.anchors),
					bpf_map__max_entries(s->skel->maps.anchors));
	if (bpf_program__autoload(s->skel->progs.runtime_begin))
		s->uprobes.program = s->skel->progs.runtime_begin;
	s->uprobes.entries_fd = bpf_map__fd(s->skel->maps.entries);
	s->parts.layouts = layouts__new(s->skel->data_layouts->layouts);
	if (s->parts.layouts)
		s->parts.known_files = known_files__new(bpf_map__fd(s->skel->maps.binaries),
							&s->uprobes, s->parts.layouts);
	s->parts.plain_files = plain_files__new(bpf_map__fd(s->skel->maps.plain));
	if (s->config.native && prepare_unwinding(s))
		return error_set(err, errno, EXIT_CODE_KERNEL, "cannot set up native stacks: %s",
				 strerror(errno));
	if (!s->slots || !s->parts.anchors || !s->parts.books || !s->parts.known_files ||
	    !s->parts.plain_files || prepare_records(s))
		return errno == ENOMEM ?
			       programs_no_memory(err) :
			       error_set(err, errno, EXIT_CODE_KERNEL,
					 "cannot set up the ring buffer: %s", strerror(errno));
	/* Process events come from here on, before anything is tracked, so none is missed. */
	return programs_attach(s->skel, s->config.native || s->config.tasks, err);
}

struct sampler *sampler__new(const struct sampler_config *config,
			     const struct sampler_handler *handler, struct error *err)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	s->config = *config;
	s->handler = *handler;
	if (prepare(s, err)) {
		sampler__free(s);
		return NULL;
	}
	return s;
}

/* Interrupts end first, then process events, then the memory that both use. */
void sampler__free(struct sampler *s)
{
	if (!s)
		return;
	perf_events__free(s->events);
	ride_detach(&s->config.ride);
	bpf_link__destroy(s->looks);
	bpf_link__destroy(s->clocks);
	switches__free(s->switches);
	known_files__free(s->parts.known_files);
	plain_files__free(s->parts.plain_files);
	layouts__free(s->parts.layouts);
	unwind_maps__free(s->unwind);
	reader__free(s->reader);
	queue__free(s->parts.queue);
	ring__free(s->ring);
	owner_books_unmap(s->parts.books);
	krait_bpf__destroy(s->skel);
	slots__free(s->slots);
	anchors__free(s->parts.anchors);
	free(s);
}

int sampler__start(struct sampler *s, struct error *err)
{
	s->reader = reader__new(s->ring, s->parts.queue);
	if (!s->reader)
		return error_set(err, errno, EXIT_CODE_KERNEL, "cannot start a thread: %s",
				 strerror(errno));
	if (s->switches && switches__start(s->switches, err))
		return -1;
	if (s->switches || s->config.looks) {
		s->looks = looks_attach(s->skel, err);
		if (!s->looks)
			return -1;
	}
	if (s->config.only_looks)
		return 0;
	if (s->config.ride.cnt)
		return ride_attach(&s->config.ride, s->program, err);
	s->events = perf_events__new(&s->config,
				     &(struct perf_event_programs){
					     .event = s->program,
					     .fault = programs_fault(s->skel),
					     .tracepoint = s->skel->progs.probe_tracepoint,
					     .code = s->skel->progs.probe_code,
					     .filters_fd = bpf_map__fd(s->skel->maps.probe_filters),
					     .group_fd = bpf_map__fd(s->skel->maps.group_events),
				     },
				     err);
	if (!s->events)
		return -1;
	if (programs_want_clocks(&s->config))
		s->clocks = looks_attach_clocks(s->skel);
	s->skel->data->clocks_from_ns = clock_monotonic_ns();
	return 0;
}

void sampler__read_clocks(const struct sampler *s)
{
	if (s->clocks)
		looks_take_clocks(s->clocks);
}

void sampler__end(struct sampler *s)
{
	__u64 now_ns = clock_monotonic_ns(), end_ns = s->skel->data->end_ns;

	/* All waits end at the same moment, whichever program is detached first. */
	if (s->switches && now_ns < end_ns)
		s->skel->data->end_ns = end_ns = now_ns;
	for (unsigned i = 0; s->events && i < s->config.event_cnt; i++)
		s->ticks_asked[i] =
			perf_events__ticks(s->events, i, end_ns < now_ns ? end_ns : now_ns);
	perf_events__free(s->events);
	s->events = NULL;
	ride_detach(&s->config.ride);
}

void sampler__stop(struct sampler *s)
{
	sampler__end(s);
	if (s->switches)
		switches__stop(s->switches);
	if (s->reader)
		reader__finish(s->reader);
}

void sampler__move(struct sampler *s)
{
	if (s->reader)
		reader__move(s->reader);
}

bool sampler__has_moved(const struct sampler *s)
{
	return !s->reader || reader__has_moved(s->reader);
}

int sampler__switches_cost(const struct sampler *s, struct switches_cost *ret)
{
	*ret = (struct switches_cost){ 0 };
	return s->switches ? switches__cost(s->switches, ret) : 0;
}

void sampler__end_at(struct sampler *s, __u64 end_ns)
{
	s->skel->data->end_ns = end_ns;
}

void sampler__follow_cpus(struct sampler *s)
{
	if (!s->events)
		return;
	perf_events__follow_cpus(s->events);
	perf_events__wander(s->events);
}

void sampler__set_rate(struct sampler *s, __u64 frequency)
{
	if (!s->events || !frequency || s->config.jitter)
		return;
	perf_events__set_rate(s->events, frequency);
	s->skel->data->clock_period_ns = NS_PER_SEC / frequency;
}

void sampler__set_detail(struct sampler *s, __u32 frames_max, bool natives, __u64 wait_ns)
{
	if (wait_ns)
		s->skel->data->switch_shortest = switch_threshold_shift(wait_ns);
	s->skel->data->frames_max = frames_max;
	s->skel->data->natives_on = natives;
}

void sampler__hush(struct sampler *s, bool on)
{
	s->skel->bss->hushed = on;
	if (s->reader)
		reader__hush(s->reader, on);
}

bool sampler__drain(struct sampler *s, __u64 until_ns)
{
	unsigned cnt = 0;
	const void *data;
	size_t size;

	while ((data = queue__peek(s->parts.queue, CURSOR_MAIN, &size))) {
		if (s->handler.raw)
			s->handler.raw(s->handler.ctx, data, size);
		record_dispatch(&s->handler, data, size);
		queue__pop(s->parts.queue, CURSOR_MAIN);
		if (++cnt % DRAIN_RECORDS == 0 && clock_monotonic_ns() >= until_ns)
			return true;
	}
	return false;
}

const struct sampler_parts *sampler__parts(const struct sampler *s)
{
	return &s->parts;
}

int sampler__track(struct sampler *s, pid_t pid, const struct proc_info *info)
{
	struct proc_info full = *info;

	/* Interrupts of other processes do not count. */
	if (!(info->flags & PROC_PYTHON))
		return -EINVAL;
	full.since_ns = full.sampled_ns = clock_monotonic_ns();
	return procs_enter(&s->procs, pid, &full);
}

int sampler__watch(struct sampler *s, pid_t pid, __u64 start_ns, unsigned owner)
{
	struct proc_info info;

	/* What the kernel has found out meanwhile is better. */
	if (procs_find(&s->procs, pid, &info) && same_start(info.start_ns, start_ns))
		return 0;
	info = (struct proc_info){ .start_ns = start_ns, .owner = owner };
	return procs_enter(&s->procs, pid, &info);
}

void sampler__untrack(struct sampler *s, pid_t pid, __u64 start_ns)
{
	procs_delete(&s->procs, pid, start_ns);
	sampler__set_space(s, pid, start_ns, 0);
}

void sampler__code(struct sampler *s, void (*fn)(void *ctx, __u64 start, __u32 size), void *ctx)
{
	s->code = fn;
	s->code_ctx = ctx;
	programs_code(s->skel, fn, ctx);
}

bool sampler__reports_mappings(const struct sampler *s)
{
	return s->skel->links.process_mmap;
}

__u64 sampler__dropped(const struct sampler *s, pid_t pid, __u64 start_ns)
{
	struct proc_info info;

	if (!procs_find(&s->procs, pid, &info) || !same_start(info.start_ns, start_ns))
		return 0;
	return info.dropped;
}

int sampler__walk_ns(const struct sampler *s, pid_t pid, __u64 start_ns, __u64 *ret, __u64 *ret_cnt)
{
	struct proc_info info;

	if (!procs_find(&s->procs, pid, &info) || !same_start(info.start_ns, start_ns))
		return -ESRCH;
	*ret_cnt = info.walk_cnt;
	*ret = info.walk_cnt ? info.walks_ns / info.walk_cnt : 0;
	return 0;
}

void sampler__bound_owner(struct sampler *s, unsigned owner, bool closed, __u32 frames_max)
{
	struct owner_use *use = &s->parts.books->use[owner % OWNER_CNT];

	__atomic_store_n(&use->codes_closed, closed, __ATOMIC_RELAXED);
	__atomic_store_n(&use->frames_max, frames_max, __ATOMIC_RELAXED);
}

int sampler__set_space(struct sampler *s, pid_t pid, __u64 start_ns, __u32 space)
{
	const struct unwind_proc proc = { .start_ns = start_ns, .space = space };
	int fd = bpf_map__fd(s->skel->maps.unwind_procs);

	if (!space)
		return bpf_map_delete_elem(fd, &pid) ? -errno : 0;
	return bpf_map_update_elem(fd, &pid, &proc, BPF_ANY) ? -errno : 0;
}

/* Before the first process that has chains. For want of memory: again with the next process. */
static int need_chained(struct sampler *s)
{
	const int before = s->chained;

	if (s->has_chained)
		return s->chained;
	s->chained = programs_load_chained(s->skel, s->code, s->code_ctx);
	s->has_chained = s->chained != -ENOMEM && s->chained != -EAGAIN;
	if (s->chained && !before)
		log_warn("sampler",
			 "stacks do not show asyncio tasks and greenlets: the kernel does not load "
			 "the program that follows them: %s",
			 strerror(-s->chained));
	return s->chained;
}

int sampler__set_tasks(struct sampler *s, pid_t pid, const struct task_layout *layout)
{
	int fd = bpf_map__fd(s->skel->maps.task_layouts), err;

	if (!layout)
		return bpf_map_delete_elem(fd, &pid) ? -errno : 0;
	err = need_chained(s);
	if (err)
		return err;
	if (bpf_map_update_elem(fd, &pid, layout, BPF_ANY))
		return -errno;
	/* Only after the entry, and never 0 again: threads remember what they found at that value. */
	__atomic_store_n(&s->skel->bss->tasks_known, s->skel->bss->tasks_known + 1 ?: 1,
			 __ATOMIC_RELEASE);
	return 0;
}

int sampler__set_greenlets(struct sampler *s, pid_t pid, const struct greenlet_place *place)
{
	int fd = bpf_map__fd(s->skel->maps.greenlet_places), err;

	if (!place)
		return bpf_map_delete_elem(fd, &pid) ? -errno : 0;
	err = need_chained(s);
	if (err)
		return err;
	s->skel->bss->greenlets_known = 1;
	return bpf_map_update_elem(fd, &pid, place, BPF_ANY) ? -errno : 0;
}

int sampler__add_thread(struct sampler *s, const struct record_sample *record, __u32 *slot)
{
	return slots__add(s->slots, record->owner, (pid_t)record->tid, record->thread_start_ns,
			  slot);
}

__u64 sampler__slots_refused(const struct sampler *s, unsigned owner)
{
	return slots__refused(s->slots, owner);
}

void sampler__remove_thread(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns)
{
	slots__remove(s->slots, slot, tid, start_ns);
}

int sampler__tie_anchor(struct sampler *s, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor)
{
	return slots__set_anchor(s->slots, slot, tid, start_ns, anchor);
}

long sampler__look_at_threads(const struct sampler *s, struct thread_look **ret)
{
	*ret = NULL;
	return s->looks ? looks_take(s->looks, ret) : 0;
}

int sampler__counter(const struct sampler *s, __u32 counter, __u64 *ret)
{
	return totals_counter(bpf_map__fd(s->skel->maps.counters), counter, ret);
}

int sampler__ticks(const struct sampler *s, unsigned event, struct sampler_ticks *ret)
{
	*ret = (struct sampler_ticks){ .asked = s->ticks_asked[event] };
	if (!(s->skel->rodata->clock_events >> event & 1)) {
		ret->asked = 0;
		return 0;
	}
	return totals_ticks(bpf_map__fd(s->skel->maps.event_counts), event, ret);
}

int sampler__event_counts(const struct sampler *s, unsigned event, struct event_counts *ret)
{
	return totals_events(bpf_map__fd(s->skel->maps.event_counts), event, ret);
}

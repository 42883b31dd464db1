/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/perf_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/sampler/sampler.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/event_tracepoint.h"
#include "base/system/grids.h"
#include "base/text/log.h"
#include "kernel/sampler/cpus.h"
#include "base/system/privileges.h"

struct cpu_event {
	int cpu;
	unsigned index; /* of the event in the configuration */
	unsigned grid, grids; /* number of the timer, and of all that divide the event */
	struct bpf_link *link;
	int fd; /* owned by the link; of one that its leader reads: own */
	struct grid timer; /* of a clock; times are CLOCK_MONOTONIC */
};

struct perf_events {
	struct sampler_config config;
	struct perf_event_programs programs;
	int cnt;
	struct cpu_event *list;
	char online[CPU_LIST_MAX]; /* the list last acted on */
	/* ticks due on CPUs that went offline, and before changes of the period */
	__u64 gone_ticks[KRAIT_MAX_EVENTS];
	/* Of members of groups that have ended: how long they should have counted, and how long they did. */
	__u64 wanted_ns[KRAIT_MAX_EVENTS], counted_ns[KRAIT_MAX_EVENTS];
	__u64 random; /* never 0 */
	__u64 frequency; /* current rate of clocks; 0: the configured one */
	unsigned filter_cnt; /* in the kernel's map, from number 1 on */
	struct filter_program filters[FILTERS_MAX - 1];
};

long perf_events_max_rate(void)
{
	return sysctl_kernel("perf_event_max_sample_rate", 0);
}

static int explain_open(struct error *err, const struct event_spec *event, int errnum)
{
	long limit = perf_events_max_rate();

	switch (errnum) {
	case EPERM:
	case EACCES:
		return error_set(err, errnum, EXIT_CODE_PERMISSION,
				 "perf_event_open: %s: sampling all CPUs needs root or "
				 "CAP_PERFMON%s",
				 strerror(errnum), error_sudo());
	case EINVAL:
		if (event->frequency && limit && event->frequency > (__u64)limit)
			return error_set(err, errnum, EXIT_CODE_USAGE,
					 "%llu Hz is above this kernel's limit of %ld (raise it "
					 "with: sysctl kernel.perf_event_max_sample_rate=%llu)",
					 event->frequency, limit, event->frequency);
		/* A PMU without interrupts. */
		if (event->type >= PERF_TYPE_MAX)
			return error_set(
				err, errnum, EXIT_CODE_KERNEL,
				"%s can be counted, but its PMU does not sample (%s): %s%s%s",
				event->name, strerror(errnum),
				event->package_wide ? "perf stat -e " : "-e '{cpu-clock,",
				event->name,
				event->package_wide ? " counts it" :
						      "}:S' reads it at the samples of a clock");
		break;
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return error_set(err, errnum, EXIT_CODE_KERNEL,
				 "this machine has no event %s (%s); cpu-clock always works",
				 event->name, strerror(errnum));
	case EMFILE:
		return error_set(
			err, errnum, EXIT_CODE_PERMISSION,
			"too few file descriptors for one per event and CPU (raise: ulimit -n)");
	}
	return error_set(err, errnum, EXIT_CODE_KERNEL, "perf_event_open for %s: %s", event->name,
			 strerror(errnum));
}

/*
 * Ticks of a clock that hit an idle CPU are nobody's. They would run the program for nothing; and
 * since the kernel counts an event's ticks between two of the scheduler's, which an idle CPU has
 * stopped, they would throttle the event, and whoever wakes up on that CPU has no ticks at first
 * (__perf_event_account_interrupt(), kernel/events/core.c). If switches are followed, some of them
 * belong to the thread that the CPU is about to run: bpf/wait/switch_cpu.h.
 */
static bool leaves_out_idle(const struct sampler_config *config, const struct event_spec *event)
{
	for (unsigned i = 0; i < config->event_cnt; i++)
		if (event_is_off_cpu(&config->events[i]))
			return false;
	return event_is_clock(event);
}

/* Sets how often the event interrupts. The kernel limits only rates, so periods are limited here. */
static int set_rate(struct perf_event_attr *attr, const struct event_spec *event, unsigned grid)
{
	const unsigned grids = grids_of(event);
	const long limit = grids > 1 ? perf_events_max_rate() : 0;

	if (limit && event->frequency > (__u64)limit)
		return -EINVAL;
	if (event->is_read)
		return 0;
	attr->freq = grids == 1 && event->frequency;
	if (grids > 1)
		attr->sample_period = grids_period_ns(NS_PER_SEC / event->frequency, grids, grid);
	else if (event->frequency)
		attr->sample_freq = event->frequency;
	else
		attr->sample_period = event->period;
	return 0;
}

/* What detach() reads: the count, and the times for which it was wanted and was there. */
#define MEMBER_FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* leader: of its group, there; -1: it has none. */
static int open_one(const struct sampler_config *config, unsigned index, unsigned grid, int cpu,
		    int leader)
{
	const struct event_spec *event = &config->events[index];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.exclude_hv = event->exclude_kernel,
		.exclude_idle = leaves_out_idle(config, event),
		.precise_ip = event->precise,
		/* The kernel sets the address of a fault at 0 only if it is asked for (perf_sample_data_init(), 6.2). */
		.sample_type = event_is_touched(event) ? PERF_SAMPLE_ADDR : 0,
		.wakeup_events = index, /* read by event_index(), bpf/kernel_task.h */
		.read_format = event->is_read ? MEMBER_FORMAT : 0,
	};
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);
	int fd = set_rate(&attr, event, grid);

	if (fd)
		return fd;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * A software event is always on its CPU, and whatever else is there needs no group to be there with it. In one, Linux
 * 6.18 sometimes never began to count page faults beside cpu-clock.
 */
static int leader_fd(const struct perf_events *events, unsigned index, int cpu)
{
	const unsigned leader = events->config.events[index].leader;

	if (!leader || events->config.events[leader - 1].type == PERF_TYPE_SOFTWARE)
		return -1;
	for (int i = 0; i < events->cnt; i++)
		if (events->list[i].cpu == cpu && events->list[i].index == leader - 1)
			return events->list[i].fd;
	return -1;
}

static __u64 mean_period_ns(const struct cpu_event *e, __u64 frequency)
{
	return grids_period_ns(NS_PER_SEC / frequency, e->grids, e->grid);
}

/* Of a member of a group, in the map of those. */
static __u32 member_key(const struct cpu_event *e)
{
	return (__u32)e->cpu * KRAIT_MAX_EVENTS + e->index;
}

/* The program of the group's leader reads it. */
static int hand_over(struct perf_events *events, struct cpu_event *e, int fd, struct error *err)
{
	const __u32 key = member_key(e);

	e->link = NULL;
	e->fd = fd;
	events->cnt++;
	return bpf_map_update_elem(events->programs.group_fd, &key, &fd, BPF_ANY) ?
		       error_set(err, errno, EXIT_CODE_KERNEL,
				 "the BPF program cannot read %s at another event's samples: %s",
				 events->config.events[e->index].name, strerror(errno)) :
		       0;
}

static int attach_one(struct perf_events *events, unsigned index, unsigned grid, int cpu,
		      struct error *err)
{
	const struct event_spec *event = &events->config.events[index];
	cleanup_close int fd =
		open_one(&events->config, index, grid, cpu, leader_fd(events, index, cpu));
	struct cpu_event *new;

	if (fd == -ENODEV && event->type == PERF_TYPE_SOFTWARE)
		return 0; /* the CPU went offline meanwhile */
	if (fd < 0)
		return explain_open(err, event, -fd);
	new = realloc(events->list, (events->cnt + 1) * sizeof(*new));
	if (!new)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	events->list = new;
	new += events->cnt;
	new->cpu = cpu;
	new->index = index;
	new->grid = grid;
	new->grids = grids_of(event);
	new->timer = (struct grid){ 0 };
	if (event->is_read)
		return hand_over(events, new, take_fd(&fd), err);
	new->link = bpf_program__attach_perf_event(
		event_is_touched(event) ? events->programs.fault : events->programs.event, fd);
	if (!new->link)
		return error_set(err, errno, EXIT_CODE_KERNEL,
				 "cannot attach the BPF program to %s on CPU %d: %s", event->name,
				 cpu, strerror(errno));
	new->fd = take_fd(&fd); /* the link closes it */
	new->timer = (struct grid){ .mean_ns = event->frequency ?
						       mean_period_ns(new, event->frequency) :
						       event->period,
				    .started_ns = clock_monotonic_ns() };
	new->timer.period_ns = new->timer.mean_ns;
	events->cnt++;
	return 0;
}

/* ---- tracepoints, probes in code -------------------------------------------------------------- */

/* Of one event: a glob may match hundreds of system calls. */
#define PLACES_MAX 1024

struct place_adder {
	struct perf_events *events;
	unsigned index, cnt;
	int cpu;
	struct error *err;
};

/* link: NULL and errno set if there is none. */
static int keep_place(const struct place_adder *a, struct bpf_link *link, int fd)
{
	struct perf_events *events = a->events;
	const struct event_spec *event = &events->config.events[a->index];
	const int errnum = errno;
	struct cpu_event *new;

	if (!link && event->code && (errnum == EPERM || errnum == EACCES))
		return error_set(a->err, errnum, EXIT_CODE_PERMISSION,
				 "%s: %s: probes need root (CAP_SYS_ADMIN)%s", event->name,
				 strerror(errnum), error_sudo());
	if (!link)
		return error_set(a->err, errnum, EXIT_CODE_KERNEL,
				 "cannot attach the BPF program to %s: %s (%s)", event->name,
				 strerror(errnum),
				 errnum == EINVAL && !event->code ?
					 "if perf probe has made it, use --probe FILE:FUNCTION" :
					 "tracepoints and probes need Linux 5.17");
	new = realloc(events->list, (events->cnt + 1) * sizeof(*new));
	if (!new) {
		bpf_link__destroy(link);
		return error_set(a->err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	}
	events->list = new;
	new[events->cnt++] =
		(struct cpu_event){ .cpu = a->cpu, .index = a->index, .link = link, .fd = fd };
	return 0;
}

/* Whatever its CPU is, the program runs on all of them. */
static int open_place(const struct event_spec *event, __u64 id, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = event->type, .config = id, .sample_period = 1
	};
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The number of the tracepoint's filter; 0: it has none. Negative with *err filled. */
static int filter_number(const struct place_adder *a, const struct event_spec *event,
			 const struct event_tracepoint *t)
{
	struct perf_events *events = a->events;
	struct filter_program new;
	__u32 number = events->filter_cnt + 1;
	char why[512], name[EVENT_NAME_MAX + 512];
	int err;

	if (!event->filter)
		return 0;
	memset(&new, 0, sizeof(new));
	err = event_tracepoint_filter(&new, t, event->filter, why, sizeof(why));
	if (err) {
		event_tracepoint_name(name, sizeof(name), event->name, t);
		return error_set(a->err, -err, EXIT_CODE_USAGE, "%s: %s", name, why);
	}
	for (unsigned i = 0; i < events->filter_cnt; i++)
		if (!memcmp(&events->filters[i], &new, sizeof(new)))
			return (int)i + 1;
	if (events->filter_cnt == FILTERS_MAX - 1)
		return error_set(
			a->err, E2BIG, EXIT_CODE_USAGE,
			"%s: a filter for more than %d different tracepoints: choose fewer",
			event->name, FILTERS_MAX - 1);
	if (bpf_map_update_elem(events->programs.filters_fd, &number, &new, BPF_ANY))
		return error_set(a->err, errno, EXIT_CODE_KERNEL,
				 "cannot hand the filter of %s to the BPF program: %s", event->name,
				 strerror(errno));
	events->filters[events->filter_cnt] = new;
	return (int)++events->filter_cnt;
}

static int add_place(void *ctx, const struct event_tracepoint *t)
{
	struct place_adder *a = ctx;
	const struct event_spec *event = &a->events->config.events[a->index];
	DECLARE_LIBBPF_OPTS(bpf_perf_event_opts, opts);
	cleanup_close int fd = open_place(event, t->id, a->cpu);
	int number = filter_number(a, event, t);
	struct bpf_link *link;

	if (number < 0)
		return number;
	opts.bpf_cookie = a->index | (__u64)number << 8;
	if (fd < 0)
		return explain_open(a->err, event, -fd);
	if (a->cnt++ == PLACES_MAX)
		return error_set(a->err, E2BIG, EXIT_CODE_USAGE,
				 "%s: more than %d tracepoints match; choose fewer", event->name,
				 PLACES_MAX);
	link = bpf_program__attach_perf_event_opts(a->events->programs.tracepoint, fd, &opts);
	return keep_place(a, link, link ? take_fd(&fd) : -1);
}

/* Each is an event of the kernel's PMU for them, in every process that maps the file, now or later. */
static int attach_code(const struct place_adder *a)
{
	const struct event_code *code = a->events->config.events[a->index].code;
	char path[32];
	int err = 0;

	for (unsigned i = 0; i < code->cnt && !err; i++) {
		DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = a->index,
				    .retprobe = code->on_return,
				    .ref_ctr_offset = code->list[i].counter_offset);
		cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);

		/* By descriptor: the name may lead elsewhere by now, or belong to another mount namespace. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", code->list[i].fd);
		err = keep_place(a,
				 bpf_program__attach_uprobe_opts(a->events->programs.code, -1, path,
								 code->list[i].offset, &opts),
				 -1);
	}
	return err;
}

static int attach_places(struct perf_events *events, unsigned index, int cpu, struct error *err)
{
	const struct event_spec *event = &events->config.events[index];
	struct place_adder adder = { .events = events, .index = index, .cpu = cpu, .err = err };
	int result;

	for (int i = 0; i < events->cnt; i++)
		if (events->list[i].index == index)
			return 0;
	if (event->code)
		return attach_code(&adder);
	*err = (struct error){ .text = "" };
	result = event_tracepoints(event->name, add_place, &adder);
	if (result < 0 && !*err->text)
		return error_set(err, -result, EXIT_CODE_KERNEL, "%s: %s", event->name,
				 strerror(-result));
	return result < 0 ? result : 0;
}

static bool has_event(const struct perf_events *events, unsigned index, unsigned grid, int cpu)
{
	for (int i = 0; i < events->cnt; i++) {
		const struct cpu_event *e = &events->list[i];

		if (e->cpu == cpu && e->index == index && e->grid == grid)
			return true;
	}
	return false;
}

__u64 perf_events__ticks(const struct perf_events *events, unsigned index, __u64 until_ns)
{
	__u64 ticks = events->gone_ticks[index];

	for (int i = 0; i < events->cnt; i++) {
		if (events->list[i].index == index)
			ticks += grid_ticks(&events->list[i].timer, until_ns);
	}
	return ticks;
}

/* The map would keep the counter. */
static void end_member(struct perf_events *events, const struct cpu_event *e)
{
	const __u32 key = member_key(e);
	__u64 read_ns[3]; /* MEMBER_FORMAT */

	if (read(e->fd, read_ns, sizeof(read_ns)) == sizeof(read_ns)) {
		events->wanted_ns[e->index] += read_ns[1];
		events->counted_ns[e->index] += read_ns[2];
	}
	bpf_map_delete_elem(events->programs.group_fd, &key);
	close(e->fd);
}

static void detach(struct perf_events *events, const struct cpu_event *e)
{
	bpf_link__destroy(e->link);
	if (events->config.events[e->index].is_read)
		end_member(events, e);
}

/* Events are not restored when a CPU comes back online. */
static void drop_gone(struct perf_events *events, const int *cpus, int cnt)
{
	for (int i = events->cnt - 1; i >= 0; i--) {
		if (cpus_have(cpus, cnt, events->list[i].cpu))
			continue;
		events->gone_ticks[events->list[i].index] +=
			grid_ticks(&events->list[i].timer, clock_monotonic_ns());
		detach(events, &events->list[i]);
		events->list[i] = events->list[--events->cnt];
	}
}

static int attach_on(struct perf_events *events, unsigned index, int cpu, struct error *err)
{
	const struct event_spec *event = &events->config.events[index];

	if (event_is_made(event))
		return 0;
	if (event_is_probe(event))
		return attach_places(events, index, cpu, err);
	for (unsigned grid = 0; grid < grids_of(event); grid++) {
		if (!has_event(events, index, grid, cpu) &&
		    attach_one(events, index, grid, cpu, err))
			return -1;
	}
	return 0;
}

static int attach_all(struct perf_events *events, const int *cpus, int cnt, struct error *err)
{
	for (int i = 0; i < cnt; i++) {
		for (unsigned k = 0; k < events->config.event_cnt; k++) {
			if (attach_on(events, k, cpus[i], err))
				return -1;
		}
	}
	return 0;
}

struct perf_events *perf_events__new(const struct sampler_config *config,
				     const struct perf_event_programs *programs, struct error *err)
{
	cleanup_free int *cpus = calloc(CPUS_MAX, sizeof(*cpus));
	struct perf_events *events = calloc(1, sizeof(*events));
	int cnt = cpus && events ? cpus_online(events->online, cpus, CPUS_MAX) : -ENOMEM;

	if (cnt <= 0) {
		error_set(err, cnt ? -cnt : ENOENT, EXIT_CODE_KERNEL,
			  "cannot tell which CPUs are online (" CPUS_ONLINE ")");
		free(events);
		return NULL;
	}
	events->config = *config;
	events->programs = *programs;
	events->random = clock_monotonic_ns() | 1;
	if (attach_all(events, cpus, cnt, err)) {
		perf_events__free(events);
		return NULL;
	}
	return events;
}

void perf_events__follow_cpus(struct perf_events *events)
{
	cleanup_free int *cpus = NULL;
	char online[CPU_LIST_MAX];
	struct error err;
	int cnt;

	if (cpus_read_online(online) || !strcmp(online, events->online))
		return;
	cpus = calloc(CPUS_MAX, sizeof(*cpus));
	cnt = cpus ? cpus_online(events->online, cpus, CPUS_MAX) : -ENOMEM;
	if (cnt <= 0)
		return;
	log_debug("perf_events", "CPUs online: %s", events->online);
	drop_gone(events, cpus, cnt);
	if (attach_all(events, cpus, cnt, &err))
		log_warn("perf_events",
			 "a CPU brought online during the recording is not sampled: %s", err.text);
	if (events->frequency)
		perf_events__set_rate(events, events->frequency);
}

/* xorshift64 (Marsaglia). */
static __u64 draw(struct perf_events *events)
{
	events->random ^= events->random << 13;
	events->random ^= events->random >> 7;
	events->random ^= events->random << 17;
	return events->random;
}

static bool has_rate(const struct perf_events *events, const struct cpu_event *e)
{
	const struct event_spec *event = &events->config.events[e->index];

	return event->frequency && event_is_clock(event);
}

/* The ticks due until now had the old period. */
static bool set_period(struct perf_events *events, struct cpu_event *e, __u64 now_ns,
		       __u64 period_ns)
{
	if (ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period_ns))
		return false;
	events->gone_ticks[e->index] += grid_ticks(&e->timer, now_ns);
	return true;
}

void perf_events__set_rate(struct perf_events *events, __u64 frequency)
{
	const __u64 now_ns = clock_monotonic_ns();

	events->frequency = frequency;
	for (int i = 0; i < events->cnt; i++) {
		struct cpu_event *e = &events->list[i];
		const __u64 ns = mean_period_ns(e, frequency);

		if (has_rate(events, e) && e->timer.mean_ns != ns &&
		    set_period(events, e, now_ns, ns))
			e->timer = (struct grid){ .mean_ns = ns,
						  .period_ns = ns,
						  .started_ns = now_ns };
	}
}

void perf_events__wander(struct perf_events *events)
{
	const unsigned range = events->config.jitter ? GRIDS_JITTER : GRIDS_WANDER;
	const __u64 now_ns = clock_monotonic_ns();

	for (int i = 0; i < events->cnt; i++) {
		struct cpu_event *e = &events->list[i];
		__u64 ns;

		if (!has_rate(events, e) || (e->grids == 1 && !events->config.jitter) ||
		    !grid_is_due(&e->timer, now_ns, range))
			continue;
		ns = grid_next_ns(&e->timer, now_ns, range, (__u32)draw(events));
		if (set_period(events, e, now_ns, ns))
			grid_change(&e->timer, now_ns, ns);
	}
}

/* The program reads counts as they are; perf would scale them. */
static void warn_of_shared_counters(const struct perf_events *events)
{
	for (unsigned i = 0; i < events->config.event_cnt; i++) {
		const double part = (double)events->counted_ns[i] / (double)events->wanted_ns[i];

		if (events->wanted_ns[i] && part < 0.99)
			log_warn(
				"perf_events",
				"%s had a counter for %.0f%% of the time only, and its numbers are as much too low: record fewer events at once",
				events->config.events[i].name, 100 * part);
	}
}

void perf_events__free(struct perf_events *events)
{
	if (!events)
		return;
	for (int i = 0; i < events->cnt; i++)
		detach(events, &events->list[i]);
	warn_of_shared_counters(events);
	free(events->list);
	free(events);
}

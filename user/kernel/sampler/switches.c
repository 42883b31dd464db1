/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/switches.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "krait.skel.h"
#include "kernel/sampler/kernel_btf.h"
#include "kernel/sampler/sampler.h"
#include "bpf/wait/switch.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/privileges.h"

struct switches {
	struct krait_bpf *skel;
	struct bpf_program *arrival;
	struct bpf_link *leaving, *arriving;
	bool at_breakpoint; /* the arrival */
	/* the arrival's function is called only while some event is bound to a thread */
	bool needs_event;
	int event_fd; /* that event; -1: none */
};

static const struct event_spec *wanted(const struct sampler_config *config, unsigned *ret_index)
{
	for (unsigned i = 0; i < config->event_cnt; i++) {
		*ret_index = i;
		if (event_is_off_cpu(&config->events[i]))
			return &config->events[i];
	}
	return NULL;
}

bool switches_wanted(const struct sampler_config *config)
{
	unsigned index;

	return wanted(config, &index);
}

/* Places where a program can run when a thread comes back, best first: bpf/switch.bpf.c. */
enum arrival {
	ARRIVAL_TRACEPOINT,
	ARRIVAL_CALL,
	ARRIVAL_FINISH,
	ARRIVAL_NONE,
};

static const struct {
	const char *type; /* a kernel type that exists only if the place does */
	__u32 kind;
	const char *function; /* the kernel function called there; NULL: it is a tracepoint */
} arrivals[ARRIVAL_NONE] = {
	[ARRIVAL_TRACEPOINT] = { "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF, NULL },
	[ARRIVAL_CALL] = { "__perf_event_task_sched_in", BTF_KIND_FUNC,
			   "__perf_event_task_sched_in" },
	[ARRIVAL_FINISH] = { "finish_task_switch", BTF_KIND_FUNC, "finish_task_switch" },
};

/*
 * ret_calls: whether functions of the kernel can call programs. Those of arm64 cannot before 6.4, which has had no direct
 * calls for ftrace: there breakpoints do (attach_arrival()), which need no type information.
 */
static enum arrival find_arrival(bool *ret_calls)
{
	struct btf *btf = btf__parse(KERNEL_BTF, NULL);
	enum arrival arrival = ARRIVAL_TRACEPOINT;

	*ret_calls = btf &&
		     btf__find_by_name_kind(btf, "register_ftrace_direct", BTF_KIND_FUNC) > 0;
	while (btf && arrival < ARRIVAL_NONE &&
	       btf__find_by_name_kind(btf, arrivals[arrival].type, arrivals[arrival].kind) <= 0)
		arrival++;
	if (btf && !*ret_calls && arrival != ARRIVAL_TRACEPOINT)
		arrival = ARRIVAL_CALL;
	btf__free(btf);
	return btf ? arrival : ARRIVAL_NONE;
}

static int configure(struct switches *s, const struct sampler_config *config, bool has_loop,
		     enum arrival arrival, bool calls)
{
	const char *function = arrivals[arrival].function;
	struct krait_bpf *skel = s->skel;
	const struct event_spec *event;
	unsigned index = 0;

	event = wanted(config, &index);
	s->needs_event = arrival == ARRIVAL_CALL;
	s->arrival = !function ? skel->progs.arrival_loop :
		     has_loop  ? skel->progs.arrival_call_loop :
				 skel->progs.arrival_call_bounded;
	if (function && calls) {
		/* Its section says that it is a kprobe. */
		if (bpf_program__set_type(s->arrival, BPF_PROG_TYPE_TRACING) ||
		    bpf_program__set_expected_attach_type(s->arrival, BPF_TRACE_FENTRY) ||
		    bpf_program__set_attach_target(s->arrival, 0, function))
			return -1;
	} else if (function) {
		s->at_breakpoint = true;
		/* None of the kernel's frames belong to the program. */
		skel->rodata->arrival_skip = 0;
	}
	skel->rodata->switch_event = index;
	skel->data->switch_shortest = switch_threshold_shift(event->period);
	if (bpf_program__set_autoload(skel->progs.switch_threads, true) ||
	    bpf_program__set_autoload(s->arrival, true))
		return -1;
	return bpf_map__set_max_entries(skel->maps.waits, KRAIT_MAX_WAITS);
}

struct switches *switches__new(struct krait_bpf *skel, const struct sampler_config *config,
			       bool has_loop, struct error *err)
{
	struct switches *s = calloc(1, sizeof(*s));
	bool calls;
	enum arrival arrival = find_arrival(&calls);

	if (arrival == ARRIVAL_NONE) {
		error_set(
			err, ENOTSUP, EXIT_CODE_KERNEL,
			"this kernel has no place where a program can run as a thread comes back "
			"to a CPU, which --off-cpu needs: the tracepoint sched_exit_tp (6.14+), or "
			"the function __perf_event_task_sched_in (Debian's 6.1) or "
			"finish_task_switch (Debian's 5.10) with type information");
		free(s);
		return NULL;
	}
	if (!s) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	s->skel = skel;
	s->event_fd = -1;
	if (!configure(s, config, has_loop, arrival, calls))
		return s;
	error_set(err, errno, EXIT_CODE_KERNEL, "cannot prepare BPF programs: %s", strerror(errno));
	switches__free(s);
	return NULL;
}

void switches__free(struct switches *s)
{
	if (!s)
		return;
	switches__stop(s);
	free(s);
}

/* Counts nothing, but while it exists the kernel looks for events of threads at every switch. */
static int open_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};
	/* Debian's kernels demand it (base/system/privileges.c). */
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct bpf_link *attach_arrival(struct switches *s)
{
	/* Likewise for a breakpoint. */
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);
	struct bpf_link *link = NULL;

	if (!s->at_breakpoint)
		return bpf_program__type(s->arrival) == BPF_PROG_TYPE_TRACING ?
			       bpf_program__attach_trace(s->arrival) :
			       bpf_program__attach(s->arrival);
	/* 5.10 does not take the first: none of perf's own code. */
	for (enum arrival a = ARRIVAL_CALL; !link && a < ARRIVAL_NONE; a++) {
		link = bpf_program__attach_kprobe(s->arrival, false, arrivals[a].function);
		s->needs_event = a == ARRIVAL_CALL;
	}
	return link;
}

int switches__cost(const struct switches *s, struct switches_cost *ret)
{
	const struct bpf_map *map = s->skel->maps.switch_cpus;
	size_t size = (bpf_map__value_size(map) + 7) / 8 * 8;
	int cpus = libbpf_num_possible_cpus();
	cleanup_free char *values = cpus > 0 ? calloc((size_t)cpus, size) : NULL;
	const __u32 zero = 0;

	*ret = (struct switches_cost){ 0 };
	if (!values || bpf_map_lookup_elem(bpf_map__fd(map), &zero, values))
		return values ? -errno : -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		const struct switch_budget *b = (void *)(values + (size_t)cpu * size);

		ret->switches_ns += b->switches_ns;
		ret->stacks_ns += b->stacks_ns;
		if (b->over_switches_ns > ret->over_switches_ns) {
			ret->over_ns = b->over_ns;
			ret->over_switches_ns = b->over_switches_ns;
		}
	}
	return 0;
}

int switches__start(struct switches *s, struct error *err)
{
	s->arriving = attach_arrival(s);
	if (s->arriving && s->needs_event)
		s->event_fd = open_event();
	if (s->arriving && (!s->needs_event || s->event_fd >= 0))
		s->leaving = bpf_program__attach(s->skel->progs.switch_threads);
	if (!s->leaving)
		return error_set(err, errno, EXIT_CODE_KERNEL,
				 "cannot follow the scheduler's switches: %s", strerror(errno));
	s->skel->data->switch_from_ns = clock_monotonic_ns();
	return 0;
}

void switches__stop(struct switches *s)
{
	bpf_link__destroy(s->leaving);
	bpf_link__destroy(s->arriving);
	s->leaving = s->arriving = NULL;
	/*
	 * A program already running on another CPU goes on after its link is gone
	 * (bpf_raw_tp_link_release() of kernel/bpf/syscall.c does not wait), and would count an
	 * interrupt whose record comes too late. This waits for it: synchronize_rcu() in
	 * kernel/sched/membarrier.c, Linux 4.16.
	 */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	if (s->event_fd >= 0)
		close(take_fd(&s->event_fd));
}

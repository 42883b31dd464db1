/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/perf_events.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "sampler/sampler.h"
#include "util/cleanup.h"
#include "util/error.h"

/* More than any machine that Linux runs on (NR_CPUS is at most 8192). */
#define MAX_CPUS 8192

struct perf_events {
	int link_cnt;
	struct bpf_link *links[];
};

int cpu_list_parse(const char *text, int *ret_cpus, int max)
{
	int cnt = 0;

	while (*text && *text != '\n') {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (end == text || first < 0)
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtol(text, &end, 10);
			if (end == text || last < first)
				return -EINVAL;
		}
		if (last > INT_MAX)
			return -EINVAL;
		for (long cpu = first; cpu <= last; cpu++) {
			if (cnt == max)
				return -EINVAL;
			ret_cpus[cnt++] = cpu;
		}
		if (*end == ',')
			end++;
		else if (*end && *end != '\n')
			return -EINVAL;
		text = end;
	}
	return cnt;
}

static int online_cpus(int *ret_cpus, int max)
{
	cleanup_fclose FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	cleanup_free char *line = NULL;
	size_t size = 0;

	if (!f || getline(&line, &size, f) < 0)
		return -ENOENT;
	return cpu_list_parse(line, ret_cpus, max);
}

/* 0 or the limit in the sysctl; for the message only. */
static long max_sample_rate(void)
{
	cleanup_fclose FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	long rate = 0;

	if (!f || fscanf(f, "%ld", &rate) != 1)
		return 0;
	return rate;
}

static int explain_open(struct error *err, const struct sampler_config *config, int errnum)
{
	long limit = max_sample_rate();

	switch (errnum) {
	case EPERM:
	case EACCES:
		return error_set(err, errnum, EXIT_CODE_PERMISSION,
				 "perf_event_open: %s: sampling all CPUs needs root or "
				 "CAP_PERFMON (try: sudo krait ...)",
				 strerror(errnum));
	case EINVAL:
		if (config->frequency && limit && config->frequency > (__u64)limit)
			return error_set(err, errnum, EXIT_CODE_USAGE,
					 "%llu Hz is above this kernel's limit of %ld (raise it "
					 "with: sysctl kernel.perf_event_max_sample_rate=%llu)",
					 config->frequency, limit, config->frequency);
		break;
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return error_set(err, errnum, EXIT_CODE_KERNEL,
				 "this machine has no event %s (%s); cpu-clock always works",
				 config->event_name, strerror(errnum));
	case EMFILE:
		return error_set(err, errnum, EXIT_CODE_PERMISSION,
				 "too few file descriptors for one per CPU (raise: ulimit -n)");
	}
	return error_set(err, errnum, EXIT_CODE_KERNEL, "perf_event_open for %s: %s",
			 config->event_name, strerror(errnum));
}

static int open_one(const struct sampler_config *config, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = config->event_type,
		.config = config->event_config,
	};
	int fd;

	if (config->frequency) {
		attr.freq = 1;
		attr.sample_freq = config->frequency;
	} else {
		attr.sample_period = config->period;
	}
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int attach_one(struct perf_events *events, const struct sampler_config *config,
		      const struct bpf_program *program, int cpu, struct error *err)
{
	cleanup_close int fd = open_one(config, cpu);
	struct bpf_link *link;

	if (fd == -ENODEV && config->event_type == PERF_TYPE_SOFTWARE)
		return 0; /* the CPU went offline meanwhile */
	if (fd < 0)
		return explain_open(err, config, -fd);
	link = bpf_program__attach_perf_event(program, fd);
	if (!link)
		return error_set(err, errno, EXIT_CODE_KERNEL,
				 "cannot attach the BPF program to %s on CPU %d: %s",
				 config->event_name, cpu, strerror(errno));
	take_fd(&fd); /* the link closes it */
	events->links[events->link_cnt++] = link;
	return 0;
}

struct perf_events *perf_events__new(const struct sampler_config *config,
				     const struct bpf_program *program, struct error *err)
{
	cleanup_free int *cpus = calloc(MAX_CPUS, sizeof(*cpus));
	struct perf_events *events;
	int cnt = cpus ? online_cpus(cpus, MAX_CPUS) : -ENOMEM;

	if (cnt <= 0) {
		error_set(err, cnt ? -cnt : ENOENT, EXIT_CODE_KERNEL,
			  "cannot tell which CPUs are online (/sys/devices/system/cpu/online)");
		return NULL;
	}
	events = calloc(1, sizeof(*events) + cnt * sizeof(events->links[0]));
	if (!events) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	for (int i = 0; i < cnt; i++) {
		if (attach_one(events, config, program, cpus[i], err)) {
			perf_events__free(events);
			return NULL;
		}
	}
	return events;
}

void perf_events__free(struct perf_events *events)
{
	if (!events)
		return;
	for (int i = 0; i < events->link_cnt; i++)
		bpf_link__destroy(events->links[i]);
	free(events);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/totals.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "bpf/abi.h"
#include "kernel/sampler/sampler.h"
#include "base/data/cleanup.h"

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

int totals_counter(int fd, __u32 counter, __u64 *ret)
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

int totals_ticks(int fd, __u32 event, struct sampler_ticks *ret)
{
	int cpus;
	cleanup_free struct event_counts *values = read_all(fd, event, sizeof(*values), &cpus);

	if (!values)
		return -errno;
	for (int cpu = 0; cpu < cpus; cpu++)
		ret->missed += values[cpu].missed;
	return 0;
}

int totals_events(int fd, __u32 event, struct event_counts *ret)
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

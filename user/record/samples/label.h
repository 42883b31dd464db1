/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * label.h - names a process's frame: its command, and what distinguishes it from other processes
 * with that command, above all its script; otherwise every process would be "python3".
 */
#ifndef KRAIT_RECORD_SAMPLES_LABEL_H
#define KRAIT_RECORD_SAMPLES_LABEL_H

#include <stddef.h>

enum label_part {
	LABEL_PID = 1 << 0, /* of the host */
	LABEL_NSPID = 1 << 1, /* as the process sees it */
	LABEL_USER = 1 << 2,
	LABEL_SCRIPT = 1 << 3,
	LABEL_CONTAINER = 1 << 4, /* runtime and the first 12 characters of the id */
	LABEL_CGROUP = 1 << 5,
	LABEL_COMMAND = 1 << 6, /* nothing beyond the command itself */
};

struct container;
struct context;

/* The name of each part; NULL: there are no more. */
const char *label_part_name(unsigned i);
/* The part with that name; 0: none. */
unsigned label_part(const char *name, size_t len) __attribute__((nonnull));

/* "python3 [pid 12, docker 0123456789ab]"; text that the process chose is made printable. */
void process_label(char *buf, size_t size, unsigned parts, const char *comm, int pid,
		   const struct context *context) __attribute__((nonnull));

/* "docker 0123456789ab" */
void container_label(char *buf, size_t size, const struct container *c) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_LABEL_H */

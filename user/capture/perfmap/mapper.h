/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapper.h - has a worker make a process's /tmp/perf-PID.map with that process's rights. Once a
 * recording has begun, this worker is the only krait process that can change its ids.
 *
 * The worker makes each file in a child, which becomes the process's user for good before it looks
 * at that /tmp. A child that hangs is abandoned; the next file has another child.
 *
 * Must hold: we make nothing that the process could not have made itself. Whatever its /tmp is,
 * nobody waits longer than MAPPER_MS, and for one user no longer than twice that in all.
 */
#ifndef KRAIT_CAPTURE_PERFMAP_MAPPER_H
#define KRAIT_CAPTURE_PERFMAP_MAPPER_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

#define MAPPER_MS 2000

struct error;
struct mapper;

/* Call before krait gives up its rights. Returns NULL with *err filled on failure. */
struct mapper *mapper__new(struct error *err);
void mapper__free(struct mapper *m);

/*
 * Makes a file for the process that began then (clock ticks since boot; 0: it has ended), open for
 * writing, and stores its path for messages (as the process sees it).
 * Returns a descriptor, or an error of perf_map_file_open(); -ETIMEDOUT: its /tmp does not answer.
 */
int mapper__open(struct mapper *m, pid_t pid, __u64 start_ticks, const char *first_line,
		 char *ret_path, size_t size) __attribute__((warn_unused_result));

/* The worker's side: the role "mapper". */
int mapper_serve(int channel_fd);

#endif /* KRAIT_CAPTURE_PERFMAP_MAPPER_H */

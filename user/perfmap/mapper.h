/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapper.h - has /tmp/perf-PID.map of a process made with the process's own rights, by a worker: it
 * alone of krait's processes can take on other ids once a recording has begun.
 *
 * The worker makes each file in a child of its own, which becomes the process's user for good before
 * it looks at that /tmp. One that does not come back is given up, and the next has another child.
 *
 * Must hold: nothing is made that the process could not have made itself; what it has as /tmp can keep
 * nobody waiting for longer than MAPPER_MS.
 */
#ifndef KRAIT_PERFMAP_MAPPER_H
#define KRAIT_PERFMAP_MAPPER_H

#include <stddef.h>
#include <sys/types.h>

#define MAPPER_MS 2000

struct error;
struct mapper;

/* Before krait gives up its rights. NULL with *err filled. */
struct mapper *mapper__new(struct error *err);
void mapper__free(struct mapper *m);

/*
 * A new file, open for writing, and its path for messages (as the process sees it). A descriptor, or as
 * perf_map_file_open(); -ETIMEDOUT: its /tmp does not answer.
 */
int mapper__open(struct mapper *m, pid_t pid, const char *first_line, char *ret_path, size_t size)
	__attribute__((warn_unused_result));

/* The worker's side: role "mapper". */
int mapper_serve(int channel_fd);

#endif /* KRAIT_PERFMAP_MAPPER_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cgroup.h - finds out from /proc/PID/cgroup which control group, and which container, a process is
 * in.
 *
 * A container's id is part of its group's name, in a form that depends on the runtime: Docker,
 * containerd, CRI-O, Podman, Kubernetes, LXC. Groups with other names are not containers.
 *
 * Must hold: the names are chosen by anyone who may create groups: any bytes but '/' and a newline.
 * Nothing is written beyond its buffer, and an id contains only letters, digits, '_', '.' and '-'.
 */
#ifndef KRAIT_PROCESS_PROC_CGROUP_H
#define KRAIT_PROCESS_PROC_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_ID_MAX 65

struct container {
	const char *runtime; /* "docker", "containerd", "cri-o", "podman", "lxc", or "container" */
	char id[CONTAINER_ID_MAX]; /* "": not in a container */
};

/*
 * The most specific group in the content of such a file: that of version 2, unless it is the root
 * and a hierarchy of version 1 has a longer path. Truncated to fit.
 */
void cgroup_path(const char *text, char *ret, size_t size) __attribute__((nonnull));

/*
 * Is the process in the group path or below it, in any hierarchy? The path is as in such a file;
 * the first slash may be missing.
 */
bool cgroup_is_below(const char *text, const char *path) __attribute__((nonnull));

/*
 * Resolves a group as a user names it: as in such a file, without the first slash, or by its
 * folder. Returns the part that cgroup_is_below() takes, or NULL if no hierarchy in mounts has that
 * group. mounts: a file like /proc/self/mounts; if it lists no hierarchies, every group exists.
 */
const char *cgroup_find(const char *name, const char *mounts) __attribute__((nonnull));

/*
 * The systemd unit that the path is in, "nginx.service", unless it is a user's own manager; and the
 * uid of the Kubernetes pod, with dashes. "" if there is none.
 */
void unit_of_cgroup(const char *path, char *ret, size_t size) __attribute__((nonnull));
void pod_of_cgroup(const char *path, char *ret, size_t size) __attribute__((nonnull));

/* The innermost container that the path names. */
void container_of_cgroup(const char *path, struct container *ret) __attribute__((nonnull));

/*
 * How many bytes of memory the groups in such a file may use: the least that one of them or of those
 * above it allows, and which one that is. mount: /sys/fs/cgroup. 0: no limit, or none that can be
 * read.
 */
unsigned long long cgroup_memory_limit(const char *text, const char *mount, char *ret, size_t size)
	__attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROC_CGROUP_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cgroup.h - which control group, and which container, a process is in, by /proc/PID/cgroup.
 *
 * A container's id is part of its group's name, in the way of the runtime that made it: Docker,
 * containerd, CRI-O, Podman, Kubernetes, LXC. Other names are no containers.
 *
 * Must hold: the names are chosen by whoever may make groups: any bytes but '/' and a newline.
 * Nothing is written beyond its buffer, and an id has only letters, digits, '_', '.' and '-'.
 */
#ifndef KRAIT_TARGET_CGROUP_H
#define KRAIT_TARGET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_ID_MAX 65

struct container {
	const char *runtime; /* "docker", "containerd", "cri-o", "podman", "lxc", or "container" */
	char id[CONTAINER_ID_MAX]; /* "": in none */
};

/*
 * The group that says most, of the content of such a file: that of version 2, unless it is the root
 * and a hierarchy of version 1 has a longer path. Cut to fit.
 */
void cgroup_path(const char *text, char *ret, size_t size) __attribute__((nonnull));

/*
 * Is the process in the group path or below, in any hierarchy? The path is as in such a file, the first
 * slash may be missing.
 */
bool cgroup_is_below(const char *text, const char *path) __attribute__((nonnull));

/*
 * What a user calls a group: as in such a file, without the first slash, or its folder. The part that
 * cgroup_is_below() takes, or NULL where no hierarchy that mounts names has that group. mounts: a file
 * like /proc/self/mounts; one without hierarchies has every group.
 */
const char *cgroup_find(const char *name, const char *mounts) __attribute__((nonnull));

/*
 * The unit of systemd that the path is in, "nginx.service", but for a user's own manager; and the uid of the pod of
 * Kubernetes, with dashes. "" where there is none.
 */
void unit_of_cgroup(const char *path, char *ret, size_t size) __attribute__((nonnull));
void pod_of_cgroup(const char *path, char *ret, size_t size) __attribute__((nonnull));

/* The innermost container that the path names. */
void container_of_cgroup(const char *path, struct container *ret) __attribute__((nonnull));

#endif /* KRAIT_TARGET_CGROUP_H */

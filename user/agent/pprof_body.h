/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof_body.h - counts of a period of time as one pprof body: gzip'ed profile.proto.
 */
#ifndef KRAIT_AGENT_PPROF_BODY_H
#define KRAIT_AGENT_PPROF_BODY_H

#include <linux/types.h>
#include <stddef.h>

struct profile;
struct resources;

struct pprof_body {
	char *data; /* malloc'ed */
	size_t len;
};

/* A profile that shares *p's dictionary, with its events and nothing counted. NULL: out of memory. */
struct profile *pprof_profile_new(const struct profile *p);
/* resources: who its processes are. Returns 0 or -errno. */
int pprof_body_make(struct pprof_body *ret, const struct profile *p, struct resources *resources,
		    __u64 from_ns, __u64 to_ns, __s64 wall_offset_ns)
	__attribute__((warn_unused_result));

#endif /* KRAIT_AGENT_PPROF_BODY_H */

/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/pprof_body.h"

#include "agent/resources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/emitter.h"
#include "output/formats.h"
#include "base/system/clock.h"

struct profile *pprof_profile_new(const struct profile *p)
{
	struct profile *new = profile__new_beside(p);

	for (unsigned i = 0; new &&i < p->event_cnt; i++) {
		if (profile__set_event(new, i, &profile__counts(p, i)->event)) {
			profile__free(new);
			return NULL;
		}
	}
	return new;
}

static int emit(FILE *out, const struct profile *p, const struct emit_options *options)
{
	struct emitter *e;
	int err = pprof_emitter.open(&e, out, options);

	if (err)
		return err;
	err = pprof_emitter.finish(e, p, 0);
	pprof_emitter.free(e);
	return err;
}

static bool whose(void *ctx, int pid, __u32 *ret_uid, bool *ret_claimed)
{
	return resources__whose(ctx, pid, ret_uid, ret_claimed);
}

int pprof_body_make(struct pprof_body *ret, const struct profile *p, struct resources *resources,
		    __u64 from_ns, __u64 to_ns, __s64 wall_offset_ns)
{
	const struct emit_options options = {
		.title = "krait",
		.recording = {
			.command_line = "krait agent",
			.began_ns = from_ns,
			.began_wall_ns = (__s64)from_ns + wall_offset_ns,
			.seconds = (double)(to_ns - from_ns) / NS_PER_SEC,
			.frequency = profile__counts(p, 0)->event.frequency,
		},
		.whose = whose,
		.whose_ctx = resources,
	};
	struct pprof_body body = { 0 };
	FILE *out = open_memstream(&body.data, &body.len);
	int err;

	if (!out)
		return -ENOMEM;
	err = emit(out, p, &options);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (err)
		free(body.data);
	else
		*ret = body;
	return err;
}

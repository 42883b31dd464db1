/* SPDX-License-Identifier: BSD-2-Clause */
#include "perfdata/write_waits.h"

#include "profile/states.h"

int write_waits_end(struct write_waits *ww, struct perf_writer *w)
{
	if (!ww->open)
		return 0;
	ww->open = false;
	return perf_writer__switch(w, &ww->in, false, false);
}

/* Is it the second part of the wait whose first part was written last? */
static bool is_continued(const struct write_waits *ww, const struct profile_sample *s)
{
	return ww->open && s->from_ns && s->tid == ww->in.tid && s->pid == ww->in.pid &&
	       s->from_ns == ww->in.time_ns;
}

int write_waits_before(struct write_waits *ww, struct perf_writer *w,
		       const struct profile_sample *s)
{
	struct perf_stamp out = { s->pid, s->tid, s->cpu, s->from_ns, 0, 0 };
	int err = 0;

	if (!is_continued(ww, s)) {
		err = write_waits_end(ww, w);
		if (!err && s->from_ns)
			err = perf_writer__switch(w, &out, true,
						  state_of(s->state) == STATE_RUNNABLE);
	}
	ww->in = out;
	ww->in.time_ns = s->time_ns;
	ww->open = s->from_ns != 0;
	return err;
}

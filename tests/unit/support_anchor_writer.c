/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_anchor_writer.h"

#include <string.h>

/* As far as user space can tell: by the thread state's own fields. */
static bool is_identical(const struct writer *w, const struct model *m)
{
	return model_word(m, w->state_addr + (__u64)m->offsets.thread.thread_id) == w->thread_id &&
	       model_word(m, w->state_addr + (__u64)m->offsets.thread.interp) == w->interp_addr;
}

/* As only the model can tell. */
static bool is_alive(const struct writer *w, const struct model *m)
{
	for (int i = 0; i < MODEL_THREADS; i++) {
		for (int j = 0; j < MODEL_STATES; j++) {
			if (m->threads[i].states[j].addr == w->state_addr)
				return is_identical(w, m);
		}
	}
	return false;
}

static void end(struct writer *w)
{
	w->pending = false;
	w->stage = 0;
}

static void check_identity(struct writer *w, const struct model *m)
{
	w->found_seq =
		model_word(m, w->state_addr + (__u64)m->offsets.thread.last_profiled_frame_seq);
	if (w->mutant == WRITER_NO_IDENTITY || (is_identical(w, m) && is_alive(w, m)))
		return;
	w->stale++;
	end(w);
}

static void write_lpf(struct writer *w, struct model *m)
{
	bool strays = !is_alive(w, m);

	if (strays && w->mutant != WRITER_NO_IDENTITY) {
		w->stale++; /* the case excluded above */
		end(w);
		return;
	}
	w->strays += strays;
	w->writes++;
	/* Some writes get lost, with or without an error. */
	switch (model_below(&m->rng, 40)) {
	case 0:
		end(w);
		return;
	case 1:
		return;
	default:
		model_put(m, w->state_addr + (__u64)m->offsets.thread.last_profiled_frame,
			  w->addrs[0]);
	}
}

static void set_epoch(struct writer *w, __u64 epoch)
{
	w->anchor->epoch = epoch;
}

void writer_step(struct writer *w, struct model *m)
{
	__u32 half = w->addr_cnt / 2;

	switch (w->stage++) {
	case 0:
		if (w->mutant == WRITER_EPOCH_FIRST)
			set_epoch(w, ++w->epoch);
		else if (w->mutant != WRITER_NO_ZERO)
			set_epoch(w, 0);
		break;
	case 1:
		check_identity(w, m);
		break;
	case 2:
		w->anchor->tstate_addr = w->state_addr;
		break;
	case 3:
		w->anchor->seq = w->found_seq;
		break;
	case 4:
		w->anchor->addr_cnt = w->addr_cnt;
		break;
	case 5:
		memcpy(w->anchor->addrs, w->addrs, half * sizeof(*w->addrs));
		break;
	case 6:
		memcpy(w->anchor->addrs + half, w->addrs + half,
		       (w->addr_cnt - half) * sizeof(*w->addrs));
		break;
	case 7:
		write_lpf(w, m);
		break;
	default:
		if (w->mutant != WRITER_EPOCH_FIRST)
			set_epoch(w, ++w->epoch);
		end(w);
	}
}

void writer_forget(struct writer *w)
{
	end(w);
	w->anchor->epoch = 0;
}

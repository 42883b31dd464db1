/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c - perf.data: samples as they come, with the DSOs beside the file.
 *
 * A Python frame is an address in a DSO of the recording (capture/dso/dso.h), so a stack is an ordinary
 * call chain. What readers must know about its process comes first (announce.c).
 *
 * Every second the file is flushed, the DSOs first: if krait is killed it leaves a capture in which
 * every sample has its names.
 */
#include "capture/perfdata/output.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso_files.h"
#include "capture/dso/kernel_names.h"
#include "capture/perfdata/announce.h"
#include "capture/perfdata/format.h"
#include "capture/perfdata/kernel_maps.h"
#include "capture/perfdata/perf_writer.h"
#include "capture/perfdata/write_chain.h"
#include "capture/perfmap/perf_map.h"
#include "profile/identities.h"
#include "profile/profile.h"
#include "profile/sources.h"
#include "profile/states.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/text/log.h"

/* ---- write waits ------------------------------------------------------------------------------- */

/*
 * Writes the two switches around each sample of a wait, as perf does with
 * --switch-events: out when it began, in when it ended.
 *
 * Only sampled waits get switches, not all. A wait may have two samples (what it waited for, and
 * waiting for a free CPU) but is one pair of switches. Whether a second sample follows is known
 * only when the next sample comes, so the switch in is written then, or at the end.
 *
 * Must hold: between a switch out and the switch in of its thread no other record of that thread is
 * written than the samples of that wait.
 */

/* All zero: nothing pending. */
struct write_waits {
	struct perf_stamp in; /* the switch still to be written */
	bool open;
};

/* Call after the last sample. */
static int write_waits_end(struct write_waits *ww, struct perf_writer *w)
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

/* Call before each sample is written. Returns 0 or -errno. */
static int write_waits_before(struct write_waits *ww, struct perf_writer *w,
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

/* ---- output ------------------------------------------------------------------------------------ */

/* Frames of a stack that perf report and perf script show by default. */
#define PERF_MAX_STACK 127
/* If krait is killed this much is lost. With endless new code, 4 % of the time goes into the DSO. */
#define FLUSH_NS NS_PER_SEC
/* If krait is killed this much of the kernel's names is lost. */
#define NAMES_NS (10 * NS_PER_SEC)

struct perf_data {
	struct emitter base;
	struct perf_writer *writer; /* NULL until it is known what will be counted */
	struct event_spec *events; /* as passed to the writer */
	unsigned event_cnt;
	struct chain chain;
	struct write_waits waits;
	__u32 stored_names; /* how many of the names that the chain met are on disk */
	__u64 names_ns; /* when they were last stored just for their own sake */
	struct kernel_maps kernel;
	const struct emit_place *place; /* NULL: the file already has its name */
	bool placed, published;
	bool readable; /* the file on disk has samples, together with their names */
	struct dso_files *files;
	struct dso *dso; /* part of files */
	struct announcer announcer;
	bool kernel_written; /* the location of the kernel's code */
	__u64 flushed_ns; /* 0: never */
	bool unflushed; /* something is not on disk yet */
};

static struct perf_data *perf_data_of(struct emitter *e)
{
	return (struct perf_data *)e;
}

static void perf_data_free(struct emitter *base)
{
	struct perf_data *e = perf_data_of(base);

	if (!e)
		return;
	announcer_free(&e->announcer);
	perf_writer__free(e->writer);
	dso_files__free(e->files);
	free(e->events);
	kernel_maps_free(&e->kernel);
	chain_free(&e->chain);
	free(e);
}

/* At open, if it is known what will be recorded; otherwise from the profile. */
static int list_events(struct perf_data *e, const struct profile *p)
{
	const struct recording *r = &e->base.options->recording;

	e->event_cnt = p ? p->event_cnt : r->event_cnt;
	e->events = calloc(e->event_cnt, sizeof(*e->events));
	if (!e->events)
		return -ENOMEM;
	for (unsigned i = 0; i < e->event_cnt; i++) {
		struct event_spec *event = &e->events[i];

		*event = p ? profile__counts(p, i)->event : r->events[i];
		if (!event->frequency && !event->period)
			event->frequency = r->frequency ? r->frequency : 1;
	}
	return 0;
}

static int start_writer(struct perf_data *e, const struct profile *p)
{
	struct perf_writer_config config = { .recording = &e->base.options->recording,
					     .compression = e->base.options->compression };
	int err = list_events(e, p);

	config.events = e->events;
	config.event_cnt = e->event_cnt;
	if (!err)
		err = perf_writer__new(&e->writer, e->base.out, &config);
	return err ? err : perf_writer__flush(e->writer);
}

static int perf_data_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct perf_data *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->base = (struct emitter){ .out = out, .options = options };
	err = dso_files__new(&e->files);
	if (!err && options->unattended)
		dso_files__leave_cache(e->files);
	if (!err)
		e->dso = dso_files__dso(e->files);
	/* If the recording is killed at once, it leaves a readable file. */
	if (!err && options->recording.event_cnt)
		err = start_writer(e, NULL);
	if (err)
		perf_data_free(&e->base);
	else
		*ret = &e->base;
	return err;
}

static int perf_data_place(struct emitter *base, const struct emit_place *place)
{
	struct perf_data *e = perf_data_of(base);
	int err = dso_files__place(e->files, fileno(e->base.out), place ? place->name : NULL);

	e->place = place;
	e->placed = !err;
	return err;
}

/* ---- samples ---------------------------------------------------------------------------------- */

/*
 * Writes where the kernel's code is, before the first sample in it: finding out takes a tenth of a
 * second, which the start of a recording cannot afford.
 */
static int write_kernel(struct perf_data *e)
{
	if (!e->chain.has_kernel || e->kernel_written)
		return 0;
	e->kernel_written = true;
	return kernel_maps_write(&e->kernel, e->base.options, e->writer);
}

typedef int (*store_fn)(struct dso_files *f, const struct dict *dict, const char *notes);

static int store(struct perf_data *e, const struct profile *p, store_fn fn);

/* Publishes its libraries first: anyone who sees the file has the names. */
static int publish(struct perf_data *e)
{
	int err;

	if (!e->place || e->published)
		return 0;
	err = dso_files__publish(e->files, e->place->kept_name);
	if (!err)
		err = e->place->publish(e->place->ctx);
	e->published = !err;
	return err;
}

/* New names keep coming for hours, and a store writes everything in the newest DSO. */
static bool names_are_behind(struct perf_data *e, const struct dict *dict, __u64 now_ns)
{
	if (e->stored_names == chain_name_cnt(&e->chain, dict) ||
	    (e->names_ns && now_ns < e->names_ns + NAMES_NS))
		return false;
	e->names_ns = now_ns;
	return true;
}

static int rename_threads(struct perf_data *e, const struct profile *p)
{
	const struct announcer_output to = { e->writer, e->files };

	return announcer_rename(&e->announcer, &to, p->dict);
}

static int keep_up(struct perf_data *e, const struct profile *p, __u64 now_ns)
{
	int err = 0;

	e->flushed_ns = now_ns;
	if (names_are_behind(e, p->dict, now_ns))
		dso_files__outdate(e->files);
	if (dso_files__is_behind(e->files))
		err = store(e, p, dso_files__store);
	if (!err)
		err = rename_threads(e, p);
	if (!err)
		err = perf_writer__flush(e->writer);
	e->unflushed = e->stored_names != chain_name_cnt(&e->chain, p->dict);
	e->readable = e->readable || !err;
	return err || !e->place || !e->place->early ? err : publish(e);
}

static int perf_data_sample(struct emitter *base, const struct profile *p,
			    const struct profile_sample *s)
{
	struct perf_data *e = perf_data_of(base);
	const struct perf_stamp stamp = { s->pid,     s->tid,	s->cpu,
					  s->time_ns, s->state, (__u32)s->holder };
	/* What must be said about the thread comes before its wait. */
	const struct perf_stamp first = { s->pid, s->tid,
					  s->cpu, s->from_ns ? s->from_ns : s->time_ns,
					  0,	  0 };
	const struct chain *chain = &e->chain;
	struct announcer_output to;
	int err = e->placed ? 0 : perf_data_place(base, NULL);

	if (!err && !e->writer)
		err = start_writer(e, p);

	if (!err)
		err = chain_build(&e->chain, p->dict, e->dso, s->space, s->node);
	if (!err)
		err = write_kernel(e);
	if (err)
		return err;
	to = (struct announcer_output){ e->writer, e->files };
	err = announcer_sample(&e->announcer, &to, p->dict, s, &first, chain);
	if (!err)
		err = write_waits_before(&e->waits, e->writer, s);
	if (!err)
		err = perf_writer__sample(e->writer, &stamp, s->event < e->event_cnt ? s->event : 0,
					  s->period, chain->list[1], chain->list, chain->cnt);
	e->unflushed = true;
	/* The first one at once: a header without any would say that nothing was flushed. */
	return err || e->flushed_ns ? err : keep_up(e, p, s->time_ns);
}

static int perf_data_flush(struct emitter *base, const struct profile *p, __u64 now_ns)
{
	struct perf_data *e = perf_data_of(base);

	__u64 flush_ns = base->options->flush_ns ? base->options->flush_ns : FLUSH_NS;

	if (!e->unflushed || now_ns < e->flushed_ns || now_ns - e->flushed_ns < flush_ns)
		return 0;
	return keep_up(e, p, now_ns);
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* The first event's names have no prefix. */
static void put_notes(FILE *out, unsigned event, const struct accounts *a)
{
	char prefix[32] = "";

	if (event)
		snprintf(prefix, sizeof(prefix), "event%u.", event);
	fprintf(out, "%sinterrupts %llu\n", prefix, a->interrupts);
	for_each_reason(r)
		fprintf(out, "%s%s.%s %llu\n", prefix, outcome_name(reason_outcome(r)),
			reason_name(r), a->reasons[r]);
	fprintf(out, "%sunknown_frames %llu\n%sevents_dropped %llu\n", prefix, a->unknown_frames,
		prefix, a->events_dropped);
	fprintf(out, "%sticks_asked %llu\n%sticks_missed %llu\n", prefix, a->ticks_asked, prefix,
		a->ticks_missed);
	fprintf(out, "%snot_sampled %llu\n", prefix, a->not_sampled);
}

/* The accounts, and who the processes were, for readers that use krait. */
static char *make_notes(const struct perf_data *e, const struct profile *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "milliseconds %lld\nbegan_ns %llu\n",
		llround(e->base.options->recording.seconds * 1000),
		e->base.options->recording.began_ns);
	for (unsigned i = 0; i < p->event_cnt; i++)
		put_notes(out, i, &profile__counts(p, i)->accounts);
	sources_write(dict__sources_of(p->dict), out);
	kernel_names_write(&e->chain.kernel_names, out);
	native_names_write(&e->chain.native_names, p->dict, out);
	identities_write(dict__identities_of(p->dict), out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int store(struct perf_data *e, const struct profile *p, store_fn fn)
{
	cleanup_free char *notes = make_notes(e, p);

	e->stored_names = chain_name_cnt(&e->chain, p->dict);
	return notes ? fn(e->files, p->dict, notes) : -ENOMEM;
}

/* Only the DSOs need to go into perf archive. */
static int finish_writer(struct perf_data *e)
{
	__u32 cnt = dso__generations(e->dso);
	cleanup_free struct perf_object *list = calloc(cnt, sizeof(*list));
	int err = list ? 0 : -ENOMEM;

	for (__u32 i = 0; i < cnt && !err; i++)
		err = announcer_dso(e->files, i, &list[i]);
	return err ? err : perf_writer__finish(e->writer, list, cnt);
}

static int write_maps(struct perf_data *e, const struct profile *p)
{
	const struct perf_map_files files = { .open = e->base.options->open_map,
					      .failed = e->base.options->map_failed,
					      .ctx = e->base.options->open_map_ctx };

	return perf_maps_write(e->dso, p->dict, &files);
}

/* Smaller captures are not worth a word, nor are savings. */
#define HINT_BYTES (32ULL << 20)
#define HINT_RATIO 4

static void hint_at_compression(const struct perf_data *e)
{
	const __u64 size = perf_writer__flushed(e->writer);
	double ratio;

	if (size < HINT_BYTES || e->base.options->unattended)
		return;
	ratio = perf_writer__would_save(e->writer);
	if (ratio >= HINT_RATIO)
		log_info(
			NULL,
			"%llu MB of samples: with -z it would be about %.1f MB (krait reads that, and so "
			"do perf and viewers that are built with zstd)",
			size >> 20, (double)size / ratio / (1 << 20));
}

static int perf_data_finish(struct emitter *base, const struct profile *p, unsigned event)
{
	struct perf_data *e = perf_data_of(base);
	int err = e->placed ? 0 : perf_data_place(base, NULL);
	__u64 lost = 0;

	if (!err && !e->writer)
		err = start_writer(e, p);

	if (!err)
		err = write_waits_end(&e->waits, e->writer);
	if (!err)
		err = rename_threads(e, p);
	/* Modules that were loaded meanwhile. */
	if (!err && e->chain.has_kernel)
		err = kernel_maps_write(&e->kernel, e->base.options, e->writer);
	/* Before the DSO is complete: this may add one last address to it. */
	if (!err && e->base.options->open_map)
		err = write_maps(e, p);
	if (!err)
		err = store(e, p, dso_files__finish);
	for (unsigned i = 0; i < p->event_cnt; i++)
		lost += accounts_total(&profile__counts(p, i)->accounts, OUTCOME_LOST);

	if (e->chain.max_depth > PERF_MAX_STACK && !base->options->unattended)
		log_info(NULL,
			 "stacks are up to %u frames deep: perf shows them whole with "
			 "--max-stack %u",
			 e->chain.max_depth, e->chain.max_depth);
	announcer_warn(&e->announcer);
	if (!err && lost)
		err = perf_writer__lost(e->writer, lost);
	if (!err)
		err = perf_writer__flush(e->writer);
	if (!err)
		hint_at_compression(e);
	if (!err)
		err = finish_writer(e);
	return err ? err : publish(e);
}

/*
 * The disk is full. Keeps everything in the file if there is room for its names; otherwise less and
 * less of what came after the last flush, whose names are on disk.
 */
static int keep_what_fits(struct perf_data *e, const struct profile *p)
{
	__u64 flushed = perf_writer__flushed(e->writer), size = perf_writer__written(e->writer);
	int err;

	do {
		err = perf_writer__cut(e->writer, size);
		if (!err && dso_files__is_behind(e->files))
			err = store(e, p, dso_files__store);
		if (!err)
			return e->readable || perf_writer__written(e->writer) > flushed ? 0 :
											  -ENODATA;
		size = size > flushed ? flushed + (size - flushed) / 2 : 0;
	} while (err == -ENOSPC && size > flushed);
	err = perf_writer__cut(e->writer, flushed);
	return err || e->readable ? err : -ENODATA;
}

static void perf_data_rescue(struct emitter *base, const struct profile *p)
{
	struct perf_data *e = perf_data_of(base);
	int err;

	if (!e->writer || !e->place || !e->place->early)
		return;
	err = keep_what_fits(e, p);
	if (!err)
		err = publish(e);
	if (err)
		log_debug("perf.data", "what was written cannot be kept: %s", strerror(-err));
}

const struct emitter_ops perf_data_emitter = {
	.name = "perf",
	.suffixes = (const char *const[]){ ".data", NULL },
	.about = "perf.data, for krait report, perf and others",
	.next = { "krait report ", ", or perf report -i ", "" },
	.all_events = true,
	.addresses = true,
	.open = perf_data_open,
	.place = perf_data_place,
	.rescue = perf_data_rescue,
	.sample = perf_data_sample,
	.flush = perf_data_flush,
	.finish = perf_data_finish,
	.free = perf_data_free,
};

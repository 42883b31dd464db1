/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/slice_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "output/emitter.h"
#include "agent/keep/keep_accounts.h"
#include "agent/keep/slices.h"
#include "capture/perfdata/output.h"
#include "base/system/clock.h"
#include "base/files/output_file.h"

/* If krait is killed this much is lost; each time it writes its newest names. */
#define FLUSH_NS (5 * NS_PER_SEC)

struct slice_file {
	struct slice slice;
	char path[PATH_MAX];
	struct emit_options options;
	struct event_spec events[KRAIT_MAX_EVENTS];
	struct emit_place place;
	struct profile *profile; /* shares the session's dictionary, with its own accounts */
	struct dict *dict;
	struct dict_holder holder; /* the output refers to stacks by their ids */
	struct output_file *file;
	struct emitter *emitter;
};

static int publish(void *ctx)
{
	struct slice_file *f = ctx;

	return output_file__publish(f->file);
}

static int copy_events(struct slice_file *f, const struct profile *p)
{
	int err = 0;

	f->profile = profile__new_beside(p);
	if (!f->profile)
		return -ENOMEM;
	f->options.recording.event_cnt = p->event_cnt < KRAIT_MAX_EVENTS ? p->event_cnt :
									   KRAIT_MAX_EVENTS;
	for (unsigned i = 0; i < f->options.recording.event_cnt && !err; i++) {
		f->events[i] = profile__counts(p, i)->event;
		err = profile__set_event(f->profile, i, &f->events[i]);
	}
	f->options.recording.events = f->events;
	f->options.recording.frequency = f->events[0].frequency;
	return err;
}

static int open_file(struct slice_file *f)
{
	int err = output_file__open(&f->file, f->path, OUTPUT_FILE_REPLACE);

	if (!err)
		err = perf_data_emitter.open(&f->emitter, output_file__stream(f->file),
					     &f->options);
	if (err)
		return err;
	f->place = (struct emit_place){
		.name = output_file__name(f->file),
		.publish = publish,
		.ctx = f,
		.early = true,
	};
	return perf_data_emitter.place(f->emitter, &f->place);
}

int slice_file__new(struct slice_file **ret, const struct slice_file_config *config,
		    const struct slice *slice, const struct profile *p)
{
	struct slice_file *f = calloc(1, sizeof(*f));
	int err, len;

	if (!f)
		return -ENOMEM;
	f->slice = *slice;
	f->options = (struct emit_options){
		.title = "krait",
		.recording = config->recording,
		.find_kernel = config->find_kernel,
		.find_kernel_ctx = config->find_kernel_ctx,
		.flush_ns = FLUSH_NS,
		.compression = config->compression,
		.unattended = true,
	};
	f->options.recording.began_ns = config->began_ns;
	f->options.recording.began_wall_ns = (__s64)config->began_ns + clock_wall_offset_ns();
	f->dict = p->dict;
	dict__hold(f->dict, &f->holder);
	len = snprintf(f->path, sizeof(f->path), "%s/%s", config->folder, slice->name);
	err = len < 0 || len >= (int)sizeof(f->path) ? -ENAMETOOLONG : copy_events(f, p);
	if (!err)
		err = open_file(f);
	if (err)
		slice_file__free(f);
	else
		*ret = f;
	return err;
}

void slice_file__free(struct slice_file *f)
{
	if (!f)
		return;
	if (f->emitter)
		perf_data_emitter.free(f->emitter);
	output_file__free(f->file);
	profile__free(f->profile);
	dict__release(f->dict, &f->holder);
	free(f);
}

const struct slice *slice_file__slice(const struct slice_file *f)
{
	return &f->slice;
}

bool slice_file__has_other_rate(const struct slice_file *f, const struct profile *p)
{
	for (unsigned i = 0; i < f->options.recording.event_cnt; i++) {
		const struct event_spec *now = &profile__counts(p, i)->event;

		if (now->frequency != f->events[i].frequency || now->period != f->events[i].period)
			return true;
	}
	return false;
}

int slice_file__sample(struct slice_file *f, const struct profile_sample *s)
{
	return perf_data_emitter.sample(f->emitter, f->profile, s);
}

int slice_file__flush(struct slice_file *f, __u64 now_ns)
{
	return perf_data_emitter.flush(f->emitter, f->profile, now_ns);
}

int slice_file__finish(struct slice_file *f, struct keep_accounts *accounts)
{
	__u64 now_ns = clock_monotonic_ns();
	int err;

	for (unsigned i = 0; i < f->options.recording.event_cnt; i++)
		keep_accounts_take(accounts, i, &profile__counts(f->profile, i)->accounts);
	f->options.recording.seconds =
		(double)(now_ns - f->options.recording.began_ns) / NS_PER_SEC;
	err = perf_data_emitter.finish(f->emitter, f->profile, 0);
	if (err) {
		slice_file__rescue(f);
		return err;
	}
	return output_file__finish(f->file);
}

void slice_file__rescue(struct slice_file *f)
{
	perf_data_emitter.rescue(f->emitter, f->profile);
}

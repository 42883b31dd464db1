/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/top_write.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cmd/common/outputs.h"
#include "cmd/top/pick.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"

struct writing {
	struct outputs *outputs;
	const struct profile *profile;
};

static bool put_sample(void *ctx, const struct profile_sample *sample)
{
	struct writing *w = ctx;

	return outputs__sample(w->outputs, w->profile, sample);
}

/* From the first kept round, or since the start. */
static void set_times(const struct model *m, bool streams, struct recording *r)
{
	const struct round *first = NULL, *last = samples__round(m->samples, 0), *next;
	__s64 offset = recording_wall_offset_ns(r);
	__u64 ns = samples__all_ns(m->samples);

	for (unsigned age = 0; (next = samples__round(m->samples, age)); age++)
		first = next;
	if (streams && first)
		ns = last->to_ns - first->from_ns;
	r->seconds = (double)ns / NS_PER_SEC;
	r->began_ns = last ? last->to_ns - ns : r->began_ns;
	r->began_wall_ns = (__s64)r->began_ns + offset;
}

static int write_to(struct writing *w, const struct model *m, const char *path,
		    struct emit_options *options, struct error *err)
{
	int result = outputs__add(w->outputs, path, NULL, false, options, err);
	bool streams = !result && outputs__stream(w->outputs);

	if (result)
		return result;
	set_times(m, streams, &options->recording);
	if (streams)
		result = pick_samples(m, put_sample, w);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT, "%s: out of memory", path);
	return outputs__finish(w->outputs, w->profile, 0, false, err);
}

void top_write(const struct model *m, const char *path, const struct emit_options *options)
{
	struct emit_options own = *options;
	struct profile *profile;
	struct writing w;
	struct error err;
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode)) {
		log_error(NULL, "%s already exists; choose another name", path);
		return;
	}
	own.lines = model_place_const(m)->spec.view == ROWS_LINES ||
		    model_place_const(m)->spec.view == ROWS_SOURCE;
	profile = pick_profile(m);
	w = (struct writing){ outputs__new(false), profile };
	if (!profile || !w.outputs)
		log_error(NULL, "%s: out of memory", path);
	else if (write_to(&w, m, path, &own, &err))
		log_error(NULL, "%s", err.text);
	outputs__free(w.outputs);
	profile__free(profile);
}

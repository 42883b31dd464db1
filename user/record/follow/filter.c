/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/filter.h"

#include <string.h>

#include "process/proc/context.h"
#include "base/text/pattern.h"

static bool name_matches(const struct filter *f, const char *comm, const char *script)
{
	const char *slash = strrchr(script, '/');

	for (size_t i = 0; i < f->name_cnt; i++) {
		const char *pattern = f->names[i];

		if (pattern_matches(pattern, PATTERN_EITHER, comm))
			return true;
		if (*script && (pattern_matches(pattern, PATTERN_EITHER, script) ||
				(slash && pattern_matches(pattern, PATTERN_EITHER, slash + 1))))
			return true;
	}
	return !f->name_cnt;
}

static bool cgroup_matches(const struct filter *f, const char *text)
{
	for (size_t i = 0; i < f->cgroup_cnt; i++) {
		if (cgroup_is_below(text, f->cgroups[i]))
			return true;
	}
	return !f->cgroup_cnt;
}

bool filter_wants_user(const struct filter *f, uid_t uid)
{
	for (size_t i = 0; i < f->user_cnt; i++) {
		if (f->users[i] == uid)
			return true;
	}
	return !f->user_cnt;
}

static bool others_match(const struct filter *f, const char *comm, const struct context *context,
			 const char *cgroups)
{
	return name_matches(f, comm, context ? context->script : "") &&
	       cgroup_matches(f, context ? cgroups : "");
}

static bool has_user(const struct filter *f, const struct context *context)
{
	return filter_wants_user(f, context ? context->uid : (uid_t)-1);
}

bool filter_matches(const struct filter *f, const char *comm, const struct context *context,
		    const char *cgroups)
{
	return others_match(f, comm, context, cgroups) && has_user(f, context);
}

bool filter_awaits(const struct filter *f, const char *comm, const struct context *context,
		   const char *cgroups)
{
	return others_match(f, comm, context, cgroups) && !has_user(f, context);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/identified.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "process/probe/prober.h"
#include "base/system/clock.h"

/* How long it may take if debug information has to be read, or the prober sleeps over it. */
#define IDENTIFY_NS (5 * NS_PER_SEC)
/* The same while the prober runs, or only lacks a processor: before anybody would call it hung. */
#define IDENTIFY_AT_ALL_NS (PROBER_HUNG_AT_ALL_NS - NS_PER_SEC)
#define PAUSE_MS 20

struct asking {
	struct identified *found;
	struct prober *prober;
	struct probed *probed;
	int result;
	bool done;
};

static const char *why_none(int result)
{
	return result == -ETIMEDOUT ? PROBED_HUNG :
	       result == -EUSERS    ? PROBED_OWNER_REFUSED :
				      strerror(-result);
}

static void take_rest(struct identified *to, const struct probe_found *found)
{
	to->has_info = found->has_info;
	if (found->has_info)
		to->info = found->info;
	to->has_context = true;
	to->context = found->context;
	snprintf(to->cgroups, sizeof(to->cgroups), "%s", found->cgroups);
}

static void on_answer(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct asking *a = ctx;
	const struct probe_found *found = data;
	struct identified *to = a->found;

	a->done = true;
	a->result = result;
	if (data && len >= sizeof(found->process))
		to->process = found->process;
	else
		snprintf(to->process.why, sizeof(to->process.why), "%s", why_none(result));
	if (data && len > offsetof(struct probe_found, cgroups) && !((const char *)data)[len - 1])
		take_rest(to, found);
	if (!result && data) {
		a->probed = probed__new(a->prober, found, len, fds);
		if (!a->probed)
			a->result = -ENOMEM;
	}
}

/* Will an answer come? What hangs gets one, from the prober's judge. */
static bool is_worth_waiting(const struct asking *a, __u64 begin_ns)
{
	__u64 now_ns = clock_monotonic_ns();

	return now_ns < begin_ns + IDENTIFY_NS ||
	       (now_ns < begin_ns + IDENTIFY_AT_ALL_NS && !prober__is_slow(a->prober, a));
}

static int ask(struct asking *a, const struct probe_request *r, __u64 begin_ns)
{
	struct py_process *p = &a->found->process;
	int err;

	a->done = false;
	err = prober__ask(a->prober, PROBER_LATER, r, NULL, 0, on_answer, a);
	if (err) {
		snprintf(p->why, sizeof(p->why), "%s", why_none(err));
		return err;
	}
	while (!a->done && is_worth_waiting(a, begin_ns))
		prober__wait(a->prober, PAUSE_MS);
	if (a->done)
		return a->result;
	prober__forget(a->prober, a);
	snprintf(p->why, sizeof(p->why), "%s", PROBED_LATE);
	return -ETIMEDOUT;
}

int identified_wait(struct prober *prober, struct identified *ret, struct probed **ret_probed)
{
	const struct probe_request r = { .op = PROBE_IDENTIFY,
					 .pid = ret->process.pid,
					 .want_info = true };
	struct asking a = { .found = ret, .prober = prober };
	const __u64 begin_ns = clock_monotonic_ns();
	int err;

	while ((err = ask(&a, &r, begin_ns)) == -EINPROGRESS &&
	       clock_monotonic_ns() < begin_ns + IDENTIFY_NS)
		prober__wait(prober, PAUSE_MS);
	*ret_probed = a.probed;
	return err;
}

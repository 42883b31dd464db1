/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/doctor/checks.h"
#include "cmd/doctor/findings.h"
#include "kernel/sampler/mmap_events.h"
#include "kernel/sampler/sampler.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/worker/own.h"

static void say(struct findings *f, const struct error *err, __u64 took_ns)
{
	if (err)
		findings_add(f, FINDING_BROKEN, "sampling", "nothing can be recorded",
			     geteuid() ? "run krait with sudo" : NULL, "%s", err->text);
	else
		findings_add(f, FINDING_OK, "sampling", NULL, NULL,
			     "the kernel accepts krait's programs and starts the timer (%llu ms)",
			     took_ns / 1000000);
}

/*
 * Without the probe, a recording uses perf's own mapping records; without those, it asks when a
 * sample hits an unknown mapping.
 */
static void look_at_mappings(struct findings *f)
{
	struct mmap_events *events = mmap_events__new();

	if (events)
		findings_add(f, FINDING_OK, "mappings", NULL, NULL,
			     "the kernel does not report them to BPF (no kprobes): krait uses "
			     "perf's records");
	else
		findings_add(f, FINDING_LIMITED, "mappings",
			     "the first samples in a library that a process loads late have no "
			     "native names",
			     geteuid() ? "run krait with sudo" : NULL,
			     "neither BPF nor perf reports them (%s)", strerror(errno));
	mmap_events__free(events);
}

void checks_sampling(struct findings *f)
{
	const struct sampler_handler nobody = { 0 };
	const __u64 began_ns = clock_monotonic_ns();
	struct event_spec event;
	struct sampler_config config = {
		.events = &event, .event_cnt = 1, .native = true, .kernel = true
	};
	struct sampler *sampler;
	struct error err;

	config.kernel = !own_is();
	event_default(&event);
	event.frequency = 99;
	sampler = sampler__new(&config, &nobody, &err);
	if (!sampler) {
		say(f, &err, 0);
		return;
	}
	if (sampler__start(sampler, &err))
		say(f, &err, 0);
	else
		say(f, NULL, clock_monotonic_ns() - began_ns);
	if (!sampler__reports_mappings(sampler))
		look_at_mappings(f);
	sampler__stop(sampler);
	sampler__free(sampler);
}

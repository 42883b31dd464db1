/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/agent_outputs.h"

#include "agent/otlp_sink.h"
#include "export/exporter.h"
#include "util/clock.h"

/* At the end, for what is not sent yet. */
#define STOP_NS (5 * NS_PER_SEC)

static bool sends(const struct agent_options *options, enum export_kind kind)
{
	const struct agent_export_options *o = &options->export;

	for (unsigned i = 0; i < o->destination_cnt; i++) {
		if (o->destinations[i].kind == kind)
			return true;
	}
	return false;
}

static void step(void *ctx, __u64 now_ns)
{
	struct agent_outputs *o = ctx;

	exporter__step(o->exporter);
}

static int start_exporter(struct agent_outputs *o, const struct agent_export_options *options,
			  struct agent_config *config, struct error *err)
{
	const struct exporter_config exporter = {
		.destinations = options->destinations,
		.destination_cnt = options->destination_cnt,
		.spool_dir = options->spool_dir,
		.spool_bytes = options->spool_bytes,
	};

	if (!options->destination_cnt)
		return 0;
	o->exporter = exporter__start(&exporter, err);
	if (!o->exporter)
		return -1;
	agent_config_add(config, (struct agent_sink){ .name = "export", .step = step, .ctx = o });
	return 0;
}

int agent_outputs_open(struct agent_outputs *o, const struct agent_options *options,
		       struct resources *resources, struct agent_config *config, struct error *err)
{
	struct otlp_sink_config otlp = { .dir = options->otlp_dir, .resources = resources };

	if (start_exporter(o, &options->export, config, err))
		return -1;
	if (sends(options, EXPORT_OTLP_PROFILES))
		otlp.exporter = o->exporter;
	if (otlp.dir || otlp.exporter) {
		o->otlp = otlp_sink__new(&otlp, err);
		if (!o->otlp)
			return -1;
		agent_config_add(config, otlp_sink__sink(o->otlp));
	}
	return 0;
}

void agent_outputs_close(struct agent_outputs *o)
{
	otlp_sink__free(o->otlp);
	exporter__stop(o->exporter, STOP_NS, NULL);
	*o = (struct agent_outputs){ 0 };
}

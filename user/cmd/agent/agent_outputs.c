/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/agent/agent_outputs.h"

#include <errno.h>

#include "agent/notify.h"
#include "agent/otlp_sink.h"
#include "agent/pprof_push.h"
#include "agent/export/exporter.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"

/* Time at the end to send what is left. */
#define STOP_NS (5 * NS_PER_SEC)

/* Likewise when the destinations change: windows wait meanwhile. */
#define RELOAD_STOP_NS NS_PER_SEC

static bool sends(const struct agent_export_options *o, enum export_kind kind)
{
	for (unsigned i = 0; i < o->destination_cnt; i++) {
		if (o->destinations[i].kind == kind)
			return true;
	}
	return false;
}

static void step(void *ctx, __u64 now_ns)
{
	struct agent_outputs *o = ctx;

	if (o->exporter)
		exporter__step(o->exporter);
}

static int start_exporter(struct agent_outputs *o, const struct agent_export_options *options,
			  struct error *err)
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
	return o->exporter ? 0 : -1;
}

static void connect_sinks(struct agent_outputs *o, const struct agent_export_options *options)
{
	otlp_sink__set_exporter(o->otlp, sends(options, EXPORT_OTLP_PROFILES) ? o->exporter : NULL);
}

int agent_outputs_open(struct agent_outputs *o, const struct agent_options *options,
		       struct resources *resources, const char *host, struct agent_config *config,
		       struct error *err)
{
	const struct otlp_sink_config otlp = { .dir = options->otlp_dir, .resources = resources };

	if (start_exporter(o, &options->export, err))
		return -1;
	o->otlp = otlp_sink__new(&otlp, err);
	if (!o->otlp)
		return -1;
	o->notify = notify__new();
	if (!o->notify)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	connect_sinks(o, &options->export);
	agent_config_add(config, otlp_sink__sink(o->otlp));
	if (sends(&options->export, EXPORT_PPROF)) {
		o->push = pprof_push__new(o->exporter, resources, host);
		if (!o->push)
			return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		agent_config_add(config, pprof_push__sink(o->push));
	}
	agent_config_add(config, (struct agent_sink){ .name = "export", .step = step, .ctx = o });
	agent_config_add(config, notify__sink(o->notify));
	return agent_endpoint_open(&o->endpoint, options, resources, o, config, err);
}

void agent_outputs_connect(struct agent_outputs *o, struct agent *agent, const struct keep *keep)
{
	agent_endpoint_connect(&o->endpoint, agent, keep);
}

int agent_outputs_reload(struct agent_outputs *o, const struct agent_export_options *options,
			 bool same, struct error *err)
{
	int result;

	if (same) {
		if (o->exporter)
			exporter__reload(o->exporter);
		return 0;
	}
	/* pprof's sink keeps the exporter it started with. */
	if (o->push || sends(options, EXPORT_PPROF)) {
		log_warn(NULL, "with --pprof-endpoint, new destinations take effect when krait "
			       "agent is restarted");
		return 0;
	}
	exporter__stop(o->exporter, RELOAD_STOP_NS, NULL);
	o->exporter = NULL;
	result = start_exporter(o, options, err);
	connect_sinks(o, options);
	return result;
}

void agent_outputs_disconnect(struct agent_outputs *o)
{
	agent_endpoint_disconnect(&o->endpoint);
}

void agent_outputs_close(struct agent_outputs *o)
{
	if (o->notify)
		notify__say(o->notify, "STOPPING=1");
	agent_endpoint_close(&o->endpoint);
	otlp_sink__free(o->otlp);
	pprof_push__free(o->push);
	exporter__stop(o->exporter, STOP_NS, NULL);
	notify__free(o->notify);
	*o = (struct agent_outputs){ 0 };
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/agent/agent_endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/otlp_sink.h"
#include "agent/pprof_pull.h"
#include "cmd/agent/agent_outputs.h"
#include "agent/export/exporter.h"
#include "agent/keep/keep.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/metrics_text.h"

/* ?seconds=10&rate=97: a higher rate for a while. */
#define BURST_PATH "/burst"
#define BURST_SECONDS 10
#define BURST_HZ 97
#define PLAIN "text/plain; charset=utf-8"
/* How often metrics are formatted, asked for or not. */
#define PUBLISH_NS (2 * NS_PER_SEC)
/* The longest profile plus some slack. */
#define PULL_TIMEOUT_MS 310000U

/* After a failure the old content stays; the next attempt may succeed. */
static void publish(struct agent_endpoint *e, const char *path, unsigned status, const char *type,
		    const char *text, size_t len)
{
	int err = server__publish(e->server, path, status, type, text, len);

	if (err)
		log_debug("endpoint", "%s: %s", path, strerror(-err));
}

static void publish_line(struct agent_endpoint *e, const char *path, unsigned status,
			 const char *text)
{
	publish(e, path, status, PLAIN, text, strlen(text));
}

static void publish_metrics(struct agent_endpoint *e)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	metrics_write(&e->metrics, f);
	if (e->outputs->exporter) {
		struct exporter_stats stats;

		exporter__stats(e->outputs->exporter, &stats);
		exporter_stats_write(&stats, f);
	}
	if (e->outputs->otlp)
		otlp_sink__metrics(e->outputs->otlp, f);
	if (e->keep) {
		struct keep_stats stats;

		keep__stats(e->keep, &stats);
		keep_stats_write(&stats, f);
	}
	if (!fclose(f))
		publish(e, "/metrics", 200, METRICS_CONTENT_TYPE, text, size);
}

/* Returns a number of the query between 1 and max; fallback if absent; 0 if invalid. */
static unsigned long query_number(const char *query, const char *name, unsigned long fallback,
				  unsigned long max)
{
	char text[16], *end;
	int len = server_query_value(query, name, text, sizeof(text));
	unsigned long n;

	if (len == -ENOENT)
		return fallback;
	if (len <= 0 || text[0] < '0' || text[0] > '9')
		return 0;
	n = strtoul(text, &end, 10);
	return *end || n > max ? 0 : n;
}

static void answer_burst(struct agent_endpoint *e, const struct server_request *request)
{
	unsigned long seconds = query_number(request->query, "seconds", BURST_SECONDS,
					     AGENT_BURST_NS_MAX / NS_PER_SEC);
	unsigned long rate = query_number(request->query, "rate", BURST_HZ, AGENT_BURST_HZ_MAX);
	char said[160];
	int err;

	if (!seconds || !rate)
		snprintf(said, sizeof(said), "seconds is from 1 to %llu, rate from 1 to %u Hz\n",
			 (unsigned long long)(AGENT_BURST_NS_MAX / NS_PER_SEC), AGENT_BURST_HZ_MAX);
	else
		snprintf(said, sizeof(said), "%lu Hz for %lu s\n", rate, seconds);
	if (seconds && rate)
		agent__burst(e->agent, rate, seconds * NS_PER_SEC);
	err = server__answer(e->server, request->id, seconds && rate ? 200 : 400, PLAIN, said,
			     strlen(said));
	if (err)
		log_debug("endpoint", "burst: %s", strerror(-err));
}

static void answer_requests(struct agent_endpoint *e, __u64 now_ns)
{
	struct server_request request;

	while (server__next(e->server, &request) > 0) {
		if (!strcmp(request.path, PPROF_PULL_PATH))
			pprof_pull__take(e->pull, &request, now_ns);
		else
			answer_burst(e, &request);
	}
}

static void step(void *ctx, __u64 now_ns)
{
	struct agent_endpoint *e = ctx;

	answer_requests(e, now_ns);
	agent__set_server(e->agent, server__pid(e->server));
	if (now_ns < e->published_ns + PUBLISH_NS)
		return;
	/* The first step comes before the first sample. */
	if (e->published_ns && !e->ready) {
		e->ready = true;
		publish_line(e, "/readyz", 200, "ready\n");
	}
	e->published_ns = now_ns;
	publish_metrics(e);
}

int agent_endpoint_open(struct agent_endpoint *e, const struct agent_options *options,
			struct resources *resources, const struct agent_outputs *outputs,
			struct agent_config *config, struct error *err)
{
	static const struct server_route routes[] = {
		{ .path = "/metrics" },
		{ .path = "/healthz" },
		{ .path = "/readyz" },
		{ .path = PPROF_PULL_PATH,
		  .ask = true,
		  .token = true,
		  .timeout_ms = PULL_TIMEOUT_MS },
		{ .path = BURST_PATH,
		  .ask = true,
		  .token = true,
		  .post = true,
		  .timeout_ms = 10000 },
	};
	const struct server_config server = {
		.listen = options->listen,
		.listen_cnt = options->listen_cnt,
		.routes = routes,
		.route_cnt = sizeof(routes) / sizeof(routes[0]),
		.token_file = options->listen_token_file,
	};

	*e = (struct agent_endpoint){ .outputs = outputs, .metrics = { .resources = resources } };
	if (!options->listen_cnt)
		return 0;
	e->server = server__start(&server, err);
	if (!e->server)
		return -1;
	e->pull = pprof_pull__new(e->server, resources);
	if (!e->pull)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	publish_line(e, "/healthz", 200, "ok\n");
	publish_line(e, "/readyz", 503, "starting\n");
	agent_config_add(config, metrics_sink(&e->metrics));
	agent_config_add(config, pprof_pull__sink(e->pull));
	agent_config_add(config, (struct agent_sink){ .name = "endpoint", .step = step, .ctx = e });
	return 0;
}

void agent_endpoint_connect(struct agent_endpoint *e, struct agent *agent, const struct keep *keep)
{
	struct session *session = agent__session(agent);

	e->agent = agent;
	e->keep = keep;
	e->metrics.session = session;
	if (e->pull)
		pprof_pull__connect(e->pull, session__profile(session));
}

void agent_endpoint_disconnect(struct agent_endpoint *e)
{
	/* Its profiles share the session's dictionary. */
	pprof_pull__free(e->pull);
	e->pull = NULL;
}

void agent_endpoint_close(struct agent_endpoint *e)
{
	agent_endpoint_disconnect(e);
	server__stop(e->server);
	metrics_free(&e->metrics);
	*e = (struct agent_endpoint){ 0 };
}

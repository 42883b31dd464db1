/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/agent/agent_export_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "process/proc/claims.h"
#include "base/text/units.h"

enum {
	KEY_OTLP_ENDPOINT = 512,
	KEY_PPROF_ENDPOINT,
	KEY_PROTOCOL,
	KEY_COMPRESSION,
	KEY_HEADER,
	KEY_TOKEN,
	KEY_CA,
	KEY_CERT,
	KEY_KEY,
	KEY_PROXY,
	KEY_TIMEOUT,
	KEY_SPOOL,
	KEY_SPOOL_SIZE,
};

static const struct argp_option options[] = {
	{ 0, 0, 0, 0,
	  "Where to send it (options behind an endpoint are for that one, in front of the first for all):",
	  5 },
	{ "otlp-endpoint", KEY_OTLP_ENDPOINT, "URL", 0,
	  "an OpenTelemetry Collector, or another OTLP profiles server: "
	  "http://host:4318. May be given several times" },
	{ "pprof-endpoint", KEY_PPROF_ENDPOINT, "URL", 0,
	  "Pyroscope, or a server with the same /ingest: http://host:4040" },
	{ "export-protocol", KEY_PROTOCOL, "http/protobuf|grpc", 0, "default http/protobuf" },
	{ "export-compression", KEY_COMPRESSION, "gzip|none", 0, "default gzip" },
	{ "export-header", KEY_HEADER, "NAME: VALUE", 0,
	  "sent with each request; visible to others in ps, so put "
	  "secrets into the --config file" },
	{ "export-token-file", KEY_TOKEN, "FILE", 0, "a bearer token; read again when it changes" },
	{ "export-ca-file", KEY_CA, "FILE", 0,
	  "who signs the server's certificate (default: the system's)" },
	{ "export-cert-file", KEY_CERT, "FILE", 0, "certificate that krait shows" },
	{ "export-key-file", KEY_KEY, "FILE", 0, "its key" },
	{ "export-proxy", KEY_PROXY, "URL", 0, "default: http_proxy, https_proxy, no_proxy" },
	{ "export-timeout", KEY_TIMEOUT, "TIME", 0, "limit for one try (default 10s)" },
	{ "spool", KEY_SPOOL, "DIR", 0,
	  "keep unsent windows there, across outages and restarts "
	  "(default: in memory)" },
	{ "spool-size", KEY_SPOOL_SIZE, "SIZE", 0,
	  "limit of the spool; the oldest windows go first (default 256M)" },
	{ 0 },
};

static unsigned index_of(const struct agent_export_options *o)
{
	return o->destination_cnt;
}

/* Returns what the next option applies to: the last endpoint, or all of them. */
static struct exporter_destination *current(struct agent_export_options *o)
{
	return o->destination_cnt ? &o->destinations[o->destination_cnt - 1] : &o->common;
}

static void add_endpoint(struct agent_export_options *o, const char *url, enum export_kind kind,
			 struct argp_state *state)
{
	struct exporter_destination *d;

	if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8))
		arguments_refuse(state, "an endpoint is a URL, http://host:4318, not \"%s\"", url);
	if (o->destination_cnt == EXPORT_DESTINATIONS_MAX)
		arguments_refuse(state, "too many endpoints: at most %u", EXPORT_DESTINATIONS_MAX);
	d = &o->destinations[o->destination_cnt++];
	*d = o->common;
	d->url = url;
	d->kind = kind;
	d->headers = o->headers[o->destination_cnt];
	memcpy(o->headers[o->destination_cnt], o->headers[0], sizeof(o->headers[0]));
}

static void add_header(struct agent_export_options *o, const char *text, struct argp_state *state)
{
	struct exporter_destination *d = current(o);
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || strpbrk(text, "\r\n"))
		arguments_refuse(state, "--export-header takes \"Name: value\"");
	if (d->header_cnt == EXPORT_HEADERS_MAX)
		arguments_refuse(state, "too many headers: at most %d", EXPORT_HEADERS_MAX);
	o->headers[index_of(o)][d->header_cnt++] = text;
	d->headers = o->headers[index_of(o)];
}

static void set_protocol(struct exporter_destination *d, const char *text, struct argp_state *state)
{
	if (!strcmp(text, "grpc"))
		d->protocol = EXPORT_GRPC;
	else if (!strcmp(text, "http/protobuf") || !strcmp(text, "http"))
		d->protocol = EXPORT_HTTP;
	else
		arguments_refuse(state, "the protocol is http/protobuf or grpc, not \"%s\"", text);
}

static void set_compression(struct exporter_destination *d, const char *text,
			    struct argp_state *state)
{
	if (!strcmp(text, "gzip"))
		d->compression = EXPORT_GZIP;
	else if (!strcmp(text, "none"))
		d->compression = EXPORT_NONE;
	else
		arguments_refuse(state, "the compression is gzip or none, not \"%s\"", text);
}

/* ---- the environment -------------------------------------------------------------------------- */

/*
 * The variable for profiles takes precedence over that for all signals. Returns NULL if neither is
 * set or it is empty.
 */
static const char *variable(const char *name)
{
	static const char *const prefixes[] = { "OTEL_EXPORTER_OTLP_PROFILES_",
						"OTEL_EXPORTER_OTLP_" };
	char full[96];

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const char *value;

		snprintf(full, sizeof(full), "%s%s", prefixes[i], name);
		value = getenv(full);
		if (value && *value)
			return value;
	}
	return NULL;
}

struct headers {
	struct agent_export_options *options;
	struct argp_state *state;
};

/* The copy lives as long as the process, as arguments do. */
static void take_header(void *ctx, const char *key, const char *value)
{
	struct headers *h = ctx;
	char *text;

	if (asprintf(&text, "%s: %s", key, value) >= 0)
		add_header(h->options, text, h->state);
}

static void take_headers(struct agent_export_options *o, struct argp_state *state)
{
	struct headers headers = { o, state };
	const char *value = variable("HEADERS");

	/* The message omits the value: it contains tokens. */
	if (value && claims_each(value, take_header, &headers) < 0)
		arguments_refuse(
			state, "OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value, with %%XX "
			       "in values");
}

static void take_timeout(struct exporter_destination *d, struct argp_state *state)
{
	const char *value = variable("TIMEOUT");
	char *end;
	unsigned long ms = value ? strtoul(value, &end, 10) : 0;

	if (!value)
		return;
	if (*value < '0' || *value > '9' || *end || ms > 3600000)
		arguments_refuse(
			state, "OTEL_EXPORTER_OTLP_TIMEOUT is a number of milliseconds, not \"%s\"",
			value);
	d->timeout_ms = (__u32)ms;
}

static void take_environment(struct agent_export_options *o, struct argp_state *state)
{
	const char *whole = getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"), *value;
	const char *base = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	struct exporter_destination *d = &o->common;

	whole = whole && *whole ? whole : NULL;
	if (!whole && !(base && *base))
		return;
	take_headers(o, state);
	take_timeout(d, state);
	value = variable("PROTOCOL");
	if (value)
		set_protocol(d, value, state);
	value = variable("COMPRESSION");
	if (value)
		set_compression(d, value, state);
	d->ca_file = d->ca_file ? d->ca_file : variable("CERTIFICATE");
	d->cert_file = d->cert_file ? d->cert_file : variable("CLIENT_CERTIFICATE");
	d->key_file = d->key_file ? d->key_file : variable("CLIENT_KEY");
	add_endpoint(o, whole ? whole : base, EXPORT_OTLP_PROFILES, state);
	/* The signal's own variable is the complete URL; gRPC has no paths. */
	o->destinations[0].whole = whole && d->protocol == EXPORT_HTTP;
}

/* ---- options ---------------------------------------------------------------------------------- */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent_export_options *o = state->input;
	__u64 ns;

	switch (key) {
	case KEY_OTLP_ENDPOINT:
		add_endpoint(o, arg, EXPORT_OTLP_PROFILES, state);
		break;
	case KEY_PPROF_ENDPOINT:
		add_endpoint(o, arg, EXPORT_PPROF, state);
		break;
	case KEY_PROTOCOL:
		set_protocol(current(o), arg, state);
		break;
	case KEY_COMPRESSION:
		set_compression(current(o), arg, state);
		break;
	case KEY_HEADER:
		add_header(o, arg, state);
		break;
	case KEY_TOKEN:
		current(o)->token_file = arg;
		break;
	case KEY_CA:
		current(o)->ca_file = arg;
		break;
	case KEY_CERT:
		current(o)->cert_file = arg;
		break;
	case KEY_KEY:
		current(o)->key_file = arg;
		break;
	case KEY_PROXY:
		current(o)->proxy = arg;
		break;
	case KEY_TIMEOUT:
		if (parse_duration(arg, &ns) || ns < 1000000 || ns > 3600000000000ULL)
			arguments_refuse(state, "--export-timeout is a time, 1ms to 1h, not \"%s\"",
					 arg);
		current(o)->timeout_ms = (__u32)(ns / 1000000);
		break;
	case KEY_SPOOL:
		o->spool_dir = arg;
		break;
	case KEY_SPOOL_SIZE:
		if (parse_size(arg, &o->spool_bytes))
			arguments_refuse(state, "--spool-size is a size such as 256M, not \"%s\"",
					 arg);
		break;
	case ARGP_KEY_END:
		if (!o->destination_cnt)
			take_environment(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp agent_export_argp = { options, parse_option, NULL, NULL, NULL, NULL, NULL };

/* ---- compared --------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_destination(const struct exporter_destination *a,
			     const struct exporter_destination *b)
{
	if (!same_text(a->url, b->url) || a->whole != b->whole || a->kind != b->kind ||
	    a->protocol != b->protocol || a->compression != b->compression ||
	    a->header_cnt != b->header_cnt || a->timeout_ms != b->timeout_ms)
		return false;
	for (unsigned i = 0; i < a->header_cnt; i++) {
		if (!same_text(a->headers[i], b->headers[i]))
			return false;
	}
	return same_text(a->token_file, b->token_file) && same_text(a->ca_file, b->ca_file) &&
	       same_text(a->cert_file, b->cert_file) && same_text(a->key_file, b->key_file) &&
	       same_text(a->proxy, b->proxy);
}

bool agent_export_options_same(const struct agent_export_options *a,
			       const struct agent_export_options *b)
{
	if (a->destination_cnt != b->destination_cnt || !same_text(a->spool_dir, b->spool_dir) ||
	    a->spool_bytes != b->spool_bytes)
		return false;
	for (unsigned i = 0; i < a->destination_cnt; i++) {
		if (!same_destination(&a->destinations[i], &b->destinations[i]))
			return false;
	}
	return true;
}

void agent_export_options_copy(struct agent_export_options *to,
			       const struct agent_export_options *from)
{
	*to = *from;
	to->common.headers = to->headers[0];
	for (unsigned i = 0; i < to->destination_cnt; i++)
		to->destinations[i].headers = to->headers[i + 1];
}

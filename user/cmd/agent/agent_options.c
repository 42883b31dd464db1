/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/agent/agent_options.h"

#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/record/live_options.h"
#include "cmd/record/record_events.h"
#include "cmd/record/record_targets.h"
#include "base/system/clock.h"
#include "base/text/units.h"

#define DEFAULT_HZ 19
#define DEFAULT_OFF_CPU_NS (20 * NS_PER_MS)
#define DEFAULT_INTERVAL_NS (10 * NS_PER_SEC)
#define DEFAULT_CPU_BUDGET 0.01
#define DEFAULT_MEMORY (512ULL << 20)
#define MIN_INTERVAL_NS NS_PER_SEC
#define MAX_INTERVAL_NS (60 * NS_PER_SEC)

enum {
	KEY_OTLP_DIR = 256,
	KEY_CPU_BUDGET,
	KEY_MEMORY_LIMIT,
	KEY_CONFIG,
	KEY_CHECK,
	KEY_LOG,
	KEY_LISTEN,
	KEY_LISTEN_TOKEN,
};

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Target (every Python process on this machine, but for):", 1 },
	{ "name", TARGET_NAME, "GLOB", 0, "only those whose command, script or module fits" },
	{ "cgroup", TARGET_CGROUP, "PATH", 0,
	  "only those in this control group (container) or below" },
	{ "user", 'u', "NAME", 0, "only those of this user (name or number)" },
	{ 0, 0, 0, 0, "Sampling:", 2 },
	{ "rate", 'r', "HZ", 0, "samples per second and CPU (default 19)" },
	{ "freq", 'F', "HZ", OPTION_ALIAS },
	{ "interval", 'i', "TIME", 0, "length of a window, 1s to 60s (default 10s)" },
	{ LIVE_ROW_OFF_CPU,
	  "also time off the CPU, with waits for the GIL apart: each wait of 20ms or TIME has its stack, and of shorter "
	  "ones some" },
	LIVE_NATIVE_OPTIONS,
	{ LIVE_ROW_ASYNC,
	  "for asyncio programs (CPython 3.14 and later) the stack of tasks (the default); \"both\" keeps the frames of "
	  "the event loop" },
	{ LIVE_ROW_NO_ASYNC, "the thread's own stack" },
	{ LIVE_ROW_TASK_NAMES,
	  "add a frame with the name of each task: a stack of its own for every request" },
	{ LIVE_ROW_GREENLETS,
	  "for programs with greenlet (gevent) also the frames of a greenlet's parents (the default)" },
	{ LIVE_ROW_NO_GREENLETS, "only the stack of the running greenlet" },
	{ 0, 0, 0, 0, "What it may cost:", 3 },
	{ "cpu-budget", KEY_CPU_BUDGET, "PERCENT", 0,
	  "limit, as a share of one CPU, for krait, its helpers and its "
	  "programs in the kernel; over it, the agent samples less often, "
	  "then less deeply, then without native frames, and says so "
	  "(default 1%; 0: no limit)" },
	{ "memory-limit", KEY_MEMORY_LIMIT, "SIZE", 0,
	  "the same for memory (default 512M; 0: no limit)" },
	{ 0, 0, 0, 0, "Output:", 4 },
	{ "otlp-dir", KEY_OTLP_DIR, "DIR", 0,
	  "write each window into a file there, as OTLP profiles (protobuf)" },
	{ 0, 0, 0, 0, "Who may ask:", 7 },
	{ "listen", KEY_LISTEN, "ADDRESS", 0,
	  "serve /metrics, /healthz, /readyz and /debug/pprof/profile?seconds=10 there: 9464 (on 127.0.0.1), 0.0.0.0:9464, "
	  "unix:/run/krait/http. May be given several times" },
	{ "listen-token-file", KEY_LISTEN_TOKEN, "FILE", 0,
	  "clients need this bearer token for profiles; without one, only "
	  "unix: sockets serve them" },
	{ 0, 0, 0, 0, "Other:", 9 },
	{ "config", KEY_CONFIG, "FILE", 0,
	  "options from there, \"key = value\", each key a long option without its dashes (yes and no for those without "
	  "an argument, and for async); read again at SIGHUP. What the command line says goes first" },
	{ "check-config", KEY_CHECK, 0, 0, "check the configuration and exit" },
	{ "log-format", KEY_LOG, "text|json", 0, "of a line each on stderr (default text)" },
	{ LIVE_ROW_DURATION, "end after 10s, 2m (default: by a signal)" },
	{ LIVE_ROW_NO_REALTIME, "do not raise krait's own priority" },
	{ 0 },
};

static const char doc[] =
	"Sample every Python process on this machine continuously and pass on the results every few seconds."
	"\v"
	"Examples:\n"
	"  krait agent --otlp-dir /tmp/windows     a file every 10 seconds\n"
	"  krait agent --keep 6h                   remember six hours, for:\n"
	"  krait agent snapshot --since -10m -o x.data\n"
	"\n"
	"Exit codes: 0 ended by a signal or --duration; 2 usage; 4 permission; 5 the kernel lacks something; "
	"7 an output could not be written.";

static void settle(struct agent_options *o, struct argp_state *state)
{
	struct record_options *r = &o->record;

	r->all = true;
	record_targets_settle(r, state);
	if (o->interval_ns < MIN_INTERVAL_NS || o->interval_ns > MAX_INTERVAL_NS)
		arguments_refuse(state, "--interval is from 1s to 60s");
	record_events_settle(r, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent_options *o = state->input;
	struct record_options *r = &o->record;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->memory;
		state->child_inputs[1] = &o->export;
		break;
	case 'i':
		arguments_time(&o->interval_ns, arg, state);
		break;
	case KEY_CPU_BUDGET:
		/* Of one CPU. */
		o->cpu_budget = arguments_percent(arg, "--cpu-budget", 0, 10000, state) / 100;
		break;
	case KEY_MEMORY_LIMIT:
		o->memory_bytes = 0;
		if (strcmp(arg, "0") && parse_size(arg, &o->memory_bytes))
			arguments_refuse(state, "--memory-limit is a size such as 512M, not \"%s\"",
					 arg);
		break;
	case KEY_OTLP_DIR:
		o->otlp_dir = arg;
		break;
	case KEY_LISTEN:
		if (o->listen_cnt == SERVER_LISTENERS_MAX)
			arguments_refuse(state, "too many --listen addresses: at most %u",
					 SERVER_LISTENERS_MAX);
		o->listen[o->listen_cnt++] = arg;
		break;
	case KEY_LISTEN_TOKEN:
		o->listen_token_file = arg;
		break;
	case KEY_CONFIG: /* already read: config_file.h */
		break;
	case KEY_CHECK:
		o->check_config = true;
		break;
	case KEY_LOG:
		if (strcmp(arg, "text") && strcmp(arg, "json"))
			arguments_refuse(state, "--log-format is text or json, not \"%s\"", arg);
		o->log_json = !strcmp(arg, "json");
		break;
	case ARGP_KEY_ARG:
		arguments_refuse(state, "krait agent takes no arguments (extra: \"%s\")", arg);
		break;
	case ARGP_KEY_END:
		settle(o, state);
		break;
	default:
		return live_option(r, key, arg, state);
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &agent_memory_argp, 0, NULL, 0 },
	{ &agent_export_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp agent_argp = { options, parse_option, NULL, doc, children, NULL, NULL };

void agent_options_parse(struct agent_options *ret, int argc, char **argv)
{
	memset(ret, 0, sizeof(*ret));
	live_options_defaults(&ret->record);
	ret->record.frequency = DEFAULT_HZ;
	ret->record.off_cpu_ns = DEFAULT_OFF_CPU_NS;
	ret->interval_ns = DEFAULT_INTERVAL_NS;
	ret->cpu_budget = DEFAULT_CPU_BUDGET;
	ret->memory_bytes = DEFAULT_MEMORY;
	arguments_parse(&agent_argp, argc, argv, 0, ret);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/broker/settings.h"

#include <argp.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/broker/served.h"
#include "cmd/common/arguments.h"
#include "cmd/common/config_file.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"

#define CONFIG "/etc/krait/broker.conf"
#define RECORDINGS 2
#define RATE 4000
#define MEMORY (1536ULL << 20)
#define BYTES (1ULL << 30)
#define RECORDINGS_MAX 32

enum {
	KEY_CONFIG = 256,
	KEY_RECORDINGS,
	KEY_RATE,
	KEY_MEMORY,
	KEY_DURATION,
	KEY_BYTES,
	KEY_SCOPE,
	KEY_METRICS,
	KEY_ALL_SOCKET,
	KEY_ALL_GROUP,
};

static const struct argp_option option_table[] = {
	{ "socket", 's', "PATH", 0,
	  "where to listen (default " BROKER_SOCKET "); not used if systemd passes a socket", 0 },
	{ "all-socket", KEY_ALL_SOCKET, "PATH", 0,
	  "where those listen who may see the whole machine (mode 0660; default: nobody may)", 0 },
	{ "all-group", KEY_ALL_GROUP, "GROUP", 0, "the group that may connect there", 0 },
	{ "config", KEY_CONFIG, "FILE", 0,
	  "read options from this file: key = value, where a key is a long option of this list "
	  "(default " CONFIG ", if it is there)",
	  0 },
	{ "recordings", KEY_RECORDINGS, "N", 0, "of each user at the same time (default 2)", 0 },
	{ "rate-limit", KEY_RATE, "HZ", 0,
	  "samples a second on each CPU, of all users' recordings together (default 4000)", 0 },
	{ "memory-limit", KEY_MEMORY, "BYTES", 0,
	  "of all users' recordings together: their --ring-size and --unwind-memory (default 1536M)",
	  0 },
	{ "duration-limit", KEY_DURATION, "TIME", 0, "of each recording (default 1h, the most)",
	  0 },
	{ "capture-limit", KEY_BYTES, "BYTES", 0, "of each file of a recording (default 1G)", 0 },
	{ "ptrace-scope", KEY_SCOPE, "0|1|2", 0,
	  "serve where kernel.yama.ptrace_scope is at most that (default 1): users see the stacks of "
	  "their own processes, and values of variables only at 0",
	  0 },
	{ "metrics", KEY_METRICS, "FILE", 0,
	  "write counters there, once a second at most, as Prometheus's node exporter reads them "
	  "(textfile collector)",
	  0 },
	{ 0 },
};

static void check_path(const char *path, const char *option, struct argp_state *state)
{
	if (*path != '/' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		arguments_refuse(state, "%s takes an absolute path of at most 107 letters", option);
}

static gid_t find_group(const char *name, struct argp_state *state)
{
	const struct group *g = getgrnam(name);

	if (!g)
		arguments_refuse(state, "--all-group: there is no group \"%s\"", name);
	return g->gr_gid;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct settings *s = state->input;

	switch (key) {
	case 's':
		check_path(arg, "--socket", state);
		s->socket = arg;
		return 0;
	case KEY_ALL_SOCKET:
		check_path(arg, "--all-socket", state);
		s->all_socket = arg;
		return 0;
	case KEY_ALL_GROUP:
		s->all_group = find_group(arg, state);
		return 0;
	case KEY_CONFIG: /* already read */
		return 0;
	case KEY_RECORDINGS:
		s->recordings = arguments_count(arg, "--recordings", ARGUMENTS_COUNT_MAX, state);
		if (s->recordings > RECORDINGS_MAX)
			arguments_refuse(state, "--recordings is at most %d", RECORDINGS_MAX);
		return 0;
	case KEY_RATE:
		arguments_rate(&s->rate, arg, state);
		return 0;
	case KEY_MEMORY:
		arguments_size(&s->memory, arg, state);
		return 0;
	case KEY_DURATION:
		arguments_time(&s->duration_ns, arg, state);
		if (s->duration_ns > SERVED_SECONDS_MAX * NS_PER_SEC)
			arguments_refuse(state, "--duration-limit is an hour at most");
		return 0;
	case KEY_BYTES:
		arguments_size(&s->bytes, arg, state);
		return 0;
	case KEY_SCOPE:
		if (strlen(arg) != 1 || *arg < '0' || *arg > '2')
			arguments_refuse(
				state,
				"--ptrace-scope is 0, 1 or 2, not \"%s\" (at 3 the kernel refuses everybody)",
				arg);
		s->ptrace_scope = (unsigned)(*arg - '0');
		return 0;
	case KEY_METRICS:
		s->metrics = arg;
		return 0;
	case ARGP_KEY_ARG:
		arguments_refuse(state, "krait broker takes no arguments (extra: \"%s\")", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	option_table,
	parse_option,
	NULL,
	"Record for ordinary users, without sudo: each its own processes, and no others."
	"\v"
	"Started once, as root, or by systemd when somebody connects. From then on krait record, dump, list, top\n"
	"and doctor work for everybody, on one's own processes. docs/SERVICE.md says what users can see.\n"
	"\n"
	"Examples:\n"
	"  systemctl enable --now krait-broker.socket    with systemd\n"
	"  krait broker                                  without\n",
	NULL,
	NULL,
	NULL
};

int settings_parse(struct settings *ret, int argc, char **argv)
{
	const char *path = config_file_path(argc, argv);
	static struct config_arguments all;
	struct error err;

	*ret = (struct settings){ .socket = BROKER_SOCKET,
				  .recordings = RECORDINGS,
				  .rate = RATE,
				  .memory = MEMORY,
				  .duration_ns = SERVED_SECONDS_MAX * NS_PER_SEC,
				  .bytes = BYTES,
				  .ptrace_scope = 1 };
	if (!path && !access(CONFIG, F_OK))
		path = CONFIG;
	if (config_file_load(&all, path, NULL, &parser, argc, argv, &err)) {
		log_error(NULL, "%s", err.text);
		exit(err.code);
	}
	return arguments_parse(&parser, all.argc, all.argv, 0, ret);
}

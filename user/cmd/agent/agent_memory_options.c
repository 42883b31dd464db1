/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/agent/agent_memory_options.h"

#include "cmd/common/arguments.h"
#include "agent/keep/keep.h"
#include "capture/perfdata/compressed.h"
#include "base/system/error.h"
#include "base/text/units.h"

#define KEEP_BYTES_DEFAULT (2ULL << 30)

enum { KEY_KEEP = 0x4000, KEY_KEEP_BYTES, KEY_KEEP_DIR };

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Memory on this host (krait agent snapshot makes a capture of it):", 6 },
	{ "keep", KEY_KEEP, "TIME", 0, "keep samples of the last 30m, 6h (default: nothing)" },
	{ "keep-bytes", KEY_KEEP_BYTES, "SIZE", 0,
	  "limit on disk: 500M, 2G (default 2G); the oldest samples go "
	  "first" },
	{ "keep-dir", KEY_KEEP_DIR, "DIR", 0,
	  "folder for it, created with mode 0700 (default " KEEP_DIR_DEFAULT ")" },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent_memory_options *o = state->input;

	switch (key) {
	case KEY_KEEP:
		if (parse_duration(arg, &o->keep_ns))
			arguments_refuse(state, "--keep takes a time such as 30m or 6h, not \"%s\"",
					 arg);
		return 0;
	case KEY_KEEP_BYTES:
		if (parse_size(arg, &o->keep_bytes) || o->keep_bytes < KEEP_BYTES_MIN)
			arguments_refuse(
				state,
				"--keep-bytes takes a size such as 500M, at least %uM, not \"%s\"",
				KEEP_BYTES_MIN >> 20, arg);
		return 0;
	case KEY_KEEP_DIR:
		o->keep_dir = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp agent_memory_argp = { options, parse_option, 0, 0, 0, 0, 0 };

bool agent_memory_is_on(const struct agent_memory_options *o)
{
	return o->keep_ns || o->keep_bytes;
}

__u64 agent_memory_bytes(const struct agent_memory_options *o)
{
	return o->keep_bytes ? o->keep_bytes : KEEP_BYTES_DEFAULT;
}

struct keep *agent_memory_open(const struct agent_memory_options *o,
			       const struct recording *recording,
			       int (*find_kernel)(void *ctx, __u64 *ret_start, __u64 *ret_size),
			       void *find_kernel_ctx, struct error *err)
{
	const struct keep_config config = {
		.folder = o->keep_dir ? o->keep_dir : KEEP_DIR_DEFAULT,
		.keep_ns = o->keep_ns,
		.keep_bytes = agent_memory_bytes(o),
		.recording = *recording,
		.find_kernel = find_kernel,
		.find_kernel_ctx = find_kernel_ctx,
		.compression = COMPRESSED_LEVEL_DEFAULT,
	};

	return keep__new(&config, err);
}

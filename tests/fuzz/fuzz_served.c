/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a client's request to krait broker: what is accepted is within the limits, and only options of the table
 * become a recorder's arguments.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/broker/served.h"
#include "base/system/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Those that name a file, or that a recorder must never have. */
static bool is_forbidden(const char *word)
{
	static const char *const names[] = { "--output", "--log-inputs", "--perf-map", "--own",
					     "--core",	 "--root",	 "--source",   "--pause",
					     "--cgroup", "--user",	 "--trigger",  "--memory" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(word, names[i], strlen(names[i])))
			return true;
	return strncmp(word, "--", 2) != 0;
}

static void check(const struct broker_request *r)
{
	const char *word = NULL;
	struct served served;
	__u32 cnt = 0;

	if (served_check(r, &served))
		return;
	if (served.rate > SERVED_RATE_MAX * (__u64)BROKER_WORDS_MAX ||
	    served.duration_ns > SERVED_SECONDS_MAX * NS_PER_SEC ||
	    served.pid_cnt > SERVED_PIDS_MAX)
		abort();
	for (unsigned i = 0; i < served.pid_cnt; i++)
		if (served.pids[i] < 1)
			abort();
	while ((word = served_next(r, word))) {
		cnt++;
		for (const char *c = word; *c; c++)
			if (*c < ' ' || *c > '~')
				abort();
		if (is_forbidden(word))
			abort();
	}
	if (cnt != r->word_cnt || cnt > BROKER_WORDS_MAX || !served_command(r->command))
		abort();
}

/* Words of pieces that fit together now and then, and of other bytes. */
static size_t make_words(char *to, size_t room, const uint8_t *data, size_t size)
{
	static const char *const pieces[] = {
		"--pid",  "--freq", "--rate",  "--duration", "--off-cpu", "--name",   "--thread",
		"--json", "--all",  "--async", "--audit",    "--state",	  "--view",   "--max-loss",
		"=",	  "=",	    "=",       ",",	     "1",	  "99",	      "997",
		"1s",	  "500ms",  "both",    "1k",	     "64M",	  "4194304",  "--output",
		"--own",  "--",	    "-p",      "0",	     "/",	  "--locals", "--native",
	};
	const size_t cnt = sizeof(pieces) / sizeof(pieces[0]);
	size_t used = 0;

	for (size_t i = 0; i < size && used + 16 < room; i++) {
		if (data[i] < cnt)
			used += strlen(strcpy(to + used, pieces[data[i]]));
		else
			to[used++] = data[i] < 128 ? '\0' : (char)(data[i] - 128);
	}
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct broker_request r = { 0 };

	memcpy(&r, data, size < sizeof(r) ? size : sizeof(r));
	check(&r);
	memset(&r, 0, sizeof(r));
	r.version = BROKER_VERSION;
	if (size) {
		r.command = data[0] % BROKER_COMMANDS;
		make_words(r.words, sizeof(r.words), data + 1, size - 1);
	}
	for (r.word_cnt = 0; r.word_cnt <= 4; r.word_cnt++)
		check(&r);
	return 0;
}

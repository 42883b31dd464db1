/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/fetched_symbols.h"

#include <errno.h>
#include <time.h>

#include "process/space/modules.h"
#include "native/names/native_files.h"
#include "process/parser/fetcher.h"
#include "base/system/clock.h"
#include "base/text/log.h"

#define STEP_NS 5000000L

/* Returns a descriptor, or a negative error. */
static int await(struct fetch *fetch, __u64 end_ns, char *why, size_t why_size)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	int fd = -1, err;

	while ((err = fetch__result(fetch, &fd, why, why_size)) == -EINPROGRESS &&
	       clock_monotonic_ns() < end_ns)
		nanosleep(&step, NULL);
	return err ? err : fd;
}

void fetched_symbols_add(struct fetched_symbols *s, struct native_files *files,
			 struct module *module)
{
	__u64 begin_ns = clock_monotonic_ns();
	char why[128] = "it takes too long";
	struct fetch *fetch;
	unsigned size;
	const __u8 *id = module__build_id(module, &size);
	uid_t owner;
	int fd;

	if (s->spent_ns >= FETCH_ALL_NS || !id || !native_files__wants_debug(files, module, &owner))
		return;
	fetch = fetch__start(id, size, why, sizeof(why));
	fd = fetch ? await(fetch, begin_ns + FETCH_FILE_NS, why, sizeof(why)) : -ENOENT;
	fetch__end(fetch);
	s->spent_ns += clock_monotonic_ns() - begin_ns;
	if (fd >= 0)
		native_files__add_debug(files, module, fd);
	else
		log_debug("symbols", "%s: not fetched: %s", module__name(module), why);
}

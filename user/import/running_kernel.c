/* SPDX-License-Identifier: BSD-2-Clause */
#include "import/running_kernel.h"

#include <string.h>
#include <sys/utsname.h>

#include "util/clock.h"
#include "util/printable.h"

/* Clocks are set, and drift; no machine boots as often. */
#define TOLERANCE_NS (5 * (__s64)NS_PER_SEC)

bool running_kernel_is(const struct perf_read_facts *f)
{
	__s64 difference_ns = f->wall_offset_ns - clock_wall_offset_ns();
	char host[sizeof(f->host)];
	struct utsname uts;

	if (!f->wall_offset_ns || difference_ns > TOLERANCE_NS || difference_ns < -TOLERANCE_NS ||
	    uname(&uts))
		return false;
	printable_into(host, sizeof(host), uts.nodename); /* as the facts are */
	return !strcmp(f->host, host) && !strcmp(f->kernel, uts.release);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/running_kernel.h"

#include <string.h>
#include <sys/utsname.h>

#include "native/names/kernel_symbols.h"
#include "base/system/clock.h"
#include "base/text/printable.h"

/* Clocks are set, and drift; but no machine boots twice within this time. */
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

void running_kernel_free(struct running_kernel *k)
{
	kernel_symbols__free(k->symbols);
}

void running_kernel_set_text(struct running_kernel *k, __u64 text_start)
{
	if (!k->symbols && k->is_captured)
		k->text_start = text_start;
}

static void open_symbols(struct running_kernel *k)
{
	struct kernel_symbols *running = kernel_symbols__new(KALLSYMS);
	__u64 start, size;

	if (running && !kernel_symbols__text(running, &start, &size) && start == k->text_start)
		k->symbols = running;
	else
		kernel_symbols__free(running);
	k->text_start = 0;
}

struct kernel_symbol *running_kernel_find(struct running_kernel *k, __u64 address)
{
	if (k->text_start)
		open_symbols(k);
	return k->symbols ? kernel_symbols__find(k->symbols, address) : NULL;
}

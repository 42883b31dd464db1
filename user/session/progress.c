/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/progress.h"

#define ERASE_LINE "\r\033[K"

void progress_print(FILE *out, const struct progress *p)
{
	double lost = p->interrupts ? 100.0 * (double)p->lost / (double)p->interrupts : 0;

	fprintf(out,
		ERASE_LINE "krait: %.1f s  %llu samples (%.0f/s)  %u process%s  lost %llu (%.2f %%)"
			   "  Ctrl-C ends",
		p->seconds, p->samples, p->rate, p->processes, p->processes == 1 ? "" : "es",
		p->lost, lost);
	fflush(out);
}

void progress_clear(FILE *out)
{
	fputs(ERASE_LINE, out);
	fflush(out);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/progress.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ERASE_LINE "\r\033[K"
#define DEFAULT_COLUMNS 80

static bool is_same_terminal(int a, int b)
{
	struct stat x, y;

	return isatty(a) && isatty(b) && !fstat(a, &x) && !fstat(b, &y) && x.st_rdev == y.st_rdev;
}

bool progress_suits(int fd, bool command)
{
	if (command && (is_same_terminal(fd, STDIN_FILENO) || is_same_terminal(fd, STDOUT_FILENO)))
		return false;
	return isatty(fd);
}

void progress_format(const struct progress *p, bool stoppable, unsigned columns, char *buf,
		     size_t size)
{
	double lost = p->interrupts ? 100.0 * (double)p->lost / (double)p->interrupts : 0;
	char losses[64] = "";

	if (p->lost)
		snprintf(losses, sizeof(losses), "  lost %llu (%.2f%%)", p->lost, lost);
	/* Leaves the last column free: a cursor behind it would be in the next row. */
	snprintf(buf, columns && columns < size ? columns : size,
		 "krait: %.1f s  %llu samples (%.0f/s)  %u process%s%s%s", p->seconds, p->samples,
		 p->rate, p->processes, p->processes == 1 ? "" : "es", losses,
		 stoppable ? "  Ctrl-C to stop" : "");
}

/* Asks each time: the size may have changed. */
static unsigned columns_of(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? DEFAULT_COLUMNS : size.ws_col;
}

void progress_print(FILE *out, const struct progress *p)
{
	int fd = fileno(out);
	char line[256];

	progress_format(p, !p->command && tcgetpgrp(fd) == getpgrp(), columns_of(fd), line,
			sizeof(line));
	fprintf(out, ERASE_LINE "%s", line);
	fflush(out);
}

void progress_clear(FILE *out)
{
	fputs(ERASE_LINE, out);
	fflush(out);
}

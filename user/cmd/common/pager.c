/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/worker/keeper.h"

/* In pager.pid: nobody's child here. */
#define PAGER_OF_KEEPER INT_MAX

/* Returns NULL if none is wanted. */
static const char *choose(void)
{
	const char *own = getenv("KRAIT_PAGER"), *all = getenv("PAGER"), *term = getenv("TERM");
	const char *program = own ? own : all ? all : "less";

	if (!term || !strcmp(term, "dumb") || !*program || !strcmp(program, "cat"))
		return NULL;
	return program;
}

static _Noreturn void be_pager(const char *program, int from)
{
	signal(SIGINT, SIG_DFL);
	if (dup2(from, STDIN_FILENO) < 0)
		_exit(127);
	/* F: quit if it all fits; R: pass colours; X: leave the text on the screen. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", program, (char *)NULL);
	_exit(127);
}

void pager_start(struct pager *p, bool wanted)
{
	const char *program = wanted && !getauxval(AT_SECURE) ? choose() : NULL;
	cleanup_close int from = -1, to = -1, terminal = -1;
	int fds[2];

	*p = (struct pager){ 0 };
	if (!program || !isatty(STDOUT_FILENO))
		return;
	terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	fflush(stdout);
	if (keeper_is_there()) {
		to = keeper_open(KEEPER_PAGER, "");
		p->pid = terminal < 0 || to < 0 ? -1 : PAGER_OF_KEEPER;
	} else if (!pipe2(fds, O_CLOEXEC)) {
		from = fds[0];
		to = fds[1];
		p->pid = terminal < 0 ? -1 : fork();
	} else {
		return;
	}
	if (!p->pid)
		be_pager(program, from);
	if (p->pid < 0 || dup2(to, STDOUT_FILENO) < 0) {
		p->pid = 0;
		return;
	}
	p->terminal = take_fd(&terminal);
	/* Ctrl-C belongs to the pager. */
	p->interrupt = signal(SIGINT, SIG_IGN);
}

void pager_end(struct pager *p)
{
	int error = errno;

	if (!p->pid)
		return;
	fflush(stdout);
	dup2(p->terminal, STDOUT_FILENO);
	close(p->terminal);
	if (p->pid == PAGER_OF_KEEPER)
		keeper_ask_about(KEEPER_PAGER_END, "");
	while (p->pid != PAGER_OF_KEEPER && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, p->interrupt);
	p->pid = 0;
	errno = error;
}

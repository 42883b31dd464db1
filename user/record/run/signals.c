/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_catch(struct signals *s, bool more)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	if (more)
		sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
	s->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
}

int signals_take(struct signals *s, bool *ret_from_terminal)
{
	struct signalfd_siginfo info;

	*ret_from_terminal = false;
	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	*ret_from_terminal = info.ssi_code == SI_KERNEL;
	return (int)info.ssi_signo;
}

void signals_release(struct signals *s)
{
	struct signalfd_siginfo info;

	if (s->fd < 0)
		return;
	while (read(s->fd, &info, sizeof(info)) == sizeof(info))
		;
	close(s->fd);
	s->fd = -1;
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

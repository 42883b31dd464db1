/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/role.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system/priority.h"
#include "base/worker/rights.h"

const struct role *role_find(const struct role *roles, size_t cnt, const char *argv0)
{
	size_t prefix = strlen(ROLE_PREFIX);

	if (!argv0 || strncmp(argv0, ROLE_PREFIX, prefix) != 0)
		return NULL;
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(argv0 + prefix, roles[i].name))
			return &roles[i];
	return NULL;
}

/* From now on we die with our parent; it may already have ended. */
static int end_with_parent(void)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    getsockopt(ROLE_CHANNEL_FD, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return -1;
	return getppid() == peer.pid ? 0 : -1;
}

static int seclude(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return rights_only_handed_down();
}

/* Real-time limit without a pause: an attacker who wrote the file could make us run longer. */
#define REALTIME_USEC 20000

int role_main(const struct role *role)
{
	char name[32];

	/* A worker must not let anyone take more of a processor than an ordinary process gets. */
	priority_bound(role->urgent ? REALTIME_USEC : 0);
	signal(SIGPIPE, SIG_IGN);
	snprintf(name, sizeof(name), ROLE_PREFIX "%s", role->name);
	prctl(PR_SET_NAME, name);
	if (end_with_parent() || seclude())
		return 1;
	return role->serve(ROLE_CHANNEL_FD);
}

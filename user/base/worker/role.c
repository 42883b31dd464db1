/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/role.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system/priority.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"
#include "base/worker/worker.h"

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

/* Nothing of that user's has been looked at before this. */
static int take_ids(void)
{
	struct rights_ids ids;
	int opener = -1;

	if (channel_take(ROLE_CHANNEL_FD, &ids, sizeof(ids), &opener, -1))
		return -1;
	worker_tell_ids(&ids, -1);
	if (opener >= 0 && (dup2(opener, ROLE_OPENER_FD) < 0 || close(opener)))
		return -1;
	/* A change of ids forgets both of these. */
	return rights_become(&ids) || end_with_parent() || seclude() ? -1 : 0;
}

/* word: NULL: it is known whose it is. */
static int run(const struct role *role, const char *word)
{
	char name[32];

	/* A worker must not let anyone take more of a processor than an ordinary process gets. */
	priority_bound(role->urgent ? REALTIME_USEC : 0);
	signal(SIGPIPE, SIG_IGN);
	snprintf(name, sizeof(name), ROLE_PREFIX "%s", role->name);
	prctl(PR_SET_NAME, name);
	if (end_with_parent() || seclude())
		return 1;
	if (word && !strcmp(word, ROLE_AHEAD_PARSES))
		worker_start_ahead("parser", false);
	if (word && role->prepare)
		role->prepare();
	if (word && take_ids())
		return 1;
	return role->serve(ROLE_CHANNEL_FD);
}

int role_main(const struct role *role)
{
	return run(role, NULL);
}

int role_main_ahead(const struct role *role, const char *word)
{
	/* What it has instead of an opener until it hears of one. */
	if (fcntl(ROLE_OPENER_FD, F_GETFD) < 0 &&
	    open("/dev/null", O_RDONLY | O_CLOEXEC) != ROLE_OPENER_FD)
		return 1;
	return run(role, word);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/own.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/worker.h"

static bool is_own, sees_all;

static bool has_one_id(void)
{
	uid_t uids[3];
	gid_t gids[3];

	return !getresuid(&uids[0], &uids[1], &uids[2]) &&
	       !getresgid(&gids[0], &gids[1], &gids[2]) && uids[0] && uids[1] == uids[0] &&
	       uids[2] == uids[0] && gids[1] == gids[0] && gids[2] == gids[0];
}

bool own_begin(bool all)
{
	bool may_open = true;
	int type;
	socklen_t len = sizeof(type);

	if (!has_one_id())
		return false;
	is_own = true;
	sees_all = all;
	error_hide_sudo();
	/* It was executed as /proc/self/exe. */
	prctl(PR_SET_NAME, "krait");
	/*
	 * Of a krait with capabilities of its file: exec has forgotten it, and who starts it may be anybody, with any
	 * descriptors. The broker may be gone by then, so it must not be init's.
	 */
	if (getauxval(AT_SECURE)) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() == 1)
			return false;
		may_open = false;
	}
	fcntl(OWN_BEGAN_FD, F_SETFD, FD_CLOEXEC);
	if (may_open && !getsockopt(OWN_OPENER_FD, SOL_SOCKET, SO_TYPE, &type, &len) &&
	    !fcntl(OWN_OPENER_FD, F_SETFD, FD_CLOEXEC))
		worker_hand_opener(OWN_OPENER_FD);
	return true;
}

void own_expect(void)
{
	is_own = true;
}

bool own_is(void)
{
	return is_own;
}

bool own_only(void)
{
	return is_own && !sees_all;
}

bool own_is_foreign(uid_t uid)
{
	return own_only() && uid != getuid();
}

/* If the broker has ended, so does krait. */
void own_began(void)
{
	if (is_own && write(OWN_BEGAN_FD, "", 1) < 0)
		log_debug("own", "nobody waits for the start");
}
